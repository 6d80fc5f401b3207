"""Sections that the pages of all questions share: checks, every estimate, rows that were dropped."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pandas as pd

from bayesjudge.plots import loo_comparison, predictive, rank_traces, to_svg, worst_mixing
from bayesjudge.report import Figure, Section, Table, estimates_table

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

    from bayesjudge.estimates import Estimates
    from bayesjudge.studies.common.comparison import Comparison


#: Units of one statistic that a figure shows.
MOST_UNITS = 16


def figure_of(drawing: Drawing, caption: str, alt: str) -> Figure:
    """A drawing with its words, as a page takes it."""
    return Figure(caption=caption, svg=to_svg(drawing), alt=alt)


def dropped_lines(answer: Comparison) -> list[str]:
    """Rows that could not be used, as sentences."""
    return [f"{count} rows could not be used: {reason}" for reason, count in answer.dropped.items()]


def checks_section(answer: Comparison) -> Section:
    """Predictive checks, comparisons, prior sensitivity and mixing, with every table in full."""
    checks, figures, text = answer.checks, [], []
    if "predictive" in checks:
        flagged = int(checks["predictive"]["flagged"].sum())
        text.append(f"Predictive checks: {flagged} of {len(checks['predictive'])} statistics are flagged.")
        for method, frame in checks["predictive"].groupby("method", sort=False):
            beside = ", and their bootstrap" if frame["bootstrap_lower"].notna().any() else ""
            caption = f"{method}: observed statistics, what the model predicts for them{beside}."
            if frame["statistic"].value_counts().max() > MOST_UNITS:
                caption += f" Of statistics with many units, the {MOST_UNITS} that the model predicts worst."
            figures.append(figure_of(predictive(frame, most=MOST_UNITS), caption, text[-1]))
    if "comparison" in checks:
        caption = "Leave-one-out comparison of the three poolings of the judge's errors."
        figures.append(figure_of(loo_comparison(checks["comparison"]), caption, caption))
    if "sensitivity" in checks:
        moved, total = int(checks["sensitivity"]["prior_sensitive"].sum()), len(checks["sensitivity"])
        text.append(f"Prior sensitivity by power scaling: {moved} of {total} estimands move with the prior.")
    if answer.fits:
        caption = "Ranks of the draws of the six worst-mixing parameters; even bars mean that the chains agree."
        alt = f"Rank plots. Largest R-hat {answer.gate.figures['rhat']:.3f}."
        figures.append(figure_of(rank_traces(_worst_chains(answer)), caption, alt))
    tables = [
        Table(caption=f"{name.capitalize().replace('_', ' ')}, in full", frame=frame, folded=True)
        for name, frame in checks.items()
    ]
    return Section(title="Checks", text=text, figures=figures, tables=tables)


def _worst_chains(answer: Comparison) -> dict[str, Any]:
    """Chains of the parameters with the largest R-hat among the headline fits."""
    fit = next(iter(answer.fits.values()))
    chains: dict[str, Any] = {}
    for name, draws in fit.posterior.data_vars.items():
        flat = draws.transpose("chain", "draw", ...).to_numpy()
        flat = flat.reshape(*flat.shape[:2], -1)
        width = flat.shape[2]
        chains |= {f"{name}[{k}]" if width > 1 else str(name): flat[..., k] for k in range(width)}
    return dict(worst_mixing(chains))


def estimates_section(answer: Comparison, kinds: Mapping[str, Estimates]) -> Section:
    """Every row of the estimates, folded, by kind; and the rows of the input that could not be used."""
    tables = [
        estimates_table(rows, caption=f"{name}, every method", folded=True) for name, rows in kinds.items() if len(rows)
    ]
    if answer.dropped:
        dropped = pd.DataFrame({"reason": list(answer.dropped), "rows": list(answer.dropped.values())})
        tables.append(Table(caption="Rows that could not be used", frame=dropped))
    return Section(title="All estimates", tables=tables)
