"""R-hat and effective sample sizes of many scalars at once, where there is little to work them out from."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from arviz_stats.base import array_stats

from bayesjudge.estimates import mixing
from bayesjudge.estimates.mixing import ess_bulk, ess_mean, ess_tail, rhat


def test_chains_apart_and_repeated_draws_show() -> None:
    rng = np.random.default_rng(0)
    good = rng.normal(size=(1, 4, 500))
    apart, stuck = good + np.arange(4)[:, None], np.repeat(good[:, :, ::10], 10, axis=2)
    values = rhat(np.concatenate([good, apart]))
    assert values[0] < 1.01
    assert values[1] > 1.5
    # Every draw ten times: a tenth of the draws; estimated to some 10 % from 2,000 draws.
    assert ess_mean(stuck)[0] == pytest.approx(200, rel=0.4)


def test_what_cannot_be_worked_out_is_not_a_number() -> None:
    assert np.isnan(rhat(np.ones((1, 4, 50)))).all()
    assert np.isnan(rhat(np.random.default_rng(0).normal(size=(2, 1, 50)))).all()
    for figure in (rhat, ess_bulk, ess_tail, ess_mean):
        assert np.isnan(figure(np.random.default_rng(0).normal(size=(2, 4, 3)))).all()
        assert figure(np.empty((0, 4, 50))).shape == (0,)


def series_of(kind: str) -> np.ndarray:
    rng = np.random.default_rng(3)
    noise = rng.normal(size=(12, 4, 151))
    walk = np.cumsum(noise, axis=2)
    return {
        "independent": noise,
        "slow": walk,
        "antithetic": np.diff(noise, axis=2),
        "one chain": walk[:, :1],
        "four draws": noise[..., :4],
        "five draws": noise[..., :5],
        "ties": np.round(walk / 3),
        "repeats": np.repeat(noise[..., ::3], 3, axis=2),
        "two values": (noise > 1).astype(float),
        "halves": np.tile([0.0, 1.0], (2, 4, 50)),
        "one chain moves": noise * np.array([0, 0, 0, 1.0])[:, None],
        "all but still": 1e-17 * noise,
        "some unknown": np.where(rng.random(noise.shape) < 0.001, np.nan, noise),
    }[kind]


KINDS = (
    *("independent", "slow", "antithetic", "one chain", "four draws", "five draws", "ties", "repeats", "two values"),
    *("halves", "one chain moves", "all but still", "some unknown"),
)


@pytest.mark.parametrize("kind", KINDS)
def test_figures_are_those_of_arviz(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mixing, "TOGETHER", 2000)  # so that scalars are in several parts
    series = series_of(kind)
    axes: dict[str, Any] = {"chain_axis": 1, "draw_axis": 2}
    asked: dict[Any, dict[str, Any]] = {
        ess_bulk: {"method": "bulk"},
        ess_tail: {"method": "tail", "prob": mixing.TAILS},
        ess_mean: {"method": "mean"},
    }
    for figure, options in asked.items():
        want = np.asarray(array_stats.ess(series, **axes, **options), dtype=float)
        np.testing.assert_allclose(figure(series), want, rtol=1e-10)  # sums in another order
    if series.shape[1] > 1:
        with np.errstate(divide="ignore", invalid="ignore"):
            want = np.asarray(array_stats.rhat(series, **axes), dtype=float)
        np.testing.assert_allclose(rhat(series), want, rtol=1e-10)
