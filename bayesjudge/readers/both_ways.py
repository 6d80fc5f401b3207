"""Comparisons brought the same way round, where a pair is there with either of its two models first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayesjudge.readers.sides import two_models
from bayesjudge.readers.values import as_words
from bayesjudge.tables.coding import UNKNOWN
from bayesjudge.tables.words import ORDERS, OUTCOMES, code_order, code_outcome


def pairs_as_items(
    frame: pd.DataFrame, *, values: Sequence[str] = (), given: str = ""
) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Repeated comparisons with the two models as part of the item, where an item has several pairs of them.

    Rows of one pair are brought the same way round: of the others, outcomes, orders and all columns of a and of b
    change places. Where nothing says which answer was presented first, and a pair is there both ways round, the
    first model's is taken to be.

    values: The columns of outcomes.
    given: What a column of the items as they were is to be called, where there is to be one.
    """
    a, b = two_models(frame)
    if not a or "item" not in frame:
        return frame, ()
    item, one, two = (as_words(frame[name]) for name in ("item", a, b))
    named = ((item != "") & (one != "") & (two != "")).to_numpy()
    ordered = pd.DataFrame({"item": item, "a": one, "b": two})[named].drop_duplicates()
    if not ordered["item"].duplicated().any():
        return frame, ()
    back = (one > two).to_numpy() & named
    first, second = one.where(~back, two), two.where(~back, one)
    pairs = pd.DataFrame({"item": item, "a": first, "b": second})[named].drop_duplicates()
    notes: tuple[str, ...] = ()
    if pairs["item"].duplicated().any():
        own = frame["item"].astype(object).where(~named, item + ": " + first + " / " + second)
        frame = frame.assign(item=own, **{given: frame["item"]} if given else {})
        notes = ("items have several pairs of models: each pair is compared with itself alone",)
    unordered = "order" not in frame or not frame["order"].notna().any()
    if unordered and len(ordered) > len(pairs):
        frame = frame.assign(order=ORDERS[0])
        notes += (f"pairs are there both ways round and no column has the order: {a!r} is taken to be presented first",)
    return _reversed(frame, back, values), notes


def _reversed(frame: pd.DataFrame, back: NDArray[np.bool_], values: Sequence[str]) -> pd.DataFrame:
    """The rows ``back`` with a and b in each other's place."""
    changed: dict[str, Any] = {}
    for name in map(str, frame.columns):
        other = f"{name.removesuffix('_a')}_b"
        if name.endswith("_a") and other in frame:
            one, two = frame[name].astype(object), frame[other].astype(object)
            changed |= {name: one.where(~back, two), other: two.where(~back, one)}
    coders = {**dict.fromkeys(values, (code_outcome, OUTCOMES)), "order": (code_order, ORDERS)}
    for name in (name for name in coders if name in frame):
        changed[name] = _exchanged(frame[name], back, *coders[name])
    return frame.assign(**changed)


def as_shown_second(outcomes: pd.Series[Any]) -> pd.Series[Any]:
    """Outcomes of a presentation with b in the first place, a being what stood there, as outcomes of a and b.

    Examples
    --------
    >>> as_shown_second(pd.Series(["A", "b", "tie", "hm"])).tolist()
    ['b', 'a', 'tie', 'hm']
    """
    return _exchanged(outcomes, np.ones(len(outcomes), dtype=bool), code_outcome, OUTCOMES)


def _exchanged(
    values: pd.Series[Any], back: NDArray[np.bool_], coder: Callable[[Any], NDArray[Any]], words: Sequence[str]
) -> pd.Series[Any]:
    """Known words, of the rows ``back`` with the first two in each other's place; others as they are."""
    codes = coder(values)
    turned = np.where(back & (codes >= 0) & (codes < 2), 1 - codes, codes)
    named = np.array([*words, None], dtype=object)[np.where(turned >= 0, turned, -1)]
    return values.astype(object).where(codes == UNKNOWN, pd.Series(named, index=values.index))
