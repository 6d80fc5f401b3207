"""A judge that prefers long answers, and labels that were given to long answers first.

With length in all rates the total is right again, and the rows of effects say how the judge errs. So it is where the
label is regressed on verdict and length, which needs nothing to be true of how the judge errs.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

import bayesjudge as bj

SAMPLING = {"engine": "hmc", "chains": 2, "draws": 300, "tune": 300, "bootstrap": 0, "baselines": ["labelled"]}


def log(items: int = 800, labels: int = 150) -> tuple[pd.DataFrame, float]:
    """One system's answers, and its true accuracy."""
    rng = np.random.default_rng(1)
    z = rng.normal(size=items)
    right = rng.random(items) < 1 / (1 + np.exp(-(0.3 + 1.5 * z)))
    verdict = rng.random(items) < 1 / (1 + np.exp(-(np.where(right, 0.8, -0.8) + 0.5 * z)))
    chance = 1 / (1 + np.exp(-1.5 * z))
    labelled = rng.choice(items, labels, replace=False, p=chance / chance.sum())
    label = pd.array([pd.NA] * items, dtype="Int8")
    label[labelled] = right[labelled].astype(int)
    columns = {"item": np.arange(items), "model": "heron", "verdict": verdict * 1, "label": label}
    return pd.DataFrame({**columns, "words": np.exp(5 + 0.5 * z)}), float(right.mean())


def main() -> None:
    """Compare the answers with length and without it."""
    frame, truth = log()
    formulas = [f"{rate} ~ 1 + log(words)" for rate in ("accuracy", "sensitivity", "specificity")]
    print(f"true accuracy {truth:.3f}")
    regression = ["label ~ 1 + log(words)"]
    for name, formula in (("without length", []), ("label on length", regression), ("with length", formulas)):
        answer = bj.accuracy(frame, formula=formula, **SAMPLING)
        row = answer.estimates.frame.iloc[0]
        print(f"{name}: {row['point']:.3f} [{row['lower']:.3f}, {row['upper']:.3f}]")
    only = answer.estimates.where(estimand="accuracy", method="labelled").frame.iloc[0]
    print(f"labelled answers only: {only['point']:.3f} [{only['lower']:.3f}, {only['upper']:.3f}]")
    print(answer.diagnostics.where(estimand="effect").frame[["unit", "point", "lower", "upper"]].to_string(index=False))


if __name__ == "__main__":
    main()
