"""How every method did over many data sets, with bounds that know what is independent and what is not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from bayesjudge.estimates import Estimates
from bayesjudge.simulation import coverage_table

__all__ = ["score"]

#: Bootstrap replicates of whole splits.
REPLICATES = 4000


def score(
    tables: Sequence[Sequence[Estimates]],
    *,
    truth: Mapping[tuple[str, str], float],
    keys: Sequence[Mapping[str, Any]],
    seed: int,
) -> list[dict[str, Any]]:
    """One row for each method, number of labels and estimand.

    Parameters
    ----------
    tables : sequence (methods,) of sequence (data sets,) of Estimates
        Estimates of each group of methods.
    truth : mapping
        Truth by ``(estimand, unit)``.
    keys : sequence (data sets,) of mapping
        ``n_cal`` and ``split`` of each data set.
    seed : int
        Of the bootstrap over splits.

    Returns
    -------
    list of dict
        `coverage_table`'s figures, and next to them ``undefined`` (share of estimates that are NaN; their
        intervals are the whole range and count as covering) and ``splits_lower, splits_upper``: a 95 %
        percentile bootstrap interval of the coverage that draws whole splits, because the judges and
        models of one split share its labelled items. The exact binomial bounds take all as independent.
    """
    rows = []
    for n_cal in dict.fromkeys(key["n_cal"] for key in keys):
        chosen = [k for k, key in enumerate(keys) if key["n_cal"] == n_cal]
        for part in tables:
            rows += _scored([part[k] for k in chosen], truth, [keys[k]["split"] for k in chosen], n_cal, seed)
    return rows


def _scored(
    estimates: Sequence[Estimates], truth: Mapping[tuple[str, str], float], splits: Sequence[int], n_cal: int, seed: int
) -> list[dict[str, Any]]:
    records: list[dict[str, Any]] = [dict(row) for _, row in coverage_table(estimates, truth).iterrows()]
    parts = zip(estimates, splits, strict=True)
    frame = pd.concat([one.with_truth(truth).frame.assign(split=split) for one, split in parts], ignore_index=True)
    frame["inside"] = frame["truth"].between(frame["lower"], frame["upper"])
    groups = dict(list(frame.groupby(["method", "estimand"])))
    rows = []
    for record in records:
        own = groups[record["method"], record["estimand"]]
        low, high = _over_splits(own, np.random.default_rng(seed))
        rows.append(
            {
                **record,
                "n_cal": n_cal,
                "undefined": float(own["point"].isna().mean()),
                "splits_lower": low,
                "splits_upper": high,
            }
        )
    return rows


def _over_splits(rows: pd.DataFrame, rng: np.random.Generator) -> tuple[float, float]:
    """Percentile interval of the coverage when whole splits are drawn with replacement."""
    by_split = rows.groupby("split")["inside"].agg(["sum", "count"]).to_numpy(float)
    drawn = by_split[rng.integers(len(by_split), size=(REPLICATES, len(by_split)))].sum(axis=1)
    low, high = np.quantile(drawn[:, 0] / drawn[:, 1], [0.025, 0.975])
    return float(low), float(high)
