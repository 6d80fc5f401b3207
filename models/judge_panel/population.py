"""Draws of every model's accuracy on a population: questions like these, or exactly these items.

superpopulation  θ_m = Σ_i w_i p_im / Σ_i w_i,  w ~ Dirichlet(1, ..., 1) over items (clusters drawn whole),
                 p_im the probability of a right answer, averaged over the effects of items and clusters like
                 these. The weights are shared by the models, so that their differences are paired. It is the
                 Bayesian bootstrap (Rubin 1981) of the votes, with the regression on top.
items            θ_m = mean over its answers of the label where a person gave one, of a predictive draw
                 elsewhere; the item effect of a draw is shared by the models.

Where items are too many to weigh one by one, answers come as patterns. The sums over items then differ from
their expectations by normal amounts, of the covariance that a sample of whole items shows at the posterior
mean.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr

from bayesjudge.models.common.at_draws import over_draws
from bayesjudge.models.common.verdict_channel import gauss_hermite
from bayesjudge.models.judge_panel.likelihood import row_logits

if TYPE_CHECKING:
    from bayesjudge.estimates import Population
    from bayesjudge.model import Data

__all__ = ["accuracy_draws", "effective_logits", "mean_probability", "over_answers",
           "prediction_sites", "probability"]  # fmt: skip

#: Cells times draws that are predicted at most: past it draws are thinned.
MOST_WORK = 400_000_000
#: The logits that mean probabilities are tabulated for, and how finely: cubic interpolation between points
#: h apart is off by at most h⁴/384 · max|p⁗| = 4e-6.
_EDGE, _POINTS = 20.0, 129
#: Replicated labels of the sampled items, to see how predictive sums vary.
_REPLICATES = 400

type Sites = Mapping[str, Any]


def accuracy_draws(
    posterior: xr.Dataset, data: Data, *, population: Population, seed: int = 0
) -> tuple[xr.DataArray, xr.DataArray]:
    """Accuracy of each model: overall, dims ``chain, draw, model``, and with ``group`` before ``model``.

    A model without answers in a group has NaN there.
    """
    thin = prediction_sites(posterior, data)
    draw = _superpopulation if population == "superpopulation" else _items
    sums = np.array(over_answers(draw, thin, data, seed=seed))
    if not data.facts["units" if population == "superpopulation" else "items"]:
        sums += _normal_part(posterior, data, population, seed, sums.shape[:2])
    groups, models = data.facts["groups"], data.size("model")
    right, total = np.moveaxis(sums.reshape(*sums.shape[:2], 2, groups, models), 2, 0)
    # A group may lack a model's answers: its share is undefined, and said to be.
    by_group = np.divide(right, total, out=np.full(right.shape, np.nan), where=total > 0)
    coords = {"group": list(data.coords["group"]), "model": list(data.coords["model"])}
    dims = ("chain", "draw", "group", "model")
    overall = xr.DataArray(right.sum(2) / total.sum(2), dims=(*dims[:2], "model"),
                           coords={"model": coords["model"]})  # fmt: skip
    return overall, xr.DataArray(by_group, dims=dims, coords=coords)


def prediction_sites(posterior: xr.Dataset, data: Data) -> xr.Dataset:
    """The posterior, thinned evenly where the answers to predict are very many."""
    work = data.size("cell") * posterior.sizes["chain"] * posterior.sizes["draw"]
    return posterior.isel(draw=slice(None, None, max(-(-work // MOST_WORK), 1)))


def over_answers(function: Any, posterior: xr.Dataset, data: Data, *, seed: int = 0, **extra: Any) -> Any:
    """``function(sites, arrays, key, facts)`` at every draw, with the arrays of the answers to predict."""
    # Labelled answers are not looked at: splits of one table then share a program.
    needed = {name: a for name, a in data.arrays.items() if not name.startswith(("answer_", "label"))}
    together = int(np.clip(2_000_000 // max(data.size("cell"), 1), 1, 64))
    return over_draws(function, posterior, arrays={**needed, **extra}, facts=data.facts, seed=seed,
                      together=together)  # fmt: skip


def mean_probability(eta: Any, spread: Any) -> Any:
    """E σ(η + s u) over u ~ N(0, 1), from a table in η of values and slopes made for this s."""
    grid, step = jnp.linspace(-_EDGE, _EDGE, _POINTS, retstep=True)
    u, log_w = gauss_hermite(41)
    p, weight = jax.nn.sigmoid(grid[:, None] + spread * jnp.asarray(u)), jnp.exp(jnp.asarray(log_w))
    value, slope = p @ weight, step * ((p * (1 - p)) @ weight)
    at = (jnp.clip(eta, -_EDGE, _EDGE) + _EDGE) / step
    low = jnp.clip(jnp.floor(at).astype(jnp.int32), 0, _POINTS - 2)
    t, rest = at - low, low + 1 - at
    ends = value[low] * rest**2 * (1 + 2 * t) + value[low + 1] * t**2 * (1 + 2 * rest)
    return ends + t * rest * (slope[low] * rest - slope[low + 1] * t)


def probability(sites: Sites, arrays: Sites, rows: str = "cell") -> Any:
    """P(right) of every row on items and clusters drawn at random: normal effects add in squares."""
    eta = row_logits(sites, arrays, rows)
    spreads = [sites[name] ** 2 for name in ("item_spread", "cluster_spread") if name in sites]
    return mean_probability(eta, jnp.sqrt(sum(spreads))) if spreads else jax.nn.sigmoid(eta)


def _sums(value: Any, weight: Any, arrays: Sites, facts: Sites) -> Any:
    """Weighted right answers, then weights, by group and model, (2 G M,)."""
    models = arrays["model_rate"].shape[0]
    slot = arrays["cell_group"] * models + arrays["cell_model"]
    columns = jnp.stack([weight * value, weight], axis=-1)
    return jax.ops.segment_sum(columns, slot, facts["groups"] * models).T.reshape(-1)


def _superpopulation(sites: Sites, arrays: Sites, key: Any, facts: Sites) -> Any:
    weight = arrays["cell_n"].astype(float)
    if facts["units"]:
        # Exponential weights, divided by their sum, are Dirichlet(1, ..., 1); ratios need no division.
        weight = weight * jax.random.exponential(key, (facts["units"],))[arrays["cell_unit"]]
    return _sums(probability(sites, arrays), weight, arrays, facts)


def _items(sites: Sites, arrays: Sites, key: Any, facts: Sites) -> Any:
    # What several annotators marked is evidence of the label, not the label.
    known = (arrays["cell_label"] >= 0) & (facts["annotators"] == 0)
    weight = arrays["cell_n"].astype(float)
    if facts["items"]:
        predicted = _predictive_labels(sites, arrays, key, facts)
    else:
        predicted = _probability_here(sites, arrays)
    return _sums(jnp.where(known, arrays["cell_label"], predicted), weight, arrays, facts)


def _probability_here(sites: Sites, arrays: Sites) -> Any:
    """P(right) of every row, with the effect of its own cluster where that was sampled."""
    anywhere = probability(sites, arrays)
    if "cluster_effect" not in sites:
        return anywhere
    code = arrays["cell_cluster"]
    eta = row_logits(sites, arrays, "cell") + sites["cluster_spread"] * sites["cluster_effect"][code]
    return jnp.where(code >= 0, mean_probability(eta, sites.get("item_spread", 0.0)), anywhere)


def _predictive_labels(sites: Sites, arrays: Sites, key: Any, facts: Sites) -> Any:
    key_item, key_cluster, key_label = jax.random.split(key, 3)
    eta = effective_logits(sites, arrays, (key_item, key_cluster), facts)
    return jax.random.bernoulli(key_label, jax.nn.sigmoid(eta)).astype(float)


def effective_logits(sites: Sites, arrays: Sites, keys: tuple[Any, Any], facts: Sites) -> Any:
    """Logit of every answer with the effects of its item and cluster, fresh where they were not sampled."""
    key_item, key_cluster = keys
    eta = row_logits(sites, arrays, "cell")
    if "z_annotator" in sites:
        # A mark by an annotator who is right with log odds λ adds ±λ to the log odds of the label.
        accuracy = sites["annotator_mean"] + sites["annotator_spread"] * sites["z_annotator"]
        said = ((2 * arrays["mark"] - 1) * arrays["mark_given"]) @ accuracy
        eta = eta.at[arrays["mark_cell"]].add(said)
    if "cluster_effect" in sites:
        code, fresh = arrays["cell_cluster"], jax.random.normal(key_cluster, (facts["units"],))
        effect = jnp.where(code >= 0, sites["cluster_effect"][code], fresh[arrays["cell_unit"]])
        eta = eta + sites["cluster_spread"] * effect
    if "item_spread" in sites:
        u = jax.random.normal(key_item, (facts["items"],))
        u = u.at[arrays["item_place"]].set(sites["item_effect"])
        eta = eta + sites["item_spread"] * u[arrays["cell_item"]]
    return eta


def _normal_part(
    posterior: xr.Dataset, data: Data, population: Population, seed: int, shape: tuple[int, int]
) -> Any:
    """Normal draws (chain, draw, 2 G M) of how far sums over very many items lie from their expectations."""
    mean = {
        str(name): jnp.asarray(values.mean(("chain", "draw")).to_numpy())
        for name, values in posterior.items()
    }
    if population == "superpopulation":
        covariance = _weights_covariance(mean, data)
    else:
        covariance = _labels_covariance(mean, data, seed)
    rng = np.random.default_rng([seed, 1])
    return rng.multivariate_normal(np.zeros(len(covariance)), covariance, size=shape, method="eigh")


def _weights_covariance(mean: Sites, data: Data) -> Any:
    """Of Σ_i w_i (p_i, 1): the sum over units of squared totals less their mean, as the bootstrap has it."""
    arrays = {name: jnp.asarray(a) for name, a in data.arrays.items()}
    p = np.asarray(probability(mean, arrays, "sampled"))
    models, units = data.size("model"), int(data["sampled_unit"].max()) + 1
    slot = np.asarray(data["sampled_group"]) * models + np.asarray(data["sampled_model"])
    size = data.facts["groups"] * models
    totals = np.zeros((units, 2, size))
    place = np.asarray(data["sampled_unit"]) * 2 * size + slot
    np.add.at(totals.reshape(-1), place, p)
    np.add.at(totals.reshape(-1), place + size, 1.0)
    centred = (totals - totals.mean(axis=0)).reshape(units, -1)
    return centred.T @ centred * (data.facts["all_units"] / units)


def _labels_covariance(mean: Sites, data: Data, seed: int) -> Any:
    """Of Σ y over unlabelled answers: from replicated labels of the sampled items at the posterior mean."""
    rng = np.random.default_rng([seed, 2])
    arrays = {name: jnp.asarray(a) for name, a in data.arrays.items()}
    eta, models = np.asarray(row_logits(mean, arrays, "sampled")), data.size("model")
    slot = np.asarray(data["sampled_group"]) * models + np.asarray(data["sampled_model"])
    unit, item = np.asarray(data["sampled_unit"]), np.asarray(data["sampled_item"])
    unknown, size = np.asarray(data["sampled_label"]) < 0, data.facts["groups"] * models
    sums = np.zeros((_REPLICATES, 2 * size))
    for k in range(_REPLICATES):
        shift = float(mean.get("item_spread", 0.0)) * rng.standard_normal(item.max() + 1)[item]
        # Effects of sampled clusters vary with the draws; the others are fresh.
        fresh = np.where(data["sampled_cluster"] < 0, rng.standard_normal(unit.max() + 1)[unit], 0.0)
        shift = shift + float(mean.get("cluster_spread", 0.0)) * fresh
        right = rng.random(len(eta)) < 1 / (1 + np.exp(-eta - shift))
        sums[k, :size] = np.bincount(slot, weights=right & unknown, minlength=size)
    return np.cov(sums.T) * (data.facts["all_units"] / (unit.max() + 1))
