"""Rows that contradict or repeat each other because a log holds several prompts, criteria or files: what says so."""

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
from bayesjudge.readers.column_kinds import is_human
from bayesjudge.readers.column_names import TRIAL_ALIASES, columns_of, named_like
from bayesjudge.readers.format import File
from bayesjudge.readers.parts import Part
from bayesjudge.readers.values import as_words
from bayesjudge.tables.coding import code_binary, distinct_values
from bayesjudge.tables.verdict_rows import NAMES

#: Most values of a column that rows may be chosen by.
MOST_VALUES = 20
#: Choices that a message names.
MOST_NAMED = 6
#: Share of the repeated items in which a column must have the same values, each as often as the others, to say what the
#: rows are of: some items may lack a row, or have one twice.
_NEARLY_ALL = 0.8


def choose_one(
    frame: pd.DataFrame,
    problems: Sequence[Problem],
    *,
    value: str,
    keys: Sequence[str],
    known: Sequence[str],
    joined: Mapping[str, str] | None = None,
) -> InputError | None:
    """The problems with one for all contradictions, where one or two further columns tell them apart.

    value: The column that must be one within ``keys``.
    joined: Of answers, what our columns have, as ``--set`` writes it: an option that keeps all rows is offered, too.

    Examples
    --------
    >>> frame = pd.DataFrame({"item": [*"qqrr"], "label": [0, 1, 0, 0], "round": ["first", "second"] * 2})
    >>> problem = Problem(column="label", found="0 and 1", allowed="one value for each item", fix="", rows=[1, 2])
    >>> choose_one(frame, [problem], value="label", keys=["item"], known=["item", "label"]).options
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
    free = {name: values for name in others if (values := _words(frame[name])) is not None}
    # What states the value in other words would choose rows by their value.
    free = {name: values for name, values in free.items() if not _states(words, value, values)}
    few = sorted(free, key=lambda name: free[name].nunique())
    for columns in itertools.chain(itertools.combinations(few, 1), itertools.combinations(few, 2)):
        apart = words.assign(**{name: free[name] for name in columns})
        if not apart.drop_duplicates().duplicated([*within, *columns]).any():
            others = [] if joined is None else _keeping_all(columns, joined)
            choice = _choice_needed(mine, frame[[*columns]], others)
            return InputError([*(one for one in problems if one not in mine), choice[0]], options=choice[1])
    return None


def _states(words: pd.DataFrame, value: str, column: pd.Series[str]) -> bool:
    """Whether a column, together with the order of presentation, has one value for each of its own."""
    known = {name: words[name] for name in ("order", value) if name in words}
    stated = pd.DataFrame({**known, "column": column}).drop_duplicates()
    return not stated.duplicated([name for name in stated if name != value]).any()


def _words(values: Any) -> pd.Series[str] | None:
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


def _numbering(frame: pd.DataFrame, label: NDArray[np.int8]) -> list[str]:
    """Columns with another value on each row of one answer by one judge, those of few values first."""
    words = frame[[name for name in ("item", "model", "judge", "run") if name in frame]].apply(as_words)
    others = [str(name) for name in frame.columns if name not in NAMES and isinstance(frame[name], pd.Series)]
    apart = {name: as_words(frame[name]) for name in others if frame[name].notna().all()}
    apart = {name: one for name, one in apart.items() if not words.assign(**{name: one}).duplicated().any()}
    few = sorted(apart, key=lambda name: apart[name].nunique())
    stated = words.assign(label=label)
    return [name for name in few if _words(frame[name]) is None or not _states(stated, "label", apart[name])]


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


def _keeping_all(columns: Sequence[str], joined: Mapping[str, str]) -> list[str]:
    """The option that keeps all rows: as answers where their column numbers these, else as models of their own."""
    numbers = columns_of(pd.DataFrame(columns=[*columns]), _NUMBERS)
    if len(columns) == len(numbers) == 1:
        return [_as_items(numbers[0], joined)]
    names = (joined.get("model", "{model}"), *(f"{{{name}}}" for name in columns))
    return [f"--set {shlex.quote('model=' + ' '.join(names))}"]


def _choice_needed(
    problems: Sequence[Problem], columns: pd.DataFrame, keep: Sequence[str]
) -> tuple[Problem, list[str]]:
    """The problem, and its options: rows to choose and, with columns that tell answers apart, what keeps all."""
    choices = _choices(columns)[: MOST_NAMED // 2 if keep else MOST_NAMED]
    names = " and ".join(map(repr, columns.columns))
    problem = Problem(
        column=problems[0].column,
        found=f"several values {problems[0].allowed.removeprefix(_ONE_VALUE)}, but one within {names}",
        allowed=f"{problems[0].allowed}, of which {names} distinguishes several" if keep else problems[0].allowed,
        fix=f"Choose rows: {'; '.join(choices)}{f', or keep all: {keep[0]}' if keep else ''}.",
        rows=tuple(row for one in problems for row in one.rows),
    )
    return problem, [*choices, *keep]


def _choices(columns: pd.DataFrame) -> list[str]:
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
    stated = kind or bool(columns_of(pd.DataFrame(columns=[name]), _TEXTS)) or (each["size"] > 1).mean() >= _NEARLY_ALL
    again = each[each.duplicated("item", keep=False)].groupby("item")["first"]
    differ = (again.nunique() == again.size()).mean() >= _NEARLY_ALL
    return bool(varied and stated and differ and (each["nunique"] == 1).mean() >= _NEARLY_ALL)


#: Items that are looked at.
_MOST_LOOKED = 500
#: What a judge decides once.
_DECIDED_ONCE = ("item", "model", "model_a", "model_b", "response", "judge", "order")
#: Names of columns that say of which kind an item is, and of its texts.
_KINDS = ("language", "lang", "locale", "domain", "category", "task_category", "subject", "subset", "topic", "task")
_TEXTS = ("question", "question_text", "prompt", "instruction", "query", "input", "user_input", "problem", "passage")


def repeats_of_what(
    frame: pd.DataFrame,
    parts: Sequence[Part],
    *,
    value: str,
    keys: Sequence[str],
    number: str,
    known: Sequence[str],
    assumed: Sequence[str],
    refuse: bool,
) -> tuple[str, ...]:
    """What is said of rows that count as repetitions, although the file or a further column is what tells them apart.

    frame: The rows of all parts, under our names.
    number: Our column that numbers repetitions.
    assumed: What the table says; nothing is doubtful where it took no rows as repetitions.
    refuse: Raise it, with the options that decide it.

    Examples
    --------
    >>> frame = pd.DataFrame({"item": [*"qqrr"], "outcome": [*"abaa"], "aspect": ["style", "facts"] * 2})
    >>> options = {"value": "outcome", "keys": ["item"], "number": "trial", "known": ["item", "outcome"]}
    >>> said = repeats_of_what(frame, [], **options, assumed=["2 rows: taken as repeated trials"], refuse=False)
    >>> print(said[0])  # doctest: +ELLIPSIS
    column 'aspect' has the same 2 values for each item, ... Choose one: --where aspect=facts; --where aspect=style; ...
    """
    if not any(_ASSUMED in text for text in assumed) or "item" not in frame or value not in frame:
        return ()
    sizes = [len(part.frame) for part in parts]
    rows = frame.assign(**{_FILE: np.repeat(np.arange(len(parts)), sizes)}) if len(parts) > 1 else frame
    rows = rows[rows[value].notna()].reset_index(drop=True)
    words = rows[[name for name in keys if name in rows]].apply(as_words)
    group = words.groupby(list(words), sort=False).ngroup()
    again = group.duplicated(keep=False)
    if not again.any():
        return ()
    found = _by_file(rows, group, parts, number) or _by_column(rows[again], group[again], value, number, known)
    if found is not None and refuse:
        raise found
    return (str(found),) if found is not None else ()


#: How tables say that they numbered rows.
_ASSUMED = "taken as repeated"
#: The column of the file's number, which no user's column is called.
_FILE = "\0file"


def _by_file(rows: pd.DataFrame, group: pd.Series[int], parts: Sequence[Part], number: str) -> UsageError | None:
    """Files in none of which a judge judges an item twice, and nothing that names which they are."""
    if _FILE not in rows or pd.DataFrame({"group": group, "file": rows[_FILE]}).duplicated().any():
        return None
    files = [File(name=part.name) for part in parts]
    labels = {"{file}": [file.stem for file in files], "{folder}": [file.folder for file in files]}
    item = parts[0].read_as.get("item", "item")
    apart = [
        name
        for name, of in labels.items()
        if not pd.DataFrame({"group": group, "of": np.array(of)[rows[_FILE]]}).duplicated().any()
    ]
    # Where neither does alone, each folder is one judge's or one run, and has a file for each kind of item.
    name, inner = (apart[0], apart[0]) if apart else ("{folder}", "{file}")
    others = f"--set {shlex.quote(f'{item}={inner} {{{item}}}')}"
    named = "judge" in rows and rows["judge"].notna().any()
    ours = (number,) if named else (number, "judge")
    options = [f"--set {shlex.quote(f'{one}={name}')}{'' if apart else f' {others}'}" for one in ours]
    if not named and any(map(is_human, labels[name])):
        text = (
            f"no file has an item twice and no column names a judge: {options[1]} makes what is called human people's"
        )
        return UsageError(text, lacks=f"a judge for each of {len(parts)} files", options=options[1:])
    each = "file" if apart else "folder"
    whose = "" if named else f"Where each {each} is another judge's: {options[1]}, or --column judge=THAT; "
    text = (
        f"no file has an item{' of one judge' if named else ''} twice, and no column names a "
        f"{number if named else f'judge or a {number}'}: rows of the {len(parts)} files count as repetitions by one "
        f"judge. {whose}{'where' if whose else 'Where'} one judge judged again: {options[0]}"
        f"{f'; where they have other items: {others}' if apart else ''}"
    )
    # Without a repetition there is no reliability.
    options += [others] if apart and number != "trial" else []
    return UsageError(
        text, lacks=f"a {number if named else f'judge or a {number}'} for each of {len(parts)} files", options=options
    )


def _by_column(
    rows: pd.DataFrame, group: pd.Series[int], value: str, number: str, known: Sequence[str]
) -> UsageError | None:
    """A column with the same few values in each group, each as often as the others, that is not the value again."""
    others = [str(name) for name in rows.columns if name not in {*known, "model_a", "model_b", _FILE}]
    # Who voted and which answer was shown first are no criteria.
    none = {*named_like(others, "voter"), *columns_of(rows, ["order", *TRIAL_ALIASES["order"][0]])}
    free = {name: words for name in others if name not in none and (words := _words(rows[name])) is not None}
    stated = rows[[name for name in ("order", value) if name in rows]].apply(as_words)
    for name in sorted(free, key=lambda name: free[name].nunique()):
        if _in_each(group, free[name]) and not _states(stated, value, free[name]):
            # Other orders and prompts are repetitions too.
            judged = rows[[key for key in ("item", "judge", "response") if key in rows]].apply(as_words)
            once = not judged.assign(**{name: free[name]}).duplicated().any()
            return _which(rows[[name]], name, number, alone=once and number == "trial")
    return None


def _in_each(group: pd.Series[int], values: pd.Series[str]) -> bool:
    counts = pd.crosstab(group, values).to_numpy()
    return bool(((counts > 0).all(axis=1) & (counts.min(axis=1) == counts.max(axis=1))).mean() >= _NEARLY_ALL)


def _which(column: pd.DataFrame, name: str, number: str, *, alone: bool) -> UsageError:
    """What to choose; ``alone`` says that no chosen rows would have a repetition."""
    every, numbered = _choices(column), f"--column {shlex.quote(f'{number}={name}')}"
    choices, lacks = every[:MOST_NAMED], f"a choice of one of {len(every)} values of {name!r}"
    text = (
        f"column {name!r} has the same {len(every)} values for each item, and rows that differ in it count as "
        f"repetitions by one judge. Choose one: {'; '.join(choices)}; or {numbered} where they number repetitions"
    )
    if alone:
        lacks = f"a second judgement of any item by one judge, unless column {name!r} numbers them"
        return UsageError(text, lacks=lacks, options=[numbered])
    numbers = pd.api.types.is_numeric_dtype(column[name])
    return UsageError(text, lacks=lacks, options=[numbered, *choices] if numbers else [*choices, numbered])
