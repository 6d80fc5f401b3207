"""Gold labels from a second table, joined to the answers they belong to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayesjudge.errors import Problem
from bayesjudge.tables.coding import MISSING, PROBABILITY, code_binary, code_names, code_probability, joint_codes
from bayesjudge.tables.columns import name_columns, require_columns
from bayesjudge.tables.schema import CodedRows, Rule, broken_rules, readable, readable_as, same_within

_WHERE = "labels."
#: Share of ties from which it matters that they are left out, and what to do then.
MOST_TIES = 0.05
_OF_TIES = (
    ": these are the answers that people find hard, and what is left is easier; have one more person mark them, or "
    "take one person's labels"
)
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


def read_gold(frame: pd.DataFrame, columns: Mapping[str, str] | None) -> tuple[Gold | None, list[Problem]]:
    """Validate a table of gold labels: ``item``, optional ``model`` and ``annotator``, ``label``.

    Mapped columns that the labels table does not have are left to the verdict table.
    """
    here = {name: source for name, source in (columns or {}).items() if source in map(str, frame.columns)}
    keys = ("item", "model", "label", "annotator", "label_probability")
    named, warnings = name_columns(frame, {name: here[name] for name in keys if name in here}, names=keys)
    problems = require_columns(named.columns, ("item", "label"), where="the labels table")
    if problems:
        return None, [replace(problem, column=_WHERE + problem.column) for problem in problems]
    return _code_gold(named, warnings)


def match_gold(gold: Gold, verdicts: CodedRows) -> tuple[CodedRows, int, list[Problem]]:
    """Bring each gold label to the rows of its answer (or of its item, where gold names no model).

    Returns: The rows with codes ``gold`` (0, 1 or `MISSING`) and ``gold_probability``, the number of gold labels that
        no row has, and what is wrong.
    """
    codes, items, models = verdicts.codes, verdicts.names["item"], verdicts.names["model"]
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
    found = replace(verdicts, codes=codes.assign(gold=label, gold_probability=probability))
    return found, int((~matched).sum()), problems


def _code_gold(named: pd.DataFrame, warnings: tuple[str, ...]) -> tuple[Gold | None, list[Problem]]:
    parts = {part: code_names(named[part]) for part in ("item", "model", "annotator") if part in named}
    codes = {part: code for part, (code, _) in parts.items()}
    answer = joint_codes(list(codes.values()), [max(len(names), 1) for _, names in parts.values()])
    label = code_binary(named["label"])
    probability = code_probability(named["label_probability"]) if "label_probability" in named else None
    chance = np.nan if probability is None else probability
    coded = pd.DataFrame({**codes, "label": label, "answer": answer, "label_probability": chance})
    problems = broken_rules(coded, _rules(named, parts))
    if problems:
        return None, problems
    use = (answer >= 0) & (label >= 0)
    names = {part: found.take(code[use]) for part, (code, found) in parts.items()}
    gold = Gold(
        item=names["item"],
        model=names.get("model"),
        label=label[use],
        dropped={} if use.all() else {"labels table: row without a name or label": int((~use).sum())},
        warnings=warnings,
        probability=None if probability is None else probability[use],
    )
    return (_majority(gold, names["annotator"]) if "annotator" in names else gold), []


def _rules(named: pd.DataFrame, parts: Mapping[str, tuple[NDArray[Any], pd.Index[Any]]]) -> list[Rule]:
    """What the rows of a labels table must obey; names of its item, model and annotator are coded in ``parts``."""

    def name(row: int) -> str:
        return ", ".join(f"{part} {names[code[row]]!r}" for part, (code, names) in parts.items())

    fix = "Keep one gold label for each answer, or name an annotator column: --column annotator=REVIEWER."
    unit = "answer and annotator" if "annotator" in parts else "answer"
    chance = {"allowed": PROBABILITY, "fix": PROBABILITY_FIX, "where": _WHERE}
    return [
        *(readable(part, named[part], binary=False, where=_WHERE) for part in parts),
        readable("label", named["label"], binary=True, where=_WHERE),
        same_within("label", "answer", unit=unit, name=name, where=_WHERE, fix=fix),
        *(readable_as(column, named[column], **chance) for column in ("label_probability",) if column in named),
    ]


def _majority(gold: Gold, annotator: pd.Index[Any]) -> Gold:
    """One label an answer, the majority of its annotators; all marks are kept.

    A tie gives no label, and answers on which people tie are no random sample: past a share of them this is said.
    """
    columns = {"item": gold.item, **({} if gold.model is None else {"model": gold.model})}
    chance = np.nan if gold.probability is None else gold.probability
    marks = pd.DataFrame(
        {**columns, "annotator": annotator, "label": gold.label, "probability": chance}
    ).drop_duplicates([*columns, "annotator"], ignore_index=True)
    of_answer = marks.groupby(list(columns), sort=False)
    share = of_answer.agg(
        label=("label", "mean"), marks=("label", "size"), probability=("probability", "first")
    ).reset_index()
    ties = int((share["label"] == 0.5).sum())
    several = share["marks"] > 1
    differ = f", who differ on {(share['label'] % 1 > 0)[several].mean():.0%} of the answers that several marked"
    share = share[share["label"] != 0.5]
    message = (
        f"labels of {marks['annotator'].nunique()} people{differ if several.any() else ''}: "
        "methods that take one label an answer take the majority"
        + (f", and leave {ties} answers with a tie unlabelled" if ties else "")
        + (_OF_TIES if ties > MOST_TIES * len(of_answer) else "")
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
