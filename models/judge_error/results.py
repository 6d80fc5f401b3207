"""What a posterior of `judge_error` says of the estimands.

Given the parameters, answers are independent, and one without a label is right with probability

    P(y = 1 | v) = θ_m P(v | y = 1) / (θ_m P(v | y = 1) + (1 − θ_m) P(v | y = 0)),

so of the n answers that show one pattern of verdicts, Binomial(n, P(y = 1 | v)) are right.

Each takes counts (..., patterns) and the data, and names shares with the same leading shape. What was
never seen (a model without labels) is left out rather than shown as 0 of 0.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesjudge.estimates import Estimates, Population
from bayesjudge.estimates.posterior import accuracy_rows
from bayesjudge.model import Data, Statistic
from bayesjudge.models.common.at_draws import at_draws
from bayesjudge.models.common.verdict_channel import channel_quality, logistic_normal_mean, quality_rows

if TYPE_CHECKING:
    import xarray as xr

    from bayesjudge.model import Data

__all__ = ["STATISTICS", "estimates", "overall", "unit_accuracy", "unit_accuracy_of_items"]


def estimates(
    theta: xr.DataArray, posterior: xr.Dataset, data: Data, *, prob: float, method: str,
    population: Population,
) -> Estimates:  # fmt: skip
    """Accuracy and difference of models, overall and by group, then the quality of each judge.

    ``theta`` holds the accuracy of each unit on the population.
    """
    dim: str = data.facts["unit"]
    common: dict[str, Any] = {"method": method, "prob": prob}
    rows = accuracy_rows(overall(theta, data), n=data.units, population=population, **common)
    quality = channel_quality(posterior, dim, data.coords[dim])
    for group in data.coords["group"] if dim == "model_group" else ():
        n = {model: data.units[f"{model} | {group}"] for model in data.coords["model"]}
        part = _answered(_within(theta, group, data))
        rows += accuracy_rows(part, n=n, population=population, group=group, **common)
        parts = {name: _within(draws, group, data) for name, draws in quality.items()}
        rows += quality_rows(parts, n=n, group=group, **common)
    if dim == "model":
        rows += quality_rows(quality, n=data.units, **common)
    return Estimates.from_rows(rows)


def overall(theta: xr.DataArray, data: Data) -> xr.DataArray:
    """Accuracy of each model, dims ``chain, draw, model``; groups weigh by their share of its answers."""
    import xarray as xr

    if data.facts["unit"] == "model":
        return theta
    share = xr.DataArray(np.asarray(data["share"]), dims="model_group")
    parts = [_within((theta * share).fillna(0.0), group, data) for group in data.coords["group"]]
    total: xr.DataArray = sum(parts[1:], parts[0])
    return total


def unit_accuracy(posterior: xr.Dataset, data: Data) -> xr.DataArray:
    """θ of each unit, averaged over clusters where items come in clusters."""
    theta: xr.DataArray = posterior["theta"]
    if data.facts["clusters"]:
        theta = logistic_normal_mean(np.log(theta) - np.log1p(-theta), posterior["accuracy_spread"])
    return theta


def _answered(theta: xr.DataArray) -> xr.DataArray:
    """Without models that have no answers here: of exactly these items there is nothing to say."""
    return theta.isel(model=np.isfinite(theta.isel(chain=0, draw=0).to_numpy()))


def _within(draws: xr.DataArray, group: str, data: Data) -> xr.DataArray:
    """The units of one group, along a dim ``model``."""
    models, groups = data.coords["model"], data.coords["group"]
    chosen = [k * len(groups) + groups.index(group) for k in range(len(models))]
    return draws.isel(model_group=chosen).rename(model_group="model").assign_coords(model=list(models))


def unit_accuracy_of_items(
    log_joint: Callable[[], Any], posterior: xr.Dataset, data: Data, *, seed: int
) -> xr.DataArray:
    """Share of right answers in each unit, dims ``chain, draw`` and the unit's.

    Parameters
    ----------
    log_joint : callable
        Samples the model's sites and returns log P(y, v) of every pattern, (2, patterns), y = 0 first.
    posterior, data
        Draws and the patterns they were fitted to.
    seed : int
        Of the draws of unknown labels.

    Notes
    -----
    A unit without answers has no such share, and NaN.
    """
    import xarray as xr

    def right(_: Any) -> Any:
        import jax

        wrong, correct = log_joint()
        return jax.nn.sigmoid(correct - wrong)

    p, label, n = at_draws(right, posterior), np.asarray(data["label"]), np.asarray(data["n"])
    drawn = np.random.default_rng(seed).binomial(np.where(label < 0, n, 0), p)
    dim, unit = data.facts["unit"], np.asarray(data["unit"])
    of_unit = unit[:, None] == np.arange(data.size(dim))
    size = n @ of_unit
    share = np.divide((drawn + n * (label == 1)) @ of_unit, size, where=size > 0,
                      out=np.full((*p.shape[:2], len(size)), np.nan))  # fmt: skip
    return xr.DataArray(share, dims=("chain", "draw", dim), coords={dim: list(data.coords[dim])})


def _shares(counts: Any, data: Data, part: Any, whole: Any) -> dict[str, Any]:
    """Σ n·part / Σ n·whole over the patterns of each unit, for weights (patterns,) of each."""
    out = {}
    for k, name in enumerate(data.coords[data.facts["unit"]]):
        mine = np.asarray(data["unit"]) == k
        total = counts @ (whole * mine)
        if np.all(total > 0):
            out[str(name)] = (counts @ (part * mine)) / total
    return out


def _arrays(data: Data) -> tuple[Any, Any, Any]:
    """Label (patterns,), runs and positives (patterns, judges)."""
    return np.asarray(data["label"]), np.asarray(data["runs"]), np.asarray(data["positives"])


def _majority(data: Data) -> Any:
    """Whether most runs of all judges said 1."""
    _, runs, positives = _arrays(data)
    return 2 * positives.sum(1) > runs.sum(1)


def _verdict_rate(counts: Any, data: Data) -> dict[str, Any]:
    """Share of each judge's runs that said 1."""
    _, runs, positives = _arrays(data)
    if runs.shape[1] == 1:
        return _shares(counts, data, positives[:, 0], runs[:, 0])
    return {f"{judge} | {unit}": share for j, judge in enumerate(data.coords["judge"])
            for unit, share in _shares(counts, data, positives[:, j], runs[:, j]).items()}  # fmt: skip


def _unlabelled_rate(counts: Any, data: Data) -> dict[str, Any]:
    label, *_ = _arrays(data)
    return _shares(counts, data, _majority(data) & (label < 0), label < 0)


def _labelled_correct(counts: Any, data: Data) -> dict[str, Any]:
    label, *_ = _arrays(data)
    return _shares(counts, data, label == 1, label >= 0)


def _true_positive(counts: Any, data: Data) -> dict[str, Any]:
    label, *_ = _arrays(data)
    return _shares(counts, data, _majority(data) & (label == 1), label >= 0)


def _false_positive(counts: Any, data: Data) -> dict[str, Any]:
    label, *_ = _arrays(data)
    return _shares(counts, data, _majority(data) & (label == 0), label >= 0)


def _split_runs(counts: Any, data: Data) -> dict[str, Any]:
    """Share of (answer, judge) with two runs or more whose runs disagree; ρ is there to reproduce it."""
    _, runs, positives = _arrays(data)
    split = (positives > 0) & (positives < runs)
    return _shares(counts, data, split.sum(1), (runs > 1).sum(1))


def _judges_agree(counts: Any, data: Data) -> dict[str, Any]:
    """Share of (answer, two judges) whose majorities agree; independence given y is seen to fail here."""
    _, runs, positives = _arrays(data)
    yes, seen = 2 * positives > runs, runs > 0
    pairs = list(itertools.combinations(range(runs.shape[1]), 2))
    both = sum((seen[:, i] & seen[:, j]).astype(int) for i, j in pairs)
    agree = sum((seen[:, i] & seen[:, j] & (yes[:, i] == yes[:, j])).astype(int) for i, j in pairs)
    return _shares(counts, data, agree, both) if pairs else {}


STATISTICS: Mapping[str, Statistic] = {
    "verdict rate": _verdict_rate,
    "verdict rate, unlabelled": _unlabelled_rate,
    "labelled: correct": _labelled_correct,
    "labelled: correct, judged correct": _true_positive,
    "labelled: wrong, judged correct": _false_positive,
    "runs disagree": _split_runs,
    "judges agree": _judges_agree,
}
