"""The accuracy question: each model's true accuracy, and which model is better."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from bayesjudge.baselines import accuracy_baselines, judge_quality
from bayesjudge.baselines.accuracy.selection import even_labelling
from bayesjudge.counts import VerdictCounts, count_verdicts
from bayesjudge.errors import UsageError
from bayesjudge.estimates import Estimates, Population, estimand_of
from bayesjudge.inference import run_fits
from bayesjudge.inference.gate import Gate
from bayesjudge.model import GivesAccuracy, lacks
from bayesjudge.readers import read_verdicts
from bayesjudge.studies.accuracy.chosen import estimated_weights, looks_chosen, tipping_table
from bayesjudge.studies.accuracy.fits import (
    PANEL,
    AccuracyOptions,
    JudgeFits,
    JudgePlan,
    Part,
    check_judge,
    plan_judge,
)
from bayesjudge.studies.accuracy.guidance import checklist, fit_warnings, warnings_of
from bayesjudge.studies.accuracy.panel import panel_job, panel_part, panel_table, panel_warnings
from bayesjudge.studies.common.checks import joint_gate, stacked_tables
from bayesjudge.studies.common.comparison import Comparison
from bayesjudge.studies.common.ranks import rank_probabilities
from bayesjudge.studies.common.reading import shared_calibration
from bayesjudge.tables import Verdicts

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from rich.table import Table

    from bayesjudge.counts.panel import PanelVotes
    from bayesjudge.inference import Fit
    from bayesjudge.models.judge_error import Labels, Pooling
    from bayesjudge.report import Page
    from bayesjudge.studies.accuracy.fits import LabelChoice

__all__ = ["accuracy"]

#: Said where the test of even labelling rejects.
LOOK_CHOSEN = "labels look chosen"
_QUALITY = ("sensitivity", "specificity", "youden", "delta_youden")


def accuracy(
    verdicts: Any, *, group: str | None = None, cluster: str | Sequence[str] | None = None,
    judges: Iterable[str] | None = None, pooling: Pooling = "partial", labels: LabelChoice = "random",
    engine: str = "nuts", prob: float = 0.95, seed: int = 0, bootstrap: int = 10_000, chains: int = 4,
    draws: int = 1000, tune: int = 1000, compare: bool | None = None,
    population: Population = "superpopulation", panel: bool | None = None,
    truth: Mapping[tuple[str, str], float] | None = None, progress: bool = False,
    executor: Executor | None = None, workers: int = 1,
) -> Comparison:  # fmt: skip
    """Each model's true accuracy and every difference, Bayesian and frequentist intervals side by side.

    Parameters
    ----------
    verdicts : Verdicts, VerdictCounts, or anything that `read_verdicts` takes
        A table of verdicts, or its counts from wherever the rows live.
    group, cluster : str, optional
        Columns as in `count_verdicts`; for counts, give them there.
    judges : iterable of str, optional
        Some of the judges; all by default. Together they are a panel, and each is analysed on its own too.
    pooling : {"partial", "shared", "specific"}
        How far the judge's errors are alike between models.
    labels : {"random", "chosen-by-verdict", "enriched"}
        How the labelled answers were chosen: evenly, by the judge's verdicts and nothing else, or each by its
        own label and nothing else. The first is tested; labels that look chosen fail the gate. For the second
        labels are weighed by probabilities estimated from the verdicts. Labels drawn with known, unequal
        probabilities need no option but the column ``label_probability``.
    engine : {"nuts", "hmc", "laplace", "pymc"}
        As in `fit`, with ``chains, draws, tune``.
    prob : float
        Probability of every interval, between 0 and 1.
    seed : int
        Equal seeds give equal answers.
    bootstrap : int
        Replicates of the bootstrap baselines; 0 leaves them out.
    compare : bool, optional
        Fit the other two poolings too and compare all three by leave-one-out; by default when there is one
        judge. Needs two models or more.
    population : {"superpopulation", "items"}
        Accuracy on questions like these, or on exactly these items: an answer with a label is then known, and
        intervals narrow as labels are added, to nothing when every answer has one.
    panel : bool, optional
        Also regress the labels on the votes of all judges (`JudgePanel`); by default where there are two
        judges or more and any label. Needs verdicts, not counts.
    truth : mapping, optional
        Known truth by ``(estimand, unit)``, for simulated data.
    progress : bool
        Show progress bars on standard error.
    executor, workers
        Where the fits are made, as in `run_jobs`; the answer does not depend on it.

    Returns
    -------
    Comparison

    Raises
    ------
    InputError, UsageError, EngineError
        A table or an option that cannot be used; options are looked at before anything is counted.

    Examples
    --------
    >>> from bayesjudge.datasets import simulate_verdicts
    >>> table = simulate_verdicts(seed=3, labelled=60, unlabelled=90).verdicts
    >>> answer = accuracy(table, engine="laplace", pooling="shared", draws=300, bootstrap=200, compare=False)
    >>> answer.estimates.where(estimand="accuracy", unit="a").frame["method"].iloc[0]
    'bayes:judge_error[shared]'
    """
    options = AccuracyOptions(
        pooling=pooling, labels=labels, engine=engine, prob=prob, seed=seed, bootstrap=bootstrap,
        chains=chains, draws=draws, tune=tune, compare=compare, population=population, progress=progress,
    )  # fmt: skip
    table = _table(verdicts)
    # Several answers to one question belong together where a tool's log says so.
    cluster = cluster or (table.cluster if isinstance(table, Verdicts) else None)
    counts = _counted(table, group, cluster)
    _require_one_account(counts, options)
    chosen = _choose(counts, judges)
    compared = len(chosen) == 1 if compare is None else compare
    votes = _votes(table, counts, chosen, panel, group=group, cluster=cluster)
    plans = {judge: _planned(counts.for_judge(judge), options, compared=compared) for judge in chosen}
    jobs = {} if votes is None else {(PANEL, ""): panel_job(votes, options)}
    jobs |= {(judge, name): job for judge, one in plans.items() for name, job in one.plan.jobs.items()}
    made = run_fits(jobs, executor=executor, workers=workers)
    parts = {} if votes is None else {PANEL: panel_part(made[PANEL, ""], votes, options)}
    messages = [] if votes is None else panel_warnings(parts[PANEL], votes)
    parts |= {judge: _one_judge(one, {name: made[judge, name] for name in one.plan.jobs}, options)
              for judge, one in plans.items()}  # fmt: skip
    clusters = cluster if cluster is None or isinstance(cluster, str) else list(cluster)
    settings = {
        **options.settings, "judges": chosen, "group": group, "cluster": clusters, "compare": compared,
        "panel": votes is not None,
        "label_source": counts.label_source,
    }  # fmt: skip
    return _assemble(counts, parts, settings, truth or {}, messages)


def _table(verdicts: Any) -> Any:
    # An Ibis table is counted where it lives; everything else is read into a validated table first.
    ready = isinstance(verdicts, Verdicts | VerdictCounts) or type(verdicts).__module__.startswith("ibis.")
    return verdicts if ready else read_verdicts(verdicts)


def _counted(table: Any, group: str | None, cluster: str | Sequence[str] | None) -> VerdictCounts:
    if not isinstance(table, VerdictCounts):
        return count_verdicts(table, group=group, cluster=cluster)
    if group or cluster:
        raise UsageError("these are counts already: give group= and cluster= to count_verdicts")
    return table


def _require_one_account(counts: VerdictCounts, options: AccuracyOptions) -> None:
    """How labels were chosen is said once, by the column or by the option."""
    if counts.weighted and options.labels != "random":
        raise UsageError(f"labels={options.labels!r}, and the column label_probability says how labels were "
                         "chosen: give one of them")  # fmt: skip
    if counts.weighted and options.population == "items":
        raise UsageError("population='items' needs labels that were drawn evenly, without the column "
                         "label_probability: weights speak of questions like these")  # fmt: skip


def _votes(
    table: Any, counts: VerdictCounts, judges: Sequence[str], panel: bool | None, *, group: str | None,
    cluster: str | Sequence[str] | None,
) -> PanelVotes | None:  # fmt: skip
    """Votes side by side where a panel is asked for, or where there is something to learn from one."""
    counted = isinstance(table, VerdictCounts)
    if panel and counted:
        raise UsageError("panel=True needs every answer's votes side by side: give verdicts, not counts")
    if panel is None:
        panel = not counted and len(judges) > 1 and bool((counts.answers.label >= 0).any())
    return panel_table(table, judges, group=group, cluster=cluster) if panel else None


def _choose(counts: VerdictCounts, judges: Iterable[str] | None) -> list[str]:
    asked = [judges] if isinstance(judges, str) else judges
    chosen = list(counts.judges) if asked is None else list(dict.fromkeys(asked))
    unknown = [judge for judge in chosen if judge not in counts.judges]
    if unknown or not chosen:
        wrong = f"no judge {unknown[0]!r}" if unknown else "no judge chosen"
        raise UsageError(f"{wrong}; the table has {', '.join(map(repr, counts.judges))}")
    return chosen


@dataclass(frozen=True, eq=False, kw_only=True)
class _Judge:
    """Counts of one judge as they are fitted, the test of even labelling, and the fits to be made."""

    counts: VerdictCounts
    selection: pd.DataFrame
    plan: JudgePlan


def _planned(counts: VerdictCounts, options: AccuracyOptions, *, compared: bool) -> _Judge:
    selection = _even(counts, options)
    chosen, superpopulation = looks_chosen(selection), options.population == "superpopulation"
    labels: Labels = "enriched" if options.labels == "enriched" else "random"
    if counts.weighted:
        labels = "weighted"
    elif options.labels == "chosen-by-verdict" and superpopulation:
        counts = estimated_weights(counts)
        labels = "reweighted" if counts.weighted else "random"
    again = estimated_weights(counts) if chosen and superpopulation else None
    plan = plan_judge(counts, options, labels=labels, compared=compared, chosen=again)
    return _Judge(counts=counts, selection=selection, plan=plan)


def _one_judge(judge: _Judge, made: Mapping[str, Fit], options: AccuracyOptions) -> Part:
    fits, counts, population = judge.plan.fits(made), judge.counts, options.population
    chosen = looks_chosen(judge.selection)
    bayes = fits.headline.estimates(prob=options.prob, population=population)
    frequentist: dict[str, Any] = {
        "prob": options.prob, "bootstrap": options.bootstrap, "seed": options.seed,
    }  # fmt: skip
    rates = fits.by_model.estimates(prob=options.prob).where(estimand=_QUALITY)
    model = fits.headline.model
    if not isinstance(model, GivesAccuracy):
        raise lacks(model, GivesAccuracy)
    theta = model.accuracy(fits.headline.posterior, fits.headline.data, population=population)
    quality = Estimates.concat([rates, judge_quality(counts, fits.judge, **frequentist)])
    defensible, sentence = shared_calibration(quality.with_column(judge=fits.judge))
    refused = [sentence] if options.pooling == "shared" and defensible is False else []
    refused += [LOOK_CHOSEN] if chosen else []
    bayes = bayes.where(estimand=_named_for(population)).with_note("; ".join(refused))
    more = {}
    if fits.reweighted is not None:
        more["tipping"] = tipping_table(fits.headline, prob=options.prob).assign(judge=fits.judge)
        second = fits.reweighted.estimates(prob=options.prob).where(estimand=_named_for(population))
        bayes = Estimates.concat([bayes, second])
    return Part(
        fits=fits,
        bayes=bayes,
        baselines=accuracy_baselines(counts, fits.judge, population=population, **frequentist),
        quality=quality,
        ranks=rank_probabilities(theta),
        checks={**check_judge(fits), "selection": judge.selection, **more},
        reasons=tuple(refused),
    )


def _even(counts: VerdictCounts, options: AccuracyOptions) -> pd.DataFrame:
    """The test of even labelling, one row; none where there is nothing to test, or the user said how."""
    judge = counts.judges[0]
    found = even_labelling(counts, judge, seed=options.seed)
    row = pd.DataFrame([{"judge": judge, **asdict(found)}])
    tested = np.isfinite(found.p) and options.labels == "random" and not counts.weighted
    return row if tested else row.iloc[:0]


def _named_for(population: Population) -> list[str]:
    return [estimand_of(name, population) for name in ("accuracy", "difference")]


def _assemble(
    counts: VerdictCounts, parts: Mapping[str, Part], settings: Mapping[str, Any],
    truth: Mapping[tuple[str, str], float], messages: Sequence[str],
) -> Comparison:  # fmt: skip
    estimates = _estimates(parts, settings["population"]).with_truth(truth)
    diagnostics = Estimates.concat(part.quality.with_column(judge=judge) for judge, part in parts.items())
    diagnostics = diagnostics.with_truth(truth)
    checks = stacked_tables(part.checks for part in parts.values())
    fits = [part.fits for part in parts.values()]
    warned = warnings_of(counts, estimates, diagnostics, checks, settings["judges"], panel=settings["panel"])
    ranks = [part.ranks.assign(judge=judge) for judge, part in parts.items()]
    return Comparison(
        question="accuracy", estimates=estimates, diagnostics=diagnostics,
        ranks=pd.concat(ranks, ignore_index=True), fits=_named(fits), checks=checks,
        warnings=(*fit_warnings(fits), *messages, *warned),
        checklist=checklist(
            counts, estimates, diagnostics, checks["selection"], prob=settings["prob"],
            labels=settings["labels"], population=settings["population"],
        ),
        gate=_joint_gate(list(parts.values())), page_of=_page, screen_of=_screen,
        dropped=counts.dropped, settings=settings,
    )  # fmt: skip


def _screen(answer: Comparison, width: int) -> Sequence[Table | str]:
    from bayesjudge.studies.accuracy.terminal import accuracy_screen

    return accuracy_screen(answer, width)


def _page(answer: Comparison) -> Page:
    # Drawing is imported when a page is asked for: numbers alone do not need it.
    from bayesjudge.studies.accuracy.page import accuracy_page

    return accuracy_page(answer)


def _estimates(parts: Mapping[str, Part], population: Population) -> Estimates:
    """Accuracies then differences, Bayesian rows first; the judge is named where there are several."""
    names = {judge: judge if len(parts) > 1 else "" for judge in parts}
    tables = [(names[judge], part.bayes) for judge, part in parts.items()]
    tables += [(names[judge], part.baselines) for judge, part in parts.items()]
    return Estimates.concat(
        rows.where(estimand=estimand).with_column(judge=judge)
        for estimand in _named_for(population)
        for judge, rows in tables
    )


def _named(fits: Sequence[JudgeFits]) -> dict[str, Fit]:
    """Every fit by its method name, with its judge where there are several."""
    return {f"{label}{_by(one, fits)}": single for one in fits for label, single in one.everything.items()}


def _joint_gate(parts: Sequence[Part]) -> Gate:
    """Every headline's gate, and what else speaks against its rows."""
    fits = [part.fits for part in parts]
    names = [f"{one.headline.model.label}{_by(one, fits)}" for one in fits]
    gate = joint_gate({name: one.headline.gate for name, one in zip(names, fits, strict=True)})
    refused = [
        f"{name}: {reason}" for name, part in zip(names, parts, strict=True) for reason in part.reasons
    ]
    reasons = (*gate.reasons, *refused)
    return replace(gate, passed=not reasons, reasons=reasons)


def _by(one: JudgeFits, fits: Sequence[JudgeFits]) -> str:
    return f", judge {one.judge}" if len(fits) > 1 and one.judge != PANEL else ""
