"""The methods by name: a family of estimators and the way its interval is made."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from bayesjudge.baselines.accuracy import estimators, mle, rogan_gladen
from bayesjudge.baselines.accuracy.estimator import Estimator, Solution
from bayesjudge.baselines.common import intervals
from bayesjudge.baselines.common.intervals import effective_size, independent_units
from bayesjudge.baselines.common.moments import Array, Evidence, ratio
from bayesjudge.errors import UsageError
from bayesjudge.estimates import Population

#: Data, estimates and the normal quantile → limits (M,) of the accuracies.
type LimitRule = Callable[[Evidence, Solution, Array], tuple[Array, Array]]


@dataclass(frozen=True, kw_only=True)
class AnalyticMethod:
    """An estimator with a closed-form interval.

    paired: Whether differences have limits from their own variance, else MOVER's from the accuracies' limits.
    ddof: Divisor ``n − ddof`` of the variances.
    bounded: Whether estimates and limits stay in [0, 1] (differences in [−1, 1]).
    """

    estimator: Estimator
    limits: LimitRule
    paired: bool
    ddof: int = 0
    bounded: bool = False


def _wald(_: Evidence, found: Solution, z: Array) -> tuple[Array, Array]:
    return intervals.wald(found.point, np.diag(found.covariance), z)


def _wilson(_: Evidence, found: Solution, z: Array) -> tuple[Array, Array]:
    n = effective_size(found.point, np.diag(found.covariance), ratio(found.units, found.left))
    return intervals.wilson(found.point, np.where(n > 0, n, np.nan), z)


def _logit(evidence: Evidence, found: Solution, z: Array) -> tuple[Array, Array]:
    labels = np.nan_to_num(ratio(independent_units(evidence, evidence.labelled), found.left))
    # On these items only the judge's errors leave a variance. Where no label shows one, what λ makes of
    # that variance is no less unknown than 0.
    none = (found.left < 1.0) & (evidence.n @ (evidence.labelled * np.abs(evidence.y - evidence.v)) == 0)
    return intervals.logit(found.point, np.where(none, 0.0, np.diag(found.covariance)), labels, z)


def _adjusted(*, shared: bool) -> LimitRule:
    return lambda evidence, _, z: rogan_gladen.lang_reiczigel_limits(evidence, shared=shared, z=z)


def normal(estimator: Estimator) -> AnalyticMethod:
    """The family with its authors' Wald interval."""
    return AnalyticMethod(estimator=estimator, limits=_wald, paired=True, bounded=estimator.bounded)


def on_logit(estimator: Estimator) -> AnalyticMethod:
    """The family with n − 1 variances and limits on the logit scale."""
    return AnalyticMethod(estimator=estimator, limits=_logit, paired=False, ddof=1, bounded=True)


def _combined(estimator: Estimator, limits: LimitRule) -> AnalyticMethod:
    return AnalyticMethod(estimator=estimator, limits=limits, paired=False, bounded=True)


#: Methods with closed-form intervals.
ANALYTIC = {
    "naive": AnalyticMethod(estimator=estimators.NAIVE, limits=_wilson, paired=True),
    "labelled": _combined(estimators.LABELLED, _wilson),
    "rogan-gladen[shared]": normal(rogan_gladen.SHARED),
    "rogan-gladen[specific]": normal(rogan_gladen.SPECIFIC),
    "rogan-gladen[shared,lang-reiczigel]": _combined(rogan_gladen.SHARED, _adjusted(shared=True)),
    "rogan-gladen[specific,lang-reiczigel]": _combined(rogan_gladen.SPECIFIC, _adjusted(shared=False)),
    "ppi": normal(estimators.PPI),
    "ppi[logit]": on_logit(estimators.PPI),
    "ppi++": normal(estimators.PPI_PLUS),
    "ppi++[logit]": on_logit(estimators.PPI_PLUS),
    "eif": normal(estimators.EIF),
    "eif[logit]": on_logit(estimators.EIF),
    "mle": _combined(mle.ESTIMATOR, lambda evidence, _, z: mle.profile_limits(evidence, z=z)),
    # For labels drawn with known, unequal probabilities, which weigh every sum over labels: the Hájek mean,
    # and the mean of predictions plus weighted residuals (Robins, Rotnitzky & Zhao 1994).
    "ipw": _combined(estimators.LABELLED, _wilson),
    "aipw": on_logit(estimators.EIF),
}

#: Those that hold where labels were drawn with unequal probabilities, and those made for nothing else.
WEIGHTED_METHODS = ("naive", "ipw", "aipw")
_ONLY_WEIGHTED = ("ipw", "aipw")

#: Methods with percentile bootstrap intervals, all from the same replicates. The MLE is not among them:
#: for one run its estimate is the EIF's, so its bootstrap would repeat ``eif[bootstrap]``.
RESAMPLED = {
    "naive[bootstrap]": estimators.NAIVE,
    "labelled[bootstrap]": estimators.LABELLED,
    "rogan-gladen[shared,bootstrap]": rogan_gladen.SHARED,
    "rogan-gladen[specific,bootstrap]": rogan_gladen.SPECIFIC,
    "ppi[bootstrap]": estimators.PPI,
    "ppi++[bootstrap]": estimators.PPI_PLUS,
    "eif[bootstrap]": estimators.EIF,
}

#: Methods whose replicates use random halves of the calibration items.
HALVED = {"ppi++[half]": estimators.PPI_PLUS}

#: Every method name, in the order of the results.
METHODS = (*ANALYTIC, *RESAMPLED, *HALVED)
#: Those for labels that were drawn evenly.
EVEN_METHODS = tuple(name for name in METHODS if name not in _ONLY_WEIGHTED)

#: Those with an answer for exactly these items. Not the bootstraps, whose draws are of new items; not the
#: profile likelihood and Lang–Reiczigel, whose intervals are derived for new items alone.
ITEMS_METHODS = (
    "naive",
    "labelled",
    "rogan-gladen[shared]",
    "rogan-gladen[specific]",
    "ppi",
    "ppi[logit]",
    "ppi++",
    "ppi++[logit]",
    "eif",
    "eif[logit]",
)


def choose(
    names: Iterable[str] | None, *, replicates: int, population: Population = "superpopulation", weighted: bool = False
) -> tuple[str, ...]:
    """Check method names; None means all, without the bootstrap ones when there are no replicates.

    For ``population="items"`` all means `ITEMS_METHODS`; for labels drawn with unequal probabilities
    (``weighted``) `WEIGHTED_METHODS`. Other names are refused, and bootstrap methods with no replicates.
    """
    if weighted and population == "items":
        raise UsageError(
            "population='items' needs labels that were drawn evenly; the table has the column label_probability"
        )
    fitting = WEIGHTED_METHODS if weighted else EVEN_METHODS
    if names is None:
        everything = tuple(name for name in fitting if replicates or name in ANALYTIC)
        return ITEMS_METHODS if population == "items" else everything
    wanted = {names} if isinstance(names, str) else set(names)
    for name in sorted(wanted - set(fitting)):
        close = difflib.get_close_matches(name, fitting, n=1)
        hint = f"did you mean {close[0]!r}? " if close else ""
        drawn = "drawn with unequal probabilities" if weighted else "drawn evenly (no column label_probability)"
        wrong = f"method {name!r} is not one for labels {drawn}" if name in METHODS else f"no method {name!r}"
        raise UsageError(f"{wrong}; {hint}The methods are {', '.join(fitting)}")
    elsewhere = sorted(wanted - set(ITEMS_METHODS)) if population == "items" else []
    if elsewhere:
        raise UsageError(
            f"method {elsewhere[0]!r} answers for the superpopulation alone; on these items "
            f"there are {', '.join(ITEMS_METHODS)}"
        )
    resampled = [name for name in METHODS if name in wanted and name not in ANALYTIC]
    if resampled and not replicates:
        raise UsageError(f"method {resampled[0]!r} needs bootstrap replicates; set bootstrap=10_000")
    return tuple(name for name in METHODS if name in wanted)
