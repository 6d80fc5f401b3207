"""Conformal intervals for the human Elo of a model that only judges have compared (METHODS 4.4).

Other models, whose human Elo is known, calibrate: their scores are ``|judge Elo − human Elo| / SE``, or
the same without the SE. A rank that does not exist makes an infinite interval, and the note says how many
models it would take.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from bayesjudge.baselines.elo.held_out import LEAST_FOR_LINE, HeldOut, line
from bayesjudge.baselines.elo.targets import Floats
from bayesjudge.errors import UsageError
from bayesjudge.estimates import Estimates

type Kind = Literal["split", "jackknife+", "cv+"]
KINDS: tuple[Kind, ...] = ("split", "jackknife+", "cv+")


def conformal(
    held: HeldOut,
    *,
    kind: Kind = "split",
    on: Literal["raw", "line"] = "raw",
    prob: float = 0.9,
    normalised: bool = True,
    strata: Mapping[str, str] | None = None,
    weights: Mapping[str, float] | None = None,
    folds: int = 5,
    seed: int = 0,
) -> Estimates:
    """Interval for each model's human Elo, calibrated on all the others.

    Parameters
    ----------
    held : HeldOut
        From `bayesjudge.baselines.elo.held_out.held_out`: forward, only the models that were asked for there
        have an interval.
    kind : {"split", "jackknife+", "cv+"}
        Split conformal takes the judge's Elo as it is, so that no calibration model has to fit anything.
        Jackknife+ and CV+ (Barber et al. 2021) refit the line of ``on="line"`` without each calibration
        model, or without its fold; on raw Elo there is nothing to refit.
    on : {"raw", "line"}
        Judge Elo as it is, or put through a line to the human scale that was fitted without the target (and,
        for split, within each fold of `held_out`).
    prob : float
        Nominal coverage. Jackknife+ and CV+ guarantee ``2 prob − 1`` and in practice reach about ``prob``.
    normalised : bool
        Divide residuals by the standard error, so that widths follow it.
    strata : mapping of str to str, optional
        Family or strength class of each model; a model is calibrated on its own class alone (Mondrian).
    weights : mapping of str to float, optional
        How likely each model is among future models relative to these (weighted conformal, for a shift); only
        with ``kind="split"``.
    folds : int
        Folds of CV+.
    seed : int
        For the folds of CV+.

    Returns
    -------
    Estimates
        Estimand ``elo``, method ``conformal[...]``, point the (calibrated) judge Elo, truth the human Elo, n
        the number of calibration models. Where there is no interval, limits are infinite and the note says
        why.

    Raises
    ------
    UsageError
        An unknown kind, weights or strata that miss a model, or weights with jackknife+ or CV+.
    """
    if kind not in KINDS or (weights is not None and kind != "split"):
        raise UsageError(f"kind is {kind!r}, one of {list(KINDS)}; weights go with 'split' only")
    fitted = on == "line"
    split = kind == "split"
    task = _Task(
        held=held.calibrated() if fitted and split else held,
        refit=fitted and not split,
        prob=prob,
        normalised=normalised,
        stratum=_of_models(held, strata, "strata"),
        weight=_weights(held, weights),
        folds=folds if kind == "cv+" else None,
        seed=seed,
    )
    chosen = {kind: True, "line": fitted, "plain": not normalised, "mondrian": strata, "weighted": weights}
    name = ",".join(text for text, applies in chosen.items() if applies)
    limits = task.split if split else task.cross
    fixed = {"estimand": "elo", "method": f"conformal[{name}]", "prob": prob, "judge": held.judge}
    return Estimates.from_rows(
        [
            {**fixed, "unit": model, "truth": held.human[m], **limits(m)}
            for m, model in enumerate(held.models)
            if not held.is_forward or model in held.calibration
        ]
    )


def strength_strata(held: HeldOut, *, classes: int = 2) -> dict[str, str]:
    """Classes of equal size by judge Elo, weakest first, for Mondrian intervals; no human vote is used."""
    place = np.argsort(np.argsort(held.elo)) * classes // len(held.elo)
    return {model: f"class {k + 1}" for model, k in zip(held.models, place, strict=True)}


@dataclass(frozen=True, eq=False, kw_only=True)
class _Task:
    held: HeldOut
    prob: float
    normalised: bool
    refit: bool
    stratum: Mapping[str, Any] | None
    weight: Mapping[str, float] | None
    folds: int | None
    seed: int

    def split(self, m: int) -> dict[str, Any]:
        """Half-width ``q̂ SE``, with q̂ from the others' scores."""
        model, others = self.held.models[m], self._calibration(m)
        scores = np.abs(others.residual) / self._scale(others)
        if not np.all(np.isfinite(scores)) or not np.isfinite(self.held.elo[m]):
            return self._none(m, len(scores) - 1)
        if self.weight is None:
            quantile = upper_rank(scores, self.prob)
        else:
            each = np.array([self.weight[name] for name in others.models])
            quantile = weighted_rank(scores, each, self.weight[model], self.prob)
        point, width = self.held.elo[m], quantile * self._scale(self.held)[m]
        return self._row(point, point - width, point + width, len(scores))

    def cross(self, m: int) -> dict[str, Any]:
        """Jackknife+ and CV+: what each calibration model's left-out line says of m, plus its residual."""
        others, own = self._calibration(m), self._scale(self.held)[m]
        scale, fold = self._scale(others), self._fold(len(others.models))
        low, high, points = [], [], []
        for i in range(len(others.models)):
            kept = fold != fold[i]
            slope, intercept = line(others.elo[kept], others.human[kept]) if self.refit else (1.0, 0.0)
            if np.isnan(slope):
                return self._none(m, int(kept.sum()))
            width = abs(others.human[i] - intercept - slope * others.elo[i]) / scale[i] * own
            centre = intercept + slope * self.held.elo[m]
            low.append(centre - width)
            high.append(centre + width)
            points.append(centre)
        lower, upper = lower_rank(np.array(low), self.prob), upper_rank(np.array(high), self.prob)
        return self._row(float(np.median(points)) if points else np.nan, lower, upper, len(points))

    def _calibration(self, m: int) -> HeldOut:
        model = self.held.models[m]
        found = self.held.calibrating(model)
        if self.stratum is None:
            return found
        return found.keep(np.array([self.stratum[name] == self.stratum[model] for name in found.models], bool))

    def _fold(self, models: int) -> NDArray[np.int64]:
        if self.folds is None:
            return np.arange(models)
        if not 2 <= self.folds <= models:
            raise UsageError(f"folds is {self.folds}; it must be between 2 and the {models} calibration models")
        return np.asarray(np.random.default_rng(self.seed).permutation(models) % self.folds)

    def _scale(self, held: HeldOut) -> Floats:
        return held.error if self.normalised else np.ones(len(held.models))

    def _none(self, m: int, left: int) -> dict[str, Any]:
        """A row without an interval: there is no line to put the judge's Elo through."""
        why = f"a line needs {LEAST_FOR_LINE} calibration models of unequal Elo, and {max(left, 0)} are left"
        limits = {"point": np.nan, "lower": -np.inf, "upper": np.inf}
        return {**limits, "n": len(self._calibration(m).models), "note": f"no interval: {why}"}

    def _row(self, point: float, lower: float, upper: float, n: int) -> dict[str, Any]:
        least = least_size(self.prob)
        note = "infinite: too little weight on the calibration models"
        if n < least:
            note = f"infinite: {n} calibration models, and {self.prob:g} needs {least} or more"
        return {"point": point, "lower": lower, "upper": upper, "n": n, "note": note if np.isinf(upper - lower) else ""}


def _of_models(held: HeldOut, given: Mapping[str, Any] | None, name: str) -> Mapping[str, Any] | None:
    if given is None:
        return None
    missing = [model for model in held.models if model not in given]
    if missing:
        raise UsageError(f"{name} has nothing for {missing[0]!r}; give every model one")
    return given


def _weights(held: HeldOut, weights: Mapping[str, float] | None) -> Mapping[str, float] | None:
    if _of_models(held, weights, "weights") is None or weights is None:
        return None
    found = np.array([weights[model] for model in held.models], dtype=float)
    if not (np.all(np.isfinite(found)) and np.all(found >= 0) and found.sum() > 0):
        raise UsageError(f"weights are {dict(weights)}; they must be finite, 0 or more, and not all 0")
    return weights


def upper_rank(scores: NDArray[np.float64], prob: float) -> float:
    """The ⌈prob (n + 1)⌉-th smallest score; +∞ when there are fewer."""
    rank = _ceiling(prob * (len(scores) + 1))
    return float(np.sort(scores)[rank - 1]) if rank <= len(scores) else math.inf


def lower_rank(scores: NDArray[np.float64], prob: float) -> float:
    """The ⌊(1 − prob)(n + 1)⌋-th smallest; −∞ when that is none."""
    return -upper_rank(-np.asarray(scores), prob)


def weighted_rank(scores: NDArray[np.float64], weights: NDArray[np.float64], own: float, prob: float) -> float:
    """Smallest score at which the weights reach ``prob`` of their total (Tibshirani et al. 2019)."""
    order = np.argsort(scores)
    share = np.cumsum(weights[order]) / (weights.sum() + own)
    # Rounding must not push a sum of equal weights over the rank it is.
    place = int(np.searchsorted(share, prob - 1e-12))
    return float(scores[order][place]) if place < len(scores) else math.inf


def least_size(prob: float) -> int:
    """Calibration points that a finite interval needs at least."""
    n = max(0, math.floor(prob / (1 - prob)) - 2)
    while _ceiling(prob * (n + 1)) > n:
        n += 1
    return n


def _ceiling(value: float) -> int:
    """⌈value⌉, undisturbed by 0.9 · 10 being a hair above 9."""
    return math.ceil(round(value, 9))
