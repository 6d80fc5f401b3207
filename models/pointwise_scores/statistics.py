"""Test quantities of `pointwise_scores`: what users of scores look at, observed and replicated."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np

from bayesjudge.model import Data, Statistic

__all__ = ["STATISTICS"]


def _by_block(data: Data, cells: Any, values: Any) -> dict[str, Any]:
    """A statistic of each block from its cells' values (..., targets), blocks without cells left out."""
    return {str(name): values(b, np.asarray(cells)[:, b]) for b, name in enumerate(data.coords["block"])
            if np.asarray(cells)[:, b].sum() > 1}  # fmt: skip


def _mean_score(seen: Any, data: Data) -> dict[str, Any]:
    return _by_block(data, data["n"] > 0, lambda b, at: seen["mean"][..., at, b].mean(-1))


def _between(seen: Any, data: Data) -> dict[str, Any]:
    """Standard deviation of responses' mean scores."""
    return _by_block(data, data["n"] > 0, lambda b, at: seen["mean"][..., at, b].std(-1))


def _within(seen: Any, data: Data) -> dict[str, Any]:
    """Standard deviation of scores of one response, trials taken out."""
    freedom = np.asarray(data["freedom"])[:, 0]
    return {str(name): np.sqrt(seen["squares"][..., b, 0] / freedom[b])
            for b, name in enumerate(data.coords["block"]) if freedom[b] > 0}  # fmt: skip


def _trials(seen: Any, data: Data) -> dict[str, Any]:
    """Mean square of trials over that within: 1 where trials do not differ."""
    square = seen["squares"] / np.maximum(np.asarray(data["freedom"]), 1)
    return {str(name): square[..., b, 1] / square[..., b, 0] for b, name in enumerate(data.coords["block"])
            if (np.asarray(data["freedom"])[b] > 0).all()}  # fmt: skip


def _correlation(seen: Any, data: Data) -> dict[str, Any]:
    """Correlation of two blocks' mean scores of the same responses."""
    n, found = np.asarray(data["n"]), {}
    for a, b in itertools.combinations(range(n.shape[1]), 2):
        both = (n[:, a] > 0) & (n[:, b] > 0)
        if both.sum() > 2:
            x, y = (seen["mean"][..., both, k] for k in (a, b))
            x, y = x - x.mean(-1, keepdims=True), y - y.mean(-1, keepdims=True)
            below = np.sqrt((x**2).sum(-1) * (y**2).sum(-1))
            found[f"{data.coords['block'][a]} & {data.coords['block'][b]}"] = (x * y).sum(-1) / below
    return found


def _share_of_levels(counts: Any, data: Data) -> dict[str, Any]:
    """Share of all scores at each level."""
    totals = np.asarray(counts).sum(-2)
    return {str(level): totals[..., k] / totals.sum(-1) for k, level in enumerate(data.coords["level"])}


def _cells(counts: Any, data: Data) -> tuple[Any, Any]:
    """Mean and variance of the scores of every cell, (..., cells)."""
    counts, value = np.asarray(counts), np.asarray(data["value"])
    total = np.maximum(counts.sum(-1), 1)
    mean = counts @ value / total
    return mean, counts @ value**2 / total - mean**2


def _of_cells(counts: Any, data: Data, values: Any) -> dict[str, Any]:
    block, total = np.asarray(data["block"]), np.asarray(data["total"])
    mean, variance = _cells(counts, data)
    return {str(name): values(mean[..., at], variance[..., at]) for b, name in enumerate(data.coords["block"])
            if (at := (block == b) & (total > 1)).sum() > 1}  # fmt: skip


def _ordinal_mean(counts: Any, data: Data) -> dict[str, Any]:
    return _of_cells(counts, data, lambda mean, _: mean.mean(-1))


def _ordinal_between(counts: Any, data: Data) -> dict[str, Any]:
    return _of_cells(counts, data, lambda mean, _: mean.std(-1))


def _ordinal_within(counts: Any, data: Data) -> dict[str, Any]:
    return _of_cells(counts, data, lambda _, variance: np.sqrt(variance.mean(-1)))


def _all_equal(counts: Any, data: Data) -> dict[str, Any]:
    """Share of responses that got the same score in every trial."""
    return _of_cells(counts, data, lambda _, variance: (variance < 1e-9).mean(-1))


STATISTICS: Mapping[str, Mapping[str, Statistic]] = {
    "gaussian": {"mean score": _mean_score, "spread between responses": _between,
                 "spread within a response": _within, "trials against noise": _trials,
                 "correlation of judges": _correlation},
    "ordinal": {"share of levels": _share_of_levels, "mean score": _ordinal_mean,
                "spread between responses": _ordinal_between, "spread within a response": _ordinal_within,
                "all scores equal": _all_equal},
}  # fmt: skip
