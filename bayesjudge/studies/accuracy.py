"""The accuracy question: what is each model's true accuracy, and which model is better?"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pandas as pd

from bayesjudge.baselines import accuracy_baselines, judge_quality
from bayesjudge.checks import compare, convergence, predictive_check, prior_sensitivity
from bayesjudge.counts import VerdictCounts, count_verdicts
from bayesjudge.errors import UsageError
from bayesjudge.estimates import Estimates
from bayesjudge.inference import Fit, fit
from bayesjudge.inference.gate import Gate
from bayesjudge.models.judge_error import JudgeError
from bayesjudge.models.paired_accuracy import PairedAccuracy
from bayesjudge.posterior import differences
from bayesjudge.studies.comparison import Comparison
from bayesjudge.studies.guidance import checklist, warnings_of
from bayesjudge.studies.ranks import rank_probabilities

if TYPE_CHECKING:
    import xarray as xr

    from bayesjudge.tables import Verdicts

__all__ = ["accuracy"]

_QUALITY = ("sensitivity", "specificity", "youden", "delta_youden")
_POOLINGS = ("partial", "shared", "specific")


@dataclass(frozen=True, kw_only=True)
class _Options:
    pooling: Any
    labels: Any
    engine: str
    prob: float
    seed: int
    bootstrap: int
    compare: bool
    progress: bool
    sampling: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False, kw_only=True)
class _Part:
    """What one judge contributes to the answer."""

    fits: dict[str, Fit]
    bayes: Estimates
    baselines: Estimates
    quality: Estimates
    ranks: pd.DataFrame
    checks: dict[str, pd.DataFrame]


def accuracy(
    verdicts: Verdicts | VerdictCounts, *, group: str | None = None, cluster: str | Sequence[str] | None = None,
    judges: Iterable[str] | None = None, pooling: str = "partial", labels: str = "random", engine: str = "nuts",
    prob: float = 0.95, seed: int = 0, bootstrap: int = 10_000, chains: int = 4, draws: int = 1000, tune: int = 1000,
    compare: bool | None = None, truth: Mapping[tuple[str, str], float] | None = None, progress: bool = False,
) -> Comparison:  # fmt: skip
    """Each model's true accuracy and every difference, Bayesian and frequentist intervals side by side.

    Parameters
    ----------
    verdicts : Verdicts or VerdictCounts
        A table of verdicts, or its counts from wherever the rows live.
    group, cluster : str, optional
        Columns as in `count_verdicts`; for counts, give them there.
    judges : iterable of str, optional
        Some of the judges; all by default, each analysed on its own.
    pooling : {"partial", "shared", "specific"}
        How far the judge's errors are alike between models.
    labels : {"random", "enriched"}
        How the labelled answers were chosen.
    engine : {"nuts", "laplace", "pymc"}
        As in `fit`, with ``chains, draws, tune``.
    prob : float
        Probability of every interval, between 0 and 1.
    seed : int
        Equal seeds give equal answers.
    bootstrap : int
        Replicates of the bootstrap baselines; 0 leaves them out.
    compare : bool, optional
        Fit the other two poolings too and compare all three by leave-one-out; by default when there is one judge.
    truth : mapping, optional
        Known truth by ``(estimand, unit)``, for simulated data.
    progress : bool
        Show progress bars on standard error.

    Returns
    -------
    Comparison

    Raises
    ------
    InputError, UsageError
        A table or an option that cannot be used.

    Examples
    --------
    >>> from bayesjudge.datasets import simulate_verdicts
    >>> table = simulate_verdicts(seed=1).verdicts
    >>> answer = accuracy(table, draws=250, tune=250, bootstrap=200, compare=False)
    >>> answer.estimates.where(estimand="accuracy", unit="a").frame["method"].iloc[0]
    'bayes:judge_error[partial]'
    """
    if not 0 < prob < 1:
        raise UsageError(f"prob={prob} must lie between 0 and 1, for instance 0.95")
    counts = (
        verdicts
        if isinstance(verdicts, VerdictCounts)
        else count_verdicts(verdicts, group=group, cluster=cluster)
    )
    chosen = _choose(counts, judges)
    options = _Options(
        pooling=pooling, labels=labels, engine=engine, prob=prob, seed=seed, bootstrap=bootstrap,
        compare=len(chosen) == 1 if compare is None else compare, progress=progress,
        sampling={"chains": chains, "draws": draws, "tune": tune},
    )  # fmt: skip
    parts = {judge: _one_judge(counts.for_judge(judge), judge, options) for judge in chosen}
    settings = {"prob": prob, "seed": seed, "engine": engine, "pooling": pooling, "labels": labels, "judges": chosen,
                "bootstrap": bootstrap, "group": group, "cluster": cluster, **options.sampling}  # fmt: skip
    return _assemble(counts, parts, options, settings, truth or {})


def _choose(counts: VerdictCounts, judges: Iterable[str] | None) -> list[str]:
    chosen = list(counts.judges) if judges is None else list(judges)
    unknown = [judge for judge in chosen if judge not in counts.judges]
    if unknown or not chosen:
        raise UsageError(
            f"no judge {unknown[0]!r}" if unknown else f"no judge chosen; there are {list(counts.judges)}"
        )
    return chosen


def _one_judge(counts: VerdictCounts, judge: str, options: _Options) -> _Part:
    fits = _fits(counts, judge, options)
    single = fits[f"judge_error, {judge}"]
    bayes = [
        one.estimates(prob=options.prob) for name, one in fits.items() if "only for comparison" not in name
    ]
    both = Estimates.concat(bayes)
    baselines = accuracy_baselines(
        counts, judge, prob=options.prob, bootstrap=options.bootstrap, seed=options.seed
    )
    quality = judge_quality(counts, judge, prob=options.prob, bootstrap=options.bootstrap, seed=options.seed)
    ranked = fits.get(f"paired_accuracy, {judge}", single)
    return _Part(
        fits=fits,
        bayes=both.where(estimand=["accuracy", "difference"]),
        baselines=baselines,
        quality=Estimates.concat([bayes[0].where(estimand=_QUALITY), quality]),
        ranks=rank_probabilities(ranked.model.accuracy(ranked.posterior, ranked.data)),
        checks=_checks(fits, judge),
    )


def _fits(counts: VerdictCounts, judge: str, options: _Options) -> dict[str, Fit]:
    """The fits of one judge: accuracies, paired comparison, and the other poolings when they are compared."""
    models: dict[str, Any] = {
        f"judge_error, {judge}": JudgeError(pooling=options.pooling, labels=options.labels)
    }
    if len(counts.models) > 1:
        models[f"paired_accuracy, {judge}"] = PairedAccuracy(pooling=options.pooling, labels=options.labels)
    if options.compare and len(counts.models) > 1:
        others = [pooling for pooling in _POOLINGS if pooling != options.pooling]
        models |= {f"judge_error[{pooling}], {judge} (only for comparison)":
                   JudgeError(pooling=pooling, labels=options.labels) for pooling in others}  # type: ignore[arg-type]  # fmt: skip
    return {
        name: fit(
            model,
            counts,
            engine=options.engine,
            seed=options.seed,
            progress=options.progress,
            **options.sampling,
        )
        for name, model in models.items()
    }


def _checks(fits: Mapping[str, Fit], judge: str) -> dict[str, pd.DataFrame]:
    main = {name: one for name, one in fits.items() if "only for comparison" not in name}
    poolings = {one.model.label: one for one in fits.values() if isinstance(one.model, JudgeError)}
    tables = {
        "predictive": [predictive_check(one).frame.assign(method=one.model.label) for one in main.values()],
        "sensitivity": [
            prior_sensitivity(one, quantities=_headline(one)).frame.assign(method=one.model.label)
            for one in main.values()
        ],
        "convergence": [convergence(one).frame.assign(method=one.model.label) for one in fits.values()],
        "comparison": [compare(poolings).frame] if len(poolings) > 1 else [],
    }
    return {
        name: pd.concat(frames, ignore_index=True).assign(judge=judge)
        for name, frames in tables.items()
        if frames
    }


def _headline(one: Fit) -> dict[str, xr.DataArray]:
    """Draws of the headline estimands: every accuracy and every difference."""
    theta = one.model.accuracy(one.posterior, one.data)  # type: ignore[attr-defined] # both models of this study have it
    found = {"accuracy": theta}
    if theta.sizes["model"] > 1:
        found["difference"] = differences(theta, "model")
    return found


def _assemble(
    counts: VerdictCounts, parts: Mapping[str, _Part], options: _Options, settings: Mapping[str, Any],
    truth: Mapping[tuple[str, str], float],
) -> Comparison:  # fmt: skip
    several = len(parts) > 1

    def named(estimates: Estimates, judge: str) -> Estimates:
        return estimates.with_column(judge=judge) if several else estimates.with_column(judge="")

    order = [(estimand, kind) for estimand in ("accuracy", "difference") for kind in ("bayes", "baselines")]
    estimates = Estimates.concat(
        named(getattr(part, kind).where(estimand=estimand), judge)
        for estimand, kind in order
        for judge, part in parts.items()
    ).with_truth(truth)
    diagnostics = Estimates.concat(part.quality.with_column(judge=judge) for judge, part in parts.items())
    checks = {
        name: pd.concat(
            [part.checks[name] for part in parts.values() if name in part.checks], ignore_index=True
        )
        for name in ("predictive", "comparison", "sensitivity", "convergence")
        if any(name in part.checks for part in parts.values())
    }
    fits = {name: one for part in parts.values() for name, one in part.fits.items()}
    return Comparison(
        question="accuracy", estimates=estimates, diagnostics=diagnostics.with_truth(truth),
        ranks=pd.concat([part.ranks.assign(judge=judge) for judge, part in parts.items()], ignore_index=True),
        fits=fits, checks=checks, warnings=tuple(warnings_of(counts, diagnostics, checks, parts)),
        checklist=checklist(counts, estimates, diagnostics, prob=options.prob, labels=options.labels,
                            clustered=counts.clusters > 0),
        gate=_joint_gate(fits), dropped=counts.dropped, settings=settings,
    )  # fmt: skip


def _joint_gate(fits: Mapping[str, Fit]) -> Gate:
    """Passed when every fit's gate passed; reasons name the fit."""
    failed = {name: one.gate for name, one in fits.items() if not one.gate.passed}
    reasons = tuple(f"{name}: {reason}" for name, gate in failed.items() for reason in gate.reasons)
    worst = {"rhat": max(one.gate.figures["rhat"] for one in fits.values()),
             "ess": min(one.gate.figures["ess"] for one in fits.values())} if fits else {"rhat": math.nan}  # fmt: skip
    return Gate(passed=not failed, reasons=reasons, figures=worst)
