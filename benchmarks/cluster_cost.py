"""What clusters cost: processor time of ``bayesjudge accuracy`` with ``--cluster item`` over that without.

Every item is a cluster of its own, so that the answer is the same and only the work differs. Processor time of
the whole command, start and imports included: first with no compiled JAX programs kept, then with them.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from harness.command import parser
from harness.machine import machine
from harness.results import holds, report, show

from bayesjudge.datasets import simulate_verdicts

WAYS = {"none": (), "cluster=item": ("--cluster", "item")}


def main() -> None:
    """Time both in turn and print it."""
    options = _options()
    facts = machine()
    with tempfile.TemporaryDirectory() as folder:
        rows = timed(Path(folder), options)
    show(rows, "processor seconds of one command")
    claims = [holds(f"cluster=item over none, {row['programs']}", row["ratio"], most=1.2) for row in rows]
    report("cluster_cost", options, facts, must_hold=[] if options.quick else claims, rows=rows)


def _options() -> argparse.Namespace:
    options = parser(__doc__)
    options.add_argument("--repeats", type=int, default=3)
    options.add_argument("--labelled", type=int, default=200)
    options.add_argument("--items", type=int, default=800, help="items without a label")
    found = options.parse_args()
    if found.quick:
        found.repeats, found.labelled, found.items = 1, 40, 60
    return found


def timed(folder: Path, options: argparse.Namespace) -> list[dict[str, Any]]:
    """Medians of both ways, which take turns, without and with compiled programs."""
    log = simulate_verdicts(seed=options.seed, labelled=options.labelled, unlabelled=options.items)
    log.verdicts.frame.to_csv(folder / "log.csv", index=False)
    rows = []
    for programs in ("compiled anew", "compiled before"):
        times: dict[str, list[float]] = {way: [] for way in WAYS}
        for repeat in range(options.repeats):
            for way, words in WAYS.items():
                anew = programs == "compiled anew"
                cache = folder / (f"{way}, {repeat}" if anew else f"{way}, 0")
                times[way].append(processor_seconds(folder, words, cache))
        middle = {way: statistics.median(found) for way, found in times.items()}
        rows.append({"programs": programs, **middle, "ratio": middle["cluster=item"] / middle["none"]})
    return rows


def processor_seconds(folder: Path, words: Sequence[str], cache: Path) -> float:
    """User and system time of one command, whose compiled programs are kept in a folder."""
    command = [sys.executable, "-m", "bayesjudge", "accuracy", "log.csv", "--quiet", *words]
    kept = {"JAX_COMPILATION_CACHE_DIR": str(cache), "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0"}
    before = os.times()
    subprocess.run(command, cwd=folder, env=os.environ | kept, stdout=subprocess.DEVNULL, check=True)  # noqa: S603 our own command
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


if __name__ == "__main__":
    main()
