"""What a column may hold by the words of its name, where it has none of the names that questions read."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Sequence

import pandas as pd

from bayesjudge.readers.aliases import (
    BATTLE_ALIASES,
    GOLD_ALIASES,
    PAIR_ALIASES,
    REFERENCES,
    SCORE_ALIASES,
    TRIAL_ALIASES,
    VERDICT_ALIASES,
)
from bayesjudge.readers.column_names import folded, means_any, means_known
from bayesjudge.readers.values import as_words
from bayesjudge.tables.coding import UNKNOWN
from bayesjudge.tables.words import code_numbers, code_outcome

#: Our names of what people or a judge say, and of whom.
_SAID = ("verdict", "judge", "label", "score", "judge_prefers", "human", "human_prefers", "voter")
_PERSON = re.compile(
    r"(annotator|human|person|expert|worker|labell?er|assessor|reviewer|rater|doctor|physician|clinician|nurse|teacher|"
    r"lawyer|editor)s?(_?\d+)?(_(label|verdict|judge?ment|decision|grade|mark|vote|says))?"
)
_NUMBERED_PERSON = re.compile(
    r"((arena|crowd|human)_)?(user|voter|worker|turker|participant|annotator|expert|author|rater|person|human)_?\d+"
)
_HUMANS = re.compile(
    r"(humans?|people)(_(as_a_)?(judge|annotator|annotation|expert|label|judge?ment|evaluation|rater|vote)s?)?(_?\d+)?"
)
_OF_PEOPLE = re.compile(
    r"(.*_)?(annotat|human|person|people|expert|reviewer|final|gold|consensus|majority|adjudicat|validat|agree).*"
)
_PICK = re.compile(
    r"(?!.*(order|position|slot|grade))(?!(.*_)?(user|voter|rater|worker|turker|reviewer|crowd)s?_)"
    r"((judge|llm|autorater)s?_.*|.*_(pick|choice|preference)s?)"
)
_OF_TWO = re.compile(r"winner|prefer|pick|choice|chosen|better|best")
_MODELS = r"judge|llm|gpt|claude|gemini|llama|auto|model|pred"
_OF_MODELS = re.compile(r"(.*_)?(models?|llm|generator|generated_by|chatbot)(_(name|id))?")
_MODEL_NAMED = re.compile(
    r"(?<![a-z])(gpt|o[134]-|chatgpt|claude|gemini|gemma|(code)?llama|vicuna|alpaca|mistral|mixtral|qwen|deepseek|phi-|"
    r"command-r|palm|falcon|olmo|grok|davinci)"
)
_WHO = r"annotat(?:or|ion)s?|rater|reviewer|labell?er|assessor|expert|human|person|consensus|majority|agreement"
_SAYS = r"label|verdict|judge?ment|score|rating|grade|vote"
_LABEL = re.compile(rf"(?!.*({_MODELS})).*_labels?")
_MARKS = re.compile(rf"(?!.*({_MODELS}))(.*_)?(humans?|annotators?)_(.*_)?({_SAYS})s?(_?\d+)?")
_AGREES = (
    r"(.*_)?(dis)?agree(s|d|ment)?(_.*)?|(.*_)?(mis)?match(es|ed)?_(.*_)?(gold|humans?|people|labels?|experts?|truth)"
)
_JUDGEMENTS = re.compile(
    rf"(.*_)?({_WHO})(_?\d+)?|(.*_)?({_WHO}|final|gold|judge|llm|gpt|gpt_?\d\w*|claude|gemini)(_?\d+)?_({_SAYS})s?|"
    rf"(judge|llm|gpt|claude|gemini)([_-]?\d+[a-z]?)?|{_AGREES}"
)
#: Also of a column that another took the name of (`bayesjudge.tables.columns.name_columns`).
_NAMES = re.compile(r"(.*_)?(ids?|uuid)|(item|model|judge)_original_")
_MEASURES = re.compile(
    r"(n|num|number|would)_.*|(.*_)?(tokens?|cached?|latency|costs?|runtime|duration)(_.*)?|(.*_)?(counts?|len|length|"
    r"words|chars|usd|price|ms|secs?|seconds|times?|timestamp|date|year|ids?|uuid|idx|index|seed|used|applied|"
    r"order(ing)?|position|slot|swap(ped)?|flip(ped)?|reversed?)_?|(.*_)?pars(e|ed|ing)(_(ok|error|fail(ed|ure)|success))?"
)


def is_person(name: str) -> bool:
    """Whether a column is one person's, by a name of those who label.

    Examples
    --------
    >>> is_person("Annotator 1"), is_person("Expert"), is_person("annotation_1"), is_person("expert_model")
    (True, True, False, False)
    >>> is_person("gold-human-eval_score"), is_person("human_aligned_gpt_score"), is_person("inhuman_score")
    (True, False, False)
    """
    return any(known.fullmatch(folded(name)) for known in (_PERSON, _MARKS))


def is_numbered_person(name: str) -> bool:
    """Whether a judge's name is one person's of many, whom a data set has numbered.

    Examples
    --------
    >>> is_numbered_person("arena_user_9965"), is_numbered_person("expert 3"), is_numbered_person("gpt-4")
    (True, True, False)
    """
    return _NUMBERED_PERSON.fullmatch(folded(name)) is not None


def is_human(name: str) -> bool:
    """Whether a judge's name, or that of a folder of judgements, represents people.

    Examples
    --------
    >>> is_human("Human"), is_human("human_as_a_judge"), is_human("human-aligned-gpt")
    (True, True, False)
    """
    return _HUMANS.fullmatch(folded(name)) is not None


def is_of_people(name: str) -> bool:
    """Whether a column's name is of what people said or agreed on, in which a judge's words come too.

    Examples
    --------
    >>> is_of_people("annotation_1"), is_of_people("final_label"), is_of_people("gpt4_label")
    (True, True, False)
    """
    return _OF_PEOPLE.fullmatch(folded(name)) is not None


def is_no_vote(name: str, *, agreement: bool = False) -> bool:
    """Whether a column's name is of what people said, or of whether a judge agrees with them: never a judge's vote.

    agreement: Only of the latter, as where columns may be of models.

    Examples
    --------
    >>> is_no_vote("agree"), is_no_vote("gpt4_matches_human"), is_no_vote("final_label"), is_no_vote("annotator_2")
    (True, True, True, True)
    >>> is_no_vote("gpt4_final"), is_no_vote("qwen_final"), is_no_vote("helpful"), is_no_vote("human_2", agreement=True)
    (False, False, False, False)
    """
    if re.fullmatch(_AGREES, folded(name)):
        return True
    return not agreement and not _names_a_judge(name) and (is_person(name) or is_of_people(name))


def _names_a_judge(name: str) -> bool:
    return is_of_judge(name) or _MODEL_NAMED.search(folded(name)) is not None


def means_other(name: str) -> bool:
    """Whether a column's name means something to a question, but nothing to that of accuracy.

    Examples
    --------
    >>> means_other("Subject"), means_other("label"), means_other("target"), means_other("gpt-4")
    (True, False, False, False)
    """
    mine = {**VERDICT_ALIASES, **GOLD_ALIASES}.items()
    words = [word for ours, (strong, weak) in mine for word in (ours, *strong, *weak)]
    return means_known(name) and not means_any([name], [*words, *REFERENCES])


def said_of_names(
    shape: tuple[str, str], columns: Sequence[str], *, people: Sequence[str], others: Sequence[str]
) -> tuple[str, ...]:
    """What is said of columns of verdicts that were left out by their names, or were read for want of one.

    shape: What the cells of the columns hold, and what their names are of.
    columns: Those that were read.
    people, others: Left out, being named as what people say, and as what another question reads.

    Examples
    --------
    >>> said_of_names(("verdict", "judge"), ["gpt-4", "validity"], people=[], others=[])[0]  # doctest: +ELLIPSIS
    "columns 'validity' have no name of a judge: --wide verdict:judge=gpt-4 leaves them out; --label COLUMN next to ..."
    """
    judges = [name for name in columns if _names_a_judge(name)]
    unnamed = [name for name in columns if name not in judges] if judges and shape[1] == "judge" else []

    def listed(names: Sequence[str]) -> str:
        return f"--wide {shlex.quote(f'{":".join(shape)}={",".join(names)}')}"

    said = {
        "were not read, being named as what people say or whether a judge agrees with them": (people, "reads all"),
        "were not read, having names of what other questions ask": (others, "reads all"),
        "have no name of a judge": (unnamed, "leaves them out; --label COLUMN next to it takes one as people's labels"),
    }
    return tuple(
        f"columns {', '.join(map(repr, names))} {why}: {listed(judges if names is unnamed else [*columns, *names])} "
        f"{then}"
        for why, (names, then) in said.items()
        if names
    )


def is_pick(name: str) -> bool:
    """Whether a column's name is of what a judge chose of two answers.

    Examples
    --------
    >>> is_pick("judge_pick"), is_pick("GPT-4 choice"), is_pick("judge_order"), is_pick("user_choice")
    (True, True, False, False)
    """
    return _PICK.fullmatch(folded(name)) is not None and not is_of_people(name)


def are_models(name: str, values: Iterable[str]) -> bool:
    """Whether a column's name, or most of its values, are of language models.

    Examples
    --------
    >>> are_models("generated_by", ["x", "y"]), are_models("source", ["gpt-4", "Llama-2-7b", "human"])
    (True, True)
    >>> are_models("model_version", ["1", "2"]), are_models("prompt", ["terse", "long"])
    (False, False)
    """
    known = [_MODEL_NAMED.search(value.casefold()) is not None for value in values]
    return _OF_MODELS.fullmatch(folded(name)) is not None or sum(known) > len(known) / 2


def repeated_ids(frame: pd.DataFrame) -> list[str]:
    """Columns of ids without a name that questions read, each on several rows and more of them than rows of each.

    Examples
    --------
    >>> frame = pd.DataFrame({"document_id": [*"qqrr"], "user_id": [*"uvuv"], "call_id": [*"wxyz"], "batch_id": 1})
    >>> repeated_ids(frame)
    ['document_id']
    """
    named = [name for name in map(str, frame.columns) if folded(name).endswith("_id") and not means_known(name)]
    each = {name: as_words(frame[name].dropna()).nunique() for name in named if isinstance(frame[name], pd.Series)}
    return [name for name, ids in each.items() if ids < frame[name].count() <= ids**2]


def is_of_two(name: str) -> bool:
    """Whether a column's name is of which of two answers is better.

    Examples
    --------
    >>> is_of_two("winner"), is_of_two("judge_prefers"), is_of_two("verdict"), is_of_two("passed")
    (True, True, False, False)
    """
    return _OF_TWO.search(folded(name)) is not None


def is_label(name: str) -> bool:
    """Whether a column's name is of labels, which are people's where no other column holds these.

    Examples
    --------
    >>> is_label("sent_label"), is_label("gpt4_label")
    (True, False)
    """
    return _LABEL.fullmatch(folded(name)) is not None


def is_of_judge(name: str) -> bool:
    """Whether a column's name speaks of a judge or a model.

    Examples
    --------
    >>> is_of_judge("gpt4_correct"), is_of_judge("trajectory_success")
    (True, False)
    """
    return re.search(_MODELS, folded(name)) is not None


def is_judgement(name: str) -> bool:
    """Whether a column's name says that it holds what people or a judge said of the answers, or whether they agree.

    Examples
    --------
    >>> is_judgement("annotation_2"), is_judgement("final_label"), is_judgement("GPT-4 score"), is_judgement("topic")
    (True, True, True, False)
    >>> is_judgement("llm_matches_gold"), is_judgement("disagreed"), is_judgement("match_id")
    (True, True, False)
    >>> is_judgement("llm_2"), is_judgement("gpt-4o"), is_judgement("llm_2_tokens")
    (True, True, False)
    """
    tables = (VERDICT_ALIASES, TRIAL_ALIASES, SCORE_ALIASES, BATTLE_ALIASES, PAIR_ALIASES)
    said = [table[ours] for table in tables for ours in _SAID if ours in table]
    known = [*_SAID, *(word for strong, weak in said for word in (*strong, *weak))]
    return means_any([name], known) or _JUDGEMENTS.fullmatch(folded(name)) is not None


def is_name(name: str) -> bool:
    """Whether a column's name says that its values are names, also where they are numbers, which have no order.

    Examples
    --------
    >>> is_name("questionId"), is_name("item (original)"), is_name("length"), is_name("paid")
    (True, True, False, False)
    """
    return _NAMES.fullmatch(folded(name)) is not None


def is_measure(name: str) -> bool:
    """Whether a column's name speaks of time, length, cost, counts, names of rows, orders or what was done.

    Examples
    --------
    >>> is_measure("Latency (ms)"), is_measure("cache_hit"), is_measure("is_swapped"), is_measure("quality")
    (True, True, True, False)
    >>> is_measure("parse_ok"), is_measure("is_parsed"), is_measure("parsed_verdict")
    (True, True, False)
    """
    return _MEASURES.fullmatch(folded(name)) is not None


#: How many values a scale of grades has at most: 0 to 10.
_MOST_GRADES = 11


def are_grades(frame: pd.DataFrame, names: Iterable[str]) -> bool:
    """Whether columns hold the same few whole numbers, as grades of several judges do.

    Examples
    --------
    >>> frame = pd.DataFrame({"gpt": [1, 4, 5], "lynx": ["1", "5", None], "length": [31, 7, 5]})
    >>> are_grades(frame, ["gpt", "lynx"]), are_grades(frame, ["gpt", "length"])
    (True, False)
    """
    levels = [{*code_numbers(frame[name])[1].tolist()} for name in names]
    every = set[float]().union(*levels)
    near = max(every) - min(every) < _MOST_GRADES and all(level % 1 == 0 for level in every)
    return near and all(len(one) * 2 >= len(every) for one in levels)


#: Share of rows that may have other words than a, b and tie in a column of choices.
_MOST_OTHERS = 0.2


def choices_offered(frame: pd.DataFrame) -> list[str]:
    """The option that reads the one column named as choices of two; of its few other words, as refusals, as missing.

    Examples
    --------
    >>> choices_offered(pd.DataFrame({"choice_first": [*"abbab", "refusal"]}))
    ["--set 'outcome={choice_first:refusal=}'"]
    """
    found: dict[str, list[str]] = {}
    named = [name for name in map(str, frame.columns) if is_of_two(name) or folded(name).endswith("verdict")]
    for name in (name for name in named if not is_of_people(name)):
        if isinstance(frame[name], pd.Series) and not means_known(name):
            codes, numbers = code_outcome(frame[name]), code_numbers(frame[name])[1]
            others = as_words(frame[name][codes == UNKNOWN])
            if {0, 1} <= {*codes} and not len(numbers) and len(others) <= _MOST_OTHERS * len(frame):
                found[name] = sorted(others.unique())
    if len(found) != 1:
        return []
    ((name, no_choice),) = found.items()
    missing = f"{{{name}:{','.join(f'{word}=' for word in no_choice)}}}" if no_choice else ""
    return [f"--set {shlex.quote(f'outcome={missing}')}" if missing else f"--column {shlex.quote(f'outcome={name}')}"]
