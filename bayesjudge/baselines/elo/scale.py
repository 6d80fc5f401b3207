"""How far judge Elo is from human Elo over held-out models, and what intervals around it are worth."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayesjudge.baselines.common.bootstrap import percentile
from bayesjudge.baselines.common.intervals import clopper_pearson
from bayesjudge.baselines.elo.bias import length_correlation
from bayesjudge.baselines.elo.conformal import upper_rank
from bayesjudge.baselines.elo.held_out import HeldOut, line
from bayesjudge.baselines.elo.targets import Floats
from bayesjudge.counts.battles.counts import BattleCounts
from bayesjudge.errors import UsageError
from bayesjudge.estimates import Estimates


def held_out_scores(
    held: HeldOut,
    *,
    counts: BattleCounts | None = None,
    prob: float = 0.95,
    bootstrap: int = 1000,
    seed: int = 0,
    classes: int = 4,
) -> Estimates:
    """Error, rank agreement and structure of the residuals of held-out models.

    Parameters
    ----------
    held : HeldOut
    counts : BattleCounts, optional
        The battles, for the correlation of residuals with the length of a model's answers.
    prob : float
        Level of the intervals.
    bootstrap : int
        Resamples of the models, which are the units.
    seed : int
    classes : int
        Classes of human Elo, weakest first, for ``residual[...]``.

    Returns
    -------
    Estimates
        Estimands ``mae, spearman, kendall, residual_slope`` (of the residual on human Elo: 0 where the scale
        is right), ``residual[class k of K]``, ``beta[folds]``, whose limits are its range over the folds, and
        with ``counts`` the ``length_correlation``.
    """
    models = len(held.models)
    draws = np.random.default_rng(seed).integers(models, size=(bootstrap, models))
    own = np.argsort(np.argsort(held.human)) * classes // models
    statistics: dict[str, Callable[[NDArray[Any]], float]] = {
        "mae": lambda k: float(np.abs(held.residual[k]).mean()),
        "spearman": lambda k: _correlation("spearman", held.elo[k], held.human[k]),
        "kendall": lambda k: _correlation("kendall", held.elo[k], held.human[k]),
        "residual_slope": lambda k: line(held.human[k], held.residual[k])[0],
    }
    for c in range(classes):
        statistics[f"residual[class {c + 1} of {classes}]"] = _class_mean(held.residual, own, c)
    shared = {"unit": held.judge, "judge": held.judge, "method": held.method, "prob": prob, "n": models}
    rows = [
        {"estimand": name, **_resampled(statistic, models, draws, prob), **shared}
        for name, statistic in statistics.items()
    ]
    if not np.isnan(held.beta).any():
        beta = {"point": held.beta.mean(), "lower": held.beta.min(), "upper": held.beta.max(), "prob": 1.0}
        rows.append({**shared, "estimand": "beta[folds]", **beta, "note": "limits are the range over folds"})
    if counts is not None:
        found = length_correlation(counts, held, prob=prob)
        rows += [{**shared, **found, "method": held.method}] if found["n"] else []
    return Estimates.from_rows(rows)


def held_out_summary(
    estimates: Estimates, *, prob: float = 0.95, truths: Mapping[str, Floats] | None = None, seed: int = 0
) -> dict[str, dict[str, float]]:
    """Coverage, width and error of any method's intervals for held-out models, conformal or Bayesian.

    Parameters
    ----------
    estimates : Estimates
        Rows with ``truth``; a method's rows are separate by judge where there are several.
    prob : float
        Level of the intervals of the coverage and of the interval score.
    truths : mapping of str to float array (B,), optional
        Each unit's truth by votes in drawn-again clusters. Models are then resampled with these, since they
        share prompts; without them the interval of the coverage is exact for independent models.
    seed : int

    Returns
    -------
    dict
        Method to ``mae, spearman, coverage, coverage_lower, coverage_upper, median_width, interval_score``
        (Gneiting & Raftery 2007: width, and what lies outside times ``2/α``), ``n``; with ``truths`` also
        ``interval_score_lower, interval_score_upper``.

    Raises
    ------
    UsageError
        No row with a truth.
    """
    frame = estimates.frame[estimates.frame["truth"].notna() & estimates.frame["point"].notna()]
    if frame.empty:
        raise UsageError("no estimate with a truth to compare it with")
    several = frame.groupby("method")["judge"].nunique().max() > 1
    keys = ["method", "judge"] if several else ["method"]
    return {
        " ".join(map(str, key)): _summary(rows, prob, truths, seed) for key, rows in frame.groupby(keys, sort=False)
    }


def _summary(rows: pd.DataFrame, prob: float, truths: Mapping[str, Floats] | None, seed: int) -> dict[str, float]:
    point, truth = rows["point"].to_numpy(), rows["truth"].to_numpy()
    inside, score = _inside_and_score(rows, truth)
    hit = int(inside.sum())
    low, high = clopper_pearson(hit, len(rows), prob=prob)
    drawn = {} if truths is None else _drawn_again(rows, truths, prob, seed)
    return {
        "mae": float(np.abs(point - truth).mean()),
        "spearman": _correlation("spearman", point, truth),
        "coverage": hit / len(rows),
        "coverage_lower": low,
        "coverage_upper": high,
        "median_width": float((rows["upper"] - rows["lower"]).median()),
        "n": float(len(rows)),
        "interval_score": float(score.mean()),
        **drawn,
    }


def _inside_and_score(rows: pd.DataFrame, truth: Floats) -> tuple[NDArray[np.bool_], Floats]:
    """Whether each interval holds its truth (..., n), and its interval score."""
    lower, upper, prob = (rows[name].to_numpy(dtype=float) for name in ("lower", "upper", "prob"))
    with np.errstate(invalid="ignore"):
        outside = np.maximum(lower - truth, 0.0) + np.maximum(truth - upper, 0.0)
    width = np.where(np.isfinite(upper - lower), upper - lower, np.inf)
    inside = (lower <= truth) & (truth <= upper)
    return inside, np.where(inside, width, width + 2 / (1 - prob) * outside)


def _drawn_again(rows: pd.DataFrame, truths: Mapping[str, Floats], prob: float, seed: int) -> dict[str, float]:
    """Limits of coverage and interval score over resampled models whose votes are drawn again.

    Votes drawn again vary about votes that vary already, so that both quantities are worse on average: limits
    are moved by that much.
    """
    drawn = np.column_stack([truths[unit] for unit in rows["unit"]])
    inside, score = _inside_and_score(rows, drawn)
    pick = np.random.default_rng(seed).integers(len(rows), size=drawn.shape)
    found: dict[str, float] = {}
    observed = _inside_and_score(rows, rows["truth"].to_numpy())
    for name, each, own in zip(("coverage", "interval_score"), (inside, score), observed, strict=True):
        mean = np.take_along_axis(each.astype(float), pick, axis=1).mean(axis=1)
        moved = mean + float(own.astype(float).mean() - each.astype(float).mean()) if np.isfinite(each).all() else mean
        low, high = np.quantile(moved, [(1 - prob) / 2, (1 + prob) / 2], method="inverted_cdf")
        found |= {f"{name}_lower": max(0.0, float(low)), f"{name}_upper": float(high)}
    return {**found, "coverage_upper": min(1.0, found["coverage_upper"])}


def split_coverage(
    held: HeldOut, *, prob: float = 0.9, repeats: int = 5, seed: int = 0, normalised: bool = True
) -> pd.DataFrame:
    """Split conformal as the paper reports it: random halves calibrate, the other halves are covered or not.

    Parameters
    ----------
    held : HeldOut
        Raw, or `HeldOut.calibrated`.
    prob : float
        Nominal coverage; with n calibration models the interval is infinite unless ``⌈prob (n + 1)⌉ ≤ n``.
    repeats : int
        Number of random halves.
    seed : int
    normalised : bool
        Divide residuals by their standard errors.

    Returns
    -------
    pandas.DataFrame
        One row a split: ``quantile, coverage, lower, upper`` (exact), ``median_width, calibration, covered``.
    """
    rng = np.random.default_rng(seed)
    scale = held.error if normalised else np.ones(len(held.models))
    scores = np.abs(held.residual) / scale
    rows = []
    for _ in range(repeats):
        order = rng.permutation(len(scores))
        calibration, test = np.split(order, [len(order) // 2])
        quantile = upper_rank(scores[calibration], prob)
        hit = int((scores[test] <= quantile).sum())
        lower, upper = clopper_pearson(hit, len(test))
        width = float(np.median(2 * quantile * scale[test]))
        rows.append((quantile, hit / len(test), lower, upper, width, len(calibration), hit))
    names = ["quantile", "coverage", "lower", "upper", "median_width", "calibration", "covered"]
    return pd.DataFrame(rows, columns=names)


def width_decomposition(held: list[HeldOut], *, prob: float = 0.9) -> pd.DataFrame:
    """Where the width of normalised conformal intervals comes from: half-width = q̂ × SE (seed, appendix I).

    Returns
    -------
    pandas.DataFrame
        ``judge, method, quantile`` (q̂ of all models), ``error`` (median SE), ``half_width`` (product).
    """
    rows = []
    for one in held:
        quantile = upper_rank(np.abs(one.residual) / one.error, prob)
        error = float(np.median(one.error))
        rows.append((one.judge, one.method, quantile, error, quantile * error))
    return pd.DataFrame(rows, columns=["judge", "method", "quantile", "error", "half_width"])


def _resampled(
    statistic: Callable[[NDArray[Any]], float], models: int, draws: NDArray[Any], prob: float
) -> dict[str, float]:
    point = statistic(np.arange(models))
    if not len(draws):
        return {"point": point, "lower": -np.inf, "upper": np.inf}
    values = np.array([statistic(draw) for draw in draws])
    _, lower, upper, _ = percentile(values[None, :], prob=prob)
    return {"point": point, "lower": float(lower[0]), "upper": float(upper[0])}


def _class_mean(residual: Floats, own: NDArray[Any], c: int) -> Callable[[NDArray[Any]], float]:
    def mean(k: NDArray[Any]) -> float:
        inside = residual[k][own[k] == c]
        return float(inside.mean()) if len(inside) else float("nan")

    return mean


def _correlation(kind: str, x: Floats, y: Floats) -> float:
    """Rank correlation, NaN where all of one side are equal."""
    from scipy import stats

    if len(np.unique(x)) < 2 or len(np.unique(y)) < 2:
        return float("nan")
    found = stats.spearmanr(x, y) if kind == "spearman" else stats.kendalltau(x, y)
    return float(found.statistic)
