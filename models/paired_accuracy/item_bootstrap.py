"""The bootstrap of items with too many patterns to list: what other samples of items would have shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bayesjudge.model import Data
from bayesjudge.models.paired_accuracy.item_margins import answer_features, pattern_margins

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["bootstrap"]


def bootstrap(data: Data, *, replicates: int, seed: int) -> NDArray[np.float64]:
    """Margins and pattern counts of resampled items, (replicates, P + R).

    Items are drawn with replacement among those of one template (which answers and labels they have), or
    whole clusters where items come in clusters.
    """
    rng, n = np.random.default_rng(seed), np.asarray(data["n"])[data.facts["margins"] :]
    draw = _clusters if data.facts["clusters"] else _items
    counts = draw(data, n, replicates, rng)
    cell = np.asarray(data["cell"])
    columns = [np.asarray(data[name])[cell] for name in ("cell_label", "cell_runs", "cell_positives")]
    return np.concatenate([counts @ pattern_margins(answer_features(*columns)), counts], axis=1)


def _items(data: Data, n: NDArray[np.int64], replicates: int, rng: np.random.Generator) -> NDArray[np.int64]:
    kinds = np.asarray(data["cell_kind"])[np.asarray(data["cell"])]
    _, template = np.unique(kinds, axis=0, return_inverse=True)
    template = template.reshape(-1)
    counts = np.zeros((replicates, len(n)), dtype=np.int64)
    for code in range(template.max() + 1):
        mine = np.flatnonzero(template == code)
        counts[:, mine] = rng.multinomial(n[mine].sum(), n[mine] / n[mine].sum(), size=replicates)
    return counts


def _clusters(
    data: Data, n: NDArray[np.int64], replicates: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    seen, code = np.unique(np.asarray(data["cluster_of"]), return_inverse=True)
    times = rng.multinomial(len(seen), np.full(len(seen), 1 / len(seen)), size=replicates)
    counts: NDArray[np.int64] = times[:, code.reshape(-1)] * n
    return counts
