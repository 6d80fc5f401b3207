"""How often labels that were drawn evenly look chosen: the level of the permutation test, on real verdicts.

Logs are those of `resampled.py`: items of a fully labelled table drawn with replacement, labels on the first
n. The test is exact, so the share of logs with p ≤ α is binomial with probability α, whatever models share.
What it finds where labels were not drawn evenly is in `chosen_labels.py`.
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
from harness.results import holds, report, show
from resampled import DATA, Population, drawn, populations
from scipy.stats import binom

from bayesjudge.baselines.accuracy.selection import even_labelling

#: With the observed labels 200 in all, so that both levels can be reached exactly.
PERMUTATIONS = 199
LEVELS = (0.05, 0.01)


def main() -> None:
    """Run the study and print it."""
    options = _options()
    if not options.data.is_file():
        sys.exit(f"no data at {options.data}; name the file with --data")
    facts, start, rows = machine(), time.perf_counter(), []
    for judge, world in populations(options.data, options.version, options.judges):
        for n in options.labels:
            rows += [{"judge": judge, "n": n, **row} for row in levels(world, n, options)]
            print(f"{judge}, {n} labels: {time.perf_counter() - start:.0f} s", file=sys.stderr)
    show(rows, "share of logs with evenly drawn labels that are called chosen")
    claims = [] if options.quick else must_hold(rows)
    report("even_labels", options, facts, must_hold=claims, rows=rows, seconds=time.perf_counter() - start)


def _options() -> argparse.Namespace:
    options = parser(__doc__)
    options.add_argument("--replicates", type=int, default=1000, help="logs drawn for each judge and n")
    options.add_argument("--labels", type=int, nargs="+", default=[60], help="labelled items n")
    options.add_argument("--version", default="V1", help="round of the TriviaQA judges")
    options.add_argument("--judges", nargs="+", default=["GPT-4", "Llama-13B"], help="whose verdicts")
    options.add_argument("--data", type=Path, default=DATA)
    found = options.parse_args()
    if found.quick:
        found.replicates, found.judges = 40, ["GPT-4"]
    return found


def levels(world: Population, n: int, options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Share of rejections at each level, and between which numbers 99 % of such shares lie."""
    p = np.array(
        [
            even_labelling(
                drawn(world, n=n, seed=options.seed * 10_000 + k), "judge", seed=k, permutations=PERMUTATIONS
            ).p
            for k in range(options.replicates)
        ]
    )
    for level in LEVELS:
        lower, upper = binom.ppf([0.005, 0.995], len(p), level) / len(p)
        yield {
            "level": level,
            "logs": len(p),
            "rejected": float(np.mean(p <= level)),
            "band_lower": float(lower),
            "band_upper": float(upper),
        }


def must_hold(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The level is what it says, but for chance."""
    return [
        holds(
            f"even labels rejected at {row['level']}, {row['judge']}, {row['n']} labelled",
            row["rejected"],
            least=row["band_lower"],
            most=row["band_upper"],
        )
        for row in rows
    ]


if __name__ == "__main__":
    main()
