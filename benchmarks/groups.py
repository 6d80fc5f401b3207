"""Groups that pool and covariates on real tables: most labels hidden, then compared with all of them.

Groups: 200 labels of a table, drawn evenly; the accuracy within every group and overall, with `(1|group)` in all rates,
next to Wilson's interval on each group's own labels, the EIF overall, and the label regressed on the verdict with the
same groups. Covariates: 150 labels drawn with chances that rise with the length of an answer, P ∝ σ(1.5 z); the overall
accuracy with length in all rates, with the label regressed on verdict and length, and without length. A width of labels
drawn evenly says what length costs. The truth is the share of right answers among all items.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from harness.command import parser
from harness.machine import machine
from harness.results import holds, report, show

from bayesjudge.baselines import accuracy_baselines
from bayesjudge.counts import VerdictCounts, count_verdicts
from bayesjudge.counts.panel import panel_votes
from bayesjudge.estimates import Population, estimand_of
from bayesjudge.inference import Hmc, fit_many
from bayesjudge.models.judge_error import JudgeError, by_group
from bayesjudge.models.judge_panel import JudgePanel
from bayesjudge.tables import Verdicts

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"
SAMPLING = Hmc(chains=2, draws=500, tune=300)
LENGTH = tuple(f"{rate} ~ 1 + length" for rate in ("accuracy", "sensitivity", "specificity"))
PARTS = ("groups", "lengths")
#: Table and judge; the prior of spreads was chosen on the first and the third, and the last four were new to it.
GROUPED = (
    ("trec", "h2oloo-fewself"),
    ("trec", "willia-umbrela1"),
    ("trec", "NISTRetrieval-instruct0"),
    ("pandalm", "gpt-3.5-turbo"),
    ("llmbar", "ChatGPT"),
    ("mtbench", "gpt-4-0613-pairwise"),
    ("trec", "RMITIR-llama70B"),
    ("trec", "prophet-setting2"),
    ("llmbar", "LLaMA2"),
    ("pandalm", "pandalm-7b"),
)
COVERED = (
    ("mtbench", "gpt-4-0613-pairwise"),
    ("llmbar", "ChatGPT"),
    ("llmbar", "LLaMA2"),
    ("pandalm", "gpt-3.5-turbo"),
)


def main() -> None:
    """Run the study and print it."""
    options = _options()
    if not options.data.is_dir():
        sys.exit(f"no data at {options.data}; name the folder with --data")
    facts, start = machine(), time.perf_counter()
    grouped, covered = (
        named[: options.tables if part in options.parts else 0]
        for part, named in zip(PARTS, (GROUPED, COVERED), strict=True)
    )
    groups = [row for table, judge in grouped for row in groups_of(table, judge, options)]
    lengths = [row for table, judge in covered for row in lengths_of(table, judge, options)]
    for rows, title in ((groups, "groups and totals"), (lengths, "totals with and without length")):
        if rows:
            show(rows, title)
    claims = [] if options.quick else must_hold(groups, lengths)
    seconds = time.perf_counter() - start
    report("groups", options, facts, must_hold=claims, groups=groups, lengths=lengths, seconds=seconds)


def _options() -> argparse.Namespace:
    options = parser(__doc__)
    options.add_argument("--splits", type=int, default=40, help="random choices of the labelled items")
    options.add_argument("--tables", type=int, default=10, help="so many of the tables")
    options.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS, help="what is studied")
    options.add_argument("--data", type=Path, default=SHARED)
    found = options.parse_args()
    if found.quick:
        found.splits, found.tables = 2, 1
    return found


def read(folder: Path, table: str, judge: str, *, order: str = "ab") -> pd.DataFrame:
    """Columns ``item, question, verdict, truth, group, length``, one row an item that judge and people decided."""
    if table == "trec":
        rows = pd.read_parquet(folder / "multijudge_trec_llmjudge" / "trec_llmjudge.parquet").query("judge == @judge")
        topic = rows["qid"].astype(str)
        named = {"item": rows["item_id"], "question": topic, "group": topic, "length": np.nan}
        return pd.DataFrame({**named, "verdict": (rows["score"] >= 2) * 1, "truth": (rows["human"] >= 2) * 1})
    place = folder / {"mtbench": "pairwise_mtbench_human"}.get(table, f"pairwise_{table}")
    items, rows = (pd.read_parquet(place / f"{table}_{name}.parquet") for name in ("items", "judgments"))
    rows = rows[(rows["judge"] == judge) & (rows["order"] == order) & rows["verdict"].isin(["a", "b"])]
    rows = rows[rows["prompt"] == "Vanilla"] if "prompt" in rows else rows[rows["run"] == 0]
    rows = rows[["item_id", "verdict"]].merge(items, on="item_id")
    rows = rows[rows["human"].isin([0, 1]) & (rows[["len_a", "len_b"]] > 0).all(axis=1)]
    group = rows["subset"].str.split("_").str[0] if table == "llmbar" else rows["category"]
    question = rows["question_id" if table == "mtbench" else "item_id"].astype(str)
    named = {"item": rows["item_id"].astype(str), "question": question, "group": group}
    named["length"] = np.log(rows["len_a"] / rows["len_b"])
    return pd.DataFrame({**named, "verdict": (rows["verdict"] == "a") * 1, "truth": rows["human"].astype(int)})


def hidden(frame: pd.DataFrame, options: argparse.Namespace, *, labels: int, by_length: bool) -> list[Verdicts]:
    """The table with so many labels, chosen anew for every split."""
    chance = np.ones(len(frame))
    if by_length:
        z = (frame["length"] - frame["length"].mean()) / frame["length"].std()
        chance = 1 / (1 + np.exp(-1.5 * z.to_numpy()))
    found = []
    for split in range(options.splits):
        rng = np.random.default_rng([options.seed, split])
        kept = rng.choice(len(frame), labels, replace=False, p=chance / chance.sum())
        label = pd.array([pd.NA] * len(frame), dtype="Int8")
        label[kept] = frame["truth"].to_numpy()[kept]
        found.append(Verdicts.from_frame(frame.drop(columns="truth").assign(label=label, model="judged")))
    return found


def counted(logs: list[Verdicts]) -> list[VerdictCounts]:
    """Counts with the group, and the length where there is one."""
    columns = ["group", *(["length"] if logs[0].frame["length"].notna().any() else [])]
    return [count_verdicts(log, group="group", columns=columns) for log in logs]


def estimated(
    model: JudgeError | JudgePanel, sets: list[Any], *, seed: int, population: Population = "superpopulation"
) -> pd.DataFrame:
    """Rows of accuracies of every split."""
    fits, name = fit_many(model, sets, seed=seed, engine=SAMPLING), estimand_of("accuracy", population)
    parts = [
        model.estimates(fits.posterior(k), fits.data[k], population=population).where(estimand=name).frame
        for k in range(len(sets))
    ]
    return pd.concat([rows.assign(split=k) for k, rows in enumerate(parts)])


def scored(rows: pd.DataFrame, truth: pd.Series[float], **key: Any) -> dict[str, Any]:
    """Coverage, that of the worst unit, error, bias and width."""
    true = rows["group"].map(truth)
    held = (rows["lower"] <= true) & (true <= rows["upper"])
    away = rows["point"] - true
    return {
        **key,
        "rows": len(rows),
        "coverage": float(held.mean()),
        "worst": float(held.groupby(rows["group"]).mean().min()),
        "mae": float(away.abs().mean()),
        "bias": float(away.mean()),
        "width": float((rows["upper"] - rows["lower"]).mean()),
    }


def groups_of(table: str, judge: str, options: argparse.Namespace) -> list[dict[str, Any]]:
    """Rows of groups and of the total, with what the frequentist methods give on the same labels."""
    frame = read(options.data, table, judge)
    truth = frame.groupby("group")["truth"].mean()
    truth[""] = frame["truth"].mean()
    logs = hidden(frame, options, labels=200, by_length=False)
    sets = counted(logs)
    these: Any = {"seed": options.seed, "population": "items"}
    ours = estimated(JudgeError(formulas=by_group("group", "partial", systems=1)), sets, **these)
    # Wilson's interval knows of no finite population.
    populations: dict[str, Population] = {"labelled": "superpopulation", "eif": "items"}
    theirs = [
        accuracy_baselines(counts, "judge", methods=[name], bootstrap=0, population=of)
        .where(estimand=estimand_of("accuracy", of))
        .frame
        for counts in sets
        for name, of in populations.items()
    ]
    votes = [panel_votes(log, group_by="group") for log in logs]
    regressed = estimated(JudgePanel(), votes, **these).assign(method="label ~ (1|group)")
    every = pd.concat([ours.assign(method="(1|group)"), regressed, *theirs])
    every = every[np.isfinite(every["lower"]) & np.isfinite(every["upper"])]
    key = {"table": table, "judge": judge}
    parts = itertools.product(every["method"].unique(), ("groups", "total"))
    found = []
    for method, of in parts:
        mine = every[(every["method"] == method) & ((every["group"] == "") == (of == "total"))]
        if len(mine):
            found.append(scored(mine, truth, **key, method=method, of=of))
    return found


def lengths_of(table: str, judge: str, options: argparse.Namespace) -> list[dict[str, Any]]:
    """Totals with labels chosen by length and evenly, with length in the model and without."""
    frame = read(options.data, table, judge)
    truth = pd.Series({"": frame["truth"].mean()})
    found = []
    for by_length in (True, False):
        logs = hidden(frame.assign(group="all"), options, labels=150, by_length=by_length)
        sets = counted(logs)
        votes = [panel_votes(log, columns=["length"]) for log in logs]
        models = {
            "with length": (JudgeError(formulas=LENGTH), sets),
            "regression": (JudgePanel(formulas=("label ~ 1 + length",)), votes),
            "without": (JudgeError(formulas=("accuracy ~ 0 + system",)), sets),
        }
        key = {"table": table, "judge": judge, "labels": "by length" if by_length else "even"}
        for name, (model, tables) in models.items():
            found.append(scored(estimated(model, tables, seed=options.seed), truth, **key, model=name))
    return found


def must_hold(groups: list[dict[str, Any]], lengths: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Issue 28's claims 5 and 6."""
    claims = []
    found = {(row["table"], row["judge"], row["method"], row["of"]): row for row in groups}
    for table, judge in dict.fromkeys((row["table"], row["judge"]) for row in groups):
        ours, total = (found[table, judge, "(1|group)", of] for of in ("groups", "total"))
        name = f"{table}, {judge}"
        claims.append(holds(f"coverage of groups: {name}", ours["coverage"], least=0.93))
        claims.append(holds(f"smallest coverage of a group: {name}", ours["worst"], least=0.75))
        alone = found.get((table, judge, "labelled", "groups"))
        if alone:
            claims.append(holds(f"width of groups over Wilson's: {name}", ours["width"] / alone["width"], most=0.82))
        claims.append(holds(f"mean error of groups: {name}", ours["mae"], most=0.09))
        claims.append(holds(f"bias of the total: {name}", abs(total["bias"]), most=0.01))
        short = round(found[table, judge, "eif", "total"]["coverage"] - total["coverage"], 6)
        claims.append(holds(f"coverage of the total below EIF's: {name}", short, most=0.05))
    at = {(row["table"], row["judge"], row["labels"], row["model"]): row for row in lengths}
    for table, judge in dict.fromkeys((row["table"], row["judge"]) for row in lengths):
        plain = at[table, judge, "even", "without"]["width"]
        for model in ("regression", "with length"):
            name = f"{table}, {judge}, {'judge_error' if model == 'with length' else model}"
            claims.append(
                holds(f"labels by length: {name}", at[table, judge, "by length", model]["coverage"], least=0.92)
            )
            ratio = at[table, judge, "even", model]["width"] / plain
            claims.append(holds(f"width with length over without: {name}", ratio, most=1.02))
    return claims


if __name__ == "__main__":
    main()
