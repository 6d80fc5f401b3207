"""What endless battles would say of a judge who gives scores: its temperature, and its Soft-Elo.

Worked out from the definitions (METHODS 4.1, 4.2), apart from what models and baselines do: expectations over
the normal gaps of every pair of models, all pairs being as frequent and either order as likely.
"""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from bayesjudge.datasets.battles import Floats, SimulatedBattles, davidson_chances
from bayesjudge.errors import UsageError
from bayesjudge.maths.bradley_terry import solve_strengths, to_elo

__all__ = ["soft_truth"]

#: Gauss–Hermite nodes of a gap's noise: σ(βs) is smooth over its few standard deviations.
_NODES = 80


def soft_truth(log: SimulatedBattles, *, beta: float | None = None) -> dict[tuple[str, ...], float]:
    """``beta`` by ``(estimand, judge)``, and each model's Soft-Elo by ``(estimand, model, judge, group)``.

    β is the temperature at which endless human votes that are no ties are likeliest, given the gaps; a
    model's Soft-Elo solves Bradley–Terry with the expected targets σ(βs).

    Parameters
    ----------
    log : SimulatedBattles
        Of a design whose judges give scores, each battle in one order.
    beta : float, optional
        Every judge's temperature, in logits a point, where people's votes follow from the gaps themselves; by
        default that of people who vote by the models' strengths.

    Raises
    ------
    UsageError
        A design without scores, with two orders a battle, or with effects that people and judges share.

    Examples
    --------
    >>> from bayesjudge.datasets import BattleDesign, simulate_battles
    >>> world = BattleDesign(graded=True, strengths=(0.5, -0.5), taste=0, position=0)
    >>> found = soft_truth(simulate_battles(seed=0, design=world))
    >>> round(found["beta", "j0"], 2), round(found["elo", "m0", "j0", ""], 1)
    (0.49, 1532.1)
    """
    design = log.design
    if not design.graded or design.both_orders or design.shared:
        raise UsageError("Soft-Elo's truth is known where judges give scores in one order each and share no "
                         "effects of battles with people")  # fmt: skip
    theta = np.asarray(design.strengths)
    first, second = np.triu_indices(len(theta), 1)
    votes = davidson_chances(theta[first] - theta[second], design.log_tie)
    found: dict[tuple[str, ...], float] = {}
    for j, taste in enumerate(log.deviations):
        eye, judge = design.slope * theta + taste, f"j{j}"
        gap, weight = _gaps(eye[first] - eye[second], design.position, design.noise)
        known = _temperature(gap, weight, votes[:, [0]], votes[:, [2]]) if beta is None else beta
        target = (weight * expit(known * gap)).sum(axis=1)
        solved = solve_strengths(first, second, np.ones(len(first)), target, len(theta), ridge=0)[0]
        found["beta", judge] = known
        found |= {("elo", model, judge, ""): float(elo)
                  for model, elo in zip(design.models, to_elo(solved), strict=True)}  # fmt: skip
    return found


def _gaps(mean: Floats, position: float, noise: float) -> tuple[Floats, Floats]:
    """Gaps of every pair, (pairs, 2 × nodes), and their weights, which add up to 1."""
    node, weight = np.polynomial.hermite_e.hermegauss(_NODES)
    noises = np.concatenate([position + noise * node, -position + noise * node])
    return mean[:, None] + noises, np.tile(weight / weight.sum(), 2) / 2


def _temperature(gap: Floats, weight: Floats, won: Floats, lost: Floats) -> float:
    """Root of the expected score ``E [(won − (won + lost) σ(βs)) s]``, which falls in β."""
    from scipy.optimize import brentq

    def score(beta: float) -> float:
        return float((weight * (won - (won + lost) * expit(beta * gap)) * gap).sum())

    return float(brentq(score, -50.0, 50.0, xtol=1e-12))
