"""Coverage of every model over truths from its own prior: ``python benchmarks/prior_coverage.py``.

The one place where a Bayesian interval promises its probability exactly, neither less nor more, however few
the data: parameters from the prior, data given them, and what the default fit says of every estimand that is
a function of the parameters. The sweeps of ``sweeps.py`` fix truths instead. One result a model,
``results/prior_coverage/MODEL.json``; blocks of data sets are kept in ``--folder``, so that a killed run goes
on where it stopped.
"""

from __future__ import annotations

import time
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from harness.command import each_model
from harness.figures import draw_prior_coverage
from harness.machine import machine
from harness.results import holds, report, show

from bayesjudge.datasets.small import KIND_OF_MODEL, small_table
from bayesjudge.maths.holm import both_sides
from bayesjudge.model import find_model
from bayesjudge.simulation import Coverage, coverage, prior_cell
from bayesjudge.simulation.intervals.coverage import FALSE_ALARM

RESULTS = Path(__file__).resolve().parent / "results" / "prior_coverage"


def main() -> None:
    """Judge the models asked for, one after another."""
    given = each_model(__doc__, "datasets", RESULTS, _one)
    if any(RESULTS.glob("*.json")) and not given.quick:
        print(f"drawn: {draw_prior_coverage()}")


def _one(name: str, options: Namespace) -> None:
    facts, model = machine(), find_model(name)()
    data = model.prepare(small_table(KIND_OF_MODEL[name]))
    folder = None if options.folder is None else options.folder / name
    # What was kept from an earlier run took its time then: no figure is better than a wrong one.
    resumed = folder is not None and any(folder.glob("block-*"))
    start = time.process_time()
    found = coverage(
        [prior_cell(model, data)],
        models=[model],
        datasets=options.datasets,
        seed=options.seed,
        folder=folder,
        block=250,
        progress=True,
    )
    took = None if resumed else time.process_time() - start
    rows = corrected(found)
    show(rows, model.label, columns=_SHOWN)
    settings = Namespace(**{key: value for key, value in vars(options).items() if key != "folder"})
    report(
        "prior_coverage",
        settings,
        facts,
        must_hold=[must_hold(rows)],
        label=model.label,
        table=KIND_OF_MODEL[name],
        datasets=options.datasets,
        gates_failed=rows[0]["gates_failed"],
        cpu_seconds=took,
        estimands=rows,
    )


_SHOWN = ("estimand", "n", "coverage", "coverage_lower", "coverage_upper", "adjusted", "bias", "rmse", "width")


def corrected(found: Coverage) -> list[dict[str, Any]]:
    """Rows with their exact p-value of both sides, corrected for the number of rows (Holm)."""
    adjusted = both_sides(found.frame["below"], found.frame["above"])
    rows = found.frame.drop(columns=["swept", "value"]).assign(adjusted=adjusted)
    return [{str(name): value for name, value in row.items()} for row in rows.to_dict("records")]


def must_hold(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """No estimand's coverage is outside the band about its nominal probability that holds for all at once."""
    claim = "smallest p-value of coverage of any estimand, both sides (exact, data sets counted, Holm)"
    return holds(claim, min(row["adjusted"] for row in rows), least=FALSE_ALARM)


if __name__ == "__main__":
    main()
