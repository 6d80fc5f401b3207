"""Several judges at once: the panel's part of the accuracy question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from bayesjudge.baselines.panel import (
    PANEL_METHODS,
    active_baselines,
    choose_judge,
    drop_one,
    error_correlations,
    panel_baselines,
)
from bayesjudge.counts.panel import PanelVotes
from bayesjudge.effects import LABEL
from bayesjudge.estimates import Estimates, estimand_of
from bayesjudge.estimates.posterior import summary_rows
from bayesjudge.inference import Fit, Fitting
from bayesjudge.models.judge_panel import JudgePanel
from bayesjudge.options import AccuracyOptions
from bayesjudge.planning.labels import sample_labels
from bayesjudge.report.accuracy.headline import PANEL
from bayesjudge.studies.accuracy.fits import JudgeFits, Part, check_judge
from bayesjudge.studies.common.methods import Further, believing, is_requested, require_distinct
from bayesjudge.studies.common.ranks import rank_probabilities

if TYPE_CHECKING:
    import xarray as xr


#: Baselines that answer for all judges together.
OF_PANELS = (*PANEL_METHODS, "active[panel-logit]")
#: Items that are drawn to be labelled next, and items in all up to which that is done.
NEXT, PLANNED_UP_TO = 20, 2000
#: Correlation of two judges' errors from which one is called an echo of the other.
ECHO = 0.5


def panel_jobs(votes: PanelVotes, options: AccuracyOptions, models: Sequence[Further]) -> dict[str, Fitting]:
    """The fits of the panel by their models' labels: the one that leads, then ``models``."""
    # Its posterior is near normal, and the sampler of fit_many is the faster one there.
    chosen = replace(options, engine="hmc") if options.engine == "nuts" else options
    own = is_requested(options, JudgePanel().name) or not models
    first = [Further(believing(JudgePanel(formulas=options.formulas_of(LABEL)), options))] if own else []
    require_distinct(one.model for one in (*first, *models))
    return {one.model.label: one.job(votes, chosen) for one in (*first, *models)}


def panel_part(made: Sequence[Fit], votes: PanelVotes, options: AccuracyOptions) -> Part:
    """The panel's estimates by every fit, the first of which leads, with its baselines, its judges and its checks."""
    one, *more = made
    if not isinstance(model := one.model, JudgePanel):
        raise TypeError(f"{model.label} is no panel")
    # One label an answer for every method but a panel that asks for people's marks, as where one judge answers.
    votes = votes.majority()
    population, prob = options.population, options.prob
    rows = one.estimates(prob=prob, population=population)
    fits = JudgeFits(judge=PANEL, headline=one, by_model=one, more=tuple(more))
    quality = [
        rows.where(estimand=("judge weight", "effect")),
        _agreement(model, one, prob),
        error_correlations(votes, prob=prob),
    ]
    names = [estimand_of(name, population) for name in ("accuracy", "difference")]
    baselines = panel_baselines if votes.probability is None else active_baselines
    frequentist = baselines(votes, prob=prob, population=population, seed=options.seed)
    if not options.all_baselines:
        named = [name for name in options.baselines or () if isinstance(name, str)]
        frequentist = frequentist.where(method=named)
    every = [rows, *(other.estimates(prob=prob, population=population) for other in more)]
    return Part(
        fits=fits,
        bayes=Estimates.concat(every).where(estimand=names),
        quality=Estimates.concat(quality),
        baselines=frequentist,
        ranks=rank_probabilities(model.accuracy(one.posterior, one.data, population=population)),
        checks={**check_judge(fits), "judges": _judges(votes, options), **_next_labels(model, one, votes, options)},
    )


def _agreement(model: JudgePanel, one: Fit, prob: float) -> Estimates:
    """How often the panel's verdict and every judge's agree with people, and whether the panel's is best."""
    draws = model.agreement(one.posterior, one.data)
    rows = summary_rows(draws, estimand="agreement", method=model.label, prob=prob)
    beats = {
        "estimand": "panel beats best judge",
        "unit": "panel",
        "method": model.label,
        "point": panel_beats_best(draws),
    }
    return Estimates.from_rows([*rows, beats])


def panel_beats_best(agreement: xr.DataArray) -> float:
    """Posterior probability that the panel, the first judge, agrees with people more often than any other.

    The best judge may be another one in every draw, so a judge that looks best by luck is not held against
    the panel as if it were known to be.
    """
    best = agreement.isel(judge=slice(1, None)).max("judge", skipna=True)
    return float((agreement.isel(judge=0, drop=True) > best).mean())


def _next_labels(model: JudgePanel, one: Fit, votes: PanelVotes, options: AccuracyOptions) -> dict[str, pd.DataFrame]:
    """Items to label next, drawn more often where the panel is unsure; nothing where items were merged.

    A greedy plan would promise more and keep less: it trusts the model about the items that it never asks for
    (`bayesjudge.planning.labels.savings` has the figures).
    """
    answered = votes.answered
    open_ = int((answered & (votes.annotations == 0)).any(1).sum())
    if len(votes.items) > PLANNED_UP_TO or not one.data.facts["items"] or not open_:
        return {}
    probabilities = model.answer_probabilities(one.posterior, one.data, votes, seed=options.seed)
    drawn = sample_labels(probabilities, size=min(NEXT, open_), labelled=votes.annotations > 0, seed=options.seed)
    return {
        "next_labels": pd.DataFrame(
            {
                "item": np.array(votes.items, dtype=object)[drawn.chosen],
                "label_probability": drawn.inclusion[drawn.chosen],
                "against uniform": drawn.efficiency,
            }
        )
    }


def _judges(votes: PanelVotes, options: AccuracyOptions) -> pd.DataFrame:
    """One row a judge: agreement with the labels, and how much wider the panel's intervals are without it."""
    chosen = choose_judge(votes, seed=options.seed)
    dropped = drop_one(votes, prob=options.prob, population=options.population, seed=options.seed)
    wider = dropped.pivot_table(index="judge", columns="method", values="change", aggfunc="first")
    wider.columns = [f"wider without, {name}" for name in wider.columns]
    votes_cast = pd.Series((votes.runs > 0).sum((0, 1)), index=votes.judges, name="votes")
    table = chosen.table.rename(columns={"chosen": "chosen as best"}).set_index("judge")
    return table.join(votes_cast).join(wider).reset_index()


def panel_warnings(part: Part, votes: PanelVotes) -> list[str]:
    """What the panel's own tables ask a reader to know first."""
    pairs = part.quality.where(estimand="error_correlation").frame
    echoes = pairs[(pairs["point"] >= ECHO) & (pairs["lower"] > 0)]
    found = list(votes.warnings)
    if len(echoes):
        worst = echoes.iloc[int(np.argmax(echoes["point"]))]
        found.append(
            f"judges err together: given the label, errors correlate at {ECHO} or more in {len(echoes)} of "
            f"{len(pairs)} pairs (most {worst['unit']}, {worst['point']:.2f}); counting "
            "their votes as independent would be overconfident"
        )
    return found


def disagreements(regression: Estimates, channel: Estimates) -> list[str]:
    """Accuracies by the label's regression that are further from those by one judge's errors than their joint interval.

    The regression needs labels that are random given the votes and its columns; the other also has to have the
    judge's errors right. ``channel`` begins with the rows of the model that answers.
    """
    names = ("accuracy", "accuracy (these items)")
    one, other = (
        rows.where(estimand=names, group="").frame.drop_duplicates("unit").set_index("unit")
        for rows in (regression, channel)
    )
    both = one.merge(other, left_index=True, right_index=True, suffixes=("", "_channel"))
    widths = np.hypot(both["upper"] - both["lower"], both["upper_channel"] - both["lower_channel"])
    apart = both[(both["point"] - both["point_channel"]).abs() > widths / 2]
    if apart.empty:
        return []
    listed = [f"{row.Index} ({row.point:.2f} and {row.point_channel:.2f})" for row in apart.itertuples()]
    text = (
        "what the label's regression on the votes gives and what the judge's errors give differ by more than their "
        f"joint interval: {', '.join(listed)}; read the first, which needs less to be true"
    )
    return [text]
