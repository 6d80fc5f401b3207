"""How long things take: the bootstrap, counting ten million rows, one fit, hundreds of fits.

Medians of repeats after a first call that is not counted, except where a line says "cold": compiled JAX
programs are not kept between processes here, so a cold time includes compilation.
"""

from __future__ import annotations

import os

os.environ["JAX_ENABLE_COMPILATION_CACHE"] = "false"

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from harness.command import parser
from harness.machine import machine
from harness.results import holds, report, show
from harness.rows import write_rows
from harness.timing import median_seconds, seconds

from bayesjudge.baselines import accuracy_baselines
from bayesjudge.datasets import simulate_counts
from bayesjudge.inference import fit, fit_many
from bayesjudge.models.judge_error import JudgeError

COUNTING = Path(__file__).parent / "harness" / "counting.py"


def main() -> None:
    """Time everything and print it."""
    options = _options()
    facts = machine()
    rows = [*bootstrap(options), *counting(options), *fits(options)]
    show(rows, "speed", columns=("what", "seconds", "detail"))
    report("speed", options, facts, must_hold=[] if options.quick else must_hold(rows), rows=rows)


def _options() -> argparse.Namespace:
    options = parser(__doc__)
    options.add_argument("--rows", type=int, default=10_000_000, help="rows of the file that is counted")
    options.add_argument("--posteriors", type=int, default=200, help="posteriors of fit_many")
    options.add_argument("--repeats", type=int, default=7)
    found = options.parse_args()
    if found.quick:
        found.rows, found.posteriors, found.repeats = 200_000, 20, 3
    return found


def bootstrap(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """All baselines with 10,000 replicates, for nine models."""
    world: dict[str, Any] = {"models": tuple("abcdefghi"), "accuracy": np.linspace(0.55, 0.9, 9), "youden": 0.7}
    for labelled, unlabelled in ((40, 360), (200, 800)):
        (counts,) = simulate_counts(datasets=1, seed=options.seed, labelled=labelled, unlabelled=unlabelled, **world)
        took, busy = median_seconds(lambda one=counts: accuracy_baselines(one, "judge"), repeats=options.repeats)
        words = f"all baselines, 10,000 replicates, 9 models, {labelled} labelled + {unlabelled} items"
        yield {
            "what": "bootstrap",
            "seconds": took,
            "cpu_seconds": busy,
            "items": labelled + unlabelled,
            "detail": f"{words}; {busy:.2f} processor seconds",
        }


def counting(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """One pass over a long file, out of core and through memory."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "verdicts.parquet"
        rows = write_rows(path, rows=options.rows, seed=options.seed)
        size = path.stat().st_size / 2**20
        for way, words in (("ibis", "Ibis on DuckDB"), ("read", "read_verdicts, then counts")):
            command = [sys.executable, str(COUNTING), str(path), way]
            done = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603 our own script
            found = json.loads(done.stdout)
            memory = f"peak {found['peak_mb']:.0f} MB (imports {found['imports_mb']:.0f})"
            detail = f"{words}: {rows:,} rows, {size:.3g} MB of Parquet, {memory}"
            yield {"what": "counting", "way": way, "rows": rows, "file_mb": size, **found, "detail": detail}


def fits(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """One NUTS fit, and many posteriors in one program; cold, then warm with other data."""
    first, second = (simulate_counts(datasets=options.posteriors, seed=options.seed + k) for k in (0, 1))
    # Compiling is most of the time, so a hurried run takes the one model that has the fewest parameters.
    for model in (JudgeError(pooling="shared" if options.quick else "partial"),):
        for state, counts in (("cold", first), ("warm", second)):
            took = seconds(lambda one=counts[0], this=model: fit(this, one))
            detail = f"{model.label}, NUTS 4 × (1,000 + 1,000), two models, the whole tree"
            yield {"what": f"fit, {state}", "seconds": took, "model": model.label, "detail": detail}
        for state, counts in (("cold", first), ("warm", second)):
            took = seconds(lambda many=counts, this=model: fit_many(this, many))
            yield {
                "what": f"fit_many, {state}",
                "seconds": took,
                "model": model.label,
                "detail": f"{model.label}, {len(counts)} posteriors in one program, HMC 4 × (500 + 500): "
                f"{len(counts) / took:.1f} posteriors/s",
            }


def must_hold(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Issue 2: all baselines of nine models bootstrapped in under a second."""
    return [
        holds(f"seconds of the {row['detail']}", row["seconds"], most=1.0) for row in rows if row["what"] == "bootstrap"
    ]


if __name__ == "__main__":
    main()
