"""The posteriors of one judge: those that answer the question, and those they are compared with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from bayesjudge.counts import VerdictCounts
from bayesjudge.inference import Fit, fit
from bayesjudge.studies.accuracy.options import POOLINGS, AccuracyOptions

__all__ = ["JudgeFits", "fit_judge"]

#: Draws of each chain for a posterior that is only compared: leave-one-out looks at no more than 250.
COMPARED_DRAWS = 500


@dataclass(frozen=True, eq=False, kw_only=True)
class JudgeFits:
    """Fits of one judge, by the method name of their model.

    Attributes
    ----------
    judge : str
        Whose verdicts.
    headline : mapping of str to Fit
        `judge_error`, and with two models or more `paired_accuracy`: the answer rests on these.
    alternatives : mapping of str to Fit
        `judge_error` with the other poolings: only compared with the headline, never reported.
    """

    judge: str
    headline: Mapping[str, Fit]
    alternatives: Mapping[str, Fit] = field(default_factory=dict)

    @property
    def accuracies(self) -> Fit:
        """The fit of `judge_error`."""
        return next(iter(self.headline.values()))

    @property
    def ranked(self) -> Fit:
        """The fit that ranks the models: the paired one where there is one."""
        return list(self.headline.values())[-1]

    @property
    def poolings(self) -> Mapping[str, Fit]:
        """Every pooling of `judge_error` that was fitted."""
        return {self.accuracies.model.label: self.accuracies, **self.alternatives}

    @property
    def everything(self) -> Mapping[str, Fit]:
        """Headline fits, then alternatives."""
        return {**self.headline, **self.alternatives}


def fit_judge(counts: VerdictCounts, options: AccuracyOptions, *, compared: bool) -> JudgeFits:
    """Fit every posterior that one judge's part of the answer needs.

    Parameters
    ----------
    counts : VerdictCounts
        Of one judge alone.
    options : AccuracyOptions
        Checked options.
    compared : bool
        Also fit the other poolings, where there are two models or more to pool over.
    """
    models: list[Any] = [options.judge_error()]
    others: list[Any] = []
    if len(counts.models) > 1:
        # With clusters its density costs minutes a fit; `warnings_of` tells where differences come from then.
        models += [] if counts.clusters else [options.paired_accuracy()]
        others += [options.judge_error(name) for name in POOLINGS if compared and name != options.pooling]
    short = {name: min(options.sampling[name], COMPARED_DRAWS) for name in ("draws", "tune")}
    return JudgeFits(
        judge=counts.judges[0],
        headline={model.label: fit(model, counts, **options.sampling) for model in models},
        alternatives={model.label: fit(model, counts, **{**options.sampling, **short}) for model in others},
    )
