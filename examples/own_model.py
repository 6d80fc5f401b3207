"""A model of your own in ten lines, next to ours in the table: ``python examples/own_model.py``.

The judge was validated elsewhere: it recognised 160 of 200 right answers and 160 of 200 wrong ones. Names are
the contract: the site ``accuracy`` is what the accuracy question reports, ``positives`` the array it observes.
"""

from __future__ import annotations

from typing import Any

import numpyro
from numpyro import distributions as dist

from bayesjudge import accuracy
from bayesjudge.datasets import simulate_verdicts


def validated_judge(data: Any) -> None:
    """Sensitivity and specificity known from an earlier study."""
    q1 = numpyro.sample("sensitivity", dist.Beta(161, 41))
    q0 = numpyro.sample("specificity", dist.Beta(161, 41))
    with numpyro.plate("system", data.size("system")):
        theta = numpyro.sample("accuracy", dist.Beta(1, 1))
        p = theta * q1 + (1 - theta) * (1 - q0)
        numpyro.sample("positives", dist.Binomial(data["n"], p), obs=data["positives"])


def main() -> None:
    """Answer the accuracy question with it, next to the model and the baselines of this package."""
    log = simulate_verdicts(seed=3, accuracy=(0.72, 0.65), youden=0.6, labelled=60, unlabelled=1000)
    answer = accuracy(log.verdicts, models=["judge_error", validated_judge], draws=500, tune=500)
    rows = answer.estimates.where(estimand="accuracy").with_truth(log.truth).frame
    print(rows[["unit", "method", "point", "lower", "upper", "truth"]].round(3).to_string(index=False))
    print(answer.checks["predictive"].query("statistic == 'observed'").round(3).to_string(index=False))


if __name__ == "__main__":
    main()
