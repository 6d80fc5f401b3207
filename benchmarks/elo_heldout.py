"""What would people say of a model that only judges have compared? Leave one model out, on real battles.

Arena: 26,919 battles of 20 models, each with a human vote and the verdicts of three judges; the same on logs
of 1,500 and 6,000 of its battles. The votes on one model at a time are hidden; `judge_elo` predicts from the
rest, and from the judges' verdicts on all models, the Elo that Hard-Elo finds in the hidden votes against the
other models. Next to it: conformal intervals on the judge's own Elo, raw and put through a straight line,
calibrated forward (no vote on the model enters). With ``--sample FILE`` also the public sample of Soft-Elo
(1,000 battles of 14 models; https://github.com/kargibora/SoftElo), where judges score, and the paper's own
figures as in the paper.

The interval score (Gneiting & Raftery 2007) is width plus 2/α times what lies outside, averaged over models.
Seconds are of the processor, imports and counting left out.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

import arviz_stats.base  # noqa: F401 - imported before anything is timed
import numpy as np
import pandas as pd
import scipy.stats.qmc  # noqa: F401 - as above
from harness.command import parser
from harness.machine import machine
from harness.results import holds, report, show

import bayesjudge.models.judge_elo.held_out  # noqa: F401 - as above
from bayesjudge.baselines.elo import held_out_summary
from bayesjudge.baselines.elo.conformal import conformal
from bayesjudge.baselines.elo.held_out import held_out
from bayesjudge.counts.battles.counts import BattleCounts, count_battles
from bayesjudge.estimates import Estimates
from bayesjudge.inference.gate import MOST_PARETO_K
from bayesjudge.models.judge_elo import JudgeElo
from bayesjudge.readers import read_battles
from bayesjudge.studies.elo.held_out import LEAST_DRAWS
from bayesjudge.tables import Battles

FOLDER = Path(__file__).resolve().parents[2] / "shared" / "data" / "pairwise_chatbot_arena_ppr"
JUDGES = ("gpt-4-0125-preview", "claude-3-opus-20240229", "gpt-3.5-turbo")
ALL = "all three"
PROB = 0.9
#: Sizes of the smaller logs, and how many of each.
SMALLER = {1500: 4, 6000: 2}
CONFORMAL: tuple[tuple[Literal["split", "jackknife+"], Literal["raw", "line"], bool], ...] = (
    ("split", "raw", True),
    ("split", "raw", False),
    ("split", "line", True),
    ("split", "line", False),
    ("jackknife+", "line", False),
)


def main() -> None:
    """Run the study and print it."""
    options = _options()
    if not options.data.is_file():
        sys.exit(f"no data at {options.data}; name the file with --data")
    facts, start = machine(), time.perf_counter()
    battles = read(options.data)
    whole = count_battles(battles)
    rows = list(arena("arena", whole, options))
    for size, logs in ({} if options.quick else SMALLER).items():
        for k in range(logs * options.times):
            rows += arena(f"{size} battles", count_battles(drawn(battles, size, seed=k)), options)
    rows = averaged(rows)
    paper: list[dict[str, Any]] = []
    if options.sample:
        counts = count_battles(read_battles(options.sample))
        rows += list(predicted("sample", "the judge", counts, ("hard-elo", "soft-elo"), options))
        paper = as_in_paper(counts)
        show(paper, "the sample as in the paper")
    show(rows, "the human Elo of models without human votes")
    claims = [] if options.quick else must_hold(rows, paper)
    report("elo_heldout", options, facts, must_hold=claims, rows=rows, paper=paper, seconds=time.perf_counter() - start)


def _options() -> argparse.Namespace:
    options = parser(__doc__)
    options.add_argument("--models", type=int, default=20, help="models left out, the first in the alphabet")
    options.add_argument("--judges", type=int, default=3, help="judges, the best first")
    options.add_argument(
        "--times", type=int, default=1, help="as many smaller logs; of few the best interval is so by chance"
    )
    options.add_argument("--sample", type=Path, help="Soft-Elo's public sample")
    options.add_argument("--data", type=Path, default=FOLDER / "chatbot_arena_ppr.parquet")
    found = options.parse_args()
    if found.quick:
        found.models, found.judges = 4, 1
    return found


def read(path: Path) -> Battles:
    """One row for each battle and judge; the first answer was shown first."""
    wide = pd.read_parquet(path).astype(dict.fromkeys(("model_a", "model_b", *JUDGES), str))
    code = {"a": 1.0, "tie": 0.5, "b": 0.0}
    common = wide[["battle_id", "model_a", "model_b", "human"]].rename(columns={"battle_id": "item"})
    parts = [common.assign(judge=judge, verdict=wide[judge].map(code), order="ab") for judge in JUDGES]
    return Battles.from_frame(pd.concat(parts, ignore_index=True))


def drawn(battles: Battles, size: int, *, seed: int) -> Battles:
    """Some of the battles, with all that was said of them."""
    items = battles.frame["item"].unique()
    chosen = np.random.default_rng(seed).choice(items, size, replace=False)
    columns = ["item", "model_a", "model_b", "judge", "order", "human", "verdict"]
    return Battles.from_frame(battles.frame.loc[battles.frame["item"].isin(chosen), columns])


def arena(log: str, counts: BattleCounts, options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Each judge, and all three, on one log."""
    judges = JUDGES[: options.judges]
    panels = [(judge, (judge,)) for judge in judges] + ([(ALL, JUDGES)] if len(judges) == len(JUDGES) else [])
    for name, panel in panels:
        methods = ("hard-elo",) if len(panel) == 1 else ()
        yield from predicted(log, name, counts.for_judges(panel), methods, options)


def predicted(
    log: str, name: str, counts: BattleCounts, methods: Sequence[str], options: argparse.Namespace
) -> Iterator[dict[str, Any]]:
    """Scores of `judge_elo` and of every conformal interval."""
    reference = held_out(counts, counts.judges[0], "hard-elo", targets=[])
    models = reference.models[: options.models]
    truth = dict(zip(reference.models, reference.human.tolist(), strict=True))
    began = time.process_time()
    made = JudgeElo().held_out(counts, models, seed=options.seed)
    seconds = time.process_time() - began
    found = []
    for model, one in zip(models, made, strict=True):
        if isinstance(one, str):
            continue
        low, high = (one.quantile(level) for level in ((1 - PROB) / 2, (1 + PROB) / 2))
        found.append(
            {
                "unit": model,
                "method": JudgeElo().label,
                "point": one.point,
                "lower": low,
                "upper": high,
                "truth": truth[model],
                "prob": PROB,
            }
        )
    failed = sum(
        not (isinstance(one, str) or (one.pareto_k <= MOST_PARETO_K and one.ess >= LEAST_DRAWS)) for one in made
    )
    common = {"log": log, "judge": name}
    yield {**common, **scored(Estimates.from_rows(found)), "gate_failed": failed, "seconds": seconds}
    for method in methods:
        began = time.process_time()
        held = held_out(counts, counts.judges[0], method, targets=models)
        seconds = time.process_time() - began
        for kind, on, normalised in CONFORMAL:
            table = conformal(held, kind=kind, on=on, normalised=normalised, prob=PROB).where(unit=list(models))
            named = table.with_column(method=table.frame["method"] + f" {method}")
            yield {**common, **scored(named), "gate_failed": 0, "seconds": seconds}


def scored(rows: Estimates) -> dict[str, Any]:
    """Of one method."""
    ((method, found),) = held_out_summary(rows).items()
    return {"method": method, **found}


def averaged(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Means over logs of one size."""
    table = pd.DataFrame(rows)
    return table.groupby(["log", "judge", "method"], sort=False).mean().reset_index().to_dict("records")


def as_in_paper(counts: BattleCounts) -> list[dict[str, Any]]:
    """Errors of the paper's two methods, whose target's votes stay in the calibration models' folds."""
    held = [held_out(counts, counts.judges[0], method, setting="as-in-paper") for method in ("hard-elo", "soft-elo")]
    return [
        {
            "method": one.method,
            "mae": float(np.abs(one.residual).mean()),
            "split_width": scored(conformal(one, prob=PROB))["median_width"],
        }
        for one in held
    ]


def must_hold(rows: Sequence[dict[str, Any]], paper: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The lines of issue 24."""
    table = pd.DataFrame(rows)
    ours = table[table["method"] == JudgeElo().label].set_index(["log", "judge"])
    claims = []
    most = ((14.8, 60.0), (20.2, 91.0), (34.0, 160.0), (14.9, 56.0))
    for judge, (mae, width) in zip((*JUDGES, ALL), most, strict=True):
        row = ours.loc[("arena", judge)]
        claims += [
            holds(f"arena, {judge}: MAE", row["mae"], most=mae),
            holds(f"arena, {judge}: coverage at 90 %", row["coverage"], least=0.85),
            holds(f"arena, {judge}: median width", row["median_width"], most=width),
        ]
    claims.append(holds("arena: processor seconds of 80 posteriors", ours.loc["arena"]["seconds"].sum(), most=3.0))
    for size in SMALLER:
        log = f"{size} battles"
        scores = np.array([both_scores(table, ours, log, judge) for judge in JUDGES])
        ratios, means = scores[:, 0] / scores[:, 1], scores.mean(axis=0)
        claims += [
            holds(f"{log}: interval score over the best forward conformal's, worst judge", ratios.max(), most=1.1),
            holds(f"{log}: the same, mean of judges", ratios.mean(), most=0.9),
            holds(
                f"{log}: mean score of the judges over the mean of the best conformal's", means[0] / means[1], most=0.9
            ),
        ]
    if paper:
        row = ours.loc[("sample", "the judge")]
        hard, soft = (one["mae"] for one in paper)
        claims += [
            holds("sample as in the paper: hard-elo", hard, least=57.58, most=57.68),
            holds("sample as in the paper: soft-elo", soft, least=19.535, most=19.537),
            holds("sample: MAE", row["mae"], most=17.0),
            holds("sample: interval score", row["interval_score"], most=112.0),
            holds("sample: processor seconds of 14 posteriors", row["seconds"], most=2.0),
        ]
    claims.append(holds("predictions whose gate failed", float(ours["gate_failed"].sum()), most=0.0))
    return claims


def both_scores(table: pd.DataFrame, ours: pd.DataFrame, log: str, judge: str) -> tuple[float, float]:
    """Interval scores of `judge_elo` and of the best conformal interval of the same judge."""
    rivals = table[(table["log"] == log) & (table["judge"] == judge) & (table["method"] != JudgeElo().label)]
    return float(ours.loc[(log, judge), "interval_score"]), float(rivals["interval_score"].min())


if __name__ == "__main__":
    main()
