"""Coverage of every method over simulated worlds, question by question: ``python benchmarks/sweeps.py``.

The sweeps of `bayesjudge.simulation.sweeps.questions`: models and baselines answer the same data sets. One
result a question, ``results/coverage/QUESTION.json``; VALIDATION.md is written from them. Blocks of data
sets are kept in ``--folder``, so that a killed run goes on where it stopped.

A Bayesian interval has its nominal coverage on average over truths from its prior, not at each truth by
itself. Where parameters come from the prior of the default model, both sides of the band must hold. Elsewhere
truths are fixed, and far from what the priors expect in some cells; there an interval may cover more than it
says, and what must hold is that none covers less.
"""

from __future__ import annotations

import time
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pandas as pd
from harness.command import parser
from harness.figures import draw_sweep
from harness.machine import machine
from harness.overall import detectable, overall_coverage
from harness.pages import ROW_ALARM
from harness.results import holds, report, show

from bayesjudge.maths.holm import both_sides
from bayesjudge.simulation import Coverage, coverage
from bayesjudge.simulation.intervals.tables import coverage_tests
from bayesjudge.simulation.sweeps.questions import SWEEPS, sweep_of

RESULTS = Path(__file__).resolve().parent / "results" / "coverage"
#: Probability that any of one question's claims fails although every interval has its nominal coverage.
FALSE_ALARM = 0.01
#: Data sets in each cell, by what one costs.
DATASETS = {
    "accuracy": 400,
    "panel": 200,
    "elo": 400,
    "judge-elo": 200,
    "soft-elo": 200,
    "reliability": 200,
    "scores": 400,
    "audit": 400,
}

#: A world of more truths than these is not one of a few that are dealt.
MOST_TRUTHS = 12


def main() -> None:
    """Sweep the questions asked for, one after another."""
    options = parser(__doc__)
    options.add_argument("--question", action="append", choices=list(SWEEPS), help="default: every one")
    options.add_argument("--datasets", type=int, help="data sets in each cell; default: 200 to 400, quick: 5")
    options.add_argument("--block", type=int, default=100, help="data sets that are fitted, and kept, at a time")
    options.add_argument("--folder", type=Path, help="keep blocks of data sets here, and go on from them")
    given = options.parse_args()
    names: Sequence[str] = given.question or (["audit"] if given.quick else list(SWEEPS))
    for name in names:
        out = given.out if len(names) == 1 and given.out else None
        kept = None if given.quick and out is None else out or RESULTS / f"{name}.json"
        size = given.datasets or (5 if given.quick else DATASETS[name])
        _one(name, Namespace(**{**vars(given), "question": name, "datasets": size, "out": kept}))


def _one(name: str, options: Namespace) -> None:
    facts, sweep = machine(), sweep_of(name)
    folder = None if options.folder is None else options.folder / name
    # What was kept from an earlier run took its time then: no figure is better than a wrong one.
    resumed = folder is not None and any(folder.glob("block-*"))
    start = time.process_time()
    found = coverage(
        sweep.cells,
        models=sweep.models(),
        baselines=sweep.baselines,
        estimands=sweep.estimands,
        datasets=options.datasets,
        seed=options.seed,
        folder=folder,
        block=options.block,
        progress=True,
        **sweep.sampling,
    )
    took = None if resumed else time.process_time() - start
    rows = found.frame.to_dict("records")
    show(rows, name, columns=_SHOWN)
    overall = _overall(found)
    show(overall, "all cells of a sweep together")
    settings = Namespace(**{key: value for key, value in vars(options).items() if key != "folder"})
    report(
        "coverage",
        settings,
        facts,
        must_hold=must_hold(found, overall, sweep.from_prior),
        sampling=next(map(asdict, sweep.sampling.values()), {}),
        from_prior=sweep.from_prior,
        cpu_seconds=took,
        family=_family(found),
        overall=overall,
        by_truth=by_truth(found.intervals),
        cells=rows,
    )
    if options.out is not None:
        print(f"drawn: {draw_sweep(options.out)}")


_SHOWN = (
    "swept",
    "value",
    "method",
    "estimand",
    "n",
    "coverage",
    "coverage_lower",
    "coverage_upper",
    "bias",
    "rmse",
    "width",
    "interval_score",
    "wrong_sign",
    "gates_failed",
)


def must_hold(found: Coverage, overall: Sequence[dict[str, Any]], from_prior: Sequence[str]) -> list[dict[str, Any]]:
    """Every Bayesian interval covers no less than it says; over truths from the prior, no more either."""
    each = "smallest p-value of coverage below nominal, every unit of every cell (exact, Holm)"
    claims = [holds(each, float(found.tests["adjusted_below"].min()), least=FALSE_ALARM / 2)]
    for row in overall:
        if row["method"].startswith("bayes:"):
            claim = f"{row['swept']}: {row['method']}, {row['estimand']}: upper bound of coverage over its cells"
            claims.append(holds(claim, row["coverage_upper"], least=row["nominal"]))
    return [*claims, *(_both_sides(found, name) for name in from_prior)]


def _both_sides(found: Coverage, swept: str) -> dict[str, Any]:
    """The exact band about the nominal probability that all rows of these cells are in at once."""
    # Of the default model, which comes first: another one has another prior.
    rows = found.frame[(found.frame["swept"] == swept) & (found.frame["method"] == found.frame["method"][0])]
    claim = f"{swept}: smallest p-value of coverage, both sides (exact, data sets counted, Holm)"
    return holds(claim, float(both_sides(rows["below"], rows["above"]).min()), least=FALSE_ALARM)


def _overall(found: Coverage) -> list[dict[str, Any]]:
    """Coverage over each sweep's cells; models' bounds hold together with probability 1 − `FALSE_ALARM`/2.

    A claim looks at one side only, so that all of them are wrong with half of that at most.
    """
    bayes = found.frame["method"].str.startswith("bayes:")
    claims = len(found.frame.loc[bayes, ["swept", "method", "estimand"]].drop_duplicates())
    rows = overall_coverage(
        found.intervals,
        by=["swept", "method", "estimand"],
        dataset=["value", "dataset"],
        prob=1 - FALSE_ALARM / max(claims, 1),
    )
    return [{str(name): value for name, value in row.items()} for row in rows.to_dict("records")]


def _family(found: Coverage) -> dict[str, Any]:
    """How many exact tests there are, what they can see, and what they saw on either side."""
    tests, level = found.tests, FALSE_ALARM / 2
    rows = found.frame[found.frame["method"].str.startswith("bayes:")]
    lowest = tests.loc[tests["coverage"].idxmin()]
    least = detectable(int(tests["n"].min()), float(tests["nominal"].iloc[0]), level / len(tests))
    return {
        "tests": len(tests),
        "level": level,
        "detectable": least,
        "below": int((tests["adjusted_below"] < level).sum()),
        "above": int((tests["adjusted_above"] < level).sum()),
        "lowest": float(lowest["coverage"]),
        "lowest_at": f"{lowest['swept']} {lowest['value']:g}: {lowest['method']}, {lowest['estimand']} of "
        f"{lowest['unit']}",
        "rows": len(rows),
        "rows_below": _named(rows[rows["below"] < ROW_ALARM]),
        "rows_above": _named(rows[rows["above"] < ROW_ALARM]),
    }


def by_truth(intervals: pd.DataFrame) -> list[dict[str, Any]]:
    """Coverage at each truth by itself, where a few truths are dealt to other units in each data set."""
    cell = ["swept", "value", "method", "estimand"]
    rows = intervals[intervals["method"].str.startswith("bayes:")].round({"truth": 9})
    dealt = rows.groupby([*cell, "unit"])["truth"].transform("nunique").gt(1)
    few = rows.groupby(cell)["truth"].transform("nunique") <= MOST_TRUTHS
    groups = coverage_tests(rows[dealt & few], by=[*cell, "truth"]) if (dealt & few).any() else rows[:0]
    return [{key: row[key] for key in (*cell, "truth", "n", "coverage")} for row in groups.to_dict("records")]


def _named(rows: pd.DataFrame) -> list[str]:
    return [f"{row['swept']} {row['value']:g}: {row['method']}, {row['estimand']}" for row in rows.to_dict("records")]


if __name__ == "__main__":
    main()
