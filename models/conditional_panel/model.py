"""`conditional_panel`: judges who err independently given the label (Dawid & Skene 1979, with some labels).

For model m's answer with label y, and judge j's verdicts v::

    θ_m ~ Beta(1, 1)                              accuracy of model m
    q1_jm, q0_jm                                  the verdict channel, pooled over models (verdict_channel.py)
    labelled answer    P(y, v) = P(y) Π_j P(v_j | y)
    unlabelled answer  P(v)    = Σ_y P(y, v)

It is here as a warning. Real judges err on the same answers, and every answer on which they err together
counts as so many independent witnesses: with nine judges the posterior is sure of what the votes cannot know.
Its predictive checks say so (co-errors of two judges on labelled answers); `judge_panel` is the model to use.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from bayesjudge.counts.panel import PanelVotes, panel_votes
from bayesjudge.errors import require_choice
from bayesjudge.estimates.posterior import Quantities, accuracy_quantities
from bayesjudge.model import Data, GenerativeModel, Statistic
from bayesjudge.models.common.verdict_channel import (
    FLAT,
    Pooling,
    channel_quality,
    channel_slots,
    numpyro_channel,
    pymc_channel,
    quality_quantities,
)
from bayesjudge.models.conditional_panel import statistics
from bayesjudge.priors import Slot
from bayesjudge.tables import Verdicts

if TYPE_CHECKING:
    import xarray as xr


_CAUTION = "assumes that judges err independently given the label: see the check of co-errors"


@dataclass(frozen=True, kw_only=True)
class ConditionalPanel(GenerativeModel):
    """Accuracy from many judges who err independently given the label: for comparison, not for use.

    Parameters
    ----------
    pooling : {"partial", "shared", "specific"}
        Whether a judge errs alike on all models, as in `JudgeError`.

    Examples
    --------
    >>> ConditionalPanel(pooling="shared").label
    'bayes:conditional_panel[shared]'
    """

    pooling: Pooling = "partial"

    exchangeable = ("z_sensitivity", "z_specificity")

    def __post_init__(self) -> None:
        require_choice("pooling", self.pooling, get_args(Pooling))

    @property
    def priors(self) -> Mapping[str, Slot]:
        """Of accuracies and of the verdict channel."""
        return {"accuracy": FLAT, **channel_slots(self.pooling)}

    @property
    def options(self) -> tuple[str, ...]:
        """In the label: the pooling."""
        return (self.pooling,)

    def prepare(self, table: Verdicts | PanelVotes) -> Data:
        """One row an answer: its label, 0 where it has none, then each judge's verdicts of 1."""
        votes = table if isinstance(table, PanelVotes) else panel_votes(table)
        item, model = np.nonzero(votes.answered)
        known, runs = (votes.annotations > 0)[item, model], votes.runs[item, model]
        positives = np.rint(np.nan_to_num(votes.votes[item, model]) * runs).astype(np.int64)
        label = np.where(known, np.nan_to_num(votes.label[item, model]) > 0.5, 0).astype(np.int64)
        arrays = {
            "response": np.column_stack([label, positives]),
            "runs": runs,
            "model_of": model,
            "known": known.astype(np.int64),
            "real": np.ones(len(item), np.int64),
        }
        answered = votes.answered.sum(axis=0)
        return Data(
            arrays=arrays,
            observed="response",
            ragged=("answer",),
            dims={
                "response": ("answer", "entry"),
                "runs": ("answer", "judge"),
                **dict.fromkeys(("model_of", "known", "real"), ("answer",)),
            },
            coords={
                "answer": tuple(f"{votes.items[i]} | {votes.models[m]}" for i, m in zip(item, model, strict=True)),
                "entry": ("label", *votes.judges),
                "system": votes.models,
                "judge": votes.judges,
            },
            facts={"most_runs": int(runs.max())},
            units={name: int(n) for name, n in zip(votes.models, answered, strict=True)}
            | {
                f"{a} − {b}": int((votes.answered[:, i] & votes.answered[:, k]).sum())
                for i, a in enumerate(votes.models)
                for k, b in enumerate(votes.models)
                if i < k
            },
        )

    def numpyro(self, data: Data) -> None:
        """The generative model in NumPyro."""
        import numpyro

        from bayesjudge.models.conditional_panel.likelihood import PanelResponses

        models, prior = len(data.coords["system"]), self.in_use(data)
        with numpyro.plate("system", models, dim=-1):
            theta = numpyro.sample("theta", prior.numpyro("accuracy"))
        logits = numpyro_channel(self.pooling, prior, data.size("judge"), models, "system")
        with numpyro.plate("answer", data.size("answer"), dim=-1):
            numpyro.sample(
                "response",
                PanelResponses(theta, *logits, data),
                obs=data.arrays.get("response"),
                infer={"event_dims": ("entry",)},
            )

    def pymc(self, data: Data) -> Any:
        """The same model in PyMC."""
        import pymc as pm
        import pytensor.tensor as pt

        with pm.Model(coords={name: list(data.coords[name]) for name in ("judge", "system")}) as twin:
            prior = self.in_use(data)
            theta = prior.pymc("theta", "accuracy", dims="system")
            logit_1, logit_0 = pymc_channel(self.pooling, prior, "system")
            of, yes = data["model_of"], data["response"][:, 1:].astype(float)
            no = data["runs"].astype(float) - yes
            joint = []
            for log_y, logit in ((pt.log1p(-theta), -logit_0), (pt.log(theta), logit_1)):
                says = logit.T[of]
                joint.append(log_y[of] - (yes * pt.softplus(-says) + no * pt.softplus(says)).sum(axis=1))
            right = pt.switch(data["response"][:, 0] == 1, joint[1], joint[0])
            total = pt.switch(data["known"] == 1, right, pt.logaddexp(*joint))
            pm.Potential("response", total * data["real"].astype(float))
        return twin

    def quantities(self, posterior: xr.Dataset, data: Data) -> Quantities:
        """Accuracies, differences and each judge's quality; every row carries the caution."""
        says: dict[str, Any] = {"n": data.units, "note": _CAUTION}
        quality = channel_quality(posterior, data, "system")
        return accuracy_quantities(posterior["theta"], quality=quality_quantities(quality, **says), **says)

    @property
    def statistics(self) -> Mapping[str, Statistic]:
        """Verdict rates, agreement of judges, and their co-errors on labelled answers."""
        return statistics.STATISTICS
