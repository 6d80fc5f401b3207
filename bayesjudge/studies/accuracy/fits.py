"""The posteriors of one judge: those that answer the question, and those they are compared with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, get_args

import pandas as pd

from bayesjudge.checks import compare
from bayesjudge.counts import VerdictCounts
from bayesjudge.errors import UsageError
from bayesjudge.estimates import Population, estimand_of
from bayesjudge.inference import Fit, Fitting
from bayesjudge.inference.sampling import SamplingOptions
from bayesjudge.models.judge_error import JudgeError, Labels, Pooling
from bayesjudge.studies.common.checks import check_fits

if TYPE_CHECKING:
    from bayesjudge.estimates import Estimates

__all__ = [
    "PANEL",
    "POOLINGS",
    "AccuracyOptions",
    "JudgeFits",
    "JudgePlan",
    "LabelChoice",
    "Part",
    "check_judge",
    "plan_judge",
]

#: Draws of each chain for a posterior that is only compared: leave-one-out looks at no more than 250.
COMPARED_DRAWS = 500


@dataclass(frozen=True, eq=False, kw_only=True)
class JudgeFits:
    """Fits of one judge, by the method name of their model.

    Attributes
    ----------
    judge : str
        Whose verdicts.
    headline : Fit
        The answer rests on it.
    alternatives : mapping of str to Fit
        `judge_error` with the other poolings: only compared with the headline, never reported.
    by_model : Fit
        In which the judge's rates may differ by model, whatever the headline pools: for diagnostics.
    reweighted : Fit, optional
        With labels weighed by estimated probabilities, where they look chosen.
    """

    judge: str
    headline: Fit
    by_model: Fit
    alternatives: Mapping[str, Fit] = field(default_factory=dict)
    reweighted: Fit | None = None

    @property
    def everything(self) -> Mapping[str, Fit]:
        """The headline, then whatever else was fitted."""
        more = [] if self.reweighted is None else [self.reweighted]
        fits = (self.headline, *self.alternatives.values(), self.by_model, *more)
        return {one.model.label: one for one in fits}


@dataclass(frozen=True, eq=False, kw_only=True)
class JudgePlan:
    """The fits that one judge's part of the answer needs.

    Attributes
    ----------
    judge : str
        Whose verdicts.
    jobs : mapping of str to Fitting
        By pooling, the headline's first; ``reweighted`` where labels look chosen.
    compared : tuple of str
        Poolings that are only compared with the headline.
    by_model : str
        In which the judge's rates may differ by model.
    """

    judge: str
    jobs: Mapping[str, Fitting]
    compared: tuple[str, ...]
    by_model: str

    def fits(self, made: Mapping[str, Fit]) -> JudgeFits:
        """The fits once they are made."""
        return JudgeFits(
            judge=self.judge, headline=made[next(iter(self.jobs))], by_model=made[self.by_model],
            reweighted=made.get("reweighted"),
            alternatives={made[name].model.label: made[name] for name in self.compared},
        )  # fmt: skip


def plan_judge(
    counts: VerdictCounts, options: AccuracyOptions, *, labels: Labels, compared: bool,
    chosen: VerdictCounts | None = None,
) -> JudgePlan:  # fmt: skip
    """List every fit that one judge's part of the answer needs.

    Parameters
    ----------
    counts : VerdictCounts
        Of one judge alone.
    options : AccuracyOptions
        Checked options.
    labels : {"random", "weighted", "reweighted", "enriched"}
        How the headline takes the labels.
    compared : bool
        Also fit the other poolings, where there are two models or more to pool over.
    chosen : VerdictCounts, optional
        The same counts with estimated probabilities of labels, where those look chosen.
    """
    engine = options.sampling["engine"]
    fewer = {name: min(getattr(engine, name), COMPARED_DRAWS) for name in ("draws", "tune")}
    short = {**options.sampling, "engine": replace(engine, **fewer)}
    several = len(counts.models) > 1
    pooled = [name for name in POOLINGS if name != options.pooling] if compared and several else []
    # Diagnostics need rates by model, whatever the headline pools.
    by_model: Pooling = "partial" if options.pooling == "shared" and several else options.pooling
    model = options.judge_error(options.pooling, labels)
    jobs = {str(options.pooling): Fitting(model=model, table=counts, **options.sampling)}
    for name in dict.fromkeys([*pooled, by_model]):
        if name == options.pooling:
            continue
        jobs[name] = Fitting(model=options.judge_error(name, labels), table=counts, **short)
    if chosen is not None:
        model = options.judge_error(options.pooling, "reweighted")
        jobs["reweighted"] = Fitting(model=model, table=chosen, **short)
    return JudgePlan(judge=counts.judges[0], jobs=jobs, compared=tuple(pooled), by_model=by_model)


#: What stands in the column ``judge`` for all judges together.
PANEL = "all judges"


@dataclass(frozen=True, eq=False, kw_only=True)
class Part:
    """Fits of one judge (or of all together) and every table made from them.

    Attributes
    ----------
    fits : JudgeFits
        The posteriors.
    bayes, baselines : Estimates
        Accuracies and differences.
    quality : Estimates
        The judge's, or the judges', quality.
    ranks : pandas.DataFrame
        Probability of each rank.
    checks : dict of str to pandas.DataFrame
        Tables of checks by name.
    reasons : tuple of str
        Why the Bayesian rows should not be used although the posterior has converged.
    """

    fits: JudgeFits
    bayes: Estimates
    baselines: Estimates
    quality: Estimates
    ranks: pd.DataFrame
    checks: dict[str, pd.DataFrame]
    reasons: tuple[str, ...] = ()


def check_judge(fits: JudgeFits) -> dict[str, pd.DataFrame]:
    """Tables ``predictive``, ``comparison``, ``sensitivity`` and ``convergence``, in this order.

    Every table has columns ``judge`` and, but for the comparison, ``method``. The comparison is there when
    other poolings were fitted.
    """
    tables = check_fits([fits.headline], fits.everything.values())
    poolings = {fits.headline.model.label: fits.headline, **fits.alternatives}
    compared = {"comparison": compare(poolings).frame} if fits.alternatives else {}
    ordered = {"predictive": tables.pop("predictive"), **compared, **tables}
    return {name: table.assign(judge=fits.judge) for name, table in ordered.items()}


#: How labels were chosen: evenly, by the judge's verdicts, or each by its own label and by nothing else.
LabelChoice = Literal["random", "chosen-by-verdict", "enriched"]
POOLINGS: tuple[Pooling, ...] = ("partial", "shared", "specific")


@dataclass(frozen=True, kw_only=True)
class AccuracyOptions(SamplingOptions):
    """What `accuracy` was asked for; the parameters are described there.

    Raises
    ------
    UsageError, EngineError
        The first option that cannot be, with what is allowed.

    Examples
    --------
    >>> AccuracyOptions(prob=0.9).judge_error("partial", "random").label
    'bayes:judge_error[partial]'
    """

    pooling: Pooling = "partial"
    labels: LabelChoice = "random"
    compare: bool | None = None
    population: Population = "superpopulation"

    def __post_init__(self) -> None:
        super().__post_init__()
        estimand_of("accuracy", self.population)
        if self.labels not in get_args(LabelChoice):
            raise UsageError(f"labels={self.labels!r} is not one of {', '.join(get_args(LabelChoice))}")
        self.judge_error(self.pooling, "random")

    def judge_error(self, pooling: Pooling, labels: Labels) -> JudgeError:
        """The model of accuracies."""
        return JudgeError(pooling=pooling, labels=labels)

    @property
    def settings(self) -> Mapping[str, Any]:
        """What the manifest of the answer records."""
        own = {"pooling": self.pooling, "labels": self.labels, "population": self.population}
        return {**super().settings, **own}
