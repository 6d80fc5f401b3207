"""What a posterior of `paired_accuracy` says of the estimands.

The labels of one item are drawn together: from P(y_a, y_b | pattern) for two models; for more, the item
effect u is drawn from its posterior given all that was seen of the item, then every label given u and its own
cell.

The joint pattern of M models has too many outcomes to list, but every statistic that users look at is a
sum over items of one model's or two models' outcomes. Those sums are P = 5 M² + 4 M numbers, linear in
the items, so observed and replicated items compare through them.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesjudge.estimates import Estimates, Population
from bayesjudge.estimates.posterior import accuracy_rows
from bayesjudge.model import Data, Statistic
from bayesjudge.models.common.at_draws import at_draws, thinned
from bayesjudge.models.common.verdict_channel import (
    channel_logit,
    channel_quality,
    gauss_hermite,
    headline,
    logistic_normal_mean,
    quality_rows,
    shared_spread,
)

if TYPE_CHECKING:
    import xarray as xr
    from numpy.typing import NDArray

    from bayesjudge.model import Data

__all__ = [
    "STATISTICS",
    "accuracy",
    "answer_features",
    "bootstrap",
    "estimates",
    "margin_count",
    "of_items",
    "of_two_models",
    "pattern_margins",
    "quantities",
    "summed_margins",
]


def estimates(
    theta: xr.DataArray, posterior: xr.Dataset, data: Data, *, prob: float, method: str,
    population: Population,
) -> Estimates:  # fmt: skip
    """Accuracy of each model, difference of each pair, then the judge's quality on each model."""
    common: dict[str, Any] = {"method": method, "prob": prob, "n": data.units}
    rows = accuracy_rows(theta, population=population, **common)
    return Estimates.from_rows(rows + quality_rows(_quality(posterior, data), **common))


def quantities(posterior: xr.Dataset, data: Data) -> dict[str, xr.DataArray]:
    """Draws of what the answer rests on: accuracies, differences, Youden's J."""
    return headline(accuracy(posterior, data), _quality(posterior, data)["youden"])


def _quality(posterior: xr.Dataset, data: Data) -> dict[str, xr.DataArray]:
    if data.facts["form"] == "two models":
        return channel_quality(posterior, "model", data.coords["model"])
    return _item_quality(posterior, data)


def accuracy(posterior: xr.Dataset, data: Data) -> xr.DataArray:
    """Draws of each model's accuracy, dims ``chain, draw, model``."""
    import xarray as xr

    if data.facts["form"] == "items":
        averaged: xr.DataArray = logistic_normal_mean(posterior["alpha"], posterior["item_spread"])
        return averaged
    stick = posterior["stick"]
    both, first, second = (stick.sel(step=step, drop=True) for step in data.coords["step"])
    rest = (1 - both) * (1 - first) * second
    theta = xr.concat([both + (1 - both) * first, both + rest], dim="model")
    return theta.assign_coords(model=list(data.coords["model"])).transpose("chain", "draw", "model")


def _item_quality(posterior: xr.Dataset, data: Data) -> dict[str, xr.DataArray]:
    """Judge quality over all items: the judge's leniency and the answers' correctness both move with u.

    ``q1 = E_u[P(y=1|u) P(v=1|y=1,u)] / E_u[P(y=1|u)]``, and q0 alike.
    """
    logit_1, logit_0 = (channel_logit(posterior, name, "model", data.coords["model"])
                        for name in ("sensitivity", "specificity"))  # fmt: skip
    lenient, spread = posterior["item_leniency"], shared_spread(posterior)
    found: Any = 0.0
    rejected: Any = 0.0
    right: Any = 0.0
    for u, log_w in zip(*gauss_hermite(), strict=True):
        p: Any = np.exp(log_w) / (1 + np.exp(-(posterior["alpha"] + posterior["item_spread"] * u)))
        right = right + p
        found = found + p * logistic_normal_mean(logit_1 + lenient.sel(label=1, drop=True) * u, spread)
        wrong = np.exp(log_w) - p
        rejected = rejected + wrong * logistic_normal_mean(
            logit_0 - lenient.sel(label=0, drop=True) * u, spread
        )
    quality = {"sensitivity": found / right, "specificity": rejected / (1 - right)}
    return {**quality, "youden": quality["sensitivity"] + quality["specificity"] - 1}


#: Labels drawn at most; past it draws of the posterior are thinned.
MOST_LABELS = 400_000_000


def of_two_models(
    pair: Callable[[], tuple[Any, Any]], posterior: xr.Dataset, data: Data, *, seed: int
) -> xr.DataArray:
    """Accuracies from ``pair``, which samples the channel and log P(y_a, y_b)."""

    def labels(_: Any) -> Any:
        import jax

        from bayesjudge.models.paired_accuracy.likelihood import every_cell, log_verdicts

        channel, log_pi = pair()
        # A known label makes the verdicts of another one impossible.
        log_v = log_verdicts(channel, every_cell(data), data.facts["most_runs"])[:, 0]
        first, second = data["cell"].T
        joint = log_pi[:, :, None] + log_v[:, None, 0, first] + log_v[None, :, 1, second]
        return jax.nn.softmax(joint.reshape(4, -1).T, axis=-1)

    p, n = at_draws(labels, posterior), np.asarray(data["n"])
    wrong, second, first, both = np.moveaxis(np.random.default_rng(seed).multinomial(n, p), -1, 0)
    del wrong
    return _shares(np.stack([first + both, second + both], axis=-2), np.asarray(data["cell"]), n, data)


def of_items(items: Callable[[], Any], posterior: xr.Dataset, data: Data, *, seed: int) -> xr.DataArray:
    """Accuracies from ``items``, which samples what answers and verdicts depend on."""
    import jax
    import jax.numpy as jnp

    cell, n = np.asarray(data["cell"]), np.asarray(data["n"])[data.facts["margins"] :]
    of = jnp.asarray(np.repeat(np.arange(len(n)), n))

    def right(key: Any) -> Any:
        log_node, p = items().label_given_cells(data)
        key_node, key_label = jax.random.split(key)
        node = jax.random.categorical(key_node, log_node[of], axis=-1)
        drawn = jax.random.uniform(key_label, (of.shape[0], p.shape[1])) < p[of, :, node]
        return jax.ops.segment_sum(drawn.astype(float), of, len(n)).T

    few = thinned(posterior, size=int(n.sum()) * cell.shape[1], most=MOST_LABELS)
    return _shares(at_draws(right, few, seed=seed), cell, n, data)


def _shares(right: Any, cell: Any, n: Any, data: Data) -> xr.DataArray:
    """Right answers (chain, draw, M, R) to shares of the answers that were given (cell 0 is none)."""
    import xarray as xr

    given = (n[:, None] * (cell != 0)).T
    share = np.where(given > 0, right, 0).sum(-1) / given.sum(-1)
    coords = {"model": list(data.coords["model"])}
    return xr.DataArray(share, dims=("chain", "draw", "model"), coords=coords)


#: Features of one answer whose products over two models are summed, then those summed alone.
_PAIRED = (("seen", "seen"), ("yes", "seen"), ("yes", "yes"), ("labelled", "labelled"), ("right", "right"))
_ALONE = ("runs", "positives", "true_yes", "false_yes")


def margin_count(models: int) -> int:
    """P, the number of margins of M models."""
    return len(_PAIRED) * models**2 + len(_ALONE) * models


def answer_features(label: Any, runs: Any, positives: Any) -> dict[str, Any]:
    """0/1 features and counts of answers (or of cells); ``yes`` means that most runs said 1."""
    yes, one = 2 * positives > runs, 1.0
    return {"seen": one * (runs > 0), "yes": one * yes, "labelled": one * (label >= 0),
            "right": one * (label == 1), "runs": one * runs, "positives": one * positives,
            "true_yes": one * (yes & (label == 1)), "false_yes": one * (yes & (label == 0))}  # fmt: skip


def pattern_margins(features: Mapping[str, Any]) -> Any:
    """Margins of one item of each pattern, (patterns, P), from features (patterns, M)."""
    pairs = [features[a][:, :, None] * features[b][:, None, :] for a, b in _PAIRED]
    parts = [*(pair.reshape(len(pair), -1) for pair in pairs), *(features[name] for name in _ALONE)]
    return np.concatenate(parts, axis=1)


def summed_margins(features: Mapping[str, Any], weight: Any, xp: Any = np) -> Any:
    """Margins of many items together, (P,), from features (items, M) and how many items each row stands for.

    ``xp`` is numpy or jax.numpy.
    """
    pairs = [((weight[:, None] * features[a]).T @ features[b]).reshape(-1) for a, b in _PAIRED]
    return xp.concatenate([*pairs, *(weight @ features[name] for name in _ALONE)])


def _margins(counts: Any, data: Data) -> dict[Any, Any]:
    """Named margins from counts of patterns: paired ones (..., M, M), single ones (..., M)."""
    total, models = data.facts["margins"], len(data.coords["model"])
    flat = counts[..., :total] if total else counts @ _listed_margins(data)
    squares = flat[..., : len(_PAIRED) * models**2]
    shaped = squares.reshape(*flat.shape[:-1], len(_PAIRED), models, models)
    alone = flat[..., len(_PAIRED) * models**2 :].reshape(*flat.shape[:-1], len(_ALONE), models)
    named: dict[Any, Any] = {pair: shaped[..., k, :, :] for k, pair in enumerate(_PAIRED)}
    return named | {name: alone[..., k, :] for k, name in enumerate(_ALONE)}


def _listed_margins(data: Data) -> Any:
    cell = np.asarray(data["cell"])
    columns = [np.asarray(data[name])[cell] for name in ("cell_label", "cell_runs", "cell_positives")]
    return pattern_margins(answer_features(*columns))


def _by_model(part: Any, whole: Any, data: Data) -> dict[str, Any]:
    """Shares (..., M) by model, leaving out models with nothing to share."""
    return {str(name): part[..., m] / whole[..., m] for m, name in enumerate(data.coords["model"])
            if np.all(whole[..., m] > 0)}  # fmt: skip


def _by_pair(part: Any, whole: Any, data: Data) -> dict[str, Any]:
    """Shares (..., M, M) by pair ``a & b``, leaving out pairs with nothing in common."""
    models = data.coords["model"]
    pairs = itertools.combinations(range(len(models)), 2)
    return {f"{models[a]} & {models[b]}": part[..., a, b] / whole[..., a, b]
            for a, b in pairs if np.all(whole[..., a, b] > 0)}  # fmt: skip


def _diagonal(square: Any) -> Any:
    return np.diagonal(square, axis1=-2, axis2=-1)


def _verdict_rate(counts: Any, data: Data) -> dict[str, Any]:
    found = _margins(counts, data)
    return _by_model(found["positives"], found["runs"], data)


def _both_yes(counts: Any, data: Data) -> dict[str, Any]:
    found = _margins(counts, data)
    return _by_pair(found["yes", "yes"], found["seen", "seen"], data)


def _first_yes(counts: Any, data: Data) -> dict[str, Any]:
    found = _margins(counts, data)
    return _by_pair(found["yes", "seen"] - found["yes", "yes"], found["seen", "seen"], data)


def _second_yes(counts: Any, data: Data) -> dict[str, Any]:
    found = _margins(counts, data)
    second = np.swapaxes(found["yes", "seen"], -1, -2)
    return _by_pair(second - found["yes", "yes"], found["seen", "seen"], data)


def _disagreement(counts: Any, data: Data) -> dict[str, Any]:
    first, second = _first_yes(counts, data), _second_yes(counts, data)
    return {pair: first[pair] + second[pair] for pair in first}


def _both_right(counts: Any, data: Data) -> dict[str, Any]:
    found = _margins(counts, data)
    return _by_pair(found["right", "right"], found["labelled", "labelled"], data)


def _labelled(name: str) -> Callable[[Any, Data], dict[str, Any]]:
    def statistic(counts: Any, data: Data) -> dict[str, Any]:
        found = _margins(counts, data)
        part = _diagonal(found["right", "right"]) if name == "right" else found[name]
        return _by_model(part, _diagonal(found["labelled", "labelled"]), data)

    return statistic


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


STATISTICS: Mapping[str, Statistic] = {
    "verdict rate": _verdict_rate,
    "verdicts: both correct": _both_yes,
    "verdicts: only the first correct": _first_yes,
    "verdicts: only the second correct": _second_yes,
    "verdicts: disagreement": _disagreement,
    "labelled: both correct": _both_right,
    "labelled: correct": _labelled("right"),
    "labelled: correct, judged correct": _labelled("true_yes"),
    "labelled: wrong, judged correct": _labelled("false_yes"),
}
