"""What each judge is worth beside the panel: agreement with people, and whether the panel beats the best.

The panel's verdict on an answer is 1 where the posterior mean of P(right) is above ½. Each draw of the
posterior says how often that verdict, and every judge's own, agree with the label: with the label itself
where a person gave one, with its probability elsewhere.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np
import xarray as xr

from bayesjudge.models.judge_panel.data import half_votes
from bayesjudge.models.judge_panel.population import over_answers, prediction_sites, probability

if TYPE_CHECKING:
    from bayesjudge.model import Data

__all__ = ["PANEL", "expected_agreement", "panel_beats_best"]

#: Name of the panel's verdict among the judges.
PANEL = "panel"
#: Draws, about, that the panel's own verdict is the mean of.
_FOR_MEAN = 200


def expected_agreement(posterior: xr.Dataset, data: Data) -> xr.DataArray:
    """Draws of the share of all answers on which the panel, and each judge, agree with the label.

    A judge is scored on the answers it voted on; a mean vote of exactly ½ is no verdict. With graded votes a
    judge says 1 above the middle of its own scores.

    Returns
    -------
    xarray.DataArray
        Dims ``chain, draw, judge``; the first judge is `PANEL`. A judge without votes has NaN.

    Examples
    --------
    >>> from bayesjudge.datasets import simulate_verdicts
    >>> from bayesjudge.inference.programs.density import density
    >>> from bayesjudge.inference.tree import posterior_dataset
    >>> from bayesjudge.models.judge_panel import JudgePanel
    >>> model = JudgePanel()
    >>> data = model.prepare(simulate_verdicts(seed=1, judges=("j", "k"), labelled=9, unlabelled=9).verdicts)
    >>> target = density(model, data)
    >>> draws = posterior_dataset(target, data, np.zeros((1, 2, target.size)))  # of a fit: result.posterior
    >>> found = expected_agreement(draws, data)
    >>> found["judge"].values.tolist(), bool((found > 0.5).all())
    (['panel', 'j', 'k'], True)
    """
    thin = prediction_sites(posterior, data)
    some = thin.isel(draw=slice(None, None, max(thin.sizes["chain"] * thin.sizes["draw"] // _FOR_MEAN, 1)))
    mean = over_answers(_right, some, data).mean(axis=(0, 1))
    verdict = np.column_stack([np.where(mean > 0.5, 1.0, -1.0), np.sign(half_votes(data, "cell"))])
    values = over_answers(_agreement, thin, data, verdict=verdict)
    names = [PANEL, *data.coords["judge"]]
    return xr.DataArray(values, dims=("chain", "draw", "judge"), coords={"judge": names})


def panel_beats_best(agreement: xr.DataArray) -> float:
    """Posterior probability that the panel agrees with people more often than any single judge does.

    The best judge may be another one in every draw, so a judge that looks best by luck is not held against
    the panel as if it were known to be.

    Examples
    --------
    >>> draws = xr.DataArray([[[0.9, 0.8], [0.7, 0.8]]], dims=("chain", "draw", "judge"),
    ...                      coords={"judge": ["panel", "j"]})
    >>> panel_beats_best(draws)
    0.5
    """
    best = agreement.drop_sel(judge=PANEL).max("judge", skipna=True)
    return float((agreement.sel(judge=PANEL) > best).mean())


def _right(sites: Any, arrays: Any, key: Any, facts: Any) -> Any:  # noqa: ARG001 what over_draws calls
    """P(right) of every row, 0 or 1 where a person said so."""
    label, given = arrays["cell_label"], probability(sites, arrays)
    return given if facts["annotators"] else jnp.where(label >= 0, label, given)


def _agreement(sites: Any, arrays: Any, key: Any, facts: Any) -> Any:
    """Share of each column's verdicts (1, −1, or 0 for none) that agree with the label, (1 + J,)."""
    right, verdict = _right(sites, arrays, key, facts)[:, None], arrays["verdict"]
    weight = arrays["cell_n"][:, None] * jnp.abs(verdict)
    agrees = jnp.where(verdict > 0, right, 1 - right)
    return (weight * agrees).sum(0) / weight.sum(0)
