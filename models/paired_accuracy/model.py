"""`paired_accuracy`: two models or more compared on the same items, under a judge with errors.

Models that answered the same items are right and wrong together more often than chance has it, and a
comparison that keeps the pairing is the sharper for it (METHODS 1.9). For item i, models a, b or m::

    two models     (y_ia, y_ib) ~ Categorical(π),  π ~ Dirichlet(1, 1, 1, 1);  Δ = π10 − π01
    many models    P(y_im = 1) = σ(α_m + s u_i),   u_i ~ N(0, 1),  θ_m = E_u σ(α_m + s u)
    verdicts       by the verdict channel of each model (verdict_channel.py): independent given the labels,
                   with many models given labels and u, where logit P(v = 1 | y, u) moves by λ_y u

π is three sticks broken off one after the other, ``π11 ~ Beta(1, 3)``, ``π10/(1−π11) ~ Beta(1, 2)`` and
``π01/(1−π11−π10) ~ Beta(1, 1)``: the same Dirichlet, and one unconstrained space for NumPyro and PyMC.
``α_m ~ Logistic(0, 1)`` makes θ_m flat where s = 0. ``s ~ HalfNormal(2)`` spans items that tell models apart
not at all and items that are nearly all easy or hopeless; it is common to the models, because few
labelled items cannot tell their discriminations apart. ``λ_y ~ N(0, 1)``: a judge reads one item in one way
for all models, so its errors on them correlate; without λ that correlation is taken for one of the
labels, and verdicts on other models make a wrong answer look right (measured, see the card). u is
integrated by Gauss–Hermite with 21 nodes.
Items in clusters take the second form for any number of models, with ``u = √r c + √(1−r) e``, ``r ~ U(0, 1)``
and c shared by a cluster, which also makes the judge more or less lenient.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from bayesjudge.counts import VerdictCounts, count_verdicts
from bayesjudge.errors import UsageError
from bayesjudge.estimates import Estimates, Population
from bayesjudge.model import Data, Statistic
from bayesjudge.models.common.verdict_channel import (
    ChannelPrior,
    Labels,
    Pooling,
    check_channel,
    numpyro_channel,
    numpyro_leniency,
    numpyro_run_correlation,
)
from bayesjudge.models.paired_accuracy import data as paired_accuracy_data
from bayesjudge.models.paired_accuracy import results

if TYPE_CHECKING:
    import xarray as xr

    from bayesjudge.models.paired_accuracy.likelihood import Channel, Items
    from bayesjudge.tables import Verdicts

__all__ = ["PairedAccuracy"]


@dataclass(frozen=True, kw_only=True)
class PairedAccuracy:
    """Accuracies and differences of models that answered the same items, from one judge.

    Parameters
    ----------
    pooling : {"partial", "shared", "specific"}
        How alike the judge's errors on different models are, as in `JudgeError`.
    labels : {"random", "enriched"}
        Whether labelled items are a random sample (random), or were chosen by their labels (enriched): then
        the likelihood is conditional on the labels, which inform sensitivity and specificity only.
    channel : ChannelPrior
        Hyper-parameters of the verdict channel.
    item_spread : float
        Prior scale of s, the standard deviation of items in logits (many models).
    item_leniency : float
        Prior scale of λ, by how many logits the judge is readier to say 1 as u grows by 1 (many models).

    Examples
    --------
    >>> PairedAccuracy(labels="enriched").label
    'bayes:paired_accuracy[partial,enriched]'
    """

    pooling: Pooling = "partial"
    labels: Labels = "random"
    channel: ChannelPrior = field(default_factory=ChannelPrior)
    item_spread: float = 2.0
    item_leniency: float = 1.0

    def __post_init__(self) -> None:
        check_channel(self.pooling, self.labels)
        for name in ("item_spread", "item_leniency"):
            if not getattr(self, name) > 0:
                raise UsageError(f"{name} must be above 0, got {getattr(self, name)}")

    @property
    def name(self) -> str:
        """Registered name."""
        return "paired_accuracy"

    @property
    def label(self) -> str:
        """Method name in tables: the pooling, then whatever differs from the defaults."""
        return f"bayes:paired_accuracy[{self.pooling}{',enriched' if self.labels == 'enriched' else ''}]"

    def prepare(self, table: Verdicts | VerdictCounts) -> Data:
        """Patterns over models of each item, for the one judge of the table."""
        counts = table if isinstance(table, VerdictCounts) else count_verdicts(table)
        return paired_accuracy_data.prepare(counts, labels=self.labels)

    def numpyro(self, data: Data) -> None:
        """The generative model in NumPyro."""
        import numpyro

        seen = self._two_models if data.facts["form"] == "two models" else self._many_models
        distribution = seen(data)
        with numpyro.plate("pattern", data.size("pattern"), dim=-1):
            numpyro.sample("n", distribution, obs=data.arrays.get("n"))

    def _two_models(self, data: Data) -> Any:
        from bayesjudge.models.common.pattern_counts import PatternCounts
        from bayesjudge.models.paired_accuracy.likelihood import two_model_log_prob

        channel, log_pi = self._pair(data)
        log_p = two_model_log_prob(log_pi, channel, data, enriched=self.labels == "enriched")
        return PatternCounts(log_p, data["stratum"], data["total"])

    def _many_models(self, data: Data) -> Any:
        from bayesjudge.models.paired_accuracy.likelihood import ItemCounts, ItemSampler

        items, enriched = self._items(data), self.labels == "enriched"
        redraw = ItemSampler(
            table=items.table(data), log_nodes=items.log_nodes(data, enriched=enriched), data=data
        )
        return ItemCounts(items.log_prob(data, enriched=enriched), data.facts["margins"], redraw)

    def _verdict_channel(self, data: Data) -> Channel:
        from bayesjudge.models.paired_accuracy.likelihood import Channel

        models, most_runs, clusters = data.size("model"), data.facts["most_runs"], data.facts["clusters"]
        logit_1, logit_0 = numpyro_channel(self.pooling, self.channel, 1, models, "model")
        return Channel(logit_1, logit_0, numpyro_run_correlation(1, most_runs), numpyro_leniency(clusters))

    def _pair(self, data: Data) -> tuple[Channel, Any]:
        """Two models: the verdict channel, and log P(y_a, y_b)."""
        import jax.numpy as jnp
        import numpyro
        from numpyro import distributions as dist

        from bayesjudge.models.paired_accuracy.likelihood import log_joint_cells

        channel = self._verdict_channel(data)
        with numpyro.plate("step", 3, dim=-1):
            stick = numpyro.sample("stick", dist.Beta(*map(jnp.array, paired_accuracy_data.STICKS)))
        return channel, log_joint_cells(stick)

    def _items(self, data: Data) -> Items:
        """Many models: what answers and verdicts depend on."""
        import numpyro
        from numpyro import distributions as dist

        from bayesjudge.models.paired_accuracy.likelihood import Items, numpyro_item_effect

        channel = self._verdict_channel(data)
        with numpyro.plate("model", data.size("model"), dim=-1):
            alpha = numpyro.sample("alpha", dist.Logistic(0.0, 1.0))
        spread = numpyro.sample("item_spread", dist.HalfNormal(self.item_spread))
        with numpyro.plate("label", 2, dim=-1):
            leniency = numpyro.sample("item_leniency", dist.Normal(0.0, self.item_leniency))
        return Items(alpha, spread, numpyro_item_effect(data.facts["clusters"]), channel, leniency)

    def pymc(self, data: Data) -> Any:
        """The same model in PyMC."""
        from bayesjudge.models.paired_accuracy import pymc as paired_accuracy_twin

        return paired_accuracy_twin.build(self, data)

    def estimates(
        self, posterior: xr.Dataset, data: Data, *, prob: float = 0.95,
        population: Population = "superpopulation",
    ) -> Estimates:  # fmt: skip
        """Accuracies, paired differences and judge quality, with equal-tailed intervals."""
        theta = self.accuracy(posterior, data, population=population)
        return results.estimates(theta, posterior, data, prob=prob, method=self.label, population=population)

    @property
    def exchangeable(self) -> tuple[str, ...]:
        """Effects of units and clusters: part of the model, not prior guesses about one number."""
        return ("z_sensitivity", "z_specificity", "cluster_effect", "leniency")

    def accuracy(
        self, posterior: xr.Dataset, data: Data, *, population: Population = "superpopulation", seed: int = 0
    ) -> xr.DataArray:
        """Draws of each model's accuracy, dims ``chain, draw, model``, for P(best) and P(rank)."""
        if population == "superpopulation":
            return results.accuracy(posterior, data)
        if data.facts["form"] == "two models":
            return results.of_two_models(lambda: self._pair(data), posterior, data, seed=seed)
        return results.of_items(lambda: self._items(data), posterior, data, seed=seed)

    def quantities(self, posterior: xr.Dataset, data: Data) -> dict[str, xr.DataArray]:
        """Draws whose sensitivity to the prior is checked: accuracies, differences, Youden's J."""
        return results.quantities(posterior, data)

    @property
    def statistics(self) -> Mapping[str, Statistic]:
        """Verdict rates, the 2x2 table of every pair of models, and labelled cells."""
        return results.STATISTICS

    def bootstrap(self, data: Data, *, replicates: int, seed: int) -> Any | None:
        """Resampled items for predictive checks; None where all outcomes are listed as counts in strata."""
        return results.bootstrap(data, replicates=replicates, seed=seed) if data.facts["margins"] else None

    def simulate(self, key: Any, data: Data) -> Mapping[str, Any]:
        """One draw from the prior, parameters and counts."""
        from bayesjudge.models.common.pattern_counts import simulate

        return simulate(self, key, data)
