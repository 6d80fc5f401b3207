"""Who is best, and in which order: ranks counted draw by draw."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from bayesjudge.estimates.posterior import share_positive

if TYPE_CHECKING:
    import xarray as xr


def rank_probabilities(accuracy: xr.DataArray) -> pd.DataFrame:
    """Posterior probability that each model has each rank (1 is best); models equal in a draw share its ranks.

    From draws with dims ``chain, draw, system``; ``model, p_best, rank_1, ..., rank_M``, best expected rank first.

    Examples
    --------
    >>> import xarray as xr
    >>> dims, coords = ("chain", "draw", "system"), {"system": ["a", "b"]}
    >>> draws = xr.DataArray([[[0.9, 0.1], [0.8, 0.3]]], dims=dims, coords=coords)
    >>> rank_probabilities(draws)[["model", "p_best"]].to_dict("records")
    [{'model': 'a', 'p_best': 1.0}, {'model': 'b', 'p_best': 0.0}]
    """
    from scipy.stats import rankdata

    draws = accuracy.transpose("chain", "draw", "system").to_numpy().reshape(-1, accuracy.sizes["system"])
    first, last = (rankdata(-draws, method=method, axis=1) for method in ("min", "max"))
    ranks = range(1, draws.shape[1] + 1)
    share = np.stack([(((first <= rank) & (rank <= last)) / (last - first + 1)).mean(axis=0) for rank in ranks], axis=1)
    columns: dict[str, Any] = {"model": [str(name) for name in accuracy["system"].to_numpy()], "p_best": share[:, 0]}
    columns |= {f"rank_{rank}": share[:, rank - 1] for rank in ranks}
    expected = share @ np.array(ranks)
    return pd.DataFrame(columns).iloc[np.argsort(expected, kind="stable")].reset_index(drop=True)


def beats(elo: xr.DataArray) -> pd.DataFrame:
    """Posterior probability that the row's model has the higher Elo, ties half; NaN on the diagonal."""
    values = elo.transpose("chain", "draw", "system").to_numpy().reshape(-1, elo.sizes["system"])
    share = np.stack([share_positive(values[:, [one]] - values, axis=0) for one in range(values.shape[1])])
    np.fill_diagonal(share, np.nan)
    names = [str(name) for name in elo["system"].to_numpy()]
    return pd.DataFrame(share, index=pd.Index(names, name="model"), columns=names)
