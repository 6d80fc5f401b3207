"""Colours of the figures: one family for Bayesian rows, another for baselines.

Blue against orange is the pair that every common kind of colour blindness keeps apart (Okabe & Ito 2008).
A page that changes to a dark theme replaces each colour by name, so none is used for two purposes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bayesjudge.estimates.table import is_bayesian

INK = "#1b2733"
MUTED = "#56626f"
GRID = "#dde3e9"
PAPER = "#fefefe"
BAYES = ("#0072b2", "#3a5fcd", "#00857c", "#5b3fa0")
BAYES_SOFT = "#d3e6f3"
BASELINE = ("#c4560a", "#d98e04", "#8a4b1f", "#a8456b", "#8f7a00", "#7a6a58")
FLAG = "#b3123f"
MISSING = "#8d98a4"

#: Names by which a page may replace the colours, for instance in a dark theme.
NAMED = {
    INK: "ink",
    MUTED: "muted",
    GRID: "grid",
    PAPER: "paper",
    BAYES_SOFT: "bayes-soft",
    FLAG: "flag",
    MISSING: "missing",
    **{colour: f"bayes-{k}" for k, colour in enumerate(BAYES)},
    **{colour: f"baseline-{k}" for k, colour in enumerate(BASELINE)},
}

_BAYES_MARKERS = "ohp8"
_BASELINE_MARKERS = "sD^vPX"


@dataclass(frozen=True, kw_only=True)
class Style:
    """How the rows of one method are drawn."""

    colour: str
    marker: str
    width: float


def styles(methods: Sequence[str]) -> dict[str, Style]:
    """Style of each method: shades of its family, and another marker for each."""
    out: dict[str, Style] = {}
    count = {True: 0, False: 0}
    for method in methods:
        bayes = is_bayesian(method)
        k = count[bayes]
        count[bayes] += 1
        colours, markers = (BAYES, _BAYES_MARKERS) if bayes else (BASELINE, _BASELINE_MARKERS)
        out[method] = Style(
            colour=colours[k % len(colours)], marker=markers[k % len(markers)], width=2.2 if bayes else 1.4
        )
    return out
