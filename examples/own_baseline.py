"""An estimator of your own next to ours: ``python examples/own_baseline.py``.

A function of labels, verdicts on the labelled answers and verdicts on the others is a baseline on screen, on the page
and in simulations; so is any function of the counts. On the command line:
``bayesjudge accuracy FILE --baseline examples/own_baseline.py:difference_estimator``, and
``bayesjudge simulate coverage accuracy --baseline examples/own_baseline.py:difference_estimator`` says how often its
intervals hold the truth.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.stats import norm

from bayesjudge import accuracy, as_baseline
from bayesjudge.datasets import simulate_verdicts


def difference_estimator(y: Any, v: Any, v_unlabelled: Any, prob: float) -> tuple[float, float, float]:
    """Mean verdict, plus how far labels lie above verdicts on average: prediction-powered inference with λ = 1."""
    point = v_unlabelled.mean() + (y - v).mean()
    error = np.sqrt(v_unlabelled.var() / len(v_unlabelled) + (y - v).var(ddof=1) / len(y))
    half = norm.ppf((1 + prob) / 2) * error
    return point, point - half, point + half


def agreement_bound(counts: Any) -> Iterator[dict[str, Any]]:
    """A function of the counts: with verdicts alone, accuracy is somewhere in [0, 1]."""
    for model in counts.models:
        yield {"estimand": "accuracy", "unit": model, "point": 0.5, "lower": 0.0, "upper": 1.0}


def main() -> None:
    """Both, with PPI++ and the posterior."""
    log = simulate_verdicts(seed=3, accuracy=(0.72, 0.65), youden=0.6, labelled=60, unlabelled=1000)
    own = as_baseline(difference_estimator, "ppi, λ = 1", differences=True)
    answer = accuracy(log.verdicts, baselines=["ppi", own, agreement_bound], engine="hmc", compare=False)
    rows = answer.estimates.with_truth(log.truth).frame
    print(rows[["estimand", "unit", "method", "point", "lower", "upper", "truth"]].round(3).to_string(index=False))


if __name__ == "__main__":
    main()
