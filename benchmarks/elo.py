"""Elo at size: bootstraps next to evalica's, the leave-one-model-out study, a log of ten million battles.

Timings are wall-clock on the machine named; evalica's resamples are timed at a smaller number, since each is
a fit of its own and takes the same time.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from harness.battle_rows import write_battles
from harness.command import parser
from harness.machine import machine
from harness.results import holds, report, show
from harness.timing import median_seconds, seconds

from bayesjudge.baselines.elo import EloFit, fit_human, held_out, held_out_summary, split_coverage
from bayesjudge.baselines.elo.conformal import conformal
from bayesjudge.counts.battles.counts import BattleCounts, count_battles
from bayesjudge.datasets.battles import BattleDesign, simulate_battles
from bayesjudge.maths.bradley_terry import PER_LOGIT
from bayesjudge.tables import Battles


def main() -> None:
    """Measure and print."""
    options = _options()
    facts = machine()
    bootstrap, ratio, apart = bootstrap_rows(options)
    show([bootstrap], f"bootstrap of {options.resamples} resamples, {options.battles} battles, 50 models")
    study = study_rows(options)
    show(study, f"leave one model out: {options.judged} battles, {options.models} models, 20 bootstraps")
    memory = memory_row(options)
    show([memory], f"{options.rows} battles of {options.many} models, counted and fitted")
    claims = [
        holds("bootstrap, evalica's seconds over ours", ratio, least=20),
        # The mean of 50 ratios, each of them scattering by 1 in the square root of twice the resamples.
        holds("mean relative difference of standard errors from evalica's", apart, most=0.05),
        holds("seconds of the soft-elo study", study[0]["seconds"], most=60),
        holds(
            "peak memory in MB of counting, beyond the imports",
            memory["peak_mb"] - memory["imports_mb"],
            most=options.memory,
        ),
    ]
    report("elo", options, facts, must_hold=claims, bootstrap=bootstrap, study=study, memory=memory)


def _options() -> argparse.Namespace:
    options = parser(__doc__)
    options.add_argument("--battles", type=int, default=20_000, help="battles of the bootstrap")
    options.add_argument("--resamples", type=int, default=1000, help="resamples of the bootstrap")
    options.add_argument("--theirs", type=int, default=100, help="resamples that evalica is given")
    options.add_argument("--judged", type=int, default=25_000, help="battles of the study")
    options.add_argument("--models", type=int, default=55, help="models of the study")
    options.add_argument("--rows", type=int, default=10_000_000, help="battles of the long log")
    options.add_argument("--many", type=int, default=300, help="models of the long log")
    options.add_argument("--memory", type=float, default=1024, help="MB that counting may take")
    found = options.parse_args()
    if found.quick:
        found.battles, found.resamples, found.theirs = 20_000, 500, 20
        found.judged, found.models, found.rows, found.many = 5_000, 20, 200_000, 50
    return found


def bootstrap_rows(options: argparse.Namespace) -> tuple[dict[str, Any], float, float]:
    """Our bootstrap and evalica's on the same votes: seconds, and how far their standard errors are apart."""
    import evalica

    design = _design(50, options.battles, options.seed)
    frame = simulate_battles(seed=options.seed, design=design).battles.frame
    counts = count_battles(Battles.from_frame(frame[["item", "model_a", "model_b", "human"]]))
    words = {1.0: evalica.Winner.X, 0.5: evalica.Winner.Draw, 0.0: evalica.Winner.Y}
    winners = [words[value] for value in frame["human"]]
    found: dict[str, Any] = {}

    def ours() -> None:
        found["ours"] = fit_human(counts, bootstrap=options.resamples, seed=options.seed)

    def theirs() -> None:
        found["theirs"] = evalica.bootstrap(
            evalica.bradley_terry,
            frame["model_a"],
            frame["model_b"],
            winners,
            n_resamples=options.theirs,
            bootstrap_method="percentile",
            random_state=options.seed,
        )

    fit_human(counts, bootstrap=2)
    (mine, my_cpu), (other, their_cpu) = median_seconds(ours, repeats=3), median_seconds(theirs, repeats=1)
    more = options.resamples / options.theirs
    fit: EloFit = found["ours"]
    log = PER_LOGIT * np.log(found["theirs"].distribution[list(fit.models)].to_numpy())
    error = (log - log.mean(axis=1, keepdims=True)).std(axis=0, ddof=1)
    # Both are random: the ratios scatter, and their mean says whether they aim at the same thing.
    apart = float(abs(np.mean(error / fit.error) - 1))
    row = {
        "ours_s": mine,
        "ours_cpu_s": my_cpu,
        "evalica_s": other * more,
        "evalica_cpu_s": their_cpu * more,
        "evalica_resamples": options.theirs,
        "median_error_ours": float(np.median(fit.error)),
        "median_error_evalica": float(np.median(error)),
        "mean_relative_difference": apart,
    }
    return row, other * more / mine, apart


def study_rows(options: argparse.Namespace) -> list[dict[str, Any]]:
    """The leave-one-model-out study with 20 bootstraps, and what conformal intervals make of it."""
    design = _design(options.models, options.judged, options.seed, graded=True)
    counts: BattleCounts = count_battles(simulate_battles(seed=options.seed, design=design).battles)
    rows = []
    for method in ("soft-elo", "hard-elo", "label-smoothing[0.75]"):
        found: dict[str, Any] = {}

        def study(method: str = method, found: dict[str, Any] = found) -> None:
            found["held"] = held_out(counts, "j0", method, setting="as-in-paper")

        took = seconds(study)
        (summary,) = held_out_summary(conformal(found["held"])).values()
        halves = split_coverage(found["held"], seed=options.seed)
        rows.append(
            {
                "method": method,
                "seconds": took,
                "patterns": len(counts.judged),
                **summary,
                "half_split_coverage": float(halves["coverage"].mean()),
            }
        )
    return rows


def memory_row(options: argparse.Namespace) -> dict[str, Any]:
    """Seconds and peak memory of counting a long log in a process of its own, and seconds of a fit."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "battles.parquet"
        write_battles(path, battles=options.rows, models=options.many, judged_every=10, seed=options.seed)
        script = Path(__file__).parent / "harness" / "counting.py"
        command = [sys.executable, str(script), str(path), "battles"]
        done = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603  # our own script
        size = path.stat().st_size / 2**20
    return {"file_mb": size, **json.loads(done.stdout), "fit_seconds": _fit_seconds(options)}


def _fit_seconds(options: argparse.Namespace) -> float:
    """Seconds of one fit of as many models, every pair of them met."""
    models = options.many
    first, second = np.triu_indices(models, 1)
    theta = np.random.default_rng(options.seed).normal(0, 0.7, models)
    frame = pd.DataFrame(
        {
            "item": range(len(first)),
            "model_a": first,
            "model_b": second,
            "human": (theta[first] > theta[second]).astype(int),
        }
    )
    counts = count_battles(Battles.from_frame(frame))
    fit_human(counts)
    return seconds(lambda: fit_human(counts))


def _design(models: int, battles: int, seed: int, *, graded: bool = False) -> BattleDesign:
    theta = np.random.default_rng(seed).normal(0, 0.5, models)
    return BattleDesign(
        strengths=tuple((theta - theta.mean()).tolist()),
        battles=battles,
        graded=graded,
        judges=1,
        slope=1.2,
        deviation=0.1,
    )


if __name__ == "__main__":
    main()
