"""The posteriors of one judge: those that answer the question, and those they are compared with."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import pandas as pd

from bayesjudge.counts import VerdictCounts
from bayesjudge.effects import RATES, read_formula
from bayesjudge.effects.formula import SYSTEM
from bayesjudge.errors import UsageError
from bayesjudge.estimates import Estimates
from bayesjudge.inference import Fit, Fitting, Laplace, Nuts
from bayesjudge.model import Model
from bayesjudge.models.judge_error import JudgeError, Labels, Pooling, by_group
from bayesjudge.options import AccuracyOptions
from bayesjudge.studies.common.checks import check_fits
from bayesjudge.studies.common.methods import Further, believing, is_requested, require_distinct

#: Name of the model that answers by default, with the pooling and the labels of the options.
OWN = "judge_error"
#: Draws of each chain for a posterior that is not the answer: leave-one-out uses no more than 250.
COMPARED_DRAWS = 500


@dataclass(frozen=True, eq=False, kw_only=True)
class JudgeFits:
    """Fits of one judge, by the method name of their model.

    judge: Whose verdicts.
    headline: The answer rests on it.
    alternatives: `judge_error` with the other poolings: only compared with the headline, never reported.
    by_model: In which the judge's rates may differ by model, whatever the headline pools: for diagnostics.
    reweighted: With labels weighed by estimated probabilities, where they look chosen.
    more: Of further models, which answer as the headline does.
    """

    judge: str
    headline: Fit
    by_model: Fit
    alternatives: Mapping[str, Fit] = field(default_factory=dict)
    reweighted: Fit | None = None
    more: tuple[Fit, ...] = ()

    @property
    def answering(self) -> tuple[Fit, ...]:
        """The headline and the further models."""
        return (self.headline, *self.more)

    @property
    def everything(self) -> Mapping[str, Fit]:
        """The headline, then whatever else was fitted."""
        again = [] if self.reweighted is None else [self.reweighted]
        fits = (*self.answering, *self.alternatives.values(), self.by_model, *again)
        return {one.model.label: one for one in fits}


@dataclass(frozen=True, eq=False, kw_only=True)
class JudgePlan:
    """The fits that one judge's part of the answer needs.

    judge: Whose verdicts.
    jobs: By pooling, the headline's first; ``reweighted`` where labels look chosen; further models by label.
    compared: Poolings that are only compared with the headline.
    by_model: In which the judge's rates may differ by model.
    more: Further models, apart from the headline.
    """

    judge: str
    jobs: Mapping[str, Fitting]
    compared: tuple[str, ...]
    by_model: str
    more: tuple[str, ...] = ()

    def fits(self, made: Mapping[str, Fit]) -> JudgeFits:
        """The fits once they are made."""
        return JudgeFits(
            judge=self.judge,
            headline=made[next(iter(self.jobs))],
            by_model=made[self.by_model],
            reweighted=made.get("reweighted"),
            alternatives={made[name].model.label: made[name] for name in self.compared},
            more=tuple(made[name] for name in self.more),
        )


def plan_judge(
    counts: VerdictCounts,
    options: AccuracyOptions,
    *,
    labels: Labels,
    compared: bool,
    models: Sequence[Further] = (),
    chosen: VerdictCounts | None = None,
) -> JudgePlan:
    """List every fit that one judge's part of the answer needs.

    chosen: The same counts with estimated probabilities of labels, where those look chosen.
    """
    own, several = is_requested(options, OWN) or not models, len(counts.models) > 1
    others: list[Pooling] = [name for name in POOLINGS if name != options.pooling]
    # Poolings with formulas are other designs, which leave-one-out has no common data for.
    pooled: list[Pooling] = others if own and compared and several and counts.rows is None else []
    requested: tuple[Pooling, ...] = (options.pooling, *pooled) if own else ()

    def ours(pooling: Pooling, labels: Labels = labels) -> JudgeError:
        formulas = options.formulas_of(*RATES)
        if options.group and counts.rows is not None:
            formulas = by_group(options.group, pooling, systems=len(counts.models), given=formulas)
        return believing(JudgeError(pooling=pooling, labels=labels, formulas=formulas), options)

    asked: list[Model] = [*map(ours, requested), *(one.model for one in models)]
    require_distinct(asked)
    if several:
        _require_systems(asked)
    more = {one.model.label: one.job(counts, options) for one in models}
    if not own:
        first, *rest = more
        return JudgePlan(judge=counts.judges[0], jobs=more, compared=(), by_model=first, more=tuple(rest))
    engine = options.sampling["engine"]
    fewer = {name: min(getattr(engine, name), COMPARED_DRAWS) for name in ("draws", "tune")}
    short = {**options.sampling, "engine": replace(engine, **fewer)}
    # Diagnostics need rates by model, whatever the headline pools.
    by_model: Pooling = "partial" if options.pooling == "shared" and several else options.pooling
    jobs = {str(options.pooling): Fitting(model=ours(options.pooling), table=counts, **options.sampling)}
    remaining: tuple[Pooling, ...] = (*pooled, by_model)
    # What is only compared needs no sampler where importance sampling is good enough, which it checks itself.
    importance = Laplace(chains=engine.chains, **fewer) if isinstance(engine, Nuts) else short["engine"]
    for name in dict.fromkeys(remaining):
        if name == options.pooling:
            continue
        how = short if name == by_model else {**short, "engine": importance, "compared": True}
        jobs[name] = Fitting(model=ours(name), table=counts, **how)
    if chosen is not None:
        jobs["reweighted"] = Fitting(model=ours(options.pooling, "reweighted"), table=chosen, **short)
    return JudgePlan(
        judge=counts.judges[0], jobs={**jobs, **more}, compared=tuple(pooled), by_model=by_model, more=tuple(more)
    )


def _require_systems(models: Iterable[Model]) -> None:
    """Refuse a formula that has one accuracy for all systems, which is what the question tells apart."""
    for text in (text for model in models if isinstance(model, JudgeError) for text in model.formulas):
        formula = read_formula(text)
        if formula.rate == "accuracy" and SYSTEM not in formula.columns:
            others = re.sub(r"^1\s*(\+|$)", "", formula.right).strip()
            instead = " + ".join(part for part in (f"accuracy ~ 0 + {SYSTEM}", others.replace("`", "")) if part)
            raise UsageError(
                f"formula '{formula}' gives all systems one accuracy, so they could not be compared: write '{instead}'"
            )


@dataclass(frozen=True, eq=False, kw_only=True)
class Part:
    """Fits of one judge (or of all together) and every table made from them.

    fits: The posteriors.
    bayes, baselines: Accuracies and differences.
    quality: The judge's, or the judges', quality.
    ranks: Probability of each rank.
    checks: Tables of checks by name.
    reasons: Why the Bayesian rows should not be used although the posterior has converged.
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
    other poolings or further models were fitted, or one in place of `judge_error`.
    """
    others = {**fits.alternatives, **{one.model.label: one for one in fits.more}}
    compared = {fits.headline.model.label: fits.headline, **others}
    compared = compared if others or not isinstance(fits.headline.model, JudgeError) else {}
    tables = check_fits(fits.answering, fits.everything.values(), compared=compared)
    return {name: table.assign(judge=fits.judge) for name, table in tables.items()}


POOLINGS: tuple[Pooling, ...] = ("partial", "shared", "specific")
