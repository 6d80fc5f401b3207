"""The four layers of a verdict's variance: stochastic, position, protocol, judge identity.

A verdict on item i is worth 1 for a, 0 for b, ½ for a tie. For a judge, a condition, an order and a trial
drawn at random among those that the item was asked under, the law of total variance splits the variance of
its worth::

    Var = E Var(trial | judge, condition, order)        stochastic
        + E Var(order | judge, condition)               position
        + E Var(condition | judge)                      protocol
        + Var(judge)                                    judge identity

each as the variance of conditional means. Shares are of the sum over items of these four; how items differ is
not noise and is no part of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from bayesjudge.models.repeated_trials.verdict_draws import VerdictDraws

__all__ = ["LAYERS", "layer_shares"]

LAYERS = ("stochastic", "position", "protocol", "judge")


def layer_shares(draws: VerdictDraws) -> tuple[dict[str, Any], dict[str, bool]]:
    """Share of each layer, (chain, draw), and whether the layer was varied at all.

    Parameters
    ----------
    draws : VerdictDraws
        Of all judges and conditions.

    Returns
    -------
    shares : dict of str to array (chain, draw)
        They sum to 1.
    varied : dict of str to bool
        Whether some item was asked in both orders, under several conditions, by several judges.
    """
    codes = draws.units[draws.unit]
    first = draws.pi[..., 0] + draws.pi[..., 2] / 2
    square = draws.pi[..., 0] + draws.pi[..., 2] / 4
    parts, varied = {"stochastic": square - first**2}, {"stochastic": True}
    mean, keys = first, np.column_stack([codes[:, 1], codes[:, 0], codes[:, 2], draws.order])
    spread = {"stochastic": (parts["stochastic"], keys)}
    for layer, width in (("position", 3), ("protocol", 2), ("judge", 1)):
        upper, place = np.unique(keys[:, :width], axis=0, return_inverse=True)
        place = place.reshape(-1)
        mean, variance = _moments(mean, place, len(upper))
        spread = {name: _up(values, at, width) for name, (values, at) in spread.items()}
        spread[layer] = (variance, upper)
        varied[layer] = bool((np.bincount(place) > 1).any())
        keys = upper
    sums = {name: values.sum(-1) for name, (values, _) in spread.items()}
    total = sum(sums.values())
    return {name: values / np.where(total > 0, total, 1.0) for name, values in sums.items()}, varied


def _moments(values: Any, place: Any, groups: int) -> tuple[Any, Any]:
    """Mean and population variance within groups along the last axis."""
    mean, square = (_mean(part, place, groups) for part in (values, values**2))
    return mean, np.maximum(square - mean**2, 0.0)


def _mean(values: Any, place: Any, groups: int) -> Any:
    total = np.zeros((groups, *values.shape[:-1]))
    np.add.at(total, place, np.moveaxis(values, -1, 0))
    return np.moveaxis(
        total / np.bincount(place, minlength=groups).reshape(-1, *[1] * (values.ndim - 1)), 0, -1
    )


def _up(values: Any, keys: Any, width: int) -> tuple[Any, Any]:
    """Means over the groups that share the first ``width`` codes."""
    upper, place = np.unique(keys[:, :width], axis=0, return_inverse=True)
    return _mean(values, place.reshape(-1), len(upper)), upper
