"""Gold labels from a second table, joined to the answers they belong to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayesjudge.errors import Problem
from bayesjudge.tables.coding import MISSING, PROBABILITY, code_binary, code_names, code_probability
from bayesjudge.tables.columns import name_columns, require_columns
from bayesjudge.tables.schema import broken_rules, readable, readable_as, same_within

_WHERE = "labels."
#: How a probability that cannot be read is repaired.
PROBABILITY_FIX = "Write the probability with which the answer was chosen to be labelled."


@dataclass(frozen=True, eq=False, kw_only=True)
class Gold:
    """A labels table: names and labels of its usable rows, and what was wrong with the others.

    item, model: Of each usable row; ``model`` is None where the table has no such column.
    label: 0 or 1.
    probability: With which the answer was chosen to be labelled (column ``label_probability``).
    marks: Where several people labelled (column ``annotator``): ``item, model`` (if any), ``annotator, label``, one row
        a mark. The labels above are then the annotators' majority, and ties are left out.
    """

    item: pd.Index[Any]
    model: pd.Index[Any] | None
    label: NDArray[np.int8]
    dropped: Mapping[str, int]
    warnings: tuple[str, ...]
    probability: NDArray[np.float64] | None = None
    marks: pd.DataFrame | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class GoldMatch:
    """Gold labels brought to the rows of a verdict table.

    label: 0, 1 or `MISSING`.
    """

    label: NDArray[np.int8]
    probability: NDArray[np.float64]
    unmatched: int
    problems: list[Problem]


def read_gold(frame: pd.DataFrame, columns: Mapping[str, str] | None) -> tuple[Gold | None, list[Problem]]:
    """Validate a table of gold labels: ``item``, optional ``model`` and ``annotator``, ``label``.

    Mapped columns that the labels table does not have are left to the verdict table.
    """
    here = {name: source for name, source in (columns or {}).items() if source in map(str, frame.columns)}
    keys = ("item", "model", "label", "annotator", "label_probability")
    named, warnings = name_columns(frame, {name: here[name] for name in keys if name in here}, names=keys)
    problems = require_columns(named.columns, ("item", "label"), where="the labels table")
    if problems:
        return None, [_in_labels(problem) for problem in problems]
    return _code_gold(named, warnings)


def match_gold(gold: Gold, *, codes: pd.DataFrame, items: pd.Index[Any], models: pd.Index[Any]) -> GoldMatch:
    """Bring each gold label to the rows of its answer (or of its item, where gold names no model).

    codes: Codes ``item`` and ``model`` of the verdict table.
    """
    width = len(models) if gold.model is not None else 1
    row = codes["item"].to_numpy(np.int64) * width
    theirs = items.get_indexer(gold.item).astype(np.int64)
    known = theirs >= 0
    theirs *= width
    if gold.model is not None:
        model = models.get_indexer(gold.model)
        known &= model >= 0
        theirs += model
        row = np.where(codes["model"] >= 0, row + codes["model"], MISSING)
    row = np.where(codes["item"] >= 0, row, MISSING)
    label = _look_up(row, theirs[known], gold.label[known], np.int8(MISSING))
    chance = np.full(len(gold.label), np.nan) if gold.probability is None else gold.probability
    probability = _look_up(row, theirs[known], chance[known], np.nan)
    matched = known & np.isin(theirs, row[row >= 0])
    problems = [_nothing_matched(gold, items, models)] if len(theirs) and not matched.any() else []
    return GoldMatch(label=label, probability=probability, unmatched=int((~matched).sum()), problems=problems)


def _code_gold(named: pd.DataFrame, warnings: tuple[str, ...]) -> tuple[Gold | None, list[Problem]]:
    item, items = code_names(named["item"])
    has_model = "model" in named
    model, models = code_names(named["model"]) if has_model else (np.zeros_like(item), pd.Index([""], dtype="str"))
    label = code_binary(named["label"])
    has_annotator = "annotator" in named
    annotator, annotators = (
        code_names(named["annotator"]) if has_annotator else (np.zeros_like(item), pd.Index([""], dtype="str"))
    )
    present = (item >= 0) & (model >= 0) & (annotator >= 0)
    key = pd.factorize(item.astype(np.int64) * max(len(models), 1) + model)[0]
    answer = np.where(present, key.astype(np.int64) * max(len(annotators), 1) + annotator, MISSING)
    has_probability = "label_probability" in named
    probability = code_probability(named["label_probability"]) if has_probability else None
    coded = pd.DataFrame(
        {
            "item": item,
            "model": model,
            "label": label,
            "annotator": annotator,
            "answer": answer,
            "label_probability": np.nan if probability is None else probability,
        }
    )
    parts = [
        ("item", item, items),
        *([("model", model, models)] if has_model else []),
        *([("annotator", annotator, annotators)] if has_annotator else []),
    ]

    def name(row: int) -> str:
        return ", ".join(f"{part} {names[codes[row]]!r}" for part, codes, names in parts)

    rules = [
        readable("item", named["item"], binary=False, where=_WHERE),
        *([readable("model", named["model"], binary=False, where=_WHERE)] if has_model else []),
        *([readable("annotator", named["annotator"], binary=False, where=_WHERE)] if has_annotator else []),
        readable("label", named["label"], binary=True, where=_WHERE),
        same_within(
            "label",
            "answer",
            unit="answer and annotator" if has_annotator else "answer",
            name=name,
            where=_WHERE,
            fix="Keep one gold label for each answer, or name an annotator column.",
        ),
        *(
            [
                readable_as(
                    "label_probability",
                    named["label_probability"],
                    allowed=PROBABILITY,
                    fix=PROBABILITY_FIX,
                    where=_WHERE,
                )
            ]
            if has_probability
            else []
        ),
    ]
    problems = broken_rules(coded, rules)
    if problems:
        return None, problems
    use = present & (label >= 0)
    dropped = {"labels table: row without a name or label": int((~use).sum())} if not use.all() else {}
    names = {part: names.take(codes[use]) for part, codes, names in parts}
    gold = Gold(
        item=names["item"],
        model=names.get("model"),
        label=label[use],
        dropped=dropped,
        warnings=warnings,
        probability=None if probability is None else probability[use],
    )
    return (_majority(gold, names["annotator"]) if has_annotator else gold), []


def _majority(gold: Gold, annotator: pd.Index[Any]) -> Gold:
    """One label an answer, the majority of its annotators; all marks are kept beside it."""
    columns = {"item": gold.item, **({} if gold.model is None else {"model": gold.model})}
    chance = np.nan if gold.probability is None else gold.probability
    marks = pd.DataFrame(
        {**columns, "annotator": annotator, "label": gold.label, "probability": chance}
    ).drop_duplicates([*columns, "annotator"], ignore_index=True)
    of_answer = marks.groupby(list(columns), sort=False)
    share = of_answer.agg(label=("label", "mean"), probability=("probability", "first")).reset_index()
    ties = int((share["label"] == 0.5).sum())
    share = share[share["label"] != 0.5]
    message = (
        f"the labels table has {marks['annotator'].nunique()} annotators: methods that take one label an "
        f"answer take the majority, and leave {ties} answers with a tie unlabelled"
    )
    return Gold(
        item=pd.Index(share["item"]),
        model=None if gold.model is None else pd.Index(share["model"]),
        label=np.asarray(share["label"] > 0.5, dtype=np.int8),
        dropped=gold.dropped,
        warnings=(*gold.warnings, message),
        marks=marks.drop(columns="probability"),
        probability=None if gold.probability is None else share["probability"].to_numpy(float),
    )


def _look_up(row: NDArray[np.int64], key: NDArray[np.int64], value: NDArray[Any], missing: Any) -> NDArray[Any]:
    keys, first = np.unique(key, return_index=True)
    place = pd.Index(keys).get_indexer(pd.Index(row))
    return np.asarray(np.append(value[first], missing)[place], dtype=value.dtype)


def _nothing_matched(gold: Gold, items: pd.Index[Any], models: pd.Index[Any]) -> Problem:
    theirs = [gold.item[0], *([gold.model[0]] if gold.model is not None else [])]
    ours = [*items[:1], *(models[:1] if gold.model is not None else [])]
    return Problem(
        column=_WHERE + "item",
        found=f"no row that belongs to any verdict, for example {theirs}",
        allowed=f"names as in the verdict table, for example {ours}",
        fix="Make the names of both tables the same.",
    )


def _in_labels(problem: Problem) -> Problem:
    return Problem(column=_WHERE + problem.column, found=problem.found, allowed=problem.allowed, fix=problem.fix)
