"""The verdict channel of `paired_accuracy` on single answers, and the likelihood of two models, in JAX.

One model's answer shows one of few cells (label, runs, verdicts of 1). Its probability is worked out
once for each cell, and patterns of two models look theirs up.

Without clusters, log P(pattern | u) is a matrix product of the patterns' one-hot cells with a table over
cells and quadrature nodes. With clusters u differs between patterns, and the cells of each pattern are
worked out directly.

A value is (P + R,): the margins of the items, then how many items show each of the R observed patterns.
Only the patterns carry density, ``n_r log p_r``. A replicate draws u, labels and verdicts of every item
anew; its margins are complete, and its patterns count the items that show one of those observed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
from jax.scipy.special import logsumexp
from numpyro import distributions as dist
from numpyro.distributions import constraints
from numpyro.util import is_prng_key

from bayesjudge.model import Data
from bayesjudge.models.common.verdict_channel import gauss_hermite, jax_runs_log_prob
from bayesjudge.models.paired_accuracy.results import answer_features, summed_margins

__all__ = [
    "Cells",
    "Channel",
    "ItemCounts",
    "ItemEffect",
    "ItemSampler",
    "Items",
    "every_cell",
    "label_mask",
    "log_joint_cells",
    "log_verdicts",
    "numpyro_item_effect",
    "observed_cells",
    "says_yes",
    "two_model_log_prob",
]

_COLUMNS = ("cell_label", "cell_runs", "cell_positives", "cell_log_ways")


class Channel(NamedTuple):
    """Logits of sensitivity and specificity (1, M), ρ (1,) or 0, and each cluster's leniency (clusters,)."""

    logit_1: Any
    logit_0: Any
    rho: Any
    leniency: Any


class Cells(NamedTuple):
    """Cells whose probability is wanted: each place's cluster, then arrays (places or 1, M or 1, cells)."""

    cluster: Any
    label: Any
    runs: Any
    positives: Any
    log_ways: Any


def every_cell(data: Data) -> Cells:
    """All cells for every model; a place is a cluster."""
    return Cells(jnp.arange(max(data.facts["clusters"], 1)), *(data[name][None, None] for name in _COLUMNS))


def observed_cells(data: Data) -> Cells:
    """The one cell that each model shows; a place is an observed pattern."""
    return Cells(data["cluster_of"], *(data[name][data["cell"]][..., None] for name in _COLUMNS))


def log_verdicts(channel: Channel, cells: Cells, most_runs: int) -> Any:
    """Log P(verdicts | y), (2, places, M, cells), y = 0 first; minus infinity where the label is not y."""
    runs = jax_runs_log_prob(
        says_yes(channel, cells)[..., None], channel.rho, cells.runs, cells.positives, most_runs
    )
    return runs + cells.log_ways + label_mask(cells.label)


def says_yes(channel: Channel, cells: Cells) -> Any:
    """Logit of P(v = 1 | y), (2, places, M), y = 0 first."""
    lenient = channel.leniency[cells.cluster][:, None]
    return jnp.stack([lenient - channel.logit_0, lenient + channel.logit_1])


def label_mask(label: Any) -> Any:
    """0 where a label allows y, minus infinity where it does not, (2, ...), y = 0 first."""
    return jnp.where(jnp.stack([label == 1, label == 0]), -jnp.inf, 0.0)


def log_joint_cells(stick: Any) -> Any:
    """Log P(y_a, y_b), [y_a, y_b], from the sticks broken off for both, only the first, only the second."""
    kept, left = jnp.log(stick), jnp.cumsum(jnp.log1p(-stick))
    return jnp.array([[left[2], left[1] + kept[2]], [left[0] + kept[1], kept[0]]])


def two_model_log_prob(log_pi: Any, channel: Channel, data: Data, *, enriched: bool) -> Any:
    """Log probability of every pattern of two models, given its labels where those were chosen."""
    log_v = log_verdicts(channel, every_cell(data), data.facts["most_runs"])[:, 0]
    first, second = data["cell"].T
    joint = _over_labels(log_pi, log_v[:, 0, first], log_v[:, 1, second])
    if not enriched:
        return joint
    mask = label_mask(data["cell_label"])
    return joint - _over_labels(log_pi, mask[:, first], mask[:, second])


def _over_labels(log_pi: Any, first: Any, second: Any) -> Any:
    return logsumexp(log_pi[:, :, None] + first[:, None] + second[None, :], axis=(0, 1))


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


#: Items drawn together; bounds the memory of a replicate.
_CHUNK = 256


class ItemCounts(dist.Distribution):  # type: ignore[misc]
    """Multinomial counts without their coefficient, over more patterns than can be listed.

    Parameters
    ----------
    log_p : array (R,)
        Log probability of each observed pattern.
    margins : int
        P, how many margins stand in front.
    sampler : ItemSampler
        Draws the items of a replicate.
    """

    arg_constraints: dict[str, Any] = {}  # noqa: RUF012 - the name and type NumPyro asks for
    support = constraints.nonnegative_integer

    def __init__(self, log_p: Any, margins: int, sampler: ItemSampler) -> None:
        self.log_p, self.margins, self.sampler = log_p, margins, sampler
        super().__init__(batch_shape=(margins + jnp.shape(log_p)[0],), event_shape=())

    def log_prob(self, value: Any) -> Any:
        """``n_r log p_r`` for each pattern, 0 for the margins."""
        return jnp.concatenate([jnp.zeros(self.margins), value[self.margins :] * self.log_p])

    def sample(self, key: Any, sample_shape: tuple[int, ...] = ()) -> Any:
        """Margins and pattern counts of newly drawn items."""
        assert is_prng_key(key)  # noqa: S101 - the check every NumPyro distribution makes
        keys = jax.random.split(key, int(np.prod(sample_shape)))
        drawn = jax.vmap(self.sampler.replicate)(keys)
        return drawn.reshape((*sample_shape, drawn.shape[-1]))


@dataclass(frozen=True, eq=False, kw_only=True)
class ItemSampler:
    """Draws whole items: the node of u, then each model's cell given its kind.

    Attributes
    ----------
    table : array (clusters, M, K, nodes)
        Log probability of each cell given u.
    log_nodes : array (templates, nodes)
        Log weights of the nodes for each template.
    data : Data
        Cells, kinds, templates and the observed patterns.
    """

    table: Any
    log_nodes: Any
    data: Data

    def replicate(self, key: Any) -> Any:
        """One replicate, (P + R,)."""
        template = self.data["item_template"]
        chunks = -(-template.shape[0] // _CHUNK)
        filled = jnp.pad(template, (0, chunks * _CHUNK - template.shape[0])).reshape(chunks, _CHUNK)
        codes = jnp.sort(self._hash(self.data["cell"], self.data["cluster_of"]))
        order = jnp.argsort(self._hash(self.data["cell"], self.data["cluster_of"]))

        def step(total: Any, job: tuple[Any, Any]) -> tuple[Any, None]:
            margins, hashes = self._chunk(*job)
            place = jnp.clip(jnp.searchsorted(codes, hashes), 0, codes.shape[0] - 1)
            hit = (codes[place] == hashes).astype(total.dtype)
            return total + jnp.concatenate([margins, jnp.zeros(codes.shape).at[order[place]].add(hit)]), None

        size = self.data.facts["margins"] + codes.shape[0]
        return jax.lax.scan(step, jnp.zeros(size), (jax.random.split(key, chunks), filled))[0]

    def _chunk(self, key: Any, template: Any) -> tuple[Any, Any]:
        """Margins of one chunk of items, and each item's pattern as a hash (template 0 is no item)."""
        data, (key_u, key_cell) = self.data, jax.random.split(key)
        cluster, kind = data["template_cluster"][template], data["template_kind"][template]
        node = jax.random.categorical(key_u, self.log_nodes[template])
        p = jnp.exp(jnp.moveaxis(self.table, -1, 1)[cluster, node]) * (data["cell_kind"] == kind[..., None])
        upto = jnp.cumsum(p, axis=-1)
        target = jax.random.uniform(key_cell, kind.shape, minval=jnp.finfo(p.dtype).tiny) * upto[..., -1]
        cell = (upto < target[..., None]).sum(-1)
        columns = (data[name][cell] for name in ("cell_label", "cell_runs", "cell_positives"))
        features = answer_features(*columns)
        real = (template > 0).astype(p.dtype)
        hashes = jnp.where(template > 0, self._hash(cell, cluster), -1)
        return summed_margins(features, real, jnp), hashes

    @staticmethod
    def _hash(cell: Any, cluster: Any) -> Any:
        """62-bit code of a pattern; that two of a million meet by chance has probability 1e-7."""
        factors = np.random.default_rng(20).integers(1, 2**62, cell.shape[1] + 1)
        mixed = cell @ jnp.asarray(factors[1:]) + (cluster + 1) * factors[0]
        return mixed & (2**62 - 1)
