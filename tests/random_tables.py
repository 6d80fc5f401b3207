"""Random verdict tables for Hypothesis: small, with every kind of gap that a log has."""

from __future__ import annotations

import pandas as pd
from hypothesis import strategies as st

__all__ = ["verdict_tables"]

#: Item, model, judge, verdict: few values, so that runs repeat and cells stay empty.
_ROW = st.tuples(st.integers(0, 3), st.integers(0, 2), st.integers(0, 2), st.integers(0, 1))


@st.composite
def verdict_tables(draw: st.DrawFn) -> pd.DataFrame:
    """Random verdicts and scores with gaps, repeated runs and labels on some rows of some answers."""
    frame = pd.DataFrame(draw(st.lists(_ROW, min_size=1, max_size=25)), columns=["item", "model", "judge", "verdict"])
    truth = draw(st.lists(st.sampled_from([0, 1, None]), min_size=12, max_size=12))
    shown = draw(st.lists(st.booleans(), min_size=len(frame), max_size=len(frame)))
    places = frame["item"] * 3 + frame["model"]
    frame["label"] = [truth[place] if show else None for place, show in zip(places, shown, strict=True)]
    frame["score"] = frame["verdict"] * 2.5 + frame["judge"]
    names = {"item": "q", "model": "m", "judge": "j"}
    return frame.assign(**{name: frame[name].astype(str).radd(mark) for name, mark in names.items()})
