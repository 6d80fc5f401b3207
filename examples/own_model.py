"""A model of your own, with everything the built-in ones get: ``python examples/own_model.py``.

The judge was validated elsewhere: of so many right and wrong answers that it saw, it recognised so many. That
study gives Beta posteriors of sensitivity and specificity, which are the priors here, and no item needs a
label of its own. `GenerativeModel` adds rows, checks and calibration to what is written here. With a method
``accuracy`` the model answers the accuracy question next to ``judge_error``, and so does a `Baseline` of your
own. To offer them by name, register them under the entry point groups ``bayesjudge.models`` and
``bayesjudge.baselines``.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayesjudge import Estimates, Nuts, accuracy, count_verdicts, fit
from bayesjudge.baseline import Baseline
from bayesjudge.checks import predictive_check
from bayesjudge.counts import VerdictCounts
from bayesjudge.datasets import simulate_verdicts
from bayesjudge.estimates.posterior import Quantities, accuracy_quantities
from bayesjudge.model import Data, GenerativeModel
from bayesjudge.options import AccuracyOptions
from bayesjudge.simulation import coverage, prior_cell


@dataclass(frozen=True, kw_only=True)
class ValidatedJudge(GenerativeModel):
    """``positives_m ~ Binomial(total_m, θ_m q1 + (1−θ_m)(1−q0))``, with q1 and q0 from an earlier study.

    Parameters
    ----------
    recognised_right, recognised_wrong : (int, int)
        Of the right (wrong) answers of the earlier study: how many the judge recognised, and how many not.
    """

    recognised_right: tuple[int, int] = (160, 40)
    recognised_wrong: tuple[int, int] = (160, 40)

    def prepare(self, table: Any) -> Data:
        """Verdicts and how many of them are positive, for each model."""
        counts = table if isinstance(table, VerdictCounts) else count_verdicts(table)
        answers, size = counts.answers, len(counts.models)
        total = np.bincount(answers.model, weights=answers.n * answers.runs[:, 0], minlength=size)
        positives = np.bincount(answers.model, weights=answers.n * answers.positives[:, 0], minlength=size)
        arrays = {"total": total.astype(np.int64), "positives": positives.astype(np.int64)}
        units = dict(zip(counts.models, total.astype(int).tolist(), strict=True))
        return Data(
            arrays=arrays,
            dims=dict.fromkeys(arrays, ("system",)),
            coords={"system": counts.models},
            observed="positives",
            units=units,
        )

    def numpyro(self, data: Data) -> None:
        """The generative model."""
        import numpyro
        from numpyro import distributions as dist

        q1 = numpyro.sample("sensitivity", dist.Beta(*(1.0 + n for n in self.recognised_right)))
        q0 = numpyro.sample("specificity", dist.Beta(*(1.0 + n for n in self.recognised_wrong)))
        with numpyro.plate("system", data.size("system")):
            theta = numpyro.sample("theta", dist.Beta(1.0, 1.0))
            p = theta * q1 + (1 - theta) * (1 - q0)
            numpyro.sample("positives", dist.Binomial(data["total"], p), obs=data.arrays.get("positives"))

    def pymc(self, data: Data) -> Any:
        """The same density; only ``engine="pymc"`` asks for it."""
        import pymc as pm

        with pm.Model(coords={"system": list(data.coords["system"])}) as model:
            q1 = pm.Beta("sensitivity", *(np.float64(1 + n) for n in self.recognised_right))
            q0 = pm.Beta("specificity", *(np.float64(1 + n) for n in self.recognised_wrong))
            theta = pm.Beta("theta", np.float64(1), np.float64(1), dims="system")
            p = theta * q1 + (1 - theta) * (1 - q0)
            pm.Binomial("positives", n=data["total"], p=p, observed=data["positives"], dims="system")
        return model

    def quantities(self, posterior: Any, data: Data) -> Quantities:
        """Accuracies and differences, from which rows, P(> 0) and sensitivity to the prior follow."""
        return accuracy_quantities(posterior["theta"], n=data.units)

    @property
    def statistics(self) -> dict[str, Any]:
        """What the predictive check looks at."""
        return {"verdict rate": _verdict_rate}

    def accuracy(self, posterior: Any, data: Data, **_: Any) -> Any:  # noqa: ARG002  # other models need data
        """Draws of each model's accuracy, dims ``chain, draw, system``: what the accuracy question needs."""
        return posterior["theta"]

    def bootstrap(self, data: Data, *, replicates: int, seed: int) -> Any:
        """Resampled verdicts, for the predictive check to put beside the model's own replicates."""
        rate = data["positives"] / data["total"]
        return np.random.default_rng(seed).binomial(data["total"], rate, size=(replicates, len(rate)))


def _verdict_rate(positives: Any, data: Data) -> dict[str, Any]:
    """Share of verdicts that are positive, for observed or replicated positives (..., models)."""
    rates = np.moveaxis(positives / data["total"], -1, 0)
    return dict(zip(data.coords["system"], rates, strict=True))


def prior_mean(counts: VerdictCounts, *, options: AccuracyOptions) -> Estimates:
    """A baseline that ignores the data: every accuracy is ½, with the interval of a uniform distribution."""
    tail = (1 - options.prob) / 2
    fixed = {"estimand": "accuracy", "method": "prior", "prob": options.prob, "point": 0.5}
    return Estimates.from_rows([{**fixed, "unit": model, "lower": tail, "upper": 1 - tail} for model in counts.models])


def main() -> None:
    """Fit the model, then print its estimates, gate, place in the accuracy question, check and coverage."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--draws", type=int, default=1000)
    given = options.parse_args()
    log = simulate_verdicts(seed=3, accuracy=(0.72, 0.65), youden=0.6, labelled=0, unlabelled=1000)
    model = ValidatedJudge()
    result = fit(model, log.verdicts, engine=Nuts(draws=given.draws, tune=given.draws), progress=True)
    table = result.estimates().with_truth(log.truth).frame
    print(table[["estimand", "unit", "point", "lower", "upper", "truth", "ess"]].round(3).to_string(index=False))
    print("gate:", "passed" if result.gate.passed else result.gate.note)
    answer = accuracy(
        log.verdicts,
        models=["judge_error", model],
        baselines=["naive", Baseline(name="prior", question="accuracy", estimates=prior_mean)],
        draws=given.draws,
        tune=given.draws,
    )
    rows = answer.estimates.where(estimand="accuracy").with_truth(log.truth).frame
    print(rows[["unit", "method", "point", "lower", "upper", "truth"]].round(3).to_string(index=False))
    check = predictive_check(result)
    print(check.frame.drop(columns="note").round(3).to_string(index=False))
    print(check.summary)
    # Truths from the prior, data given them: intervals must hold 95 % of them. A proof takes more than 40.
    worlds = prior_cell(model, model.prepare(log.verdicts))
    covered = coverage([worlds], models=[model], datasets=40, engine="laplace")
    shown = ["estimand", "n", "coverage", "coverage_lower", "coverage_upper"]
    print(covered.frame[shown].round(3).to_string(index=False))


if __name__ == "__main__":
    main()
