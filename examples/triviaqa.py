"""Real verdicts and real labels: nine models, one LLM judge, 40 labelled questions.

``python examples/triviaqa.py`` hides all other human labels, estimates every model's accuracy, and only then
compares with what people said of all answers. Needs the table of ``../shared/data`` (or ``--data FILE``).
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pandas as pd

import bayesjudge as bj

DATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "binary_triviaqa_judges" / "triviaqa_judges.parquet"


def main() -> None:
    """Hide labels, estimate, compare."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--data", type=Path, default=DATA)
    options.add_argument("--judge", default="Llama3-8B")
    options.add_argument("--labels", type=int, default=40, help="questions whose human labels are shown")
    options.add_argument("--draws", type=int, default=1000)
    given = options.parse_args()
    if not given.data.is_file():
        print(f"skipped: no data at {given.data}; name the file with --data")
        return

    # One judge's verdicts on the first version of the data; rows marked suspect are misaligned at the source.
    frame = pd.read_parquet(given.data)
    mine = frame[(frame["version"] == "V1") & (frame["judge"] == given.judge) & ~frame["suspect"]]
    truth = {("accuracy", str(model)): float(mean) for model, mean in mine.groupby("model")["label"].mean().items()}

    # Keep the labels of a random few questions, the same for all models, as a labelling budget would.
    questions = np.random.default_rng(1).permutation(np.sort(mine["item_id"].unique()))[: given.labels]
    budget = mine.assign(label=mine["label"].where(mine["item_id"].isin(questions)))

    # Column names of this table: `item_id` is ours `item`; the others already fit.
    verdicts = bj.read_verdicts(budget[["item_id", "model", "verdict", "label"]], columns={"item": "item_id"})
    answer = bj.accuracy(verdicts, truth=truth, draws=given.draws, tune=given.draws, compare=False, progress=True)

    # Next to each other: what the judge says, what two honest methods make of it, and what people said.
    table = answer.estimates.frame
    table = table[(table["estimand"] == "accuracy") & table["method"].isin(["naive", "ppi++", answer_name(table)])]
    shown = table.assign(interval=[f"{low:.2f} to {high:.2f}" for low, high in table[["lower", "upper"]].to_numpy()])
    print(shown.pivot_table(index=["unit", "truth"], columns="method", values="interval", aggfunc="first").to_string())
    for method, rows in table.groupby("method"):
        inside = rows["truth"].between(rows["lower"], rows["upper"])
        print(
            f"{method}: {inside.sum()} of {len(rows)} intervals hold the human accuracy, "
            f"mean error {(rows['point'] - rows['truth']).abs().mean():.3f}"
        )


def answer_name(table: pd.DataFrame) -> str:
    """The Bayesian method that the study chose for accuracies."""
    return str(table.loc[table["method"].str.startswith("bayes"), "method"].iloc[0])


if __name__ == "__main__":
    main()
