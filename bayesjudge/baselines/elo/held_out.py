"""What people would say of a model that only judges have seen: leave one model out (METHODS 4.3).

For each model m: β from human non-ties without m; anchors' strengths by Bradley–Terry on the battles without
m; m's own strength against those anchors, held fixed, on m's battles; and the human reference by the same
two steps on people's votes. All M anchor fits are one batch; standard errors resample m's own battles.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesjudge.baselines.common.bootstrap import draw_counts
from bayesjudge.baselines.elo.targets import (
    SOFT,
    Floats,
    Targets,
    graded,
    human_targets,
    judge_targets,
    smoothing,
)
from bayesjudge.baselines.elo.temperature import gap_votes
from bayesjudge.counts.battles.counts import BattleCounts
from bayesjudge.errors import UsageError
from bayesjudge.maths.bradley_terry import PER_LOGIT, RIDGE, anchored_strengths, solve_strengths, to_elo
from bayesjudge.maths.temperature import soft_probability, solve_beta

__all__ = ["HeldOut", "held_out"]


@dataclass(frozen=True, eq=False, kw_only=True)
class HeldOut:
    """Judge and human Elo of M models, each as if people had never seen it.

    Attributes
    ----------
    judge, method : str
    models : tuple of str
        Models with battles on both sides.
    human : float array (M,)
        Reference: Elo by people's votes, against anchors fitted without the model.
    elo : float array (M,)
        The same by the judge's targets.
    error : float array (M,)
        Bootstrap standard error of `elo` within the model's own battles.
    human_error : float array (M,)
        The same of `human`.
    beta : float array (M,)
        Temperature of each fold; NaN where the method has none.
    slope, intercept : float array (M,)
        Least-squares line from judge Elo to human Elo over each fold's anchors.
    n : int array (M,)
        The model's judged battles.
    left_out : tuple of str
        Models without battles on one side.
    """

    judge: str
    method: str
    models: tuple[str, ...]
    human: Floats
    elo: Floats
    error: Floats
    human_error: Floats
    beta: Floats
    slope: Floats
    intercept: Floats
    n: NDArray[np.int64]
    left_out: tuple[str, ...] = ()

    @property
    def residual(self) -> Floats:
        """Judge Elo minus human Elo (M,)."""
        return np.asarray(self.elo - self.human)

    def calibrated(self) -> HeldOut:
        """Judge Elo put through each fold's own line to the human scale; no vote on the model is used."""
        return replace(
            self, elo=self.intercept + self.slope * self.elo, error=np.abs(self.slope) * self.error,
            method=f"{self.method}[line]", slope=np.ones_like(self.slope),
            intercept=np.zeros_like(self.intercept),
        )  # fmt: skip


def held_out(
    counts: BattleCounts, judge: str, method: str = SOFT, *, ridge: float = RIDGE, bootstrap: int = 20,
    seed: int = 0,
) -> HeldOut:  # fmt: skip
    """Leave every model out in turn.

    Parameters
    ----------
    counts : BattleCounts
    judge : str
    method : str
        ``hard-elo``, ``soft-elo`` or ``label-smoothing[c]``.
    ridge : float
        Penalty of both steps.
    bootstrap : int
        Resamples of each model's battles (the paper has 20), at least 2.
    seed : int

    Raises
    ------
    UsageError
        Fewer than 4 models with human votes and this judge's verdicts, or a fold without a usable β.

    Notes
    -----
    Elo is centred on each fold's anchors, on both scales, as in the paper's code.

    Examples
    --------
    >>> import pandas as pd
    >>> from bayesjudge.counts.battles.counts import count_battles
    >>> from bayesjudge.tables import Battles
    >>> rng = np.random.default_rng(1)
    >>> a = rng.integers(5, size=2000)
    >>> b = (a + rng.integers(1, 5, size=2000)) % 5
    >>> wins = (rng.random((2, 2000)) < 1 / (1 + np.exp(b - a))).astype(float)
    >>> frame = pd.DataFrame({"item": range(2000), "model_a": a, "model_b": b, "human": wins[0],
    ...                       "verdict": wins[1]})
    >>> found = held_out(count_battles(Battles.from_frame(frame)), "judge", "hard-elo")
    >>> found.models, bool(np.abs(found.residual).max() < 100)
    (('0', '1', '2', '3', '4'), True)
    """
    if bootstrap < 2:
        raise UsageError(f"bootstrap is {bootstrap}; a standard error needs 2 resamples or more")
    human = _Side.of(human_targets(counts), len(counts.models), ridge)
    judged = _judge_side(counts, judge, method, ridge)
    usable = [m for m in range(len(counts.models)) if human.fought[m] and judged.side.fought[m]]
    if len(usable) < 4:
        raise UsageError(f"{len(usable)} models have both human votes and verdicts of {judge!r}; leaving one "
                         "out needs 4 or more")  # fmt: skip
    streams = [np.random.default_rng(seq) for seq in np.random.SeedSequence(seed).spawn(len(counts.models))]
    anchors = human.anchors(), judged.anchors()
    found = [
        _fold(m, usable, human, judged, anchors=anchors, bootstrap=bootstrap, rng=streams[m]) for m in usable
    ]
    table = {key: np.array([row[key] for row in found]) for key in found[0]}
    names = [counts.models[m] for m in usable]
    return HeldOut(judge=judge, method=method, models=tuple(names), beta=judged.beta[usable],
                   left_out=tuple(name for name in counts.models if name not in names), **table)  # fmt: skip


def _fold(
    m: int, usable: list[int], human: _Side, judged: _JudgeSide, *, anchors: tuple[Floats, Floats],
    bootstrap: int, rng: np.random.Generator,
) -> dict[str, Any]:  # fmt: skip
    reference, reference_error = human.against(m, anchors[0][m], human.targets.target, bootstrap, rng)
    elo, error = judged.side.against(m, anchors[1][m], judged.target(m), bootstrap, rng)
    others = [k for k in usable if k != m]
    slope, intercept = np.polyfit(to_elo(anchors[1][m, others]), to_elo(anchors[0][m, others]), 1)
    return {"human": reference, "human_error": reference_error, "elo": elo, "error": error, "slope": slope,
            "intercept": intercept, "n": judged.side.battles[m]}  # fmt: skip


@dataclass(frozen=True, eq=False)
class _Side:
    """Targets of one kind of voter with what every fold needs of them."""

    targets: Targets
    battles: NDArray[np.int64]
    ridge: float

    @classmethod
    def of(cls, targets: Targets, models: int, ridge: float) -> _Side:
        return cls(targets, targets.battles(models), ridge)

    @property
    def fought(self) -> NDArray[np.bool_]:
        return self.battles > 0

    def anchors(self, wins: Floats | None = None) -> Floats:
        """Strengths (M, M) of the others in each model's fold; ``wins`` (M, P) where it differs by fold."""
        models, targets = len(self.battles), self.targets
        n, total = targets.by_pair(targets.n)
        folds = np.arange(models)[:, None]
        others = (targets.first != folds) & (targets.second != folds)
        won = np.where(others, total if wins is None else wins, 0.0)
        # The model left out, and models that met it alone, have no battles: the penalty puts them at 0.
        return solve_strengths(targets.first, targets.second, np.where(others, n, 0.0), won, models,
                               ridge=max(self.ridge, _LEAST))  # fmt: skip

    def against(
        self, m: int, anchors: Floats, target: Floats, bootstrap: int, rng: np.random.Generator
    ) -> tuple[float, float]:
        """Elo of m against its fold's anchors and its bootstrap standard error."""
        pairs = self.targets
        mine = np.flatnonzero((pairs.first[pairs.pair] == m) | (pairs.second[pairs.pair] == m))
        is_first = pairs.first[pairs.pair[mine]] == m
        rival = np.where(is_first, pairs.second[pairs.pair[mine]], pairs.first[pairs.pair[mine]])
        own = np.where(is_first, target[mine], 1 - target[mine])
        weight = np.vstack([pairs.n[mine], draw_counts(pairs.n[mine], bootstrap, rng)])
        codes, place = np.unique(rival, return_inverse=True)
        join = np.zeros((len(mine), len(codes)))
        join[np.arange(len(mine)), place.reshape(-1)] = 1.0
        theta = anchored_strengths(weight @ join, (weight * own) @ join, anchors[codes], ridge=self.ridge)
        return float(to_elo(theta[0])), float(PER_LOGIT * theta[1:].std(ddof=1))


#: Smallest penalty of the anchors' fits: the model left out has no battles there, and needs some level.
_LEAST = 1e-9


@dataclass(frozen=True, eq=False)
class _JudgeSide:
    """A judge's targets, which differ by fold where β does."""

    side: _Side
    beta: Floats
    is_soft: bool

    def target(self, m: int) -> Floats:
        """Targets (R,) in m's fold; the patterns of a soft judge hold the gap in place of the target."""
        return (
            soft_probability(self.side.targets.target, self.beta[m])
            if self.is_soft
            else self.side.targets.target
        )

    def anchors(self) -> Floats:
        if not self.is_soft:
            return self.side.anchors()
        targets = self.side.targets
        wins = [replace(targets, target=self.target(m)).by_pair(targets.n)[1] for m in range(len(self.beta))]
        return self.side.anchors(np.array(wins))


def _judge_side(counts: BattleCounts, judge: str, method: str, ridge: float) -> _JudgeSide:
    models = len(counts.models)
    smoothing(method)
    if method != SOFT:
        side = _Side.of(judge_targets(counts, judge, method), models, ridge)
        return _JudgeSide(side, np.full(models, np.nan), is_soft=False)
    rows = graded(counts.judged.keep(counts.judged.judge == counts.code("judge", judge)), judge)
    side = _Side.of(Targets.of(rows.first, rows.second, rows.gap, rows.n), models, ridge)
    votes = gap_votes(rows)
    folds = np.arange(models)[:, None]
    others = (votes.first != folds) & (votes.second != folds)
    beta = solve_beta(votes.gap, votes.won * others, votes.lost * others)
    if not np.all(beta > 0):
        worst = counts.models[int(np.argmin(np.where(np.isnan(beta), -np.inf, beta)))]
        raise UsageError(f"judge {judge!r} has no temperature above 0 without the votes on {worst!r}; "
                         "use hard-elo or label-smoothing[0.75]")  # fmt: skip
    return _JudgeSide(side, beta, is_soft=True)
