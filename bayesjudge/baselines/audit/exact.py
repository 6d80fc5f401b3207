"""Exact partial optimal transport by POT's network simplex, with one dummy point on each side.

Chapel, Alaya & Gasso (2020): a dummy row and column of cost 0 take the mass that is not transported; mass
between the two dummies is forbidden by its cost.
"""

from __future__ import annotations

import os
import warnings
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayesjudge.errors import EngineError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["BYTES_A_CELL", "exact_masses"]

#: Peak memory of the exact solver for each cell of the cost matrix, measured at 3,000 and 5,000 points.
BYTES_A_CELL = 50
#: Pivots of the simplex before it gives up: 5,000 × 5,000 needs some 2 million.
MOST_PIVOTS = 50_000_000
_SWITCHES = ("POT_BACKEND_DISABLE_PYTORCH", "POT_BACKEND_DISABLE_JAX", "POT_BACKEND_DISABLE_TENSORFLOW",
             "POT_BACKEND_DISABLE_CUPY")  # fmt: skip


def exact_masses(source: NDArray[Any], target: NDArray[Any], *, share: float) -> NDArray[np.float64]:
    """Mass that each target receives (u,), summing to ``share``.

    Parameters
    ----------
    source, target : array (p, d), (u, d)
        Unit vectors; the cost of a cell is 1 minus their cosine, the weights are 1/p and 1/u.
    share : float
        Transported mass s.

    Raises
    ------
    EngineError
        The simplex gave up.

    Examples
    --------
    >>> exact_masses(np.array([[1.0, 0.0]]), np.array([[0.0, 1.0], [1.0, 0.0]]), share=0.5).tolist()
    [0.0, 0.5]
    """
    p, u = len(source), len(target)
    # Written in place, since the matrix is what fills the memory.
    cost = np.zeros((p + 1, u + 1))
    np.subtract(1.0, source.astype(np.float64) @ target.astype(np.float64).T, out=cost[:p, :u])
    cost[p, u] = 2.0 * max(float(cost.max()), 1.0)
    rest = 1.0 - share
    plan, log = _solve(np.append(np.full(p, 1 / p), rest), np.append(np.full(u, 1 / u), rest), cost)
    if log["warning"] is not None:
        raise EngineError(f"exact optimal transport gave up: {log['warning']}; use solver='entropic'")
    mass: NDArray[np.float64] = plan[:p, :u].sum(axis=0)
    return mass


def _solve(a: NDArray[np.float64], b: NDArray[np.float64], cost: NDArray[np.float64]) -> tuple[Any, Any]:
    with _without_other_backends():
        import ot

    with warnings.catch_warnings():
        # What it has to say comes back in the log, where it is not lost.
        warnings.simplefilter("ignore")
        return ot.emd(a, b, cost, numItermax=MOST_PIVOTS, log=True)  # type: ignore[no-any-return]  # POT has no types


@contextmanager
def _without_other_backends() -> Iterator[None]:
    """POT imports every array library it can find, which doubles its footprint; NumPy is enough here."""
    before = {name: os.environ.get(name) for name in _SWITCHES}
    os.environ.update(dict.fromkeys(_SWITCHES, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
