"""Do intervals cover where the items of a log are drawn from a real table.

A fully labelled table (TriviaQA V1 and V2: nine models, nine LLM judges, two lexical ones) is taken as the
world: its accuracies and its judges' sensitivities and specificities are the truth. One replicate is a log of
N items drawn from it with replacement, of which the first n keep their labels, for all models at once: how
labels and a judge's errors on one item depend on each other between models is that of the real table, not of
any simulator. Rates whose truth is exactly 0 or 1 count like the others. The worst single unit (a model, or a
pair of models) is shown too, since an average hides it.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from harness.command import parser
from harness.machine import machine
from harness.results import holds, report, show
from numpy.typing import NDArray

from bayesjudge.baselines import accuracy_baselines, judge_quality
from bayesjudge.counts import AnswerPatterns, ItemPatterns, VerdictCounts
from bayesjudge.estimates import Estimates
from bayesjudge.inference import Hmc, fit_many
from bayesjudge.models.judge_error import JudgeError

DATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "binary_triviaqa_judges" / "triviaqa_judges.parquet"
ITEMS = 400
#: Enough for the ends of an interval: some 800 effective draws.
SAMPLING = Hmc(chains=2, draws=500, tune=300)
MODEL = JudgeError()
#: On V2 it says 0 to nearly everything of six of eight models.
ODD_JUDGE = "JudgeLM"
ESTIMANDS = ("accuracy", "difference", "sensitivity", "specificity", "youden", "delta_youden")
KEYS = ["version", "n", "estimand", "method"]
FIGURES = ["coverage", "width", "error", "wrong", "gate_passed"]

type Table = NDArray[np.float64]


def main() -> None:
    """Run the study and print it."""
    options = _options()
    if not options.data.is_file():
        sys.exit(f"no data at {options.data}; name the file with --data")
    facts, start, rows = machine(), time.perf_counter(), []
    for version in options.versions:
        for judge, world in populations(options.data, version, options.judges):
            for n in options.labels:
                logs = [drawn(world, n=n, seed=options.seed * 1000 + k) for k in range(options.replicates)]
                found = scored(world, logs, seed=options.seed)
                rows += [{"version": version, "judge": judge, "n": n, **row} for row in found]
                print(f"{version} {judge}, {n} labels: {time.perf_counter() - start:.0f} s", file=sys.stderr)
    judges = by_judge(pd.DataFrame(rows))
    shown = summary(judges)
    for estimand in ESTIMANDS:
        show([row for row in shown if row["estimand"] == estimand], f"{estimand}, averages over the judges")
    claims = [] if options.quick else must_hold(shown)
    report(
        "resampled",
        options,
        facts,
        must_hold=claims,
        summary=shown,
        judges=judges.to_dict("records"),
        seconds=time.perf_counter() - start,
    )


def _options() -> argparse.Namespace:
    options = parser(__doc__)
    options.add_argument("--replicates", type=int, default=60, help="logs drawn for each judge and n")
    options.add_argument("--labels", type=int, nargs="+", default=[20, 40, 100], help="labelled items n")
    options.add_argument("--versions", nargs="+", default=["V1", "V2"], help="rounds of the TriviaQA judges")
    options.add_argument("--judges", nargs="+", help="some of the judges; default all")
    options.add_argument("--data", type=Path, default=DATA)
    found = options.parse_args()
    if found.quick:
        found.replicates, found.labels, found.versions = 10, [40], ["V1"]
        found.judges = found.judges or ["GPT-4", "Contains"]
    return found


class Population(NamedTuple):
    """Label and verdict (items, models) of one judge, NaN where an answer is missing; names of the models."""

    label: Table
    verdict: Table
    models: tuple[str, ...]


def populations(path: Path, version: str, judges: Sequence[str] | None) -> Iterator[tuple[str, Population]]:
    """Every judge of a version with its table."""
    frame = pd.read_parquet(path)
    frame = frame[(frame["version"] == version) & ~frame["suspect"]]
    for judge, own in frame.groupby("judge", observed=True):
        if judges and judge not in judges:
            continue
        wide = own.pivot_table(index="item_id", columns="model", values=["label", "verdict"], observed=True)
        label, verdict = (wide[name].to_numpy(float) for name in ("label", "verdict"))
        yield str(judge), Population(label, verdict, tuple(map(str, wide["label"].columns)))


def scored(world: Population, logs: Sequence[VerdictCounts], *, seed: int) -> list[dict[str, Any]]:
    """One row a method, estimand and unit: coverage, mean width and error, wrong-signed confident calls."""
    fits, truth = fit_many(MODEL, logs, seed=seed, engine=SAMPLING), true_values(world)
    every = [
        Estimates.concat(
            [
                MODEL.estimates(fits.posterior(k), fits.data[k]),
                accuracy_baselines(one, "judge", methods=["ppi++", "ppi++[logit]"], bootstrap=0),
                judge_quality(one, "judge", bootstrap=0),
            ]
        ).frame.assign(gate_passed=fits.gate(k).passed)
        for k, one in enumerate(logs)
    ]
    rows = pd.concat(every, ignore_index=True)
    rows["truth"] = [truth.get(key, np.nan) for key in zip(rows["estimand"], rows["unit"], strict=True)]
    rows = rows[rows["truth"].notna()]
    # An estimate that is undefined says so with the whole range.
    inside = rows["truth"].between(rows["lower"] - 1e-9, rows["upper"] + 1e-9) | rows["point"].isna()
    away = ((rows["lower"] > 0) & (rows["truth"] < 0)) | ((rows["upper"] < 0) & (rows["truth"] > 0))
    rows = rows.assign(
        coverage=inside, width=rows["upper"] - rows["lower"], wrong=away, error=(rows["point"] - rows["truth"]).abs()
    )
    found = rows.groupby(["method", "estimand", "unit"], sort=False)[FIGURES].mean()
    table: list[dict[str, Any]] = found.reset_index().to_dict("records")
    return table


def drawn(world: Population, *, n: int, seed: int) -> VerdictCounts:
    """Counts of one log: `ITEMS` items drawn with replacement, labels on the first n."""
    pick = np.random.default_rng(seed).integers(0, len(world.label), ITEMS)
    return counted(world, pick, labelled=np.arange(ITEMS) < n)


def counted(
    world: Population, pick: NDArray[np.int64], *, labelled: NDArray[np.bool_], chance: Table | None = None
) -> VerdictCounts:
    """Counts of the picked items, labels on some; ``chance`` is with which probability each was labelled."""
    label, verdict = world.label[pick], world.verdict[pick]
    known = labelled[:, None] & ~np.isnan(label) & ~np.isnan(verdict)
    cells = [np.where(known, label, -1), ~np.isnan(verdict), np.nan_to_num(verdict)]
    if chance is not None:
        cells.append(np.where(known, chance[:, None], 0))
    kinds, times = np.unique(np.concatenate(cells, axis=1), axis=0, return_counts=True)
    y, runs, v, *given = np.split(kinds, len(cells), axis=1)
    y, runs, v = (part.astype(np.int64) for part in (y, runs, v))
    zero = np.zeros(len(kinds), dtype=np.int64)
    items = ItemPatterns(
        group=zero, cluster=zero, label=y, runs=runs, positives=v, n=times, probability=given[0] if given else None
    )
    return VerdictCounts(
        models=world.models,
        judges=("judge",),
        groups=("all",),
        clusters=0,
        items={"judge": items},
        answers=_answers(items),
    )


def _answers(items: ItemPatterns) -> AnswerPatterns:
    row, model = np.nonzero(items.runs)
    zero = np.zeros(len(row), dtype=np.int64)
    return AnswerPatterns(
        model=model,
        group=zero,
        cluster=zero,
        label=items.label[row, model],
        n=items.n[row],
        runs=items.runs[row, model][:, None],
        positives=items.positives[row, model][:, None],
    )


def true_values(world: Population) -> dict[tuple[str, str], float]:
    """Truth of every estimand by unit, over the whole table; rates that no answer informs are NaN."""
    both = ~np.isnan(world.label) & ~np.isnan(world.verdict)
    y, v = (np.where(both, x, np.nan) for x in world[:2])
    q1, q0 = (np.array([np.mean(x[y[:, m] == c, m]) for m in range(y.shape[1])]) for c, x in ((1, v), (0, 1 - v)))
    rates = {"accuracy": np.nanmean(y, axis=0), "sensitivity": q1, "specificity": q0, "youden": q1 + q0 - 1}
    truth = {
        (name, model): float(value)
        for name, values in rates.items()
        for model, value in zip(world.models, values, strict=True)
    }
    for (a, one), (b, other) in itertools.combinations(enumerate(world.models), 2):
        for name, of in (("difference", "accuracy"), ("delta_youden", "youden")):
            truth[name, f"{one} − {other}"] = float(rates[of][a] - rates[of][b])
    return truth


def by_judge(rows: pd.DataFrame) -> pd.DataFrame:
    """Averages over the units of each judge, and the worst unit's coverage."""
    groups = rows.groupby([*KEYS, "judge"], sort=False)
    return groups[FIGURES].mean().assign(worst_unit=groups["coverage"].min()).reset_index()


def summary(judges: pd.DataFrame) -> list[dict[str, Any]]:
    """Averages over judges, the worst judge, and the worst single unit of any judge."""
    groups = judges.groupby(KEYS, sort=False)
    table = groups[FIGURES].mean()
    table["worst_judge"], table["worst_unit"] = groups["coverage"].min(), groups["worst_unit"].min()
    table["worst_other_judge"] = judges[judges["judge"] != ODD_JUDGE].groupby(KEYS, sort=False)["coverage"].min()
    table["mean_worst_unit"] = groups["worst_unit"].mean()
    table["worst_wrong"] = groups["wrong"].max()
    table = table.reset_index()
    plus = table[table["method"] == "ppi++"].set_index(["version", "n", "estimand"])
    at = pd.MultiIndex.from_frame(table[["version", "n", "estimand"]])
    for name in ("width", "error"):
        table[f"{name}_ratio"] = table[name].to_numpy() / plus[name].reindex(at).to_numpy()
    order = {name: k for k, name in enumerate(ESTIMANDS)}
    found: list[dict[str, Any]] = table.sort_values(
        ["version", "n", "estimand"], key=lambda c: c.map(order) if c.name == "estimand" else c, kind="stable"
    ).to_dict("records")
    return found


def must_hold(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Coverage, width and error of `judge_error` against PPI++ at the same labels."""
    claims = []
    wide = {20: 1.12, 40: 1.07, 100: 1.03}
    for row in rows:
        if row["method"] != MODEL.label:
            continue
        at = f"{row['estimand']}, {row['version']}, {row['n']} labelled"
        averaged = holds(f"coverage averaged over judges, {at}", row["coverage"], least=0.93)
        if row["n"] < 20:  # of so few labels nothing but the accuracies is asked
            claims += [averaged] * (row["estimand"] == "accuracy")
            continue
        claims.append(averaged)
        claims += _of_judges(row, at)
        if row["estimand"] in {"sensitivity", "specificity", "youden"}:
            claims.append(holds(f"coverage of the worst unit, {at}", row["worst_unit"], least=0.8))
        if row["estimand"] == "youden":
            mean = row["mean_worst_unit"]
            claims.append(holds(f"coverage of each judge's worst unit, averaged, {at}", mean, least=0.88))
        if row["estimand"] in {"accuracy", "difference"}:
            few = 0.75 if row["estimand"] == "accuracy" else 0.8
            least = 0.85 if row["n"] >= 40 else few
            claims.append(holds(f"coverage of the worst unit, {at}", row["worst_unit"], least=least))
            most = wide.get(row["n"], 1.12)
            claims.append(holds(f"width over PPI++'s, {at}", row["width_ratio"], most=most))
        if row["estimand"] == "difference":
            claims.append(holds(f"confident wrong signs, worst judge, {at}", row["worst_wrong"], most=0.005))
        if row["estimand"] == "accuracy":
            claims.append(holds(f"mean absolute error over PPI++'s, {at}", row["error_ratio"], most=0.95))
    return claims


def _of_judges(row: Mapping[str, Any], at: str) -> list[dict[str, Any]]:
    """What the worst judge must cover: of J on V2 the odd one less, and every other as much as elsewhere."""
    if row["estimand"] in {"sensitivity", "specificity"}:
        return []
    least = {"worst judge": ("worst_judge", 0.9)}
    if row["estimand"] == "youden" and row["version"] == "V2":
        least = {"worst judge": ("worst_judge", 0.75), f"worst judge but {ODD_JUDGE}": ("worst_other_judge", 0.9)}
    return [holds(f"coverage of the {name}, {at}", row[key], least=bound) for name, (key, bound) in least.items()]


if __name__ == "__main__":
    main()
