"""The reliability question: would the judge say the same if asked again, and how often must we ask."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from bayesjudge.counts.scores import ScoreCells, ScoreCounts, count_scores
from bayesjudge.counts.trials import ChoiceCounts, TrialCounts, count_choices, count_trials
from bayesjudge.effects import POSITION, PREFERENCE, SCORE
from bayesjudge.errors import InputError, Problem, UsageError, require_judges
from bayesjudge.estimates import Estimates
from bayesjudge.inference import Fit, Fitting, run_fits
from bayesjudge.model import Model
from bayesjudge.models.pointwise_scores import PointwiseScores
from bayesjudge.models.repeated_trials import RepeatedTrials
from bayesjudge.options import ReliabilityOptions, takes
from bayesjudge.readers import read_repeats, read_scores, read_trials
from bayesjudge.report.comparison import Comparison
from bayesjudge.report.lead import data_facts, file_fact
from bayesjudge.studies.common.checks import check_fits, joint_gate, stacked_tables
from bayesjudge.studies.common.conditions import with_conditions, with_decision
from bayesjudge.studies.common.methods import Further, baseline_rows, further_models, require_believed, require_distinct
from bayesjudge.studies.reliability.guidance import checklist, warnings_of
from bayesjudge.studies.reliability.parts import (
    OWN,
    Pairwise,
    Pointwise,
    own_models,
    pairwise,
    pairwise_job,
    pointwise,
    pointwise_job,
)
from bayesjudge.studies.reliability.tables import Chosen, arranged, chosen, own_tables
from bayesjudge.tables import Scores, Trials

type Tallied = TrialCounts | ChoiceCounts

#: Cells (judge, item, condition, order) past which a posterior takes long where all effects are sampled: 3,000 take a
#: minute, 80,000 two hours.
MANY_CELLS = 20_000


@takes(ReliabilityOptions, positional=["scores"])
def reliability(trials: Any, options: ReliabilityOptions) -> Comparison:
    """How repeatable judges are, Bayesian and frequentist intervals side by side, and where to ask again.

    Parameters
    ----------
    trials : Trials, TrialCounts, Scores, or anything that `read_trials` takes
        Repeated comparisons, or choices among more options. A file that (also) holds scores is read for
        both where ``scores`` is not given.

    Returns
    -------
    Comparison
        ``estimates``: flip rates, shares of slots, minimum trials, noise budgets, intraclass correlations, ...;
        ``diagnostics``: position bias, agreement of judges, layers of variance, changes between conditions;
        among ``checks`` the tables ``items``, ``curves``, ``minimum``, ``tiers``, ``plan``, ``tests``,
        ``ablations``, ``gaps``.

    Raises
    ------
    InputError, UsageError, EngineError
        A table or an option that cannot be used; options are looked at before anything is counted.

    Examples
    --------
    On a log with the columns ``item, judge, order, winner``, ``reliability("log.csv").to_html("page.html")``
    fits, checks and writes the page. Options are looked at first:

    >>> reliability("log.csv", prob=95)
    Traceback (most recent call last):
    bayesjudge.errors.UsageError: prob=95 must lie between 0 and 1, for instance 0.95
    """
    tables = _tables(trials, options.scores)
    of_trials, of_scores = own_models(options)
    others = further_models(options, own=OWN, needs=Model)
    _require_pairs(options.cluster, tables[0])
    tally = partial(_tally, columns=_columns(of_trials, others), cluster=options.cluster)
    compared = _count(tables[0], (TrialCounts, ChoiceCounts), tally)
    scored = _count(tables[1], ScoreCounts, partial(count_scores, columns=_columns(of_scores, others)))
    _require_formulas(options, compared, scored)
    if options.judges is not None:
        compared, scored = _chosen(compared, scored, list(options.judges))
    if isinstance(compared, TrialCounts) and compared.grid > MANY_CELLS:
        # Items judged once say little of repeatability, and each has an effect for every judge.
        compared = compared.repeated()
    counts = [one for one in (compared, scored) if one is not None]
    if compared is not None:  # of scores alone their own job says it
        _require_repeats(counts)
        _warn_of_hours(of_trials, compared)
    further = [one.met(options, *counts) for one in others]
    require_distinct([of_trials, of_scores, *(one.model for one in further)])
    planned: dict[str, Fitting | str] = {}
    if isinstance(compared, TrialCounts):
        planned["trials"] = pairwise_job(compared, options)
    if scored is not None:
        planned["scores"] = pointwise_job(scored, options, alone=compared is None)
    jobs = {name: job for name, job in planned.items() if not isinstance(job, str)}
    more = {one.model.label: _further_job(one, counts, options) for one in further}
    require_believed(options, [job.model for job in (*jobs.values(), *more.values())])
    made = run_fits({**jobs, **more}, executor=options.executor, workers=options.workers)
    pair: Pairwise | Chosen | None = None
    if isinstance(compared, ChoiceCounts):
        pair = chosen(compared, options)
    elif compared is not None:
        pair = pairwise(made["trials"], compared, options)
    point = None
    if scored is not None:
        unfitted = planned["scores"]
        point = pointwise(unfitted if isinstance(unfitted, str) else made["scores"], scored, options)
    answer = _assemble(pair, point, options, [made[label] for label in more], file=file_fact(trials))
    # One file may hold both.
    files = {one["file"]: one for table in tables for one in getattr(table, "source", ())}
    answer = replace(answer, source=tuple(files.values()))
    rows = sum(float(one.cells.n.sum() if isinstance(one, ScoreCounts) else one.n.sum()) for one in counts)
    return with_conditions(with_decision(answer, options), options, rows=rows)


def _require_repeats(counts: Sequence[Tallied | ScoreCounts]) -> None:
    """Without a second verdict on anything, only the prior would answer."""
    for one in counts:
        cells = one.cells if isinstance(one, ScoreCounts) else one
        response = [cells.response] if isinstance(cells, ScoreCells) else []
        _, cell = np.unique(np.stack([cells.judge, cells.item, *response]), axis=1, return_inverse=True)
        if np.bincount(cell, weights=cells.n.reshape(len(cell), -1).sum(axis=1)).max() > 1:
            return
    problem = Problem(
        column="item",
        found="no item that one judge judged twice, so nothing shows whether it would repeat a verdict",
        allowed="several verdicts of a judge on an item (or several scores of a response)",
        fix="Ask the judge again: 100 items, 3 times in each order, are a start.",
    )
    raise InputError([problem])


def _warn_of_hours(model: RepeatedTrials, compared: Tallied) -> None:
    """Before all effects are sampled: the answer comes too late to say so."""
    if not isinstance(compared, TrialCounts) or compared.grid <= MANY_CELLS:
        return
    if model.marginal(model.prepare(compared)) is None:
        size = f"{len(compared.judges)} judges, {len(compared.items)} items, {len(compared.conditions)} conditions"
        warnings.warn(
            f"{size}: {compared.grid} cells take from minutes to hours to sample; choose one prompt or one judge",
            stacklevel=4,
        )


def _facts(counts: Sequence[Tallied | ScoreCounts]) -> dict[str, Any]:
    """How much was asked of which judges."""
    judges = dict.fromkeys(judge for one in counts for judge in one.judges)
    numbers: dict[str, int] = {"items": len({item for one in counts for item in one.items})}
    for one in counts:
        if isinstance(one, TrialCounts) and one.cluster is not None:
            numbers["clusters"] = len(set(one.cluster.tolist()))
        if isinstance(one, ScoreCounts):
            numbers["scores"] = int(one.cells.n.sum())
        else:
            numbers["trials"] = int(one.n.sum())
    return data_facts(judges, **numbers)


def _further_job(further: Further, counts: Sequence[Tallied | ScoreCounts], options: ReliabilityOptions) -> Fitting:
    """A further model, of the comparisons where there are some and it takes them, else of the scores."""
    refused: list[UsageError | InputError] = []
    for one in counts:
        try:
            return further.job(further.model.prepare(one), options)
        except (UsageError, InputError) as error:
            refused.append(error)
    raise refused[0]


def _tables(trials: Any, scores: Any) -> tuple[Any, Any]:
    """Comparisons and scores: tables, counts, or Ibis tables, which are counted where they live."""
    if trials is None and scores is None:
        raise UsageError("give trials= (comparisons), scores= (scores of single responses), or both")
    if isinstance(trials, (Scores, ScoreCounts)) and scores is None:
        trials, scores = None, trials
    if scores is None and not _is_ready(trials, Trials, TrialCounts, ChoiceCounts):
        return read_repeats(trials)
    return (
        trials if _is_ready(trials, Trials, TrialCounts, ChoiceCounts) else read_trials(trials),
        scores if _is_ready(scores, Scores, ScoreCounts) else read_scores(scores),
    )


def _is_ready(source: Any, *kinds: type[Any]) -> bool:
    return source is None or isinstance(source, kinds) or type(source).__module__.startswith("ibis.")


def _require_pairs(cluster: str | None, trials: Any) -> None:
    """Refuse a cluster where nothing is counted by it."""
    if cluster is None:
        return
    if trials is None:
        raise UsageError("cluster is for comparisons; of scores the responses of one item go together already")
    if isinstance(trials, TrialCounts):
        raise UsageError("these trials are counted: give count_trials(trials, cluster=...) the column")
    if isinstance(trials, ChoiceCounts) or (isinstance(trials, Trials) and trials.options):
        raise UsageError("cluster is for comparisons of two responses, and the log has choices among three or more")


def _tally(trials: Any, *, columns: list[str] | None, cluster: str | None) -> Tallied:
    if isinstance(trials, Trials) and trials.options:
        return count_choices(trials)
    return count_trials(trials, columns=columns, cluster=cluster)


def _columns(own: RepeatedTrials | PointwiseScores, others: Iterable[Further]) -> list[str] | None:
    """Columns that formulas of models of one kind name, the question's own and those that were given."""
    models = [own, *(one.model for one in others if one.made is None and isinstance(one.model, type(own)))]
    return list(dict.fromkeys(name for model in models for name in model.columns or ())) or None


def _require_formulas(options: ReliabilityOptions, compared: Tallied | None, scored: ScoreCounts | None) -> None:
    """Refuse formulas of what the log does not have."""
    trials, scores = options.formulas_of(PREFERENCE, POSITION), options.formulas_of(SCORE)
    if trials and not isinstance(compared, TrialCounts):
        what = "scores alone" if compared is None else "choices among three options or more"
        raise UsageError(f"'{trials[0]}' is for comparisons of two responses, and the log has {what}")
    if scores and scored is None:
        raise UsageError(f"'{scores[0]}' is for scores, and the log has none")


def _count(table: Any, counts: Any, count: Callable[[Any], Any]) -> Any:
    return table if table is None or isinstance(table, counts) else count(table)


def _chosen(
    compared: Tallied | None, scored: ScoreCounts | None, judges: Sequence[str]
) -> tuple[Tallied | None, ScoreCounts | None]:
    """Counts of some judges, each of whom some table must have."""
    parts: list[Tallied | ScoreCounts] = [part for part in (compared, scored) if part is not None]
    known = list(dict.fromkeys(judge for part in parts for judge in part.judges))
    require_judges(judges, known)
    here = [judge for judge in judges if compared is not None and judge in compared.judges]
    there = [judge for judge in judges if scored is not None and judge in scored.judges]
    return (
        compared.for_judges(here) if compared is not None and here else None,
        scored.for_judges(there) if scored is not None and there else None,
    )


def _assemble(
    pair: Pairwise | Chosen | None,
    point: Pointwise | None,
    options: ReliabilityOptions,
    further: Sequence[Fit],
    *,
    file: Mapping[str, str],
) -> Comparison:
    parts = [part for part in (pair, point) if part is not None]
    fits = {one.model.label: one for one in (*(one for part in parts for one in part.fits), *further)}
    made = Estimates.concat(part.estimates for part in parts)
    rows = _rows(made, parts[0].counts, options)
    rows = Estimates.concat([*(one.estimates(prob=options.prob) for one in further), rows])
    estimates, diagnostics = arranged(rows.with_truth(options.truth) if options.truth else rows)
    tables = [own_tables(pair, point, prob=options.prob)]
    tables += [check_fits(fits.values(), fits.values(), compared=fits if further else {})] if fits else []
    checks, gates = stacked_tables(tables), {name: fit.gate for name, fit in fits.items()}
    gates |= pair.gates if isinstance(pair, Chosen) else {}
    return Comparison(
        question="reliability",
        estimates=estimates,
        diagnostics=diagnostics,
        fits=fits,
        checks=checks,
        warnings=tuple(warnings_of(pair, point, checks)),
        checklist=checklist(pair, point, checks),
        gate=joint_gate(gates),
        settings={**options.settings, **_facts([part.counts for part in parts]), **file},
        dropped={k: n for part in parts for k, n in part.counts.dropped.items()},
    )


def _rows(rows: Estimates, counts: Tallied | ScoreCounts, options: ReliabilityOptions) -> Estimates:
    """Bayesian rows, and those of the baselines requested."""
    own = [name for name in rows.frame["method"].unique() if not name.startswith("bayes:")]

    def ours(names: Collection[str] | None) -> Estimates:
        return rows if names is None else rows.where(method=names)

    found = baseline_rows(options, counts, question="reliability", own=own, rows=ours)
    if options.all_baselines:
        return found
    return Estimates.concat([rows.where(method=sorted({*rows.frame["method"]} - {*own})), found])
