"""Thousands of damaged files through every reader: what was read, what was refused, and nothing else.

The inputs are those of ``tests/fuzzing.py``, one a seed: sound tables of every question in every format,
broken in cells, columns and bytes.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from harness.command import parser
from harness.machine import machine
from harness.results import holds, report, show

sys.path.append(str(Path(__file__).parents[1] / "tests"))

from fuzzing import damaged, read_or_refused


def main() -> None:
    """Read every input and count what became of it."""
    options = _options()
    facts = machine()
    states: Counter[tuple[str, str]] = Counter()
    faults: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(options.seed, options.seed + options.inputs):
            case = damaged(seed)
            outcome = read_or_refused(case, Path(folder))
            states[case.kind, outcome.state] += 1
            if outcome.state == "fault":
                faults.append({"seed": seed, "table": case.kind, "format": case.format,
                               "damage": ", ".join(case.damage),
                               "message": outcome.message[:200]})  # fmt: skip
    rows = [{"table": kind, "inputs": sum(n for (one, _), n in states.items() if one == kind),
             **{state: states[kind, state] for state in ("read", "refused", "fault")}}
            for kind in sorted({kind for kind, _ in states})]  # fmt: skip
    show(rows, "inputs")
    if faults:
        show(faults, "faults")
    claims = [] if options.quick else [holds("damaged inputs", options.inputs, least=10_000)]
    claims.append(holds("tracebacks, lost rows and unreadable messages", len(faults), most=0))
    report("fuzz", options, facts, must_hold=claims, inputs=rows, faults=faults)


def _options() -> argparse.Namespace:
    options = parser(__doc__)
    options.add_argument("--inputs", type=int, default=12_000, help="damaged files")
    found = options.parse_args()
    if found.quick:
        found.inputs = 300
    return found


if __name__ == "__main__":
    main()
