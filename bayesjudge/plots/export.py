"""Figures to SVG text: equal figures give equal text, and words stay words."""

from __future__ import annotations

import io
import re
import warnings
from typing import Any

import matplotlib as mpl
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from bayesjudge.text import visible

_SETTINGS: dict[Any, Any] = {
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
    buffer, canvas, dpi = io.StringIO(), figure.canvas, figure.dpi
    with mpl.rc_context(_SETTINGS), warnings.catch_warnings():
        # The reader's browser has the glyphs that the font used here for measuring may lack.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        try:
            # `savefig` draws a figure twice where it has a layout, which one drawing does as it goes.
            FigureCanvasSVG(figure).print_svg(buffer, metadata=_NO_METADATA)  # type: ignore[no-untyped-call]
        finally:
            figure.set_canvas(canvas)
            figure.dpi = dpi
    # Figures are drawn without tabs or the like, so that any of them came with somebody's name.
    text = visible(buffer.getvalue())
    # The layout's last bits differ from run to run, and matplotlib's ids are digests of them.
    ids: dict[str, str] = {}
    text = _ID.sub(lambda found: found[1] + ids.setdefault(found[2], f"{found[2][0]}{len(ids)}"), text)
    return re.sub(r"[ \t]+$", "", text[text.index("<svg") :], flags=re.MULTILINE)
