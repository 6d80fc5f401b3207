"""Accuracies on exactly these items by `paired_accuracy`: known labels, the others drawn given the verdicts.

The labels of one item are drawn together: from P(y_a, y_b | pattern) for two models; for more, the item
effect u is drawn from its posterior given all that was seen of the item, then every label given u and its own
cell.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesjudge.models.common.at_draws import at_draws, thinned

if TYPE_CHECKING:
    import xarray as xr

    from bayesjudge.model import Data

__all__ = ["of_items", "of_two_models"]

#: Labels drawn at most; past it draws of the posterior are thinned.
MOST_LABELS = 400_000_000


def of_two_models(
    pair: Callable[[], tuple[Any, Any]], posterior: xr.Dataset, data: Data, *, seed: int
) -> xr.DataArray:
    """Accuracies from ``pair``, which samples the channel and log P(y_a, y_b)."""

    def labels(_: Any) -> Any:
        import jax

        from bayesjudge.models.paired_accuracy.likelihood import every_cell, log_verdicts

        channel, log_pi = pair()
        # A known label makes the verdicts of another one impossible.
        log_v = log_verdicts(channel, every_cell(data), data.facts["most_runs"])[:, 0]
        first, second = data["cell"].T
        joint = log_pi[:, :, None] + log_v[:, None, 0, first] + log_v[None, :, 1, second]
        return jax.nn.softmax(joint.reshape(4, -1).T, axis=-1)

    p, n = at_draws(labels, posterior), np.asarray(data["n"])
    wrong, second, first, both = np.moveaxis(np.random.default_rng(seed).multinomial(n, p), -1, 0)
    del wrong
    return _shares(np.stack([first + both, second + both], axis=-2), np.asarray(data["cell"]), n, data)


def of_items(items: Callable[[], Any], posterior: xr.Dataset, data: Data, *, seed: int) -> xr.DataArray:
    """Accuracies from ``items``, which samples what answers and verdicts depend on."""
    import jax
    import jax.numpy as jnp

    cell, n = np.asarray(data["cell"]), np.asarray(data["n"])[data.facts["margins"] :]
    of = jnp.asarray(np.repeat(np.arange(len(n)), n))

    def right(key: Any) -> Any:
        log_node, p = items().label_given_cells(data)
        key_node, key_label = jax.random.split(key)
        node = jax.random.categorical(key_node, log_node[of], axis=-1)
        drawn = jax.random.uniform(key_label, (of.shape[0], p.shape[1])) < p[of, :, node]
        return jax.ops.segment_sum(drawn.astype(float), of, len(n)).T

    few = thinned(posterior, size=int(n.sum()) * cell.shape[1], most=MOST_LABELS)
    return _shares(at_draws(right, few, seed=seed), cell, n, data)


def _shares(right: Any, cell: Any, n: Any, data: Data) -> xr.DataArray:
    """Right answers (chain, draw, M, R) to shares of the answers that were given (cell 0 is none)."""
    import xarray as xr

    given = (n[:, None] * (cell != 0)).T
    share = np.where(given > 0, right, 0).sum(-1) / given.sum(-1)
    coords = {"model": list(data.coords["model"])}
    return xr.DataArray(share, dims=("chain", "draw", "model"), coords=coords)
