"""Which system to ship, and whether more labels pay: ``python examples/decide.py [FILE]``.

FILE is any table of verdicts that ``bayesjudge accuracy`` takes, some of them labelled; without one, answers of
three systems are simulated. The page says the same, with the frequentist tests next to the posterior.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pandas as pd

from bayesjudge import accuracy
from bayesjudge.datasets import simulate_verdicts

#: What moving to a new system costs, in points of accuracy.
SWITCH = 0.01


def switching(draws: pd.DataFrame) -> Any:
    """A loss of one's own: how much worse a system is than the best, and the work of moving away from old."""
    moved = np.array([0.0 if name == "old" else SWITCH for name in draws.columns])
    return draws.max(axis=1).to_numpy()[:, None] - draws.to_numpy() + moved


def main() -> None:
    """Decide three times: the best system, against the one in use, and with a loss of one's own."""
    if sys.argv[1:]:
        log: Any = sys.argv[1]
    else:
        systems: dict[str, Any] = {"models": ("old", "new", "small"), "accuracy": (0.77, 0.80, 0.62)}
        log = simulate_verdicts(seed=3, **systems, youden=0.6, labelled=60, unlabelled=1000).verdicts
    answer = accuracy(log, engine="hmc", compare=False, decide="best", margin=0.02, cost_label=1.5, horizon=100_000)
    print(*answer.screen(120)[-3:-1], sep="\n")
    print(answer.checks["label_value"].round(4).to_string(index=False))
    used = answer.checks["decision"]["system"].iloc[-1] if sys.argv[1:] else "old"
    shown = ["system", "expected_loss", "p_better", "p_equivalent", "p_worse", "verdict", "p_tost", "p_mcnemar"]
    for again in (answer.decide(f"keep={used}", margin=0.02), answer.decide("best", loss=switching)):
        print(again.checks["decision"][shown].round(3).to_string(index=False))


if __name__ == "__main__":
    main()
