"""Counts of the observed patterns of items, whose replicates are new items drawn one by one.

A value is (P + R,): the margins of the items, then how many items show each of the R observed patterns.
Only the patterns carry density, ``n_r log p_r``. A replicate draws u, labels and verdicts of every item
anew; its margins are complete, and its patterns count the items that show one of those observed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpyro import distributions as dist
from numpyro.distributions import constraints
from numpyro.util import is_prng_key

from bayesjudge.model import Data
from bayesjudge.models.paired_accuracy.item_margins import answer_features, summed_margins

__all__ = ["ItemCounts", "ItemSampler"]

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
