"""R-hat and effective sample sizes of many scalars at once, where there is little to work them out from."""

from __future__ import annotations

import numpy as np
import pytest

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
