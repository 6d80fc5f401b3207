"""Draws that Stan, Bambi, brms or PyMC made, next to ours in the table: ``python examples/from_stan_or_bambi.py``.

An ArviZ tree, or its NetCDF file, is a model: ``models=["default", "fit.nc"]`` in Python, ``--model fit.nc`` on the
command line. ``as_model`` says which variable is the accuracy and which systems lie along its axis, where the tree has
other names. Here the draws come from conjugate posteriors, so that the example needs neither Stan nor Bambi; with
CmdStanPy the tree is ``arviz_base.from_cmdstanpy(fit)``, with Bambi what ``model.fit()`` returns.
"""

from __future__ import annotations

import arviz_base as az
import numpy as np

from bayesjudge import accuracy, as_model, data
from bayesjudge.datasets import simulate_verdicts


def main() -> None:
    """Answer the accuracy question with stored draws, and print what could not be checked of them."""
    log = simulate_verdicts(seed=3, accuracy=(0.72, 0.65), youden=0.6, labelled=60, unlabelled=1000)
    view, rng = data(log.verdicts), np.random.default_rng(1)
    # Accuracy by the labels alone: each system's posterior is Beta(1 + right, 1 + wrong).
    wrong, right = view["labelled"].sum(axis=2).T
    theta = rng.beta(1 + right, 1 + wrong, size=(4, 500, len(right)))
    stored = az.from_dict({"posterior": {"theta": theta}})
    labels_alone = as_model(
        stored, "labels_alone", variables={"accuracy": "theta"}, systems=list(view.coords["system"])
    )
    answer = accuracy(log.verdicts, models=["default", labels_alone], draws=500, tune=500)
    rows = answer.estimates.where(estimand="accuracy").with_truth(log.truth).frame
    print(rows[["unit", "method", "point", "lower", "upper", "truth"]].round(3).to_string(index=False))
    print(answer.checks["unchecked"].to_string(index=False))


if __name__ == "__main__":
    main()
