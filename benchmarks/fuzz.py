"""Thousands of damaged files and tables through every reader: what was read, what was refused, nothing else.

The inputs are those of ``tests/fuzzing.py``, ``tests/fuzzing_values.py`` and ``tests/fuzzing_formats.py``, one a
seed: sound tables of every question in every format, broken in cells, columns and bytes; tables, as data frames and
as JSON, with values of every type in their cells; and the files of every evaluation tool, with keys removed, types
changed, nested, cut and with other bytes.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from harness.command import parser
from harness.machine import machine
from harness.results import holds, report, show

sys.path.append(str(Path(__file__).parents[1] / "tests"))

from fuzzing import Outcome, damaged, read_or_refused
from fuzzing_formats import damaged_file, read_damaged
from fuzzing_values import read_values


def main() -> None:
    """Read every input and count what became of it."""
    options = _options()
    facts = machine()
    states: Counter[tuple[str, str]] = Counter()
    faults: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        for table, facets, outcome in _outcomes(options, Path(folder)):
            states[table, outcome.state] += 1
            if outcome.state == "fault":
                faults.append({**facets, "table": table, "message": outcome.message[:200]})
    rows = [
        {
            "table": kind,
            "inputs": sum(n for (one, _), n in states.items() if one == kind),
            **{state: states[kind, state] for state in ("read", "refused", "fault")},
        }
        for kind in sorted({kind for kind, _ in states})
    ]
    show(rows, "inputs")
    if faults:
        show(faults, "faults")
    claims = [] if options.quick else [holds("damaged files of evaluation tools", options.tools, least=20_000)]
    claims.append(holds("tracebacks, lost rows and unreadable messages", len(faults), most=0))
    report("fuzz", options, facts, must_hold=claims, inputs=rows, faults=faults)


def _outcomes(options: argparse.Namespace, folder: Path) -> Iterator[tuple[str, dict[str, Any], Outcome]]:
    """Each input's table, what was done to it, and what became of it."""
    for seed in range(options.seed, options.seed + options.inputs):
        case = damaged(seed)
        done = {"seed": seed, "format": case.format, "damage": ", ".join(case.damage)}
        yield case.kind, done, read_or_refused(case, folder)
    for seed in range(options.seed, options.seed + options.tables):
        kind, outcome = read_values(seed, folder)
        yield f"{kind}, values", {"seed": seed, "format": "jsonl or frame", "damage": "values"}, outcome
    for seed in range(options.seed, options.seed + options.tools):
        done = {"seed": seed, "format": damaged_file(seed)[0], "damage": "keys, types, bytes"}
        yield "tools' files", done, read_damaged(seed, folder)


def _options() -> argparse.Namespace:
    options = parser(__doc__)
    options.add_argument("--inputs", type=int, default=12_000, help="damaged files")
    options.add_argument("--tables", type=int, default=6000, help="tables with values of every type")
    options.add_argument("--tools", type=int, default=20_000, help="damaged files of evaluation tools")
    found = options.parse_args()
    if found.quick:
        found.inputs, found.tables, found.tools = 300, 100, 300
    return found


if __name__ == "__main__":
    main()
