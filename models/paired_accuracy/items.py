"""The likelihood of `paired_accuracy` for many models, in JAX: answers and verdicts independent given u.

Without clusters, log P(pattern | u) is a matrix product of the patterns' one-hot cells with a table over
cells and quadrature nodes. With clusters u differs between patterns, and the cells of each pattern are
worked out directly.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpyro
from jax.scipy.special import logsumexp
from numpyro import distributions as dist

from bayesjudge.model import Data
from bayesjudge.models.common.verdict_runs import gauss_hermite, jax_runs_log_prob
from bayesjudge.models.paired_accuracy.likelihood import (
    Cells,
    Channel,
    every_cell,
    label_mask,
    observed_cells,
    says_yes,
)

__all__ = ["ItemEffect", "Items", "numpyro_item_effect"]


class ItemEffect(NamedTuple):
    """``u = between_c + within_q`` in cluster c at node q: (clusters,), (nodes,), and log weights."""

    between: Any
    within: Any
    log_w: Any


def numpyro_item_effect(clusters: int) -> ItemEffect:
    """In clusters ``u = √r c + √(1−r) e``: the cluster's part is sampled, the item's own integrated."""
    nodes, log_w = map(jnp.asarray, gauss_hermite(21))
    if not clusters:
        return ItemEffect(jnp.zeros(1), nodes, log_w)
    share = numpyro.sample("cluster_share", dist.Uniform(0.0, 1.0))
    with numpyro.plate("cluster", clusters, dim=-1):
        part = numpyro.sample("cluster_effect", dist.Normal(0.0, 1.0))
    return ItemEffect(jnp.sqrt(share) * part, jnp.sqrt(1 - share) * nodes, log_w)


class Items(NamedTuple):
    """Everything that patterns depend on.

    Intercepts (M,), the spread of items in logits, u, the verdict channel at u = 0, and how much more
    the judge says 1 as u grows, (2,), for wrong answers first.
    """

    alpha: Any
    spread: Any
    effect: ItemEffect
    channel: Channel
    leniency: Any

    def log_prob(self, data: Data, *, enriched: bool) -> Any:
        """Log probability of every observed pattern, given its labels where those were chosen."""
        cells = observed_cells(data) if data.facts["clusters"] else every_cell(data)
        joint = self._integrate(self._outcomes(cells, data), data)
        return joint - self._integrate(self._labels(cells), data) if enriched else joint

    def table(self, data: Data) -> Any:
        """Log P(cell | u) of every model in every cluster, (clusters, M, K, nodes)."""
        return self._outcomes(every_cell(data), data)

    def log_nodes(self, data: Data, *, enriched: bool) -> Any:
        """Log weights of the nodes for each template, given its labels where those were chosen."""
        cluster, kind = data["template_cluster"], data["template_kind"]
        if not enriched:
            return jnp.broadcast_to(self.effect.log_w, (cluster.shape[0], self.effect.log_w.shape[0]))
        first_cell = jnp.argmax(data["cell_kind"] == kind[:, :, None], axis=-1)
        of_label = self._labels(every_cell(data))[cluster[:, None], jnp.arange(kind.shape[1]), first_cell]
        return self.effect.log_w + of_label.sum(1)

    def _u(self, cells: Cells) -> Any:
        """Item effect at the nodes, (places, 1, 1, nodes)."""
        return self.effect.between[cells.cluster][:, None, None, None] + self.effect.within

    def _logit(self, cells: Cells) -> Any:
        """Logit of P(y = 1 | u), (places, M, 1, nodes)."""
        return self.alpha[:, None, None] + self.spread * self._u(cells)

    def _log_verdicts(self, cells: Cells, data: Data) -> Any:
        """Log P(verdicts | y, u), (2, places, M, cells, nodes); minus infinity where the label is not y."""
        logit = says_yes(self.channel, cells)[..., None, None]
        logit = logit + self.leniency[:, None, None, None, None] * self._u(cells)
        runs = jax_runs_log_prob(logit, self.channel.rho, cells.runs[..., None], cells.positives[..., None],
                                 data.facts["most_runs"])  # fmt: skip
        return runs + (cells.log_ways + label_mask(cells.label))[..., None]

    def label_given_cells(self, data: Data) -> tuple[Any, Any]:
        """Of observed patterns: log P(node of u | pattern), (R, nodes), P(y = 1 | cell, u), (R, M, nodes)."""
        if data.facts["clusters"]:
            log_p, right = (part[:, :, 0] for part in self._outcomes_and_labels(observed_cells(data), data))
        else:
            parts, of = self._outcomes_and_labels(every_cell(data), data), jnp.arange(data["cell"].shape[1])
            log_p, right = (part[0, of, data["cell"]] for part in parts)
        return jax.nn.log_softmax(log_p.sum(1) + self.effect.log_w, axis=-1), right

    def _outcomes(self, cells: Cells, data: Data) -> Any:
        """Log P(cell | u), (places, M, cells, nodes)."""
        return self._outcomes_and_labels(cells, data)[0]

    def _outcomes_and_labels(self, cells: Cells, data: Data) -> tuple[Any, Any]:
        """Log P(cell | u) and P(y = 1 | cell, u), each (places, M, cells, nodes).

        The sum over y is one of probabilities, scaled so that the likelier verdicts count 1: it takes
        fewer transcendental functions than a sum of logs.
        """
        log_v, logit = self._log_verdicts(cells, data), self._logit(cells)
        top = log_v.max(0)
        wrong, right = jnp.exp(log_v - top) * jax.nn.sigmoid(jnp.stack([-logit, logit]))
        # Past logits of 690 p underflows; a floor keeps 0 times minus infinity out of the matrix product.
        p = jnp.maximum(wrong + right, 1e-300)
        return jnp.log(p) + top, right / p

    def _labels(self, cells: Cells) -> Any:
        """Log P(label of the cell | u), 0 without a label, (places, M, cells, nodes)."""
        label, logit = cells.label[..., None], self._logit(cells)
        return jnp.where(label < 0, 0.0, jax.nn.log_sigmoid(jnp.where(label == 1, logit, -logit)))

    def _integrate(self, table: Any, data: Data) -> Any:
        if data.facts["clusters"]:
            given_u = table[:, :, 0].sum(1)
        else:
            design = data["design"]
            given_u = design.reshape(design.shape[0], -1) @ table[0].reshape(-1, table.shape[-1])
        return logsumexp(given_u + self.effect.log_w, axis=-1)
