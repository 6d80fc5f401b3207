"""The audit question: which of a judge's single verdicts to trust, and which to turn around, if any."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from bayesjudge.baselines.audit.attacks import consistency_by_attack
from bayesjudge.errors import InputError, Problem
from bayesjudge.estimates import Estimates
from bayesjudge.inference import Fit, fit
from bayesjudge.inference.programs.progress import bar
from bayesjudge.models.verdict_agreement.features import features
from bayesjudge.readers import read_pairs
from bayesjudge.studies.audit.folds import Folds, make_folds
from bayesjudge.studies.audit.guard import Guard, closed_guard, guard_of
from bayesjudge.studies.audit.guidance import audit_checklist, audit_warnings
from bayesjudge.studies.audit.held_out import (
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
    from rich.table import Table

    from bayesjudge.report import Page

__all__ = ["audit"]


def audit(
    pairs: Any, *, embeddings: Any = None, judge: str | None = None, labels: str = "both",
    reviewed: float | str | None = None, features: Sequence[str] = (), components: int = 32,
    share: float | None = None, folds: int = 5, engine: str = "nuts", prob: float = 0.95, seed: int = 0,
    chains: int = 4, draws: int = 1000, tune: int = 1000, progress: bool = False,
) -> Comparison:  # fmt: skip
    """Trust in every unverified verdict, what to flip if anything, and what each method would gain.

    Parameters
    ----------
    pairs : Pairs, or anything that `read_pairs` takes
        Decisions of a judge, some verified by people.
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
        Parts in which verified pairs are held out to compare the methods.
    engine : {"nuts", "hmc", "laplace", "pymc"}
        As in `fit`, with ``chains, draws, tune``.
    prob : float
        Probability of every interval, between 0 and 1.
    seed : int
        Equal seeds give equal answers.
    progress : bool
        Show progress bars on standard error.

    Returns
    -------
    Comparison
        ``estimates``: expected consistency of the unverified verdicts, held-out consistency and gain of every
        method, consistency after attacks; ``diagnostics``: effects, AUC, precision of flips; among ``checks``
        the tables ``trust`` (one row a verdict), ``features``, ``held_out``, ``reliability``, ``share``,
        ``verified``, and where the models are named ``battles``, which `elo` takes as it is: ``prob_a`` is
        the soft target of a decision.

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
    _require_work(mine)
    return _answer(whole, mine, options)


def _require_work(pairs: Pairs) -> None:
    if pairs.verified.all():
        raise InputError([Problem(column="human_prefers", found="a human preference for every pair",
                                  allowed="some pairs that nobody verified, too",
                                  fix="Leave human_prefers empty where it is to be audited.")])  # fmt: skip


def _answer(whole: Pairs, mine: Pairs, options: AuditOptions) -> Comparison:
    model = options.model
    single = fit(model, mine, **options.sampling)
    found = features(mine, components=options.components, extra=options.features)
    known = options.labels == "both"
    guard = guard_of(mine, single.data, model, seed=options.seed) if known else closed_guard()
    split = make_folds(mine, folds=options.folds, seed=options.seed)
    transport, told = transported(mine, options)
    compared, left_out = _compared(mine, split, options) if known else (pd.DataFrame(), [_UNKNOWN])
    moved, not_moved = sensitivity_tables(mine, transport, options)
    trust = trust_table(mine, single, guard, found, transport, prob=options.prob)
    battles = battle_table(mine, trust, guard)
    checks = {
        "trust": trust,
        **({"battles": battles} if len(battles) else {}),
        "features": feature_table(mine, single, found, prob=options.prob),
        **_held_out_tables(compared, model.label, options),
        **moved,
        **check_fits([single], [single]),
    }
    diagnostics = Estimates.concat([
        single.estimates(prob=options.prob).where(estimand=("effect", "spread", "intercept")),
        Estimates.from_rows(quality_rows(compared, prob=options.prob, seed=options.seed) if known else []),
    ])  # fmt: skip
    attacks, more = _attacks(whole, options)
    warnings = audit_warnings(mine, guard, split, diagnostics=diagnostics, checks=checks)
    return Comparison(
        question="audit", estimates=_estimates(
            single, guard, checks=checks, compared=compared, attacks=attacks, options=options
        ),
        diagnostics=diagnostics, fits={model.label: single}, checks=checks,
        warnings=tuple(dict.fromkeys([*warnings, *found.warnings, *told, *left_out, *not_moved, *more,
                                      *fallback_warnings({model.label: single})])),
        checklist=audit_checklist(mine, guard, checks["features"], checks.get("reliability", _NO_BINS)),
        gate=single.gate, page_of=_page, screen_of=_screen, held_out=held_out_figures(compared),
        dropped=whole.dropped, settings={**options.settings, "guard": guard.reason, "open": guard.open},
    )  # fmt: skip


_UNKNOWN = "only agreements were recorded: no method's flips can be checked, and nothing is flipped"
_NO_BINS = pd.DataFrame(columns=["predicted", "lower", "upper"], dtype=float)


def _compared(pairs: Pairs, split: Folds, options: AuditOptions) -> tuple[pd.DataFrame, list[str]]:
    with bar("audits of held-out pairs") if options.progress else nullcontext() as report:
        return compare_methods(pairs, methods_of(pairs, options.model, options), split, report=report)


def _held_out_tables(compared: pd.DataFrame, label: str, options: AuditOptions) -> dict[str, pd.DataFrame]:
    if compared.empty:
        return {}
    return {
        "held_out": compared,
        "reliability": reliability_bins(compared, methods=[label], prob=options.prob),
    }


def _estimates(
    single: Fit, guard: Guard, *, checks: Mapping[str, pd.DataFrame], compared: pd.DataFrame,
    attacks: list[dict[str, Any]], options: AuditOptions,
) -> Estimates:  # fmt: skip
    rows = [] if compared.empty else summaries(compared, prob=options.prob)
    parts = [single.estimates(prob=options.prob).where(estimand="consistency")]
    if guard.open:
        parts.append(_after_flips(single, checks["trust"], options))
    return Estimates.concat([*parts, Estimates.from_rows([*rows, *attacks])])


def _after_flips(single: Fit, trust: pd.DataFrame, options: AuditOptions) -> Estimates:
    """Expected consistency of the unverified verdicts once some are turned around."""
    from bayesjudge.estimates.posterior import summary_rows
    from bayesjudge.models.verdict_agreement.results import counts, expected

    draws = expected(single.posterior, single.data, turned=trust["flip"].to_numpy(dtype=bool))
    n = {"unverified": len(trust), **counts(single.data)}
    return Estimates.from_rows(summary_rows(
        draws, estimand="consistency (flipped)", method=single.model.label, prob=options.prob, n=n,
    )).with_note(single.gate.note)  # fmt: skip


def _attacks(whole: Pairs, options: AuditOptions) -> tuple[list[dict[str, Any]], list[str]]:
    """Consistency after each attack, half of the verified items held out; by the model and by transport."""
    mine = whole.frame if options.judge is None else whole.frame[whole.frame["judge"] == options.judge]
    if mine["attack"].nunique() < 2 or options.labels != "both":
        return [], []
    one = whole.take(mine.index.to_numpy())
    items = np.sort(one.frame.loc[one.verified, "item"].unique())
    chosen = np.random.default_rng([options.seed, 5]).permutation(items)[: len(items) // 2]
    held = one.frame["item"].isin(list(chosen)).to_numpy(dtype=bool)
    rows: list[dict[str, Any]] = []
    methods = methods_of(one, options.model, options)
    for name in [name for name in (options.model.label, "partial-ot") if name in methods]:
        found = consistency_by_attack(one, methods[name], held_out=held, prob=options.prob)
        rows += [row for row in found if not rows or row["method"] != "judge"]
    return rows, []


def _screen(answer: Comparison, width: int) -> Sequence[Table | str]:
    from bayesjudge.studies.audit.terminal import audit_screen

    return audit_screen(answer, width)


def _page(answer: Comparison) -> Page:
    # Drawing is imported when a page is asked for: numbers alone do not need it.
    from bayesjudge.studies.audit.page import audit_page

    return audit_page(answer)
