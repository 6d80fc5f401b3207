"""Draws that repeat: a resampled posterior may hold one draw so often that no tail can be smoothed."""

from __future__ import annotations

import numpy as np

from bayesjudge.checks.sensitivity import _weights
from bayesjudge.inference.loo import _leave_one_out

#: Of 1,000 draws 300 are one and the same, more than the 95 in the tail.
LOG_DENSITY = np.repeat([-3.0, -1.0, -2.0], [300, 400, 300]).reshape(4, 250)


def test_weights_are_plain_powers_where_nothing_can_be_smoothed():
    for weights, power in zip(_weights(LOG_DENSITY), (0.99, 1.01), strict=True):
        plain = np.exp((power - 1) * LOG_DENSITY)
        np.testing.assert_allclose(weights, plain / plain.sum(), rtol=1e-12)


def test_leave_one_out_is_plain_importance_sampling_and_its_k_is_unknown():
    elpd, p_loo, k = _leave_one_out(LOG_DENSITY)
    density = np.exp(LOG_DENSITY)
    assert np.isclose(elpd, -np.log(np.mean(1 / density)), rtol=1e-12)
    assert np.isclose(p_loo, np.log(np.mean(density)) - elpd, rtol=1e-12)
    assert np.isnan(k)
