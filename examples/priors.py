"""Priors of your own: ``python examples/priors.py``.

An earlier study of the judge, an interval, or a distribution, as text; or an object: a distribution of
NumPyro or SciPy, or a Prior of PyMC-extras, of a family that can be written as text.
"""

from __future__ import annotations

from scipy import stats

import bayesjudge as bj
from bayesjudge.datasets import simulate_verdicts
from bayesjudge.models.judge_error import JudgeError

ROW = ["unit", "method", "point", "lower", "upper"]


def main() -> None:
    """What a model assumes, what that says before data, and how far the answer rests on it."""
    log = simulate_verdicts(seed=3, accuracy=(0.72, 0.65), youden=0.6, labelled=15, unlabelled=300).verdicts

    for name, slot in JudgeError().priors.items():
        print(f"{name:20} {slot.default!s:24} {slot.unit:12} {slot.reason}")

    # The judge recognised 160 of 200 right answers elsewhere; its specificity lies between .7 and .9.
    model = JudgeError(pooling="shared").with_priors(sensitivity="160/200", specificity="0.7..0.9")
    print(f"\n{model.label}")
    before = bj.prior_predictive(model, log, draws=500)
    print(before[before["quantity"].isin(["accuracy", "youden", "difference", "verdict rate"])].to_string(index=False))

    # In a question: by the name of the slot, or of model and slot where several models have one of that name.
    priors = {"sensitivity": "160/200", "judge_error.accuracy": stats.beta(8, 4)}
    answer = bj.accuracy(log, priors=priors, engine="laplace", draws=500, baselines=["ppi++"], compare=False)
    print("\n", answer.estimates.where(estimand="accuracy").frame[ROW].round(3).to_string(index=False), sep="")

    # The same rows under priors half and twice as wide, and under those of a colleague.
    table = answer.robustness(alternatives=[{"accuracy": "Beta(1, 1)"}])
    accuracies = table[table["estimand"] == "accuracy"]
    print("\n", accuracies[["unit", "priors", "point", "lower", "upper"]].round(3).to_string(index=False), sep="")


if __name__ == "__main__":
    main()
