"""What a posterior of `judge_elo` says: human Elo and the judges; its test quantities."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayesjudge.estimates.posterior import quantity
from bayesjudge.maths.bradley_terry import to_elo
from bayesjudge.model import Data, Statistic
from bayesjudge.models.common.elo_results import ELO, elo_quantities
from bayesjudge.models.judge_elo.data import PEOPLE
from bayesjudge.models.judge_elo.strengths import deviation_correlations, joint_draws

if TYPE_CHECKING:
    import xarray as xr


PREDICTED = "predicted: no human vote"
#: What a row says whose strength is too poorly known for a normal about the maximum.
STEPPED = "few wins or losses: closest normal"
type Floats = NDArray[np.float64]


def quantities(posterior: xr.Dataset, data: Data, *, before_data: bool = False) -> dict[str, xr.DataArray]:
    """Human Elo and differences, then slope, deviations and effects of each judge.

    before_data: Strengths are those of the prior alone, as where no battle says anything.
    """
    silent = {name: np.zeros_like(data[name]) for name in ("y", "design", "effects", "gram", "known")}
    draws = joint_draws(posterior, data.with_arrays({**data.arrays, **silent}) if before_data else data)
    found = elo_quantities(_elo(draws.theta, data), n=data.units, note=_notes(data))
    judges = [str(name) for name in data.coords["judge"]]
    n = dict(zip(judges, np.asarray(data["judged"]).tolist(), strict=True))
    found |= {
        "slope": quantity(posterior["slope"], n=n, signed=True, headline=True),
        "deviation_spread": quantity(posterior["deviation_spread"], n=n),
    }
    if "deviation_partial" in posterior:
        pairs = {str(name): data.units[str(data.coords["system"][0])] for name in data.coords["judge_pair"]}
        found["deviation_correlation"] = quantity(deviation_correlations(posterior), n=pairs, signed=True)
    for estimand, own in (("effect", draws.effects), ("deviation", draws.deviations)):
        found[estimand] = quantity(own.assign_coords(n=("judge", list(n.values()))), signed=True)
    return found


def _notes(data: Data) -> dict[str, str]:
    """What a row of each model's Elo says."""
    names, poor = map(str, data.coords["system"]), np.asarray(data["poor"]).any(axis=0)
    said = {
        name: [*([] if data.units.get(name) else [PREDICTED]), *([STEPPED] if is_poor else [])]
        for name, is_poor in zip(names, poor, strict=True)
    }
    return {name: "; ".join(notes) for name, notes in said.items()}


def elo(posterior: xr.Dataset, data: Data) -> xr.DataArray:
    """Draws of each model's human Elo, on Hard-Elo's scale: a tie is half a win for both."""
    return _elo(joint_draws(posterior, data).theta, data)


def _elo(theta: xr.DataArray, data: Data) -> xr.DataArray:
    """Mean 1500 over the models that somebody has looked at; the others are left out."""
    known = np.any(np.asarray(data["design"]) != 0, axis=(0, 1))
    voted = theta.isel(system=np.flatnonzero(known))
    found: xr.DataArray = to_elo(voted - voted.mean("system"))
    return found.rename(ELO)


def bootstrap(data: Data, *, replicates: int, seed: int) -> Floats:
    """The observation with noise of its own kind once more, (replicates, N)."""
    y = np.asarray(data["y"])
    return np.asarray(y + np.random.default_rng(seed).normal(size=(replicates, len(y))))


def _strengths(sample: Any, data: Data) -> tuple[Floats, NDArray[np.int64]]:
    """Each rater's strengths by least squares, (..., R, voted models), and those models."""
    design, effects = np.asarray(data["design"]), np.asarray(data["effects"])
    raters, models = design.shape[1:]
    whole = np.concatenate([design.reshape(len(design), -1), effects.reshape(len(design), -1)], axis=1)
    found = np.asarray(sample) @ np.linalg.pinv(whole).T
    found = found[..., : raters * models].reshape(*found.shape[:-1], raters, models)
    both = np.all(np.any(design != 0, axis=0), axis=0)
    chosen = found[..., np.flatnonzero(both)]
    return chosen - chosen.mean(axis=-1, keepdims=True), np.flatnonzero(both)


def _off_the_line(sample: Any, data: Data) -> tuple[Floats, Floats]:
    """People's strengths (..., M') and what each judge's leave off a line on them (..., J, M')."""
    strengths, _ = _strengths(sample, data)
    people, judges = strengths[..., :1, :], strengths[..., 1:, :]
    slope = (judges * people).sum(axis=-1, keepdims=True) / np.maximum((people**2).sum(axis=-1, keepdims=True), 1e-12)
    return people[..., 0, :], judges - slope * people


def _spread(sample: Any, data: Data) -> dict[str, Any]:
    strengths, models = _strengths(sample, data)
    if len(models) < LEAST_MODELS:
        return {}
    names = (PEOPLE, *map(str, data.coords["judge"]))
    return {name: strengths[..., r, :].std(axis=-1) for r, name in enumerate(names)}


def _of_judges(figure: Callable[[Floats, Floats], Floats]) -> Statistic:
    """A figure of each judge, from people's strengths and what the judge's leave off a line on them, (..., M') each."""

    def statistic(sample: Any, data: Data) -> dict[str, Any]:
        people, left = _off_the_line(sample, data)
        judges = data.coords["judge"] if people.shape[-1] >= LEAST_MODELS else ()
        return {str(judge): figure(people, left[..., j, :]) for j, judge in enumerate(judges)}

    return statistic


def _shared(sample: Any, data: Data) -> dict[str, Any]:
    """Correlation of what two judges leave off the line."""
    people, left = _off_the_line(sample, data)
    if people.shape[-1] < LEAST_MODELS:
        return {}
    judges = list(map(str, data.coords["judge"]))
    return {
        f"{judges[a]} & {judges[b]}": _correlation(left[..., a, :], left[..., b, :])
        for a, b in itertools.combinations(range(len(judges)), 2)
    }


def _correlation(one: Floats, other: Floats) -> Floats:
    one, other = one - one.mean(axis=-1, keepdims=True), other - other.mean(axis=-1, keepdims=True)
    scale = np.sqrt((one**2).sum(axis=-1) * (other**2).sum(axis=-1))
    return np.asarray((one * other).sum(axis=-1) / np.maximum(scale, 1e-12))


#: Models with votes and verdicts below which a line says nothing.
LEAST_MODELS = 4

STATISTICS: Mapping[str, Statistic] = {
    "strengths: spread": _spread,
    "off the line: spread": _of_judges(lambda _, left: left.std(axis=-1)),
    "off the line: largest": _of_judges(
        lambda _, left: np.abs(left).max(axis=-1) / np.maximum(left.std(axis=-1), 1e-12)
    ),
    # With the square of people's strengths: a judge that saturates.
    "off the line: bend": _of_judges(lambda people, left: _correlation(left, people**2)),
    "off the line: shared by two judges": _shared,
}
