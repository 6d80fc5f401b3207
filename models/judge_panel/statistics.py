"""Test quantities of `judge_panel`: what the labels show of models, items and judges."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesjudge.model import Data, Statistic
from bayesjudge.models.judge_panel.data import half_votes

__all__ = ["STATISTICS"]

#: Bounds of the share of a panel that says yes, for labels by how the panel voted.
_PARTS = {"mostly no": (-np.inf, -1 / 6), "torn": (-1 / 6, 1 / 6), "mostly yes": (1 / 6, np.inf)}


def _rows(data: Data) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
    """Item, model and whether it counts, of every row of the labelled answers."""
    return np.asarray(data["answer_item"]), np.asarray(data["answer_model"]), np.asarray(data["answer_n"]) > 0


def _table(label: Any, data: Data) -> tuple[Any, NDArray[np.bool_]]:
    """Labels (..., items, models) and where there is one."""
    item, model, counted = _rows(data)
    known = np.zeros((data.size("item"), data.size("model")), dtype=bool)
    known[item[counted], model[counted]] = True
    table = np.zeros((*np.shape(label)[:-1], *known.shape), dtype=np.int64)
    table[..., item[counted], model[counted]] = np.asarray(label)[..., counted]
    return table, known


def _by_model(label: Any, data: Data) -> dict[str, Any]:
    _, model, counted = _rows(data)
    return _means(label, {name: counted & (model == m) for m, name in enumerate(data.coords["model"])})


def _means(value: Any, chosen: Mapping[Any, NDArray[np.bool_]]) -> dict[str, Any]:
    """Mean over the rows chosen under each name, where there are any."""
    return {
        str(name): np.asarray(value)[..., rows].mean(axis=-1) for name, rows in chosen.items() if rows.any()
    }


def _both_right(label: Any, data: Data) -> dict[str, Any]:
    """Share of items on which both of two models are right: what their answers have in common."""
    (label, known), names = _table(label, data), data.coords["model"]
    found: dict[str, Any] = {}
    for a, b in itertools.combinations(range(len(names)), 2):
        both = known[:, a] & known[:, b]
        if both.any():
            found[f"{names[a]}, {names[b]}"] = (label[..., both, a] * label[..., both, b]).mean(axis=-1)
    return found


def _extremes(label: Any, data: Data) -> dict[str, Any]:
    """Share of items whose labelled answers are all right, and all wrong: the spread of items."""
    label, known = _table(label, data)
    several = known.sum(axis=1) > 1
    if not several.any():
        return {}
    right = label.sum(axis=-1)[..., several]
    total = known.sum(axis=1)[several]
    return {"all right": (right == total).mean(axis=-1), "all wrong": (right == 0).mean(axis=-1)}


def _agreement(label: Any, data: Data) -> dict[str, Any]:
    """Share of labelled answers on which each judge agrees with the label."""
    votes, (_, _, counted) = half_votes(data, "answer"), _rows(data)
    found: dict[str, Any] = {}
    for j, judge in enumerate(data.coords["judge"]):
        found |= _means(label == (votes[:, j] > 0), {judge: counted & (votes[:, j] != 0)})
    return found


def _by_vote(label: Any, data: Data) -> dict[str, Any]:
    """Mean label where the panel mostly said no, was torn, mostly said yes."""
    votes, (_, _, counted) = half_votes(data, "answer"), _rows(data)
    mean = votes.sum(axis=-1) / np.maximum((votes != 0).sum(axis=-1), 1)
    return _means(
        label, {name: counted & (mean >= low) & (mean < high) for name, (low, high) in _PARTS.items()}
    )


def _of_label(statistic: Statistic) -> Statistic:
    """The same of the annotators' majority (a tie is not right), where several marked."""

    def of_marks(seen: Any, data: Data) -> Any:
        if data.observed == "label":
            return statistic(seen, data)
        given = np.asarray(data["mark_given"])
        return statistic((2 * (np.asarray(seen) * given).sum(axis=-1) > given.sum(axis=-1)).astype(int), data)

    return of_marks


def _torn(seen: Any, data: Data) -> dict[str, Any]:
    """Share of the answers with several marks whose marks differ."""
    if data.observed == "label":
        return {}
    given = np.asarray(data["mark_given"])
    several, yes = given.sum(axis=-1) > 1, (np.asarray(seen) * given).sum(axis=-1)
    return _means((yes > 0) & (yes < given.sum(axis=-1)), {"annotators": several})


STATISTICS: Mapping[str, Statistic] = {
    "labels: right, by model": _of_label(_by_model),
    "labels: right, by vote of the panel": _of_label(_by_vote),
    "labels: agreement with a judge": _of_label(_agreement),
    "labels: both models right": _of_label(_both_right),
    "labels: items with equal labels": _of_label(_extremes),
    "marks: annotators differ": _torn,
}
