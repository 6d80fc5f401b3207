"""What people would say of models that only judges have seen: predictions beside conformal intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from bayesjudge.baselines.elo import METHODS
from bayesjudge.baselines.elo.conformal import conformal
from bayesjudge.baselines.elo.held_out import HeldOut, held_out
from bayesjudge.baselines.elo.scale import held_out_summary
from bayesjudge.counts.battles.counts import BattleCounts
from bayesjudge.errors import UsageError
from bayesjudge.estimates import Estimates
from bayesjudge.inference import fit_many
from bayesjudge.studies.elo.fits import EloOptions, named_methods

__all__ = ["ESTIMAND", "predict_held_out", "scores_of"]

ESTIMAND = "held_out_elo"
#: Conformal intervals that stand beside the prediction.
CONFORMAL: tuple[tuple[Literal["split", "jackknife+"], Literal["raw", "line"]], ...] = (
    ("split", "raw"), ("split", "line"), ("jackknife+", "line"),
)  # fmt: skip
#: Draws of each chain of a fit that only predicts: quantiles of thousands of draws need no more.
MOST_DRAWS = 500
#: Resamples behind the standard errors that normalise conformal scores.
RESAMPLES = 200


def predict_held_out(
    counts: BattleCounts, models: Sequence[str], options: EloOptions
) -> tuple[Estimates, tuple[str, ...]]:
    """Predictive intervals for the human Elo of models whose votes are hidden one model at a time.

    Parameters
    ----------
    counts : BattleCounts
        With votes and judges.
    models : sequence of str
        Names, or ``"all"`` for every model that has votes and verdicts.
    options : EloOptions
        Checked options.

    Returns
    -------
    estimates : Estimates
        Estimand ``held_out_elo``; ``truth`` is the Elo by the hidden votes, where there are any. First
        `judge_elo` on all judges, then for each judge conformal intervals on its Elo as it is (``raw``) and
        put through a line to the human scale.
    warnings : tuple of str
        Which baselines could not be had, and why.

    Raises
    ------
    UsageError
        An unknown model, no votes, or no judges.
    """
    chosen = _choose(counts, models)
    references, told = _references(counts, options)
    parts = [_predicted(counts, chosen, references, options)]
    for held in references:
        for kind, on in CONFORMAL:
            table = conformal(held, kind=kind, on=on, prob=options.prob, seed=options.seed)
            rows = table.where(unit=chosen).with_column(estimand=ESTIMAND, judge=held.judge)
            parts.append(rows.with_column(method=rows.frame["method"] + f" {held.method}"))
    return Estimates.concat(part for part in parts if len(part)), told


def _choose(counts: BattleCounts, models: Sequence[str]) -> list[str]:
    if not counts.human.votes.sum() or not counts.judges:
        raise UsageError("held_out predicts people's votes from judges' verdicts, so the table needs both")
    if list(models) != ["all"]:
        for name in models:
            counts.code("model", name)
        return list(dict.fromkeys(models))
    voted = np.unique(np.concatenate([counts.human.first, counts.human.second]))
    judged = np.unique(np.concatenate([counts.judged.first, counts.judged.second]))
    return [counts.models[m] for m in np.intersect1d(voted, judged)]


def _references(counts: BattleCounts, options: EloOptions) -> tuple[list[HeldOut], tuple[str, ...]]:
    """Leave-one-model-out by every judge, with its scores where it gives any."""
    found, told = [], []
    for judge in counts.judges:
        of_judge = counts.judged.keep(counts.judged.judge == counts.code("judge", judge))
        for method in METHODS[:2] if np.isfinite(of_judge.gap).any() else METHODS[:1]:
            try:
                found.append(held_out(counts, judge, method, bootstrap=RESAMPLES, seed=options.seed))
            except UsageError as why:
                told.append(f"no conformal interval on {method} of {judge}: {why}")
    return found, tuple(told)


def _predicted(
    counts: BattleCounts, models: Sequence[str], references: Sequence[HeldOut], options: EloOptions
) -> Estimates:
    model = options.judge_elo()
    tables = [counts.without_votes_on(name) for name in models]
    sampling: dict[str, Any] = {name: min(getattr(options, name), MOST_DRAWS) for name in ("draws", "tune")}
    common: dict[str, Any] = {"chains": options.chains, "seed": options.seed, "progress": options.progress}
    fits = fit_many(model, tables, **common, **sampling)
    schedule, truth = counts.human_pairs(), _truth(references)
    voted = {counts.models[m] for m in np.concatenate([schedule.first, schedule.second])}
    rows = []
    for k, name in enumerate(models):
        votes = schedule if name in voted else None
        draws = model.held_out(
            fits.posterior(k), fits.data[k], [name], votes=votes, seed=options.seed + k
        ).to_numpy().ravel()  # fmt: skip
        low, high = np.quantile(draws, [(1 - options.prob) / 2, (1 + options.prob) / 2])
        rows.append({"estimand": ESTIMAND, "unit": name, "method": model.label, "point": float(draws.mean()),
                     "lower": float(low), "upper": float(high), "prob": options.prob,
                     "truth": truth.get(name, np.nan), "note": fits.gate(k).note})  # fmt: skip
    return Estimates.from_rows(rows)


def _truth(references: Sequence[HeldOut]) -> dict[str, float]:
    """Elo by the hidden votes: the same whoever the judge is."""
    pairs = ((held.models, held.human) for held in references)
    return {name: float(elo) for names, human in pairs for name, elo in zip(names, human, strict=True)}


def scores_of(estimates: Estimates) -> Mapping[str, Mapping[str, float]]:
    """Error, coverage and width of each method (and judge) over the models whose votes were hidden.

    Examples
    --------
    >>> row = {"estimand": ESTIMAND, "unit": "m", "method": "x", "point": 1510, "lower": 1490, "upper": 1530}
    >>> scores_of(Estimates.from_rows([{**row, "truth": 1500}]))["x"]["mae"]
    10.0
    """
    known = estimates.where(estimand=ESTIMAND).frame
    known = known[known["truth"].notna()]
    named = Estimates(known.assign(method=named_methods(known), judge=""))
    return held_out_summary(named) if len(known) else {}
