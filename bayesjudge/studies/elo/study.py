"""The Elo question: a leaderboard on the human scale, and what the judges add to it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from bayesjudge.baselines.elo import elo_baselines
from bayesjudge.baselines.elo.cluster_effects import cluster_effects
from bayesjudge.baselines.elo.diagnostics import judge_diagnostics, reliability_table
from bayesjudge.counts.battles.counts import BattleCounts, count_battles
from bayesjudge.errors import UsageError
from bayesjudge.estimates import Estimates
from bayesjudge.readers import read_battles
from bayesjudge.studies.common.checks import check_fits, joint_gate
from bayesjudge.studies.common.comparison import Comparison
from bayesjudge.studies.common.ranks import beats, rank_probabilities
from bayesjudge.studies.elo.fits import EloFits, EloOptions, elo_of, fit_leaderboards
from bayesjudge.studies.elo.guidance import elo_warnings, order_warnings
from bayesjudge.studies.elo.held_out import Predicted, predict_held_out
from bayesjudge.tables import Battles

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from rich.table import Table

    from bayesjudge.baselines.elo.held_out import Setting
    from bayesjudge.report import Page

__all__ = ["elo"]

_ESTIMANDS = ("elo", "difference")
#: After the method of every row whose interval takes battles as independent.
INDEPENDENT = "[independent]"
#: Rows up to which lengths are kept for the diagnostics of verbosity.
KEEP_LENGTHS = 200_000


def elo(
    battles: Any, *, group: str | None = None, judges: Iterable[str] | None = None,
    held_out: str | Sequence[str] = (), setting: Setting = "forward",
    cluster: str | Sequence[str] | None = None, length_effect: bool = False, battle_effect: bool = False,
    families: Mapping[str, str] | None = None, covariates: Iterable[str] = (),
    engine: str = "hmc", prob: float = 0.95, seed: int = 0, bootstrap: int = 0, chains: int = 4,
    draws: int = 1000, tune: int = 1000, truth: Mapping[tuple[str, str], float] | None = None,
    progress: bool = False, executor: Executor | None = None, workers: int = 1,
) -> Comparison:  # fmt: skip
    """Each model's Elo and every difference, Bayesian and frequentist intervals side by side.

    Parameters
    ----------
    battles : Battles, BattleCounts, or anything that `read_battles` takes
        A table of battles, or its counts from wherever the rows live.
    group : str, optional
        Column that splits the battles (a language): the judges are looked at for each of its values too.
    judges : iterable of str, optional
        Some of the judges; all by default.
    held_out : str or sequence of str
        Models whose votes are hidden, one model at a time, and predicted from the judges; ``"all"`` for
        every model.
    setting : {"forward", "as-in-paper"}
        Whether conformal intervals of a held-out model are calibrated as for a new one, or by folds in which
        its votes are among the anchors.
    cluster : str or sequence of str, optional
        Columns whose values (prompts, voters) are drawn as a whole: intervals are then for new ones. By
        default the prompt (``prompt, prompt_id, question_id, instruction_id, conversation``) where it comes
        back in several battles, else the item; ``"none"`` takes battles as independent.
    length_effect : bool
        Let `judge_elo` learn what a longer answer is worth to a judge.
    battle_effect : bool
        Refused: what raters of one battle share is always in their joint errors.
    families : mapping of str to str, optional
        Family of models and of judges: what a judge makes of its own family is then looked at.
    covariates : iterable of str
        Numeric columns by which the two answers of a battle differ (``X``, or ``X_a`` and ``X_b``: length,
        lists, bold words). `bradley_terry` is then fitted a second time with them: what each is worth, and
        the Elo of answers alike in them.
    engine : {"hmc", "nuts", "laplace", "pymc"}
        As in `fit`, with ``chains, draws, tune``. These posteriors are nearly normal and their parameters
        many: HMC with one number of steps for all chains is far faster than NUTS (benchmarks).
    prob : float
        Probability of every interval, between 0 and 1.
    seed : int
        Equal seeds give equal answers.
    bootstrap : int
        Resamples of the clusters behind the baselines' intervals; 0 gives clustered sandwich errors.
    truth : mapping, optional
        Known truth by ``(estimand, unit)``, for simulated data.
    progress : bool
        Show progress bars on standard error.
    executor, workers
        Where fits and predictions are made, as in `run_jobs`; the answer does not depend on it.

    Returns
    -------
    Comparison
        With people's votes, every Bayesian row is on the human scale: `judge_elo` where there are judges too,
        then `bradley_terry` of the votes alone. Without votes, `bradley_terry` of each judge.

    Raises
    ------
    InputError, UsageError, EngineError
        A table or an option that cannot be used.

    Examples
    --------
    >>> from bayesjudge.datasets import BattleDesign, simulate_battles
    >>> log = simulate_battles(seed=1, design=BattleDesign(strengths=(0.5, 0.0, -0.5), battles=300, judges=0))
    >>> answer = elo(log.battles, draws=300, tune=300)
    >>> answer.ranks["model"].tolist()
    ['m0', 'm1', 'm2']
    """
    options = EloOptions(
        engine=engine, prob=prob, seed=seed, bootstrap=bootstrap, chains=chains, draws=draws, tune=tune,
        progress=progress, setting=setting, length_effect=length_effect, battle_effect=battle_effect,
        families=families or {},
        covariates=(covariates,) if isinstance(covariates, str) else tuple(covariates),
    )  # fmt: skip
    table = _table(battles)
    counts = _chosen(_counted(table, group, cluster, options), judges)
    asked = [held_out] if isinstance(held_out, str) else list(held_out)
    place: dict[str, Any] = {"executor": executor, "workers": workers}
    predicted = predict_held_out(counts, asked, options, **place) if asked else Predicted()
    fits = fit_leaderboards(counts, options, **place)
    clusters = {rows.column: rows.count() for rows in counts.clusters}
    settings = {**options.settings, "judges": list(counts.judges), "group": group, "held_out": asked,
                "clusters": clusters,
                "label_source": table.label_source if isinstance(table, Battles) else None}  # fmt: skip
    return _assemble(counts, fits, options, predicted=predicted, settings=settings, truth=truth or {})


def _table(battles: Any) -> Any:
    """What can be counted: an Ibis table where it lives, everything else read into a validated table."""
    lives_elsewhere = type(battles).__module__.startswith("ibis.")
    ready = isinstance(battles, Battles | BattleCounts) or lives_elsewhere
    return battles if ready else read_battles(battles)


def _counted(
    table: Any, group: str | None, cluster: str | Sequence[str] | None, options: EloOptions
) -> BattleCounts:
    if isinstance(table, BattleCounts):
        if group or cluster:
            raise UsageError("these are counts already: give group= and cluster= to count_battles")
        return table
    # Lengths make a pattern of nearly every battle: they are kept where someone looks at them.
    few = isinstance(table, Battles) and len(table) <= KEEP_LENGTHS
    counts = count_battles(table, group=group, cluster=cluster, lengths=options.length_effect or few,
                           covariates=options.covariates)  # fmt: skip
    messages = order_warnings(table) if isinstance(table, Battles) else []
    return replace(counts, warnings=(*counts.warnings, *messages))


def _chosen(counts: BattleCounts, judges: Iterable[str] | None) -> BattleCounts:
    if judges is None:
        return counts
    asked = [judges] if isinstance(judges, str) else list(judges)
    if not asked and not counts.human.votes.sum():
        raise UsageError(f"no judge chosen and no human votes; the table has {list(counts.judges)}")
    return counts.for_judges(asked)


def _assemble(
    counts: BattleCounts, fits: EloFits, options: EloOptions, *, predicted: Predicted,
    settings: Mapping[str, Any], truth: Mapping[tuple[str, str], float],
) -> Comparison:  # fmt: skip
    bayes = [one.estimates(prob=options.prob).with_column(judge=fits.judge_of[label])
             if fits.judge_of[label] else one.estimates(prob=options.prob)
             for label, one in fits.fits.items()]  # fmt: skip
    baselines = elo_baselines(counts, prob=options.prob, bootstrap=options.bootstrap, seed=options.seed)
    boards = [rows.where(estimand=kind) for kind in _ESTIMANDS for rows in (*bayes, baselines)]
    estimates = Estimates.concat([Estimates.concat(boards).with_truth(truth), predicted.estimates])
    diagnostics = _diagnostics(counts, bayes, options)
    if not counts.clusters:
        estimates, diagnostics = (_as_independent(rows) for rows in (estimates, diagnostics))
    checks = {**check_fits(fits.fits.values(), fits.fits.values()), **_tables(counts, fits, options)}
    return Comparison(
        question="elo", estimates=estimates, diagnostics=diagnostics, ranks=_ranks(fits), fits=fits.fits,
        checks=checks, held_out=predicted.scores,
        warnings=(*elo_warnings(counts, estimates, diagnostics, checks, fits.fits), *predicted.warnings),
        gate=joint_gate({**{label: one.gate for label, one in fits.fits.items()},
                         **({"held out": predicted.gate} if predicted.gate else {})}),
        page_of=_page, screen_of=_screen, dropped=counts.dropped, settings=settings,
    )  # fmt: skip


def _as_independent(rows: Estimates) -> Estimates:
    """Rows whose method says that no cluster was allowed for."""
    return rows.with_column(method=rows.frame["method"] + INDEPENDENT) if len(rows) else rows


def _diagnostics(counts: BattleCounts, bayes: Sequence[Estimates], options: EloOptions) -> Estimates:
    """What the models say of ties, slopes, tastes and effects, then every diagnostic of each judge."""
    own = [rows.where(estimand=[kind for kind in rows.frame["estimand"].unique() if kind not in _ESTIMANDS])
           for rows in bayes]  # fmt: skip
    families = options.families or None
    judged = [
        judge_diagnostics(counts, judge, prob=options.prob, bootstrap=max(options.bootstrap, 200),
                          seed=options.seed, families=families)
        for judge in counts.judges
    ]  # fmt: skip
    return Estimates.concat([*own, cluster_effects(counts, prob=options.prob), *judged])


def _ranks(fits: EloFits) -> pd.DataFrame:
    """Ranks on each scale that is asked about."""
    found = [rank_probabilities(elo_of(one)).assign(judge=judge) for judge, one in fits.headline.items()]
    return pd.concat(found, ignore_index=True)


def _tables(counts: BattleCounts, fits: EloFits, options: EloOptions) -> dict[str, pd.DataFrame]:
    """``beats``: P(row's model has the higher Elo); ``reliability``: agreement by predicted probability."""
    matrices = [beats(elo_of(one)).rename_axis("model").reset_index().assign(judge=judge)
                for judge, one in fits.headline.items()]  # fmt: skip
    judged = counts.judged
    decided = np.isfinite(judged.gap) & (judged.gap != 0) & (judged.votes[:, [0, 2]].sum(axis=1) > 0)
    scoring = [counts.judges[j] for j in np.unique(judged.judge[decided])]
    diagram = {"reliability": reliability_table(counts, judges=scoring, prob=options.prob)} if scoring else {}
    return {"beats": pd.concat(matrices, ignore_index=True), **diagram}


def _screen(answer: Comparison, width: int) -> Sequence[Table | str]:
    from bayesjudge.studies.elo.terminal import elo_screen

    return elo_screen(answer, width)


def _page(answer: Comparison) -> Page:
    # Drawing is imported when a page is asked for: numbers alone do not need it.
    from bayesjudge.studies.elo.page import elo_page

    return elo_page(answer)
