"""Figures of the Elo question: what they show of odd tables too."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from matplotlib.text import Text

from bayesjudge.errors import UsageError
from bayesjudge.plots import held_out_intervals, preference_matrix, reliability_diagram, residuals_by_strength, to_svg


def predictions(models: int = 5) -> pd.DataFrame:
    truth = np.linspace(1300, 1700, models)
    rows = [
        {
            "unit": f"m{k}",
            "method": method,
            "point": 1500 + share * (true - 1500),
            "lower": true - reach,
            "upper": true + reach,
            "truth": true,
        }
        for method, share, reach in (("bayes:judge_elo", 1.0, 40.0), ("conformal[split]", 0.6, math.inf))
        for k, true in enumerate(truth)
    ]
    return pd.DataFrame(rows)


def test_held_out_models_stand_from_the_strongest_down() -> None:
    axes = held_out_intervals(predictions()).axes[0]
    assert [text.get_text() for text in axes.get_yticklabels()] == ["m4", "m3", "m2", "m1", "m0"]


def test_an_infinite_interval_does_not_stretch_the_axis() -> None:
    low, high = held_out_intervals(predictions()).axes[0].get_xlim()
    assert 1200 < low < high < 1800


def test_the_slope_of_the_residuals_is_told() -> None:
    panels = residuals_by_strength(predictions()).axes
    assert [axes.texts[0].get_text() for axes in panels] == ["slope +0.00", "slope -0.40"]


def test_names_of_many_methods_stand_beside_each_other() -> None:
    one = predictions().query("method != 'bayes:judge_elo'")
    sources = [f"conformal[{way}|hard-elo|judge-{k}]" for k in range(3) for way in ("split,line", "jackknife+,line")]
    figure = residuals_by_strength(pd.concat([one.assign(method=source) for source in sources]))
    figure.draw_without_rendering()
    titles = [text for axes in figure.axes for text in axes.findobj(Text) if text.get_text() == axes.get_title("left")]
    boxes = [title.get_window_extent() for title in titles]
    assert len({title.get_text() for title in titles}) == len(sources)
    assert not any(a.overlaps(b) for a, b in itertools.combinations(boxes, 2))
    assert all(box.x0 >= 0 and box.x1 <= figure.bbox.x1 for box in boxes)


def test_two_predictions_have_no_slope() -> None:
    assert not residuals_by_strength(predictions(2)).axes[0].texts


@pytest.mark.parametrize("draw", [held_out_intervals, residuals_by_strength])
def test_a_missing_column_is_named(draw) -> None:
    with pytest.raises(UsageError, match=r"missing \['truth'\]"):
        draw(predictions().drop(columns="truth"))


def test_the_diagonal_of_a_preference_matrix_is_blank() -> None:
    names = ["a", "b", "c"]
    frame = pd.DataFrame(np.full((3, 3), 0.25), index=names, columns=names)
    assert len(preference_matrix(frame).axes[0].texts) == 6


def test_many_models_get_colours_without_numbers() -> None:
    names = [f"m{k}" for k in range(40)]
    frame = pd.DataFrame(np.full((40, 40), 0.5), index=names, columns=names)
    assert not preference_matrix(frame).axes[0].texts


def test_a_preference_matrix_is_square() -> None:
    with pytest.raises(UsageError, match="square"):
        preference_matrix(pd.DataFrame([[0.5, 0.2]], index=["a"], columns=["a", "b"]))


def test_each_panel_and_method_of_a_reliability_diagram_is_drawn() -> None:
    cells = itertools.product(("one", "two"), ("soft-elo", "bayes:x"), (0.6, 0.8))
    frame = pd.DataFrame(cells, columns=["panel", "method", "predicted"])
    seen = frame["predicted"] - 0.1
    frame = frame.assign(observed=seen, lower=seen - 0.1, upper=seen + 0.1)
    figure = reliability_diagram(frame)
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["one", "two"]
    legend = figure.axes[0].get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["soft Elo", "Bayesian (x)"]
    assert "<svg" in to_svg(figure)


def test_an_empty_reliability_diagram_is_refused() -> None:
    with pytest.raises(UsageError, match="needs rows"):
        reliability_diagram(pd.DataFrame(columns=["predicted", "observed", "lower", "upper"]))
