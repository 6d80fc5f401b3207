"""Do the panel's intervals cover where the items of a log are drawn from a real table.

As `resampled.py` does for one judge: TriviaQA V1 and V2, nine LLM judges, are taken as the superpopulation;
one replicate is a log of as many items drawn with replacement, of which n keep their labels, and the truth
is the table's own accuracy. The worst single unit (a model, or a pair of models) is shown too.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from harness.command import parser
from harness.machine import machine
from harness.panel_tables import DATA, TABLES, drawn_again, read, true_values
from harness.results import holds, report, show
from panel import panel_estimates

from bayesjudge.baselines.panel import panel_baselines
from bayesjudge.counts.panel import PanelVotes
from bayesjudge.estimates import Estimates
from bayesjudge.models.judge_panel import JudgePanel

EIF = "eif[panel-logit,logit]"
FIGURES = ["coverage", "bias", "error", "width", "wrong"]


def main() -> None:
    """Run the study and print it."""
    options = _options()
    if not options.data.is_dir():
        sys.exit(f"no data at {options.data}; name the folder with --data")
    facts, start = machine(), time.perf_counter()
    rows: list[dict[str, Any]] = []
    gates: list[dict[str, Any]] = []
    for name in options.tables:
        votes = read(options.data, name)
        for n in options.labels:
            found, gate = scored(votes, n, options)
            rows += [{"table": name, "n": n, **row} for row in found]
            gates.append({"table": name, "n": n, **gate})
            print(f"{name}, {n} labels: {time.perf_counter() - start:.0f} s", file=sys.stderr, flush=True)
    show(rows, "items drawn again: the table is the superpopulation")
    show(gates, "convergence of the posteriors")
    claims = [] if options.quick else must_hold(rows)
    report(
        "panel_resampled", options, facts, must_hold=claims, rows=rows, gates=gates, seconds=time.perf_counter() - start
    )


def _options() -> argparse.Namespace:
    options = parser(__doc__)
    options.add_argument("--splits", type=int, default=60, help="logs drawn for each table and n")
    options.add_argument("--labels", type=int, nargs="+", default=[20, 40, 100], help="labelled items n")
    options.add_argument("--tables", nargs="+", choices=TABLES[:2], default=list(TABLES[:2]))
    options.add_argument("--draws", type=int, default=500, help="draws of each of 4 chains")
    options.add_argument("--batch", type=int, default=60, help="posteriors in one program")
    options.add_argument("--data", type=Path, default=DATA)
    found = options.parse_args()
    if found.quick:
        found.splits, found.labels, found.tables, found.draws = 3, [40], ["triviaqa V1"], 200
    return found


def scored(votes: PanelVotes, n: int, options: argparse.Namespace) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """One row a method and estimand, averages over units and the worst unit; the posteriors' gates."""
    sets = drawn_again(votes, splits=options.splits, labels=[n], seed=options.seed)
    panel, gate = panel_estimates(sets, options)
    baseline = [panel_baselines(one, methods=[EIF], bootstrap=0) for _, one in sets]
    rows = Estimates.concat([*panel, *baseline]).frame
    rows = rows[rows["estimand"].isin(["accuracy", "difference"])]
    truth = true_values(votes)
    true = pd.Series([truth[key] for key in zip(rows["estimand"], rows["unit"], strict=True)], rows.index)
    # An estimate that is undefined says so with the whole range.
    inside = true.between(rows["lower"], rows["upper"]) | rows["point"].isna()
    away = ((rows["lower"] > 0) & (true < 0)) | ((rows["upper"] < 0) & (true > 0))
    rows = rows.assign(
        coverage=inside,
        bias=rows["point"] - true,
        error=(rows["point"] - true).abs(),
        width=rows["upper"] - rows["lower"],
        wrong=away,
    )
    units = rows.groupby(["estimand", "method", "unit"], sort=False)[FIGURES].mean()
    groups = units.groupby(["estimand", "method"], sort=False)
    table = groups.mean().assign(worst_unit=groups["coverage"].min()).reset_index()
    found: list[dict[str, Any]] = table.to_dict("records")
    return found, gate


def must_hold(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Coverage, bias, and width against `eif[panel-logit]` at the same labels."""
    at = {(row["table"], row["n"], row["estimand"], row["method"]): row for row in rows}
    claims = []
    for (table, n, estimand, method), row in at.items():
        if method == JudgePanel().label:
            ratio = row["width"] / at[table, n, estimand, EIF]["width"]
            accuracy, where = estimand == "accuracy", f"{estimand}, {table}, {n} labelled"
            claims += [
                holds(f"coverage, {where}", row["coverage"], least=0.925 if accuracy else 0.94),
                holds(f"width over the EIF's, {where}", ratio, most=1.0 if accuracy else 0.95),
            ]
            if accuracy:
                claims += [
                    holds(f"coverage of the worst model, {where}", row["worst_unit"], least=0.84),
                    holds(f"bias, {where}", row["bias"], least=-0.01, most=0.01),
                ]
    return claims


if __name__ == "__main__":
    main()
