"""One leaderboard from one set of targets: strengths, clustered sandwich errors, bootstrap replicates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayesjudge.baselines.common.bootstrap import draw_counts
from bayesjudge.baselines.elo.targets import Floats, Targets
from bayesjudge.errors import UsageError
from bayesjudge.maths.battle_sums import BattleSums
from bayesjudge.maths.bradley_terry import PER_LOGIT, RIDGE, solve_strengths, to_elo
from bayesjudge.maths.comparison_graph import comparison_graph
from bayesjudge.maths.definite import nearest_definite
from bayesjudge.maths.prompt_effects import crossed_meat
from bayesjudge.maths.strengths import linearised

#: Numbers in the largest array of weights: 64 MB.
_LARGEST = 8_000_000


@dataclass(frozen=True, eq=False, kw_only=True)
class EloFit:
    """A leaderboard and what is known of its errors; M models, B replicates.

    Attributes
    ----------
    models : tuple of str
    elo : float array (M,)
        1500 + (400/ln 10) θ, mean 1500 over the models that fought; NaN for a model without battles.
    covariance : float array (M, M)
        Sandwich covariance of `elo`, clusters the independent units where there are any; NaN where `elo` is.
    independent : float array (M, M)
        The same with single battles as the units.
    df : float
        Degrees of freedom of Student's t: clusters − 1, infinite for independent battles.
    replicates : float array (B, M)
        Elo in bootstrap samples of the clusters, or battles.
    n : int array (M,)
        Battles of each model.
    part : int array (M,)
        Which connected part of the comparison graph each model is in; −1 without battles.
    notes : tuple of str
        What the penalty alone holds finite.
    """

    models: tuple[str, ...]
    elo: Floats
    covariance: Floats
    independent: Floats
    df: float
    replicates: Floats
    n: NDArray[np.int64]
    part: NDArray[np.int64]
    notes: tuple[str, ...]

    @property
    def error(self) -> Floats:
        """Standard errors (M,): of the replicates where there are any, else the sandwich's."""
        if len(self.replicates) > 1:
            return np.asarray(self.replicates.std(axis=0, ddof=1))
        return np.asarray(np.sqrt(np.diag(self.covariance)))

    @property
    def design_effect(self) -> Floats:
        """Variance of each model's Elo relative to independent battles (M,)."""
        alone = np.diag(self.independent)
        found = np.full(len(alone), np.nan)
        return np.asarray(np.divide(np.diag(self.covariance), alone, out=found, where=alone > 0))


def fit_elo(
    targets: Targets,
    models: tuple[str, ...],
    *,
    ridge: float = RIDGE,
    clusters: Sequence[BattleSums] = (),
    bootstrap: int = 0,
    seed: int = 0,
) -> EloFit:
    """Fit Bradley–Terry to targets.

    Parameters
    ----------
    targets : Targets
    models : tuple of str
        All names, in the order of the codes.
    ridge : float
        Penalty ``ridge/2 ‖θ‖²``. Without it, an ill-posed fit is an error; with it, the answer is finite and
        the notes say what only the penalty holds.
    clusters : sequence of BattleSums
        The same targets by battle, then by each column that clusters; none for independent battles.
    bootstrap : int
        Resamples of the clusters of the first column, or of the battles.
    seed : int

    Raises
    ------
    UsageError
        No battles; at ridge 0, models that never met the others or never lost to (or won against) them.

    Examples
    --------
    The example of Wikipedia's article on the Bradley–Terry model: A beats B 2 of 5, and so on.

    >>> first, second = np.repeat([0, 0, 1, 2], 2), np.repeat([1, 3, 2, 3], 2)
    >>> n = np.array([2, 3, 1, 4, 5, 3, 1, 3])
    >>> targets = Targets.of(first, second, np.tile([1.0, 0.0], 4), n)
    >>> found = fit_elo(targets, ("A", "B", "C", "D"), ridge=0)
    >>> np.exp((found.elo - 1500) / PER_LOGIT).round(3).tolist()
    [0.64, 1.043, 0.66, 2.27]
    """
    if ridge < 0:
        raise UsageError(f"ridge is {ridge}; it must be 0 or more")
    total = len(models)
    n, wins = targets.by_pair(targets.n)
    if not n.sum():
        raise UsageError("no battles to fit")
    graph = comparison_graph(targets.first, targets.second, n, wins, total)
    problems = graph.problems(models)
    if problems and ridge == 0:
        raise UsageError(f"there is no finite fit without a penalty: {'; '.join(problems)}. Use ridge={RIDGE:g}")
    pairs = targets.first, targets.second
    theta = solve_strengths(*pairs, n, wins, total, ridge=ridge)[0]
    battles = targets.battles(total)
    fought = battles > 0
    replicates = np.zeros((0, total))
    if bootstrap:
        # A resample may lose a model's only wins, so that replicates always carry a penalty, if a tiny one.
        sums = (
            _clusters_drawn(targets, clusters[1], bootstrap, seed)
            if clusters
            else _battles_drawn(targets, bootstrap, seed)
        )
        replicates = solve_strengths(*pairs, *sums, total, ridge=ridge or _TINY, start=theta, tolerance=_CLOSE)
    bread, meat = _bread_and_meat(targets, theta, n, wins)
    to_errors = _to_errors(bread, ridge=ridge, fought=fought)
    shared, df = _clustered_meat(clusters, theta, meat, ridge=ridge) if clusters else (meat, np.inf)
    return EloFit(
        models=models,
        elo=_centred(theta, fought),
        covariance=_errors(to_errors, shared, fought),
        independent=_errors(to_errors, meat, fought),
        df=df,
        replicates=_centred(replicates, fought),
        n=battles,
        part=graph.part,
        notes=tuple(f"only the penalty keeps this finite: {problem}" for problem in problems),
    )


#: Last Newton step of a replicate: what is left is below 0.05 Elo, well under a hundredth of an error.
_CLOSE = 0.03
#: Penalty of bootstrap replicates of a fit without one: it moves an Elo of ordinary data by less than 1e-3.
_TINY = 1e-6


def _battles_drawn(targets: Targets, replicates: int, seed: int) -> tuple[Floats, Floats]:
    """Battles and sums of targets (B, P) of bootstrap samples of the battles."""
    rng = np.random.default_rng(seed)
    width = min(int(targets.n.sum()), 10 * len(targets.n))
    step = max(1, _LARGEST // max(len(targets.n), width))
    parts = [
        targets.by_pair(draw_counts(targets.n, min(step, replicates - at), rng)) for at in range(0, replicates, step)
    ]
    return np.concatenate([n for n, _ in parts]), np.concatenate([wins for _, wins in parts])


def _clusters_drawn(targets: Targets, sums: BattleSums, replicates: int, seed: int) -> tuple[Floats, Floats]:
    """The same of bootstrap samples of the clusters."""
    from scipy.sparse import csr_array

    kinds, cluster = np.unique(sums.cluster, return_inverse=True)
    pairs = {pair: place for place, pair in enumerate(zip(targets.first, targets.second, strict=True))}
    place = [pairs[pair] for pair in zip(sums.first, sums.second, strict=True)]
    shape = len(kinds), len(targets.first)
    times = sums.times[kinds].astype(np.int64)
    drawn = draw_counts(times, replicates, np.random.default_rng(seed))
    held = [csr_array((values, (cluster.reshape(-1), place)), shape=shape) for values in (sums.n, sums.t)]
    return np.asarray(drawn @ held[0]), np.asarray(drawn @ held[1])


def _centred(theta: Floats, fought: NDArray[np.bool_]) -> Floats:
    """Elo with mean 1500 over the models that fought, NaN for the others."""
    mean = theta[..., fought].mean(axis=-1, keepdims=True)
    return np.where(fought, to_elo(theta - mean), np.nan)


def _bread_and_meat(targets: Targets, theta: Floats, n: Floats, wins: Floats) -> tuple[Floats, Floats]:
    """Curvature, and covariance of the score where battles are the independent units (Huber–White)."""
    from scipy.special import expit

    p = expit(theta[targets.first] - theta[targets.second])
    return (
        _laplacian(targets, n * p * (1 - p), len(theta)),
        _laplacian(targets, targets.spread() - 2 * p * wins + n * p * p, len(theta)),
    )


def _clustered_meat(
    clusters: Sequence[BattleSums], theta: Floats, alone: Floats, *, ridge: float
) -> tuple[Floats, float]:
    """Covariance of the score where clusters are the units, and the degrees of freedom of its estimate.

    What the clusters of several columns add to single votes (``alone``) adds up. One cluster leaves no
    degree of freedom.
    """
    battles, *columns = clusters
    at = linearised(battles, theta[None, :], penalty=np.full(len(theta), max(ridge, _TINY)))
    groups = [one.groups for one in columns]
    if min(groups) < 2:
        return at.meat, 0.0
    meat = crossed_meat(at, columns, alone)
    if len(columns) > 1:
        meat = nearest_definite(meat)
    return meat, float(min(groups) - 1)


def _to_errors(bread: Floats, *, ridge: float, fought: NDArray[np.bool_]) -> Floats:
    """Matrix that takes scores to errors of Elo, centred over the models that fought."""
    # The level is free without a penalty, and so is a model without battles; both drop out of the contrasts.
    inverse = np.linalg.inv(bread + np.diag(np.where(fought, ridge, 1.0)) + 1.0 / len(bread))
    active = np.where(fought, 1.0, 0.0)
    contrast = np.diag(active) - active[:, None] * active / max(fought.sum(), 1)
    return np.asarray(contrast @ inverse * PER_LOGIT)


def _errors(to_errors: Floats, meat: Floats, fought: NDArray[np.bool_]) -> Floats:
    covariance = to_errors @ meat @ to_errors.T
    covariance[~fought] = np.nan
    covariance[:, ~fought] = np.nan
    return np.asarray(covariance)


def _laplacian(targets: Targets, weight: Floats, models: int) -> Floats:
    matrix = np.zeros((models, models))
    matrix[targets.first, targets.second] = matrix[targets.second, targets.first] = -weight
    matrix[np.diag_indices(models)] = -matrix.sum(axis=1)
    return matrix
