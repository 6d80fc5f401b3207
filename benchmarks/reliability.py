"""Repeated judging: every score of a large file analysed, curves checked by sampling, trials planned.

The file is RewardBench 2 scored eight times (153,428 rows, 1.2 million scores, five judges, 22 conditions);
its source publishes the intraclass correlations and accuracies that must be found again.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from harness.command import parser
from harness.machine import machine
from harness.ranking import best_response
from harness.results import holds, report, show
from harness.timing import seconds

from bayesjudge.baselines.reliability import score_baselines, trial_baselines
from bayesjudge.baselines.reliability.curve import majority_match
from bayesjudge.counts.scores import count_scores
from bayesjudge.counts.trials import count_trials
from bayesjudge.planning.trials import allocate, pilot_draws
from bayesjudge.readers import read_scores, read_trials

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
SCORES = Path("repeated_rewardbench2_composo") / "rewardbench2_composo_scores.parquet"
TRIALS = Path("repeated_position_bias") / "position_bias_repetitions.parquet"
#: Published for a judge, prompt and temperature: ICC(1,1), accuracy by the first score, by the mean of eight.
PUBLISHED = {
    ("gpt-5.4", "base", 0.0): (0.993, 0.725, 0.771),
    ("gpt-5.4", "base", 1.0): (0.964, 0.717, 0.815),
    ("gpt-5.4-nano", "base", 1.0): (0.797, 0.522, 0.717),
    ("claude-haiku-4.5", "base", None): (0.908, 0.723, 0.848),
}


def main() -> None:
    """Time and check everything, and print it."""
    options = _options()
    if not (options.data / SCORES).is_file():
        sys.exit(f"no data at {options.data / SCORES}; name the folder of the real tables with --data")
    facts = machine()
    # As many cores as the claim is about, whatever the machine has.
    os.sched_setaffinity(0, set(sorted(os.sched_getaffinity(0))[:2]))
    timed, claims, published = whole_file(options)
    curves = sampled_curves(options)
    plan = planned(options)
    for title, rows in (("seconds", timed), ("published figures", published), ("curves", curves), ("plan", plan)):
        show(rows, title)
    largest = max(abs(row["z"]) for row in curves)
    claims.append(holds("largest |z| of an exact curve against sampling", largest, most=4.5))
    report(
        "reliability", options, facts, must_hold=claims, seconds=timed, published=published, curves=curves, plan=plan
    )


def _options() -> argparse.Namespace:
    options = parser(__doc__)
    options.add_argument("--data", type=Path, default=DATA, help="folder of the real tables")
    options.add_argument("--draws", type=int, default=1_000_000, help="samples behind each checked probability")
    found = options.parse_args()
    if found.quick:
        found.draws = 100_000
    return found


def whole_file(options: argparse.Namespace) -> tuple[list[dict[str, Any]], list[dict[str, Any]], list[Any]]:
    """Read, count and analyse every score; seconds of each step, and what the source publishes."""
    kept: dict[str, Any] = {}

    def keep(name: str, value: Any) -> None:
        kept[name] = value

    steps = {
        "read and validate": lambda: keep("scores", read_scores(options.data / SCORES)),
        "count": lambda: keep("counts", count_scores(kept["scores"])),
        "baselines": lambda: keep("found", score_baselines(kept["counts"])),
        "accuracy": lambda: keep("best", best_response(kept["scores"])),
    }
    timed: list[dict[str, Any]] = [{"what": name, "seconds": seconds(step)} for name, step in steps.items()]
    total = sum(row["seconds"] for row in timed)
    timed.append({"what": f"all, {len(kept['scores']):,} scores", "seconds": total})
    published = list(_published(kept["found"].estimates.frame, kept["best"]))
    off = max(abs(row["found"] - row["published"]) for row in published)
    claims = [
        holds("seconds for the whole file on 2 cores", total, most=10.0),
        holds("largest distance from a published figure", off, most=0.0005 + 1e-9),
    ]
    return timed, claims, published


def _published(estimates: pd.DataFrame, best: pd.DataFrame) -> Iterator[dict[str, Any]]:
    one_way = estimates[estimates["estimand"] == "icc(1,1)"].set_index(["judge", "group"])["point"]
    for (judge, prompt, temperature), figures in PUBLISHED.items():
        group = prompt if temperature is None else f"{prompt}, T = {temperature:g}"
        mine = (best["judge"] == judge) & (best["prompt"] == prompt)
        mine &= best["temperature"].isna() if temperature is None else best["temperature"] == temperature
        accuracy = best[mine].sort_values("trials")["accuracy"].tolist()
        found = [float(one_way[judge, group]), *accuracy]
        names = ("ICC(1,1)", "accuracy, 1 score", "accuracy, 8 scores")
        for name, value, wanted in zip(names, found, figures, strict=True):
            yield {"judge": judge, "condition": group, "what": name, "found": value, "published": wanted}


def sampled_curves(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Exact P(majority of K = majority of all) against samples of K trials without replacement."""
    rng = np.random.default_rng(options.seed)
    found = []
    for n in ((39, 11, 0), (14, 14, 22), (26, 24, 0), (20, 20, 10)):
        exact = majority_match(np.array([n]))[0]
        for trials in (1, 5, 11, 20):
            drawn = rng.multivariate_hypergeometric(n, trials, size=options.draws)
            hit = _broken(drawn, rng) == _broken(np.tile(n, (options.draws, 1)), rng)
            error = float(np.sqrt(exact[trials - 1] * (1 - exact[trials - 1]) / options.draws))
            found.append(
                {
                    "counts": " ".join(map(str, n)),
                    "K": trials,
                    "exact": float(exact[trials - 1]),
                    "sampled": float(hit.mean()),
                    "z": float((hit.mean() - exact[trials - 1]) / error),
                }
            )
    return found


def _broken(counts: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Most frequent outcome, shared places broken at random."""
    return np.asarray((counts + 0.5 * rng.random(counts.shape)).argmax(axis=1))


def planned(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Five more trials an item on average, where they help most, for each judge of the comparisons."""
    counts = count_trials(read_trials(options.data / TRIALS))
    reliability = trial_baselines(counts, bootstrap=0)
    found = []
    for judge, part in reliability.items.groupby("judge"):
        made = part[["n_a", "n_b", "n_tie"]].to_numpy()
        plan = allocate(pilot_draws(made, seed=options.seed), budget=5 * len(made), counts=made)
        found.append(
            {
                "judge": judge,
                "items": len(made),
                "wrong now": float(plan.before.sum()),
                "five more each": plan.uniform,
                "where it helps": float(plan.after.sum()),
                "items asked again": int((plan.extra > 0).sum()),
            }
        )
    return found


if __name__ == "__main__":
    main()
