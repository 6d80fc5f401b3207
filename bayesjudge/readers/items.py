"""What a second file says of each item, joined to a log by item."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import numpy as np
import pandas as pd

from bayesjudge.errors import InputError, Problem
from bayesjudge.readers.aliases import GOLD_ALIASES, VERDICT_ALIASES, Aliases
from bayesjudge.readers.column_names import columns_of, recognise
from bayesjudge.readers.filters import ROW
from bayesjudge.readers.parts import Part, origins, read_parts, summed
from bayesjudge.readers.values import as_words
from bayesjudge.readers.wide import cells_of, unfolded
from bayesjudge.tables.coding import code_names, shown
from bayesjudge.tables.columns import name_columns, require_columns, require_unique

WHERE = "the items file"
#: The model of labels by item alone, where others name theirs.
_EVERY = "\0every model"


@dataclass(frozen=True, eq=False, kw_only=True)
class Items:
    """One row an item, under our names; the names it came with, what was guessed, its files, and rows left out."""

    frame: pd.DataFrame
    came_with: frozenset[str]
    notes: tuple[str, ...]
    source: tuple[Mapping[str, Any], ...]
    name: str = WHERE
    dropped: Mapping[str, int] = field(default_factory=dict)


def read_items(
    source: Any, columns: Mapping[str, str] | None, *, aliases: Aliases, names: Sequence[str]
) -> Items | None:
    """The items, where there is a file of them."""
    if source is None:
        return None
    parts = read_parts(source)
    frame = pd.concat([part.frame for part in parts], ignore_index=True)
    mine = {name: column for name, column in (columns or {}).items() if column in frame}
    mapping, doubts = recognise(map(str, frame.columns), mine, aliases=aliases, people=False)
    named, moved = name_columns(frame, mapping, names=names)
    problems = require_columns(named.columns, ("item",), where=WHERE)
    if problems:
        raise InputError(problems)
    # By name, as they are joined: 1 and "1" are one item, and a list is none.
    codes, _ = code_names(named["item"])
    twice = np.flatnonzero(pd.Series(codes).duplicated(keep=False)).tolist()
    if twice:
        raise InputError([_twice(twice)])
    nameless = int((codes < 0).sum())
    lost = (f"rows of {WHERE} that name no item, left out: {nameless}",) if nameless else ()
    came_with = frozenset(map(str, frame.columns))
    return Items(frame=named, came_with=came_with, notes=doubts + moved + lost, source=origins(parts))


def _twice(rows: Sequence[int]) -> Problem:
    return Problem(
        column="item",
        found=f"items on several rows of {WHERE}",
        allowed="one row an item",
        rows=tuple(row + 1 for row in rows),
        fix="Keep one row of each, for instance the majority of the votes.",
    )


def models_of(parts: Sequence[Part], columns: Mapping[str, str]) -> set[str]:
    """The names of a log's models, before its columns have our names."""
    names = [columns.get("model", "model"), *VERDICT_ALIASES["model"][0]]
    # A column that is there twice is refused later, by its name.
    there = [part.frame[[one]].iloc[:, 0] for part in parts for one in columns_of(part.frame, names)[:1]]
    return {name for column in there for name in as_words(column).unique()}


def labels_by_model(
    frame: pd.DataFrame, name: str, models: Collection[str], taken: Collection[str] = ()
) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """A table of labels that has a column for each of the log's models, with one row a label; another as it is.

    taken: Columns that the user names.

    Examples
    --------
    >>> labels, notes = labels_by_model(pd.DataFrame({"item": [1], "x": [1], "z": [0]}), "gold.csv", ["x", "y"])
    >>> labels.to_dict("records")
    [{'item': 1, 'z': 0, 'model': 'x', 'label': 1}]
    >>> notes
    ("columns 'x' of gold.csv were read as one model's labels each; 'z' not, as no model of the log has that name",)
    """
    named = ["label", *chain(*GOLD_ALIASES["label"]), "model", *chain(*GOLD_ALIASES["model"])]
    theirs = [one for one in map(str, frame.columns) if one in models]
    if not theirs or columns_of(frame, named) or {*taken} & {*theirs}:
        return frame, ()
    require_unique(frame.columns)
    others = [one for one in cells_of(frame, "verdict", taken) if one not in theirs]
    left = f"; {', '.join(map(repr, others))} not, as no model of the log has that name" if others else ""
    note = f"columns {', '.join(map(repr, theirs))} of {name} were read as one model's labels each{left}"
    return unfolded(frame, theirs, cells="label", names="model"), (note,)


def labels_together(tables: Sequence[Items]) -> Items:
    """The rows of several tables of labels; marks in those without a column of annotators are a person's."""
    if problems := [
        problem for one in tables for problem in require_columns(one.frame.columns, ("item", "label"), where=one.name)
    ]:
        raise InputError(problems)
    by_model = any("model" in one.frame for one in tables)
    frames = [one.frame if "model" in one.frame or not by_model else one.frame.assign(model=_EVERY) for one in tables]
    frame = pd.concat(frames, ignore_index=True)
    return Items(
        frame=frame.assign(annotator=frame["annotator"].fillna("a person")) if "annotator" in frame else frame,
        came_with=frozenset().union(*(one.came_with for one in tables)),
        notes=tuple(dict.fromkeys(note for one in tables for note in one.notes)),
        source=tuple(origin for one in tables for origin in one.source),
        dropped=summed(one.dropped for one in tables),
    )


def by_answer(labels: pd.DataFrame, log: pd.DataFrame) -> pd.DataFrame:
    """Labels by item alone, which stand next to others by item and model, once for each model that answered the item.

    Examples
    --------
    >>> marks = pd.DataFrame({"item": [1, 2], "label": [1, 0]})
    >>> both = (marks, marks.iloc[1:].assign(model="y"))
    >>> whole = labels_together([Items(frame=one, came_with=frozenset(), notes=(), source=()) for one in both])
    >>> log = pd.DataFrame({"item": ["1", "1", "2"], "model": ["x", "y", "y"]})
    >>> by_answer(whole.frame, log)[["item", "model"]].to_numpy().tolist()
    [[1, 'x'], [1, 'y'], [2, 'y'], [2, 'y']]
    """
    every = labels["model"].eq(_EVERY) if "model" in labels else pd.Series(False)
    if not every.any() or not {"item", "model"} <= {*log}:
        return labels
    answers = log[["item", "model"]].apply(as_words).drop_duplicates()
    models = as_words(labels["item"]).map(answers.groupby("item")["model"].agg(list))
    # Of an item that the log lacks, one label that no answer has.
    each = models.where(models.notna(), answers["model"].iloc[0]).where(every, labels["model"])
    return labels.rename_axis(ROW).assign(model=each).explode("model")


def of_log(frame: pd.DataFrame, columns: Mapping[str, str] | None, *others: Items | None) -> dict[str, str]:
    """The part of a mapping that is not about columns of other files alone.

    Where both have a column, people's names are about the other file's if the log's has one of our other names.

    Examples
    --------
    >>> log, gold = (pd.DataFrame(columns=["id", "by", "mark"]) for _ in range(2))
    >>> columns = {"item": "id", "verdict": "mark", "label": "mark", "annotator": "by"}
    >>> of_log(log, columns, Items(frame=gold, came_with=frozenset(gold), notes=(), source=()))
    {'item': 'id', 'verdict': 'mark'}
    """
    elsewhere = {name for other in others if other is not None for name in other.came_with}
    taken = Counter((columns or {}).values())
    theirs = {"annotator", *(["label"] if taken[(columns or {}).get("label", "")] > 1 else [])}
    return {
        name: column
        for name, column in (columns or {}).items()
        if column not in elsewhere or (column in frame.columns and name not in theirs)
    }


def with_items(frame: pd.DataFrame, items: Items | None) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """The log's rows with every column of their item that they do not have themselves.

    Examples
    --------
    >>> log = pd.DataFrame({"item": [1, 2, 1], "judge_prefers": ["a", "b", "b"]})
    >>> file = pd.DataFrame({"item": ["1", "2"], "human_prefers": ["a", None], "judge_prefers": "?"})
    >>> items = read_items(file, None, aliases={}, names=["item", "human_prefers", "judge_prefers"])
    >>> with_items(log, items)[0]["human_prefers"].tolist()
    ['a', nan, 'a']
    """
    if items is None:
        return frame, ()
    if problems := require_columns(frame.columns, ("item",)):
        raise InputError(problems)
    known = items.frame
    both = pd.concat([known["item"].astype(object), frame["item"].astype(object)], ignore_index=True)
    codes, _ = code_names(both)
    theirs, ours = codes[: len(known)], codes[len(known) :]
    at = pd.Index(np.where(theirs >= 0, theirs, -2 - np.arange(len(known)))).get_indexer(pd.Index(ours))
    lost = int((at < 0).sum())
    if lost == len(frame):
        raise InputError([_strangers(known, frame)])
    new = [name for name in known.columns if name not in frame]
    brought = known[new].reindex(pd.Index(at)).set_axis(frame.index)
    warnings = (f"{lost} of {len(frame)} rows are about no item of {WHERE}",) if lost else ()
    return pd.concat([frame, brought], axis=1), items.notes + warnings


def _strangers(items: pd.DataFrame, frame: pd.DataFrame) -> Problem:
    there, here = (shown(rows["item"].iloc[0]) if len(rows) else "none" for rows in (items, frame))
    return Problem(
        column="item",
        found=f"no row about an item of {WHERE} (items: {there} there and {here} here)",
        allowed="one name for an item in both files",
        fix="Make the names the same, or state which column has them.",
    )
