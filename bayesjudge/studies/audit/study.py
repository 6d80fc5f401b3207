"""The audit question: which of a judge's single verdicts to trust, and which to turn around, if any."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from bayesjudge.baselines.audit import consistency, partial_ot
from bayesjudge.baselines.audit.attacks import consistency_by_attack
from bayesjudge.counts.pairs import presentations
from bayesjudge.errors import InputError, Problem
from bayesjudge.estimates import Estimates
from bayesjudge.estimates.posterior import estimates_of
from bayesjudge.inference import Fit, Fitting, run_fits
from bayesjudge.inference.programs.progress import bar
from bayesjudge.readers import read_pairs
from bayesjudge.studies.audit.guard import Guard, closed_guard, fast_audit, guard_of
from bayesjudge.studies.audit.guidance import audit_checklist, audit_warnings
from bayesjudge.studies.audit.held_out import (
    Method,
    compare_methods,
    held_out_figures,
    methods_of,
    quality_rows,
    reliability_bins,
    summaries,
)
from bayesjudge.studies.audit.options import AuditOptions
from bayesjudge.studies.audit.tables import (
    battle_table,
    feature_table,
    sensitivity_tables,
    transported,
    trust_table,
)
from bayesjudge.studies.common.checks import check_fits, fallback_warnings
from bayesjudge.studies.common.comparison import Comparison
from bayesjudge.tables import Pairs

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from rich.table import Table

    from bayesjudge.report import Page

__all__ = ["audit"]


def audit(
    pairs: Any, *, embeddings: Any = None, judge: str | None = None, labels: str = "both",
    reviewed: float | str | None = None, features: Sequence[str] = (), components: int = 32,
    share: float | None = None, folds: int = 10, engine: str = "nuts", prob: float = 0.95, seed: int = 0,
    chains: int = 4, draws: int = 1000, tune: int = 1000, progress: bool = False,
    executor: Executor | None = None, workers: int = 1,
) -> Comparison:  # fmt: skip
    """Trust in every unverified verdict, what to flip if anything, and what each method would gain.

    Parameters
    ----------
    pairs : Pairs, or anything that `read_pairs` takes
        Verdicts of a judge, some or all verified by people.
    embeddings : path, mapping or tuple of arrays, optional
        As in `read_pairs`, where ``pairs`` is not a `Pairs`.
    judge : str, optional
        Which judge, where the table has several; the others' verdicts are then features.
    labels : {"both", "positives"}
        Whether people's disagreements were recorded too; positives need ``reviewed``.
    reviewed : float or str, optional
        Share of agreements that were reviewed, or the column that has each pair's.
    features : sequence of str
        Further numeric columns, as in `VerdictAgreement`.
    components : int
        Most principal directions of the embeddings.
    share : float, optional
        Share s of consistent verdicts for partial optimal transport; by default measured.
    folds : int
        Parts in which verified pairs are held out: for the guard, and to compare the methods.
    engine : {"nuts", "hmc", "laplace", "pymc"}
        As in `fit`, with ``chains, draws, tune``.
    prob : float
        Probability of every interval, between 0 and 1.
    seed : int
        Equal seeds give equal answers.
    progress : bool
        Show progress bars on standard error.
    executor, workers
        Where the fit is made, as in `run_jobs`; there is one, so that workers do not make it faster.

    Returns
    -------
    Comparison
        ``estimates``: expected consistency of the unverified verdicts (or, where people verified every pair,
        the consistency observed), held-out consistency and gain of every method, consistency after attacks;
        ``diagnostics``: effects, AUC, precision of flips; among ``checks`` the tables
        ``trust`` (one row a verdict), ``features``, ``held_out``, ``reliability``, ``share``, ``verified``,
        and where the models are named ``battles``, which `elo` takes as it is: ``prob_a`` is the soft target
        of a pair.

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
    options = AuditOptions(
        judge=judge, labels=labels, reviewed=reviewed, features=tuple(features), components=components,  # type: ignore[arg-type]  # AuditOptions says which labels there are
        share=share, folds=folds, engine=engine, prob=prob, seed=seed, chains=chains, draws=draws, tune=tune,
        progress=progress, bootstrap=0,
    )  # fmt: skip
    whole = pairs if isinstance(pairs, Pairs) else read_pairs(pairs, embeddings=embeddings)
    mine = whole.of(judge=judge)
    _require_people(mine)
    job = Fitting(model=options.model, table=mine, **options.sampling)
    made = run_fits({"verdicts": job}, executor=executor, workers=workers)
    return _answer(whole, mine, made["verdicts"], options)


def _require_people(pairs: Pairs) -> None:
    """Where nobody verified anything, say so with the column that may have been meant."""
    meant = [text for text in pairs.warnings if "looks like reference answers" in text]
    if meant and not pairs.verified.any():
        raise InputError([Problem(column="human_prefers", found="no verified pair", fix=". ".join(meant),
                                  allowed="some pairs that people chose between, too")])  # fmt: skip


def _answer(whole: Pairs, mine: Pairs, single: Fit, options: AuditOptions) -> Comparison:
    model = options.model
    found = model.features(mine)
    known = options.labels == "both"
    guard = (guard_of(mine, single.data, model, seed=options.seed, folds=options.folds, prob=options.prob)
             if known else closed_guard(mine, seed=options.seed))  # fmt: skip
    transport, messages = transported(mine, options)
    compared, left_out = _compared(mine, guard, options) if known else (pd.DataFrame(), [_UNKNOWN])
    moved, not_moved = sensitivity_tables(mine, options)
    trust = trust_table(mine, single, guard, found, transport, prob=options.prob)
    battles = battle_table(mine, trust, guard)
    checks = {
        "trust": trust,
        **({"battles": battles} if len(battles) else {}),
        "features": feature_table(mine, model, single, found, prob=options.prob),
        **_held_out_tables(compared, model.label, options),
        **moved,
        **check_fits([single], [single]),
    }
    diagnostics = Estimates.concat([
        single.estimates(prob=options.prob).where(estimand=("effect", "spread", "intercept")),
        Estimates.from_rows(quality_rows(compared, prob=options.prob, seed=options.seed) if known else []),
    ])  # fmt: skip
    attacks = _attacks(whole, options)
    warnings = audit_warnings(mine, guard, diagnostics=diagnostics, checks=checks)
    return Comparison(
        question="audit", estimates=_estimates(
            mine, single, guard, checks=checks, compared=compared, attacks=attacks, options=options
        ),
        diagnostics=diagnostics, fits={model.label: single}, checks=checks,
        warnings=tuple(dict.fromkeys([*warnings, *found.warnings, *messages, *left_out, *not_moved,
                                      *fallback_warnings({model.label: single})])),
        checklist=audit_checklist(mine, guard, checks["features"], checks.get("reliability", _NO_BINS)),
        gate=single.gate, page_of=_page, screen_of=_screen, held_out=held_out_figures(compared),
        dropped=whole.dropped, settings={**options.settings, "guard": guard.reason, "open": guard.open,
                                         "verified": "all" if mine.verified.all() else "some",
                                         "label_source": whole.label_source},
    )  # fmt: skip


_UNKNOWN = "only agreements were recorded: no method's flips can be checked, and nothing is flipped"
_NO_BINS = pd.DataFrame(columns=["predicted", "lower", "upper"], dtype=float)


def _compared(pairs: Pairs, guard: Guard, options: AuditOptions) -> tuple[pd.DataFrame, list[str]]:
    with bar("audits of held-out pairs") if options.progress else nullcontext() as report:
        return compare_methods(pairs, methods_of(pairs, options), guard, label=options.model.label,
                               report=report)  # fmt: skip


def _held_out_tables(compared: pd.DataFrame, label: str, options: AuditOptions) -> dict[str, pd.DataFrame]:
    if compared.empty:
        return {}
    return {
        "held_out": compared,
        "reliability": reliability_bins(compared, methods=[label], prob=options.prob),
    }


def _estimates(
    pairs: Pairs, single: Fit, guard: Guard, *, checks: Mapping[str, pd.DataFrame], compared: pd.DataFrame,
    attacks: list[dict[str, Any]], options: AuditOptions,
) -> Estimates:  # fmt: skip
    rows = [] if compared.empty else summaries(compared, prob=options.prob)
    if pairs.verified.all():
        return Estimates.from_rows([*_observed(pairs, options), *rows, *attacks])
    parts = [single.estimates(prob=options.prob).where(estimand="consistency")]
    if guard.open:
        parts.append(_after_flips(pairs, single, checks["trust"], options))
    return Estimates.concat([*parts, Estimates.from_rows([*rows, *attacks])])


def _observed(pairs: Pairs, options: AuditOptions) -> list[dict[str, Any]]:
    """Consistency where people verified every pair, over all (unit ``verified``) and by category."""
    types = pairs.frame["category"].fillna("(none)")
    rows = consistency(pairs.agrees, np.zeros(len(pairs), dtype=bool), method="judge", prob=options.prob,
                       pair=pairs.frame["item"].to_numpy(),
                       category=types.to_numpy() if len(set(types)) > 1 else None)  # fmt: skip
    return [{**row, "unit": "verified" if row["unit"] == "all" else row["unit"]}
            for row in rows if row["estimand"] == "consistency"]  # fmt: skip


def _after_flips(pairs: Pairs, single: Fit, trust: pd.DataFrame, options: AuditOptions) -> Estimates:
    """Expected consistency of the unverified verdicts once some are turned around."""
    of, hidden = presentations(pairs), ~pairs.verified
    side = of.side.copy()
    side[hidden] *= np.where(trust["flip"], -1.0, 1.0)
    model, side = options.model, of.mean(side)[of.where(hidden)]
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
    methods: dict[str, Method] = {options.model.label: partial(fast_audit, model=options.model)}
    if one.dimensions:
        methods["partial-ot"] = partial(partial_ot, share=options.share)
    rows: list[dict[str, Any]] = []
    for method in methods.values():
        found = consistency_by_attack(one, method, held_out=held, prob=options.prob)
        rows += [row for row in found if not rows or row["method"] != "judge"]
    return rows


def _screen(answer: Comparison, width: int) -> Sequence[Table | str]:
    from bayesjudge.studies.audit.terminal import audit_screen

    return audit_screen(answer, width)


def _page(answer: Comparison) -> Page:
    # Drawing is imported when a page is asked for: numbers alone do not need it.
    from bayesjudge.studies.audit.page import audit_page

    return audit_page(answer)
