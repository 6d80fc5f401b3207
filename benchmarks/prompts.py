"""Do intervals of Elo cover where the prompts of a log, or its voters, are drawn from a real table.

MT-bench (80 prompts, 6 models) is taken as the world: people's votes and GPT-4's verdicts, apart and both. One
replicate is a log of n prompts drawn from it with replacement, or of 65 voters; the truth is the Elo of the
whole table. How battles on one prompt depend on each other is that of the real table. In the world of
independent battles, every outcome is drawn anew from all those of its pair. Four worlds have few pairs: GPT-4's
verdicts on neighbours by strength (a chain), or on one model with each other (a star), and the same of ten
models whose answers have a quality each (100 of 2,000 prompts). The worst single unit (a model,
or a pair of models) is shown too, since an average hides it.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from harness.command import parser
from harness.drawn_prompts import Log, by_quality, counted, drawn, independent, linked, read_mtbench
from harness.machine import machine
from harness.results import holds, report, show

from bayesjudge.baselines.elo import elo_baselines
from bayesjudge.estimates import Estimates
from bayesjudge.inference import Hmc, fit_many
from bayesjudge.models.bradley_terry import BradleyTerry
from bayesjudge.models.judge_elo import JudgeElo
from bayesjudge.options import EloOptions
from bayesjudge.studies.elo.fits import as_requested

DATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "pairwise_mtbench_human"
#: Enough for the ends of an interval: some 1,000 effective draws.
SAMPLING = Hmc(chains=2, draws=500, tune=300)
VOTERS = 65
ESTIMANDS = ("elo", "difference")
KEYS = ["world", "n", "estimand", "method"]
INDEPENDENT = "[independent]"


def main() -> None:
    """Run the study and print it."""
    options = _options()
    if not options.data.is_dir():
        sys.exit(f"no data at {options.data}; name the folder with --data")
    facts, start = machine(), time.perf_counter()
    rows = pd.DataFrame(scored(options))
    if rows.empty:
        sys.exit(f"no world is named {' or '.join(options.worlds)}")
    found = summary(rows)
    for estimand in ESTIMANDS:
        show([row for row in found if row["estimand"] == estimand], f"{estimand}, 95 % intervals")
    claims = [] if options.quick else must_hold(found)
    report("prompts", options, facts, must_hold=claims, summary=found, seconds=time.perf_counter() - start)


def _options() -> argparse.Namespace:
    options = parser(__doc__)
    options.add_argument("--replicates", type=int, default=200, help="logs drawn for each world and n")
    options.add_argument("--prompts", type=int, nargs="+", default=[20, 40, 80], help="prompts of a log, n")
    options.add_argument("--worlds", nargs="+", metavar="NAME", help="only these, as the tables name them")
    options.add_argument("--data", type=Path, default=DATA)
    found = options.parse_args()
    if found.quick:
        found.replicates, found.prompts = 4, [20]
    return found


def worlds(folder: Path, prompts: Sequence[int]) -> Iterator[tuple[str, Log, int, Any]]:
    """Name, whole table, units of a log, and how a log is drawn."""
    tables = {rater: read_mtbench(folder, rater) for rater in ("people", "gpt-4", "both", "voters")}
    yield from ((name, tables[name], n, drawn) for name in ("people", "gpt-4") for n in prompts)
    simulated, few = by_quality(10, 2000, seed=1), 100
    for design in ("chain", "star"):
        yield f"gpt-4, {design}", linked(tables["gpt-4"], design), max(prompts), drawn
        yield f"simulated, {design}", linked(simulated, design), few, drawn
    yield "voters", tables["voters"], VOTERS, drawn
    yield "independent battles", tables["people"], max(prompts), independent
    yield from (("both", tables["both"], n, drawn) for n in prompts)


def scored(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """One row for each interval of each log."""
    for k, (world, table, n, draw) in enumerate(worlds(options.data, options.prompts)):
        if options.worlds and world not in options.worlds:
            continue
        streams = np.random.SeedSequence([options.seed, k]).spawn(options.replicates)
        logs = [draw(table, n, np.random.default_rng(stream)) for stream in streams]
        truth = _truth(table)
        plain = JudgeElo() if table.rater.any() else BradleyTerry()
        model = as_requested(plain, counted(table, clustered=False), EloOptions())
        for clustered in (True, False):
            counts = [counted(log, clustered=clustered) for log in logs]
            tables = [elo_baselines(one) for one in counts]
            # The baseline shows what prompts cost; the posterior that ignores them is only a yardstick.
            if clustered or draw is independent:
                tables += fit_many(model, counts, seed=options.seed, engine=SAMPLING).estimates()
            for rows in tables:
                yield from _judged(rows, truth, world, n, "" if clustered else INDEPENDENT)
        print(f"{world}, n = {n}", file=sys.stderr)


def _truth(table: Log) -> Mapping[tuple[str, str], float]:
    rows = elo_baselines(counted(table, clustered=False)).where(judge="").frame
    return {(row["estimand"], row["unit"]): row["point"] for row in rows.to_dict("records")}


def _judged(
    rows: Estimates, truth: Mapping[tuple[str, str], float], world: str, n: int, suffix: str
) -> Iterator[dict[str, Any]]:
    for row in rows.where(estimand=list(ESTIMANDS), judge="").frame.to_dict("records"):
        true = truth[str(row["estimand"]), str(row["unit"])]
        excludes = row["lower"] > 0 or row["upper"] < 0
        yield {
            "world": world,
            "n": n,
            "estimand": row["estimand"],
            "unit": row["unit"],
            "method": f"{row['method']}{suffix}",
            "covered": row["lower"] <= true <= row["upper"],
            "width": row["upper"] - row["lower"],
            "error": abs(row["point"] - true),
            "wrong": row["estimand"] == "difference" and excludes and row["point"] * true < 0,
        }


def summary(rows: pd.DataFrame) -> list[dict[str, Any]]:
    """Coverage, the worst unit's, mean width and error, and the share that is confident and wrong-signed."""
    found = []
    for key, part in rows.groupby(KEYS, sort=False):
        by_unit = part.groupby("unit")["covered"].mean()
        found.append(
            {
                **dict(zip(KEYS, key, strict=True)),
                "coverage": float(part["covered"].mean()),
                "worst": float(by_unit.min()),
                "width": float(part["width"].mean()),
                "error": float(part["error"].mean()),
                "wrong": float(part["wrong"].mean()),
            }
        )
    return found


def must_hold(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """What a default row must keep to, and what the world of independent battles must not cost."""
    claims = []
    default = [row for row in rows if not str(row["method"]).endswith(INDEPENDENT)]
    for row in default:
        name = f"{row['world']}, {row['n']}: {row['method']}, {row['estimand']}"
        claims.append(holds(f"{name}: coverage", row["coverage"], least=0.93))
        if str(row["world"]).split(",")[0] in {"people", "gpt-4", "both", "simulated"}:
            claims.append(holds(f"{name}: coverage of the worst unit", row["worst"], least=0.87))
            claims.append(holds(f"{name}: confident and wrong-signed", row["wrong"], most=0.002))
        if row["world"] == "independent battles":
            plain = next(
                other
                for other in rows
                if all(other[key] == row[key] for key in KEYS[:3])
                and other["method"] == f"{row['method']}{INDEPENDENT}"
            )
            ratio = row["width"] / plain["width"]
            claims.append(holds(f"{name}: width to the independent one's", ratio, most=1.05))
    return claims


if __name__ == "__main__":
    main()
