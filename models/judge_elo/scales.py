"""How raters' strengths vary together over models, given the hyperparameters of `judge_elo`."""

from __future__ import annotations

from typing import Any

#: Judges from which all of them may share deviations. A prior LKJ(1) is uniform on the correlation of two judges, and
#: nearly so of three; of more it draws correlations to 0, where theirs are positive, and counts them as independent
#: witnesses: 95 % intervals of four judges and five models were covered .81 of the time.
LEAST_SHARING = 4


def vine_shapes(judges: int) -> list[tuple[int, int, float]]:
    """Row, column and Beta shape of each canonical partial correlation of an LKJ(1) matrix.

    Uniform over correlation matrices of J judges (Lewandowski, Kurowicka & Joe 2009): the partial
    correlation of rows i > k given those before k is ``2 Beta(b, b) − 1`` with ``b = (J − k)/2``, k from 0.
    """
    return [(i, k, (judges - k) / 2) for k in range(judges) for i in range(k + 1, judges)]


def correlation_root(xp: Any, partial: Any, judges: int) -> Any:
    """Cholesky factor (..., J, J) of a correlation matrix from ``partial`` (..., J(J − 1)/2) between 0 and 1.

    xp: ``numpy`` or ``jax.numpy``.
    """
    of_pair = {(i, k): 2 * partial[..., at] - 1 for at, (i, k, _) in enumerate(vine_shapes(judges))}
    zero = xp.zeros(xp.shape(partial)[:-1])
    rows = []
    for i in range(judges):
        left, row = zero + 1.0, []
        for k in range(i):
            row.append(of_pair[i, k] * left)
            left = left * xp.sqrt(1 - of_pair[i, k] ** 2)
        rows.append(xp.stack([*row, left, *[zero] * (judges - i - 1)], axis=-1))
    return xp.stack(rows, axis=-2)


def correlations(xp: Any, judges: int, partial: Any, shared: Any) -> Any:
    """Correlations (..., J, J) of deviations: ``ρ + (1 − ρ) L L'``, with ρ ``shared`` (...) by all judges.

    xp: ``numpy`` or ``jax.numpy``.
    """
    root = correlation_root(xp, partial, judges)
    rho = shared[..., None, None]
    return rho + (1 - rho) * (root @ xp.swapaxes(root, -1, -2))


def joint_scale(xp: Any, spread: Any, slope: Any, deviation_spread: Any, *correlated: Any) -> Any:
    """Covariance (..., R, R) of one model's ``(θ_i, η_1i, ..., η_Ji)``: ``η_j = a_j θ + δ_j``.

    xp: ``numpy`` or ``jax.numpy``.
    correlated: Of `correlations`, ``partial`` and ``shared``.
    """
    both = deviation_spread[..., :, None] * deviation_spread[..., None, :]
    deviations = both * correlations(xp, slope.shape[-1], *correlated)
    zero = xp.zeros_like(deviations[..., :1])
    deviations = xp.concatenate([zero, deviations], axis=-1)
    deviations = xp.concatenate([xp.zeros_like(deviations[..., :1, :]), deviations], axis=-2)
    loading = spread[..., None] * xp.concatenate([xp.ones_like(slope[..., :1]), slope], axis=-1)
    return loading[..., :, None] * loading[..., None, :] + deviations
