"""Which questions a log can answer, with which commands: every question's reader is tried on it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from bayesjudge.errors import InputError, UsageError
from bayesjudge.readers.battles import read_battles
from bayesjudge.readers.filters import conditions
from bayesjudge.readers.log import named_rows
from bayesjudge.readers.pairs import read_pairs
from bayesjudge.readers.parts import Part, read_parts
from bayesjudge.readers.questions import FURTHER_ANSWERS
from bayesjudge.readers.reading import Choices, Reading, codes_completed, last_said
from bayesjudge.readers.recognition import FORMAT, complete_but_one
from bayesjudge.readers.repetitions import AGAIN
from bayesjudge.readers.trials import SCORE_NAMES, TRIAL_NAMES, read_repeats
from bayesjudge.readers.values import forty_of, paths_in
from bayesjudge.readers.verdicts import read_verdicts
from bayesjudge.readers.wide import orders_apart
from bayesjudge.tables import battle_rows, pair_rows, verdict_rows

#: What the file to fill in is called.
_TO_LABEL = "to_label.csv"
#: What is said of metrics without a judge, and the commands that take them as labels.
_NO_JUDGE = "a judge: these are metrics by reference or by code, with nothing to correct; they are their own labels"
#: Options that one question after the other asks for: which column is the item, then which rows.
_MOST_STEPS = 5
#: Ways that are no less open than a threshold: whose several columns are, and which of an object's values is meant.
_OPEN = re.compile(r"--wide '?\w+:model|--column '?verdict=[^=]*\.")
_MOST_WAYS = 4
#: Names that each question has for columns, and which of them are one thing.
_NAMES: Mapping[str, Sequence[str]] = {
    "accuracy": verdict_rows.NAMES,
    "elo": battle_rows.NAMES,
    "reliability": (*TRIAL_NAMES, *SCORE_NAMES),
    "audit": pair_rows.NAMES,
}
_SAME: Sequence[Mapping[str, str]] = (
    {"accuracy": "verdict", "elo": "verdict", "reliability": "outcome", "audit": "judge_prefers"},
    {"accuracy": "label", "elo": "human", "audit": "human_prefers"},
    {"accuracy": "run", "elo": "run", "reliability": "trial"},
)

type Columns = Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class QuestionAnswer:
    """Whether a question can be put to a file, and the commands that do: of several ways, the first was tried."""

    possible: bool
    readable: bool
    why: str
    lacks: list[str]
    commands: list[str]


@dataclass(frozen=True, kw_only=True)
class _Asked:
    """What a question found: its tables, what they hold, what they lack, and what to add to its command.

    compared: Two runs can be compared with the same options.
    """

    tables: Sequence[Any]
    why: str
    lacks: str = ""
    options: str = ""
    compared: bool = False


type _Ask = Callable[[list[Part], Columns, Choices], _Asked]


def ask_each(
    source: Any, *, columns: Columns | None, gold: Sequence[str], choices: Choices, parts: list[Part]
) -> dict[str, tuple[QuestionAnswer, Sequence[Any]]]:
    """Every question's answer, and the tables that it would be asked of.

    parts: The log, read with these choices.
    """
    for labels in gold:
        read_parts(labels)  # what cannot be read is no reason to say that the log lacks something
    log = _Log(source=source, gold=gold)
    asked = {
        key: log.asked(
            key, _in_words_of(key, columns or {}), choices if key == "accuracy" else _of_rows(choices), parts
        )
        for key in _NAMES
    }
    return {
        key: (replace(answer, commands=list(map(last_said, answer.commands))), tables)
        for key, (answer, tables) in asked.items()
    }


def _in_words_of(question: str, columns: Columns) -> dict[str, str]:
    """The columns by the names that a question has for what others call otherwise.

    Examples
    --------
    >>> _in_words_of("audit", {"outcome": "says", "human": "vote"}), _in_words_of("accuracy", {"order": "shown"})
    ({'judge_prefers': 'says', 'human_prefers': 'vote'}, {'order': 'shown'})
    """
    meant = {
        ours: next((same[question] for same in _SAME if question in same and ours in same.values()), ours)
        for ours in columns
        if ours not in _NAMES[question]
    }
    return {
        name: column
        for ours, column in columns.items()
        if (name := meant.get(ours, ours)) not in columns or name == ours
    }


def _of_others(question: str, columns: Columns) -> str:
    """What is said of columns that other questions alone have a name for."""
    found = [name for name in columns if name not in _NAMES[question]]
    theirs = {name: [other for other, names in _NAMES.items() if name in names] for name in found}
    return "; ".join(f"--column {name} is for {', '.join(others)}" for name, others in theirs.items() if others)


def refusal(
    error: InputError | UsageError,
    question: str,
    source: Any,
    *,
    columns: Columns,
    gold: Sequence[str],
    choices: Choices,
) -> InputError | UsageError:
    """What to say of a log that a question cannot be put to, with commands that answer.

    An error about values in rows is returned as it is.
    """
    error = codes_completed(error, choices.get("put") or {})
    missing = not isinstance(error, UsageError) and not any(problem.rows for problem in error.problems)
    kind = missing or (isinstance(error, UsageError) and error.lacks)
    if not (kind or error.options) or source == "-":
        return error
    parts = read_parts(source, Reading(**choices), taken=columns)
    log = _Log(source=source, gold=gold)
    own, _ = log.asked(question, columns, choices if question == "accuracy" else _of_rows(choices), parts)
    if own.possible or not any(len(part.frame) for part in parts):
        return error
    if error.options and own.commands:
        command = log.command(question, columns, choices)
        options = [one.removeprefix(command).strip() for one in own.commands if one.startswith(command)]
        # What is chosen in several steps has options in between.
        instead = [] if options else own.commands
        if isinstance(error, UsageError):
            return UsageError(str(error), lacks=error.lacks, options=options, instead=instead)
        return InputError(error.problems, options=options, instead=instead)
    asked = ask_each(source, columns=columns, gold=gold, choices=choices, parts=parts).values()
    every = [one for one, _ in asked]
    able = sorted((one for one in every if one.commands), key=lambda one: not one.possible)
    # With a second file, the problem may be in that one.
    alone = missing and own.lacks and not gold and choices.get("items") is None
    unread = not any(one.commands or one.readable for one in every)
    text = _lacking(parts[0], own.lacks, near=unread) if alone else str(error)
    return UsageError(text, lacks="; ".join(own.lacks), instead=[one.commands[0] for one in able])


def _lacking(part: Part, lacks: Sequence[str], *, near: bool) -> str:
    """What a table lacks, and what it has: one of its columns may be meant, or a tool that it is ``near``."""
    text = f"{part.name} lacks {'; '.join(lacks)}"
    if part.tool is not None:
        return text
    formats = [f"it holds {one.found}" for one in part.near] if near else []
    formats = formats or complete_but_one(map(str, part.frame.columns), lacks)
    said = "".join(f" {one[0].upper()}{one[1:]}." for one in formats)
    if all(one.startswith(AGAIN) for one in lacks):
        return f"{text}.{said}"  # no column is lacking
    return f"{text}. It has {forty_of(paths_in(part.frame))}; if one of them is meant, type --column OURS=THAT.{said}"


def holds_labels(parts: Sequence[Part], columns: Columns) -> bool:
    """Whether there are people's labels by item: where no question can be asked, a second file of a log."""
    names = {name for part in parts for name in named_rows(part, columns)}
    judged = names & {"verdict", "judge_prefers", "outcome"}
    return "item" in names and not judged and bool(names & {"label", "human", "human_prefers"})


@dataclass(frozen=True, kw_only=True)
class _Log:
    """A log that questions are put to, with a second file of labels."""

    source: Any
    gold: Sequence[str]

    def asked(
        self, question: str, columns: Columns, choices: Choices, parts: list[Part], *, steps: int = _MOST_STEPS
    ) -> tuple[QuestionAnswer, Sequence[Any]]:
        """Whether the question can be asked; where an option is missing, what can be asked with it."""
        command = self.command(question, columns, choices)
        try:
            found = self._ask(question, columns, choices, parts)
        except (InputError, UsageError) as error:
            whole = codes_completed(error, choices.get("put") or {})
            return self._refused(question, columns, choices, whole, steps=steps), []
        lost = [found.lacks] if found.lacks else []
        commands = [command + found.options] if found.options or not lost else []
        if _TO_LABEL in found.options:
            # A file to fill in is written first.
            commands.insert(0, f"{command.replace('bayesjudge', 'bayesjudge next', 1)} --out {_TO_LABEL}")
        if found.compared:
            commands.append(self.command("compare", columns, choices, second=" AFTER") + found.options)
        answer = QuestionAnswer(possible=not lost, readable=True, why=found.why, lacks=lost, commands=commands)
        return answer, found.tables

    def _refused(
        self, question: str, columns: Columns, choices: Choices, error: InputError | UsageError, *, steps: int
    ) -> QuestionAnswer:
        why, *_ = str(error).splitlines()
        problems = [] if isinstance(error, UsageError) else [one for one in error.problems if one.column != FORMAT]
        # What would have been allowed, and where, if it is about some rows of a column that is there.
        allowed = [one.allowed if one.whole or not one.rows else f"in {one.place}: {one.allowed}" for one in problems]
        lacks = [error.lacks] if isinstance(error, UsageError) else allowed
        commands: list[str] = []
        if error.options and isinstance(self.source, str) and self.source == "-":
            # Standard input is gone once it is read, so that no way can be tried.
            commands = [f"{self.command(question, columns, choices)} {option}" for option in error.options]
        elif error.options and steps:
            # The first way is tried; where it leads to an answer, so do others that differ in a name.
            further, chosen = _with_option(error.options[0], columns, choices)
            answer = self._tried(question, columns, choices, error.options[0], steps - 1)
            command, tried = (self.command(question, *said) for said in ((columns, choices), (further, chosen)))
            # What says how items belong together is of the question, which further steps do not carry along.
            _, clustered, column = error.options[0].partition(" --cluster ")
            commands = [one + clustered + column for one in answer.commands]
            if answer.readable and commands:
                more = answer.commands[0].removeprefix(tried) if answer.commands[0].startswith(tried) else ""
                commands = [
                    f"{command} {option}{more}"
                    for option in error.options
                    if option == error.options[0] or self._leads(question, columns, choices, option)
                ]
            elif commands and _OPEN.match(error.options[0]):
                ways = error.options[1:_MOST_WAYS]
                others = [self._tried(question, columns, choices, one, steps - 1) for one in ways]
                # Where labels are lacking alone, a file to fill in comes first.
                asked = [[text for text in one.commands if text.startswith(command)] for one in others]
                commands[1:1] = [texts[0] for texts in asked if texts]
            lacks = lacks if commands else answer.lacks
        return QuestionAnswer(
            possible=False, readable=False, why=why, lacks=list(dict.fromkeys(filter(None, lacks))), commands=commands
        )

    def _leads(self, question: str, columns: Columns, choices: Choices, option: str) -> bool:
        """Whether another way leads to an answer, too: of thresholds, some may leave one kind of people's grades."""
        if not option.startswith("--threshold "):
            return True
        return self._tried(question, columns, choices, option, 0).readable

    def _tried(self, question: str, columns: Columns, choices: Choices, option: str, steps: int) -> QuestionAnswer:
        further, chosen = _with_option(option, columns, choices)
        parts = read_parts(self.source, Reading(**chosen), taken=further)
        return self.asked(question, further, chosen, parts, steps=steps)[0]

    def command(self, question: str, columns: Columns, choices: Choices, *, second: str = "") -> str:
        """The question as it is typed, with a second file where it takes one."""
        name = shlex.quote(str(self.source)) if isinstance(self.source, str | Path) else "FILE"
        labelled = typed_gold(self.gold) if question == "accuracy" else ""
        return f"bayesjudge {question} {name}{second}{typed_options(columns, choices)}{labelled}"

    def _ask(self, question: str, columns: Columns, choices: Choices, parts: list[Part]) -> _Asked:
        if said := _of_others(question, columns):
            raise UsageError(said)
        if question == "accuracy":
            return _accuracy(parts, columns, choices, gold=self.gold)
        return _OTHERS[question](parts, columns, choices)


def _with_option(option: str, columns: Columns, choices: Choices) -> tuple[Columns, Choices]:
    """What was said of the file, and one option more."""
    found: dict[str, Any] = dict(choices)
    named = dict(columns)
    words = shlex.split(option)
    for flag, value in zip(words[::2], words[1::2], strict=True):
        ours, _, theirs = value.partition("=")
        if flag == "--column":
            named[ours] = theirs
        elif flag == "--set":
            found["put"] = {**(found.get("put") or {}), ours: theirs}
        elif flag == "--cluster":
            continue  # of the question, not of how its file is read
        elif flag == "--where":
            found["where"] = [*(text for one in conditions(found.get("where")) for text in one.typed), value]
        else:
            found[flag.removeprefix("--")] = value
    return named, cast("Choices", found)


def typed_options(columns: Mapping[str, str] | None, choices: Choices) -> str:
    """What was typed of how to read the file, as a command has it."""
    pairs = {"column": columns or {}, "set": choices.get("put") or {}}
    given = [(option, f"{name}={value}") for option, each in pairs.items() for name, value in each.items()]
    given += [("where", text) for one in conditions(choices.get("where")) for text in one.typed]
    others = {name: value for name, value in choices.items() if name not in {"put", "where"} and value is not None}
    given += [(name, str(value)) for name, value in others.items()]
    return "".join(f" --{option} {shlex.quote(value)}" for option, value in given)


def typed_gold(files: Sequence[str]) -> str:
    """Files of labels, as a command has them."""
    return "".join(f" --gold {shlex.quote(file)}" for file in files)


def _accuracy(parts: list[Part], columns: Any, choices: Choices, *, gold: Sequence[str] = ()) -> _Asked:
    table = read_verdicts(parts, columns=columns, labels=gold, refuse_doubtful=True, **choices)
    labels = int(table.frame["label"].notna().sum())
    why = f"{len(table)} verdicts, {labels} of them on answers with a label"
    if labels:
        return _Asked(tables=[table], why=why)
    if table.metric:
        own = f" --set 'label={{{table.metric}}}'"
        return _Asked(tables=[table], why=why, lacks=_NO_JUDGE, options=own, compared=True)
    needed = "385 of each model's answers give ± .05 however the judge errs, fewer where it is good"
    lacks = f"people's labels on some answers: {needed}"
    return _Asked(tables=[table], why=why, lacks=lacks, options="" if gold else f" --gold {_TO_LABEL}")


def _elo(parts: list[Part], columns: Any, choices: Choices) -> _Asked:
    table = read_battles(parts, columns=columns, refuse_doubtful=True, **_of_rows(choices))
    # A vote stands next to the verdicts of every judge, in every order.
    voted = table.frame[table.frame["human"].notna()]
    a, b = voted["model_a"], voted["model_b"]
    battle = voted[["item", "voter"]].assign(one=a.where(a <= b, b), two=b.where(a <= b, a))
    votes = int((~battle.duplicated()).sum())
    return _Asked(tables=[table], why=f"{len(table)} comparisons, {votes} vote{'s' * (votes != 1)} of people")


def _reliability(parts: list[Part], columns: Any, choices: Choices) -> _Asked:
    read = read_repeats(parts, columns=columns, refuse_doubtful=True, **_of_rows(choices))
    tables = [table for table in read if table is not None]
    counts = [
        table.frame.groupby([name for name in ("item", "judge", "response") if name in table.frame]).size()
        for table in tables
    ]
    # Several judges of one item judge it again each.
    again = max((count[count > 1].index.get_level_values("item").nunique() for count in counts), default=0)
    further = any(FURTHER_ANSWERS in table.warnings for table in tables)
    lacks = AGAIN + (f"; {FURTHER_ANSWERS}" if further else "")
    why = f"{again or 'no'} items judged more than once"
    apart = "" if again or parts[0].tool or choices.get("wide") else orders_apart(parts[0].frame)
    return _Asked(tables=tables, why=why, lacks="" if again else lacks, options=apart and f" {apart}")


def _audit(parts: list[Part], columns: Any, choices: Choices) -> _Asked:
    table = read_pairs(parts, columns=columns, **_of_rows(choices))
    known = int(table.frame["human_prefers"].notna().sum())
    why = f"{len(table.frame)} decisions, {known} with what people preferred"
    judges = list(dict.fromkeys(table.frame["judge"]))
    judge = f" --judge {shlex.quote(judges[0])}" if len(judges) > 1 else ""
    items = "" if known else " --items ITEMS.csv   # item, human_prefers"
    return _Asked(tables=[table], why=why, lacks="" if known else "what people preferred", options=judge + items)


def _of_rows(choices: Choices) -> Choices:
    """The choices that are not about verdicts on single answers."""
    kept = {key: value for key, value in choices.items() if key in {"format", "put", "where", "items", "wide"}}
    return cast("Choices", kept)


_OTHERS: Mapping[str, _Ask] = {"elo": _elo, "reliability": _reliability, "audit": _audit}
