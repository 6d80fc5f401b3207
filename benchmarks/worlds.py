"""Worlds that the formulas of `judge_error` do not assume: whether totals and groups cover, or the column is named.

One system, 800 answers, 150 labels. Rates depend on a column x, or on groups, otherwise than the model has it: by a
probit, in steps, by groups with heavy tails or of 1 to 400 answers; x matters to nothing; labels are chosen by x, with
x in the formulas and without. A world passes where intervals hold the accuracy of its population in .93 of its logs, or
the screen names the column in as many.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from groups import LENGTH, estimated
from harness.command import parser
from harness.machine import machine
from harness.results import holds, report, show
from numpy.typing import NDArray
from scipy.special import expit
from scipy.stats import norm

from bayesjudge.counts import count_verdicts
from bayesjudge.counts.labelled_answers import labelled_answers
from bayesjudge.effects.screen import LEVEL, screen
from bayesjudge.models.judge_error import JudgeError, by_group
from bayesjudge.tables import Verdicts

type Array = NDArray[np.float64]
#: Logits of accuracy, sensitivity and specificity where nothing moves them.
LEVELS = np.array([0.8, 1.6, 1.2])
ANSWERS, LABELS, GROUPS = 800, 150, 20
PLAIN = ("accuracy ~ 0 + system",)
POOLED = by_group("group", "partial", systems=1)


@dataclass(frozen=True, kw_only=True)
class World:
    """Rates of answers with x and effects of their group, (answers, 3); how the model and the labels take them.

    largest: Size of the largest group over that of the smallest.
    """

    moved: Callable[[Array, Array], Array]
    rate: Callable[[Array], Array] = expit
    groups: Callable[[np.random.Generator], Array] = lambda rng: rng.normal(0, 0.5, (GROUPS, 3))
    largest: float = 1.0
    formulas: tuple[str, ...] = LENGTH
    chosen: float = 0.0


def _linear(slope: float) -> Callable[[Array, Array], Array]:
    # The judge says 1 more often where x is high, whatever is right.
    return lambda x, _: np.outer(x, slope * np.array([0.5, 1.0, -1.0]))


def _steps(x: Array, _: Array) -> Array:
    return np.outer((x > 1) * 1.0 - (x < -1), [0.5, 1.0, -1.0])


def _grouped(_: Array, effect: Array) -> Array:
    return effect


WORLDS = {
    "probit": World(moved=_linear(0.6), rate=norm.cdf),
    "steps": World(moved=_steps),
    "heavy tails": World(moved=_grouped, groups=lambda rng: 0.5 * rng.standard_t(3, (GROUPS, 3)), formulas=POOLED),
    "sizes": World(moved=_grouped, largest=1000.0, formulas=POOLED),
    "unrelated": World(moved=_linear(0.0)),
    "chosen": World(moved=_linear(1.0), chosen=1.5),
    "chosen, not in the formulas": World(moved=_linear(1.0), chosen=1.5, formulas=PLAIN),
}


def main() -> None:
    """Run the study and print it."""
    options = parser(__doc__)
    options.add_argument("--logs", type=int, default=100, help="logs of every world")
    found = options.parse_args()
    found.logs = 3 if found.quick else found.logs
    facts, start = machine(), time.perf_counter()
    rows = [row for name in (list(WORLDS)[:1] if found.quick else WORLDS) for row in of_world(name, found)]
    show(rows, "coverage of accuracies, and logs whose screen names the column")
    claims = [] if found.quick else must_hold(rows)
    report("worlds", found, facts, must_hold=claims, worlds=rows, seconds=time.perf_counter() - start)


def drawn(world: World, rng: np.random.Generator) -> tuple[pd.DataFrame, dict[str, float]]:
    """One log, and the accuracy of its population overall and in every group."""
    effects, size = world.groups(rng), np.geomspace(1, world.largest, GROUPS)
    share = size / size.sum()

    def rates(x: Array, group: NDArray[np.int64]) -> Array:
        return world.rate(LEVELS + world.moved(x, effects[group]))

    x, group = rng.normal(size=ANSWERS), rng.choice(len(share), ANSWERS, p=share)
    theta, q1, q0 = rates(x, group).T
    right = rng.random(ANSWERS) < theta
    verdict = rng.random(ANSWERS) < np.where(right, q1, 1 - q0)
    chance = expit(world.chosen * x)
    label = pd.array([pd.NA] * ANSWERS, dtype="Int8")
    kept = rng.choice(ANSWERS, LABELS, replace=False, p=chance / chance.sum())
    label[kept] = right[kept]
    everyone = rng.normal(size=20_000)
    of = [float(rates(everyone, np.full(20_000, g))[:, 0].mean()) for g in range(len(share))]
    truth = {"": float(share @ of), **{f"g{g}": value for g, value in enumerate(of)}}
    columns = {"item": np.arange(ANSWERS), "model": "judged", "verdict": verdict * 1, "label": label, "length": x}
    return pd.DataFrame({**columns, "group": [f"g{g}" for g in group]}), truth


def of_world(name: str, options: argparse.Namespace) -> list[dict[str, Any]]:
    """Coverage of the total, and of groups where they are in the formulas."""
    world, place = WORLDS[name], list(WORLDS).index(name)
    logs = [drawn(world, np.random.default_rng([options.seed, place, k])) for k in range(options.logs)]
    pooled = world.formulas == POOLED
    tables = [Verdicts.from_frame(frame) for frame, _ in logs]
    sets = [
        count_verdicts(one, group="group" if pooled else None, columns=["group"] if pooled else ["length"])
        for one in tables
    ]
    rows = estimated(JudgeError(formulas=world.formulas), sets, seed=options.seed)
    true = np.array([logs[k][1][group] for k, group in zip(rows["split"], rows["group"], strict=True)])
    rows["held"] = (rows["lower"] <= true) & (true <= rows["upper"])
    rows["away"] = rows["point"] - true
    tested = [screen(labelled_answers(one), ["length"])["holm"].lt(LEVEL).any() for one in tables]
    found = []
    for of, mine in (("total", rows[rows["group"] == ""]), ("groups", rows[rows["group"] != ""])):
        if len(mine):
            figures = {"coverage": float(mine["held"].mean()), "bias": float(mine["away"].mean())}
            found.append({"world": name, "of": of, "rows": len(mine), **figures, "named": float(np.mean(tested))})
    return found


def must_hold(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Issue 28's claim 12."""
    return [
        holds(
            f"{row['world']}, {row['of']}: covered, or the column named", max(row["coverage"], row["named"]), least=0.93
        )
        for row in rows
    ]


if __name__ == "__main__":
    main()
