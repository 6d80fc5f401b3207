"""Every method on verified pairs that it did not see: scores, flips, and what they are worth."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

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
from bayesjudge.baselines.audit.evidence import mean_by_pair
from bayesjudge.baselines.common.intervals import normal_quantile, wilson
from bayesjudge.errors import InputError
from bayesjudge.options import AuditOptions
from bayesjudge.studies.audit.guard import Guard
from bayesjudge.tables import Pairs

type Method = Callable[[Pairs], Audit]

#: Name of the method that leaves every verdict as it is.
JUDGE = "judge"
#: Methods that are compared on held-out pairs, the first always.
METHODS = (JUDGE, "partial-ot", "centroid", "neighbours", "random")
BINS = 10
REPLICATES = 1000


def methods_of(pairs: Pairs, options: AuditOptions) -> dict[str, Method]:
    """Every method without a guard that the table allows."""
    share = options.share
    found: dict[str, Method] = {JUDGE: flip_nothing}
    if pairs.dimensions:
        found |= {
            "partial-ot": lambda part: partial_ot(part, share=share),
            "centroid": lambda part: centroid(part, share=share),
            "neighbours": nearest_neighbours,
        }
    found |= {"random": lambda part: flip_random(part, share=share, seed=options.seed)}
    if options.all_baselines:
        return found
    return {name: method for name, method in found.items() if name in (JUDGE, *(options.baselines or ()))}


def compare_methods(
    pairs: Pairs,
    methods: Mapping[str, Method],
    guard: Guard,
    *,
    label: str,
    report: Callable[[int, int], None] | None = None,
) -> tuple[pd.DataFrame, list[str]]:
    """Hide each of the guard's folds in turn, audit, and look what was made of it.

    guard: Its own scores and flips stand first, under ``label``.
    report: ``report(done, total)``, called after each fold.

    Returns: frame: One row a verified verdict and method, in the order of `Pairs.rank`: ``item, category, agrees,
        fold, method, score, flip``.; warnings: Methods that some fold gave too little to work on.
    """
    fold, warnings, done = guard.folds.fold, [], 0
    parts = [_of_method(pairs, fold, label, guard.ranked, guard.flips)]
    for name, method in methods.items():
        scores, flips = np.full(len(pairs), np.nan), np.zeros(len(pairs), dtype=bool)
        for part in range(guard.folds.number):
            out = fold == part
            try:
                found = method(pairs.hide(out))
            except InputError as error:
                # Reported, not hidden: too few verified pairs are a finding about the data.
                warnings.append(f"{name} left out of the comparison: {error.problems[0].found} in a fold")
                break
            mine = out[found.rows]
            scores[found.rows[mine]], flips[found.rows[mine]] = found.scores[mine], found.flips[mine]
            done += 1
            if report is not None:
                report(done, len(methods) * guard.folds.number)
        else:
            parts.append(_of_method(pairs, fold, name, scores, flips))
    return pd.concat(parts, ignore_index=True), warnings


def _of_method(
    pairs: Pairs, fold: NDArray[np.int64], name: str, scores: NDArray[np.float64], flips: NDArray[np.bool_]
) -> pd.DataFrame:
    rows = np.argsort(pairs.rank)
    rows = rows[pairs.verified[rows]]
    mine = pairs.frame.iloc[rows]
    return pd.DataFrame(
        {
            "item": mine["item"].to_numpy(),
            "category": mine["category"].fillna("").to_numpy(),
            "agrees": pairs.agrees[rows],
            "fold": fold[rows],
            "method": name,
            "score": scores[rows],
            "flip": flips[rows],
        }
    )


def summaries(frame: pd.DataFrame, *, prob: float) -> list[dict[str, Any]]:
    """Rows for `Estimates`: held-out consistency and gain of each method, over all and by category."""
    rows = []
    for name, mine in frame.groupby("method", sort=False):
        types = mine["category"].to_numpy()
        found = consistency(
            mine["agrees"].to_numpy(),
            mine["flip"].to_numpy(),
            method=str(name),
            prob=prob,
            pair=mine["item"].to_numpy(),
            category=types if len(set(types)) > 1 else None,
        )
        rows += [
            {**row, "estimand": f"{row['estimand']} (held out)"}
            for row in found
            if name != JUDGE or row["estimand"] == "consistency"
        ]
    return rows


def quality_rows(frame: pd.DataFrame, *, prob: float, seed: int) -> list[dict[str, Any]]:
    """Rows for `Estimates`: AUC and precision of flips of each method, and the break-even AUC.

    A pair counts as one: of the flips of its verdicts, each counts with its share of them.
    """
    share, rows = float(frame.groupby(["method", "item"])["agrees"].mean().mean()), []
    for name, mine in frame.groupby("method", sort=False):
        known = mine[np.isfinite(mine["score"])]
        score, right = known["score"].to_numpy(), known["agrees"].to_numpy()
        fold = known["fold"].to_numpy()
        item, common = known["item"].to_numpy(), {"unit": "held out", "method": str(name), "prob": prob}
        # Leaving everything has one score a fold, which ranks nothing; nor does a model without features.
        ranks = known.groupby("fold")["score"].agg(np.ptp).max() if len(known) else 0.0
        if name != JUDGE and ranks > 0:
            note = "" if 0 < share < 1 else "undefined: people's labels are all equal"
            limits = _bootstrapped(score, right, item, fold, prob=prob, seed=seed)
            rows.append(
                {
                    **common,
                    "estimand": "auc",
                    "point": auc(score, right, fold),
                    "lower": limits[0],
                    "upper": limits[1],
                    "note": note,
                    "n": known["item"].nunique(),
                }
            )
        weight = (1 / mine.groupby("item")["item"].transform("size"))[mine["flip"]]
        if len(weight):
            wins = float(np.average(1 - mine["agrees"][mine["flip"]], weights=weight))
            low, high = wilson(np.asarray(wins), np.asarray(float(weight.sum())), normal_quantile(prob))
            pairs = mine["item"][mine["flip"]].nunique()
            rows.append(
                {
                    **common,
                    "estimand": "precision of flips",
                    "n": pairs,
                    "point": wins,
                    "lower": float(low),
                    "upper": float(high),
                }
            )
    if 0.5 < share < 1:
        needed = break_even_auc(share)
        rows.append(
            {
                "estimand": "break-even auc",
                "unit": "held out",
                "method": "normal scores",
                "prob": prob,
                "n": frame["item"].nunique(),
                "point": needed,
                "lower": needed,
                "upper": needed,
            }
        )
    return rows


def _bootstrapped(
    score: NDArray[np.float64],
    right: NDArray[np.float64],
    item: NDArray[Any],
    fold: NDArray[Any],
    *,
    prob: float,
    seed: int,
) -> tuple[float, float]:
    """Percentile interval of the AUC over resampled pairs; replicates without both classes are left out."""
    rng, pair = np.random.default_rng([seed, 3]), pd.factorize(item)[0]
    rows, size = np.argsort(pair, kind="stable"), np.bincount(pair)
    start, draws = np.cumsum(size) - size, []
    for drawn in rng.integers(len(size), size=(REPLICATES, len(size))):
        count = size[drawn]
        within = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
        k = rows[np.repeat(start[drawn], count) + within]
        draws.append(auc(score[k], right[k], fold[k]))
    known = np.array([value for value in draws if np.isfinite(value)])
    if not len(known):
        return np.nan, np.nan
    low, high = np.quantile(known, [(1 - prob) / 2, (1 + prob) / 2])
    return float(low), float(high)


def exact_band(hits: float, n: float, *, prob: float) -> tuple[float, float]:
    """Exact binomial interval of a share (Clopper & Pearson 1934); halves count as they are.

    Examples
    --------
    >>> [round(limit, 4) for limit in exact_band(9, 10, prob=0.95)]
    [0.555, 0.9975]
    """
    from scipy.stats import beta

    tail = (1 - prob) / 2
    low = float(beta.ppf(tail, hits, n - hits + 1)) if hits else 0.0
    high = float(beta.ppf(1 - tail, hits + 1, n - hits)) if hits < n else 1.0
    return low, high


def reliability_bins(frame: pd.DataFrame, *, methods: Iterable[str], prob: float) -> pd.DataFrame:
    """Held-out scores in ten bins of equal mass, with exact intervals of the observed share.

    Verdicts with equal scores share a bin, and each of a pair's verdicts counts with its share of them.
    """
    from scipy.stats import rankdata

    rows = []
    for name in methods:
        mine = frame[(frame["method"] == name) & np.isfinite(frame["score"])]
        if mine.empty:
            continue
        weight = (1 / mine.groupby("item")["item"].transform("size")).to_numpy()
        bins = min(BINS, max(int(weight.sum()) // 5, 1))
        place = np.floor((rankdata(mine["score"]) - 0.5) / len(mine) * bins)
        for part in np.unique(place):
            one, share = mine[place == part], weight[place == part]
            hits, n = float(share @ one["agrees"]), float(share.sum())
            low, high = exact_band(hits, n, prob=prob)
            rows.append(
                {
                    "method": name,
                    "predicted": float(share @ one["score"]) / n,
                    "observed": hits / n,
                    "lower": low,
                    "upper": high,
                    "n": n,
                }
            )
    return pd.DataFrame(rows, columns=["method", "predicted", "observed", "lower", "upper", "n"])


def held_out_figures(frame: pd.DataFrame) -> dict[str, dict[str, float]]:
    """By method: ``n, before, after, gain, flips, auc, brier, ece`` on the held-out pairs."""
    found = {}
    for name, mine in frame.groupby("method", sort=False) if len(frame) else []:
        right, flip = mine["agrees"].to_numpy(), mine["flip"].to_numpy(dtype=bool)
        after = np.where(flip, 1 - right, right)
        known = mine[np.isfinite(mine["score"])]
        score, agrees = known["score"].to_numpy(), known["agrees"].to_numpy()
        item, scored = mine["item"].to_numpy(), known["item"].to_numpy()
        bins = reliability_bins(mine, methods=[str(name)], prob=0.95)
        error = (bins["predicted"] - bins["observed"]).abs()
        before, now, flips = (mean_by_pair(values, item).mean() for values in (right, after, flip))
        found[str(name)] = {
            "n": float(mine["item"].nunique()),
            "before": float(before),
            "after": float(now),
            "gain": float(mean_by_pair(after - right, item).mean()),
            "flips": float(flips),
            "auc": np.nan if name == JUDGE else auc(score, agrees, known["fold"].to_numpy()),
            "brier": float(mean_by_pair((score - agrees) ** 2, scored).mean()) if len(known) else np.nan,
            "ece": float(np.average(error, weights=bins["n"])) if len(bins) else np.nan,
        }
    return found
