"""From a CSV of verdicts to accuracies with intervals: ``python examples/accuracy_from_csv.py``.

The log is simulated, so the truth is known and printed next to the answer. With your own log, start at step 2.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import bayesjudge as bj
from bayesjudge.datasets import simulate_verdicts

#: Baselines shown here; `answer.estimates` holds all of them.
BESIDE = ("naive", "rogan-gladen[shared]", "ppi++", "mle")


def main() -> None:
    """Simulate, write, read, answer."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--folder", type=Path, default=Path("out"), help="where the CSV and the page go")
    options.add_argument("--items", type=int, default=800, help="items without a label; 100 more have one")
    options.add_argument("--draws", type=int, default=1000)
    given = options.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)

    # 1. A log: two models, one judge with different error rates on them, 100 items with human labels.
    log = simulate_verdicts(
        seed=7,
        models=("heron", "otter"),
        accuracy=(0.72, 0.65),
        youden=(0.6, 0.4),
        labelled=100,
        unlabelled=given.items,
    )
    csv = given.folder / "verdicts.csv"
    log.verdicts.frame.to_csv(csv, index=False)

    # 2. One line answers. Other column names are mapped: read_verdicts(csv, columns={"verdict": "score"}).
    verdicts = bj.read_verdicts(csv)
    # compare=True would also fit other ways of pooling the judge's errors, and say which predicts best.
    answer = bj.accuracy(verdicts, truth=log.truth, draws=given.draws, tune=given.draws, compare=False, progress=True)

    # 3. Every method in one table; the posterior comes first, the raw verdict rate is "naive".
    table = answer.estimates.frame
    shown = table[table["method"].str.startswith("bayes") | table["method"].isin(BESIDE)]
    print(shown[["estimand", "unit", "method", "point", "lower", "upper", "truth"]].round(3).to_string(index=False))

    # 4. What a reader must know before the numbers, and a page to look at.
    for warning in answer.warnings:
        print("warning:", warning)
    page = given.folder / "accuracy.html"
    answer.to_html(page)
    print("page:", page.resolve())


if __name__ == "__main__":
    main()
