"""The Elo that human votes would give models that only judges have compared: predictions of `judge_elo`, many at once.

What is predicted is the figure that a leaderboard would show once people vote (METHODS 4.3): strength by the
votes on the model's own battles, against anchors fixed where the votes without the model put them::

    θ̂_m = θ_m + Σ_k w_k (θ̂_k − θ_k) + ε        w_k = n_k p_k (1 − p_k) / I,  I = Σ_k n_k p_k (1 − p_k)
    Var ε = φ / I + σ_u² Σ_c I_c² / I²          φ = Σ (t − p)² / Σ p (1 − p) of people's votes

The anchors' errors and the judges' share battles and prompts; both are in the joint posterior. Of hidden
votes only their number is used.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from bayesjudge.counts.battles.counts import BattleCounts
from bayesjudge.errors import UsageError
from bayesjudge.maths.battle_sums import BattleSums
from bayesjudge.maths.bradley_terry import PER_LOGIT, RIDGE, to_elo
from bayesjudge.maths.comparison_graph import fold_problem
from bayesjudge.maths.prompt_effects import prompt_effects
from bayesjudge.maths.strengths import fit_strengths
from bayesjudge.models.judge_elo.data import StrengthData, strength_data
from bayesjudge.models.judge_elo.importance import Functional, Proposal, explored, weighted
from bayesjudge.models.judge_elo.marginal import Priors, conditional
from bayesjudge.models.judge_elo.targets import RaterSums, rater_sums

type Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False, kw_only=True)
class Prediction:
    """The predicted figure of one model: a mixture of normals over the hyperparameters' draws.

    Attributes
    ----------
    model : str
    mean, sd : float array (S,)
        In Elo, for each draw.
    weight : float array (S,)
        Sum 1.
    pareto_k, ess : float
        Of the weights: what the gate looks at.
    poor : bool
        Whether some strengths are too poorly known for a normal about the maximum.
    """

    model: str
    mean: Floats
    sd: Floats
    weight: Floats
    pareto_k: float
    ess: float
    poor: bool

    @property
    def point(self) -> float:
        """Posterior predictive mean."""
        return float(self.weight @ self.mean)

    def quantile(self, prob: float) -> float:
        """Quantile of the mixture, by bisection."""
        from scipy.stats import norm

        low, high = float((self.mean - 12 * self.sd).min()), float((self.mean + 12 * self.sd).max())
        for _ in range(60):
            middle = (low + high) / 2
            below = float(self.weight @ norm.cdf((middle - self.mean) / self.sd)) < prob
            low, high = (middle, high) if below else (low, middle)
        return (low + high) / 2


@dataclass(frozen=True, eq=False, kw_only=True)
class _Figure:
    """The figure of model m against its anchors, to first order.

    anchors: θ̂, mean 0 over the models with votes.
    weight: w; 0 for models that are no anchors.
    information: I.
    votes: The votes to come, of which only n is used: the model's hidden ones, or none.
    """

    anchors: Floats
    weight: Floats
    information: float
    votes: BattleSums


def predict(
    counts: BattleCounts, models: Sequence[str], *, length: bool, family: Floats, priors: Priors, seed: int = 0
) -> list[Prediction | str]:
    """Predictions of models, each as if nobody had voted on it, or the reason why there is none.

    seed: Equal seeds give equal predictions.
    """
    whole = strength_data(rater_sums(counts, length=length), family, priors)
    proposal = explored(whole.marginal, priors, seed=seed)
    found: list[Prediction | str] = []
    votes = counts.human_pairs()
    for name in models:
        m = counts.code("model", name)
        problem = fold_problem(votes.first, votes.second, votes.n.sum(axis=1), m, len(counts.models))
        if problem and np.any((votes.first == m) | (votes.second == m)):
            found.append(f"no figure by human votes: {problem}")
            continue
        try:
            sums = rater_sums(counts.without_votes_on(name), length=length)
            fold = strength_data(sums, family, priors, start=whole)
            found.append(_predicted(fold, whole.sums, proposal, priors, m, model=name, seed=seed + m))
        except UsageError as why:
            found.append(str(why))
    return found


def _predicted(
    fold: StrengthData, whole: RaterSums, proposal: Proposal, priors: Priors, m: int, *, model: str, seed: int
) -> Prediction:
    figure = _figure(fold, whole, proposal, m, model)
    contrast = -figure.weight
    contrast[m] += 1.0
    variance, shared = _chance(fold, whole, figure, m)
    functional = Functional(contrast=contrast, variance=variance, shared=fold.whitening @ shared)
    draws = weighted(fold.marginal, proposal, priors, functional, seed=seed)
    # The penalty of METHODS 4.3 pulls the figure to the anchors' mean.
    pulled = figure.information / (figure.information + RIDGE)
    mean = pulled * (draws.mean + figure.weight @ figure.anchors)
    return Prediction(
        model=model,
        mean=np.asarray(to_elo(mean)),
        weight=draws.weight,
        ess=draws.ess,
        sd=PER_LOGIT * pulled * np.sqrt(draws.variance),
        pareto_k=draws.pareto_k,
        poor=bool(fold.poor.any()),
    )


def _figure(fold: StrengthData, whole: RaterSums, proposal: Proposal, m: int, model: str) -> _Figure:
    """Anchors and their weights at the strength that is expected of m."""
    sums = fold.sums.battles
    votes = _on_model(whole.battles, m, 0)
    schedule = votes if len(votes.n) else _judged_most(whole.battles, m)
    voted = (
        np.bincount(
            np.concatenate([side[sums.rater == 0] for side in (sums.first, sums.second)]), minlength=sums.models
        )
        > 0
    )
    n = (
        np.bincount(
            schedule.first + schedule.second - m, schedule.n * schedule.times[schedule.cluster], minlength=sums.models
        )
        * voted
    )
    if not n.any():
        raise UsageError(f"{model!r} has no battle with a model that people voted on: nothing links it to them")
    # Where a Newton step to the joint mode was taken, the leaderboard's own figures are elsewhere.
    at = fit_strengths(sums, start=fold.at.estimate) if fold.poor.any() else fold.at
    anchors = at.estimate[0, : sums.models]
    anchors = anchors - anchors[voted].mean()
    strengths = conditional(fold.marginal, proposal.centre)[0][0]
    guess = float(n @ anchors / n.sum())
    for _ in range(3):
        each = n * (expit(guess - anchors) * expit(anchors - guess))
        weight = each / each.sum()
        guess = float(strengths[m] + weight @ (anchors - strengths))
    return _Figure(anchors=anchors, weight=weight, information=float(each.sum()), votes=votes)


def _on_model(rows: BattleSums, m: int, rater: int) -> BattleSums:
    return rows.keep((rows.rater == rater) & ((rows.first == m) | (rows.second == m)))


def _judged_most(rows: BattleSums, m: int) -> BattleSums:
    """Battles of m that the judge saw who saw most of them: as many votes are expected."""
    parts = [_on_model(rows, m, rater) for rater in range(1, rows.raters)]
    return max(parts, key=lambda part: float(part.n @ part.times[part.cluster]))


def _chance(fold: StrengthData, whole: RaterSums, figure: _Figure, m: int) -> tuple[float, Floats]:
    """Var ε, and its covariance with all scores (RQ,), which verdicts on the same battles bring in."""
    sums, at = fold.sums.battles, fold.at
    own = sums.keep(sums.rater == 0)
    times, p = own.times[own.cluster], at.expected(own)
    # Votes on one battle covary: squares are of battles.
    share = (times * (own.t - own.n * p) ** 2).sum() / (times * own.n * p * (1 - p)).sum()
    variance, shared = share / figure.information, _beside_verdicts(fold, whole, figure, m)
    if fold.sums.clusters:
        prompts, covariance = _through_prompts(fold, whole, figure, m)
        variance, shared = variance + prompts, shared + covariance
    return float(variance), shared


def _beside_verdicts(fold: StrengthData, whole: RaterSums, figure: _Figure, m: int) -> Floats:
    """Covariance of ε with judges' scores on battles that both will have looked at.

    Residuals of people and of a judge correlate on battles as they do on those that are there.
    """
    sums, at, votes = fold.sums.battles, fold.at, figure.votes
    width, found = sums.width, np.zeros(sums.raters * sums.width)
    human = sums.keep(sums.rater == 0)
    guess = _toward(figure, votes, m)
    for r in range(1, sums.raters):
        verdicts = whole.battles.keep(whole.battles.rater == r)
        p = at.expected(verdicts)
        known, hidden = _by_battle(human, verdicts), _by_battle(votes, verdicts)
        left, right = (
            rows[known[k]] for k, rows in enumerate((_residuals(human, at.expected(human)), _residuals(verdicts, p)))
        )
        times = human.times[human.cluster[known[0]]]
        scale = _sizes(human, at.expected(human))[known[0]] * _sizes(verdicts, p)[known[1]]
        if not len(scale) or not len(hidden[0]):
            continue
        correlation = (times * left * right).sum() / (times * scale).sum()
        joint = correlation * _sizes(votes, guess)[hidden[0]] * _sizes(verdicts, p)[hidden[1]]
        joint = joint * votes.times[votes.cluster[hidden[0]]] / figure.information
        rows = verdicts.keep(np.isin(np.arange(len(verdicts.n)), hidden[1]))
        order = np.argsort(hidden[1], kind="stable")
        joint = joint[order] * np.where(rows.first == m, 1.0, -1.0)
        block = found[r * width : (r + 1) * width]
        np.add.at(block, rows.first, joint)
        np.add.at(block, rows.second, -joint)
        block[sums.models :] += joint @ rows.x
    return found


def _toward(figure: _Figure, rows: BattleSums, m: int) -> Floats:
    """Expected target of the first model in votes on m."""
    guess = float(figure.weight @ figure.anchors)
    other = figure.anchors[rows.first + rows.second - m]
    return np.asarray(expit(np.where(rows.first == m, 1.0, -1.0) * (guess - other)))


def _residuals(rows: BattleSums, p: Floats) -> Floats:
    return np.asarray(rows.t - rows.n * p)


def _sizes(rows: BattleSums, p: Floats) -> Floats:
    """Binomial standard deviation of one target, times their number."""
    return np.asarray(rows.n * np.sqrt(p * (1 - p)))


def _by_battle(left: BattleSums, right: BattleSums) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows of two raters on the same battles; a rater has one row in a battle."""
    _, one, two = np.intersect1d(left.cluster, right.cluster, return_indices=True)
    return one.astype(np.int64), two.astype(np.int64)


def _through_prompts(fold: StrengthData, whole: RaterSums, figure: _Figure, m: int) -> tuple[float, Floats]:
    """What prompts add: votes to come, votes that are there and verdicts share effects of model × prompt."""
    effects = prompt_effects(fold.at, fold.sums.clusters)
    variance, found, width = 0.0, np.zeros(len(fold.at.score)), fold.sums.battles.width
    for kind, rows in enumerate(whole.clusters):
        votes = _on_model(rows, m, 0)
        p = _toward(figure, votes, m)
        weight = votes.n * p * (1 - p) / figure.information
        pulls = np.zeros((len(rows.times), width))
        np.add.at(pulls, (votes.cluster, votes.first + votes.second - m), -weight)
        pulls[:, m] -= pulls.sum(axis=1)
        variance += effects.working[kind, 0, 0] * float(rows.times @ (pulls**2).sum(axis=1))
        pulls *= rows.times[:, None]
        for r, curvature in enumerate(effects.parts[kind].curvatures):
            part = effects.working[kind, 0, r] * (curvature.T @ pulls.reshape(-1))
            found[r * width : (r + 1) * width] += part
    return variance, found
