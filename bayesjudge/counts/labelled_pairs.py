"""How often, of two systems on one item, both or one alone was right by people's labels."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd

from bayesjudge.counts.verdicts import VerdictCounts

COLUMNS = ["first", "second", "n", "both", "first_only", "second_only"]


def labelled_pairs(counts: VerdictCounts) -> pd.DataFrame:
    """A row for two systems each: items on which both carry a label, by the judge whose answers have most of them."""
    tables = [_pairs(counts, judge) for judge in counts.judges]
    return max(tables, key=lambda table: table["n"].sum())


def _pairs(counts: VerdictCounts, judge: str) -> pd.DataFrame:
    items = counts.items[judge]
    right, wrong = ((items.label == label) & (items.runs > 0) for label in (1, 0))
    weighted = items.n[:, None]
    both, one, none = right.T @ (weighted * right), right.T @ (weighted * wrong), wrong.T @ (weighted * wrong)
    n = both + one + one.T + none
    rows = [
        (counts.models[i], counts.models[j], n[i, j], both[i, j], one[i, j], one[j, i])
        for i, j in itertools.combinations(range(len(counts.models)), 2)
    ]
    return pd.DataFrame(rows, columns=COLUMNS).astype(dict.fromkeys(COLUMNS[2:], np.int64))
