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
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy.special import expit

from bayesjudge.estimates import Population
from bayesjudge.model import Data
from bayesjudge.models.common.at_draws import over_draws, thinned
from bayesjudge.models.common.shared_items import adjust, between_systems
from bayesjudge.models.judge_panel.kinds import coefficients_in
from bayesjudge.models.judge_panel.likelihood import coefficients, row_logits

#: Cells times draws that are predicted at most: past it draws are thinned.
MOST_WORK = 400_000_000
#: What the logit is linear in, in the order of the columns of `_design`.
_LINEAR = ("level", "effect", "weight", "slope")

type Array = NDArray[np.float64]
type Sites = Mapping[str, Any]


def adjusted(posterior: xr.Dataset, data: Data, *, seed: int = 0) -> xr.Dataset:
    """Draws of ``level, effect, weight, slope`` (see `likelihood.coefficients`) with the sandwich's covariance.

    With fewer than two labelled items (clusters) nothing is known of how they vary, and the draws stay.
    """
    raw = coefficients_at(posterior, data)
    linear = [name for name in _LINEAR if name in raw]
    flat = np.concatenate([raw[name].reshape(raw["slope"].size, -1) for name in linear], axis=1)
    centre = {name: values.mean(axis=(0, 1)) for name, values in raw.items()}
    information, variance, units = shared_items(centre, data)
    if units > 1:
        df = int(units) - 1
        flat = adjust(flat, information=information, variance=variance, df=df, seed=seed)
    ends = np.cumsum([centre[name].size for name in linear])[:-1]
    moved = dict(zip(linear, np.split(flat, ends, axis=1), strict=True))
    weight_dims = ("judge",) if raw["weight"].ndim == 3 else ("system", "judge")
    dims = {"level": ("system",), "effect": ("coefficient",), "weight": weight_dims, "annotator_logit": ("annotator",)}
    return xr.Dataset(
        {
            name: (("chain", "draw", *dims.get(name, ())), moved.get(name, values).reshape(values.shape))
            for name, values in raw.items()
        },
        coords={name: list(data.coords[name]) for name in ("system", "judge")},
    )


def coefficients_at(posterior: xr.Dataset, data: Data) -> dict[str, Array]:
    """What `likelihood.coefficients` gives at every draw, each with leading axes chain and draw."""
    sites = {str(name): values.transpose("chain", "draw", ...).to_numpy() for name, values in posterior.items()}
    effect = None
    if "kind_design" in data.arrays:
        flat = coefficients_in(data).draws(posterior, data)
        effect = flat.reshape(posterior.sizes["chain"], posterior.sizes["draw"], -1)
    return coefficients(sites, data.arrays, effect)


def shared_items(centre: Sites, data: Data) -> tuple[Array, Array, float]:
    """Information H and variance V* of the score at one point of the coefficients, and labelled clusters.

    Scores (y − p) x are summed within an item, or a cluster. Given the votes, labels of one system are independent,
    so that its own part of V* is its information and only what systems share is estimated: residuals of a fit to a
    few labels are too small, and V as they show it was narrower than H. Within clusters, and with weights, a
    system's own part is as estimated where that is larger. Where several people marked an answer, y is its
    probability given their marks. Labels with weights count as often as they represent, and their clusters as many as
    are as informative, (Σw)²/Σw² (Kish 1965).
    """
    counted = np.asarray(data["answer_n"]) > 0
    x = _design(data, own=centre["weight"].ndim == 2)[counted]
    eta = np.asarray(row_logits(centre, data.arrays, "answer"))[counted]
    p, y = expit(eta), np.asarray(data["label"])[counted]
    if "annotator_logit" in centre:
        y = expit(eta + _said(centre, data.arrays)[counted])
    n = np.asarray(data["answer_n"], dtype=float)[counted]
    error, known = n * (y - p), n * (p * (1 - p) - y * (1 - y))
    system = np.asarray(data["kind_system"])[np.asarray(data["answer_kind"])[counted]]
    codes = np.unique(np.asarray(data["answer_unit"])[counted], return_inverse=True)[1].reshape(-1)
    units = int(codes.max(initial=-1)) + 1
    scores, own = [], []
    for mine in (system == m for m in range(data.size("system"))):
        by_coefficient = np.zeros((units, x.shape[1]))
        np.add.at(by_coefficient, codes[mine], x[mine] * error[mine, None])
        total = np.bincount(codes[mine], weights=error[mine], minlength=units)
        scores.append([(total, by_coefficient, float(known[mine].sum()))])
        own.append(x[mine].T @ (x[mine] * known[mine, None]))
    variance = between_systems(scores, own, [np.ones(units, dtype=bool)], widen_only=not data.facts["exact"])
    if data.facts["weighted"]:
        weight = np.bincount(codes, weights=n)
        return np.sum(own, axis=0), variance, weight.sum() ** 2 / (weight**2).sum()
    return np.sum(own, axis=0), variance, float(units)


def _design(data: Data, *, own: bool) -> Array:
    """Each labelled answer's regressors by the coefficients, in the order of `_LINEAR`."""
    kind, votes = np.asarray(data["answer_kind"]), np.asarray(data["answer_votes"])
    model = np.asarray(data["kind_system"])[kind]
    row, models = np.arange(len(model)), data.size("system")
    level = np.eye(models)[model]
    effect = np.asarray(data["kind_design"])[kind] if "kind_design" in data.arrays else np.zeros((len(row), 0))
    if own:
        by_model = np.zeros((len(row), models, votes.shape[1]))
        by_model[row, model] = votes
        votes = by_model.reshape(len(row), -1)
    return np.column_stack([level, effect, votes, np.asarray(data["answer_rate"])])


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
    groups, models, into = data.coords["group"], data.coords["system"], _into(data)
    sums = np.array(over_answers(draw, thin(found, data), data, seed=seed, into=into))
    if not data.facts["units" if population == "superpopulation" else "items"]:
        sums += _normal_part(found, data, population, seed, sums.shape[:2])
    right, total = np.moveaxis(sums.reshape(*sums.shape[:2], 2, 1 + len(groups), len(models)), 2, 0)
    # A group may lack a model's answers: its share is undefined, and said to be.
    values = np.divide(right, total, out=np.full(right.shape, np.nan), where=total > 0)
    coords = {"group": list(groups), "system": list(models)}
    by_group = xr.DataArray(values[:, :, 1:], dims=("chain", "draw", "group", "system"), coords=coords)
    overall = xr.DataArray(values[:, :, 0], dims=("chain", "draw", "system"), coords={"system": coords["system"]})
    return overall, by_group


def _into(data: Data) -> Array:
    """Which sums each kind is part of: its system's, overall and then in each group, (K, (1 + G) M)."""
    systems = np.eye(data.size("system"))[np.asarray(data["kind_system"])]
    member = np.asarray(data.arrays.get("kind_member", np.zeros((len(systems), 0))), dtype=float)
    groups = np.column_stack([np.ones(len(systems)), member])
    return (groups[:, :, None] * systems[:, None, :]).reshape(len(systems), -1)


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


def _sums(value: Any, weight: Any, arrays: Sites) -> Any:
    """Weighted right answers, then weights, overall and by group, each by model, (2 (1 + G) M,)."""
    columns = jnp.stack([weight * value, weight], axis=-1)
    by_kind = jax.ops.segment_sum(columns, arrays["cell_kind"], arrays["into"].shape[0])
    return (by_kind.T @ arrays["into"]).reshape(-1)


def _superpopulation(found: Sites, arrays: Sites, key: Any, facts: Sites) -> Any:
    weight = arrays["cell_n"].astype(float)
    if facts["units"]:
        # Exponential weights, divided by their sum, are Dirichlet(1, ..., 1); ratios need no division.
        weight = weight * jax.random.exponential(key, (facts["units"],))[arrays["cell_unit"]]
    return _sums(jax.nn.sigmoid(row_logits(found, arrays, "cell")), weight, arrays)


def _items(found: Sites, arrays: Sites, key: Any, facts: Sites) -> Any:
    # What several annotators marked is evidence of the label, not the label.
    known = (arrays["cell_label"] >= 0) & (facts["annotators"] == 0)
    predicted = jax.nn.sigmoid(marked_logits(found, arrays))
    if facts["items"]:
        predicted = jax.random.bernoulli(key, predicted).astype(float)
    weight = arrays["cell_n"].astype(float)
    return _sums(jnp.where(known, arrays["cell_label"], predicted), weight, arrays)


def _normal_part(found: xr.Dataset, data: Data, population: Population, seed: int, shape: tuple[int, int]) -> Any:
    """Normal draws (chain, draw, 2 (1 + G) M) of how far sums over very many items lie from their expectations."""
    mean = {str(name): values.mean(("chain", "draw")).to_numpy() for name, values in found.items()}
    of_weights = population == "superpopulation"
    covariance = (_weights_covariance if of_weights else _labels_covariance)(mean, data)
    rng = np.random.default_rng([seed, 1])
    return rng.multivariate_normal(np.zeros(len(covariance)), covariance, size=shape, method="eigh")


def _weights_covariance(mean: Sites, data: Data) -> Any:
    """Of Σ_i w_i (p_i, 1): the sum over units of squared totals less their mean, as the bootstrap has it."""
    p = expit(np.asarray(row_logits(mean, data.arrays, "sampled")))
    unit, kind = np.asarray(data["sampled_unit"]), np.asarray(data["sampled_kind"])
    shape = int(unit.max()) + 1, data.size("kind")
    place = np.ravel_multi_index((unit, kind), shape)
    by_kind = [
        np.bincount(place, weights=w, minlength=shape[0] * shape[1]).reshape(shape) for w in (p, np.ones(len(p)))
    ]
    totals = np.concatenate([one @ _into(data) for one in by_kind], axis=1)
    centred = totals - totals.mean(axis=0)
    return centred.T @ centred * (data.facts["all_units"] / shape[0])


def _labels_covariance(mean: Sites, data: Data) -> Any:
    """Of Σ y over unlabelled answers, given the votes: their binomial variances; what is counted is fixed."""
    p = expit(np.asarray(row_logits(mean, data.arrays, "cell")))
    n = np.asarray(data["cell_n"]) * (np.asarray(data["cell_label"]) < 0)
    into = _into(data)
    variance = np.bincount(np.asarray(data["cell_kind"]), weights=n * p * (1 - p), minlength=len(into))
    found = np.zeros((2 * into.shape[1],) * 2)
    found[: into.shape[1], : into.shape[1]] = into.T @ (into * variance[:, None])
    return found
