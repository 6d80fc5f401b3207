"""Headline estimates of many posteriors, and how many of them passed the convergence gate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayesjudge.counts import VerdictCounts
from bayesjudge.estimates import Estimates
from bayesjudge.estimates.posterior import accuracy_quantities, estimates_of
from bayesjudge.inference import Engine, Gate, ManyFits, fit_many

__all__ = ["Posteriors", "sample"]

#: R-hat of an accuracy or difference past which an estimate of this study would be doubted.
MOST_RHAT = 1.01


@dataclass(frozen=True, eq=False, kw_only=True)
class Posteriors:
    """Estimates of each data set, and the gates' verdicts.

    Attributes
    ----------
    estimates : tuple of Estimates
        Accuracies and differences only: judge quality is not what these studies ask for.
    gates : tuple of Gate
        One a data set, over every parameter.
    """

    estimates: tuple[Estimates, ...]
    gates: tuple[Gate, ...]

    def summary(self) -> dict[str, Any]:
        """How many gates failed and why, and how well the headline quantities themselves mixed."""
        figures = {
            name: np.array([gate.figures[name] for gate in self.gates]) for name in ("rhat", "ess", "divergences")
        }
        headline = np.array([one.frame["rhat"].max() for one in self.estimates])
        return {
            "method": self.estimates[0].frame["method"].iloc[0],
            "posteriors": len(self.gates),
            "gate_failed": sum(not gate.passed for gate in self.gates),
            "failed_rhat": int((figures["rhat"] > MOST_RHAT).sum()),
            "failed_ess": int((figures["ess"] < 400).sum()),
            "with_divergences": int((figures["divergences"] > 0).sum()),
            "median_divergences": float(np.median(figures["divergences"])),
            "median_ess": float(np.median(figures["ess"])),
            "headline_rhat_failed": int((headline > MOST_RHAT).sum()),
            "headline_most_rhat": float(headline.max()),
            "headline_least_ess": float(min(one.frame["ess"].min() for one in self.estimates)),
        }


def sample(model: Any, counts: Sequence[VerdictCounts], *, batch: int, seed: int, engine: Engine) -> Posteriors:
    """Posteriors of all data sets by `fit_many`, reduced to estimates of accuracies and differences."""
    fits = fit_many(model, counts, batch=batch, seed=seed, progress=True, engine=engine)
    return Posteriors(
        estimates=tuple(_headline(fits, index) for index in range(len(fits))),
        gates=tuple(fits.gate(index) for index in range(len(fits))),
    )


def _headline(fits: ManyFits, index: int) -> Estimates:
    model: Any = fits.model
    data = fits.data[index]
    theta = model.accuracy(fits.posterior(index), data)
    return estimates_of(accuracy_quantities(theta, n=data.units), method=model.label, prob=0.95)
