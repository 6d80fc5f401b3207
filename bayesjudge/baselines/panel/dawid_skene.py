"""Dawid–Skene: maximum likelihood of observers' error rates by EM, with or without known labels.

Given the true class c, observers report independently, observer j saying l with probability ``q_jcl``; the
class has prevalence ``π_sc`` in stratum s. EM alternates the class probabilities of each pattern of
reports,

.. math:: w_{rc} ∝ π_{s(r)c} ∏_{jl} q_{jcl}^{x_{rjl}},

and the weighted shares ``π, q`` (Dawid & Skene 1979, Applied Statistics 28, eqs. 2.3–2.5). Known labels fix
their w. Cost is proportional to the number of distinct patterns.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from bayesjudge.baselines.common.moments import Array
from bayesjudge.baselines.panel.proxies import labelled_cells
from bayesjudge.counts.panel import PanelVotes
from bayesjudge.errors import UsageError

#: Probabilities are kept this far from 0 where their logarithm is taken.
_TINY = 1e-300


@dataclass(frozen=True, eq=False, kw_only=True)
class Observers:
    """A fitted Dawid–Skene model of R patterns, J observers, C classes, S strata.

    Attributes
    ----------
    prevalence : array (S, C)
        Of the classes in each stratum.
    confusion : array (J, C, C)
        Probability that observer j reports l (last axis) where the class is c.
    posterior : array (R, C)
        Class probabilities of each pattern.
    log_likelihood : float
        At the end.
    iterations : int
        EM steps made.
    converged : bool
        Whether no probability moved by more than the tolerance in the last.
    """

    prevalence: Array
    confusion: Array
    posterior: Array
    log_likelihood: float
    iterations: int
    converged: bool


def dawid_skene(
    reports: ArrayLike,
    *,
    n: ArrayLike | None = None,
    known: ArrayLike | None = None,
    stratum: ArrayLike | None = None,
    smoothing: float = 0.0,
    tolerance: float = 1e-9,
    steps: int = 5000,
) -> Observers:
    """Fit by EM from the majority vote.

    Parameters
    ----------
    reports : array (R, J, C)
        How often observer j reported each class; fractions are allowed, zeros mean no report.
    n : array (R,), optional
        How often the pattern occurs; once by default.
    known : array (R, C), optional
        Known class probabilities (0 and 1 for a sure label), rows of NaN where unknown.
    stratum : int array (R,), optional
        Populations with prevalences of their own; one by default.
    smoothing : float
        Pseudo-reports added to each cell of the confusion matrices, 0 for maximum likelihood.
    tolerance, steps : float, int
        When to stop.

    Raises
    ------
    UsageError
        Shapes that do not fit.
    """
    x = np.asarray(reports, dtype=float)
    if x.ndim != 3:
        raise UsageError(f"reports must have the shape (patterns, observers, classes), not {x.shape}")
    weight = np.ones(len(x)) if n is None else np.asarray(n, dtype=float)
    strata = np.zeros(len(x), dtype=np.int64) if stratum is None else np.asarray(stratum)
    fixed = np.full((len(x), x.shape[2]), np.nan) if known is None else np.asarray(known, dtype=float)
    if weight.shape != (len(x),) or strata.shape != (len(x),) or fixed.shape != (len(x), x.shape[2]):
        raise UsageError(f"n, stratum and known must have one row for each of the {len(x)} patterns")
    return _iterate(x, weight, fixed, strata, smoothing=smoothing, tolerance=tolerance, steps=steps)


def class_probabilities(
    reports: Array, prevalence: Array, confusion: Array, *, known: Array, stratum: NDArray[np.int64]
) -> tuple[Array, Array]:
    """Class probabilities (R, C) of each pattern and its log-likelihood (R,): the E step."""
    classes = reports.shape[2]
    log_q = np.log(np.maximum(confusion, _TINY)).transpose(0, 2, 1).reshape(-1, classes)
    joint = reports.reshape(len(reports), -1) @ log_q + np.log(np.maximum(prevalence, _TINY))[stratum]
    top = joint.max(1, keepdims=True)
    odds = np.exp(joint - top)
    total = odds.sum(1, keepdims=True)
    unknown = np.isnan(known[:, :1])
    free = (top + np.log(total))[:, 0]
    labelled = (np.nan_to_num(known) * joint).sum(1)
    return np.where(unknown, odds / total, known), np.where(unknown[:, 0], free, labelled)


def _iterate(
    x: Array, weight: Array, known: Array, stratum: NDArray[np.int64], *, smoothing: float, tolerance: float, steps: int
) -> Observers:
    member = np.eye(int(stratum.max(initial=0)) + 1)[stratum]
    votes = x.sum(1)
    start = np.where(
        votes.sum(1, keepdims=True) > 0, votes / np.maximum(votes.sum(1, keepdims=True), _TINY), 1.0 / x.shape[2]
    )
    w = np.where(np.isnan(known), start, known)
    prevalence, confusion = _shares(x, w * weight[:, None], member, smoothing)
    step, moved = 0, np.inf
    while step < steps and moved >= tolerance:
        w, _ = class_probabilities(x, prevalence, confusion, known=known, stratum=stratum)
        new = _shares(x, w * weight[:, None], member, smoothing)
        moved = max(np.abs(new[0] - prevalence).max(), np.abs(new[1] - confusion).max(initial=0.0))
        prevalence, confusion = new
        step += 1
    w, likelihood = class_probabilities(x, prevalence, confusion, known=known, stratum=stratum)
    return Observers(
        prevalence=prevalence,
        confusion=confusion,
        posterior=w,
        iterations=step,
        log_likelihood=float(weight @ likelihood),
        converged=bool(moved < tolerance),
    )


def _shares(x: Array, w: Array, member: Array, smoothing: float) -> tuple[Array, Array]:
    """Prevalences (S, C) and confusion matrices (J, C, C): the M step."""
    classes = x.shape[2]
    total = member.T @ w
    size = total.sum(1, keepdims=True)
    prevalence = np.where(size > 0, total / np.maximum(size, _TINY), 1.0 / classes)
    reported = np.einsum("rjl,rc->jcl", x, w, optimize=True) + smoothing
    made = reported.sum(2, keepdims=True)
    # A class nobody reported on says nothing of an observer.
    return prevalence, np.where(made > 0, reported / np.maximum(made, _TINY), 1.0 / classes)


@dataclass(frozen=True, eq=False, kw_only=True)
class Patterns:
    """R patterns of reports (R, J, 2), known classes (R, 2), model and stratum (R,), occurring n (R,) times.

    ``cell`` gives the pattern of each answer and ``cluster`` the cluster it belongs to.
    """

    reports: Array
    known: Array
    model: NDArray[np.int64]
    stratum: NDArray[np.int64]
    n: Array
    cell: NDArray[np.int64]
    cluster: NDArray[np.int64]
    models: int

    @property
    def size(self) -> Array:
        """Number of answers (M,)."""
        return np.bincount(self.model, weights=self.n, minlength=self.models)

    def model_means(self, values: Array) -> Array:
        """Means (M, ...) over each model's answers of values (R, ...)."""
        member = np.eye(self.models)[self.model] * self.n[:, None]
        return np.asarray((member / np.maximum(self.size, 1.0)).T @ values)


def patterns_of(votes: PanelVotes, keep: NDArray[np.bool_], *, label_free: bool, by_model: bool) -> Patterns:
    """Patterns of the items marked (I,); no labels if ``label_free``, one stratum a model if ``by_model``."""
    item, model = np.nonzero(votes.answered & keep[:, None])
    share, runs = np.nan_to_num(votes.votes[item, model]), votes.runs[item, model]
    label = np.where(labelled_cells(votes) & (not label_free), votes.label, np.nan)[item, model]
    cell, first = _alike(np.column_stack([model.astype(float), label, runs.astype(float), share]))
    _, stratum = np.unique(model[first] if by_model else np.zeros_like(first), return_inverse=True)
    return Patterns(
        reports=np.stack([(1.0 - share[first]) * runs[first], share[first] * runs[first]], axis=2),
        known=np.stack([1.0 - label[first], label[first]], axis=1),
        model=model[first],
        stratum=stratum.reshape(-1),
        n=np.bincount(cell, minlength=len(first)).astype(float),
        cell=cell,
        cluster=votes.cluster[item],
        models=len(votes.models),
    )


def _alike(rows: Array) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Pattern (N,) of each row of (N, K), and the first row (R,) of each pattern; by hashing the columns."""
    cell = np.zeros(len(rows), dtype=np.int64)
    for column in rows.T:
        values, _ = pd.factorize(column, use_na_sentinel=False)
        cell, _ = pd.factorize(cell * (int(values.max(initial=0)) + 1) + values)
    _, first = np.unique(cell, return_index=True)
    return cell.astype(np.int64), first.astype(np.int64)
