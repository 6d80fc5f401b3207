"""One interval and its point, whatever it is: finite, infinite, past the edge, undefined, not converged."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle
from numpy.typing import NDArray

from bayesjudge.plots.palette import INK, MISSING, MUTED, PAPER, Style

type Array = NDArray[np.float64]

#: Intervals wider than so many median widths do not stretch the axis: they end in an arrow.
WIDE = 4.0


@dataclass(frozen=True, kw_only=True)
class Limits:
    """The visible stretch of the axis."""

    lower: float
    upper: float

    @property
    def width(self) -> float:
        """Length of the stretch."""
        return self.upper - self.lower


def limits_of(frame: pd.DataFrame, *, include: float | None = None) -> Limits:
    """Stretch that holds every interval that is not far wider than the others, and every point that is not far off."""
    defined = frame[np.isfinite(frame["point"])]
    width = (defined["upper"] - defined["lower"]).to_numpy(dtype=float)
    finite = np.isfinite(width)
    typical = np.median(width[finite]) if finite.any() else np.inf
    core = defined[~(width > WIDE * typical) & ~np.isinf(width)]
    core = core if len(core) else defined
    values = [core[name].to_numpy(dtype=float) for name in ("point", "lower", "upper")]
    values += [frame["truth"].to_numpy(dtype=float), np.array([np.nan if include is None else include])]
    drawn = np.concatenate(values)
    drawn = drawn[np.isfinite(drawn)]
    if not len(drawn):
        return Limits(lower=0.0, upper=1.0)
    low, high = float(drawn.min()), float(drawn.max())
    point = defined["point"].to_numpy(dtype=float)
    near = point[(point > 2 * low - high) & (point < 2 * high - low)]
    low, high = float(near.min(initial=low)), float(near.max(initial=high))
    margin = 0.035 * (high - low) or 0.05 * max(abs(high), 1.0)
    return Limits(lower=low - margin, upper=high + margin)


def draw_intervals(
    axes: Axes,
    frame: pd.DataFrame,
    y: Array,
    *,
    style: Style,
    limits: Limits,
    label: str,
    size: float = 4.5,
    thickness: float = 0.6,
) -> None:
    """Draw rows with columns ``point, lower, upper, note`` at heights ``y``; a row takes ``thickness``."""
    point, lower, upper = (frame[name].to_numpy(dtype=float) for name in ("point", "lower", "upper"))
    defined = np.isfinite(point)
    low, high = np.clip(lower, limits.lower, limits.upper), np.clip(upper, limits.lower, limits.upper)
    drawn = defined & ~np.isnan(lower) & ~np.isnan(upper)
    axes.hlines(y[drawn], low[drawn], high[drawn], colors=style.colour, linewidth=style.width, capstyle="butt")
    _arrows(axes, y, drawn & (lower < limits.lower), at=limits.lower, marker="<", colour=style.colour)
    _arrows(axes, y, drawn & (upper > limits.upper), at=limits.upper, marker=">", colour=style.colour)
    inside = defined & (point >= limits.lower) & (point <= limits.upper)
    doubtful = frame["note"].astype(str).str.contains("not converged").to_numpy(dtype=bool)
    for chosen, face in ((inside & ~doubtful, style.colour), (inside & doubtful, PAPER)):
        if face == PAPER and not chosen.any():
            continue
        axes.plot(
            point[chosen],
            y[chosen],
            style.marker,
            markersize=size,
            markerfacecolor=face,
            markeredgecolor=style.colour,
            markeredgewidth=1.0,
            label=label if face == style.colour else None,
            zorder=3,
        )
    _undefined(axes, y[~defined], limits, thickness)


def _arrows(axes: Axes, y: Array, chosen: NDArray[np.bool_], *, at: float, marker: str, colour: str) -> None:
    if chosen.any():
        axes.plot(np.full(chosen.sum(), at), y[chosen], marker, markersize=4.5, color=colour, clip_on=False, zorder=4)


def _undefined(axes: Axes, y: Array, limits: Limits, thickness: float) -> None:
    """An open bar over the whole width: nothing is known."""
    for height in y:
        bar = Rectangle(
            (limits.lower, height - thickness / 2),
            limits.width,
            thickness,
            facecolor="none",
            edgecolor=MISSING,
            linewidth=0.8,
            linestyle=(0, (3, 2)),
        )
        axes.add_patch(bar)
        axes.text(
            limits.lower + limits.width / 2, height, "undefined", ha="center", va="center", fontsize=6.8, color=MUTED
        )


def draw_truth(
    axes: Axes, truth: float, low: float, high: float, *, label: str | None = None, zorder: float = 2.5
) -> None:
    """A stroke from ``low`` to ``high`` at the known truth, with a diamond at its end."""
    axes.plot([truth, truth], [low, high], color=INK, linewidth=1.1, linestyle=(0, (2, 1.5)), zorder=zorder)
    axes.plot([truth], [low], "d", color=INK, markersize=5, clip_on=False, zorder=5, label=label)


def zero_line(axes: Axes, at: float | None) -> None:
    """A vertical line at the value that means no difference."""
    if at is not None:
        axes.axvline(at, color=MUTED, linewidth=1.0, zorder=1)
