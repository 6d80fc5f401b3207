"""Pairs of models: their order, names, items and replicates."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bayesjudge.baselines.common.moments import Array, Codes, Evidence

__all__ = ["MINUS", "difference_blocks", "pair_items", "pair_names", "pair_reasons", "pairs"]

#: The minus sign of differences (U+2212).
MINUS = "−"
#: Differences a bootstrap handles at once (times replicates times 8 bytes: 40 MB for 10,000).
_PAIRS_AT_ONCE = 500


def pairs(models: int) -> tuple[Codes, Codes]:
    """Indices of the first and the second model of every pair, first before second."""
    return np.triu_indices(models, k=1)


def pair_names(models: tuple[str, ...]) -> list[str]:
    """``a − b`` for every pair.

    Examples
    --------
    >>> pair_names(("a", "b", "c"))
    ['a − b', 'a − c', 'b − c']
    """
    first, second = pairs(len(models))
    return [f"{models[a]} {MINUS} {models[b]}" for a, b in zip(first, second, strict=True)]


def pair_reasons(reasons: list[str]) -> list[str]:
    """Why a difference is undefined: the first of its models' reasons."""
    first, second = pairs(len(reasons))
    return [reasons[a] or reasons[b] for a, b in zip(first, second, strict=True)]


def pair_items(items: Array, evidence: Evidence) -> Array:
    """Number of items that either model of a pair uses, from the marks (R, M)."""
    used = items > 0
    count, both = evidence.n @ used, (used * evidence.n[:, None]).T @ used
    first, second = pairs(used.shape[1])
    return np.asarray(count[first] + count[second] - both[first, second])


def difference_blocks(values: Array) -> Iterator[Array]:
    """Differences (C, B) of every pair of rows of ``values`` (M, B), a block of pairs at a time."""
    first, second = pairs(len(values))
    for start in range(0, len(first), _PAIRS_AT_ONCE):
        block = slice(start, start + _PAIRS_AT_ONCE)
        yield values[first[block]] - values[second[block]]
