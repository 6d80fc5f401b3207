"""What is true of the judges of a simulated world of repeated trials, given the verdict distributions.

Worked out from the definitions (METHODS 2), apart from what the model `repeated_trials` does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesjudge.maths.majority import TRIALS, majority_probability, most_likely, swap_risk

__all__ = ["layer_truth", "trial_truth"]

type Array = NDArray[np.float64]

#: Numbers of trials whose chance of the true majority, and noise budget, is told.
_SIZES = (1, 3, 5, 9, 10, 15, 20, 50)


def trial_truth(pi: Array) -> dict[str, float]:
    """Truths of one judge under one condition, by estimand.

    Parameters
    ----------
    pi : array (items, orders, 3)
        Probabilities of a, b and tie of every item in every order; with two orders, a stands first in the
        first of them.

    Returns
    -------
    dict of str to float
        ``flip_rate``, ``disagreement``, ``tie_rate``, ``match[K=...]``, ``noise_budget[K=...]``,
        ``swap_risk[gap=...]``, ``minimum_trials[...]`` and, with two orders, ``position_effect``.

    Examples
    --------
    >>> found = trial_truth(np.array([[[0.8, 0.2, 0.0]], [[0.4, 0.6, 0.0]]]))
    >>> round(found["flip_rate"], 6), round(found["disagreement"], 6), found["minimum_trials[90%]"]
    (0.3, 0.4, 19.0)
    """
    q = pi.mean(axis=1)
    flip = 1 - q.max(axis=-1)
    disagreement = (1 - (q**2).sum(axis=-1)).mean()
    found: dict[str, Any] = {
        "flip_rate": flip.mean(),
        "disagreement": disagreement,
        "tie_rate": q[:, 2].mean(),
    }
    for trials in _SIZES:
        match = _match(q, trials)
        found |= {f"match[K={trials}]": match, f"noise_budget[K={trials}]": len(q) * (1 - match)}
    found |= {f"swap_risk[gap={gap:.0%}]": swap_risk(flip, gap=gap) for gap in (0.01, 0.05, 0.10)}
    found |= {f"minimum_trials[{target:.0%}]": _minimum(q, target) for target in (0.90, 0.95)}
    if pi.shape[1] == 2:
        first, second = pi[:, 0], pi[:, 1]
        found["position_effect"] = (first[:, 0] - first[:, 1] + second[:, 1] - second[:, 0]).mean() / 2
    return {name: float(value) for name, value in found.items()}


def _match(q: Array, trials: int) -> float:
    """Mean probability that a majority of K trials is the true one."""
    return float(majority_probability(q, most_likely(q), trials=trials).mean())


def _minimum(q: Array, target: float) -> float:
    """Smallest of `TRIALS` whose mean match reaches the target, or infinity."""
    return next((float(trials) for trials in TRIALS if _match(q, trials) >= target), np.inf)


def layer_truth(pi: Array) -> dict[str, float]:
    """Share of each layer in the variance of what a verdict is worth: 1 for a, 0 for b, ½ for a tie.

    Parameters
    ----------
    pi : array (judges, conditions, items, orders, 3)
        Every judge asked about every item under every condition in every order.

    Returns
    -------
    dict of str to float
        ``variance_share[...]`` of the layers that vary: stochastic, position (orders), protocol (conditions)
        and judge.

    Examples
    --------
    >>> split = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    >>> layer_truth(split.reshape(1, 1, 1, 2, 3))
    {'variance_share[stochastic]': 0.0, 'variance_share[position]': 1.0}
    """
    worth = pi[..., 0] + pi[..., 2] / 2
    chance = (pi[..., 0] + pi[..., 2] / 4 - worth**2).mean(axis=(0, 1, 3)).sum()
    parts = {"stochastic": chance, **dict(_layers(worth, ("position", "protocol", "judge"), (3, 1, 0)))}
    varied = {"stochastic": 2, "position": pi.shape[3], "protocol": pi.shape[1], "judge": pi.shape[0]}
    total = sum(parts.values())
    return {f"variance_share[{name}]": float(part / total) for name, part in parts.items()
            if varied[name] > 1}  # fmt: skip


def _layers(worth: Array, names: Sequence[str], axes: Sequence[int]) -> Iterator[tuple[str, float]]:
    """Variance along one axis after another, each of the means over those before it; summed over items."""
    for name, axis in zip(names, axes, strict=True):
        spread = worth.var(axis=axis, keepdims=True)
        yield name, float(spread.mean(axis=(0, 1, 3)).sum())
        worth = worth.mean(axis=axis, keepdims=True)
