"""A model of your own in PyMC, next to ours in the table: ``python examples/own_pymc_model.py``.

The judge was validated elsewhere: it recognised 160 of 200 right answers and 160 of 200 wrong ones. The function is
called with the arrays of ``bayesjudge.data(log)`` and returns a ``pm.Model``, which PyMC samples; the variable
``accuracy``, along the axis ``system``, is what the question reports. On the command line:
``bayesjudge accuracy FILE --model default --model examples/own_pymc_model.py:validated_judge``.
"""

from __future__ import annotations

from typing import Any

import pymc as pm

from bayesjudge import accuracy
from bayesjudge.datasets import simulate_verdicts


def validated_judge(data: Any) -> pm.Model:
    """Sensitivity and specificity known from an earlier study."""
    with pm.Model(coords={"system": data.coords["system"]}) as model:
        q1 = pm.Beta("sensitivity", 161, 41)
        q0 = pm.Beta("specificity", 161, 41)
        theta = pm.Beta("accuracy", 1, 1, dims="system")
        p = theta * q1 + (1 - theta) * (1 - q0)
        pm.Binomial("positives", data["n"], p, observed=data["positives"], dims="system")
    return model


def main() -> None:
    """Answer the accuracy question with it, next to the model and the baselines of this package."""
    log = simulate_verdicts(seed=3, accuracy=(0.72, 0.65), youden=0.6, labelled=60, unlabelled=1000)
    answer = accuracy(log.verdicts, models=["default", validated_judge], draws=500, tune=500)
    rows = answer.estimates.where(estimand="accuracy").with_truth(log.truth).frame
    print(rows[["unit", "method", "point", "lower", "upper", "truth"]].round(3).to_string(index=False))
    print(answer.checks["predictive"].query("statistic == 'observed'").round(3).to_string(index=False))


if __name__ == "__main__":
    main()
