"""Rows that contradict each other because a log holds several prompts, answers or files: what says so."""

from __future__ import annotations

import itertools
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayesjudge.errors import InputError, Problem, UsageError
from bayesjudge.readers.aliases import TRIAL_ALIASES
from bayesjudge.readers.column_kinds import is_name
from bayesjudge.readers.column_names import columns_of, folded
from bayesjudge.readers.format import File
from bayesjudge.readers.parts import Part
from bayesjudge.readers.values import as_words
from bayesjudge.tables.coding import code_binary, distinct_values
from bayesjudge.tables.verdict_rows import NAMES

#: Most values of a column that rows may be chosen by.
MOST_VALUES = 20
#: Choices that a message names.
MOST_NAMED = 6
#: Of these and of what keeps all rows, as many as `inspect` shows.
MOST_SHOWN = 4
#: Share of the repeated items in which a column must have the same values, each as often as the others, to say what the
#: rows are of: some items may lack a row, or have one twice.
NEARLY_ALL = 0.8


def written(part: Part, put: Mapping[str, str]) -> dict[str, str]:
    """What our columns have, as ``--set`` writes it: the file's columns in braces, or what the user gave."""
    return {name: f"{{{column}}}" for name, column in part.read_as.items()} | {**put}


def models_of_files(parts: Sequence[Part], frame: pd.DataFrame) -> UsageError | None:
    """What is said of comparisons whose two models are in the names of their files alone.

    Examples
    --------
    >>> part = Part(name="x-vs-y.csv", frame=pd.DataFrame())
    >>> models_of_files([part], pd.DataFrame({"item": [1], "winner": ["a"]})).options
    ("--set 'model_a={file.1}' --set 'model_b={file.2}'",)
    """
    if {"model_a", "model_b"} & {*frame} or not all("file.2" in File(name=part.name).names for part in parts):
        return None
    option = "--set 'model_a={file.1}' --set 'model_b={file.2}'"
    text = f"{parts[0].name}: the name holds the two models that no column names: {option}"
    return UsageError(text, lacks="columns of the two models, which the files' names hold", options=[option])


def choose_one(
    frame: pd.DataFrame,
    problems: Sequence[Problem],
    *,
    value: str,
    keys: Sequence[str],
    known: Sequence[str],
    joined: Mapping[str, str],
) -> InputError | None:
    """The problems with one for all contradictions, where one or two further columns tell them apart.

    value: The column that must be one within ``keys``.
    joined: What our columns have, as ``--set`` writes it; by default our name in braces.

    Examples
    --------
    >>> frame = pd.DataFrame({"item": [*"qqrr"], "label": [0, 1, 0, 0], "round": ["first", "second"] * 2})
    >>> problem = Problem(column="label", found="0 and 1", allowed="one value for each item", fix="", rows=[1, 2])
    >>> choose_one(frame, [problem], value="label", keys=["item"], known=["item", "label"], joined={}).options
    ('--where round=first', '--where round=second')
    """
    # Words that cannot be read are no contradiction, whichever rows they are in.
    own = [one for one in problems if one.column == value and one.allowed.startswith(_ONE_VALUE)]
    mine = [one for one in own if len(one.rows) > 1]
    within = [name for name in keys if name in frame]
    if not mine or value not in frame:
        return None
    words = frame[[*within, value]].apply(as_words)
    others = [name for name in frame.columns if name not in known and name not in within]
    free = {name: values for name in others if (values := few_words(frame[name])) is not None}
    # What states the value in other words would choose rows by their value.
    free = {name: values for name, values in free.items() if not states(words, value, values)}
    free = {name: values for name, values in free.items() if not (_MADE.search(name) and _follows(words, values))}
    few = sorted(free, key=lambda name: free[name].nunique())
    for columns in itertools.chain(itertools.combinations(few, 1), itertools.combinations(few, 2)):
        apart = words.assign(**{name: free[name] for name in columns})
        if not apart.drop_duplicates().duplicated([*within, *columns]).any():
            choice = _choice_needed(mine, frame[[*columns]], _keeping_all(columns, keys, joined))
            return InputError([*(one for one in problems if one not in mine), choice[0]], options=choice[1])
    # Answers of a model that a column numbers keep the cluster of their item: `several_answers`.
    name = numbered_within(frame, words[within], value) if "model" not in keys else None
    if name is None:
        return None
    option = own_items(name, joined.get("item", "{item}"))
    problem = replace(
        mine[0],
        found=f"several values {mine[0].allowed.removeprefix(_ONE_VALUE)}, but one within {name!r}",
        fix=f"Where an item is named by both columns: {option}.",
        rows=tuple(row for one in mine for row in one.rows),
    )
    return InputError([*(one for one in problems if one not in mine), problem], options=[option])


def numbered_within(rows: pd.DataFrame, keys: pd.DataFrame, value: str) -> str | None:
    """A column named as a part's that tells the rows of each item apart, and has the same numbers for most of them.

    Examples
    --------
    >>> rows = pd.DataFrame({"item": [*"ppqq"], "question_no": [1, 2, 1, 2], "row_id": range(4), "winner": [*"abba"]})
    >>> numbered_within(rows, rows[["item"]], "winner")
    'question_no'
    """
    for name in (one for one in map(str, rows.columns) if one not in {*keys, value} and own_items(one, "")):
        words = as_words(rows[name]) if isinstance(rows[name], pd.Series) and rows[name].notna().all() else None
        # What no other row has is a row's own name.
        shared = words is not None and words.duplicated(keep=False).mean() >= NEARLY_ALL
        if shared and not keys.assign(part=words).duplicated().any():
            return name
    return None


#: A column's name that may say what became of an outcome, next to another one or to the truth.
_MADE = re.compile(r"flip|correct|agree|match|consisten", re.IGNORECASE)


def _follows(words: pd.DataFrame, column: pd.Series[str]) -> bool:
    """Whether rows that agree in all but the number of a trial, the value included, agree in the column."""
    same = [name for name in words if name != "trial"]
    return not words[same].assign(column=column).drop_duplicates().duplicated(same).any()


def states(words: pd.DataFrame, value: str, column: pd.Series[str]) -> bool:
    """Whether a column, together with the order of presentation, has one value for each of its own."""
    known = {name: words[name] for name in ("order", value) if name in words}
    stated = pd.DataFrame({**known, "column": column}).drop_duplicates()
    return not stated.duplicated([name for name in stated if name != value]).any()


def few_words(values: Any) -> pd.Series[str] | None:
    """A column that rows may be chosen by: some values, few of them, each on several rows, none missing."""
    if not isinstance(values, pd.Series) or values.isna().any():
        return None
    distinct = len(distinct_values(values)[1])
    return as_words(values) if 1 < distinct <= min(MOST_VALUES, len(values) // 2) else None


def several_answers(frame: pd.DataFrame, problems: Sequence[Problem], joined: Mapping[str, str]) -> InputError | None:
    """The problems with one for all answers of several labels, which look like several answers of a model to an item.

    joined: What our columns have, as ``--set`` writes it; by default our name in braces.

    Examples
    --------
    >>> frame = pd.DataFrame({"item": [*"qqrr"], "model": "m", "label": [0, 1, 1, 0], "text": [*"xyxy"]})
    >>> wrong = Problem(column="label", found="", allowed="one value for each answer", fix="", rows=[1, 2])
    >>> several_answers(frame, [wrong], {}).options
    ("--set 'item={item}-{text}' --set 'question={item}' --cluster question",)
    """
    mine = [one for one in problems if one.column == "label" and one.allowed.startswith(_ONE_LABEL) and one.rows]
    if not mine:
        return None
    label = code_binary(frame["label"])
    answers = frame.loc[label >= 0, ["item", "model"]].apply(as_words).assign(label=label[label >= 0]).drop_duplicates()
    differ = answers.loc[answers.duplicated(["item", "model"]), ["item", "model"]].to_dict("records")
    options = [_as_items(name, joined) for name in _numbering(frame, label)[:1]]
    how = options[0] if options else "--set 'item={ITEM}-{NUMBER OF THE ANSWER}' --cluster ITEM"
    first = "; ".join(f"item {one['item']!r}, model {one['model']!r}" for one in differ[:3])
    problem = replace(
        mine[0],
        found=f"0 and 1 for {len(differ)} answers, for example {first}",
        fix=f"Where these are several answers of one model to one item, {how} counts each, and keeps those of an item "
        "together. Give each answer one label, for example by majority.",
        rows=tuple(row for one in mine for row in one.rows),
    )
    return InputError([*(one for one in problems if one not in mine), problem], options=options)


def other_items(
    frame: pd.DataFrame, problems: Sequence[Problem], labels: Sequence[str], read_as: Mapping[str, str]
) -> InputError | None:
    """The problems of answers with several labels, where another column of names has answers with one label each.

    frame: As the file has it; labels: Its columns of labels; read_as: Our names of columns to the file's.
    """
    mine = [one for one in problems if one.column.endswith("label") and one.allowed.startswith(_ONE_LABEL)]
    item, model = (read_as.get(name, name) for name in ("item", "model"))
    if not mine or not {item, *labels} <= {*frame.columns}:
        return None
    keys = [model] if model in frame else []
    rows = frame[[item, *keys, *labels]].apply(as_words)
    for name in (one for one in map(str, frame.columns) if is_name(one) and one not in rows):
        apart = rows.assign(**{name: as_words(frame[name])}).drop_duplicates()
        if (apart[name] != "").all() and len(apart) < len(frame) and not apart.duplicated([name, *keys]).any():
            cluster = "item (original)" if item == "item" else item
            option = f"--column {shlex.quote(f'item={name}')} --cluster {shlex.quote(cluster)}"
            fix = f"Each {name!r} has one label: if these are the items, {option} keeps those of {item!r} together."
            return InputError([replace(one, fix=fix) if one in mine else one for one in problems], options=[option])
    return None


def _numbering(frame: pd.DataFrame, label: NDArray[np.int8]) -> list[str]:
    """Columns with another value on each row of one answer by one judge, those of few values first."""
    words = frame[[name for name in ("item", "model", "judge", "run") if name in frame]].apply(as_words)
    others = [str(name) for name in frame.columns if name not in NAMES and isinstance(frame[name], pd.Series)]
    apart = {name: as_words(frame[name]) for name in others if frame[name].notna().all()}
    apart = {name: one for name, one in apart.items() if not words.assign(**{name: one}).duplicated().any()}
    few = sorted(apart, key=lambda name: apart[name].nunique())
    stated = words.assign(label=label)
    return [name for name in few if few_words(frame[name]) is None or not states(stated, "label", apart[name])]


#: Names of columns that number a model's answers to an item.
_NUMBERS = ("answer", "answer_id", "attempt", "epoch", "completion", "generation", *TRIAL_ALIASES["trial"][0])
#: How a table says that rows contradict each other, and that an answer has several labels.
_ONE_VALUE = "one value "
_ONE_LABEL = f"{_ONE_VALUE}for each answer"


def _as_items(column: str, joined: Mapping[str, str]) -> str:
    """The option by which answers of one model to an item, which a column tells apart, are items of one cluster."""
    item = joined.get("item", "{item}")
    mapped = re.fullmatch(r"\{(?!(?:item|file|folder)\})([^{}]+)\}", item)
    cluster = shlex.quote(mapped[1]) if mapped else "question"
    question = "" if mapped else f" --set {shlex.quote(f'question={item}')}"
    return f"--set {shlex.quote(f'item={item}-{{{column}}}')}{question} --cluster {cluster}"


def own_items(name: str, item: str) -> str:
    """The option that makes items of what a column says within an item; empty where its name is none of a part's.

    item: What the column of items has, as ``--set`` writes it.

    Examples
    --------
    >>> own_items("question_no", "{doc_id}"), own_items("template_id", "{doc_id}"), own_items("round", "{doc_id}")
    ("--set 'item={doc_id} {question_no}'", '', '')
    """
    return f"--set {shlex.quote(f'item={item} {{{name}}}')}" if _PARTS.fullmatch(folded(name)) else ""


#: Names of what is one of several within an item, as a question about a document is, and of what has several.
_PARTS = re.compile(
    r"(sub_?)?(question|query|item|case|problem|sentence|claim|statement|fact|turn|part|segment|section|passage|"
    r"paragraph|chunk|doc|document|article|story|dialog|dialogue|conversation|page|text|context)"
    r"(_?(no|nr|num|number|idx|index|id))?"
)


def _keeping_all(columns: Sequence[str], keys: Sequence[str], joined: Mapping[str, str]) -> list[str]:
    """The options that keep all rows: as items where a column says which part of one, or as models of their own."""
    numbers = columns_of(pd.DataFrame(columns=[*columns]), _NUMBERS)
    own = own_items(columns[0], joined.get("item", "{item}")) if len(columns) == 1 and "item" in keys else ""
    if "model" not in keys:
        return [own] if own else []
    if len(columns) == len(numbers) == 1:
        return [_as_items(numbers[0], joined)]
    names = (joined.get("model", "{model}"), *(f"{{{name}}}" for name in columns))
    return [*([own] if own else []), f"--set {shlex.quote('model=' + ' '.join(names))}"]


def _choice_needed(
    problems: Sequence[Problem], columns: pd.DataFrame, keep: Sequence[str]
) -> tuple[Problem, list[str]]:
    """The problem, and its options: rows to choose and, with columns that tell answers apart, what keeps all."""
    choices = choices_of(columns)[: MOST_SHOWN - len(keep) if keep else MOST_NAMED]
    names = " and ".join(map(repr, columns.columns))
    problem = Problem(
        column=problems[0].column,
        found=f"several values {problems[0].allowed.removeprefix(_ONE_VALUE)}, but one within {names}",
        allowed=f"{problems[0].allowed}, of which {names} distinguishes several" if keep else problems[0].allowed,
        fix=f"Choose rows: {'; '.join(choices)}{f', or keep all: {"; ".join(keep)}' if keep else ''}.",
        rows=tuple(row for one in problems for row in one.rows),
    )
    return problem, [*choices, *keep]


def choices_of(columns: pd.DataFrame) -> list[str]:
    """The options that choose rows, in the order of numbers where the values are numbers."""
    rows = columns.drop_duplicates().to_dict("records")
    options = (" ".join(f"--where {shlex.quote(f'{name}={value}')}" for name, value in row.items()) for row in rows)
    return sorted(options, key=lambda option: (len(option), option))


def items_of_files(
    parts: list[Part], known: Sequence[str], beside: Iterable[pd.DataFrame] = ()
) -> tuple[list[Part], tuple[str, ...]]:
    """Plain tables with items named after their files too, where one name means other items in each, and what is said.

    known: Our names of columns, which say nothing of an item.
    beside: Further files that name items; where they do so without a file's name, items stay as they are.

    Examples
    --------
    >>> texts = {"en": ["What?", "Who?"], "ko": ["Mwo?", "Nugu?"]}
    >>> rows = {name: pd.DataFrame({"item": [1, 2], "model": "m", "question": each}) for name, each in texts.items()}
    >>> parts, said = items_of_files([Part(name=f"{name}.csv", frame=each) for name, each in rows.items()], ["item"])
    >>> parts[1].frame["item"].tolist(), said[0]
    (['ko 1', 'ko 2'], "'question' differs between files for the items of one name: they are other items, 'en 1' ...")
    """
    if len(parts) < 2 or any(part.tool or "item" not in part.frame for part in parts):
        return parts, ()
    files = [File(name=part.name) for part in parts]
    stems = [file.stem for file in files]
    labels = stems if len({*stems}) == len(parts) else [file.folder for file in files]
    rows = pd.concat([part.frame for part in parts], ignore_index=True)
    place = pd.DataFrame(
        {"item": as_words(rows["item"]), "file": np.repeat(labels, [len(part.frame) for part in parts])}
    )
    of_files = place.drop_duplicates()
    shared = of_files.loc[of_files["item"].duplicated(), "item"].unique()
    if any("item" in other and as_words(other["item"]).isin(place["item"]).any() for other in beside):
        return parts, ()
    # Some hundreds of items show as well as all what a column says of them.
    looked = place["item"].isin(shared[:_MOST_LOOKED])
    rows, place = rows[looked], place[looked]
    once = rows[[name for name in _DECIDED_ONCE if name in rows]].apply(as_words)
    if not once.assign(file=place["file"]).drop_duplicates().duplicated(list(once)).any():
        return parts, ()
    free = [name for name in map(str, rows.columns) if name not in known and isinstance(rows[name], pd.Series)]
    found = (one for one in free if _of_other_items(place.assign(value=rows[one]), one))
    if (name := next(found, None)) is None:
        return parts, ()
    apart = [
        replace(part, frame=part.frame.assign(item=(label + " " + as_words(column)).where(column.notna())))
        for part, label, column in zip(parts, labels, (part.frame["item"] for part in parts), strict=True)
    ]
    first = apart[0].frame["item"].dropna().iloc[0]
    text = f"{name!r} differs between files for the items of one name: they are other items, {first!r} and the like"
    return apart, (text,)


def _of_other_items(rows: pd.DataFrame, name: str) -> bool:
    """Whether a column tells what an item is, as all answers of a file to it have it, and differs between the files."""
    rows = rows[rows["value"].notna()].assign(value=as_words(rows["value"]))
    each = rows.groupby(["item", "file"])["value"].agg(["nunique", "size", "first"]).reset_index()
    kind = bool(columns_of(pd.DataFrame(columns=[name]), _KINDS))
    # What is the same for a whole file, as a judge's prompt, is of a file, unless its name says that it is of items.
    varied = kind or not each.drop_duplicates(["file", "first"]).groupby("file").size().eq(1).any()
    stated = kind or bool(columns_of(pd.DataFrame(columns=[name]), _TEXTS)) or (each["size"] > 1).mean() >= NEARLY_ALL
    again = each[each.duplicated("item", keep=False)].groupby("item")["first"]
    differ = (again.nunique() == again.size()).mean() >= NEARLY_ALL
    return bool(varied and stated and differ and (each["nunique"] == 1).mean() >= NEARLY_ALL)


#: Items that are looked at.
_MOST_LOOKED = 500
#: What a judge decides once.
_DECIDED_ONCE = ("item", "model", "model_a", "model_b", "response", "judge", "order")
#: Names of columns that say of which kind an item is, and of its texts.
_KINDS = ("language", "lang", "locale", "domain", "category", "task_category", "subject", "subset", "topic", "task")
_TEXTS = ("question", "question_text", "prompt", "instruction", "query", "input", "user_input", "problem", "passage")
