"""Test quantities of `judge_error`: the shares its users look at, for observed and for replicated counts.

Each takes counts (..., patterns) and the data, and names shares with the same leading shape. What was
never seen (a model without labels) is left out rather than shown as 0 of 0.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np

from bayesjudge.model import Data, Statistic

__all__ = ["STATISTICS"]


def _shares(counts: Any, data: Data, part: Any, whole: Any) -> dict[str, Any]:
    """Σ n·part / Σ n·whole over the patterns of each unit, for weights (patterns,) of each."""
    out = {}
    for k, name in enumerate(data.coords[data.facts["unit"]]):
        mine = np.asarray(data["unit"]) == k
        total = counts @ (whole * mine)
        if np.all(total > 0):
            out[str(name)] = (counts @ (part * mine)) / total
    return out


def _arrays(data: Data) -> tuple[Any, Any, Any]:
    """Label (patterns,), runs and positives (patterns, judges)."""
    return np.asarray(data["label"]), np.asarray(data["runs"]), np.asarray(data["positives"])


def _majority(data: Data) -> Any:
    """Whether most runs of all judges said 1."""
    _, runs, positives = _arrays(data)
    return 2 * positives.sum(1) > runs.sum(1)


def _verdict_rate(counts: Any, data: Data) -> dict[str, Any]:
    """Share of each judge's runs that said 1."""
    _, runs, positives = _arrays(data)
    if runs.shape[1] == 1:
        return _shares(counts, data, positives[:, 0], runs[:, 0])
    return {f"{judge} | {unit}": share for j, judge in enumerate(data.coords["judge"])
            for unit, share in _shares(counts, data, positives[:, j], runs[:, j]).items()}  # fmt: skip


def _unlabelled_rate(counts: Any, data: Data) -> dict[str, Any]:
    label, *_ = _arrays(data)
    return _shares(counts, data, _majority(data) & (label < 0), label < 0)


def _labelled_correct(counts: Any, data: Data) -> dict[str, Any]:
    label, *_ = _arrays(data)
    return _shares(counts, data, label == 1, label >= 0)


def _true_positive(counts: Any, data: Data) -> dict[str, Any]:
    label, *_ = _arrays(data)
    return _shares(counts, data, _majority(data) & (label == 1), label >= 0)


def _false_positive(counts: Any, data: Data) -> dict[str, Any]:
    label, *_ = _arrays(data)
    return _shares(counts, data, _majority(data) & (label == 0), label >= 0)


def _split_runs(counts: Any, data: Data) -> dict[str, Any]:
    """Share of (answer, judge) with two runs or more whose runs disagree; ρ is there to reproduce it."""
    _, runs, positives = _arrays(data)
    split = (positives > 0) & (positives < runs)
    return _shares(counts, data, split.sum(1), (runs > 1).sum(1))


def _judges_agree(counts: Any, data: Data) -> dict[str, Any]:
    """Share of (answer, two judges) whose majorities agree; independence given y is seen to fail here."""
    _, runs, positives = _arrays(data)
    yes, seen = 2 * positives > runs, runs > 0
    pairs = list(itertools.combinations(range(runs.shape[1]), 2))
    both = sum((seen[:, i] & seen[:, j]).astype(int) for i, j in pairs)
    agree = sum((seen[:, i] & seen[:, j] & (yes[:, i] == yes[:, j])).astype(int) for i, j in pairs)
    return _shares(counts, data, agree, both) if pairs else {}


STATISTICS: Mapping[str, Statistic] = {
    "verdict rate": _verdict_rate,
    "verdict rate, unlabelled": _unlabelled_rate,
    "labelled: correct": _labelled_correct,
    "labelled: correct, judged correct": _true_positive,
    "labelled: wrong, judged correct": _false_positive,
    "runs disagree": _split_runs,
    "judges agree": _judges_agree,
}
