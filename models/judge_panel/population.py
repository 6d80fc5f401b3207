"""Draws of every model's accuracy on a population: questions like these, or exactly these items.

superpopulation  θ_m = Σ_i w_i p_im / Σ_i w_i,  w ~ Dirichlet(1, ..., 1) over items (clusters drawn whole),
                 p_im the probability of a right answer. The weights are shared by the models, so that their
                 differences are paired. It is the Bayesian bootstrap (Rubin 1981) of the votes, with the
                 regression on top.
items            θ_m = mean over its answers of the label where a person gave one, of a predictive draw
                 elsewhere.

Both start from the coefficients of the regression, whose draws `adjusted` moves for what the answers to one
item, or one cluster, share (METHODS 1.9b). The labels of an item are not independent given the votes; no
effect of the item represents that, whose shape would have to be right for every item, since only the scores
need to be independent between items.

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
from numpy.typing import NDArray
from scipy.special import expit

from bayesjudge.models.common.at_draws import over_draws, thinned
from bayesjudge.models.common.shared_items import adjust
from bayesjudge.models.judge_panel.likelihood import coefficients, row_logits

if TYPE_CHECKING:
    from bayesjudge.estimates import Population
    from bayesjudge.model import Data


#: Cells times draws that are predicted at most: past it draws are thinned.
MOST_WORK = 400_000_000
#: What the logit is linear in, in the order of the columns of `_design`.
_LINEAR = ("level", "weight", "slope")

type Array = NDArray[np.float64]
type Sites = Mapping[str, Any]


def adjusted(posterior: xr.Dataset, data: Data, *, seed: int = 0) -> xr.Dataset:
    """Draws of ``level, weight, slope`` (see `likelihood.coefficients`) with the sandwich's covariance.

    With fewer than two labelled items (clusters) nothing is known of how they vary, and the draws stay.
    """
    raw = over_draws(_coefficients, posterior, arrays={"model_rate": data["model_rate"]}, facts={})
    flat = np.concatenate([raw[name].reshape(raw["slope"].size, -1) for name in _LINEAR], axis=1)
    centre = {name: values.mean(axis=(0, 1)) for name, values in raw.items()}
    information, variance, units = shared_items(centre, data)
    if units > 1:
        df = int(units) - 1
        flat = adjust(flat, information=information, variance=variance, df=df, seed=seed)
    ends = np.cumsum([centre[name].size for name in _LINEAR])[:-1]
    moved = dict(zip(_LINEAR, np.split(flat, ends, axis=1), strict=True))
    weight_dims = ("judge",) if raw["weight"].ndim == 3 else ("system", "judge")
    dims = {"level": ("group", "system"), "weight": weight_dims, "annotator_logit": ("annotator",)}
    return xr.Dataset(
        {
            name: (("chain", "draw", *dims.get(name, ())), moved.get(name, values).reshape(values.shape))
            for name, values in raw.items()
        },
        coords={name: list(data.coords[name]) for name in ("group", "system", "judge")},
    )


def _coefficients(sites: Sites, arrays: Sites, key: Any, facts: Sites) -> Any:  # noqa: ARG001 what over_draws calls
    return coefficients(sites, arrays["model_rate"])


def shared_items(centre: Sites, data: Data) -> tuple[Array, Array, float]:
    """Information H and variance V of the score at one point of the coefficients, and labelled clusters.

    Scores (y − p) x are summed within an item, or a cluster, and V is what these sums show. Where several
    people marked an answer, y is its probability given their marks. Labels with weights count as often as
    they represent, and their clusters as many as are as informative, (Σw)²/Σw² (Kish 1965).
    """
    counted = np.asarray(data["answer_n"]) > 0
    x = _design(data, own=centre["weight"].ndim == 2)[counted]
    eta = np.asarray(row_logits(centre, data.arrays, "answer"))[counted]
    p, y = expit(eta), np.asarray(data["label"])[counted]
    if "annotator_logit" in centre:
        y = expit(eta + _said(centre, data.arrays)[counted])
    n = np.asarray(data["answer_n"], dtype=float)[counted]
    information = x.T @ (x * (n * (p * (1 - p) - y * (1 - y)))[:, None])
    codes = np.unique(np.asarray(data["answer_unit"])[counted], return_inverse=True)[1].reshape(-1)
    units = float(codes.max(initial=-1)) + 1
    scores = np.zeros((int(units), x.shape[1]))
    np.add.at(scores, codes, x * (n * (y - p))[:, None])
    if data.facts["weighted"]:
        weight = np.bincount(codes, weights=n)
        units = weight.sum() ** 2 / (weight**2).sum()
    centred = scores - scores.mean(axis=0) if len(scores) else scores
    return information, centred.T @ centred * (units / max(units - 1, 1)), units


def _design(data: Data, *, own: bool) -> Array:
    """Each labelled answer's regressors by the coefficients, in the order of `_LINEAR`."""
    model, votes = np.asarray(data["answer_model"]), np.asarray(data["answer_votes"])
    row, models = np.arange(len(model)), data.size("system")
    level = np.zeros((len(row), data.facts["groups"] * models))
    level[row, np.asarray(data["answer_group"]) * models + model] = 1.0
    if own:
        by_model = np.zeros((len(row), models, votes.shape[1]))
        by_model[row, model] = votes
        votes = by_model.reshape(len(row), -1)
    return np.column_stack([level, votes, np.asarray(data["answer_rate"])])


def _said(found: Sites, arrays: Sites) -> Any:
    """What marks add to the log odds of a label: ±λ for each annotator who is right with log odds λ."""
    return ((2 * arrays["mark"] - 1) * arrays["mark_given"]) @ found["annotator_logit"]


def accuracy_draws(
    found: xr.Dataset, data: Data, *, population: Population, seed: int = 0
) -> tuple[xr.DataArray, xr.DataArray]:
    """Accuracy of each model: overall, dims ``chain, draw, system``, and with ``group`` before ``system``.

    ``found`` holds draws of `adjusted`. A model without answers in a group has NaN there.
    """
    draw = _superpopulation if population == "superpopulation" else _items
    sums = np.array(over_answers(draw, thin(found, data), data, seed=seed))
    if not data.facts["units" if population == "superpopulation" else "items"]:
        sums += _normal_part(found, data, population, seed, sums.shape[:2])
    groups, models = data.facts["groups"], data.size("system")
    right, total = np.moveaxis(sums.reshape(*sums.shape[:2], 2, groups, models), 2, 0)
    # A group may lack a model's answers: its share is undefined, and said to be.
    by_group = np.divide(right, total, out=np.full(right.shape, np.nan), where=total > 0)
    coords = {"group": list(data.coords["group"]), "system": list(data.coords["system"])}
    dims = ("chain", "draw", "group", "system")
    overall = xr.DataArray(right.sum(2) / total.sum(2), dims=(*dims[:2], "system"), coords={"system": coords["system"]})
    return overall, xr.DataArray(by_group, dims=dims, coords=coords)


def thin(found: xr.Dataset, data: Data) -> xr.Dataset:
    """The draws, thinned evenly where the answers to predict are very many."""
    return thinned(found, size=data.size("cell"), most=MOST_WORK)


def over_answers(function: Any, found: xr.Dataset, data: Data, *, seed: int = 0, **extra: Any) -> Any:
    """``function(sites, arrays, key, facts)`` at every draw, with the arrays of the answers to predict."""
    # Labelled answers are not looked at: splits of one table then share a program.
    needed = {name: a for name, a in data.arrays.items() if not name.startswith(("answer_", "label"))}
    together = int(np.clip(2_000_000 // max(data.size("cell"), 1), 1, 64))
    return over_draws(function, found, arrays={**needed, **extra}, facts=data.facts, seed=seed, together=together)


def marked_logits(found: Sites, arrays: Sites) -> Any:
    """Logit of every answer given its votes, and given its marks where several people marked it."""
    eta = row_logits(found, arrays, "cell")
    return eta.at[arrays["mark_cell"]].add(_said(found, arrays)) if "annotator_logit" in found else eta


def _sums(value: Any, weight: Any, arrays: Sites, facts: Sites) -> Any:
    """Weighted right answers, then weights, by group and model, (2 G M,)."""
    models = arrays["model_rate"].shape[0]
    slot = arrays["cell_group"] * models + arrays["cell_model"]
    columns = jnp.stack([weight * value, weight], axis=-1)
    return jax.ops.segment_sum(columns, slot, facts["groups"] * models).T.reshape(-1)


def _superpopulation(found: Sites, arrays: Sites, key: Any, facts: Sites) -> Any:
    weight = arrays["cell_n"].astype(float)
    if facts["units"]:
        # Exponential weights, divided by their sum, are Dirichlet(1, ..., 1); ratios need no division.
        weight = weight * jax.random.exponential(key, (facts["units"],))[arrays["cell_unit"]]
    return _sums(jax.nn.sigmoid(row_logits(found, arrays, "cell")), weight, arrays, facts)


def _items(found: Sites, arrays: Sites, key: Any, facts: Sites) -> Any:
    # What several annotators marked is evidence of the label, not the label.
    known = (arrays["cell_label"] >= 0) & (facts["annotators"] == 0)
    predicted = jax.nn.sigmoid(marked_logits(found, arrays))
    if facts["items"]:
        predicted = jax.random.bernoulli(key, predicted).astype(float)
    weight = arrays["cell_n"].astype(float)
    return _sums(jnp.where(known, arrays["cell_label"], predicted), weight, arrays, facts)


def _normal_part(found: xr.Dataset, data: Data, population: Population, seed: int, shape: tuple[int, int]) -> Any:
    """Normal draws (chain, draw, 2 G M) of how far sums over very many items lie from their expectations."""
    mean = {str(name): values.mean(("chain", "draw")).to_numpy() for name, values in found.items()}
    of_weights = population == "superpopulation"
    covariance = (_weights_covariance if of_weights else _labels_covariance)(mean, data)
    rng = np.random.default_rng([seed, 1])
    return rng.multivariate_normal(np.zeros(len(covariance)), covariance, size=shape, method="eigh")


def _weights_covariance(mean: Sites, data: Data) -> Any:
    """Of Σ_i w_i (p_i, 1): the sum over units of squared totals less their mean, as the bootstrap has it."""
    p = expit(np.asarray(row_logits(mean, data.arrays, "sampled")))
    models, units = data.size("system"), int(data["sampled_unit"].max()) + 1
    slot = np.asarray(data["sampled_group"]) * models + np.asarray(data["sampled_model"])
    size = data.facts["groups"] * models
    totals = np.zeros((units, 2, size))
    place = np.asarray(data["sampled_unit"]) * 2 * size + slot
    np.add.at(totals.reshape(-1), place, p)
    np.add.at(totals.reshape(-1), place + size, 1.0)
    centred = (totals - totals.mean(axis=0)).reshape(units, -1)
    return centred.T @ centred * (data.facts["all_units"] / units)


def _labels_covariance(mean: Sites, data: Data) -> Any:
    """Of Σ y over unlabelled answers, given the votes: their binomial variances; what is counted is fixed."""
    p = expit(np.asarray(row_logits(mean, data.arrays, "cell")))
    n = np.asarray(data["cell_n"]) * (np.asarray(data["cell_label"]) < 0)
    models, size = data.size("system"), data.facts["groups"] * data.size("system")
    slot = np.asarray(data["cell_group"]) * models + np.asarray(data["cell_model"])
    variance = np.bincount(slot, weights=n * p * (1 - p), minlength=size)
    return np.diag(np.concatenate([variance, np.zeros(size)]))
