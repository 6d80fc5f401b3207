"""Intraclass correlations of Shrout and Fleiss, from mean squares, with F-intervals.

Subjects are responses and raters are repeated trials of one judge, so that ICC(2,1) is the share of the
variance of one score that is about the response (the paper's section 4.4).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayesjudge.errors import UsageError

#: Forms in the order in which Shrout and Fleiss introduce them.
FORMS = ("ICC(1,1)", "ICC(2,1)", "ICC(3,1)", "ICC(1,k)", "ICC(2,k)", "ICC(3,k)")
#: Mean squares of two or three responses may cancel to a share of rounding errors.
_ROUNDING = 1e-9


@dataclass(frozen=True, kw_only=True)
class MeanSquares:
    """Two-way analysis of variance of n subjects by k raters, every subject scored once by every rater.

    n, k: Subjects and raters.
    rows, columns, error, within: Mean squares between subjects (MSR), between raters (MSC), of the residual (MSE), and
        within subjects (MSW, raters and residual together).
    """

    n: int
    k: int
    rows: float
    columns: float
    error: float
    within: float


def from_sums(mean: ArrayLike, squares: ArrayLike, columns: ArrayLike) -> MeanSquares:
    """Mean squares from subjects' means (n,), sums of squares within subjects (n,) and raters' means (k,)."""
    mean, squares, columns = (np.asarray(values, dtype=np.float64) for values in (mean, squares, columns))
    n, k = len(mean), len(columns)
    between = n * float(((columns - columns.mean()) ** 2).sum())
    within = float(squares.sum())
    # Rounding may leave a residual a hair below zero where raters explain everything.
    residual = max(within - between, 0.0)
    return MeanSquares(
        n=n,
        k=k,
        rows=k * float(mean.var(ddof=1)),
        columns=between / (k - 1),
        error=residual / ((n - 1) * (k - 1)),
        within=within / (n * (k - 1)),
    )


def icc(squares: MeanSquares, form: str = "ICC(2,1)", *, prob: float = 0.95) -> tuple[float, float, float]:
    """One intraclass correlation with its F-interval.

    Shrout & Fleiss 1979, Psychological Bulletin 86; McGraw & Wong 1996, Psychological Methods 1. No correlation of k
    scores is below ``−1/(k − 1)``, where that of their mean is −∞: a point there is NaN, and a limit is cut off.

    Examples
    --------
    >>> squares = from_sums([4.5, 4.5], [0.5, 0.5], [4.5, 4.5])  # 4 and 5, 5 and 4
    >>> [icc(squares, form)[0] for form in ("ICC(1,1)", "ICC(2,1)", "ICC(1,k)")]
    [-1.0, nan, nan]
    """
    if form not in FORMS:
        raise UsageError(f"no form {form!r}; there are {', '.join(FORMS)}")
    if squares.rows + squares.columns + squares.within <= 0:
        return float("nan"), float("nan"), float("nan")
    n, k = squares.n, squares.k
    if form[4] == "1":
        single = _from_ratio(_over(squares.rows, squares.within), n - 1, n * (k - 1), k, prob)
    elif form[4] == "2":
        single = _agreement(squares, prob)
    else:
        single = _from_ratio(_over(squares.rows, squares.error), n - 1, (n - 1) * (k - 1), k, prob)
    if form.endswith(",1)"):
        return single
    point, lower, upper = (_of_mean(value, k) for value in single)
    return point if np.isfinite(point) else float("nan"), lower, upper


def _of_mean(single: float, k: int) -> float:
    """Spearman–Brown: a single score's correlation carried to the mean of k."""
    noise = 1.0 + (k - 1) * single
    return k * single / noise if not noise <= _ROUNDING else -float("inf")


def jackknifed(
    mean: ArrayLike, squares: ArrayLike, columns: ArrayLike, *, item: ArrayLike, prob: float = 0.95
) -> tuple[float, float, float]:
    """ICC(2,1) with the t-interval of the jackknife over items, on Fisher's scale.

    F-intervals take subjects and noise for normal and independent. Where some items' scores are noisier than others',
    few subjects lie far from the rest, or responses of one item are alike, they are too narrow; what each item adds
    shows it. Raters' means are taken as known. An
    interval of no length means that no item can be left out, or that every correlation is 1.

    item: Whose responses the subjects are, (n,): what is left out as a whole.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> scores = rng.normal(size=(200, 1)) + rng.normal(size=(200, 4))
    >>> mean = scores.mean(axis=1)
    >>> sums = mean, ((scores - mean[:, None]) ** 2).sum(axis=1), scores.mean(axis=0)
    >>> [round(value, 2) for value in jackknifed(*sums, item=range(200))]
    [0.5, 0.43, 0.57]
    """
    from scipy.stats import t

    mean, squares, columns = (np.asarray(values, dtype=np.float64) for values in (mean, squares, columns))
    centred, (_, place) = mean - mean.mean(), np.unique(np.asarray(item), return_inverse=True)
    parts = np.stack([np.bincount(place, weights=w) for w in (np.ones_like(mean), centred, centred**2, squares)])
    point, _, _ = icc(from_sums(mean, squares, columns))
    without = _correlations(parts.sum(axis=1, keepdims=True) - parts, columns)
    size = len(without)
    if not (np.isfinite(without).all() and max(abs(point), np.abs(without).max()) < 1):
        return float(point), float(point), float(point)
    each = np.arctanh(without)
    error = np.sqrt((size - 1) / size * ((each - each.mean()) ** 2).sum())
    ends = np.tanh(np.arctanh(point) + np.array([-1, 1]) * t.ppf((1 + prob) / 2, size - 1) * error)
    return float(point), float(ends[0]), float(ends[1])


def _correlations(sums: NDArray[np.float64], columns: NDArray[np.float64]) -> NDArray[np.float64]:
    """ICC(2,1) from numbers of subjects, and sums of their means, of these squared, and of squares within, (4, G)."""
    n, first, second, within = sums
    k, between = len(columns), ((columns - columns.mean()) ** 2).sum()
    with np.errstate(divide="ignore", invalid="ignore"):
        rows = k * (second - first**2 / n) / (n - 1)
        error = np.maximum(within - n * between, 0.0) / ((n - 1) * (k - 1))
        found = (rows - error) / (rows + (k - 1) * error + k * (n * between / (k - 1) - error) / n)
    return np.asarray(found)


def _from_ratio(ratio: float, df1: float, df2: float, k: int, prob: float) -> tuple[float, float, float]:
    """``(F − 1)/(F + k − 1)``, and the same of F's limits."""
    from scipy.stats import f

    tail = (1.0 + prob) / 2.0
    # Whole scores may give an F of 0, which says nothing of how large the true one is.
    limits = ratio, ratio / f.ppf(tail, df1, df2), ratio * f.ppf(tail, df2, df1) if ratio > 0 else np.nan
    point, lower, upper = (1.0 if np.isinf(value) else (value - 1.0) / (value + k - 1.0) for value in limits)
    return float(point), float(lower), float(upper)


def _agreement(squares: MeanSquares, prob: float) -> tuple[float, float, float]:
    """ICC(2,1) with Satterthwaite's degrees of freedom for what raters and residual add up to."""
    from scipy.stats import f

    n, k = squares.n, squares.k
    rows, columns, error = squares.rows, squares.columns, squares.error
    whole, least = rows + (k - 1) * error + k * (columns - error) / n, -1.0 / (k - 1)
    # Where raters differ less than the residual says, a few responses may leave nothing of the whole, or less.
    point = (rows - error) / whole if whole > _ROUNDING * (rows + columns + error) else float("nan")
    if not point >= least - _ROUNDING:
        return float("nan"), float("nan"), float("nan")
    point = max(point, least)
    # Equal scores of a response may leave a residual of rounding errors.
    if (columns <= 0 and error <= 0) or point >= 1:
        return point, point, point
    if rows <= 0 and error <= 0:
        # All that varies is the raters: of how far, k values say too little to have limits.
        return point, float("nan"), float("nan")
    a = k * point / (n * (1.0 - point))
    b = 1.0 + k * point * (n - 1) / (n * (1.0 - point))
    df = (a * columns + b * error) ** 2 / ((a * columns) ** 2 / (k - 1) + (b * error) ** 2 / ((n - 1) * (k - 1)))
    tail = (1.0 + prob) / 2.0
    low, high = f.ppf(tail, n - 1, df), f.ppf(tail, df, n - 1)
    rest = k * columns + (k * n - k - n) * error
    with np.errstate(divide="ignore", invalid="ignore"):
        lower = n * (rows - low * error) / (low * rest + n * rows)
        upper = n * (high * rows - error) / (rest + n * high * rows)
    known = lower <= point <= upper
    return float(point), max(float(lower), least) if known else float("nan"), float(upper) if known else float("nan")


def _over(part: float, whole: float) -> float:
    if whole > 0:
        return part / whole
    return float("inf") if part > 0 else float("nan")


def variances(squares: MeanSquares) -> dict[str, tuple[float, float]]:
    """Components of a score's variance in a two-way random model (Shrout & Fleiss, case 2), with their shares.

    Returns: ``response`` (what a score is about), ``trial`` (common to all responses) and ``residual``, a negative
        estimate set to 0; shares are NaN where nothing varies.
    """
    parts = {
        "response": max((squares.rows - squares.error) / squares.k, 0.0),
        "trial": max((squares.columns - squares.error) / squares.n, 0.0),
        "residual": squares.error,
    }
    total = sum(parts.values())
    return {name: (part, part / total if total > 0 else float("nan")) for name, part in parts.items()}
