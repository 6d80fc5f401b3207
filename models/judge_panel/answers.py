"""Draws of P(right) of every single answer: what label planning starts from.

Each draw has an item effect and, with clusters, a cluster effect of its own where none was sampled, so that
the answers of an item are right and wrong together in the draws as they are in the data.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from bayesjudge.errors import UsageError
from bayesjudge.models.judge_panel.population import effective_logits, over_answers

if TYPE_CHECKING:
    import xarray as xr
    from numpy.typing import NDArray

    from bayesjudge.counts.panel import PanelVotes
    from bayesjudge.model import Data

__all__ = ["answer_probabilities"]


def answer_probabilities(
    posterior: xr.Dataset, data: Data, votes: PanelVotes, *, draws: int = 400, seed: int = 0
) -> NDArray[np.float64]:
    """Draws (D, I, M) of ``P(y = 1)``, NaN where a model did not answer; for `bayesjudge.planning.labels`.

    Parameters
    ----------
    posterior : xarray.Dataset
        Of `JudgePanel`.
    data : Data
        From `JudgePanel.prepare` of these votes.
    votes : PanelVotes
        The panel.
    draws : int
        About how many draws to keep, evenly spread.
    seed : int
        Of the fresh effects.

    Raises
    ------
    UsageError
        A table whose answers were merged to patterns, so that single items can no longer be told apart.
    """
    if not data.facts["items"]:
        raise UsageError(f"{len(votes.items)} items were merged to patterns of votes; plan on some "
                         f"thousands of them, for instance a random sample")  # fmt: skip
    every = posterior.sizes["chain"] * posterior.sizes["draw"]
    thin = posterior.isel(draw=slice(None, None, max(every // draws, 1)))
    found = over_answers(_probabilities, thin, data, seed=seed)
    rows = found.reshape(-1, found.shape[-1])
    whole = np.full((len(rows), len(votes.items), len(votes.models)), np.nan)
    # In double precision the last bit may lie outside.
    whole[:, np.asarray(data["cell_item"]), np.asarray(data["cell_model"])] = np.clip(rows, 0.0, 1.0)
    return whole


def _probabilities(sites: Any, arrays: Any, key: Any, facts: Any) -> Any:
    key_item, key_cluster = jax.random.split(key)
    return jax.nn.sigmoid(effective_logits(sites, arrays, (key_item, key_cluster), facts))
