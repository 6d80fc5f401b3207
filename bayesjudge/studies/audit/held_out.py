"""Every method on verified pairs that it did not see: scores, flips, and what they are worth."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import beta

from bayesjudge.baselines.audit import (
    Audit,
    auc,
    break_even_auc,
    centroid,
    consistency,
    flip_nothing,
    flip_random,
    nearest_neighbours,
    partial_ot,
)
from bayesjudge.baselines.common.intervals import normal_quantile, wilson
from bayesjudge.errors import InputError
from bayesjudge.studies.audit.folds import Folds
from bayesjudge.studies.audit.guard import fast_audit

if TYPE_CHECKING:
    from bayesjudge.models.verdict_agreement import VerdictAgreement
    from bayesjudge.studies.audit.options import AuditOptions
    from bayesjudge.tables import Pairs

__all__ = [
    "Method", "compare_methods", "exact_band", "held_out_figures", "methods_of", "quality_rows",
    "reliability_bins", "summaries",
]  # fmt: skip

type Method = Callable[[Pairs], Audit]

#: Name of the method that leaves every verdict as it is.
JUDGE = "judge"
BINS = 10
REPLICATES = 1000


def methods_of(pairs: Pairs, model: VerdictAgreement, options: AuditOptions) -> dict[str, Method]:
    """Every method that the table allows, the model first."""
    seed, share = options.seed, options.share
    found: dict[str, Method] = {JUDGE: flip_nothing}
    if options.labels == "both":
        found = {model.label: lambda part: fast_audit(part, model, seed=seed), **found}
    if pairs.dimensions:
        found |= {
            "partial-ot": lambda part: partial_ot(part, share=share, seed=seed),
            "centroid": lambda part: centroid(part, share=share, seed=seed),
            "neighbours": nearest_neighbours,
        }
    return found | {"random": lambda part: flip_random(part, share=share, seed=seed)}


def compare_methods(
    pairs: Pairs, methods: Mapping[str, Method], folds: Folds,
    *, report: Callable[[int, int], None] | None = None,
) -> tuple[pd.DataFrame, list[str]]:  # fmt: skip
    """Hide each fold in turn, audit, and look what was made of it.

    Returns
    -------
    frame : pandas.DataFrame
        One row a verified pair and method: ``item, category, agrees, method, score, flip``.
    warnings : list of str
        Methods that some fold gave too little to work on.
    """
    parts, warnings, done = [], [], 0
    for name, method in methods.items():
        scores, flips = np.full(len(folds.rows), np.nan), np.zeros(len(folds.rows), dtype=bool)
        for fold in range(folds.number):
            out = folds.fold == fold
            mask = np.zeros(len(pairs), dtype=bool)
            mask[folds.rows[out]] = True
            try:
                found = method(pairs.hide(mask))
            except InputError as error:
                # Told, not hidden: too few verified pairs are a finding about the data.
                warnings.append(f"{name} left out of the comparison: {error.problems[0].found} in a fold")
                break
            at = pd.Series(np.arange(len(found.rows)), index=found.rows)[folds.rows[out]].to_numpy()
            scores[out], flips[out] = found.scores[at], found.flips[at]
            done += 1
            if report is not None:
                report(done, len(methods) * folds.number)
        else:
            parts.append(_of_method(pairs, folds, name, scores, flips))
    return pd.concat(parts, ignore_index=True), warnings


def _of_method(
    pairs: Pairs, folds: Folds, name: str, scores: NDArray[np.float64], flips: NDArray[np.bool_]
) -> pd.DataFrame:
    mine = pairs.frame.iloc[folds.rows]
    return pd.DataFrame({"item": mine["item"].to_numpy(), "category": mine["category"].fillna("").to_numpy(),
                         "agrees": pairs.agrees[folds.rows], "method": name, "score": scores,
                         "flip": flips})  # fmt: skip


def summaries(frame: pd.DataFrame, *, prob: float) -> list[dict[str, Any]]:
    """Rows for `Estimates`: held-out consistency and gain of each method, over all and by category."""
    rows = []
    for name, mine in frame.groupby("method", sort=False):
        types = mine["category"].to_numpy()
        found = consistency(mine["agrees"].to_numpy(), mine["flip"].to_numpy(), method=str(name), prob=prob,
                            category=types if len(set(types)) > 1 else None)  # fmt: skip
        rows += [{**row, "estimand": f"{row['estimand']} (held out)"} for row in found
                 if name != JUDGE or row["estimand"] == "consistency"]  # fmt: skip
    return rows


def quality_rows(frame: pd.DataFrame, *, prob: float, seed: int) -> list[dict[str, Any]]:
    """Rows for `Estimates`: AUC and precision of flips of each method, and the break-even AUC."""
    share, rows = float(frame.drop_duplicates("item")["agrees"].mean()), []
    for name, mine in frame.groupby("method", sort=False):
        known = mine[np.isfinite(mine["score"])]
        score, right = known["score"].to_numpy(), known["agrees"].to_numpy()
        common = {"unit": "held out", "method": str(name), "prob": prob, "n": len(known)}
        # Leaving everything has one score a fold, which ranks nothing.
        if name != JUDGE and len(score) and np.ptp(score) > 0:
            note = "" if 0 < share < 1 else "undefined: people always say the same"
            limits = _bootstrapped(score, right, prob, seed)
            rows.append({**common, "estimand": "auc", "point": auc(score, right), "lower": limits[0],
                         "upper": limits[1], "note": note})  # fmt: skip
        flips = mine[mine["flip"]]
        if len(flips):
            wins = 1 - float(flips["agrees"].mean())
            low, high = wilson(np.asarray(wins), np.asarray(float(len(flips))), normal_quantile(prob))
            rows.append({**common, "estimand": "precision of flips", "n": len(flips), "point": wins,
                         "lower": float(low), "upper": float(high)})  # fmt: skip
    if 0.5 < share < 1:
        needed = break_even_auc(share)
        rows.append({"estimand": "break-even auc", "unit": "held out", "method": "normal scores",
                     "prob": prob, "n": frame["item"].nunique(), "point": needed, "lower": needed,
                     "upper": needed})  # fmt: skip
    return rows


def _bootstrapped(
    score: NDArray[np.float64], right: NDArray[np.float64], prob: float, seed: int
) -> tuple[float, float]:
    """Percentile interval of the AUC over resampled pairs; replicates without both classes are left out."""
    rng = np.random.default_rng([seed, 3])
    draws = [auc(score[k], right[k]) for k in rng.integers(len(score), size=(REPLICATES, len(score)))]
    known = np.array([value for value in draws if np.isfinite(value)])
    if not len(known):
        return np.nan, np.nan
    low, high = np.quantile(known, [(1 - prob) / 2, (1 + prob) / 2])
    return float(low), float(high)


def exact_band(hits: int, n: int, *, prob: float) -> tuple[float, float]:
    """Exact binomial interval of a share (Clopper & Pearson 1934).

    Examples
    --------
    >>> [round(limit, 4) for limit in exact_band(9, 10, prob=0.95)]
    [0.555, 0.9975]
    """
    tail = (1 - prob) / 2
    low = float(beta.ppf(tail, hits, n - hits + 1)) if hits else 0.0
    high = float(beta.ppf(1 - tail, hits + 1, n - hits)) if hits < n else 1.0
    return low, high


def reliability_bins(frame: pd.DataFrame, *, methods: Iterable[str], prob: float) -> pd.DataFrame:
    """Held-out scores in ten bins of equal mass, with exact intervals of the observed share."""
    rows = []
    for name in methods:
        mine = frame[(frame["method"] == name) & np.isfinite(frame["score"])].sort_values(
            "score", kind="stable"
        )
        for part in np.array_split(np.arange(len(mine)), min(BINS, max(len(mine) // 5, 1))):
            one = mine.iloc[part]
            if one.empty:
                continue
            hits = int(one["agrees"].sum())
            low, high = exact_band(hits, len(one), prob=prob)
            rows.append({"method": name, "predicted": float(one["score"].mean()),
                         "observed": hits / len(one), "lower": low, "upper": high,
                         "n": len(one)})  # fmt: skip
    return pd.DataFrame(rows, columns=["method", "predicted", "observed", "lower", "upper", "n"])


def held_out_figures(frame: pd.DataFrame) -> dict[str, dict[str, float]]:
    """By method: ``n, before, after, gain, flips, auc, brier, ece`` on the held-out pairs."""
    found = {}
    for name, mine in frame.groupby("method", sort=False) if len(frame) else []:
        right, flip = mine["agrees"].to_numpy(), mine["flip"].to_numpy(dtype=bool)
        after = np.where(flip, 1 - right, right)
        known = mine[np.isfinite(mine["score"])]
        score, seen = known["score"].to_numpy(), known["agrees"].to_numpy()
        bins = reliability_bins(mine, methods=[str(name)], prob=0.95)
        error = (bins["predicted"] - bins["observed"]).abs()
        found[str(name)] = {
            "n": float(len(mine)), "before": float(right.mean()), "after": float(after.mean()),
            "gain": float((after - right).mean()), "flips": float(flip.mean()),
            "auc": np.nan if name == JUDGE else auc(score, seen),
            "brier": float(((score - seen) ** 2).mean()) if len(known) else np.nan,
            "ece": float(np.average(error, weights=bins["n"])) if len(bins) else np.nan,
        }  # fmt: skip
    return found
