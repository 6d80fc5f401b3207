"""Simulation-based calibration of every registered model: ``python benchmarks/validation.py``.

Each model, with formulas or groups too where it takes them, is calibrated on a small table of its kind: ranks of every
parameter, of the log likelihood and of further quantities that look at the data, and the exact ranks of chains that
start at the truth. One result a model, ``results/validation/MODEL.json``; VALIDATION.md is written from them by
``harness/pages.py``. Blocks of replicates are kept in ``--folder``, so that a killed run goes on where it stopped.
"""

from __future__ import annotations

import time
from argparse import Namespace
from pathlib import Path
from typing import Any

import numpy as np
from harness.command import each_model
from harness.machine import machine
from harness.results import holds, report, show

from bayesjudge.datasets.small import OPTIONS, calibrated_on, small_table
from bayesjudge.inference import Hmc
from bayesjudge.model import find_model
from bayesjudge.simulation import Calibration, data_quantities, sbc
from bayesjudge.simulation.calibration.ranks import FALSE_ALARM

RESULTS = Path(__file__).resolve().parent / "results" / "validation"
#: Bins of the rank histograms that are kept: what 64 ranks divide into.
BINS = 16


def main() -> None:
    """Calibrate the models asked for, one after another."""
    each_model(__doc__, "replicates", RESULTS, _one, more=list(OPTIONS))


def _one(name: str, options: Namespace) -> None:
    facts, (registered, given, table) = machine(), calibrated_on(name)
    model = find_model(registered)(**given)
    data = model.prepare(small_table(table))
    folder = None if options.folder is None else options.folder / name
    # What was kept from an earlier run took its time then: no figure is better than a wrong one.
    resumed = folder is not None and any(folder.glob("block-*"))
    start, cpu = time.perf_counter(), time.process_time()
    found = sbc(
        model,
        data,
        replicates=options.replicates,
        engine=Hmc(draws=64, tune=150),
        seed=options.seed,
        progress=True,
        quantities=data_quantities(model, data),
        second_opinion=True,
        block=250,
        folder=folder,
    )
    took = {"seconds": time.perf_counter() - start, "cpu_seconds": time.process_time() - cpu}
    took = dict.fromkeys(took) if resumed else took
    rows = quantities(found)
    show(rows, found.label, columns=[column for column in rows[0] if column != "histogram"])
    print(found.summary)
    settings = Namespace(**{k: v for k, v in vars(options).items() if k != "folder"})
    report(
        "validation",
        settings,
        facts,
        must_hold=[must_hold(found)],
        label=found.label,
        table=table,
        replicates=len(found.ranks),
        unreliable=found.unreliable,
        **took,
        quantities=rows,
    )


def quantities(found: Calibration) -> list[dict[str, Any]]:
    """One row a quantity, its rank histogram in `BINS` bins with it."""
    counts = [np.bincount(one * BINS // (found.draws + 1), minlength=BINS).tolist() for one in found.ranks.T]
    return [{**row, "histogram": bins} for row, bins in zip(found.frame.to_dict("records"), counts, strict=True)]


def must_hold(found: Calibration) -> dict[str, Any]:
    """The smallest p-value of both rank tests, corrected for their number."""
    claim = "smallest p-value of all ranks by both tests, corrected for their number (Holm)"
    return holds(claim, float(found.frame["adjusted"].min()), least=FALSE_ALARM)


if __name__ == "__main__":
    main()
