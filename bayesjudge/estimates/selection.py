"""Which estimates a figure shows, in which order: units by their Bayesian point, Bayesian methods first."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from bayesjudge.errors import UsageError
from bayesjudge.estimates.table import Estimates, estimand_words, is_bayesian


@dataclass(frozen=True, eq=False, kw_only=True)
class Selection:
    """Rows of one estimand, ready to be drawn.

    frame: Rows of `Estimates` with the column ``label``: the unit, with judge and group where there are several.
    labels, methods: In the order they are drawn, top to bottom.
    hidden: Units left out because there are too many.
    estimand: What the numbers are.
    """

    frame: pd.DataFrame
    labels: tuple[str, ...]
    methods: tuple[str, ...]
    hidden: int
    estimand: str

    @property
    def truths(self) -> dict[str, float]:
        """Known truth by label, where there is one."""
        known: dict[str, float] = {}
        for label, value in zip(self.frame["label"].tolist(), self.frame["truth"].tolist(), strict=True):
            if not math.isnan(value):
                known.setdefault(label, value)
        return known

    @property
    def truth_note(self) -> str:
        """How the truth is drawn, or nothing where none is known."""
        return "dashed line and diamond: truth" if self.truths else ""

    def without_truth(self) -> Selection:
        """The same rows with the truth forgotten."""
        return replace(self, frame=self.frame.assign(truth=np.nan))

    def ordered(self, units: Sequence[str]) -> Selection:
        """The same rows with the labels in this order; labels that it lacks follow as they are."""
        place = {unit: k for k, unit in enumerate(units)}
        labels = sorted(self.labels, key=lambda label: place.get(label, len(place)))
        return replace(self, labels=tuple(labels))

    @property
    def signed(self) -> bool:
        """Whether zero means no difference."""
        return self.estimand.startswith(("difference", "delta_"))

    @property
    def axis_label(self) -> str:
        """The estimand with the intervals' probability."""
        probs = sorted(self.frame["prob"].dropna().unique())
        shown = "/".join(f"{prob:.4g}" for prob in np.multiply(probs, 100))
        return f"{title_of(self.estimand)}, {shown} % intervals" if probs else title_of(self.estimand)

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader must know of the figure: units not shown, rows that did not converge."""
        hidden = f"{self.hidden} of {self.hidden + len(self.labels)} not shown (those nearest to 0)"
        doubtful = self.frame["note"].astype(str).str.contains("not converged").any()
        return ((hidden,) if self.hidden else ()) + (("hollow: not converged",) if doubtful else ())


def title_of(estimand: str) -> str:
    """Name of an estimand for people."""
    words = estimand_words(estimand)
    return words[:1].upper() + words[1:]


def select(
    estimates: Estimates,
    *,
    estimand: str,
    units: Sequence[str] | None = None,
    methods: Sequence[str] | None = None,
    most: int | None = None,
) -> Selection:
    """Choose and order the rows of one estimand.

    units, methods: Only these; ``"bayes:"`` represents all Bayesian methods.
    most: At most so many units of a difference, those with the largest Bayesian |point|; no limit when ``units`` are
        given.
    """
    frame = _matching(estimates.frame, "estimand", [estimand])
    if units is not None:
        frame = _matching(frame, "unit", units)
    wanted = None if methods is None else _expand(methods, frame["method"].unique())
    if wanted is not None:
        frame = _matching(frame, "method", wanted)
    frame = frame.assign(label=_labels(frame))
    order = bayes_first(frame["method"].unique() if wanted is None else wanted)
    points = _leading_points(frame, order)
    signed = estimand.startswith(("difference", "delta_"))
    kept = points.index
    if most is not None and units is None and signed and len(points) > most:
        kept = points.abs().sort_values(ascending=False, kind="stable", na_position="last").index[:most]
    labels = points.loc[points.index.isin(kept)].sort_values(ascending=False, kind="stable", na_position="last").index
    return Selection(
        frame=frame[frame["label"].isin(labels)],
        labels=tuple(labels),
        methods=tuple(order),
        hidden=len(points) - len(labels),
        estimand=estimand,
    )


def _matching(frame: pd.DataFrame, column: str, wanted: Sequence[str]) -> pd.DataFrame:
    present = list(frame[column].unique())
    unknown = [value for value in wanted if value not in present]
    if unknown or not wanted:
        raise UsageError(f"no {column} {unknown[0] if unknown else ''!r} to draw; there are {present}")
    return frame[frame[column].isin(list(wanted))]


def _expand(methods: Sequence[str], present: Iterable[str]) -> list[str]:
    """``bayes:`` represents every Bayesian method."""
    bayes = [method for method in dict.fromkeys(present) if is_bayesian(method)]
    return [one for method in methods for one in (bayes if method == "bayes:" else [method])]


def _labels(frame: pd.DataFrame) -> pd.Series:
    """The unit, with judge and group where there is more than one and they are not the unit itself."""
    label = frame["unit"].astype(str)
    for column in ("judge", "group"):
        if len(frame[column].unique()) > 1:
            named = frame[column].astype(str)
            label = label.where((named == "") | (named == frame["unit"]), label + " · " + named)
    return label


def bayes_first(methods: Iterable[str]) -> list[str]:
    """Methods once each, Bayesian ones first, otherwise in their order."""
    return sorted(dict.fromkeys(methods), key=lambda method: not is_bayesian(method))


def _leading_points(frame: pd.DataFrame, order: Sequence[str]) -> pd.Series:
    """One point a unit: that of the first method which has a number for it."""
    place = {method: k for k, method in enumerate(order)}
    rows: dict[str, dict[int, float]] = {}
    for label, method, point in zip(*(frame[name].tolist() for name in ("label", "method", "point")), strict=True):
        rows.setdefault(label, {}).setdefault(place[method], point)
    leading = {
        label: next((own[k] for k in sorted(own) if not math.isnan(own[k])), math.nan) for label, own in rows.items()
    }
    return pd.Series(leading, dtype=float)
