"""Do intervals of Elo within a category cover where the questions of each category are drawn from a real table.

MT-bench (8 categories of 10 questions, 6 models, people's votes) is taken as the world. One replicate is a log with the
questions of every category drawn again with replacement; the truth is Hard-Elo's Elo of the whole table, by category
and over all. Strengths that pool (`bradley_terry` by group) are compared with Hard-Elo on a category alone.
The worst single unit (a model, or a pair of models, in one category) is shown too.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from harness.command import parser
from harness.machine import machine
from harness.results import holds, report, show

from bayesjudge.baselines.elo import elo_baselines
from bayesjudge.counts.battles.counts import BattleCounts, count_battles
from bayesjudge.estimates import Estimates
from bayesjudge.inference import Hmc, fit_many
from bayesjudge.models.bradley_terry import BradleyTerry
from bayesjudge.tables import Battles

DATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "pairwise_mtbench_human"
SAMPLING = Hmc(chains=2, draws=500, tune=300)
ESTIMANDS = ("elo", "difference", "elo_change")

type Truth = Mapping[tuple[str, str, str], float]


def main() -> None:
    """Run the study and print it."""
    options = parser(__doc__)
    options.add_argument("--replicates", type=int, default=200, help="logs drawn")
    options.add_argument("--data", type=Path, default=DATA)
    given = options.parse_args()
    given.replicates = 4 if given.quick else given.replicates
    if not given.data.is_dir():
        sys.exit(f"no data at {given.data}; name the folder with --data")
    facts, start = machine(), time.perf_counter()
    found = summary(pd.DataFrame(scored(given)))
    show(found, "95 % intervals")
    report(
        "categories",
        given,
        facts,
        must_hold=[] if given.quick else must_hold(found),
        summary=found,
        seconds=time.perf_counter() - start,
    )


def read(folder: Path) -> pd.DataFrame:
    """One row a vote."""
    votes = pd.read_parquet(folder / "mtbench_human_votes.parquet")
    items = pd.read_parquet(folder / "mtbench_items.parquet")
    columns = ["item_id", "question_id", "category", "model_a", "model_b"]
    named = {"human_id": "voter", "item_id": "item", "question_id": "prompt"}
    return votes.merge(items[columns], on="item_id").rename(columns=named)


def drawn(table: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    """Questions of each category with replacement; one that comes twice is two."""
    parts = []
    for category, mine in table.groupby("category"):
        by_prompt = dict(list(mine.groupby("prompt")))
        for k, prompt in enumerate(rng.choice(list(by_prompt), len(by_prompt))):
            name = f"{category} {k}"
            parts.append(by_prompt[prompt].assign(prompt=name, item=by_prompt[prompt]["item"] + f" {name}"))
    return pd.concat(parts)


def counted(table: pd.DataFrame) -> BattleCounts:
    """Counts by category, clustered by question."""
    return count_battles(Battles.from_frame(table), group="category", cluster="prompt", lengths=False)


def hard_elo(counts: BattleCounts) -> Estimates:
    """Over all, and on the battles of each category alone."""
    within = [elo_baselines(counts.for_groups([name])).with_column(group=name) for name in counts.groups]
    return Estimates.concat([elo_baselines(counts), *within])


def true_values(counts: BattleCounts) -> Truth:
    """By estimand, unit and category; differences both ways round."""
    rows = hard_elo(counts).frame.to_dict("records")
    found = {(row["estimand"], row["unit"], row["group"]): row["point"] for row in rows}
    found |= {
        (estimand, " − ".join(reversed(unit.split(" − "))), group): -value
        for (estimand, unit, group), value in found.items()
        if estimand == "difference"
    }
    changes = {
        ("elo_change", unit, group): value - found["elo", unit, ""]
        for (estimand, unit, group), value in found.items()
        if estimand == "elo" and group
    }
    return found | changes


def scored(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """One row for each interval of each log."""
    table = read(options.data)
    truth = true_values(counted(table))
    streams = np.random.SeedSequence(options.seed).spawn(options.replicates)
    counts = [counted(drawn(table, np.random.default_rng(stream))) for stream in streams]
    pooled = fit_many(BradleyTerry(by_group=True), counts, seed=options.seed, engine=SAMPLING).estimates()
    for rows in (*pooled, *map(hard_elo, counts)):
        for row in rows.where(estimand=list(ESTIMANDS)).frame.to_dict("records"):
            true = truth[row["estimand"], row["unit"], row["group"]]
            signed = row["estimand"] != "elo" and (row["lower"] > 0 or row["upper"] < 0)
            yield {
                "where": "category" if row["group"] else "all",
                "estimand": row["estimand"],
                "method": row["method"],
                "unit": (row["unit"], row["group"]),
                "covered": row["lower"] <= true <= row["upper"],
                "width": row["upper"] - row["lower"],
                "error": abs(row["point"] - true),
                "wrong": signed and row["point"] * true < 0,
            }


def summary(rows: pd.DataFrame) -> list[dict[str, Any]]:
    """Coverage, the worst unit's, mean width and error, and the share that is confident and wrong-signed."""
    keys, found = ["where", "estimand", "method"], []
    for key, part in rows.groupby(keys, sort=False):
        means = part[["covered", "width", "error", "wrong"]].mean()
        worst = float(part.groupby("unit")["covered"].mean().min())
        found.append({**dict(zip(keys, key, strict=True)), **means.astype(float).to_dict(), "worst": worst})
    return found


def must_hold(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Pooling must cost no coverage and save width."""
    of = {(row["where"], row["estimand"], row["method"].startswith("bayes:")): row for row in rows}
    claims = []
    for estimand in ("elo", "difference"):
        pooled, alone = (of["category", estimand, is_pooled] for is_pooled in (True, False))
        claims.append(holds(f"{estimand} in a category: coverage", pooled["covered"], least=0.93))
        claims.append(holds(f"{estimand}: coverage less Hard-Elo's", pooled["covered"] - alone["covered"], least=0.0))
        claims.append(holds(f"{estimand}: width over Hard-Elo's", pooled["width"] / alone["width"], most=0.95))
        claims.append(holds(f"{estimand}: error over Hard-Elo's", pooled["error"] / alone["error"], most=1.0))
    claims.append(holds("elo over all: coverage", of["all", "elo", True]["covered"], least=0.93))
    return claims


if __name__ == "__main__":
    main()
