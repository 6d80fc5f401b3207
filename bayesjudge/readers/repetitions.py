"""Rows that repeat each other because a log holds several criteria, judges or files: what says so."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from bayesjudge.errors import UsageError
from bayesjudge.readers.aliases import TRIAL_ALIASES
from bayesjudge.readers.column_kinds import are_models, is_human
from bayesjudge.readers.column_names import columns_of, folded, named_like
from bayesjudge.readers.conflicts import (
    MOST_NAMED,
    MOST_VALUES,
    NEARLY_ALL,
    choices_of,
    few_words,
    models_of_files,
    numbered_within,
    own_items,
    states,
)
from bayesjudge.readers.format import File
from bayesjudge.readers.parts import Part
from bayesjudge.readers.values import as_words


def require_one_criterion(
    frame: pd.DataFrame, parts: Sequence[Part], *, value: str, keys: Sequence[str], number: str
) -> None:
    """What a judge says of one thing by several criteria is no repetition, however its rows are numbered.

    frame, value, keys, number: As in `repeats_of_what`.

    Examples
    --------
    >>> frame = pd.DataFrame({"item": [*"qqqq"], "score": [1, 2, 1, 3], "criterion": ["style", "facts"] * 2})
    >>> require_one_criterion(frame, [], value="score", keys=["item"], number="trial")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    bayesjudge.errors.UsageError: column 'criterion' has 2 criteria, which are no repetitions ... --where ...
    """
    if not {"criterion", "item", value} <= {*frame} or not frame.columns.is_unique:
        return
    rows = frame[frame["criterion"].notna() & frame[value].notna()]
    group = _groups(rows, keys)
    if not rows.groupby(group)["criterion"].nunique().gt(1).any():
        return
    every = choices_of(rows[["criterion"]])
    text = f"column 'criterion' has {len(every)} criteria, which are no repetitions by one judge"
    if number == "trial" and not rows.assign(group=group).duplicated(["group", "criterion"]).any():
        raise UsageError(
            f"{text}, and by each alone ({every[0]}) nothing is judged twice", lacks=f"{AGAIN} and criterion"
        )
    own = _own_items(parts, "{criterion}")
    ways = [*every[:MOST_NAMED], own] if len(every) <= MOST_VALUES else [own]
    text += f". Choose one: {'; '.join(ways)}, where the last makes each criterion of an item an item of its own"
    raise UsageError(text, lacks=f"a choice of one of {len(every)} criteria", options=ways)


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
    refuse: Raise it, with the options that decide it; names of models, and turns, are always refused.

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
    group = _groups(rows, keys)
    again = group.duplicated(keep=False)
    if not again.any():
        return ()
    found = _by_file(rows, group, parts, number)
    if found is None and (name := _by_column(rows[again], group[again], value, known)):
        if _of_models(rows, name):
            raise _who(rows, name, parts, value, number)
        if _TURN.fullmatch(folded(name)):
            raise _turns(rows[again], name, parts, number)
        found = _which(rows[again], name, number, parts)
    if found is None and (name := numbered_within(rows, group.to_frame("group"), value)):
        found = _numbered(name, number, parts)
    if found is not None and refuse:
        raise found
    return (str(found),) if found is not None else ()


#: How tables say that they numbered rows.
_ASSUMED = "taken as repeated"
#: What is lacking where no rows repeat.
AGAIN = "a second judgement of any item by one judge"
#: What of a file's path may tell it from others.
_OF_FILES = ("file", "folder", "folder.2", "folder.3")
#: A column of parts of a conversation.
_TURN = re.compile(r"(.*_)?turn(_(id|index|idx|number|nr|no))?")
#: The column of the file's number, which no user's column is called.
_FILE = "\0file"


def _by_file(rows: pd.DataFrame, group: pd.Series[int], parts: Sequence[Part], number: str) -> UsageError | None:
    """Files in none of which a judge judges an item twice, and nothing that names which they are."""
    if _FILE not in rows or pd.DataFrame({"group": group, "file": rows[_FILE]}).duplicated().any():
        return None
    if number == "trial" and (of_models := models_of_files(parts, rows)):
        return of_models
    files = [File(name=part.name) for part in parts]
    labels = {f"{{{name}}}": [file.names.get(name, "") for file in files] for name in _OF_FILES}
    apart = [
        name
        for name, of in labels.items()
        if not pd.DataFrame({"group": group, "of": np.array(of)[rows[_FILE]]}).duplicated().any()
    ]
    # Where neither does alone, each folder is one judge's or one run, and has a file for each kind of item.
    name, inner = (apart[0], apart[0]) if apart else ("{folder}", "{file}")
    others = _own_items(parts, inner)
    named = "judge" in rows and rows["judge"].notna().any()
    ours = (number,) if named else (number, "judge")
    # A system without a name is called as its file, and files of several may be called likewise.
    unnamed = "model" in rows and all(one.frame["model"].eq(one.stem).all() for one in parts if "model" in one.frame)
    models = [f"--set {shlex.quote(f'model={name}')}"] if unnamed and apart else []
    options = [f"--set {shlex.quote(f'{one}={name}')}{'' if apart else f' {others}'}" for one in ours]
    if not named and any(map(is_human, labels[name])):
        text = (
            f"no file has an item twice and no column names a judge: {options[1]} makes what is called human people's"
        )
        return UsageError(text, lacks=f"a judge for each of {len(parts)} files", options=options[1:])
    each = "file" if apart else "folder"
    whose = f"Where each {each} is another model's: {models[0]}; " if models else ""
    if not named:
        whose += (
            f"{'where' if whose else 'Where'} each {each} is another judge's: {options[1]}, or --column judge=THAT; "
        )
    text = (
        f"no file has an item{' of one judge' if named else ''} twice, and no column names a "
        f"{number if named else f'judge or a {number}'}: rows of the {len(parts)} files count as repetitions by one "
        f"judge. {whose}{'where' if whose else 'Where'} one judge judged again: {options[0]}"
        f"{f'; where they have other items: {others}' if apart else ''}"
    )
    # Without a repetition there is no reliability.
    options = [*models, *options, *([others] if apart and number != "trial" else [])]
    lacks = " or a ".join([*(["model"] if models else []), *([] if named else ["judge"]), number])
    return UsageError(text, lacks=f"a {lacks} for each of {len(parts)} files", options=options)


def _groups(rows: pd.DataFrame, keys: Sequence[str]) -> pd.Series[int]:
    """The number of what each row judges, by the keys that there are."""
    words = rows[[name for name in keys if name in rows]].apply(as_words)
    return words.groupby(list(words), sort=False).ngroup()


def _own_items(parts: Sequence[Part], apart: str) -> str:
    """The option that makes items of what ``apart``, a name in braces, says within an item."""
    item = parts[0].read_as.get("item", "item") if parts else "item"
    return f"--set {shlex.quote(f'{item}={apart} {{{item}}}')}"


def _by_column(rows: pd.DataFrame, group: pd.Series[int], value: str, known: Sequence[str]) -> str | None:
    """A column with the same few values in each group, each as often as the others, that is not the value again."""
    others = [str(name) for name in rows.columns if name not in {*known, "model_a", "model_b", _FILE}]
    # Who voted and which answer was shown first are no criteria.
    none = {*named_like(others, "voter"), *columns_of(rows, ["order", *TRIAL_ALIASES["order"][0]])}
    free = {name: words for name in others if name not in none and (words := few_words(rows[name])) is not None}
    stated = rows[[name for name in ("order", value) if name in rows]].apply(as_words)
    found = [name for name in free if _in_each(group, free[name]) and not states(stated, value, free[name])]
    return min(found, key=lambda name: (not _of_models(rows, name), free[name].nunique()), default=None)


def _in_each(group: pd.Series[int], values: pd.Series[str]) -> bool:
    counts = pd.crosstab(group, values).to_numpy()
    return bool(((counts > 0).all(axis=1) & (counts.min(axis=1) == counts.max(axis=1))).mean() >= NEARLY_ALL)


def _of_models(rows: pd.DataFrame, name: str) -> bool:
    """Whether a column names models that are not those of a comparison."""
    return "model_a" not in rows and are_models(name, rows[name].dropna().astype(str).unique())


def _who(rows: pd.DataFrame, name: str, parts: Sequence[Part], value: str, number: str) -> UsageError:
    """What models did who are no repetitions: they answered or, where no judge has a name, they judged."""
    judges = [] if "judge" in rows and rows["judge"].notna().any() else ["judge"]
    response, *others = (f"--column {shlex.quote(f'{one}={name}')}" for one in ("response", *judges, number))
    scored = value == "score" and "response" not in rows
    ways = [response if scored else _own_items(parts, f"{{{name}}}"), *others]
    text = (
        f"column {name!r} looks like names of models, which are no repetitions by one judge. Where they answered: "
        f"{ways[0]}; {f'where they judged: {ways[1]}; ' if judges else ''}where it numbers repetitions: {ways[-1]}"
    )
    return UsageError(text, lacks=f"{AGAIN}, unless column {name!r} says so", options=ways[:-1])


def _numbered(name: str, number: str, parts: Sequence[Part]) -> UsageError:
    """What to state of a column that numbers the rows of each item, of which there are many."""
    item = parts[0].read_as.get("item", "item") if parts else "item"
    own, numbered = own_items(name, f"{{{item}}}"), f"--column {shlex.quote(f'{number}={name}')}"
    text = (
        f"column {name!r} numbers the rows of each {item!r}, which count as repetitions by one judge. Where an item is "
        f"named by both: {own}; where it numbers repetitions: {numbered}"
    )
    if number == "trial":
        return UsageError(text, lacks=f"{AGAIN}, unless column {name!r} numbers them", options=[numbered])
    return UsageError(text, lacks=f"what {name!r} numbers: items or repetitions", options=[own, numbered])


#: Names of columns of two values that say which answer was shown first.
_ORDER = re.compile(r"(.*_)?(order(ing)?|position|(is_|was_)?(swap(ped)?|flip(ped)?|reversed?))")


def _as_order(column: pd.Series[Any], name: str) -> str:
    """The option that reads a column of two values as the order of presentation; empty where its name is of none."""
    first, *others = sorted({*as_words(column)})
    if len(others) != 1 or not _ORDER.fullmatch(folded(name)) or not (first + others[0]).isalnum():
        return ""
    return f"--set {shlex.quote(f'order={{{name}:{first}=ab,{others[0]}=ba}}')}"


def _turns(rows: pd.DataFrame, name: str, parts: Sequence[Part], number: str) -> UsageError:
    """Turns of a conversation are judged for themselves: items, of which each may be judged again."""
    own, choices = _own_items(parts, f"{{{name}}}"), choices_of(rows[[name]])[:MOST_NAMED]
    text = (
        f"rows of an item differ in {name!r}, and turns of a conversation are no repetitions by one judge. Each as an "
        f"item of its own: {own}; one of them: {'; '.join(choices)}"
    )
    lost = number == "trial" and _judged_once(rows, name)
    return UsageError(text, lacks=AGAIN if lost else "items that are turns", options=[] if lost else [own, *choices])


def _judged_once(rows: pd.DataFrame, name: str) -> bool:
    """Whether no item is judged again within a value of a column; other orders and prompts are repetitions too."""
    judged = rows[[key for key in ("item", "judge", "response") if key in rows]].apply(as_words)
    return not judged.assign(**{name: as_words(rows[name])}).duplicated().any()


def _which(rows: pd.DataFrame, name: str, number: str, parts: Sequence[Part]) -> UsageError:
    """What to choose, where no chosen rows may have a repetition."""
    once = _judged_once(rows, name)
    every, numbered = choices_of(rows[[name]]), f"--column {shlex.quote(f'{number}={name}')}"
    choices, lacks = every[:MOST_NAMED], f"a choice of one of {len(every)} values of {name!r}"
    compared = "order" not in rows and bool({"model_a", "outcome"} & {*rows})
    first = [option] if compared and (option := _as_order(rows[name], name)) else []
    says = f"Where it is the order of presentation of verdicts on a and b: {first[0]}. " if first else ""
    if own := own_items(name, f"{{{parts[0].read_as.get('item', 'item') if parts else 'item'}}}"):
        says, first = f"Where an item is named by both: {own}. ", [own]
    text = (
        f"column {name!r} has the same {len(every)} values for each item, and rows that differ in it count as "
        f"repetitions by one judge. {says}Choose one: {'; '.join(choices)}; or {numbered} where they number repetitions"
    )
    if once and number == "trial":
        ways = [numbered] if own else [*first, numbered]
        return UsageError(text, lacks=f"{AGAIN}, unless column {name!r} numbers them", options=ways)
    numbers = pd.api.types.is_numeric_dtype(rows[name])
    return UsageError(text, lacks=lacks, options=[*first, *([numbered, *choices] if numbers else [*choices, numbered])])
