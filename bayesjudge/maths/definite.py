"""The nearest positive semi-definite matrix: what is a covariance only up to chance or rounding."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

type Floats = NDArray[np.float64]


def nearest_definite(matrix: Floats, *, least: float = 0.0) -> Floats:
    """The nearest symmetric matrices (..., P, P) without eigenvalues below ``least``, in the Frobenius norm.

    Higham (1988), Computing a nearest symmetric positive semidefinite matrix. *Linear Algebra Appl.* 103.

    Examples
    --------
    >>> nearest_definite(np.array([[1.0, 2.0], [2.0, 1.0]]))
    array([[1.5, 1.5],
           [1.5, 1.5]])
    """
    values, vectors = np.linalg.eigh((matrix + np.swapaxes(matrix, -1, -2)) / 2)
    return np.asarray((vectors * np.maximum(values, least)[..., None, :]) @ np.swapaxes(vectors, -1, -2))
