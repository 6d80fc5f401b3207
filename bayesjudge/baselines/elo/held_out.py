"""The Elo that human votes would give a model that only judges have compared: leave one model out (METHODS 4.3).

For each model m: β from human non-ties without m; anchors' strengths by Bradley–Terry on the battles without
m; m's own strength against those anchors, held fixed, on m's battles; and the human reference by the same
two steps on people's votes. What calibrates a prediction of m are the other models: *forward*, from a table
in which m has no battles at all, as it is for a new model; *as in the paper*, from folds in which m's votes
stand among the anchors, the references and β.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from bayesjudge.baselines.elo.targets import (
    HARD,
    SOFT,
    Floats,
    Targets,
    graded,
    human_targets,
    judge_targets,
    row_targets,
    smoothing,
)
from bayesjudge.baselines.elo.temperature import gap_votes
from bayesjudge.counts.battles.clusters import PEOPLE, BattleClusters
from bayesjudge.counts.battles.counts import BattleCounts
from bayesjudge.errors import UsageError, require_choice
from bayesjudge.maths.bradley_terry import PER_LOGIT, RIDGE, anchored_strengths, solve_strengths, to_elo
from bayesjudge.maths.comparison_graph import fold_problem
from bayesjudge.maths.temperature import soft_probability, solve_beta

type Setting = Literal["forward", "as-in-paper"]
SETTINGS: tuple[Setting, ...] = ("forward", "as-in-paper")
#: Models that a line to the human scale needs.
LEAST_FOR_LINE = 3
#: Models that leaving one out needs.
_LEAST = 4


@dataclass(frozen=True, eq=False, kw_only=True)
class Votes:
    """What each cluster's votes add to the human figures, to first order; G kinds of cluster.

    pull: ``Σ (t − p) / I`` of a model's votes in the cluster, in Elo.
    times: Clusters of each kind.
    """

    pull: Floats
    times: Floats


@dataclass(frozen=True, eq=False, kw_only=True)
class HeldOut:
    """Judge and human Elo of M models, each as if nobody had voted on it.

    Attributes
    ----------
    judge, method : str
    models : tuple of str
        Models with a figure on both sides.
    human : float array (M,)
        Reference: Elo by people's votes, against anchors fitted without the model.
    elo : float array (M,)
        The same by the judge's targets.
    error : float array (M,)
        Standard error of `elo` against fixed anchors, clustered: ``√Σ_c (Σ t − p)² / Σ p(1 − p)``.
    human_error : float array (M,)
        The same of `human`.
    beta : float array (M,)
        Temperature of each fold; NaN where the method has none.
    slope, intercept : float array (M,)
        Least-squares line from judge Elo to human Elo over each fold's anchors; NaN where there are too few.
    n : int array (M,)
        The model's judged battles.
    reasons : mapping of str to str
        Why each of the other models has none.
    votes : Votes, optional
        For what intervals over drawn-again prompts are made of.
    calibration : mapping of str to HeldOut
        For each model, the others from a table without it; empty as in the paper.
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
    reasons: Mapping[str, str] = field(default_factory=dict)
    votes: Votes | None = None
    calibration: Mapping[str, HeldOut] = field(default_factory=dict)

    @property
    def residual(self) -> Floats:
        """Judge Elo minus human Elo (M,)."""
        return np.asarray(self.elo - self.human)

    @property
    def is_forward(self) -> bool:
        """Whether calibration knows nothing of the model that is predicted."""
        return bool(self.calibration)

    def keep(self, chosen: NDArray[Any]) -> HeldOut:
        """Some of the models, by mask (M,) or place."""
        names = ("human", "elo", "error", "human_error", "beta", "slope", "intercept", "n")
        arrays = {name: getattr(self, name)[chosen] for name in names}
        return replace(self, models=tuple(np.array(self.models, dtype=object)[chosen]), votes=None, **arrays)

    def calibrating(self, model: str) -> HeldOut:
        """The other models, from which the error of this one's prediction is learned."""
        if self.is_forward:
            return self.calibration[model]
        return self.keep(np.array([name != model for name in self.models]))

    def calibrated(self) -> HeldOut:
        """Judge Elo put through each fold's own line to the human scale; no vote on the model is used."""
        return replace(
            self,
            elo=self.intercept + self.slope * self.elo,
            error=np.abs(self.slope) * self.error,
            method=f"{self.method}[line]",
            slope=np.ones_like(self.slope),
            intercept=np.zeros_like(self.intercept),
            calibration={name: held.calibrated() for name, held in self.calibration.items()},
        )


def held_out(
    counts: BattleCounts,
    judge: str,
    method: str = SOFT,
    *,
    setting: Setting = "forward",
    targets: Iterable[str] | None = None,
    ridge: float = RIDGE,
) -> HeldOut:
    """Leave every model out in turn.

    Parameters
    ----------
    counts : BattleCounts
    judge : str
    method : str
        ``hard-elo``, ``soft-elo`` or ``label-smoothing[c]``.
    setting : {"forward", "as-in-paper"}
        Whether a model's own battles are in the folds that calibrate its prediction.
    targets : iterable of str, optional
        Models to be predicted forward, each of which costs the folds of all others once more; all by default.
    ridge : float
        Penalty of both steps.

    Raises
    ------
    UsageError
        An unknown setting; fewer than 4 models with a figure on both sides.

    Notes
    -----
    Elo is centred on each fold's anchors, on both scales, as in the paper's code.
    """
    require_choice("setting", setting, SETTINGS)
    found = _folds(counts, judge, method, ridge)
    if len(found.models) < _LEAST:
        why = "; ".join(f"{name}: {reason}" for name, reason in list(found.reasons.items())[:3])
        raise UsageError(
            f"{len(found.models)} models have a figure by human votes and by {method} of "
            f"{judge!r}; leaving one out needs {_LEAST} or more ({why})"
        )
    if setting == "as-in-paper":
        return found
    chosen = found.models if targets is None else [name for name in targets if name in found.models]
    return replace(found, calibration={name: _folds(counts.without(name), judge, method, ridge) for name in chosen})


def _folds(counts: BattleCounts, judge: str, method: str, ridge: float) -> HeldOut:
    """Every model that has a figure on both sides, and why the others have none."""
    smoothing(method)
    human, judged = _sides(counts, judge, method, ridge)
    reasons = {name: _problem(m, human, judged) for m, name in enumerate(counts.models)}
    usable = [m for m, name in enumerate(counts.models) if not reasons[name]]
    anchors = human.anchors(), judged.anchors()
    rows = [_fold(m, usable, human, judged, anchors=anchors) for m in usable]
    table: dict[str, Any] = {key: np.array([row[key] for row in rows], dtype=float) for key in _COLUMNS}
    clusters = human.clusters.times.astype(float)
    pulls = np.stack([row["pull"] for row in rows], axis=1) if rows else np.zeros((len(clusters), 0))
    return HeldOut(
        judge=judge,
        method=method,
        models=tuple(counts.models[m] for m in usable),
        beta=judged.beta[usable],
        reasons={name: why for name, why in reasons.items() if why},
        n=judged.battles[usable],
        votes=Votes(pull=pulls, times=clusters),
        **table,
    )


_COLUMNS = ("human", "human_error", "elo", "error", "slope", "intercept")


def _problem(m: int, human: _Side, judged: _Side) -> str:
    for side, who in ((human, "by human votes"), (judged, "by the judge")):
        targets = side.targets
        found = fold_problem(targets.first, targets.second, side.n, m, side.models)
        if found:
            return f"no figure {who}: {found}"
    if judged.is_soft and not judged.beta[m] > 0:
        return "no temperature above 0 without the votes on it: use hard-elo or label-smoothing[0.75]"
    return ""


def _fold(m: int, usable: list[int], human: _Side, judged: _Side, *, anchors: tuple[Floats, Floats]) -> dict[str, Any]:
    reference, reference_error, pull = human.against(m, anchors[0][m])
    elo, error, _ = judged.against(m, anchors[1][m])
    others = [k for k in usable if k != m]
    slope, intercept = line(to_elo(anchors[1][m, others]), to_elo(anchors[0][m, others]))
    figures = (reference, reference_error, elo, error, slope, intercept)
    return {**dict(zip(_COLUMNS, figures, strict=True)), "pull": pull}


def line(x: Floats, y: Floats) -> tuple[float, float]:
    """Slope and intercept of the least-squares line; NaN for fewer than `LEAST_FOR_LINE` points, or equal x."""
    if len(x) < LEAST_FOR_LINE:
        return float("nan"), float("nan")
    centred = x - x.mean()
    spread = float(centred @ centred)
    slope = float(centred @ (y - y.mean())) / spread if spread > 0 else float("nan")
    return slope, float(y.mean() - slope * x.mean())


@dataclass(frozen=True, eq=False, kw_only=True)
class _Side:
    """Targets of one kind of voter with what every fold needs of them.

    targets: By pair; the patterns of a soft judge hold the gap in place of the target.
    clusters: The same battles by cluster.
    beta: Temperature of each fold; NaN where the method has none.
    """

    targets: Targets
    clusters: BattleClusters
    method: str
    beta: Floats
    models: int
    ridge: float

    @property
    def is_soft(self) -> bool:
        """Whether targets differ by fold."""
        return self.method == SOFT

    @property
    def n(self) -> Floats:
        """Battles of each pair (P,)."""
        return self.targets.by_pair(self.targets.n)[0]

    @property
    def battles(self) -> NDArray[np.int64]:
        """Battles of each model (M,)."""
        return self.targets.battles(self.models)

    def wins(self, m: int) -> Floats:
        """Sum of each pair's targets in m's fold (P,)."""
        targets = self.targets
        if self.is_soft:
            targets = replace(targets, target=soft_probability(targets.target, np.nan_to_num(self.beta[m])))
        return targets.by_pair(targets.n)[1]

    def anchors(self) -> Floats:
        """Strengths (M, M) of the others in each model's fold."""
        targets, folds = self.targets, np.arange(self.models)[:, None]
        others = (targets.first != folds) & (targets.second != folds)
        total = np.array([self.wins(m) for m in range(self.models)]) if self.is_soft else self.wins(0)
        # The model left out, and models that met it alone, have no battles: the penalty puts them at 0.
        return solve_strengths(
            targets.first,
            targets.second,
            np.where(others, self.n, 0.0),
            np.where(others, total, 0.0),
            self.models,
            ridge=max(self.ridge, _TINY),
        )

    def against(self, m: int, anchors: Floats) -> tuple[float, float, Floats]:
        """Elo of m against its fold's anchors, its standard error, and what each cluster's battles add."""
        from scipy.special import expit

        first, second = self.targets.first, self.targets.second
        mine = (first == m) | (second == m)
        n, wins = self.n[mine], self.wins(m)[mine]
        own, rival = np.where(first[mine] == m, wins, n - wins), (first + second - m)[mine]
        theta = float(anchored_strengths(n, own, anchors[rival], ridge=self.ridge)[0])
        rows = self.clusters.keep((self.clusters.first == m) | (self.clusters.second == m))
        t = row_targets(rows.label, rows.gap, self.method, self.beta[m])
        p = expit(theta - anchors[rows.first + rows.second - m])
        residual = rows.n * (np.where(rows.first == m, t, 1 - t) - p)
        times = self.clusters.times
        information = float((times[rows.cluster] * rows.n * p * (1 - p)).sum()) + self.ridge
        pull = np.bincount(rows.cluster, weights=residual, minlength=len(times)) / information
        return float(to_elo(theta)), PER_LOGIT * float(np.sqrt(times @ pull**2)), PER_LOGIT * pull


#: Smallest penalty of the anchors' fits: the model left out has no battles there, and needs some level.
_TINY = 1e-9


def _sides(counts: BattleCounts, judge: str, method: str, ridge: float) -> tuple[_Side, _Side]:
    """People's side and the judge's."""
    clusters = counts.clusters[0] if counts.clusters else counts.battles
    common: dict[str, Any] = {"models": len(counts.models), "ridge": ridge}
    none = np.full(len(counts.models), np.nan)
    human = _Side(targets=human_targets(counts), clusters=clusters.of(PEOPLE), method=HARD, beta=none, **common)
    mine = clusters.of(counts.rater(judge))
    if method != SOFT:
        targets = judge_targets(counts, judge, method)
        return human, _Side(targets=targets, clusters=mine, method=method, beta=none, **common)
    rows = graded(counts.judged_by(judge), judge)
    targets = Targets.of(rows.first, rows.second, rows.gap, rows.n)
    votes, folds = gap_votes(rows), np.arange(len(counts.models))[:, None]
    others = (votes.first != folds) & (votes.second != folds)
    beta = solve_beta(votes.gap, votes.won * others, votes.lost * others)
    mine = mine.keep(np.isfinite(mine.gap))
    return human, _Side(targets=targets, clusters=mine, method=method, beta=beta, **common)
