"""Leave-one-out: how well a model predicts an observation that it was not fitted to.

One observation is one answer (or whatever one count of the model's patterns represents), not a whole
pattern: leaving out one of the ``n_r`` answers that show pattern r has importance weights ``1/p_r``, the
same for all of them. So a pattern's answers share one elpd and one Pareto k, and the sums over
observations are sums over patterns weighted by ``n_r``. Nothing grows with the number of rows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from bayesjudge.checks.groups_read import require_checked

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bayesjudge.inference import Fit


@dataclass(frozen=True, eq=False, kw_only=True)
class Loo:
    """Expected log predictive density of a new observation, summed over the observations.

    Attributes
    ----------
    label : str
        The model's method name.
    frame : pandas.DataFrame
        One row a kind of observation (pattern) that occurred: its position ``entry``, how many observations
        ``n`` it represents, and for one of them ``elpd, p_loo, pareto_k`` and whether k is ``bad``.
    elpd, se : float
        Sum over observations and its standard error.
    p_loo : float
        Effective number of parameters.
    n : int
        Observations.
    most_k : float
        Largest Pareto k that can be trusted with this many draws, ``min(1 − 1/log10 S, 0.7)``.
    bad : int
        Observations whose k is above that, or not a number.
    data : str
        Hash of the data; only equal data can be compared.
    """

    label: str
    frame: pd.DataFrame
    elpd: float
    se: float
    p_loo: float
    n: int
    most_k: float
    bad: int
    data: str

    @property
    def note(self) -> str:
        """Empty, or a warning that must go with the figures."""
        if not self.bad:
            return ""
        return f"Pareto k above {self.most_k:.2f} for {self.bad} of {self.n} observations: elpd is unreliable"


def loo(fit: Fit) -> Loo:
    """Leave-one-out by Pareto-smoothed importance sampling.

    Parameters
    ----------
    fit : Fit
        A fit with a log likelihood. Where ``fit.data.weights`` names counts, one observation is one of those
        counted; otherwise one entry of the observed array.

    Returns
    -------
    Loo

    References
    ----------
    Vehtari, Gelman & Gabry (2017), Practical Bayesian model evaluation using leave-one-out cross-validation
    and WAIC; Vehtari et al. (2024), Pareto smoothed importance sampling.

    Examples
    --------
    >>> from bayesjudge.datasets import simulate_verdicts
    >>> from bayesjudge.inference import Laplace, fit
    >>> from bayesjudge.models.judge_error import JudgeError
    >>> log = simulate_verdicts(seed=1).verdicts
    >>> result = fit(JudgeError(pooling="shared"), log, engine=Laplace(draws=500))
    >>> found = loo(result)
    >>> found.n, found.bad
    (2000, 0)
    """
    require_checked(fit, "leave-one-out")
    values, n, entry = _pointwise(fit)
    found = [_leave_one_out(one) for one in values]
    frame = pd.DataFrame(found, columns=["elpd", "p_loo", "pareto_k"])
    draws = values.shape[1] * values.shape[2]
    most_k = min(1 - 1 / math.log10(max(draws, 11)), 0.7)
    frame.insert(0, "entry", entry)
    frame.insert(1, "n", n)
    frame["bad"] = ~(frame["pareto_k"] <= most_k)
    return Loo(
        label=fit.model.label,
        frame=frame,
        elpd=float(n @ frame["elpd"]),
        p_loo=float(n @ frame["p_loo"]),
        se=standard_error(frame["elpd"].to_numpy(), n),
        n=int(n.sum()),
        most_k=most_k,
        bad=int(n[frame["bad"]].sum()),
        data=fit.manifest["data"],
    )


def _pointwise(fit: Fit) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]:
    """Log likelihood of one observation of each kind (kinds, chains, draws), how many, and which entry."""
    data = fit.data
    values = fit.tree["log_likelihood"][data.observed].transpose("chain", "draw", ...).to_numpy()
    flat = np.moveaxis(values.reshape(*values.shape[:2], -1), -1, 0)
    n = np.ones(len(flat), dtype=np.int64) if data.weights is None else np.asarray(data[data.weights]).reshape(-1)
    entry = np.flatnonzero(n > 0)
    return flat[entry] / n[entry, None, None], n[entry].astype(np.int64), entry


def _leave_one_out(values: NDArray[np.float64]) -> tuple[float, float, float]:
    """Elpd, effective parameters and Pareto k of one observation from its log likelihood (chains, draws)."""
    from arviz_stats.base import array_stats

    if np.ptp(values) == 0:  # nothing depends on this observation, so leaving it out changes nothing
        return float(values.flat[0]), 0.0, 0.0
    if has_flat_tail(-values):
        elpd = math.log(values.size) - float(np.logaddexp.reduce(-values, axis=None))
        p_loo = float(np.logaddexp.reduce(values, axis=None)) - math.log(values.size) - elpd
        return elpd, p_loo, math.nan
    elpd, k, p_loo = array_stats.loo(values, r_eff=_relative_efficiency(values))
    return float(elpd), float(p_loo), float(k)


def _relative_efficiency(values: NDArray[np.float64]) -> float:
    """Effective draws of the likelihood for each draw; 1 where the likelihood does not vary."""
    from arviz_stats.base import array_stats

    options: dict[str, Any] = {"method": "mean", "relative": True}
    relative: Any = array_stats.ess(np.exp(values - values.max()), **options)
    found = float(relative)
    return found if np.isfinite(found) else 1.0


def standard_error(values: NDArray[np.float64], n: NDArray[np.int64]) -> float:
    """Standard error of a sum over observations, of which ``n`` share each value; 0 for a single one.

    Examples
    --------
    >>> found = standard_error(np.array([0.0, 1.0]), np.array([2, 2]))
    >>> bool(np.isclose(found, 2 * np.std([0, 0, 1, 1], ddof=1)))
    True
    """
    total = int(n.sum())
    mean = n @ values / total
    return math.sqrt(total * float(n @ (values - mean) ** 2) / max(total - 1, 1))


def has_flat_tail(log_ratios: Any) -> bool:
    """Whether the tail that Pareto smoothing would look at holds one value only.

    Draws that were resampled by very unequal weights repeat; a tail of ``min(S/5, 3√S)`` of S ratios (Vehtari
    et al. 2024) can then be a single draw, and a generalised Pareto distribution cannot be fitted to it.

    Examples
    --------
    >>> has_flat_tail(np.repeat([0.0, 1.0], [900, 100])), has_flat_tail(np.arange(1000.0))
    (True, False)
    """
    ratios = np.asarray(log_ratios, dtype=float).reshape(-1)
    size = math.ceil(min(len(ratios) / 5, 3 * math.sqrt(len(ratios))))
    tail = np.sort(ratios)[-max(size, 1) :]
    return bool(np.ptp(tail) < np.finfo(float).tiny)
