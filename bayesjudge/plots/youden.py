"""Youden's J of the judge on each model, and how it differs between models."""

from __future__ import annotations

from matplotlib.artist import Artist
from matplotlib.figure import Figure

from bayesjudge.estimates import Estimates
from bayesjudge.plots.forest import draw_rows, rows_height
from bayesjudge.plots.selection import Selection, select
from bayesjudge.plots.theme import canvas, footnote, legend_columns, themed

__all__ = ["youden"]


@themed
def youden(estimates: Estimates, *, methods: tuple[str, ...] | None = None, most: int = 12) -> Figure:
    """J for each model beside ΔJ for each pair of models.

    Parameters
    ----------
    estimates : Estimates
        Rows of ``youden`` and, for two models or more, of ``delta_youden``.
    methods : tuple of str, optional
        Only these; ``"bayes:"`` stands for all Bayesian methods. A method with rows of only one of the two
        estimands is drawn there.
    most : int
        Most pairs shown, those with the largest |ΔJ|.

    Returns
    -------
    matplotlib.figure.Figure
        Left J with its line at 0, where verdicts say nothing; right ΔJ, whose intervals should reach 0 before
        one model's labels may calibrate the judge for another (seed paper, section 4.4).

    Raises
    ------
    UsageError
        There are no rows of ``youden``.

    Examples
    --------
    >>> row = {"estimand": "youden", "unit": "a", "method": "mle", "point": 0.5, "lower": 0.4, "upper": 0.6}
    >>> len(youden(Estimates.from_rows([row])).axes)
    1
    """
    parts = [_part(estimates, name, methods, most) for name in ("youden", "delta_youden")]
    chosen = [part for part in parts if part is not None]
    names = list(dict.fromkeys(method for part in chosen for method in part.methods))
    figure = canvas(
        max(rows_height(part) for part in chosen) + 0.35 + 0.35 * len(names) / legend_columns(names) + 0.6
    )
    panels = figure.subplots(1, len(chosen), squeeze=False)[0]
    for axes, part in zip(panels, chosen, strict=True):
        draw_rows(axes, part, reference=0.0)
        axes.set_xlabel(part.axis_label)
    handles: dict[str, Artist] = {}
    for axes in panels:
        handles |= {str(name): handle for handle, name in zip(*axes.get_legend_handles_labels(), strict=True)}
    columns = legend_columns(names)
    figure.legend(list(handles.values()), list(handles), loc="outside upper left", ncols=columns)
    footnote(figure, *dict.fromkeys(note for part in chosen for note in part.notes))
    return figure


def _part(
    estimates: Estimates, estimand: str, methods: tuple[str, ...] | None, most: int
) -> Selection | None:
    """Rows of one estimand; None where a single model leaves no pair to compare."""
    present = estimates.where(estimand=estimand)
    if estimand != "youden" and not len(present):
        return None
    names = set(present.frame["method"])
    wanted = None if methods is None else [m for m in methods if m == "bayes:" or m in names]
    return select(present, estimand=estimand, methods=wanted, most=most)
