"""What labels that were not drawn evenly do, and what knowing their probabilities repairs.

The worlds are those of `resampled.py`: logs drawn by item from a fully labelled table. About 60 of 400 items
keep their labels, by one of four rules: items that the judge likes less, items on which its verdicts on the
models disagree, items that are truly hard, or evenly. Each posterior and baseline is asked for accuracies
and differences: with the probabilities given, with those a logit of the verdicts estimates, and as if labels
had been drawn evenly. The permutation test of even labelling is counted too.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from harness.command import parser
from harness.machine import machine
from harness.results import holds, report, show
from resampled import DATA, ITEMS, SAMPLING, Population, Table, counted, populations, true_values

from bayesjudge.baselines import accuracy_baselines
from bayesjudge.baselines.accuracy.selection import even_labelling
from bayesjudge.counts import VerdictCounts
from bayesjudge.estimates import Estimates
from bayesjudge.inference import fit_many
from bayesjudge.models.common.verdict_channel import Labels
from bayesjudge.models.judge_error import JudgeError
from bayesjudge.studies.accuracy.chosen import estimated_weights

LABELLED = 60
#: Probability of an item's label, but for a factor, by its true labels and the judge's verdicts on it (I, M).
RULES: Mapping[str, Callable[[Population], Table]] = {
    "even": lambda log: np.ones(len(log.label)),
    "judge says wrong": lambda log: np.exp(-2.5 * np.nanmean(log.verdict, axis=1)),
    "verdicts disagree": lambda log: 0.08 + _spread(np.nanmean(log.verdict, axis=1)),
    "truly hard": lambda log: np.exp(-2.5 * np.nanmean(log.label, axis=1)),
}
KEYS = ["judge", "rule", "estimand", "method"]


def main() -> None:
    """Run the study and print it."""
    options = _options()
    if not options.data.is_file():
        sys.exit(f"no data at {options.data}; name the file with --data")
    facts, start, rows, tests = machine(), time.perf_counter(), [], []
    for judge, world in populations(options.data, options.version, options.judges):
        for rule in RULES:
            found, rejected = scored(world, rule, options)
            rows += [{"judge": judge, "rule": rule, **row} for row in found]
            tests.append({"judge": judge, "rule": rule, "rejected at .05": rejected})
            print(f"{judge}, {rule}: {time.perf_counter() - start:.0f} s", file=sys.stderr)
    show(rows, "coverage, error and width by rule")
    show(tests, "permutation test of even labelling")
    claims = [] if options.quick else must_hold(rows, tests)
    report(
        "chosen_labels", options, facts, must_hold=claims, rows=rows, tests=tests, seconds=time.perf_counter() - start
    )


def _options() -> argparse.Namespace:
    options = parser(__doc__)
    options.add_argument("--replicates", type=int, default=60, help="logs drawn for each judge and rule")
    options.add_argument("--version", default="V1", help="round of the TriviaQA judges")
    options.add_argument("--judges", nargs="+", default=["GPT-4", "Llama-13B"], help="whose verdicts")
    options.add_argument("--data", default=DATA)
    found = options.parse_args()
    if found.quick:
        found.replicates, found.judges = 8, ["GPT-4"]
    return found


def _spread(mean: Table) -> Table:
    return 4 * mean * (1 - mean)


def scored(world: Population, rule: str, options: argparse.Namespace) -> tuple[list[dict[str, Any]], float]:
    """One row a method and estimand, and how often the test of even labelling rejects at .05."""
    logs = [drawn(world, rule, seed=options.seed * 1000 + k) for k in range(options.replicates)]
    even = [_without_probabilities(one) for one in logs]
    kinds: dict[Labels, list[VerdictCounts]] = {
        "random": even,
        "weighted": logs,
        "reweighted": [estimated_weights(one) for one in even],
    }
    tables = []
    for labels, counts in kinds.items():
        model = JudgeError(labels=labels)
        fits = fit_many(model, counts, seed=options.seed, engine=SAMPLING)
        tables += [model.estimates(fits.posterior(k), fits.data[k]) for k in range(len(logs))]
    tables += [accuracy_baselines(one, "judge", methods=["ipw", "aipw"]) for one in logs]
    tables += [accuracy_baselines(one, "judge", methods=["ppi++"], bootstrap=0) for one in even]
    tests = [even_labelling(one, "judge", permutations=199, seed=k).p for k, one in enumerate(even)]
    return _coverage(Estimates.concat(tables).frame, true_values(world)), float(np.mean(np.array(tests) <= 0.05))


def drawn(world: Population, rule: str, *, seed: int) -> VerdictCounts:
    """Counts of one log, each item labelled with its own probability, independently of the others."""
    rng = np.random.default_rng(seed)
    pick = rng.integers(0, len(world.label), ITEMS)
    weight = RULES[rule](Population(world.label[pick], world.verdict[pick], world.models))
    chance = weight * LABELLED / weight.sum()
    for _ in range(20):
        chance = np.minimum(chance * LABELLED / np.minimum(chance, 1.0).sum(), 1.0)
    return counted(world, pick, labelled=rng.random(ITEMS) < chance, chance=chance)


def _without_probabilities(counts: VerdictCounts) -> VerdictCounts:
    items = {judge: replace(patterns, probability=None) for judge, patterns in counts.items.items()}
    return replace(counts, items=items)


def _coverage(rows: pd.DataFrame, truth: Mapping[tuple[str, str], float]) -> list[dict[str, Any]]:
    rows = rows[rows["estimand"].isin(["accuracy", "difference"])]
    true = np.array([truth[key] for key in zip(rows["estimand"], rows["unit"], strict=True)])
    inside = (rows["lower"] - 1e-9 <= true) & (true <= rows["upper"] + 1e-9) | rows["point"].isna()
    rows = rows.assign(coverage=inside, bias=rows["point"] - true, width=rows["upper"] - rows["lower"])
    by = rows.groupby(["estimand", "method", "unit"], sort=False)[["coverage", "bias", "width"]].mean()
    table = by.groupby(["estimand", "method"], sort=False).mean()
    table["worst_unit"] = by.groupby(["estimand", "method"], sort=False)["coverage"].min()
    found: list[dict[str, Any]] = table.reset_index().to_dict("records")
    return found


def must_hold(rows: Sequence[Mapping[str, Any]], tests: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """With the probabilities, accuracies and differences are covered whatever the rule; it is noticed."""
    claims = []
    for row in rows:
        if row["method"] == JudgeError(labels="weighted").label:
            least = 0.92 if row["estimand"] == "accuracy" else 0.95
            at = f"{row['estimand']}, {row['judge']}, {row['rule']}"
            claims.append(holds(f"coverage with probabilities, {at}", row["coverage"], least=least))
            claims.append(holds(f"worst unit with probabilities, {at}", row["worst_unit"], least=0.8))
    for row in tests:
        if row["rule"] != "even":
            at = f"{row['judge']}, {row['rule']}"
            claims.append(holds(f"uneven labels rejected at .05, {at}", row["rejected at .05"], least=0.9))
    return claims


if __name__ == "__main__":
    main()
