"""The screen of columns and effects of a covariate on 17 tables of real judges, from all labels.

Length of the two responses (log ratio) moves the verdicts of 11 of them given what people prefer, |z| > 3.5. The screen
must find it there, and find nothing where lengths were shuffled between items. Effects that `judge_error` reports are
compared with average effects of a logistic regression of the verdict on length among answers of one label.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from groups import LENGTH, SAMPLING, SHARED, read
from harness.command import parser
from harness.machine import machine
from harness.results import holds, report, show
from numpy.typing import NDArray
from scipy.special import expit

from bayesjudge.counts import count_verdicts
from bayesjudge.counts.labelled_answers import labelled_answers
from bayesjudge.effects.columns import standardised
from bayesjudge.effects.screen import LEVEL, screen
from bayesjudge.inference import fit
from bayesjudge.models.judge_error import JudgeError
from bayesjudge.tables import Verdicts

type Array = NDArray[np.float64]
#: Tables, their judges, and orders of the responses.
JUDGED: tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...] = (
    ("mtbench", ("gpt-4-0613-pairwise",), ("ab", "ba")),
    ("mtbench", ("gpt-4-0613-single",), ("none",)),
    ("llmbar", ("ChatGPT", "ChatGPT-0301", "Falcon", "LLaMA2", "GPT-4", "PaLM2"), ("ab", "ba")),
    ("pandalm", ("gpt-3.5-turbo", "pandalm-7b"), ("ab",)),
)
#: Judges that length does not move: |z| of the issue's own regression below 3.5.
UNMOVED = ("GPT-4", "PaLM2", "gpt-3.5-turbo", "pandalm-7b")


def main() -> None:
    """Run the study and print it."""
    options = _options()
    if not options.data.is_dir():
        sys.exit(f"no data at {options.data}; name the folder with --data")
    facts, start = machine(), time.perf_counter()
    rows, effects = [], []
    for key, frame in judged(options):
        rows.append({**key, **screened(frame, options)})
        effects += [{**key, **row} for row in compared(frame, options.seed)]
    show(rows, "screen: z of length and of the category, share of shuffled lengths found")
    show(effects, "effects of +1 sd of length: judge_error next to logistic regression")
    claims = [] if options.quick else must_hold(rows, effects, options.shuffles)
    seconds = time.perf_counter() - start
    report("columns", options, facts, must_hold=claims, screen=rows, effects=effects, seconds=seconds)


def _options() -> argparse.Namespace:
    options = parser(__doc__)
    options.add_argument("--shuffles", type=int, default=100, help="shuffles of length in each table")
    options.add_argument("--tables", type=int, default=17, help="so many of the tables")
    options.add_argument("--data", type=Path, default=SHARED)
    found = options.parse_args()
    if found.quick:
        found.shuffles, found.tables = 5, 1
    return found


def judged(options: argparse.Namespace) -> Iterator[tuple[dict[str, str], pd.DataFrame]]:
    """Every table with its name, judge and order; answers to one question of MT-bench belong together."""
    keys = [(table, judge, order) for table, judges, orders in JUDGED for judge in judges for order in orders]
    for table, judge, order in keys[: options.tables]:
        yield {"table": table, "judge": judge, "order": order}, read(options.data, table, judge, order=order)


def answers_of(frame: pd.DataFrame) -> pd.DataFrame:
    """Labelled answers as the accuracy question screens them."""
    log = frame.rename(columns={"truth": "label"}).assign(model="judged")
    return labelled_answers(Verdicts.from_frame(log), clusters=["question"])


def screened(frame: pd.DataFrame, options: argparse.Namespace) -> dict[str, Any]:
    """How far length and the category move verdicts, as z, and how often lengths of other items are found."""
    answers = answers_of(frame)
    found = screen(answers, ["length", "group"]).set_index("column")
    rng = np.random.default_rng(options.seed)
    alarms = 0
    for _ in range(options.shuffles):
        other = answers.assign(length=rng.permutation(answers["length"].to_numpy()))
        alarms += int(screen(other, ["length"])["holm"].iloc[0] < LEVEL)
    z = found["z"].reindex(["length", "group"])
    return {"answers": len(answers), "length": z.iloc[0], "category": z.iloc[1], "false alarms": alarms}


def compared(frame: pd.DataFrame, seed: int) -> list[dict[str, Any]]:
    """Effects on both rates by the model with all labels, and by a regression among answers of one label."""
    log = frame.rename(columns={"truth": "label"}).assign(model="judged")
    counts = count_verdicts(Verdicts.from_frame(log), columns=["length"])
    rows = fit(JudgeError(formulas=LENGTH), counts, engine=SAMPLING, seed=seed, progress=False).estimates()
    ours = rows.where(estimand="effect").frame.set_index("unit")
    z, _ = standardised("length", "", frame["length"].to_numpy(np.float64))
    found = []
    for rate, right in (("sensitivity", 1), ("specificity", 0)):
        mine = (frame["truth"] == right).to_numpy()
        agrees = (frame["verdict"] == right).to_numpy(np.float64)
        effect, error = average_effect(z[mine], agrees[mine], frame["question"].to_numpy()[mine])
        point = float(ours.loc[f"{rate}, +1 sd of length", "point"])
        found.append(
            {"rate": rate, "ours": point, "regression": effect, "error": error, "away": (point - effect) / error}
        )
    return found


def average_effect(x: Array, y: Array, clusters: NDArray[Any]) -> tuple[float, float]:
    """Mean change of a logistic regression's probability at x + 1, and its clustered standard error."""
    design, b = np.column_stack([np.ones_like(x), x]), np.zeros(2)
    for _ in range(50):
        p = expit(design @ b)
        information = design.T @ (design * (p * (1 - p))[:, None])
        b = b + np.linalg.solve(information, design.T @ (y - p))
    p, higher = expit(design @ b), expit(design @ b + b[1])
    inverse = np.linalg.inv(information)
    score = pd.DataFrame(design * (y - p)[:, None]).groupby(clusters).sum().to_numpy()
    slope = (higher * (1 - higher)) @ (design + np.array([0.0, 1.0])) / len(x) - (p * (1 - p)) @ design / len(x)
    return float((higher - p).mean()), float(np.sqrt(slope @ inverse @ score.T @ score @ inverse @ slope))


def must_hold(rows: list[dict[str, Any]], effects: list[dict[str, Any]], shuffles: int) -> list[dict[str, Any]]:
    """Issue 28's claim 6, its second half."""
    moved = [row for row in rows if row["judge"] not in UNMOVED]
    found = sum(row["length"] > 3.5 for row in moved)
    near: dict[tuple[str, ...], bool] = {}
    for row in effects:
        key = (row["table"], row["judge"], row["order"])
        near[key] = near.get(key, True) and abs(row["away"]) <= 2
    alarms = sum(row["false alarms"] for row in rows) / (len(rows) * shuffles)
    return [
        holds(f"of {len(moved)} tables that length moves, found with z above 3.5", found, least=9),
        holds("share of shuffled lengths that are found", alarms, most=0.05),
        holds(f"of {len(near)} tables, both effects within 2 standard errors", sum(near.values()), least=15),
    ]


if __name__ == "__main__":
    main()
