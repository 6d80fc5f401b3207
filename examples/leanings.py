"""Where a judge leans to the first response: with the words of a prompt, and from topic to topic."""

from __future__ import annotations

import numpy as np
import pandas as pd

import bayesjudge as bj

FORMULA = "position ~ 1 + words + (1|topic)"
TOPICS = ("coding", "history", "law", "poetry")


def log(items: int = 80, trials: int = 3) -> tuple[pd.DataFrame, pd.Series]:
    """Comparisons in both orders, and P(first wins) − P(second wins) in every topic."""
    rng = np.random.default_rng(3)
    topic, words = rng.choice(len(TOPICS), items), rng.choice([20, 50, 100, 200], items)
    lean = 0.4 + 0.5 * (words - words.mean()) / words.std() + np.array([-0.6, -0.2, 0.2, 0.6])[topic]
    better = rng.normal(scale=1.5, size=items)
    first = {order: 1 / (1 + np.exp(-(better + sign * lean))) for order, sign in (("ab", 1), ("ba", -1))}
    parts = []
    for order, p in first.items():
        won = rng.binomial(trials, p)
        columns = {"item": np.arange(items), "judge": "heron", "order": order, "n_a": won, "n_b": trials - won}
        parts.append(pd.DataFrame(columns).assign(words=words, topic=np.array(TOPICS)[topic]))
    return pd.concat(parts), pd.Series(first["ab"] - first["ba"]).groupby(np.array(TOPICS)[topic]).mean()


def main() -> None:
    """Show what a long prompt adds, and every topic by both methods."""
    frame, truth = log()
    answer = bj.reliability(frame, formula=FORMULA, draws=300, tune=300, chains=2, bootstrap=2000, progress=False)
    rows = answer.diagnostics.frame
    effect = rows[rows["estimand"] == "effect"].iloc[0]
    print(f"{effect['unit']}: {effect['point']:.2f} [{effect['lower']:.2f}, {effect['upper']:.2f}]")
    by_topic = rows[rows["estimand"].str.startswith("position_effect[topic=")]
    topic = by_topic["estimand"].str.extract(r"topic=(\w+)")[0]
    shown = by_topic.assign(topic=topic, truth=topic.map(truth))
    print(shown[["topic", "method", "point", "lower", "upper", "truth"]].to_string(index=False, float_format="%.2f"))


if __name__ == "__main__":
    main()
