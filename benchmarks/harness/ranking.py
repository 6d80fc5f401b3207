"""What repeated scores buy: how often the labelled response is scored best, with one score and with all."""

from __future__ import annotations

import numpy as np
import pandas as pd

from bayesjudge.errors import UsageError
from bayesjudge.tables import Scores

_BLOCK = ["judge", "prompt", "temperature"]
_ITEM = [*_BLOCK, "item"]


def best_response(scores: Scores, *, label: str = "label") -> pd.DataFrame:
    """Share of items whose labelled response has the highest mean score, ties counted as errors.

    scores: With a column that is 1 for the response that is best and 0 for the others of the item.

    Returns: ``judge, prompt, temperature, trials`` (1: the first trial alone, then all of them), ``accuracy`` and
        ``items``: those where every response was scored in the trials used, and exactly one is labelled.
    """
    if label not in scores.frame:
        raise UsageError(
            f"no column {label!r} that states which response is best; the scores have {list(scores.frame.columns)}"
        )
    frame = scores.frame[[*_ITEM, "response", "trial", "score"]].assign(
        label=pd.to_numeric(scores.frame[label]).astype("float64")
    )
    first = frame["trial"] == frame["trial"].min()
    asked = frame.groupby("item", sort=False)["response"].nunique()
    found = [_accuracy(part, asked) for part in (frame[first], frame)]
    return pd.concat(found, ignore_index=True)


def _accuracy(frame: pd.DataFrame, asked: pd.Series[int]) -> pd.DataFrame:
    responses = frame.groupby([*_ITEM, "response"], dropna=False, sort=False, as_index=False).agg(
        score=("score", "mean"), label=("label", "max"), trials=("score", "size")
    )
    known = responses["label"].to_numpy() == 1
    place = responses.groupby(_ITEM, dropna=False, sort=False).ngroup().to_numpy()
    items = int(place.max()) + 1
    score = responses["score"].to_numpy()
    best, rival = np.full(items, -np.inf), np.full(items, -np.inf)
    np.maximum.at(best, place[known], score[known])
    np.maximum.at(rival, place[~known], score[~known])
    table = responses.drop_duplicates(_ITEM)
    whole = np.bincount(place, minlength=items) == asked.loc[table["item"]].to_numpy()
    one = np.bincount(place[known], minlength=items) == 1
    table = table.assign(right=(best > rival).astype(float), usable=whole & one & np.isfinite(rival))
    blocks = table[table["usable"]].groupby(_BLOCK, dropna=False, sort=False, as_index=False)
    counted = blocks.agg(trials=("trials", "max"), accuracy=("right", "mean"), items=("right", "size"))
    return counted[[*_BLOCK, "trials", "accuracy", "items"]]
