"""Which items to have labelled next, drawn from a table of verdicts before anything is fitted."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayesjudge.errors import UsageError
from bayesjudge.planning.labels.sampling import sample_labels

#: Draws of each answer's probability of being right that a choice by disagreement rests on.
DRAWS = 200


def draw_items(
    verdicts: pd.DataFrame, *, size: int, unit: str = "item", unsure: bool = False, seed: int = 0
) -> pd.DataFrame:
    """Items of which no answer is labelled, in random order, so that the first of them are a random sample too.

    verdicts: ``item, model, judge, verdict, label`` as in `bayesjudge.tables.Verdicts`, and the column ``unit``.
    seed: Equal seeds give equal items, in whatever order the rows are.

    Returns: ``unit`` and, where items are not drawn evenly, ``label_probability``.
    """
    labelled = verdicts["label"].notna().groupby(verdicts[unit]).any()
    items = labelled.index[~labelled].sort_values()
    if not len(items):
        raise UsageError("every item has a label already")
    if not 1 <= size <= len(items):
        raise UsageError(f"the number of items must be 1 to {len(items)}, those without a label, not {size}")
    rng = np.random.default_rng(seed)
    if not unsure:
        return pd.DataFrame({unit: items[rng.permutation(len(items))[:size]]})
    if labelled.any():
        raise UsageError(
            "some answers are labelled already, with probabilities that are not known: further items can only be "
            "drawn evenly"
        )
    drawn = sample_labels(_probabilities(verdicts, unit, rng), size=size, seed=seed)
    chosen = rng.permutation(drawn.chosen)
    return pd.DataFrame({unit: items[chosen], "label_probability": drawn.inclusion[chosen]})


def _probabilities(verdicts: pd.DataFrame, unit: str, rng: np.random.Generator) -> NDArray[np.float64]:
    """Draws (D, I, M) of P(right) of each answer by its votes alone, from the posterior under Jeffreys' prior."""
    votes = verdicts[verdicts["verdict"].notna()]
    right = votes["verdict"].astype(float).groupby([votes[unit], votes["model"]]).agg(["sum", "count"])
    if (right["count"] < 2).all():
        raise UsageError("every answer has one verdict, which does not show where judges are unsure; draw evenly")
    yes, n = (right[name].unstack().sort_index().to_numpy(dtype=float) for name in ("sum", "count"))  # noqa: PD010 - no values to aggregate
    found = rng.beta(0.5 + np.nan_to_num(yes), 0.5 + np.nan_to_num(n - yes), size=(DRAWS, *n.shape))
    return np.where(np.isnan(n), np.nan, found)
