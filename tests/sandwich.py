"""H and V* of METHODS 1.9b by derivatives of a panel's likelihood, to compare with what the package makes of them."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from bayesjudge.model import Data

type Array = np.ndarray[Any, Any]


def require_sandwich(
    found: tuple[Array, Array], each: Callable[[Any], Any], flat: Any, data: Data, *, exact: bool
) -> None:
    """Information and variance as derivatives of the log likelihood have them.

    each: Log likelihood of every labelled answer at coefficients ``flat``, of which the first are systems' levels.
    """
    of, unit = np.asarray(data["kind_system"])[data["answer_kind"]], np.asarray(data["answer_unit"])
    systems = [of == m for m in range(data.size("system"))]
    own = -np.stack([jax.hessian(lambda z, mine=mine: (each(z) * mine).sum())(flat) for mine in systems])
    gradients = np.asarray(jax.jacobian(each)(flat))
    by_system = np.stack([[gradients[(unit == u) & mine].sum(0) for mine in systems] for u in np.unique(unit)])
    information, variance = found
    np.testing.assert_allclose(information, own.sum(0), atol=1e-9)
    np.testing.assert_allclose(variance, _stretched(by_system, own, exact=exact), atol=1e-9)


def _stretched(by_system: Array, information: Array, *, exact: bool) -> Array:
    """V*, pair of systems by pair, from gradients (U, M, P) and systems' information (M, P, P)."""
    units, systems, size = by_system.shape
    # The gradient of a system's level is the sum of its residuals.
    levels = np.arange(systems)
    # Marks that contradict the votes may show less than nothing of a level at a point far from them.
    ratio = information[levels, levels, levels].clip(1e-9) / (units * by_system[:, levels, levels].var(axis=0, ddof=1))
    stretch = np.sqrt(ratio.clip(0 if exact else 1))
    assert stretch.max() < 3
    found = np.zeros((size, size))
    for m, k in itertools.product(range(systems), repeat=2):
        covariance = np.cov(by_system[:, m].T, by_system[:, k].T)[:size, size:]
        both = units * stretch[m] * stretch[k] * covariance
        if m != k:
            found += both
        else:
            values, vectors = np.linalg.eigh(both - information[m])
            found += information[m] + (0 if exact else vectors @ np.diag(values.clip(0)) @ vectors.T)
    return found
