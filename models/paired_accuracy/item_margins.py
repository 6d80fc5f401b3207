"""What one judge's verdicts on several models look like from outside: margins of the joint patterns.

The joint pattern of M models has too many outcomes to list, but every statistic that users look at is a
sum over items of one model's or two models' outcomes. Those sums are P = 5 M² + 4 M numbers, linear in
the items, so observed and replicated items compare through them.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from bayesjudge.model import Data, Statistic

__all__ = ["STATISTICS", "answer_features", "margin_count", "pattern_margins", "summed_margins"]

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
