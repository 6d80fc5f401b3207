"""What the coverage sweeps found: a figure for each question, and their part of VALIDATION.md."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

FOLDER = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(FOLDER))

from bayesjudge.simulation.holm import both_sides, holm  # noqa: E402 ditto
from bayesjudge.simulation.intervals.coverage import FALSE_ALARM  # noqa: E402 ditto
from harness.sweep_notes import NOTES  # noqa: E402 ditto
from harness.tables import picked, table  # noqa: E402 the folder above is not on the path in VALIDATION's run

__all__ = ["ROW_ALARM", "draw", "pages"]

STORED = FOLDER / "results" / "coverage"
#: Baselines that figures and tables keep beside the models; the stored results have all.
BESIDE = (
    "naive",
    "rogan-gladen[shared]",
    "ppi++",
    "ppi++[best-judge]",
    "hard-elo",
    "soft-elo",
    "bootstrap",
    "anova",
    "verified share",
)
#: Probability of a row outside its own bounds on either side, by chance.
ROW_ALARM = 0.025
#: Of each chain, where a sweep does not say otherwise: those of `fit_many`.
USUAL_DRAWS = 500
#: What the figure of a question with more estimands than columns shows.
FIGURED = {
    "elo": ("elo",),
    "accuracy": ("difference",),
    "panel": ("difference", "difference (these items)"),
    "reliability": ("flip_rate", "position_effect"),
    "scores": ("icc", "score_sd", "mean_score"),
}

WORDS = """## Coverage over sweeps

Worlds with known truth (`bayesjudge simulate coverage QUESTION`), methods side by side on the same data
sets. Every unit of every cell is tested by itself (exact binomial, one side, corrected for their number by
Holm), and all cells of a sweep together, with data sets, not intervals, as what is counted. `detectable`: the
largest coverage of a unit that would be found nine times of ten.

A Bayesian interval has its nominal coverage on average over truths from its prior. Where they are drawn
from it, above and in the cells `... from the prior` here, both sides of the exact band must hold. Most other
truths are fixed, and an interval that pools does not have its nominal coverage at each of them: one whose
prior expects models to differ covers more where they do not. What must hold there is that it covers no less.
A whole number may lie on an end of its interval: what must hold of it is no less with the ends, and no more
between them. The claims of one side fail with probability .01 for each question if all is as it should be,
those of both sides with .01 for each sweep.

A row is a method's coverage of an estimand in a cell. Its bounds are exact binomial ones, for what its
intervals are worth where several units share a data set (Korn and Graubard 1998). They hold with probability
.95 each: by chance up to one row in forty is outside on either side. `outside`: Bayesian rows that are.

`gates_failed`: posteriors that failed the convergence gate (R-hat above 1.01, an effective sample below 400,
a divergent transition, E-BFMI below .3); they are counted, not left out. `draws`: chains and draws of each.
"""


def pages(folder: Path = STORED) -> str:
    """The section of VALIDATION.md."""
    found = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.json"))}
    names = (
        "question",
        "data sets a cell",
        "draws",
        "cells",
        "unit tests",
        "smallest p",
        "lowest coverage",
        "below",
        "above",
        "detectable",
        "rows",
        "outside, low",
        "outside, high",
        "cpu s",
        "holds",
    )
    lines = [_line(name, result) for name, result in found.items()]
    parts = [
        WORDS,
        table(names, lines),
        _simultaneous(found),
        "Over all cells of a sweep:",
        table(_OVERALL, _overall(found)),
    ]
    return "\n\n".join([*parts, *(_details(name, result, folder) for name, result in found.items())])


def _line(name: str, result: Mapping[str, Any]) -> list[Any]:
    family, claims = result["family"], result["must_hold"]
    cells = {(row["swept"], row["value"]) for row in result["cells"]}
    lowest = f"{family['lowest']:.3g} ({family['lowest_at']})"
    spent = None if result["cpu_seconds"] is None else round(result["cpu_seconds"])
    held = "yes" if all(claim["holds"] for claim in claims) else "**no**"
    drawn = result.get("sampling", {}).get("draws", USUAL_DRAWS)
    return [
        name,
        result["settings"]["datasets"],
        f"4 × {drawn:,}",
        len(cells),
        family["tests"],
        claims[0]["value"],
        lowest,
        family["below"],
        family["above"],
        family["detectable"],
        family["rows"],
        "; ".join(family["rows_below"]) or "none",
        len(family["rows_above"]),
        spent,
        held,
    ]


def _simultaneous(found: Mapping[str, Any]) -> str:
    """What the rows of all questions say together: over truths from the priors, and over others."""
    # The prior is that of the default model, which comes first.
    rows = [
        (name, row, row["swept"] in result.get("from_prior", ()) and row["method"] == result["cells"][0]["method"])
        for name, result in found.items()
        for row in result["cells"]
        if row["method"].startswith("bayes:")
    ]
    drawn, fixed = ([(name, row) for name, row, is_drawn in rows if is_drawn is wanted] for wanted in (True, False))
    parts = [
        _band(f"**{words}**", part)
        for words, part in (("Parameters from the prior.", drawn), ("Other truths.", fixed))
        if part
    ]
    return "\n\n".join(parts)


def _band(words: str, rows: Sequence[tuple[str, Mapping[str, Any]]]) -> str:
    lower = np.array([row["below"] for _, row in rows])
    both = both_sides(lower, [row["above"] for _, row in rows])
    outside = [
        f"- {name}, {row['swept']} {row['value']:g}: {row['method']}, {row['estimand']}: "
        f"{row['coverage']:.3g} (p {p:.2g})"
        for (name, row), p in zip(rows, both, strict=True)
        if p < FALSE_ALARM
    ]
    below, above = (sum(row[side] < ROW_ALARM for _, row in rows) for side in ("below", "above"))
    said = (
        f"{words} Of {len(rows)} Bayesian rows {below} have bounds below the nominal probability and {above} "
        "above it. Simultaneous band: exact tests of both sides of every row, corrected for their number "
        f"(Holm). With probability .01 a row is outside by chance; {len(outside) or 'none'} of {len(rows)} "
        f"{'is' if len(outside) == 1 else 'are'} outside. The smallest corrected p-value of both sides is "
        f"{both.min():.3g}, that against too little coverage alone {holm(lower).min():.3g}."
    )
    return "\n\n".join([said, *(["\n".join(outside)] if outside else [])])


_OVERALL = ("question", "swept", "method", "estimand", "data sets", "coverage", "lower", "upper")


def _overall(found: Mapping[str, Any]) -> list[list[Any]]:
    keys = ("swept", "method", "estimand", "datasets", "coverage", "coverage_lower", "coverage_upper")
    return [[name, *(row[key] for key in keys)] for name, result in found.items() for row in _kept(result["overall"])]


_CELL = (
    "swept",
    "value",
    "estimand",
    "method",
    "n",
    "coverage",
    "coverage_lower",
    "coverage_upper",
    "bias",
    "rmse",
    "width",
    "interval_score",
    "wrong_sign",
    "gates_failed",
)


def _details(name: str, result: Mapping[str, Any], folder: Path) -> str:
    figure = folder / f"{name}.svg"
    shown = f"![{name}]({figure.relative_to(FOLDER.parent)})\n\n" if figure.is_file() else ""
    cells = picked(_kept(result["cells"]), _CELL)
    note = f"{NOTES[name]}\n\n" if name in NOTES else ""
    dealt = _by_truth(result.get("by_truth", []))
    return f"<details><summary>{name}: every cell</summary>\n\n{note}{shown}{cells}{dealt}\n\n</details>"


def _by_truth(rows: Sequence[Mapping[str, Any]]) -> str:
    """What an average over units hides: pooled intervals hold the outermost truths less often."""
    if not rows:
        return ""
    return "\n\nCoverage at each truth by itself:\n\n" + picked(rows, list(rows[0]))


def _kept(rows: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return [
        row
        for row in rows
        if str(row["method"]).startswith("bayes:")
        or row["method"] in BESIDE
        or (row["method"], row["estimand"]) == ("mle", "beta")
    ]


def draw(path: Path) -> Path:
    """Draw a stored result beside it, as SVG."""
    import pandas as pd

    from bayesjudge.plots import coverage_curves, to_svg

    rows = _kept(json.loads(path.read_text(encoding="utf-8"))["cells"])
    shown = FIGURED.get(path.stem, {row["estimand"] for row in rows})
    frame = pd.DataFrame([row for row in rows if row["estimand"] in shown])
    # What is infinite is stored in words.
    frame["width"] = frame["width"].astype(float)
    figure = path.with_suffix(".svg")
    figure.write_text(to_svg(coverage_curves(frame)), encoding="utf-8")
    return figure
