"""How probable each rank of each model is."""

from __future__ import annotations

import re

import pandas as pd
from matplotlib.figure import Figure

from bayesjudge.errors import UsageError
from bayesjudge.plots.heat_map import draw_heat_map
from bayesjudge.plots.theme import canvas, footnote, grid_of, shorten, themed

__all__ = ["rank_probabilities"]

#: Probabilities below this leave their cell empty.
EMPTY = 0.005


@themed
def rank_probabilities(frame: pd.DataFrame) -> Figure:
    """Heat map of the posterior probability of each rank, with the numbers.

    Parameters
    ----------
    frame : pandas.DataFrame
        Columns ``model, rank_1, rank_2, ...`` and optionally ``judge``, which gets a panel each.

    Returns
    -------
    matplotlib.figure.Figure
        Models in the frame's order, rank 1 (best) on the left. Cells below half a percent stay empty.

    Raises
    ------
    UsageError
        The frame lacks those columns or has no rows.

    Examples
    --------
    >>> frame = pd.DataFrame({"model": ["a", "b"], "rank_1": [0.9, 0.1], "rank_2": [0.1, 0.9]})
    >>> [text.get_text() for text in rank_probabilities(frame).axes[0].texts]
    ['.90', '.10', '.10', '.90']
    """
    ranks = sorted(
        (name for name in frame.columns if re.fullmatch(r"rank_\d+", str(name))), key=lambda n: int(n[5:])
    )
    if frame.empty or not ranks or "model" not in frame:
        raise UsageError(
            f"ranks need rows with columns model, rank_1, rank_2, ...; found {list(frame.columns)}"
        )
    judges = list(dict.fromkeys(frame["judge"])) if "judge" in frame else [""]
    parts = [frame[frame["judge"] == judge] if "judge" in frame else frame for judge in judges]
    down, across = grid_of(len(parts), 1 if len(ranks) > 6 else 2)
    tallest = max(len(part) for part in parts)
    figure = canvas(down * (tallest * 0.3 + 0.75) + 0.25, width=min(9.6, across * (2.2 + 0.62 * len(ranks))))
    grid = figure.subplots(down, across, squeeze=False).flatten()
    for axes, judge, part in zip(grid, judges, parts, strict=False):
        seen = [name for name in ranks if part[name].notna().any()]
        draw_heat_map(axes, part[seen].to_numpy(dtype=float), rows=[str(name) for name in part["model"]],
                      columns=[name[5:] for name in seen], empty=EMPTY)  # fmt: skip
        axes.set_title(shorten(f"by {judge}", 44) if len(judges) > 1 else "")
    for axes in grid[len(parts) :]:
        axes.set_visible(False)
    footnote(figure, "posterior probability of each rank, 1 is best")
    return figure
