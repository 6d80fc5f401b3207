"""From an estimator and data to estimates with limits: analytic and bootstrap, accuracies and differences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from bayesjudge.baselines import intervals
from bayesjudge.baselines.bootstrap import percentile
from bayesjudge.baselines.estimator import Estimator
from bayesjudge.baselines.methods import AnalyticMethod, Fitted
from bayesjudge.baselines.moments import Array, Codes, Evidence, Moments
from bayesjudge.baselines.variance import correlation, covariance, difference_variance

__all__ = ["Column", "analytic", "pairs", "resampled"]

#: Differences a bootstrap handles at once (times replicates times 8 bytes: 40 MB for 10,000).
_PAIRS_AT_ONCE = 500


@dataclass(frozen=True, eq=False, kw_only=True)
class Column:
    """Estimates of one method for C units: arrays (C,), one note each; every limit is finite."""

    point: Array
    lower: Array
    upper: Array
    n: Array
    notes: list[str]


def pairs(models: int) -> tuple[Codes, Codes]:
    """Indices of the first and the second model of every pair, first before second."""
    return np.triu_indices(models, k=1)


def analytic(method: AnalyticMethod, evidence: Evidence, *, prob: float) -> tuple[Column, Column]:
    """Accuracies and differences with closed-form intervals."""
    estimator, moments = method.estimator, evidence.plain
    # The cluster-robust factor G/(G − 1) takes the place of n − 1.
    influence = estimator.influence(evidence, 0 if evidence.clusters else method.ddof)
    cov = covariance(influence, evidence)
    raw = estimator.point(moments)[0]
    # Paired differences are of unclipped estimates (clipping one side would bias them); MOVER combines
    # limits that stay in [0, 1], so its points must too.
    point = raw if method.paired or not method.bounded else np.clip(raw, 0.0, 1.0)
    units = evidence.n @ (estimator.items(evidence) > 0)
    fit = Fitted(evidence=evidence, point=point, variance=np.diag(cov),
                 units=np.minimum(units, evidence.clusters or np.inf),
                 z=intervals.normal_quantile(prob))  # fmt: skip
    reasons = estimator.reasons(moments)
    accuracy = finish_column(
        raw, *method.limits(fit), n=units, reasons=reasons, cautions=estimator.cautions(moments),
        bounds=(0.0, 1.0), bounded=method.bounded, why=_no_error(evidence),
    )  # fmt: skip
    return accuracy, _differences(method, fit, accuracy, cov, reasons)


def _differences(
    method: AnalyticMethod, fit: Fitted, accuracy: Column, cov: Array, reasons: list[str]
) -> Column:
    first, second = pairs(len(fit.point))
    delta = fit.point[first] - fit.point[second]
    if method.paired:
        limits = intervals.wald(delta, difference_variance(cov, first, second), fit.z)
    else:
        limits = intervals.mover(_terms(fit, accuracy, first), _terms(fit, accuracy, second),
                                 correlation(cov, first, second))  # fmt: skip
    return finish_column(delta, *limits, n=pair_items(method.estimator.items(fit.evidence), fit.evidence),
                   reasons=pair_reasons(reasons), cautions=[""] * len(delta), bounds=(-1.0, 1.0),
                   bounded=method.bounded, why=_no_error(fit.evidence))  # fmt: skip


def _terms(fit: Fitted, accuracy: Column, chosen: Codes) -> tuple[Array, Array, Array]:
    return fit.point[chosen], accuracy.lower[chosen], accuracy.upper[chosen]


def _no_error(evidence: Evidence) -> str:
    return (
        "no standard error: a single cluster"
        if evidence.clusters == 1
        else "no standard error: too few items"
    )


def pair_reasons(reasons: list[str]) -> list[str]:
    """Why a difference is undefined: the first of its models' reasons."""
    first, second = pairs(len(reasons))
    return [reasons[a] or reasons[b] for a, b in zip(first, second, strict=True)]


def pair_items(items: Array, evidence: Evidence) -> Array:
    used = items > 0
    count = evidence.n @ used
    first, second = pairs(used.shape[1])
    both = (used * evidence.n[:, None]).T @ used
    return np.asarray(count[first] + count[second] - both[first, second])


def finish_column(
    point: Array, lower: Array, upper: Array, *, n: Array, reasons: list[str], cautions: list[str],
    bounds: tuple[float, float], bounded: bool, why: str,
) -> Column:  # fmt: skip
    """Put bounds where nothing is known, clip where asked, and say so."""
    low, high = bounds
    undefined = np.array([bool(reason) for reason in reasons], dtype=bool)
    point = np.where(undefined, np.nan, point)
    unknown = np.isnan(lower) | np.isnan(upper)
    clipped = bounded & ((point < low) | (point > high))
    degenerate = ~unknown & ~undefined & (upper - lower <= 0)
    notes = [
        _join(reasons[c], cautions[c],
              f"unclipped {point[c]:.4g}" if clipped[c] else "",
              why if unknown[c] and not undefined[c] else "",
              "interval without width: no variation seen" if degenerate[c] else "")
        for c in range(len(point))
    ]  # fmt: skip
    lower, upper = np.where(unknown, low, lower), np.where(unknown, high, upper)
    if bounded:
        point, lower, upper = (np.clip(value, low, high) for value in (point, lower, upper))
    return Column(point=point, lower=lower, upper=upper, n=n, notes=notes)


def _join(*parts: str) -> str:
    return "; ".join(part for part in parts if part)


def resampled(
    estimator: Estimator, evidence: Evidence, moments: Moments, *, prob: float
) -> tuple[Column, Column]:
    """Accuracies and differences with percentile intervals; the point is the bootstrap median."""
    values = np.ascontiguousarray(estimator.point(moments).T)
    reasons, cautions = estimator.reasons(evidence.plain), estimator.cautions(evidence.plain)
    n = evidence.n @ (estimator.items(evidence) > 0)
    accuracy = percentile_column([values], n=n, reasons=reasons, cautions=cautions, prob=prob,
                                 bounds=(0.0, 1.0), bounded=estimator.bounded)  # fmt: skip
    between = pair_reasons(reasons)
    difference = percentile_column(
        difference_blocks(values), n=pair_items(estimator.items(evidence), evidence), reasons=between,
        cautions=[""] * len(between), prob=prob, bounds=(-1.0, 1.0), bounded=estimator.bounded,
    )  # fmt: skip
    return accuracy, difference


def difference_blocks(values: Array) -> Iterator[Array]:
    """Differences (C, B) of every pair of rows of ``values`` (M, B), a block of pairs at a time."""
    first, second = pairs(len(values))
    for start in range(0, len(first), _PAIRS_AT_ONCE):
        block = slice(start, start + _PAIRS_AT_ONCE)
        yield values[first[block]] - values[second[block]]


def percentile_column(
    blocks: Iterable[Array], *, n: Array, reasons: list[str], cautions: list[str], prob: float,
    bounds: tuple[float, float], bounded: bool,
) -> Column:  # fmt: skip
    """Percentile intervals of blocks of replicates; undefined replicates are counted in the notes."""
    found = [(*percentile(block, prob=prob), np.full(len(block), block.shape[1])) for block in blocks]
    if not found:
        empty = np.zeros(0)
        return Column(point=empty, lower=empty, upper=empty, n=empty, notes=[])
    point, lower, upper, lost, size = (np.concatenate(parts) for parts in zip(*found, strict=True))
    defined = np.array([not reason for reason in reasons], dtype=bool)
    counted = [
        _join(cautions[c], f"{lost[c]} of {size[c]} replicates undefined" if lost[c] and defined[c] else "")
        for c in range(len(point))
    ]
    lower = np.where(defined, np.where(np.isfinite(lower), lower, bounds[0]), np.nan)
    upper = np.where(defined, np.where(np.isfinite(upper), upper, bounds[1]), np.nan)
    return finish_column(point, lower, upper, n=n, reasons=reasons, cautions=counted, bounds=bounds,
                   bounded=bounded, why="")  # fmt: skip
