"""In which units chains move: a matrix, scales, or a matrix for what items share and scales for their effects."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

#: Dimensions up to which posteriors are whitened by a full matrix: its products cost d² a leapfrog step.
DENSE_UP_TO = 400
#: Draws' worth of the old diagonal in a new one.
_FEW = 10.0


class Corner(NamedTuple):
    """Units of a large posterior: a matrix for the few coordinates that depend on each other, scales for the others.

    where: Coordinates (k,) of the matrix.
    matrix: Cholesky factor of their covariance.
    scale: Standard deviation of each of all coordinates; 1 for those of the matrix.
    """

    where: Any
    matrix: Any
    scale: Any

    def times(self, x: Any, matrix: Any) -> Any:
        """Rows scaled, those coordinates by a matrix."""
        return (x * self.scale).at[..., self.where].set(x[..., self.where] @ matrix)


def stretched(x: Any, root: Any) -> Any:
    """From whitened units to those of the posterior; ``root`` is a triangle, standard deviations, or some of both."""
    if isinstance(root, Corner):
        return root.times(x, root.matrix.T)
    return x @ root.T if root.ndim == 2 else x * root


def whitened(slope: Any, root: Any) -> Any:
    """A gradient in whitened units."""
    if isinstance(root, Corner):
        return root.times(slope, root.matrix)
    return slope @ root if root.ndim == 2 else slope * root


def metric(old: Any, draws: Any, slopes: Any) -> Any:
    """Root of a covariance, shrunk to the old one, of one posterior; the old one where there is none.

    Of a small posterior it is the draws' own. Of a large one it lies half way from the draws' to the inverse of their
    gradients', as minimises the Fisher divergence of a Gaussian (Seyboldt, Carlson & Carpenter 2024, "Preconditioning
    Hamiltonian Monte Carlo by minimizing Fisher divergence"): chains that are still on their way spread both, and the
    ratio stays.
    """
    if isinstance(old, Corner):
        scale, where = metric(old.scale, draws, slopes), old.where
        scale[where] = 1.0
        return Corner(where, _between(old.matrix, draws[:, where], slopes[:, where]), scale)
    if old.ndim == 1:
        spread, steep = (_shrunk(part, before**2) for part, before in ((draws, old), (slopes, 1 / old)))
        new = (spread / steep) ** 0.25
    else:
        new = cholesky(_shrunk(draws, old @ old.T))
    return new if new is not None and np.isfinite(new).all() else old


def _between(old: Any, draws: Any, slopes: Any) -> Any:
    """Root of the geometric mean of the draws' covariance and of the inverse of their gradients'."""
    inverse = np.linalg.inv(old)
    spread, steep = cholesky(_shrunk(draws, old @ old.T)), _shrunk(slopes, inverse.T @ inverse)
    if spread is None or not np.isfinite(steep).all():
        return old
    values, axes = np.linalg.eigh(spread.T @ steep @ spread)
    new = cholesky(spread @ (axes * np.maximum(values, np.finfo(float).tiny) ** -0.5) @ axes.T @ spread.T)
    return old if new is None else new


def _shrunk(rows: Any, old: Any) -> Any:
    """Covariance of rows (n, d), or their variances, shrunk to the old ones."""
    (number, size), whole = rows.shape, old.ndim == 2
    # A matrix needs as many draws as it has rows, a diagonal but a few.
    weight = number / (number + (2.0 * size if whole else _FEW))
    off = rows - rows.mean(0)
    own = (off.T @ off if whole else (off**2).sum(0)) / max(number - 1, 1)
    return weight * own + (1 - weight) * old


def cholesky(matrix: Any) -> Any:
    """The Cholesky factor, or None."""
    try:
        factor = np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        return None
    return factor if np.isfinite(factor).all() else None
