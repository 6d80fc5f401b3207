"""The audit question: which of a judge's single verdicts to trust, and which to turn around, if any."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from bayesjudge.adapters import NamedEstimands
from bayesjudge.baselines.audit import consistency, partial_ot
from bayesjudge.baselines.audit.sensitivity import consistency_by_attack
from bayesjudge.counts.pairs import presentations
from bayesjudge.errors import InputError, Problem, UsageError
from bayesjudge.estimates import Estimates
from bayesjudge.estimates.posterior import estimates_of
from bayesjudge.inference import Fit, run_fits
from bayesjudge.inference.programs.progress import bar
from bayesjudge.model import GivesTrust
from bayesjudge.options import AuditOptions, takes
from bayesjudge.readers import read_pairs
from bayesjudge.report.comparison import Comparison
from bayesjudge.report.lead import data_facts, file_fact
from bayesjudge.studies.audit.guard import Guard, closed_guard, fast_audit, guard_of
from bayesjudge.studies.audit.guidance import audit_checklist, audit_warnings
from bayesjudge.studies.audit.held_out import (
    METHODS,
    Method,
    compare_methods,
    held_out_figures,
    methods_of,
    quality_rows,
    reliability_bins,
    summaries,
)
from bayesjudge.studies.audit.tables import (
    agreement_model,
    battle_table,
    feature_table,
    sensitivity_tables,
    transported,
    trust_table,
)
from bayesjudge.studies.common.checks import check_fits, fallback_warnings, joint_gate
from bayesjudge.studies.common.conditions import with_conditions
from bayesjudge.studies.common.methods import Further, baseline_rows, further_models, require_believed, require_distinct
from bayesjudge.tables import Pairs


@takes(AuditOptions)
def audit(pairs: Any, options: AuditOptions) -> Comparison:
    """Trust in every unverified verdict, what to flip if anything, and what each method would gain.

    Parameters
    ----------
    pairs : Pairs, or anything that `read_pairs` takes
        Verdicts of a judge, some or all verified by people.

    Returns
    -------
    Comparison
        ``estimates``: expected consistency of the unverified verdicts (or, where people verified every pair,
        the consistency observed), held-out consistency and gain of every method, consistency after attacks;
        ``diagnostics``: effects, AUC, precision of flips; among ``checks`` the tables
        ``trust`` (one row a verdict), ``features``, ``held_out``, ``reliability``, ``share``, ``verified``,
        and where the models are named ``battles``, which `elo` takes as it is: ``prob_a`` is the soft target
        of a pair, and pairs that people or the judge call a tie are in it, too.

    Raises
    ------
    InputError, UsageError, EngineError
        A table or an option that cannot be used.

    Examples
    --------
    >>> from bayesjudge.datasets import simulate_pairs
    >>> made = simulate_pairs(seed=1, n=120, verified=80, dimensions=2)
    >>> answer = audit(made.pairs, draws=200, tune=200, chains=2)
    >>> len(answer.checks["trust"]), answer.estimates.frame["estimand"].iloc[0]
    (40, 'consistency')
    """
    agreement_model(options)  # refuses options that contradict each other before anything is read
    table = pairs if isinstance(pairs, Pairs) else read_pairs(pairs, embeddings=options.embeddings)
    mine = table.of(judge=options.judge)
    further = further_models(options, own=(agreement_model(options).name,), needs=GivesTrust)
    _require_people(mine)
    if options.labels == "positives" and (named := [one for one in further if isinstance(one.model, NamedEstimands)]):
        raise UsageError(
            f"{named[0].model.label} reads agreements and disagreements; with labels='positives' agreements alone are "
            "recorded, which verdict_agreement allows for"
        )
    answering = [Further(agreement_model(options)), *(one.met(options, mine) for one in further)]
    require_distinct([one.model for one in answering])
    require_believed(options, [one.model for one in answering])
    jobs = {one.model.label: one.job(mine, options) for one in answering}
    made = run_fits(jobs, executor=options.executor, workers=options.workers)
    answer = _answer(table, mine, list(made.values()), options, file=file_fact(pairs))
    return with_conditions(answer, options, rows=len(table), labels=float(mine.verified.sum()))


def _require_people(pairs: Pairs) -> None:
    """Where nobody verified anything, say so with the column that may have been meant."""
    meant = [text for text in pairs.warnings if "looks like reference answers" in text]
    if meant and not pairs.verified.any():
        raise InputError(
            [
                Problem(
                    column="human_prefers",
                    found="no verified pair",
                    fix=". ".join(meant),
                    allowed="some pairs that people chose between, too",
                )
            ]
        )


def _answer(
    whole: Pairs, mine: Pairs, fits: Sequence[Fit], options: AuditOptions, *, file: Mapping[str, str]
) -> Comparison:
    model, (single, *further) = agreement_model(options), fits
    found = model.features(mine)
    known = options.labels == "both"
    guard = (
        guard_of(mine, single.data, model, seed=options.seed, folds=options.folds, prob=options.prob)
        if known
        else closed_guard(mine, seed=options.seed)
    )
    transport, messages = transported(mine, options)
    compared, left_out = _compared(mine, guard, options) if known else (pd.DataFrame(), [_UNKNOWN])
    moved, not_moved = sensitivity_tables(mine, options)
    trust = trust_table(mine, fits, guard, found, transport, prob=options.prob)
    battles = battle_table(mine, trust, guard, model)
    checks = {
        "trust": trust,
        **({"battles": battles} if len(battles) else {}),
        "features": feature_table(mine, model, single, found, prob=options.prob),
        **_held_out_tables(compared, model.label, options),
        **moved,
        **check_fits(fits, fits, compared={one.model.label: one for one in fits} if further else {}),
    }
    diagnostics = Estimates.concat(
        [
            single.estimates(prob=options.prob).where(estimand=("effect", "spread", "intercept")),
            Estimates.from_rows(quality_rows(compared, prob=options.prob, seed=options.seed) if known else []),
        ]
    )
    attacks, named = _attacks(whole, options), {one.model.label: one for one in fits}
    estimates = _estimates(mine, single, guard, checks=checks, compared=compared, attacks=attacks, options=options)
    warnings = [*audit_warnings(mine, guard, diagnostics=diagnostics, checks=checks), *_of_battles(mine, battles)]
    return Comparison(
        question="audit",
        estimates=_with_further(estimates, mine, further, options),
        diagnostics=diagnostics,
        fits=named,
        checks=checks,
        warnings=tuple(
            dict.fromkeys([*warnings, *found.warnings, *messages, *left_out, *not_moved, *fallback_warnings(named)])
        ),
        checklist=audit_checklist(mine, guard, checks["features"], checks.get("reliability", _NO_BINS)),
        gate=joint_gate({name: one.gate for name, one in named.items()}) if further else single.gate,
        held_out=held_out_figures(compared),
        dropped=whole.dropped,
        source=whole.source,
        settings={
            **options.settings,
            **data_facts(
                [options.judge] if options.judge else mine.frame["judge"].unique(),
                pairs=mine.frame["item"].nunique(),
                verdicts=len(mine),
                verified_pairs=mine.frame["item"][mine.verified].nunique(),
            ),
            **file,
            "guard": guard.reason,
            "open": guard.open,
            "verified": "all" if mine.verified.all() else "some",
            "label_source": whole.label_source,
        },
    )


def _of_battles(pairs: Pairs, battles: pd.DataFrame) -> list[str]:
    """What is said of battles that are no pairs of the audit."""
    more = battles[~battles["item"].isin(pairs.frame["item"])]
    votes, ties = int(battles["human"].notna().sum()), int((battles["human"] == "tie").sum())
    text = (
        f"the table battles, for elo, has {len(more)} pairs more than the audit, which people or the judge call a tie "
        f"or the judge did not decide: {len(battles)} with {votes} votes of people, {ties} of them ties"
    )
    return [text] if len(more) else []


_UNKNOWN = "only agreements were recorded: no method's flips can be checked, and nothing is flipped"
_NO_BINS = pd.DataFrame(columns=["predicted", "lower", "upper"], dtype=float)


def _compared(pairs: Pairs, guard: Guard, options: AuditOptions) -> tuple[pd.DataFrame, list[str]]:
    with bar("audits of held-out pairs") if options.progress else nullcontext() as report:
        return compare_methods(
            pairs, methods_of(pairs, options), guard, label=agreement_model(options).label, report=report
        )


def _held_out_tables(compared: pd.DataFrame, label: str, options: AuditOptions) -> dict[str, pd.DataFrame]:
    if compared.empty:
        return {}
    return {"held_out": compared, "reliability": reliability_bins(compared, methods=[label], prob=options.prob)}


def _estimates(
    pairs: Pairs,
    single: Fit,
    guard: Guard,
    *,
    checks: Mapping[str, pd.DataFrame],
    compared: pd.DataFrame,
    attacks: list[dict[str, Any]],
    options: AuditOptions,
) -> Estimates:
    rows = [] if compared.empty else summaries(compared, prob=options.prob)
    if pairs.verified.all():
        return Estimates.from_rows([*_observed(pairs, options), *rows, *attacks])
    parts = [single.estimates(prob=options.prob).where(estimand="consistency")]
    if guard.open:
        parts.append(_after_flips(pairs, single, checks["trust"], options))
    return Estimates.concat([*parts, Estimates.from_rows([*rows, *attacks])])


def _with_further(rows: Estimates, pairs: Pairs, fits: Sequence[Fit], options: AuditOptions) -> Estimates:
    """Rows of the question's own, then of further models and baselines."""
    more = [one.estimates(prob=options.prob) for one in fits]
    if options.baselines is not None:

        def held_out(_: Collection[str] | None) -> Estimates:
            return Estimates.from_rows([])  # these are among the rows that compare methods

        more.append(baseline_rows(options, pairs, question="audit", own=METHODS, rows=held_out))
    found = Estimates.concat([rows, *more]) if more else rows
    return found.with_truth(options.truth) if options.truth else found


def _observed(pairs: Pairs, options: AuditOptions) -> list[dict[str, Any]]:
    """Consistency where people verified every pair, over all (unit ``verified``) and by category."""
    types = pairs.frame["category"].fillna("(none)")
    rows = consistency(
        pairs.agrees,
        np.zeros(len(pairs), dtype=bool),
        method="judge",
        prob=options.prob,
        pair=pairs.frame["item"].to_numpy(),
        category=types.to_numpy() if len(set(types)) > 1 else None,
    )
    return [
        {**row, "unit": "verified" if row["unit"] == "all" else row["unit"]}
        for row in rows
        if row["estimand"] == "consistency"
    ]


def _after_flips(pairs: Pairs, single: Fit, trust: pd.DataFrame, options: AuditOptions) -> Estimates:
    """Expected consistency of the unverified verdicts once some are reversed."""
    of, hidden = presentations(pairs), ~pairs.verified
    side = of.side.copy()
    side[hidden] *= np.where(trust["flip"], -1.0, 1.0)
    model, side = agreement_model(options), of.mean(side)[of.where(hidden)]
    draws = {"consistency (flipped)": model.consistency(single.posterior, single.data, side=side)}
    return estimates_of(draws, method=model.label, prob=options.prob).with_note(single.gate.note)


def _attacks(whole: Pairs, options: AuditOptions) -> list[dict[str, Any]]:
    """Consistency after each attack, half of the verified items held out; by the model and by transport."""
    mine = whole.frame if options.judge is None else whole.frame[whole.frame["judge"] == options.judge]
    if mine["attack"].nunique() < 2 or options.labels != "both":
        return []
    one = whole.take(mine.index.to_numpy())
    item = one.codes("item")
    chosen = np.random.default_rng([options.seed, 5]).permutation(np.unique(item[one.verified]))
    held = np.isin(item, chosen[: len(chosen) // 2])
    model = agreement_model(options)
    methods: dict[str, Method] = {model.label: partial(fast_audit, model=model)}
    if one.dimensions:
        methods["partial-ot"] = partial(partial_ot, share=options.share)
    rows: list[dict[str, Any]] = []
    for method in methods.values():
        found = consistency_by_attack(one, method, held_out=held, prob=options.prob)
        rows += [row for row in found if not rows or row["method"] != "judge"]
    return rows
