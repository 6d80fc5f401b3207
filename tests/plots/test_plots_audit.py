"""Figures of the audit question on a page that takes no images."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from bayesjudge.errors import UsageError
from bayesjudge.plots import to_svg
from bayesjudge.plots.audit import trust_map


def table(rows: int = 30) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    trust = rng.random(rows)
    return pd.DataFrame(
        {
            "direction_1": rng.normal(size=rows),
            "direction_2": rng.normal(size=rows),
            "trust": trust,
            "flip": trust < 0.5,
        }
    )


def test_the_colour_bar_is_drawn_in_shapes() -> None:
    svg = to_svg(trust_map(table()))
    assert "<image" not in svg
    # 256 steps of the bar next to the points.
    assert svg.count("<path") + svg.count("<use") > 256


def test_without_directions_there_is_no_map() -> None:
    with pytest.raises(UsageError, match="no embeddings"):
        trust_map(table().drop(columns="direction_1"))
