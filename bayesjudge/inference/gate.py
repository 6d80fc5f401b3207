"""The convergence gate: whether draws may be read as the posterior, and if not, why not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["Gate", "gate_of"]

MOST_RHAT = 1.01
LEAST_ESS = 400
LEAST_EBFMI = 0.3
MOST_PARETO_K = 0.7


@dataclass(frozen=True, kw_only=True)
class Gate:
    """Verdict of the convergence checks (Vehtari et al. 2021; Betancourt 2016 for E-BFMI).

    Attributes
    ----------
    passed : bool
        Whether every figure is within its bound.
    reasons : tuple of str
        One sentence for each figure that is not.
    figures : mapping of str to float
        ``rhat`` (largest), ``ess`` (smallest of bulk and tail), ``divergences``, ``ebfmi`` (smallest), or
        ``pareto_k`` for importance-sampled draws.

    Examples
    --------
    >>> Gate(passed=False, reasons=("R-hat is 1.2",), figures={"rhat": 1.2}).note
    'not converged: R-hat is 1.2'
    """

    passed: bool
    reasons: tuple[str, ...]
    figures: Mapping[str, float]

    @property
    def note(self) -> str:
        """Empty when passed; otherwise what every estimate must carry."""
        return "" if self.passed else "not converged: " + "; ".join(self.reasons)


def gate_of(posterior: xr.Dataset, stats: xr.Dataset) -> Gate:
    """Check draws of a posterior against the bounds of METHODS section 5."""
    figures = _mixing(posterior)
    if "importance_ess" in stats:
        # Resampled draws are out of order, so their repeats look like independent draws to the chain's ESS.
        figures["ess"] = float(np.min([figures["ess"], stats["importance_ess"].min()]))
    reasons = []
    if figures["rhat"] > MOST_RHAT or np.isnan(figures["rhat"]):
        reasons.append(
            f"R-hat of {figures['rhat']:.3f} is above {MOST_RHAT}: run longer chains (draws=, tune=)"
        )
    if not figures["ess"] >= LEAST_ESS:
        reasons.append(f"ESS of {figures['ess']:.0f} is below {LEAST_ESS}: draw more (draws=)")
    if "pareto_k" in stats:
        figures["pareto_k"] = float(stats["pareto_k"].max())
        if not figures["pareto_k"] <= MOST_PARETO_K:
            reasons.append(
                f"Pareto k of {figures['pareto_k']:.2f} is above {MOST_PARETO_K}: use engine='nuts'"
            )
    if "diverging" in stats:
        figures["divergences"] = float(stats["diverging"].sum())
        if figures["divergences"] > 0:
            reasons.append(f"{figures['divergences']:.0f} divergent transitions: raise target_accept")
    if "energy" in stats:
        figures["ebfmi"] = float(np.min(_ebfmi(stats["energy"].to_numpy())))
        if not figures["ebfmi"] >= LEAST_EBFMI:
            reasons.append(
                f"E-BFMI of {figures['ebfmi']:.2f} is below {LEAST_EBFMI}: reparameterise or run longer"
            )
    return Gate(passed=not reasons, reasons=tuple(reasons), figures=figures)


def _mixing(posterior: xr.Dataset) -> dict[str, float]:
    """Worst R-hat and smallest ESS over every scalar of the posterior."""
    from arviz_stats.base import array_stats

    parts = [v.transpose("chain", "draw", ...).to_numpy() for v in posterior.data_vars.values()]
    flat = np.concatenate([part.reshape(*part.shape[:2], -1) for part in parts], axis=-1)
    series = np.moveaxis(flat, -1, 0)
    axes: dict[str, Any] = {"chain_axis": 1, "draw_axis": 2}
    bulk = array_stats.ess(series, method="bulk", **axes)
    tail = array_stats.ess(series, method="tail", prob=(0.05, 0.95), **axes)
    # np.min, since the built-in min() can lose a NaN.
    ess = float(np.min([np.min(bulk), np.min(tail)]))
    return {"rhat": float(np.max(array_stats.rhat(series, **axes))), "ess": ess}


def _ebfmi(energy: Any) -> Any:
    """Energy Bayesian fraction of missing information of each chain."""
    return np.mean(np.diff(energy, axis=-1) ** 2, axis=-1) / np.maximum(np.var(energy, axis=-1), 1e-300)
