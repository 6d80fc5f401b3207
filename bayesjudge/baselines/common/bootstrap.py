"""The bootstrap of every baseline at once: replicates as weights on patterns (METHODS 1.6, seed Appendix E).

The resampled unit is the item with all its models and runs (so pairing is kept), or the whole cluster
where there are clusters. Calibration and test units are resampled separately: a unit is a calibration
unit when any of its answers has a label. Clusters that mix labelled and unlabelled items are therefore
drawn together with both, and when every cluster mixes, all are drawn from one urn.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from bayesjudge.baselines.common.moments import Array, Codes, Evidence, Moments

#: Random halves of the calibration set behind ``ppi++[half]`` (seed Appendix E.4).
HALVES = 20
#: Numbers in the largest temporary array (8 bytes each): keeps the peak well under 300 MB.
_LARGEST = 2_000_000
#: What a multinomial costs per category in units of one index draw (measured: 60–100 ns against 8 ns).
_BINOMIAL_COST = 10
#: Units from which one row of draws at a time, which stays in the cache, beats all at once (measured: 9 times
#: at 20,000); the draws are the same.
_ROW_BY_ROW = 2_000

type Counts = NDArray[np.int64]


@dataclass(frozen=True, eq=False, kw_only=True)
class _Stratum:
    """Units resampled together: how many share each kind, and which pattern rows each kind covers."""

    count: Counts
    rows: Codes
    kind: Codes
    n: Array

    def weights(self, draws: Counts) -> Array:
        """Weights (B, rows) of the stratum's patterns from draws (B, kinds)."""
        return np.asarray(draws[:, self.kind] * self.n)


def _strata(evidence: Evidence) -> tuple[_Stratum, _Stratum]:
    """Calibration and test stratum."""
    rows = np.arange(len(evidence.n))
    unit = evidence.cluster if evidence.clusters else rows
    has_label = np.zeros(len(rows), dtype=bool)
    np.logical_or.at(has_label, unit, evidence.labelled.any(axis=1))
    return _stratum(evidence, rows[has_label[unit]]), _stratum(evidence, rows[~has_label[unit]])


def _stratum(evidence: Evidence, rows: Codes) -> _Stratum:
    items = evidence.n[rows]
    if not evidence.clusters:
        # The items of one pattern are equal, so a pattern is a kind of unit that occurs n times.
        kind = np.arange(len(rows))
        return _Stratum(count=items.astype(np.int64), rows=rows, kind=kind, n=np.ones(len(rows)))
    names, kind = np.unique(evidence.cluster[rows], return_inverse=True)
    return _Stratum(count=np.ones(len(names), dtype=np.int64), rows=rows, kind=kind.reshape(-1), n=items)


def resampled_moments(evidence: Evidence, *, replicates: int, rng: np.random.Generator) -> Moments:
    """Moments (B, M) of B = ``replicates`` bootstrap samples."""
    return evidence.stacked_moments(_weights(evidence, _strata(evidence), replicates, rng))


def half_replicates(evidence: Evidence, *, replicates: int, rng: np.random.Generator) -> Moments:
    """Bootstrap moments pooled over `HALVES` random halves of the calibration units, test units whole.

    The replicates are split over the halves, so the pooled quantiles rest on as many draws as every other
    method's. The other half of the calibration units is left out, as in the seed's equal-budget comparison.
    """
    calibration, test = _strata(evidence)
    return evidence.stacked_moments(_halved_weights(evidence, calibration, test, replicates, rng))


def _halved_weights(
    evidence: Evidence, calibration: _Stratum, test: _Stratum, replicates: int, rng: np.random.Generator
) -> Iterator[Array]:
    total = int(calibration.count.sum())
    for half in range(HALVES):
        kept = calibration.count
        if total > 1:
            kept = rng.multivariate_hypergeometric(kept, total // 2).astype(np.int64)
        # Sizes of the halves' shares add up to the replicates asked for.
        size = (replicates + half) // HALVES
        yield from _weights(evidence, (replace(calibration, count=kept), test), size, rng)


def _weights(
    evidence: Evidence, strata: tuple[_Stratum, ...], replicates: int, rng: np.random.Generator
) -> Iterator[Array]:
    draws = [min(int(s.count.sum()), _BINOMIAL_COST * len(s.count)) for s in strata]
    step = max(1, _LARGEST // max(len(evidence.n), *draws))
    for start in range(0, replicates, step):
        size = min(step, replicates - start)
        weights = np.zeros((size, len(evidence.n)))
        for stratum in strata:
            if stratum.count.sum():
                weights[:, stratum.rows] = stratum.weights(draw_counts(stratum.count, size, rng))
        yield weights


def draw_counts(count: Counts, size: int, rng: np.random.Generator) -> Counts:
    """Multinomial draws (size, kinds): as many units as there are, with replacement."""
    total, kinds = int(count.sum()), len(count)
    if total > _BINOMIAL_COST * kinds:
        return rng.multinomial(total, count / total, size=size)
    # With few units per kind, drawing the units one by one costs less than one binomial per kind.
    owner = np.repeat(np.arange(kinds), count)
    if total >= _ROW_BY_ROW:
        found = np.empty((size, kinds), dtype=np.int64)
        for row in found:
            row[:] = np.bincount(owner.take(rng.integers(total, size=total, dtype=np.int32)), minlength=kinds)
        return found
    picked = owner.take(rng.integers(total, size=(size, total), dtype=np.int32))
    picked += np.arange(size)[:, None] * kinds
    return np.bincount(picked.reshape(-1), minlength=size * kinds).reshape(size, kinds)


def percentile(values: Array, *, prob: float) -> tuple[Array, Array, Array, Counts]:
    """Median, percentile limits and number of undefined replicates of each row of ``values`` (C, B).

    An undefined replicate (NaN) could have been anything, so half of them count as −∞ and half as +∞: they
    widen the interval at both ends and leave the median to the defined ones. Once as many are undefined
    as the interval leaves out, the limits are infinite, and the caller puts the estimand's bounds.
    """
    size = values.shape[1]
    ordered = np.sort(values, axis=1)
    undefined = np.isnan(ordered).sum(axis=1)
    defined = size - undefined
    # round() because 0.025 · 10,000 is a hair above 250 in floating point.
    tail = math.ceil(round(size * (1.0 - prob) / 2.0, 6)) - 1 - (undefined + 1) // 2
    row = np.arange(len(values))
    inside = tail >= 0
    low, high = np.where(inside, tail, 0), np.where(inside, defined - 1 - tail, 0)
    lower = np.where(inside, ordered[row, low], -np.inf)
    upper = np.where(inside, ordered[row, high], np.inf)
    last = np.maximum(defined - 1, 0)
    median = (ordered[row, last // 2] + ordered[row, (last + 1) // 2]) / 2.0
    return median, lower, upper, undefined
