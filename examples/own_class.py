"""A model of your own as a class, with options and a PyMC twin: ``python examples/own_class.py``.

The short way is a function (``own_model.py``). A class adds options, which stand in its name, and a twin that
``engine="pymc"`` samples and that tests its density. A method ``accuracy`` lets it answer the accuracy question. To
offer it by name, register it under the entry point group ``bayesjudge.models``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bayesjudge import Nuts, accuracy, data, fit
from bayesjudge.datasets import simulate_verdicts
from bayesjudge.estimates.posterior import Quantities, accuracy_quantities
from bayesjudge.model import Data, GenerativeModel


@dataclass(frozen=True, kw_only=True)
class ValidatedJudge(GenerativeModel):
    """``recognised`` of right and of wrong answers, in an earlier study: how many the judge did, and did not."""

    recognised: tuple[tuple[int, int], tuple[int, int]] = ((160, 40), (160, 40))

    def prepare(self, table: Any) -> Data:
        """Arrays of a table, of which ``positives`` is observed."""
        return data(table)

    def numpyro(self, data: Data) -> None:
        """``positives ~ Binomial(n, θ q1 + (1 − θ)(1 − q0))``, with q1 and q0 from the earlier study."""
        import numpyro
        from numpyro import distributions as dist

        q1, q0 = (
            numpyro.sample(name, dist.Beta(1.0 + yes, 1.0 + no))
            for name, (yes, no) in zip(("sensitivity", "specificity"), self.recognised, strict=True)
        )
        with numpyro.plate("system", data.size("system")):
            theta = numpyro.sample("theta", dist.Beta(1.0, 1.0))
            p = theta * q1 + (1 - theta) * (1 - q0)
            numpyro.sample("positives", dist.Binomial(data["n"], p), obs=data.arrays.get("positives"))

    def pymc(self, data: Data) -> Any:
        """The same density."""
        import pymc as pm

        with pm.Model(coords={"system": list(data.coords["system"])}) as model:
            q1, q0 = (
                pm.Beta(name, np.float64(1 + yes), np.float64(1 + no))
                for name, (yes, no) in zip(("sensitivity", "specificity"), self.recognised, strict=True)
            )
            theta = pm.Beta("theta", np.float64(1), np.float64(1), dims="system")
            pm.Binomial("positives", n=data["n"], p=theta * q1 + (1 - theta) * (1 - q0), observed=data["positives"])
        return model

    def quantities(self, posterior: Any, data: Data) -> Quantities:
        """Accuracies and differences, from which rows, P(> 0) and sensitivity to the prior follow."""
        return accuracy_quantities(posterior["theta"], n=data.units)

    @property
    def statistics(self) -> dict[str, Any]:
        """What the predictive check looks at: the share of positive verdicts."""
        return {"verdict rate": _rates}

    def accuracy(self, posterior: Any, data: Data, **_: Any) -> Any:  # noqa: ARG002  # other models need data
        """Draws of each model's accuracy, dims ``chain, draw, system``: what the accuracy question needs."""
        return posterior["theta"]


def _rates(positives: Any, data: Data) -> dict[str, Any]:
    return dict(zip(data.coords["system"], np.moveaxis(positives / data["n"], -1, 0), strict=True))


if __name__ == "__main__":
    log = simulate_verdicts(seed=3, accuracy=(0.72, 0.65), youden=0.6, labelled=0, unlabelled=1000)
    result = fit(ValidatedJudge(), log.verdicts, engine=Nuts(draws=500, tune=500))
    print("gate:", "passed" if result.gate.passed else result.gate.note)
    answer = accuracy(log.verdicts, models=["judge_error", ValidatedJudge()], baselines=["naive"], draws=500, tune=500)
    rows = answer.estimates.where(estimand="accuracy").with_truth(log.truth).frame
    print(rows[["unit", "method", "point", "lower", "upper", "truth"]].round(3).to_string(index=False))
