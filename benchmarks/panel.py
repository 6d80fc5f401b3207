"""Several judges, few labels: hide all but a handful of human labels, estimate, compare with all of them.

TriviaQA answers judged by nine LLM judges (version V1, rows marked ``suspect`` left out), version V2, and
4,423 passages whose relevance 33 judges rated (TREC; binarised at 2, clustered by query; one pool of answers,
so one "model"). V1 is where `judge_panel` was chosen; V2 and TREC are run with the same settings.

The truth is the accuracy over all items of the table. For the interval about *these* items it is exactly
that. The superpopulation's interval is about other questions too, and covers the table's own accuracy nearly
always; whether it covers what it is about is in `panel_resampled.py`.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from harness.command import parser
from harness.machine import machine
from harness.panel_speed import quick_enough, timed
from harness.panel_tables import DATA, TABLES, hidden, read, true_values
from harness.results import holds, report, show
from harness.scores import score

from bayesjudge.baselines.panel import panel_baselines
from bayesjudge.baselines.panel.redundancy import without_judge
from bayesjudge.counts.panel import PanelVotes
from bayesjudge.estimates import POPULATIONS, Estimates, Population, estimand_of
from bayesjudge.estimates.posterior import differences, summary_rows
from bayesjudge.inference import Hmc, fit_many
from bayesjudge.models.judge_panel import JudgePanel

BASELINES = ("ppi++[best-judge]", "eif[panel-logit,logit]")
#: The judge that a user who has read about judges would pick; TREC has no such name.
FAVOURITE = "GPT-4"
SHOWN = (
    "table",
    "method",
    "estimand",
    "n_cal",
    "mae",
    "coverage",
    "coverage_lower",
    "coverage_upper",
    "splits_lower",
    "splits_upper",
    "width",
    "interval_score",
    "wrong_sign",
)
#: Numbers of labels at which PPI++'s width is found, to say how many give the panel's.
MORE_LABELS = (20, 40, 60, 80, 100, 150, 200, 300)

type Key = dict[str, Any]


def main() -> None:
    """Run the study and print it."""
    options = _options()
    if not options.data.is_dir():
        sys.exit(f"no data at {options.data}; name the folder with --data")
    facts, start = machine(), time.perf_counter()
    scores: list[dict[str, Any]] = []
    gates: list[dict[str, Any]] = []
    for name in options.tables:
        votes = read(options.data, name)
        found, gate = studied(votes, name, options)
        scores += found
        gates += gate
        print(f"{name}: {time.perf_counter() - start:.0f} s", file=sys.stderr, flush=True)
    show(scores, "panel of judges", columns=SHOWN)
    show(gates, "convergence of the posteriors")
    needed = labels_needed(scores, options)
    if needed:
        show(needed, "labels that PPI++ needs for the panel's width")
    ((_, one),) = hidden(read(options.data, TABLES[0]), splits=1, labels=[40], seed=options.seed)
    engines = ("hmc",) if options.quick else ("hmc", "nuts")
    speed = list(timed(one, engines=engines, repeats=1 if options.quick else 3))
    show(speed, "one table of 9 models, 9 judges, 400 items, 40 of them labelled")
    claims = [] if options.quick else [*must_hold(scores), *quick_enough(speed)]
    report(
        "panel",
        options,
        facts,
        must_hold=claims,
        scores=scores,
        gates=gates,
        needed=needed,
        speed=speed,
        seconds=time.perf_counter() - start,
    )


def _options() -> argparse.Namespace:
    options = parser(__doc__)
    options.add_argument("--splits", type=int, default=60, help="random choices of the labelled items")
    options.add_argument("--other-splits", type=int, default=20, help="the same for the other two tables")
    options.add_argument("--labels", type=int, nargs="+", default=[20, 40, 100], help="items that keep labels")
    options.add_argument("--tables", nargs="+", choices=TABLES, default=list(TABLES))
    options.add_argument("--draws", type=int, default=1000, help="draws of each of 4 chains")
    options.add_argument("--batch", type=int, default=60, help="posteriors in one program")
    options.add_argument("--data", type=Path, default=DATA)
    found = options.parse_args()
    if found.quick:
        found.splits, found.labels, found.tables, found.draws = 3, [40], ["triviaqa V1"], 200
    return found


def studied(
    votes: PanelVotes, name: str, options: argparse.Namespace
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Scores of every method on one table, and the gates of the posteriors."""
    splits = options.splits if name == TABLES[0] else options.other_splits
    sets = hidden(votes, splits=splits, labels=options.labels, seed=options.seed)
    start = time.perf_counter()
    panel, gate = panel_estimates(sets, options)
    seconds = time.perf_counter() - start
    tables = [panel, *([both_populations(one, method) for _, one in sets] for method in BASELINES)]
    if FAVOURITE in votes.judges:
        single = [only_judge(one, FAVOURITE) for _, one in sets]
        tables.append(
            [both_populations(one, "ppi++[best-judge]").with_column(method=f"ppi++[{FAVOURITE}]") for one in single]
        )
    truth, keys = true_values(votes), [key for key, _ in sets]
    scores = score(tables, truth=truth, keys=keys, seed=options.seed)
    more = [n for n in MORE_LABELS if n not in options.labels and n < len(votes.items)]
    if not options.quick:
        scores += more_labels(votes, more, truth, options)
    return [{"table": name, **row} for row in scores], [{"table": name, **gate, "seconds": seconds}]


def panel_estimates(
    sets: list[tuple[Key, PanelVotes]], options: argparse.Namespace
) -> tuple[list[Estimates], dict[str, Any]]:
    """Accuracies and differences of `judge_panel` on both populations, and how its chains mixed."""
    model = JudgePanel()
    data = [model.prepare(one) for _, one in sets]
    # Whole hundreds share one program; careful steps instead of repeats, which would need one of their own.
    engine = Hmc(draws=options.draws, tune=500, target_accept=0.95)
    fits = fit_many(model, data, engine=engine, seed=options.seed, batch=options.batch, repeat=False, progress=True)
    found, failed, worst = [], 0, 1.0
    for index in range(len(fits)):
        rows: list[dict[str, Any]] = []
        for population in POPULATIONS:
            theta = model.accuracy(fits.posterior(index), data[index], population=population)
            common: dict[str, Any] = {"method": model.label, "prob": 0.95, "n": data[index].units}
            rows += summary_rows(theta, estimand=estimand_of("accuracy", population), **common)
            rows += plain_rows(differences(theta, "system"), estimand_of("difference", population), **common)
        found.append(Estimates.from_rows(rows))
        failed += not fits.gate(index).passed
        worst = max(worst, float(found[-1].frame["rhat"].max()))
    return found, {"method": model.label, "posteriors": len(fits), "gate_failed": failed, "most_rhat": worst}


def plain_rows(draws: Any, estimand: str, **common: Any) -> Iterator[dict[str, Any]]:
    """`summary_rows` without R-hat and ESS, which take longer than the draws of 36 differences."""
    if not draws.sizes["pair"]:
        return
    values = draws.transpose(..., "pair").to_numpy().reshape(-1, draws.sizes["pair"])
    low, high = np.quantile(values, [0.025, 0.975], axis=0)
    for unit, *found in zip(draws["pair"].to_numpy(), values.mean(axis=0), low, high, strict=True):
        point, lower, upper = map(float, found)
        yield {
            "estimand": estimand,
            "unit": str(unit),
            "point": point,
            "lower": lower,
            "upper": upper,
            **common,
            "n": np.nan,
        }


def both_populations(votes: PanelVotes, method: str) -> Estimates:
    """One baseline's accuracies and differences, about questions like these and about these."""
    parts: list[Population] = list(POPULATIONS)
    return Estimates.concat(
        panel_baselines(votes, methods=[method], population=population, bootstrap=0) for population in parts
    )


def only_judge(votes: PanelVotes, judge: str) -> PanelVotes:
    """The votes of one judge."""
    for other in votes.judges:
        if other != judge:
            votes = without_judge(votes, other)
    return votes


def more_labels(
    votes: PanelVotes, labels: Sequence[int], truth: Mapping[tuple[str, str], float], options: argparse.Namespace
) -> list[dict[str, Any]]:
    """PPI++ on the best judge with other numbers of labels, a third of the splits."""
    sets = hidden(votes, splits=max(options.splits // 3, 2), labels=labels, seed=options.seed + 1)
    tables = [[both_populations(one, "ppi++[best-judge]") for _, one in sets]]
    return score(tables, truth=truth, keys=[key for key, _ in sets], seed=options.seed)


def labels_needed(scores: Sequence[Mapping[str, Any]], options: argparse.Namespace) -> list[dict[str, Any]]:
    """Labels with which PPI++ on the best judge has the panel's mean width, by interpolation in logs."""
    rows = []
    for table in options.tables:
        own = [row for row in scores if row["table"] == table and row["estimand"] == "accuracy"]
        plus = sorted((row["n_cal"], row["width"]) for row in own if row["method"] == "ppi++[best-judge]")
        if len(plus) < 2:
            continue
        n, width = np.log(np.array(plus, dtype=float)).T
        for row in own:
            if row["method"] == JudgePanel().label:
                at = float(np.interp(-np.log(row["width"]), -width, n))
                beyond = row["width"] < plus[-1][1]
                rows.append(
                    {
                        "table": table,
                        "n_cal": row["n_cal"],
                        "width": row["width"],
                        "ppi++ labels": float(np.exp(at)),
                        "or more": beyond,
                    }
                )
    return rows


def must_hold(scores: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Issue 6's claims."""
    at = {(r["table"], r["n_cal"], r["estimand"], r["method"]): r for r in scores}
    ours = JudgePanel().label
    claims = []
    for table, n_cal, estimand, method in at:
        if method == ours and estimand.startswith("accuracy"):
            found = at[table, n_cal, estimand, ours]["coverage"]
            claims.append(holds(f"{table}, {n_cal} labels: coverage, {estimand}", found, least=0.93))
    singles = ("ppi++[best-judge]", f"ppi++[{FAVOURITE}]")
    wanted = (("width", "accuracy", 0.80), ("mae", "accuracy", 0.65), ("width", "difference", 0.75))
    for n_cal in sorted({row["n_cal"] for row in scores if row["method"] == ours}):
        for figure, estimand, most in wanted:
            key = ("triviaqa V1", n_cal, estimand)
            if (*key, singles[1]) in at:
                best = min(at[*key, single][figure] for single in singles)
                name = f"triviaqa V1, {n_cal} labels: {figure} of {estimand} over the best judge's PPI++"
                claims.append(holds(name, at[*key, ours][figure] / best, most=most))
    return claims


if __name__ == "__main__":
    main()
