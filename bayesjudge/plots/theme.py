"""One look for every figure, whatever settings of matplotlib the caller has, and its SVG: equal figures, equal text."""

from __future__ import annotations

import functools
import io
import math
import re
import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import matplotlib as mpl
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from bayesjudge.errors import UsageError
from bayesjudge.plots.palette import GRID, INK, MUTED, PAPER
from bayesjudge.text import visible

#: Width of a figure in inches: the column of the page, where the sizes below are true.
WIDTH = 9.6
#: Between the two units of a difference.
PAIR = " − "
#: Between the words of a name.
WORDS = re.compile(r"[\s/_-]+")
#: Font sizes in points.
TEXT, SMALL = 9.0, 7.8

RC: dict[Any, Any] = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": TEXT,
    "axes.titlesize": TEXT,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    # Fixed: to look for what a title may lie on takes matplotlib a tenth of the time of a page.
    "axes.titley": 1.0,
    "axes.titlecolor": INK,
    "axes.labelsize": TEXT,
    "axes.labelcolor": MUTED,
    "axes.edgecolor": MUTED,
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.facecolor": "none",
    "axes.axisbelow": True,
    "xtick.labelsize": SMALL,
    "ytick.labelsize": SMALL,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelcolor": MUTED,
    "ytick.labelcolor": INK,
    "xtick.major.size": 3,
    "ytick.major.size": 0,
    "text.color": INK,
    "legend.frameon": False,
    "legend.fontsize": SMALL,
    "figure.facecolor": PAPER,
    "savefig.facecolor": "auto",
    # A model's name may hold dollar signs; nothing of ours is mathematical text.
    "text.parse_math": False,
    "text.usetex": False,
    "axes.unicode_minus": True,
}


def themed[**P, R](draw: Callable[P, R]) -> Callable[P, R]:
    """Draw under the house's settings and put the caller's back."""

    @functools.wraps(draw)
    def under_theme(*args: P.args, **kwargs: P.kwargs) -> R:
        # The backend stays as it is, since a figure is drawn without one.
        own: dict[Any, Any] = {k: value for k, value in mpl.rcParamsDefault.items() if not k.startswith("backend")}
        with mpl.rc_context({**own, **RC}):
            return draw(*args, **kwargs)

    return under_theme


def canvas(height: float, width: float = WIDTH) -> Figure:
    """An empty figure of a size in inches, without any window or global list of figures."""
    return Figure(figsize=(width, height), layout="constrained")


def bare(axes: Axes, *, grid: str | None = "x") -> Axes:
    """Leave only the lower axis, with a light grid along one direction."""
    axes.spines["left"].set_visible(False)
    if grid:
        axes.grid(axis=grid, color=GRID, linewidth=0.8)  # type: ignore[arg-type]  # one of "x", "y", "both"
    return axes


def footnote(figure: Figure, *sentences: str) -> None:
    """One muted line below the figure; empty sentences are left out."""
    text = " · ".join(sentence for sentence in sentences if sentence)
    if text:
        figure.supxlabel(text, fontsize=SMALL, color=MUTED)


def shorten(name: str, most: int = 40) -> str:
    """Cut the middle of a long name, where names of model versions differ least.

    Examples
    --------
    >>> shorten("an-organisation/a-model-with-a-very-long-name-v2", 24)
    'an-organisati…ng-name-v2'
    """
    if len(name) <= most:
        return name
    tail = (most - 1) * 2 // 5 + 1
    return name[: most - 1 - tail] + "…" + name[-tail:]


def short_names(names: Iterable[object], most: int = 40) -> list[str]:
    """Names cut to fit that still differ where the names do."""
    full = [str(name) for name in names]
    label = {name: shorten(name, most) for name in full}
    cut: dict[str, list[str]] = {}
    for name, short in label.items():
        cut.setdefault(short, []).append(name)
    for alike in cut.values():
        if len(alike) > 1:
            ends = ["…".join(words) for words in _own_words(alike)]
            label |= {name: _ending(name, end, most) for name, end in zip(alike, ends, strict=True)}
    if len(set(label.values())) < len(label):
        long = [name for name in label if len(name) > most]
        label |= {name: _ending(name, str(number), most) for number, name in enumerate(long, 1)}
    return [label[name] for name in full]


def _ending(name: str, end: str, most: int) -> str:
    """The beginning of a name, and what tells it from others as far as there is room."""
    end = end[: 2 * most // 3]
    return f"{name[: most - 1 - len(end)]}…{end}"


def _own_words(names: list[str]) -> list[tuple[str, ...]]:
    """Of every name the words that not all names have; none where they have unlike numbers of words."""
    words = [WORDS.split(name) for name in names]
    if len({len(one) for one in words}) > 1:
        return [()] * len(names)
    places = [place for place in zip(*words, strict=True) if len(set(place)) > 1]
    return list(zip(*places, strict=True)) or [()] * len(names)


def lines_of(name: str, most: int = 38) -> str:
    """A name cut to fit; a pair that is too long takes two lines.

    Examples
    --------
    >>> print(lines_of("gpt-4o-2024-08-06 − Mistral-7B-Instruct-v0.2", 24))
    gpt-4o-2024-08-06
    − Mistral-7B-Instruct-v0.2
    """
    if len(name) <= most or PAIR not in name:
        return shorten(name, most)
    first, second = name.split(PAIR, 1)
    return f"{shorten(first, most)}\n− {shorten(second, most)}"


def grid_of(count: int, columns: int) -> tuple[int, int]:
    """Rows and columns for that many panels, as even as they can be."""
    down = max(math.ceil(count / columns), 1)
    return down, max(math.ceil(count / down), 1)


def panels_of(
    figure: Figure, count: int, shape: tuple[int, int], *, sharex: bool = False, sharey: bool = False
) -> list[Axes]:
    """So many panels of a grid, row by row; the rest of it stays empty."""
    grid = figure.subplots(*shape, squeeze=False, sharex=sharex, sharey=sharey).flatten()
    for axes in grid[count:]:
        axes.set_visible(False)
    return list(grid[:count])


def require_rows(frame: pd.DataFrame, needed: Sequence[str], what: str) -> None:
    """Refuse a table without these columns, or without rows."""
    missing = [name for name in needed if name not in frame.columns]
    if missing or frame.empty:
        raise UsageError(f"{what} rows with columns {list(needed)}; missing {missing}")


def legend_columns(names: Sequence[str]) -> int:
    """How many entries of a legend fit side by side across a figure."""
    return max(1, int(145 // (max((len(name) for name in names), default=1) + 7)))


_SVG: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "bayesjudge",
    "text.parse_math": False,
    # The font that comes with matplotlib: a figure is then the same on every machine, and ten are not looked for.
    "font.sans-serif": ["DejaVu Sans"],
}
_ID = re.compile(r'(id="|url\(#|href="#)([a-z][0-9a-f]{10})(?=[")])')
_NO_METADATA = {"Date": None, "Creator": None, "Format": None, "Type": None}


def to_svg(figure: Figure) -> str:
    """Draw a figure as SVG.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
        Any figure.

    Returns
    -------
    str
        One ``<svg>`` element without date, version or outside reference; words are escaped text in a
        sans-serif font.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> to_svg(Figure(figsize=(1, 1))).startswith("<svg")
    True
    """
    buffer, before, dpi = io.StringIO(), figure.canvas, figure.dpi
    with mpl.rc_context(_SVG), warnings.catch_warnings():
        # The reader's browser has the glyphs that the font used here for measuring may lack.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        try:
            # `savefig` draws a figure twice where it has a layout, which one drawing does as it goes.
            FigureCanvasSVG(figure).print_svg(buffer, metadata=_NO_METADATA)  # type: ignore[no-untyped-call]
        finally:
            figure.set_canvas(before)
            figure.dpi = dpi
    # Figures are drawn without tabs or the like, so that any of them came with somebody's name.
    text = visible(buffer.getvalue())
    # The layout's last bits differ from run to run, and matplotlib's ids are digests of them.
    ids: dict[str, str] = {}
    text = _ID.sub(lambda found: found[1] + ids.setdefault(found[2], f"{found[2][0]}{len(ids)}"), text)
    return re.sub(r"[ \t]+$", "", text[text.index("<svg") :], flags=re.MULTILINE)
