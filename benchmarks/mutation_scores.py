"""Wrong versions of every model, and how far off each is: ``python benchmarks/mutation_scores.py``.

The table of mutations is that of the tests (``tests/mutations.py``); here distances are measured and kept.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from harness.command import parser
from harness.machine import machine
from harness.results import holds, report, show

from bayesjudge.simulation.calibration.replicates import Simulator
from bayesjudge.simulation.calibration.score import moments_of, score_program

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from error_budget import standard_errors  # noqa: E402 the tests' own table, which no package holds
from mutants import Case  # noqa: E402
from mutations import MUTATIONS  # noqa: E402

OUT = ROOT / "benchmarks" / "results" / "validation" / "mutations.json"


def main() -> None:
    """Measure the mutations of the models asked for."""
    options = parser(__doc__)
    options.add_argument("--replicates", type=int, help="default: 2000, quick: 200")
    given = options.parse_args()
    given.replicates = given.replicates or (200 if given.quick else 2000)
    names: Sequence[str] = ["bradley_terry"] if given.quick else list(MUTATIONS)
    given.out = given.out or (None if given.quick else OUT)
    facts, rows = machine(), []
    for name in names:
        rows += _measured(Case.of(name, MUTATIONS[name]), replicates=given.replicates, seed=given.seed)
        show(rows[-len(MUTATIONS[name]) :], name)
    claim = holds(
        "smallest distance of a wrong density from the right one", min(r["density"] for r in rows), least=1e-10
    )
    report("mutation_scores", given, facts, must_hold=[claim], mutations=rows)


def _measured(case: Case, *, replicates: int, seed: int) -> list[dict[str, Any]]:
    world = Simulator(model=case.model, data=case.data).world(replicates, seed=seed)
    apart = case.distances(world.points[:20])
    program = score_program(lambda z, arrays: -case.potential(z, arrays, arrays["slips"]))

    def score(weights: Any) -> float:
        data = case.data.with_arrays({**case.data.arrays, "slips": weights})
        return float(moments_of(program, world, data, seed=seed + 1).abs().max(axis=None))

    critical = standard_errors(3 * world.points.shape[1])
    right = score(np.zeros(len(case.slips)))
    common = {"right": right, "critical": critical}
    each = zip(case.slips, apart, np.eye(len(apart)), strict=True)
    return [
        {"model": case.name, "mutation": slip.name, "density": float(distance), "score": score(weights), **common}
        for slip, distance, weights in each
    ]


if __name__ == "__main__":
    main()
