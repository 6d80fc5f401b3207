"""Test quantities of `conditional_panel`: above all, how often two judges err on the same answer."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesjudge.model import Data, Statistic


def _shares(response: Any, data: Data) -> tuple[Any, NDArray[np.bool_]]:
    """Share of a judge's runs on an answer that said 1 (..., A, J), and where there are any (A, J)."""
    runs = np.asarray(data["runs"])
    return np.asarray(response)[..., 1:] / np.maximum(runs, 1), runs > 0


def _rates(response: Any, data: Data) -> dict[str, Any]:
    share, voted = _shares(response, data)
    return {
        str(judge): share[..., voted[:, j], j].mean(axis=-1)
        for j, judge in enumerate(data.coords["judge"])
        if voted[:, j].any()
    }


def _by_model(response: Any, data: Data) -> dict[str, Any]:
    known, of = np.asarray(data["known"]) > 0, np.asarray(data["model_of"])
    label = np.asarray(response)[..., 0]
    rows = {name: known & (of == m) for m, name in enumerate(data.coords["system"])}
    return {str(name): label[..., chosen].mean(axis=-1) for name, chosen in rows.items() if chosen.any()}


def _products(value: Any, chosen: NDArray[np.bool_], data: Data) -> dict[str, Any]:
    """Mean product of two judges' values over the answers chosen for both."""
    names, found = data.coords["judge"], {}
    for a, b in itertools.combinations(range(len(names)), 2):
        both = chosen[:, a] & chosen[:, b]
        if both.any():
            found[f"{names[a]}, {names[b]}"] = (value[..., both, a] * value[..., both, b]).mean(axis=-1)
    return found


def _co_errors(response: Any, data: Data) -> dict[str, Any]:
    """Share of labelled answers that both of two judges get wrong."""
    share, voted = _shares(response, data)
    error = np.abs(share - np.asarray(response)[..., :1])
    return _products(error, voted & (np.asarray(data["known"]) > 0)[:, None], data)


STATISTICS: Mapping[str, Statistic] = {
    "verdicts: rate of a judge": _rates,
    "verdicts: both judges give 1": lambda response, data: _products(*_shares(response, data), data),
    "labels: right, by model": _by_model,
    "labelled: both judges wrong": _co_errors,
}
