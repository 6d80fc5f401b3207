"""Do intervals cover in logs that are no full table: models with other items, labels of one model, few answers.

The worlds are those of `resampled.py`: logs drawn by item from TriviaQA V1, for one judge at a time. A design
says who answered which items and which answers keep their labels; the truth stays that of the whole table.
Where one model alone has labels, what is said of the others rests on its judge's errors and on the prior:
such intervals must cover, and be wide.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from harness.command import parser
from harness.machine import machine
from harness.results import holds, report, show
from numpy.typing import NDArray
from resampled import DATA, FIGURES, ITEMS, MODEL, Population, counted, populations, scored

from bayesjudge.counts import VerdictCounts

type Mask = NDArray[np.bool_]

LABELLED = 40
KEYS = ["judge", "design", "part", "estimand", "method"]


def main() -> None:
    """Run the study and print it."""
    options = _options()
    if not options.data.is_file():
        sys.exit(f"no data at {options.data}; name the file with --data")
    facts, start, found = machine(), time.perf_counter(), []
    for judge, world in populations(options.data, "V1", options.judges):
        for design in DESIGNS:
            logs = [drawn(world, design, seed=options.seed * 1000 + k) for k in range(options.replicates)]
            units = pd.DataFrame(scored(world, logs, seed=options.seed))
            found.append(units.assign(judge=judge, design=design, part=parts(units, design, world)))
            print(f"{judge}, {design}: {time.perf_counter() - start:.0f} s", file=sys.stderr)
    rows = summary(pd.concat(found))
    show(rows, "coverage, width and error by design")
    claims = [] if options.quick else must_hold(rows)
    report("odd_designs", options, facts, must_hold=claims, rows=rows, seconds=time.perf_counter() - start)


def _options() -> argparse.Namespace:
    options = parser(__doc__)
    options.add_argument("--replicates", type=int, default=100, help="logs drawn for each judge and design")
    options.add_argument("--judges", nargs="+", default=["GPT-4", "Llama-13B"], help="whose verdicts")
    options.add_argument("--data", default=DATA)
    found = options.parse_args()
    if found.quick:
        found.replicates, found.judges = 8, ["GPT-4"]
    return found


def _other_items(rng: np.random.Generator, models: int) -> tuple[Mask, Mask]:
    """Every second model answers the first two thirds, the others the last two: half of theirs are shared."""
    third = np.arange(ITEMS) * 3 // ITEMS
    answered = np.where(np.arange(models) % 2, third[:, None] > 0, third[:, None] < 2)
    return answered, answered & (rng.permutation(ITEMS) < LABELLED)[:, None]


def _own_items(_: np.random.Generator, models: int) -> tuple[Mask, Mask]:
    """No item is answered by two models; each has the same number of labels."""
    answered = np.arange(ITEMS)[:, None] % models == np.arange(models)
    return answered, answered & (np.arange(ITEMS) < 10 * models)[:, None]


def _one_labelled(_: np.random.Generator, models: int) -> tuple[Mask, Mask]:
    """All answer all items; the first model's answers alone are labelled."""
    labelled = (np.arange(ITEMS) < LABELLED)[:, None] & (np.arange(models) == 0)
    return np.ones((ITEMS, models), dtype=bool), labelled


def _unequal(rng: np.random.Generator, models: int) -> tuple[Mask, Mask]:
    """From all 400 items of the first model down to 20 of the last, labels on the same tenth of the items."""
    sizes = np.geomspace(ITEMS, 20, models).round()
    answered = np.argsort(rng.random((ITEMS, models)), axis=0) < sizes
    return answered, answered & (np.arange(ITEMS) < LABELLED)[:, None]


#: Who answered, and which answers are labelled, both (items, models).
DESIGNS: Mapping[str, Callable[[np.random.Generator, int], tuple[Mask, Mask]]] = {
    "half of the items shared": _other_items,
    "no item shared": _own_items,
    "labels of one model": _one_labelled,
    "400 to 20 answers": _unequal,
}


def drawn(world: Population, design: str, *, seed: int) -> VerdictCounts:
    """Counts of one log of items drawn with replacement, of which the design leaves some answers and labels."""
    rng = np.random.default_rng(seed)
    pick = rng.integers(0, len(world.label), ITEMS)
    answered, labelled = DESIGNS[design](rng, len(world.models))
    label = np.where(labelled, world.label[pick], np.nan)
    verdict = np.where(answered, world.verdict[pick], np.nan)
    return counted(Population(label, verdict, world.models), np.arange(ITEMS), labelled=labelled.any(axis=1))


def parts(rows: pd.DataFrame, design: str, world: Population) -> list[str]:
    """Whether a row is about models with labels only, or also about others."""
    labelled = set(world.models if DESIGNS[design] is not _one_labelled else world.models[:1])
    return ["labelled" if set(unit.split(" − ")) <= labelled else "without labels" for unit in rows["unit"]]


def summary(rows: pd.DataFrame) -> list[dict[str, Any]]:
    """Averages over the units of each part, and the unit that is covered worst."""
    groups = rows[rows["estimand"].isin(["accuracy", "difference"])].groupby(KEYS, sort=False)
    table = groups[FIGURES].mean().assign(worst_unit=groups["coverage"].min())
    found: list[dict[str, Any]] = table.reset_index().to_dict("records")
    return found


def must_hold(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Accuracies and differences are covered whatever the design, and those without labels are wide."""
    claims = []
    for row in rows:
        if row["method"] != MODEL.label:
            continue
        at = f"{row['estimand']}, {row['judge']}, {row['design']}, {row['part']}"
        claims.append(holds(f"coverage, {at}", row["coverage"], least=0.93))
        claims.append(holds(f"coverage of the worst unit, {at}", row["worst_unit"], least=0.85))
        if row["estimand"] == "difference":
            claims.append(holds(f"confident wrong signs, {at}", row["wrong"], most=0.005))
        elif row["part"] == "without labels":
            claims.append(holds(f"width, {at}", row["width"], least=0.6))
    return claims


if __name__ == "__main__":
    main()
