r"""Accuracies by Dawid–Skene on a panel's votes, with or without the labels, and their standard errors.

A model's accuracy is the mean over its answers of the label where it is known and of ``P(y = 1 | votes)``
where it is not. Its error is that of the answers and, through the gradient D of that mean, of the
parameters ψ (logits of prevalences, sensitivities, specificities), whose scores are the E step's (Fisher's
identity):

.. math:: \hatθ - θ ≈ \frac1n Σ_i (w_i - θ) + D' H^{-1} Σ_i s_i,

squared over items or clusters, so that models' answers to one item may depend on each other (M-estimation;
Stefanski & Boos 2002, American Statistician 56). On exactly these items the first sum gives way to the
binomial variance ``Σ w(1 − w)/N²`` of the unknown labels. All of it presumes that judges err independently
given the label.

Without labels the model is a two-class latent-class model. With one prevalence for all it is Dawid &
Skene's; with one for each model it is Hui & Walter's (1980, Biometrics 36), identified by three judges, or
by two judges and two models that differ. Both are exactly as right as the independence of the judges'
errors.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from bayesjudge.baselines import intervals
from bayesjudge.baselines.columns import Column, Context, finished
from bayesjudge.baselines.moments import Array
from bayesjudge.baselines.pairs import pair_reasons, pairs
from bayesjudge.baselines.panel.dawid_skene import class_probabilities, dawid_skene
from bayesjudge.baselines.panel.proxies import labelled_cells
from bayesjudge.baselines.solutions import ALL_LABELLED
from bayesjudge.baselines.variance import difference_variance
from bayesjudge.estimates import Population

if TYPE_CHECKING:
    from bayesjudge.panel_counts import PanelVotes

__all__ = ["latent_class_columns"]

#: Pseudo-reports in each cell of the judges' error rates: none is estimated as impossible.
_SMOOTHING = 0.5
#: Step of the central differences on the logit scale: errors of its square, 1e-8, in the standard errors.
_STEP = 1e-4
_WARNING = ("label-free: right only if the judges err independently of each other given the label, which "
            "judges of one kind do not; look at their error correlations before believing it")  # fmt: skip
_NO_ERROR = "no standard error: the data do not determine the error rates"
#: Least eigenvalue of the information, relative to the largest, that counts as determined.
_SINGULAR = 1e-10
_TOGETHER = "takes the judges' errors to be independent given the label"


@dataclass(frozen=True, eq=False, kw_only=True)
class _Cells:
    """The R answered cells: reports (R, J, 2), known classes (R, 2), model, stratum and cluster (R,)."""

    reports: Array
    known: Array
    model: NDArray[np.int64]
    stratum: NDArray[np.int64]
    cluster: NDArray[np.int64]
    models: int

    @property
    def size(self) -> Array:
        """Number of answers (M,)."""
        return np.bincount(self.model, minlength=self.models).astype(float)

    def model_means(self, values: Array) -> Array:
        """Means (M, ...) over each model's answers of values (R, ...)."""
        member = np.eye(self.models)[self.model]
        return np.asarray((member / np.maximum(self.size, 1.0)).T @ values)


def latent_class_columns(
    votes: PanelVotes, method: str, *, keep: NDArray[np.bool_], prob: float, population: Population
) -> tuple[Column, Column]:
    """Accuracies and differences by ``dawid-skene``, its label-free form, or ``latent-class[label-free]``.

    Parameters
    ----------
    votes : PanelVotes
        The panel.
    method : str
        ``dawid-skene`` uses the labels and a prevalence for each model; ``dawid-skene[label-free]`` one
        prevalence and no label; ``latent-class[label-free]`` a prevalence for each model and no label.
    keep : bool array (I,)
        Which items.
    prob : float
        Probability of the intervals.
    population : {"superpopulation", "items"}
        What the accuracy is about.
    """
    label_free = method.endswith("[label-free]")
    cells = _cells(votes, keep, label_free=label_free, by_model=method != "dawid-skene[label-free]")
    reasons = _reasons(cells, label_free=label_free)
    if not len(cells.model) or all(reasons):
        nothing = np.full(len(votes.models), np.nan)
        return _finish(nothing, np.full((len(nothing),) * 2, np.nan), cells, reasons, caution="", prob=prob)
    point, cov, caution = _solved(cells, population)
    text = _WARNING if label_free else _TOGETHER
    text = f"{text}; {caution}" if caution else text
    return _finish(point, cov, cells, reasons, caution=text, prob=prob)


def _cells(votes: PanelVotes, keep: NDArray[np.bool_], *, label_free: bool, by_model: bool) -> _Cells:
    item, model = np.nonzero(votes.answered & keep[:, None])
    share, runs = np.nan_to_num(votes.votes[item, model]), votes.runs[item, model]
    label = np.where(labelled_cells(votes) & (not label_free), votes.label, np.nan)[item, model]
    _, stratum = np.unique(model if by_model else np.zeros_like(model), return_inverse=True)
    return _Cells(
        reports=np.stack([(1.0 - share) * runs, share * runs], axis=2),
        known=np.stack([1.0 - label, label], axis=1), model=model, cluster=votes.cluster[item],
        stratum=stratum.reshape(-1), models=len(votes.models),
    )  # fmt: skip


def _reasons(cells: _Cells, *, label_free: bool) -> list[str]:
    """Why a model's accuracy is undefined."""
    voting = int((cells.reports.sum((0, 2)) > 0).sum())
    populations = len(np.unique(cells.stratum))
    enough = voting >= 3 or (voting == 2 and populations >= 2)
    unidentified = (f"not identified without labels: {voting} judges on {populations} populations; it takes "
                    f"three judges, or two on two models that differ")  # fmt: skip
    labelled = np.isfinite(cells.known[:, 0]).any()
    common = (
        unidentified if label_free and not enough else "" if label_free or labelled else "no labelled item"
    )
    return [common or ("" if size else "no answer") for size in cells.size]


def _solved(cells: _Cells, population: Population) -> tuple[Array, Array, str]:
    """Accuracies (M,), their covariance (M, M), and what to say of the fit."""
    fit = dawid_skene(cells.reports, known=cells.known, stratum=cells.stratum, smoothing=_SMOOTHING)
    confusion, prevalence = _turned(fit.confusion, fit.prevalence)
    psi = _logits(prevalence, confusion)
    caution = "" if fit.converged else f"EM had not converged after {fit.iterations} steps"
    w = _probabilities(cells, psi)
    hessian = _derivative(lambda at: _scores(cells, at).sum(0) + _prior_score(cells, at), psi)
    gradient = _derivative(lambda at: cells.model_means(_probabilities(cells, at)), psi)
    point, through = cells.model_means(w), _solve(-hessian, _scores(cells, psi)) @ gradient.T
    if population == "items":
        unknown = np.isnan(cells.known[:, 0])
        left = cells.model_means(np.where(unknown, w * (1.0 - w), 0.0)) / np.maximum(cells.size, 1.0)
        return point, _clustered(through, cells.cluster) + np.diag(left), caution
    own = np.eye(cells.models)[cells.model] * ((w - point[cells.model]) / cells.size[cells.model])[:, None]
    return point, _clustered(own + through, cells.cluster), caution


def _solve(information: Array, scores: Array) -> Array:
    """``H⁻¹s`` (R, P) for every row, NaN where the information is singular."""
    values = np.linalg.eigvalsh((information + information.T) / 2.0)
    if values[0] <= _SINGULAR * values[-1]:
        return np.full_like(scores, np.nan)
    return np.asarray(np.linalg.solve(information, scores.T).T)


def _turned(confusion: Array, prevalence: Array) -> tuple[Array, Array]:
    """Classes named so that the judges are better than chance on average: the likelihood cannot tell."""
    if (confusion[:, 0, 0] + confusion[:, 1, 1] - 1.0).sum() >= 0:
        return confusion, prevalence
    return confusion[:, ::-1], prevalence[:, ::-1]


def _logits(prevalence: Array, confusion: Array) -> Array:
    share = np.r_[prevalence[:, 1], confusion[:, 1, 1], confusion[:, 0, 0]]
    share = np.clip(share, 1e-9, 1.0 - 1e-9)
    return np.asarray(np.log(share) - np.log1p(-share))


def _parts(cells: _Cells, psi: Array) -> tuple[Array, Array, Array]:
    """Prevalences (S,), sensitivities (J,) and specificities (J,)."""
    judges = cells.reports.shape[1]
    share = intervals.expit(psi)
    return share[: -2 * judges], share[-2 * judges : -judges], share[-judges:]


def _probabilities(cells: _Cells, psi: Array) -> Array:
    """``P(y = 1 | votes)`` (R,), the label where it is known."""
    theta, q1, q0 = _parts(cells, psi)
    confusion = np.stack([np.stack([q0, 1.0 - q0], 1), np.stack([1.0 - q1, q1], 1)], axis=1)
    prevalence = np.stack([1.0 - theta, theta], axis=1)
    found, _ = class_probabilities(
        cells.reports, prevalence, confusion, known=cells.known, stratum=cells.stratum
    )
    return found[:, 1]


def _scores(cells: _Cells, psi: Array) -> Array:
    """Scores (R, P) of the cells: the expected scores of the complete data."""
    theta, q1, q0 = _parts(cells, psi)
    w = _probabilities(cells, psi)[:, None]
    no, yes = cells.reports[:, :, 0], cells.reports[:, :, 1]
    prevalence = np.eye(len(theta))[cells.stratum] * (w - theta[cells.stratum][:, None])
    sensitivity, specificity = w * (yes - (yes + no) * q1), (1.0 - w) * (no - (yes + no) * q0)
    return np.asarray(np.hstack([prevalence, sensitivity, specificity]))


def _prior_score(cells: _Cells, psi: Array) -> Array:
    theta, q1, q0 = _parts(cells, psi)
    return np.asarray(np.r_[np.zeros(len(theta)), _SMOOTHING * (1.0 - 2.0 * np.r_[q1, q0])])


def _derivative(function: Callable[[Array], Array], psi: Array) -> Array:
    """Jacobian (..., P) by central differences."""
    steps = _STEP * np.eye(len(psi))
    return np.stack([(function(psi + h) - function(psi - h)) / (2.0 * _STEP) for h in steps], axis=-1)


def _clustered(influence: Array, cluster: NDArray[np.int64]) -> Array:
    """Sum over clusters of the outer products of their summed influences, times G/(G − 1)."""
    names, code = np.unique(cluster, return_inverse=True)
    sums = np.zeros((len(names), influence.shape[1]))
    np.add.at(sums, code.reshape(-1), influence)
    several = len(names) / (len(names) - 1.0) if len(names) > 1 else np.nan
    return np.asarray(sums.T @ sums * several)


def _told(known: NDArray[np.bool_], caution: str) -> list[str]:
    return [ALL_LABELLED if one else caution for one in known]


def _finish(
    point: Array, cov: Array, cells: _Cells, reasons: list[str], *, caution: str, prob: float
) -> tuple[Column, Column]:
    z, (first, second) = intervals.normal_quantile(prob), pairs(len(point))
    known = np.bincount(cells.model, weights=np.isnan(cells.known[:, 0]), minlength=cells.models) == 0
    one = Context(n=cells.size, reasons=reasons, cautions=_told(known, caution), bounds=(0.0, 1.0),
                  bounded=True, no_error=_NO_ERROR, exact=known)  # fmt: skip
    accuracy = finished(point, *intervals.wald(point, np.diag(cov), z), context=one)
    between, both = pair_reasons(reasons), known[first] & known[second]
    two = replace(one, n=cells.size[first] + cells.size[second], reasons=between, bounds=(-1.0, 1.0),
                  cautions=_told(both, caution), exact=both)  # fmt: skip
    delta = point[first] - point[second]
    limits = intervals.wald(delta, difference_variance(cov, first, second), z)
    return accuracy, finished(delta, *limits, context=two)
