"""Does every row of an answer hold the whole table's value where the units of its log are drawn again.

A real log is taken as the world, and its answer, estimates and diagnostics, as the truth: one replicate is a log of
n of its units (prompts, items, pairs) drawn with replacement, asked the same question by the same function that the
command calls. No row is chosen beforehand, so a row that takes dependent answers for independent shows here even
where nobody thought of it. An estimator's bias that both answers share does not.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from harness.command import parser
from harness.machine import machine
from harness.results import holds, report, show

import bayesjudge as bj
from bayesjudge.report import Comparison

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
KEY = ["method", "judge", "estimand", "unit"]
#: A normal interval of 95 % is so many standard deviations wide.
WIDE = 3.92
#: Replicates of each setting share their log's oddities: a row needs this many before its coverage says anything.
ENOUGH = 20
#: The whole table's value is of more pairs, which were verified, or items: no truth of a smaller log.
OF_ITS_SIZE = ("consistency (held out)", "gain (held out)", "auc", "precision of flips", "noise_budget", "swap_risk")
#: Pairs and items of a log drawn, and how many of the items are labelled.
PAIRS, ITEMS, LABELLED = 200, 400, 40


class Setting(NamedTuple):
    """A real log, what its units are, and the question that is asked."""

    name: str
    read: Callable[[Path], pd.DataFrame]
    unit: str
    n: int
    ask: Callable[[pd.DataFrame, int], Comparison]


def main() -> None:
    """Run the study and print it."""
    options = _options()
    if not options.data.is_dir():
        sys.exit(f"no data at {options.data}; name the folder with --data")
    facts, start = machine(), time.perf_counter()
    rows: list[dict[str, Any]] = []
    for setting in SETTINGS:
        if options.settings and setting.name not in options.settings:
            continue
        rows += summary(setting.name, held(setting, options))
        print(f"{setting.name}: {time.perf_counter() - start:.0f} s", file=sys.stderr)
    if not rows:
        sys.exit(f"no setting is named {' or '.join(options.settings)}; allowed: {', '.join(s.name for s in SETTINGS)}")
    show(rows, "95 % intervals, averages over the units of a row")
    claims = [] if options.quick else must_hold(rows)
    report("drawn_again", options, facts, must_hold=claims, rows=rows, seconds=time.perf_counter() - start)


def _options() -> argparse.Namespace:
    options = parser(__doc__)
    options.add_argument("--replicates", type=int, default=40, help="logs drawn for each setting")
    options.add_argument("--settings", nargs="+", metavar="NAME", help="only these, as the table names them")
    options.add_argument("--data", type=Path, default=DATA)
    found = options.parse_args()
    if found.quick:
        found.replicates, found.settings = 2, found.settings or ["votes"]
    return found


def held(setting: Setting, options: argparse.Namespace) -> pd.DataFrame:
    """One line for each row with an interval of each log: what it says, and the truth."""
    table = setting.read(options.data)
    truth = _rows(setting.ask(table, options.seed))["point"]
    units, parts = table[setting.unit].unique(), dict(list(table.groupby(setting.unit)))
    found = []
    for stream in np.random.SeedSequence(options.seed).spawn(options.replicates):
        picked = np.random.default_rng(stream).choice(units, setting.n)
        log = pd.concat([again(parts[unit], setting.unit, k) for k, unit in enumerate(picked)], ignore_index=True)
        rows = _rows(setting.ask(log, options.seed)).join(truth.rename("truth"), how="inner")
        found.append(rows[np.isfinite(rows["truth"]) & np.isfinite(rows["lower"]) & np.isfinite(rows["upper"])])
    return pd.concat(found).reset_index()


def again(part: pd.DataFrame, unit: str, k: int) -> pd.DataFrame:
    """The rows of the k-th unit drawn, under names of their own: one drawn twice is two units."""
    inner = {"item": [f"{k}-{item}" for item in part["item"]]} if "item" in part else {}
    return part.assign(**inner | {unit: str(k)})


def _rows(answer: Comparison) -> pd.DataFrame:
    parts = [part.frame for part in (answer.estimates, answer.diagnostics) if part is not None]
    return pd.concat(parts).drop_duplicates(KEY).set_index(KEY)[["point", "lower", "upper"]]


def summary(name: str, rows: pd.DataFrame) -> list[dict[str, Any]]:
    """Coverage, the worst unit's, width, and that width which the points themselves ask for."""
    lines = rows.assign(
        covered=rows["truth"].between(rows["lower"], rows["upper"]),
        width=rows["upper"] - rows["lower"],
        bias=rows["point"] - rows["truth"],
    )
    per_unit = lines.groupby(KEY, sort=False).agg(
        logs=("covered", "size"),
        coverage=("covered", "mean"),
        width=("width", "mean"),
        spread=("point", "std"),
        bias=("bias", "mean"),
    )
    found = []
    for (method, estimand), part in per_unit.groupby(["method", "estimand"], sort=False):
        found.append(
            {
                "setting": name,
                "method": method,
                "estimand": estimand,
                "units": len(part),
                "logs": int(part["logs"].min()),
                "coverage": float(part["coverage"].mean()),
                "worst": float(part["coverage"].min()),
                "width": float(part["width"].mean()),
                "points": WIDE * float(part["spread"].mean()),
                "bias": float(part["bias"].abs().mean()),
            }
        )
    return found


def must_hold(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Every Bayesian row covers .95, less three standard errors of the logs drawn."""
    return [
        holds(
            f"{row['setting']}: {row['method']}, {row['estimand']}: coverage",
            row["coverage"],
            least=0.95 - 3 * np.sqrt(0.95 * 0.05 / row["logs"]),
        )
        for row in rows
        if str(row["method"]).startswith("bayes:")
        and row["logs"] >= ENOUGH
        and not str(row["estimand"]).startswith(OF_ITS_SIZE)
    ]


def _mtbench(folder: Path, judge: str | None) -> pd.DataFrame:
    """People's votes, with one judge's verdicts if named; the unit is the prompt."""
    source = folder / "pairwise_mtbench_human"
    items = pd.read_parquet(source / "mtbench_items.parquet").set_index("item_id")
    votes = pd.read_parquet(source / "mtbench_human_votes.parquet").join(items[["model_a", "model_b"]], on="item_id")
    parts = [votes.rename(columns={"human_id": "voter"}).assign(judge=None)]
    if judge is not None:
        verdicts = pd.read_parquet(source / "mtbench_judgments.parquet")
        parts.append(verdicts[verdicts["judge"] == judge].drop(columns=["run", "template"]).assign(voter=None))
    facts = {"question_id": "prompt", "len_a": "length_a", "len_b": "length_b"}
    log = pd.concat(parts, ignore_index=True).join(items[list(facts)].rename(columns=facts), on="item_id")
    return bj.read_battles(log.astype({"prompt": str})).frame


def _position_bias(folder: Path) -> pd.DataFrame:
    table = pd.read_parquet(folder / "repeated_position_bias" / "position_bias_repetitions.parquet")
    return bj.read_trials(table[table["judge"].isin(["gemini-pro", "claude-3-haiku-20240307"])]).frame


def _both_orders(folder: Path) -> pd.DataFrame:
    """One judge's verdicts in both orders; the unit is the question, on which it compared many pairs of models."""
    source = folder / "pairwise_mtbench_human"
    items = pd.read_parquet(source / "mtbench_items.parquet").set_index("item_id")
    table = pd.read_parquet(source / "mtbench_judgments.parquet").drop(columns=["template", "score_a", "score_b"])
    table = table[table["judge"] == "gpt-4-0613-pairwise"].join(items["question_id"].rename("question"), on="item_id")
    return bj.read_trials(table.astype({"question": str})).frame


def _scores(folder: Path) -> pd.DataFrame:
    table = pd.read_parquet(folder / "repeated_rewardbench2_composo" / "rewardbench2_composo_scores.parquet")
    table = table[table["judge"].isin(["claude-haiku-4.5", "gpt-5.4-nano"]) & (table["prompt"] == "base")]
    return bj.Scores.from_frame(table.rename(columns={"item_id": "item"}).drop(columns="label")).frame


def _pairs(folder: Path) -> pd.DataFrame:
    source = folder / "pairwise_llmbar"
    where = ["prompt=CoT", "judge=GPT-4"]
    items = source / "llmbar_items.parquet"
    return bj.read_pairs(source / "llmbar_judgments.parquet", items=items, where=where).frame


def _verdicts(folder: Path) -> pd.DataFrame:
    table = pd.read_parquet(folder / "binary_triviaqa_judges" / "triviaqa_judges.parquet")
    table = table[(table["version"] == "V1") & (table["judge"] == "Llama3-8B")]
    return bj.read_verdicts(table.drop(columns="version")).frame


def _choices(log: pd.DataFrame, seed: int) -> Comparison:
    return bj.reliability(bj.Trials.from_frame(log), seed=seed)


def _by_question(log: pd.DataFrame, seed: int) -> Comparison:
    return bj.reliability(bj.Trials.from_frame(log), cluster="question", seed=seed)


def _graded(log: pd.DataFrame, seed: int) -> Comparison:
    return bj.reliability(bj.Scores.from_frame(log), seed=seed)


def _strengths(log: pd.DataFrame, seed: int) -> Comparison:
    return bj.elo(bj.Battles.from_frame(log), seed=seed)


def _with_length(log: pd.DataFrame, seed: int) -> Comparison:
    return bj.elo(bj.Battles.from_frame(log), formula=["preference ~ 1 + length"], seed=seed)


def _half_verified(log: pd.DataFrame, seed: int) -> Comparison:
    """Half of the pairs keep their person's choice; of the whole table all do."""
    pairs = log["item"].unique()
    hidden = pairs[1::2] if len(pairs) == PAIRS else pairs[:0]
    return bj.audit(
        bj.Pairs.from_frame(log.assign(human_prefers=log["human_prefers"].mask(log["item"].isin(hidden)))), seed=seed
    )


def _labelled(log: pd.DataFrame, seed: int) -> Comparison:
    """Of a log drawn the first items keep their labels; of the whole table all do."""
    items = log["item"].unique()
    kept = items[:LABELLED] if len(items) == ITEMS else items
    return bj.accuracy(bj.Verdicts.from_frame(log.assign(label=log["label"].where(log["item"].isin(kept)))), seed=seed)


SETTINGS = (
    Setting("votes", lambda folder: _mtbench(folder, None), "prompt", 40, _strengths),
    Setting("votes, length", lambda folder: _mtbench(folder, None), "prompt", 40, _with_length),
    Setting("votes, verdicts", lambda folder: _mtbench(folder, "gpt-4-0613-pairwise"), "prompt", 40, _strengths),
    Setting("votes, grades", lambda folder: _mtbench(folder, "gpt-4-0613-single"), "prompt", 40, _strengths),
    Setting("choices", _position_bias, "item", 60, _choices),
    Setting("both orders", _both_orders, "question", 40, _by_question),
    Setting("scores", _scores, "item", 60, _graded),
    Setting("pairs", _pairs, "item", PAIRS, _half_verified),
    Setting("verdicts", _verdicts, "item", ITEMS, _labelled),
)

if __name__ == "__main__":
    main()
