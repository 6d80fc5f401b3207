"""R-hat and effective sample sizes of many scalars at once are ArviZ's of each."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from arviz_stats.base import array_stats

from bayesjudge.estimates.mixing import ess_bulk, ess_mean, ess_tail, rhat

AXES: dict[str, Any] = {"chain_axis": 1, "draw_axis": 2}
OURS_AND_THEIRS = (
    (rhat, lambda x: array_stats.rhat(x, **AXES)),
    (ess_bulk, lambda x: array_stats.ess(x, method="bulk", **AXES)),
    (ess_tail, lambda x: array_stats.ess(x, method="tail", prob=(0.05, 0.95), **AXES)),
    (ess_mean, lambda x: array_stats.ess(x, method="mean", **AXES)),
)


def _chains(size: tuple[int, int, int], *, memory: float, repeated: bool) -> Any:
    """Skewed autoregressive draws; repeated ones as of proposals that were refused."""
    noise = np.random.default_rng(0).normal(size=size)
    found = noise.copy()
    for t in range(1, size[2]):
        found[..., t] = memory * found[..., t - 1] + noise[..., t]
        if repeated and t % 3 == 0:
            found[..., t] = found[..., t - 1]
    return np.exp(0.3 * found)


@pytest.mark.parametrize("size", [(30, 4, 200), (30, 4, 201), (30, 1, 60), (30, 2, 7), (30, 4, 4)])
@pytest.mark.parametrize(("memory", "repeated"), [(0.0, False), (0.9, True), (-0.8, False)])
def test_figures_are_those_of_arviz(size: tuple[int, int, int], memory: float, repeated: bool) -> None:
    chains = _chains(size, memory=memory, repeated=repeated)
    for ours, theirs in OURS_AND_THEIRS:
        # Sums of the same numbers in another order.
        np.testing.assert_allclose(ours(chains), theirs(chains), rtol=1e-9)


def test_what_never_moved_has_no_rhat_and_few_draws_have_no_figure() -> None:
    assert np.isnan(rhat(np.ones((1, 4, 50)))).all()
    for figure, _ in OURS_AND_THEIRS:
        assert np.isnan(figure(np.random.default_rng(0).normal(size=(2, 4, 3)))).all()
        assert figure(np.empty((0, 4, 50))).shape == (0,)
