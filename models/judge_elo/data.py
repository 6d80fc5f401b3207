"""From counts of battles to what `judge_elo` is fitted to: all raters' strengths with their joint errors.

About any point x̂ the scores of the battles are ``S(x) ≈ S(x̂) − H (x − x̂)`` with covariance P, so that
``S(x̂) + H x̂`` is an observation of ``H x``. Only differences within connected parts are observed: on those,
and in units of the noise, ``y = A x + e`` with ``e ~ N(0, I)``. The penalty of x̂ drops out.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from bayesjudge.counts.battles.counts import BattleCounts
from bayesjudge.errors import UsageError
from bayesjudge.maths.battle_sums import BattleSums
from bayesjudge.maths.definite import nearest_definite
from bayesjudge.maths.prompt_effects import prompt_effects, shared_meat
from bayesjudge.maths.strengths import Strengths, fit_strengths, linearised, poorly_known
from bayesjudge.model import Data
from bayesjudge.models.common.battle_rows import human_rows
from bayesjudge.models.common.elo_results import sizes
from bayesjudge.models.judge_elo.importance import Points, likely
from bayesjudge.models.judge_elo.marginal import Marginal, Priors
from bayesjudge.models.judge_elo.targets import RaterSums, rater_sums, single_targets

#: Name of the first rater.
PEOPLE = "people"
#: What a judge's effect on models of its own family is called.
FAMILY = "same family"

type Floats = NDArray[np.float64]
#: Least variance of the noise, as a share of the curvature: soft targets that always agree have next to none.
_FLOOR = 1e-4
#: Least degrees of freedom, of which Student's t has a variance.
_LEAST_DF = 3
#: Rounds of expectation at most, and the share of a standard deviation to which they agree.
_ROUNDS, _CLOSE = 12, 0.05


@dataclass(frozen=True, eq=False, kw_only=True)
class StrengthData:
    """What battles say of strengths, at the point about which their likelihood is taken for normal.

    at: The penalised maximum or, where some strengths are poorly known, expected values.
    marginal: Of the observation about that point.
    whitening: From scores to the observation.
    poor: Strengths of which a rater knows too little for a normal about the maximum.
    points: Likely hyperparameters that expected values are over; None at the maximum.
    """

    sums: RaterSums
    at: Strengths
    marginal: Marginal
    whitening: Floats
    poor: NDArray[np.bool_]
    points: Points | None


def of_families(counts: BattleCounts, families: Mapping[str, str]) -> Floats:
    """1 where a judge and a model are of one family, (J, M)."""
    model = np.array([families.get(name, "") for name in counts.models])
    judge = np.array([families.get(name, "") for name in counts.judges])
    found = (judge[:, None] == model) & (judge[:, None] != "")
    if families and not found.any():
        raise UsageError(
            f"families={dict(families)} put none of the judges {list(counts.judges)} into one "
            f"family with a model of {list(counts.models)[:5]}"
        )
    return np.asarray(found, dtype=np.float64)


def strength_data(
    sums: RaterSums,
    family: Floats,
    priors: Priors,
    *,
    start: StrengthData | None = None,
    votes: BattleSums | None = None,
) -> StrengthData:
    """Strengths, and where some are poorly known the normal that is closest to what is likely of them.

    At the maximum of the likelihood a model that won everything is as far away as the penalty lets it be, and
    its likelihood is no normal. Score and curvature are then expected ones over the posterior, which likely
    hyperparameters pull in, until the two agree: of all normals it is the one of least Kullback–Leibler
    divergence from the posterior (Opper & Archambeau 2009).

    start: Of data that differ by one model's votes.
    votes: Single targets, where clusters' errors are not those of effects alone (`shared_meat`). Predictions go
        without, whose own chance shares the effects; and where strengths are poorly known residuals say too little.
    """
    at = fit_strengths(sums.battles, start=None if start is None else start.at.estimate)
    poor, points = poorly_known(sums.battles), None
    normal = observed(at, sums.clusters, votes=None if poor.any() else votes)
    if poor.any() and start is not None and start.points is not None:
        at, points = linearised(sums.battles, start.at.estimate, penalty=at.penalty, doubt=start.at.doubt), start.points
        normal = observed(replace(at, meat=_model_based(at)), sums.clusters)
    for _ in range(_ROUNDS if poor.any() else 0):
        before = at.estimate
        mean, doubt, points = likely(_marginal(normal, family), priors, _placed(sums.battles, family), points)
        at = linearised(sums.battles, mean, penalty=at.penalty, doubt=doubt)
        normal = observed(replace(at, meat=_model_based(at)), sums.clusters)
        if np.abs(mean - before).max() <= _CLOSE * np.sqrt(np.diag(doubt).max()):
            break
    marginal = _marginal(normal, family)
    return StrengthData(sums=sums, at=at, marginal=marginal, whitening=normal.whitening, poor=poor, points=points)


def _marginal(normal: Normal, family: Floats) -> Marginal:
    judges = len(family)
    effects = normal.effects.reshape(len(normal.y), judges + 1, -1)[:, 1:]
    if family.any():
        own = np.einsum("njm,jm->nj", normal.design[:, 1:], family)
        effects = np.concatenate([effects, own[..., None]], axis=2)
    return Marginal.of(normal.y, normal.design, effects)


def _placed(sums: BattleSums, family: Floats) -> Floats:
    """From strengths of R raters and effects of J judges to the points of all raters (RQ, RM + JE)."""
    raters, models, judges = sums.raters, sums.models, len(family)
    covariates, own = sums.width - models, family.any()
    found = np.zeros((raters, sums.width, raters * models + judges * (covariates + own)))
    for r in range(raters):
        found[r, :models, r * models : (r + 1) * models] = np.eye(models)
        if r:
            effects = raters * models + (r - 1) * (covariates + own)
            found[r, models:, effects : effects + covariates] = np.eye(covariates)
            if own:
                found[r, :models, effects + covariates] = family[r - 1]
    return found.reshape(raters * sums.width, -1)


def prepare(counts: BattleCounts, *, length: bool, families: Mapping[str, str], priors: Priors) -> Data:
    """The observation and its design, with the names of everything."""
    family = of_families(counts, families)
    sums = rater_sums(counts, length=length)
    found = strength_data(sums, family, priors, votes=single_targets(counts, sums))
    marginal = found.marginal
    effects = (*sums.covariates, *([FAMILY] if family.any() else []))
    pairs = tuple(f"{a} & {b}" for a, b in itertools.combinations(counts.judges, 2))
    raters = (PEOPLE, *counts.judges)
    numbers = tuple(range(len(marginal.y)))
    rater_pairs = tuple(f"{a} & {b}" for a, b in itertools.combinations_with_replacement(raters, 2))
    return Data(
        arrays={
            "y": marginal.y,
            "present": np.ones(len(marginal.y), dtype=np.int64),
            "design": marginal.design,
            "effects": marginal.effects,
            "gram": marginal.gram,
            "known": marginal.known,
            "family": family,
            "beta": sums.beta,
            "poor": found.poor.astype(np.int64),
            "judged": _judged(counts),
        },
        dims={
            "y": ("contrast",),
            "present": ("contrast",),
            "design": ("contrast", "rater", "system"),
            "effects": ("contrast", "judge", "effect"),
            "gram": ("rater_pair", "contrast", "other_contrast"),
            "known": ("contrast", "other_contrast"),
            "family": ("judge", "system"),
            "beta": ("judge",),
            "poor": ("rater", "system"),
            "judged": ("judge",),
        },
        coords={
            "system": counts.models,
            "judge": counts.judges,
            "judge_pair": pairs,
            "effect": effects,
            "rater": raters,
            "contrast": numbers,
            "other_contrast": numbers,
            "rater_pair": rater_pairs,
        },
        observed="y",
        ragged=("contrast", "other_contrast"),
        units=sizes(human_rows(counts), counts.models),
    )


def _judged(counts: BattleCounts) -> NDArray[np.int64]:
    """Battles of each judge, (J,)."""
    judged = counts.judged
    found = np.bincount(judged.judge, weights=judged.n, minlength=len(counts.judges))
    return np.asarray(found, dtype=np.int64)


@dataclass(frozen=True, eq=False, kw_only=True)
class Normal:
    """``y = Σ_r A_r θ_r + Z γ + e``, N observations.

    design: A_r of each rater's strengths.
    effects: Z of the raters' effects of covariates.
    whitening: From scores to y.
    """

    y: Floats
    design: Floats
    effects: Floats
    whitening: Floats


def observed(at: Strengths, clusters: Sequence[BattleSums], *, votes: BattleSums | None = None) -> Normal:
    """The observation about a point."""
    sums = at.sums
    several = min((one.groups for one in clusters), default=0) > 1
    meat = _clustered(at, clusters, votes) if votes and several else prompt_effects(at, clusters).meat
    noise = meat + _FLOOR * at.information
    values, basis = np.linalg.eigh(at.information)
    informative = basis[:, values > 1e-9 * values.max()]
    root = np.linalg.cholesky(informative.T @ noise @ informative)
    pseudo = at.score + at.information @ at.estimate.reshape(-1)
    whitening = np.linalg.solve(root, informative.T)
    design = (whitening @ at.information).reshape(-1, sums.raters, sums.width)
    return Normal(
        y=whitening @ pseudo,
        design=design[:, :, : sums.models],
        whitening=whitening,
        effects=design[:, :, sums.models :].reshape(len(design), -1),
    )


def _clustered(at: Strengths, clusters: Sequence[BattleSums], votes: BattleSums) -> Floats:
    """Covariance of scores; each rater's part times the variance of Student's t with its number of clusters less one.

    Battles weigh by its inverse, which takes noise of a sandwich for precision: it counts by its degrees of freedom
    for each direction that battles compare.
    """
    directions, raters = float(np.linalg.matrix_rank(at.information)), range(at.sums.raters)
    least = directions / (min(one.groups for one in clusters) - 1)
    meat = shared_meat(at, clusters, at.grouped(votes).meat, least_effects=least)
    own = [min(one.keep(one.rater == r).groups for one in clusters) for r in raters]
    df = np.maximum(np.array(own) - 1, _LEAST_DF)
    larger = np.repeat(np.sqrt(df / (df - 2)), at.sums.width)
    return nearest_definite(meat * np.outer(larger, larger))


def _model_based(at: Strengths) -> Floats:
    """Meat whose blocks of one rater are its share φ of binomial variance.

    A few residuals say little of their variance, and none where all outcomes agree.
    """
    sums, times = at.sums, at.sums.times[at.sums.cluster]
    p, width = at.expected(sums), at.sums.width
    residual, binomial = (sums.t - sums.n * p) ** 2 * times, sums.n * p * (1 - p) * times
    meat = at.meat.copy()
    for r in range(sums.raters):
        rater, own = sums.rater == r, slice(r * width, (r + 1) * width)
        meat[own, own] = residual[rater].sum() / binomial[rater].sum() * at.information[own, own]
    return nearest_definite(meat)
