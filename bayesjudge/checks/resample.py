"""The bootstrap distribution of counts: what other samples like this one would have shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bayesjudge.model import Data

__all__ = ["bootstrap_counts", "why_no_bootstrap"]


def why_no_bootstrap(data: Data) -> str:
    """Why the observations of ``data`` cannot be resampled; empty when they can.

    Counts can, when ``data`` says which entries are the outcomes of one stratum (array ``stratum``, one code
    an entry) and how many observations each stratum has (array ``total``).
    """
    if data.weights != data.observed or data.also_observed:
        return "the observations are not counts"
    missing = [name for name in ("stratum", "total") if name not in data.arrays]
    return f"the data have no array {missing[0]!r} that says how they were sampled" if missing else ""


def bootstrap_counts(data: Data, *, replicates: int, seed: int) -> NDArray[np.int64]:
    """Counts of resampled data sets.

    Observations are drawn with replacement within their stratum, one multinomial a stratum (Efron 1979).
    Where observations come in clusters (``data.facts`` says ``clusters`` or ``clustered``, and the array
    ``cluster`` has a code for each entry or each stratum), whole clusters are drawn instead, since the
    observations of one cluster are not independent (Davison & Hinkley 1997, section 3.8).

    Parameters
    ----------
    data : Data
        Observed counts with their strata.
    replicates : int
        Number of resampled data sets.
    seed : int
        Equal seeds give equal counts.

    Returns
    -------
    int array (replicates, entries)

    Examples
    --------
    >>> from bayesjudge.model import Data
    >>> arrays = {"n": np.array([3, 1, 6]), "stratum": np.array([0, 0, 1]), "total": np.array([4, 6])}
    >>> dims = {"n": ("row",), "stratum": ("row",), "total": ("strata",)}
    >>> data = Data(arrays=arrays, dims=dims, coords={"row": (0, 1, 2)}, observed="n", weights="n")
    >>> counts = bootstrap_counts(data, replicates=100, seed=0)
    >>> counts.shape, set(counts[:, :2].sum(1).tolist()), set(counts[:, 2].tolist())
    ((100, 3), {4}, {6})
    """
    rng = np.random.default_rng(seed)
    observed, stratum = np.asarray(data[data.observed]), np.asarray(data["stratum"])
    if _clustered(data):
        return _whole_clusters(observed, _cluster_of_entry(data, stratum), replicates, rng)
    counts = np.zeros((replicates, len(observed)), dtype=np.int64)
    for code in np.unique(stratum):
        entries = np.flatnonzero(stratum == code)
        total = int(observed[entries].sum())
        if total:
            counts[:, entries] = rng.multinomial(total, observed[entries] / total, size=replicates)
    return counts


def _clustered(data: Data) -> bool:
    return bool(data.facts.get("clusters") or data.facts.get("clustered")) and "cluster" in data.arrays


def _cluster_of_entry(data: Data, stratum: NDArray[np.int64]) -> NDArray[np.int64]:
    cluster: NDArray[np.int64] = np.asarray(data["cluster"])
    return cluster if data.dims["cluster"] == data.dims[data.observed] else cluster[stratum]


def _whole_clusters(
    observed: NDArray[np.int64], cluster: NDArray[np.int64], replicates: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    seen, code = np.unique(cluster, return_inverse=True)
    times = rng.multinomial(len(seen), np.full(len(seen), 1 / len(seen)), size=replicates)
    counts: NDArray[np.int64] = times[:, code.reshape(-1)] * observed
    return counts
