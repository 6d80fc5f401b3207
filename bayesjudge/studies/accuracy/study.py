"""The accuracy question: each model's true accuracy, and which model is better."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from bayesjudge.adapters import FunctionModel, TreeModel
from bayesjudge.adapters.views import QUALITY
from bayesjudge.baseline import DEFAULT
from bayesjudge.baselines import METHODS, accuracy_baselines, judge_quality
from bayesjudge.baselines.accuracy.selection import even_labelling
from bayesjudge.counts import VerdictCounts, count_verdicts
from bayesjudge.counts.labelled_answers import ANSWER, labelled_answers, labelled_pairs
from bayesjudge.counts.panel import PanelVotes, panel_votes
from bayesjudge.effects import LABEL, RATES, columns_named
from bayesjudge.effects.formula import base_of
from bayesjudge.effects.screen import screen
from bayesjudge.errors import UsageError, require_judges
from bayesjudge.estimates import Estimates, Population, estimand_of
from bayesjudge.estimates.mixing import Gate
from bayesjudge.inference import Fit, run_fits
from bayesjudge.model import GivesAccuracy, lacks
from bayesjudge.models.judge_error import JudgeError, Labels
from bayesjudge.models.judge_panel import JudgePanel
from bayesjudge.options import AccuracyOptions, takes
from bayesjudge.readers import read_verdicts
from bayesjudge.readers.column_kinds import is_judgement, is_name
from bayesjudge.report.accuracy.headline import LOOK_CHOSEN, PANEL
from bayesjudge.report.accuracy.terminal import MAIN
from bayesjudge.report.comparison import Comparison
from bayesjudge.report.lead import data_facts, file_fact, shared_calibration
from bayesjudge.report.terminal import closed_form_first
from bayesjudge.studies.accuracy.chosen import estimated_weights, looks_chosen, tipping_table
from bayesjudge.studies.accuracy.fits import OWN, JudgeFits, JudgePlan, Part, check_judge, plan_judge
from bayesjudge.studies.accuracy.guidance import checklist, fit_warnings, warnings_of
from bayesjudge.studies.accuracy.panel import OF_PANELS, disagreements, panel_jobs, panel_part, panel_warnings
from bayesjudge.studies.common.checks import independence_warnings, joint_gate, stacked_tables
from bayesjudge.studies.common.columns import reaching
from bayesjudge.studies.common.conditions import with_conditions, with_decision
from bayesjudge.studies.common.methods import (
    Further,
    baseline_rows,
    further_models,
    is_requested,
    require_believed,
    units_of,
)
from bayesjudge.studies.common.ranks import rank_probabilities
from bayesjudge.tables import Verdicts

_OWN_MIX = "frequentist rows know the log's own mix only, so they are given for groups and not for the stated mix"
_OWN_FORMULA = (
    "formulas of a judge's rates are in the rows of each judge; all judges together take one of their own, of the "
    "label: --formula 'label ~ 1 + {column}'"
)
_QUALITY = (*QUALITY, "delta_youden", "effect")


@takes(AccuracyOptions)
def accuracy(verdicts: Any, options: AccuracyOptions) -> Comparison:
    """Each model's true accuracy and every difference, Bayesian and frequentist intervals side by side.

    Parameters
    ----------
    verdicts : Verdicts, VerdictCounts, or anything that `read_verdicts` takes
        A table of verdicts, or its counts from wherever the rows live.

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
    table = _table(verdicts, options)
    if isinstance(table, Verdicts):
        # Several answers to one question belong together where a tool's log says so.
        options = replace(options, cluster=options.cluster or table.cluster)
    every = further_models(options, own=(OWN, JudgePanel().name), needs=GivesAccuracy)
    counts = _counted(table, options, every)
    _require_one_account(counts, options)
    panels = [one for one in every if isinstance(one.model, JudgePanel)]
    models = [one for one in every if one not in panels]
    chosen = _choose(counts, options.judges)
    models = [one.met(options, counts.for_judge(chosen[0])) for one in models]
    _require_one_judge(models, chosen)
    _require_mixable(models, chosen, options)
    # Without a label poolings differ by their priors alone.
    by_default = len(chosen) == 1 and bool((counts.answers.label >= 0).any())
    compared = by_default if options.compare is None else options.compare
    votes = _votes(table, counts, chosen, options, panels)
    plans = {judge: _planned(counts.for_judge(judge), options, models, compared=compared) for judge in chosen}
    together = {} if votes is None else panel_jobs(votes, options, panels)
    jobs = {(PANEL, name): job for name, job in together.items()}
    jobs |= {(judge, name): job for judge, one in plans.items() for name, job in one.plan.jobs.items()}
    require_believed(options, [job.model for job in jobs.values()])
    with closed_form_first(
        _closed_form(plans, options.population),
        prob=options.prob,
        missing=", ".join(dict.fromkeys(job.model.label for job in jobs.values() if not job.compared)),
        first=MAIN,
        show=options.progress,
    ):
        made = run_fits(jobs, executor=options.executor, workers=options.workers)
    parts = {}
    if votes is not None:
        parts[PANEL] = panel_part([made[PANEL, name] for name in together], votes, options)
    messages = [] if votes is None else panel_warnings(parts[PANEL], votes)
    messages += [_OWN_MIX] * bool(options.shares)
    messages += _own_formula(options) if votes is not None else []
    parts |= {
        judge: _one_judge(one, {name: made[judge, name] for name in one.plan.jobs}, options)
        for judge, one in plans.items()
    }
    messages += disagreements(parts[PANEL].bayes, parts[chosen[0]].bayes) if set(parts) == {PANEL, *chosen[:1]} else []
    settings = {
        **options.settings,
        **_facts(counts, chosen, options.cluster),
        **file_fact(verdicts),
        **({"metric": table.metric} if isinstance(table, Verdicts) and table.metric else {}),
        "compare": compared,
        "panel": votes is not None,
        "label_source": counts.label_source,
    }
    screened = _screened(table, chosen, options, _columns(options, every))
    answer = _assemble(counts, parts, settings, options.truth or {}, messages, screened=screened)
    answer = replace(answer, source=getattr(table, "source", ()))
    answers = counts.answers
    labels = float(answers.n[answers.label >= 0].sum())
    return with_conditions(
        with_decision(answer, options), options, rows=float(answers.n @ answers.runs.sum(axis=1)), labels=labels
    )


def _facts(counts: VerdictCounts, judges: Sequence[str], cluster: str | Sequence[str] | None) -> dict[str, Any]:
    """How much the chosen judges judged, how much of it is labelled, and in how many clusters."""
    answers, codes = counts.answers, [counts.judges.index(judge) for judge in judges]
    judged = (answers.runs[:, codes] > 0).any(axis=1)
    columns = " × ".join([cluster] if isinstance(cluster, str) else cluster or ())
    facts = data_facts(
        judges,
        items=max(counts.items[judge].n.sum() for judge in judges),
        models=len(set(answers.model[judged].tolist())),
        answers=answers.n[judged].sum(),
        labelled_answers=answers.n[judged & (answers.label >= 0)].sum(),
    )
    return {**facts, "clusters": {columns: len(set(answers.cluster[judged].tolist()))} if counts.clusters else {}}


def _table(verdicts: Any, options: AccuracyOptions) -> Any:
    # An Ibis table is counted where it lives; everything else is read into a validated table first.
    ready = isinstance(verdicts, Verdicts | VerdictCounts) or type(verdicts).__module__.startswith("ibis.")
    names = [options.group, *(options.cluster or ()), *(columns_named(options.formulas_of(*RATES, LABEL)) or ())]
    return reaching(verdicts if ready else read_verdicts(verdicts), names)


def _counted(table: Any, options: AccuracyOptions, every: Sequence[Further]) -> VerdictCounts:
    if not isinstance(table, VerdictCounts):
        return count_verdicts(table, group=options.group, cluster=options.cluster, columns=_columns(options, every))
    if options.group or options.cluster:
        raise UsageError("these are counts already: give group= and cluster= to count_verdicts")
    return table


def _columns(options: AccuracyOptions, every: Sequence[Further]) -> list[str] | None:
    """Columns that formulas and models name, and the group; none where rates differ by system alone."""
    models = [one.model for one in every if one.made is None]
    given = [text for model in models if isinstance(model, JudgeError) for text in model.formulas]
    named = columns_named([*options.formulas_of(*RATES), *given])
    cells = [base_of(name)[1] for model in models if isinstance(model, FunctionModel) for name in model.columns]
    if options.group and options.labels != "chosen-by-verdict":
        cells.append(options.group)
    return list(dict.fromkeys(sorted([*(named or []), *cells]))) if cells else named


def _require_one_account(counts: VerdictCounts, options: AccuracyOptions) -> None:
    """How labels were chosen is said once, by the column or by the option."""
    if counts.weighted and options.labels != "random":
        raise UsageError(
            f"labels={options.labels!r}, and the column label_probability states how labels were chosen: give one"
        )
    if counts.weighted and options.population == "items":
        raise UsageError(
            "population='items' needs labels that were drawn evenly, without the column "
            "label_probability: weights speak of questions like these"
        )


def _require_one_judge(models: Sequence[Further], judges: Sequence[str]) -> None:
    """Stored draws are of one judge, and do not say of which."""
    for model in (one.model for one in models if isinstance(one.model, TreeModel)):
        if len(judges) > 1:
            raise UsageError(f"{model.label} holds draws of one judge, and there are {', '.join(judges)}: choose it")


def _require_mixable(models: Sequence[Further], judges: Sequence[str], options: AccuracyOptions) -> None:
    """A stated mix is of `judge_error` and one judge: nothing else in the answer would be of it."""
    if not options.shares:
        return
    if other := [one.model.label for one in models if not isinstance(one.model, JudgeError)]:
        raise UsageError(f"shares= are taken by judge_error alone, not by {other[0]}: leave one out")
    if options.formulas_of(LABEL) or (len(judges) > 1 and options.panel is not False):
        raise UsageError(
            f"shares= are not taken by all judges together ({', '.join(judges)}): choose one with judges=, or give "
            "panel=False, and no formula of the label"
        )


def _votes(
    table: Any, counts: VerdictCounts, judges: Sequence[str], options: AccuracyOptions, panels: Sequence[Further] = ()
) -> PanelVotes | None:
    """Votes of every judge by answer, where a panel is requested or has something to learn from."""
    counted, panel = isinstance(table, VerdictCounts), True if panels else options.panel
    if panel and counted:
        raise UsageError("panel=True needs every answer's votes side by side: give verdicts, not counts")
    if panel is None and options.models is not None:
        panel = None if is_requested(options, DEFAULT) else is_requested(options, JudgePanel().name)
    if panel is None and options.formulas_of(LABEL):
        panel = True
    if panel is None:
        panel = not counted and len(judges) > 1 and bool((counts.answers.label >= 0).any())
    if not panel:
        return None
    formulas = [text for one in panels if isinstance(one.model, JudgePanel) for text in one.model.formulas]
    columns = columns_named([*options.formulas_of(LABEL), *formulas])
    found = panel_votes(table, group_by=options.group, cluster=options.cluster, columns=columns)
    return found.for_judges(judges)


def _own_formula(options: AccuracyOptions) -> list[str]:
    """How the panel takes the columns that formulas of rates name, where it has no formula."""
    named = columns_named(options.formulas_of(*RATES)) or []
    columns = [name for name in named if name != options.group]
    return [_OWN_FORMULA.format(column=columns[0])] if columns and not options.formulas_of(LABEL) else []


def _choose(counts: VerdictCounts, judges: Iterable[str] | None) -> list[str]:
    selected = [judges] if isinstance(judges, str) else judges
    names = list(counts.judges) if selected is None else list(dict.fromkeys(selected))
    require_judges(names, counts.judges)
    return names


@dataclass(frozen=True, eq=False, kw_only=True)
class _Judge:
    """Counts of one judge as they are fitted, what has closed forms, and the fits to be made."""

    counts: VerdictCounts
    selection: pd.DataFrame
    plan: JudgePlan
    baselines: Estimates
    quality: Estimates


def _planned(counts: VerdictCounts, options: AccuracyOptions, models: Sequence[Further], *, compared: bool) -> _Judge:
    selection = _even(counts, options)
    chosen, superpopulation = looks_chosen(selection), options.population == "superpopulation"
    labels: Labels = "enriched" if options.labels == "enriched" else "random"
    if counts.weighted:
        labels = "weighted"
    elif options.labels == "chosen-by-verdict" and superpopulation:
        counts = estimated_weights(counts)
        labels = "reweighted" if counts.weighted else "random"
    # Estimated weights are of patterns of verdicts, not of single answers.
    again = estimated_weights(counts) if chosen and superpopulation and counts.rows is None else None
    plan = plan_judge(counts, options, labels=labels, compared=compared, models=models, chosen=again)
    frequentist: dict[str, Any] = {"prob": options.prob, "bootstrap": options.bootstrap, "seed": options.seed}
    return _Judge(
        counts=counts,
        selection=selection,
        plan=plan,
        baselines=_baselines(counts, options, frequentist),
        quality=judge_quality(counts, counts.judges[0], **frequentist),
    )


def _closed_form(plans: Mapping[str, _Judge], population: Population) -> Estimates:
    accuracy = estimand_of("accuracy", population)
    return Estimates.concat(
        one.baselines.where(estimand=accuracy).with_column(judge=judge if len(plans) > 1 else "")
        for judge, one in plans.items()
    )


def _one_judge(judge: _Judge, made: Mapping[str, Fit], options: AccuracyOptions) -> Part:
    fits, population = judge.plan.fits(made), options.population
    chosen = looks_chosen(judge.selection)
    bayes = [_rows(one, options) for one in fits.answering]
    # To adjust draws for shared items takes as long as all else that is made of them.
    same = fits.by_model is fits.headline and population == "superpopulation"
    rates = bayes[0] if same else _rows(fits.by_model, options, superpopulation=True)
    model = fits.headline.model
    if not isinstance(model, GivesAccuracy):
        raise lacks(model, GivesAccuracy)
    mix: dict[str, Any] = {"shares": options.shares} if options.shares and isinstance(model, JudgeError) else {}
    theta = model.accuracy(fits.headline.posterior, fits.headline.data, population=population, **mix)
    own = [further.where(estimand=QUALITY) for further in bayes[1:]]
    quality = Estimates.concat([rates.where(estimand=_QUALITY), *own, judge.quality])
    defensible, sentence = shared_calibration(quality.with_column(judge=fits.judge))
    pooled = options.pooling == "shared" and fits.headline.model.name == OWN
    refused = [sentence] if pooled and defensible is False else []
    refused += [LOOK_CHOSEN] if chosen else []
    answering = Estimates.concat(bayes).where(estimand=_named_for(population)).with_note("; ".join(refused))
    more = {}
    if chosen and population == "superpopulation" and model.name == OWN:
        more["tipping"] = tipping_table(fits.headline, prob=options.prob, **mix).assign(judge=fits.judge)
    if fits.reweighted is not None:
        second = fits.reweighted.estimates(prob=options.prob).where(estimand=_named_for(population))
        answering = Estimates.concat([answering, second])
    return Part(
        fits=fits,
        bayes=answering,
        baselines=judge.baselines,
        quality=quality,
        ranks=rank_probabilities(theta),
        checks={**check_judge(fits), "selection": judge.selection, **more},
        reasons=tuple(refused),
    )


def _rows(one: Fit, options: AccuracyOptions, *, superpopulation: bool = False) -> Estimates:
    """Rows of one posterior, on the population and the mix of the options where they are not the default."""
    plain = superpopulation or options.population == "superpopulation"
    other: dict[str, Any] = {} if plain else {"population": options.population}
    if options.shares and isinstance(one.model, JudgeError):
        other["shares"] = options.shares
    return one.estimates(prob=options.prob, **other)


def _baselines(counts: VerdictCounts, options: AccuracyOptions, frequentist: Mapping[str, Any]) -> Estimates:
    """Rows of the baselines of one judge; on a stated mix none is a total, for they are of the log's own."""

    def ours(names: Collection[str] | None) -> Estimates:
        mine = None if names is None else [name for name in names if name in METHODS]
        if mine == []:
            return Estimates.from_rows([])
        judge, population = counts.judges[0], options.population
        return accuracy_baselines(counts, judge, methods=mine, population=population, **frequentist)

    accuracy, gaps = _named_for(options.population)
    units = units_of(counts.models, levels=accuracy, gaps=gaps)
    found = baseline_rows(options, counts, question="accuracy", own=(*METHODS, *OF_PANELS), rows=ours, units=units)
    return found.where(group=[name for name in found.frame["group"].unique() if name]) if options.shares else found


def _even(counts: VerdictCounts, options: AccuracyOptions) -> pd.DataFrame:
    """The test of even labelling, one row; none where there is nothing to test, or the user said how."""
    judge = counts.judges[0]
    found = even_labelling(counts, judge, seed=options.seed)
    row = pd.DataFrame([{"judge": judge, **asdict(found)}])
    tested = np.isfinite(found.p) and options.labels == "random" and not counts.weighted
    return row if tested else row.iloc[:0]


def _screened(
    table: Any, judges: Sequence[str], options: AccuracyOptions, columns: Sequence[str] | None
) -> pd.DataFrame:
    """The test of every column that is no judgement nor in the model already; no rows where nothing can be."""
    if isinstance(table, VerdictCounts):
        return screen(pd.DataFrame(columns=["judge"]), [])
    clusters = [options.cluster] if isinstance(options.cluster, str) else list(options.cluster or ())
    answers = labelled_answers(table, clusters=clusters)
    known = {*ANSWER, *clusters, *(columns or ())}
    # What people and judges say explains no errors: it is unknown where nothing was labelled, or made of them.
    free = [name for name in map(str, answers) if name not in known and not is_judgement(name)]
    return screen(answers[answers["judge"].isin(judges)], free, names=[*filter(is_name, free)])


def _named_for(population: Population) -> list[str]:
    return [estimand_of(name, population) for name in ("accuracy", "difference")]


def _assemble(
    counts: VerdictCounts,
    parts: Mapping[str, Part],
    settings: Mapping[str, Any],
    truth: Mapping[tuple[str, str], float],
    messages: Sequence[str],
    *,
    screened: pd.DataFrame,
) -> Comparison:
    estimates = _estimates(parts, settings["population"]).with_truth(truth)
    diagnostics = Estimates.concat(part.quality.with_column(judge=judge) for judge, part in parts.items())
    diagnostics = diagnostics.with_truth(truth)
    checks = stacked_tables(part.checks for part in parts.values())
    even = settings["labels"] == "random" and not (counts.clusters or counts.weighted or settings.get("shares"))
    if len(counts.models) > 1 and even:
        checks["labelled_pairs"] = labelled_pairs(counts)
    if len(screened):
        checks["columns"] = screened
    fits = [part.fits for part in parts.values()]
    warned = warnings_of(counts, estimates, diagnostics, checks, settings["judges"], panel=settings["panel"])
    independent = independence_warnings(
        (one for part in fits for one in part.answering), filter(None, settings["clusters"])
    )
    ranks = [part.ranks.assign(judge=judge) for judge, part in parts.items()]
    return Comparison(
        question="accuracy",
        estimates=estimates,
        diagnostics=diagnostics,
        ranks=pd.concat(ranks, ignore_index=True),
        fits={f"{label}{_by(one, fits)}": fit for one in fits for label, fit in one.everything.items()},
        checks=checks,
        # A table's own are those of its votes too.
        warnings=tuple(dict.fromkeys([*fit_warnings(fits), *messages, *warned, *independent])),
        checklist=checklist(
            counts,
            estimates,
            diagnostics,
            checks["selection"],
            prob=settings["prob"],
            labels=settings["labels"],
            population=settings["population"],
            clusters=settings["clusters"],
        ),
        gate=_joint_gate(list(parts.values())),
        dropped=counts.dropped,
        settings=settings,
    )


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


def _joint_gate(parts: Sequence[Part]) -> Gate:
    """Every headline's gate, and what else speaks against its rows."""
    fits = [part.fits for part in parts]
    names = [f"{one.headline.model.label}{_by(one, fits)}" for one in fits]
    gate = joint_gate(
        {f"{single.model.label}{_by(one, fits)}": single.gate for one in fits for single in one.answering}
    )
    refused = [f"{name}: {reason}" for name, part in zip(names, parts, strict=True) for reason in part.reasons]
    reasons = (*gate.reasons, *refused)
    return replace(gate, passed=not reasons, reasons=reasons)


def _by(one: JudgeFits, fits: Sequence[JudgeFits]) -> str:
    return f", judge {one.judge}" if len(fits) > 1 and one.judge != PANEL else ""
