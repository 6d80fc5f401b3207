"""Simulated battles whose truth is known: people and judges who see the same models with different eyes.

People follow Davidson's extension of Bradley–Terry in the models' strengths θ. Judge j follows it in
``a_j θ_i + δ_ji``: a slope, and a deviation of its own for each model, ``δ_ji ~ N(0, deviation_j)``. A judge who
scores gives answers whose gap has that difference as its mean, with normal noise of one point.

Worked out from the definitions (METHODS 4.1, 4.2), apart from what models and baselines do: expectations over
the normal gaps of every pair of models, all pairs being as frequent and either order as likely.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import expit, ndtr

from bayesjudge.datasets.design import Truth
from bayesjudge.errors import UsageError
from bayesjudge.maths.bradley_terry import solve_strengths, to_elo
from bayesjudge.tables import Battles

type Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class BattleDesign:
    """The world that battles are drawn from.

    Parameters
    ----------
    strengths : tuple of float
        θ of each model in logits; models are named ``m0, m1, ...``.
    battles : int
        Battles, between two models drawn at random, answers shown in random order.
    voted : float
        Share of battles that people voted on.
    log_tie : float
        Log ν of people and of judges (Davidson's tie parameter).
    judges : int
        Judges ``j0, j1, ...``; each judges every battle.
    slope, deviation, position : float
        a_j, standard deviation of δ_ji, and what being shown first is worth, in logits, of every judge.
    graded : bool
        Judges give scores rather than verdicts.
    both_orders : bool
        Each judge sees each battle twice, once in each order; half of the noise of its two gaps is shared.
    noise : float
        Standard deviation of a gap about its mean.
    shared : float
        Correlation ρ of everyone's judgement of a battle with what its two answers hold beyond their models:
        people and judges then agree by ρ² more than the strengths explain, and each one's chances stay.
    without_votes : tuple of str
        Models that nobody voted on; only judges compare them.
    """

    strengths: tuple[float, ...] = (0.9, 0.4, 0.1, -0.2, -0.5, -0.7)
    battles: int = 1500
    voted: float = 1.0
    log_tie: float = -0.5
    judges: int = 1
    slope: float = 0.8
    deviation: float = 0.1
    position: float = 0.2
    graded: bool = False
    both_orders: bool = False
    noise: float = 1.0
    shared: float = 0.0
    without_votes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        enough = len(self.strengths) > 1 and self.battles > 0
        if not (enough and 0 <= self.voted <= 1 and self.noise >= 0 and 0 <= self.shared < 1):
            raise UsageError(
                "a log of battles needs two strengths or more, one battle or more, a share "
                f"voted in [0, 1] and shared in [0, 1); got {self}"
            )

    @property
    def models(self) -> tuple[str, ...]:
        """Names of the models."""
        return tuple(f"m{k}" for k in range(len(self.strengths)))

    @property
    def truth(self) -> Truth:
        """Elo of each model and every difference by ``(estimand, unit)``, as `Estimates.with_truth` takes it.

        It is the Elo that infinitely many human votes would give, all pairs equally often and ties counting half.
        """
        first, second = np.triu_indices(len(self.strengths), 1)
        theta = np.asarray(self.strengths)
        score = davidson_chances(theta[first] - theta[second], self.log_tie) @ [1.0, 0.5, 0.0]
        elo = to_elo(solve_strengths(first, second, np.ones(len(first)), score, len(theta), ridge=0)[0])
        named = dict(zip(self.models, elo.tolist(), strict=True))
        paired = {("difference", f"{a} − {b}"): named[a] - named[b] for a, b in permutations(self.models, 2)}
        return {("elo", model): value for model, value in named.items()} | paired


@dataclass(frozen=True, eq=False, kw_only=True)
class SimulatedBattles:
    """A simulated log and the world it came from.

    Attributes
    ----------
    battles : Battles
        The log, as a user would have it.
    design : BattleDesign
        The world.
    deviations : array (judges, models)
        Each judge's own deviations δ_ji.
    """

    battles: Battles
    design: BattleDesign
    deviations: Floats


def simulate_battles(*, seed: int | np.random.Generator, design: BattleDesign | None = None) -> SimulatedBattles:
    """Simulate one log of battles.

    Parameters
    ----------
    seed : int or Generator
        Equal seeds give equal logs.
    design : BattleDesign, optional
        The world; default six models, one judge, 1,500 battles.
    """
    world, rng = design or BattleDesign(), np.random.default_rng(seed)
    theta = np.asarray(world.strengths)
    deviations = world.deviation * rng.normal(size=(world.judges, len(theta)))
    a = rng.integers(len(theta), size=world.battles)
    b = (a + rng.integers(1, len(theta), size=world.battles)) % len(theta)
    # Drawn only where it matters: logs of earlier seeds stay what they were.
    effect = rng.normal(size=world.battles) if world.shared else None
    human = _outcome(theta[a] - theta[b], world, rng, effect)
    human[rng.random(world.battles) >= world.voted] = np.nan
    unvoted = [world.models.index(name) for name in world.without_votes]
    human[np.isin(a, unvoted) | np.isin(b, unvoted)] = np.nan
    order = rng.choice([1, -1], size=world.battles)
    names = np.array(world.models)
    battles = {"item": np.arange(world.battles), "model_a": names[a], "model_b": names[b]}
    log = pd.DataFrame({**battles, "human": human, "order": np.where(order > 0, "ab", "ba")})
    parts = []
    for judge, own_deviation in enumerate(deviations):
        eye = world.slope * theta + own_deviation
        shared = np.sqrt(0.5) * rng.normal(size=world.battles) if world.both_orders else 0.0
        for place in (order, -order) if world.both_orders else (order,):
            d = eye[a] - eye[b] + world.position * place
            own = _judgement(len(d), world, rng, effect) if world.graded else np.zeros(len(d))
            own = shared + np.sqrt(0.5) * own if world.both_orders else own
            answers = (
                {"score_gap": d + world.noise * own} if world.graded else {"verdict": _outcome(d, world, rng, effect)}
            )
            orders = np.where(place > 0, "ab", "ba")
            parts.append(log.assign(judge=f"j{judge}", order=orders, **answers))
    frame = pd.concat(parts, ignore_index=True) if parts else log.drop(columns="order")
    return SimulatedBattles(battles=Battles.from_frame(frame), design=world, deviations=deviations)


def _outcome(difference: Floats, world: BattleDesign, rng: np.random.Generator, effect: Floats | None) -> Floats:
    """1 a wins, .5 tie, 0 b wins."""
    edges = np.cumsum(davidson_chances(difference, world.log_tie), axis=1)
    drawn = rng.random(len(difference)) if effect is None else ndtr(-_judgement(len(effect), world, rng, effect))
    found: Floats = 1 - (drawn[:, None] > edges[:, :2]).sum(axis=1) / 2
    return found


def _judgement(n: int, world: BattleDesign, rng: np.random.Generator, effect: Floats | None) -> Floats:
    """Standard normal noise in favour of a, of which the battle's effect is a part."""
    own = rng.normal(size=n)
    return own if effect is None else world.shared * effect + np.sqrt(1 - world.shared**2) * own


def davidson_chances(difference: Floats, log_tie: float) -> Floats:
    """Davidson's chances that a wins, of a tie, and that b wins, (N, 3)."""
    weight = np.exp(np.column_stack([difference / 2, np.full(len(difference), log_tie), -difference / 2]))
    return np.asarray(weight / weight.sum(axis=1, keepdims=True))


#: Gauss–Hermite nodes of a gap's noise: σ(βs) is smooth over its few standard deviations.
_NODES = 80


def soft_truth(log: SimulatedBattles, *, beta: float | None = None) -> dict[tuple[str, ...], float]:
    """``beta`` by ``(estimand, judge)``, and each model's Soft-Elo by ``(estimand, model, judge, group)``.

    β is the temperature at which infinitely many human votes that are no ties are likeliest, given the gaps; a
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
    """
    design = log.design
    if not design.graded or design.both_orders or design.shared:
        raise UsageError(
            "Soft-Elo's truth is known where judges give scores in one order each and share no "
            "effects of battles with people"
        )
    theta = np.asarray(design.strengths)
    first, second = np.triu_indices(len(theta), 1)
    votes = davidson_chances(theta[first] - theta[second], design.log_tie)
    found: dict[tuple[str, ...], float] = {}
    for j, own_deviation in enumerate(log.deviations):
        eye, judge = design.slope * theta + own_deviation, f"j{j}"
        gap, weight = _gaps(eye[first] - eye[second], design.position, design.noise)
        known = _temperature(gap, weight, votes[:, [0]], votes[:, [2]]) if beta is None else beta
        target = (weight * expit(known * gap)).sum(axis=1)
        solved = solve_strengths(first, second, np.ones(len(first)), target, len(theta), ridge=0)[0]
        found["beta", judge] = known
        for model, elo in zip(design.models, to_elo(solved), strict=True):
            found["elo", model, judge, ""] = float(elo)
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
