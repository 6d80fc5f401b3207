"""Eight topics with few labels each: rows of topics that pool, and the accuracy on a mix that is stated."""

from __future__ import annotations

import numpy as np
import pandas as pd

import bayesjudge as bj

SAMPLING = {"engine": "hmc", "chains": 2, "draws": 300, "tune": 300, "bootstrap": 0, "baselines": ["labelled"]}
TOPICS = ("art", "biology", "chemistry", "history", "law", "maths", "medicine", "music")


def log(items: int = 800, labels: int = 100) -> tuple[pd.DataFrame, pd.Series]:
    """One system's answers, and its true accuracy in every topic."""
    rng = np.random.default_rng(2)
    topic = rng.choice(len(TOPICS), items)
    right = rng.random(items) < 1 / (1 + np.exp(-rng.normal(0.8, 0.8, len(TOPICS))[topic]))
    verdict = np.where(rng.random(items) < 0.85, right, ~right)
    label = pd.array([pd.NA] * items, dtype="Int8")
    labelled = rng.choice(items, labels, replace=False)
    label[labelled] = right[labelled].astype(int)
    topics = np.array(TOPICS)[topic]
    columns = {"item": np.arange(items), "model": "heron", "verdict": verdict * 1, "label": label, "topic": topics}
    return pd.DataFrame(columns), pd.Series(right).groupby(topics).mean()


def main() -> None:
    """Show the topics, and the accuracy where half of the questions are about law."""
    frame, truth = log()
    answer = bj.accuracy(frame, group="topic", **SAMPLING)
    rows = answer.estimates.where(estimand="accuracy").frame.assign(truth=lambda f: f["group"].map(truth))
    bayes = rows[rows["method"].str.startswith("bayes:")]
    print(bayes[["group", "point", "lower", "upper", "truth", "n"]].to_string(index=False))
    shares = {name: 0.5 if name == "law" else 0.5 / (len(TOPICS) - 1) for name in TOPICS}
    mixed = bj.accuracy(frame, group="topic", shares={"topic": shares}, **SAMPLING).estimates.frame.iloc[0]
    true = sum(shares[name] * truth[name] for name in TOPICS)
    print(f"half law: {mixed['point']:.3f} [{mixed['lower']:.3f}, {mixed['upper']:.3f}], truth {true:.3f}")


if __name__ == "__main__":
    main()
