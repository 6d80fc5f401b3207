"""From a judge misled by length to an Elo in people's eyes: ``python examples/audit_to_elo.py``.

People verified some of a judge's choices between four models. The audit says how probable it is that people
would agree with each of the others; these probabilities are the soft targets of an Elo. The log is simulated,
so the truth is known and printed next to the answer.
"""

from __future__ import annotations

import argparse

import numpy as np

import bayesjudge as bj
from bayesjudge.datasets import simulate_pairs

#: People's log odds for each model.
STRENGTHS = (0.9, 0.3, -0.3, -0.9)


def main() -> None:
    """Simulate, audit, rank."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--pairs", type=int, default=600, help="pairs; a third of them verified")
    options.add_argument("--draws", type=int, default=1000)
    given = options.parse_args()
    short = {"draws": given.draws, "tune": given.draws, "progress": True}

    # 1. A judge who prefers long answers. With your own log: bj.read_pairs("log.csv", embeddings="e.npz").
    made = simulate_pairs(
        seed=3, n=given.pairs, verified=given.pairs // 3, verbosity=-2.5, dimensions=4, strengths=STRENGTHS
    )

    # 2. Which of the judge's choices to trust, and which to turn around.
    audited = bj.audit(made.pairs, **short)
    print(audited.settings["guard"])

    # 3. Every choice as a battle with P(people prefer a), and people's own votes where there are any.
    ranked = bj.elo(audited.checks["battles"], bootstrap=200, **short)
    table = ranked.estimates.where(estimand="elo").frame
    truth = 1500 + 400 / np.log(10) * np.array(STRENGTHS)
    table = table.assign(truth=table["unit"].map({f"m{k}": elo for k, elo in enumerate(truth)}))
    print(table[["unit", "method", "judge", "point", "lower", "upper", "truth"]].round(0).to_string(index=False))


if __name__ == "__main__":
    main()
