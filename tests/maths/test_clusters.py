"""Design effects of sums."""

from __future__ import annotations

import numpy as np
import pytest

from bayesjudge.maths.clusters import design_effect, sum_variances


def test_rows_that_stand_twice_vary_twice_as_much_in_sum() -> None:
    values = np.random.default_rng(1).normal(size=50)
    twice, cluster = np.repeat(values, 2), np.repeat(np.arange(50), 2)
    together, alone = sum_variances(twice, cluster)
    assert together == pytest.approx(50 * 4 * values.var(ddof=1))
    assert alone == pytest.approx(100 * twice.var(ddof=1))
    assert design_effect(twice, cluster) == pytest.approx(together / alone)
    order = np.random.default_rng(2).permutation(100)
    assert design_effect(twice[order], cluster[order] * 7 + 3) == pytest.approx(together / alone)


def test_rows_alone_opposite_rows_and_equal_rows_vary_as_independent_ones() -> None:
    values = np.random.default_rng(1).normal(size=50)
    assert design_effect(values, np.arange(50)) == 1
    assert design_effect(np.concatenate([values, -values]), np.tile(np.arange(50), 2)) == 1
    assert design_effect(np.ones(50), np.arange(50) // 2) == 1
    assert design_effect(values, np.zeros(50, dtype=np.int64)) == 1
