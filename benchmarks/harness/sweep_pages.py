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

from bayesjudge.checks.coverage_runs import FALSE_ALARM  # noqa: E402 ditto
from bayesjudge.checks.holm import both_sides, holm  # noqa: E402 ditto
from harness.tables import picked, table  # noqa: E402 the folder above is not on the path in VALIDATION's run

__all__ = ["draw", "pages"]

STORED = FOLDER / "results" / "coverage"
#: Baselines that figures and tables keep beside the models; the stored results have all.
BESIDE = ("naive", "rogan-gladen[shared]", "ppi++", "ppi++[best-judge]", "hard-elo", "soft-elo", "bootstrap",
          "anova", "verified share")  # fmt: skip
#: What the figure of a question with more estimands than columns shows.
FIGURED = {"reliability": ("flip_rate", "position_effect"), "scores": ("icc", "score_sd", "mean_score")}

WORDS = """## Coverage over sweeps

Worlds with known truth (`bayesjudge simulate coverage QUESTION`), methods side by side on the same data
sets. Every unit of every cell is tested by itself (exact binomial, one side, corrected for their number by
Holm), and all cells of a sweep together, with data sets, not intervals, as what is counted. A Bayesian
interval has its nominal coverage on average over truths from its prior (above); most truths here are fixed,
so that it may cover more than it says in some cells. What must hold is that it covers no less: the claims
fail with probability .01 for each question if it does not. `detectable`: the largest coverage of a unit
that would be found nine times of ten.

A row is a method's coverage of an estimand in a cell. Its bounds are exact binomial ones, for what its
intervals are worth where several units share a data set (Korn and Graubard 1998). They hold with probability
.95 each: by chance up to one row in forty is outside on either side. `outside`: Bayesian rows that are.

`gates_failed`: posteriors that failed the convergence gate (R-hat above 1.01, an effective sample below 400,
a divergent transition, E-BFMI below .3); they are counted, not left out.
"""


#: What was looked into after a run.
NOTES = {
    "elo": """`battles`: the same six strengths in every log; which model has which is dealt anew. After 100
battles intervals are 18 % narrower than hard-elo's, errors 14 % smaller, and both hold .93 to .94 of the
truths. Pooling pulls the best and the last towards the others: theirs hold .89 and .90, those of the four
between .95 and .96. That is no chance: were the strengths not dealt, the test of each unit would reject the
best model's. With a half-normal spread of strengths, as in METHODS 4.6, 400 logs gave .916 and .925,
another 400 .930 and .928, and these reweighted to a Rayleigh spread .947 and .945, which is why it is
Rayleigh now (`models/bradley_terry.md`).

`spread of drawn strengths`: six strengths drawn anew for each log from a normal population of that spread
(logits). Expected before the run: .99 at .1, .96 to .97 at .3, .95 at .6 and 1, .94 to .95 at 2. Where
models hardly differ intervals cover more than they say (at .1 beyond chance: the rows named above), and are
24 to 28 % narrower than hard-elo's, errors 28 to 39 % smaller: one prior on a spread does not hold .95 at
each spread by itself. At .6 and more they hold .94 to .95; hard-elo's hold .91 to .94, 20 to 32 % wider.""",
    "soft-elo": """What is true is the Soft-Elo of the judge after endless battles, at the temperature of
endless votes (`datasets.soft_truth`); six strengths are dealt anew for each log. With the learning rate 1 of
METHODS 4.7 the Bayesian intervals held every truth of 300 logs, 2.2 to 2.8 times as wide
(`models/judge_temperature.md`). The bootstrap of soft-elo leaves the temperature where it was fitted: most of
the error is in it, and intervals hold .59 to .64. After 100 battles, some 25 votes that are no ties, the
prior of β carries weight; β of this world is below its middle, and both rows there hold more than they
say.""",
    "reliability": """`two judges drawn from the prior`: parameters from the prior of `repeated_trials` as its
card has it, trials by the simulator of the package, which keeps every cell's verdict distribution. There
intervals should hold .95 exactly, but for minimum numbers of trials: those are whole numbers or infinite, so
that intervals may end on the truth, and hold .99. In the other cells one judge is fixed.

The bootstrap asks how K of the trials that were made do, drawn without replacement, against the majority of
all: as K nears their number its noise budget nears 0 (`models/repeated_trials.md`), and holds .27 of the
truths for K = 10 of 10 trials and K = 20 of 20.

411 of the 1,000 posteriors failed a gate after 500 draws of each chain: 292 by R-hat alone, mostly 1.010 to
1.02, 112 with an effective sample below 400, 7 with a divergence. They are in all figures here; their
intervals hold .94 to .97 of the truths, as the others' do.""",
}


def pages(folder: Path = STORED) -> str:
    """The section of VALIDATION.md."""
    found = {
        path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.json"))
    }
    names = ("question", "data sets a cell", "cells", "unit tests", "smallest p", "lowest coverage", "below",
             "above", "detectable", "rows", "outside, low", "outside, high", "cpu s", "holds")  # fmt: skip
    parts = [WORDS, table(names, [_line(name, result) for name, result in found.items()]),
             "Over all cells of a sweep:", table(_OVERALL, _overall(found))]  # fmt: skip
    parts.append(_simultaneous(found))
    return "\n\n".join([*parts, *(_details(name, result, folder) for name, result in found.items())])


def _line(name: str, result: Mapping[str, Any]) -> list[Any]:
    family, claims = result["family"], result["must_hold"]
    cells = {(row["swept"], row["value"]) for row in result["cells"]}
    lowest = f"{family['lowest']:.3g} ({family['lowest_at']})"
    spent = None if result["cpu_seconds"] is None else round(result["cpu_seconds"])
    held = "yes" if all(claim["holds"] for claim in claims) else "**no**"
    return [name, result["settings"]["datasets"], len(cells), family["tests"], claims[0]["value"], lowest,
            family["below"], family["above"], family["detectable"], family["rows"],
            "; ".join(family["rows_below"]) or "none", len(family["rows_above"]), spent, held]  # fmt: skip


def _simultaneous(found: Mapping[str, Any]) -> str:
    """What the rows of all questions say together."""
    rows = [(name, row) for name, result in found.items() for row in result["cells"]
            if row["method"].startswith("bayes:")]  # fmt: skip
    lower = np.array([row["below"] for _, row in rows])
    both = both_sides(lower, [row["above"] for _, row in rows])
    outside = [f"- {name}, {row['swept']} {row['value']:g}: {row['method']}, {row['estimand']}: "
               f"{row['coverage']:.3g} (p {p:.2g})"
               for (name, row), p in zip(rows, both, strict=True) if p < FALSE_ALARM]  # fmt: skip
    below = sum(row["coverage_upper"] < row["nominal"] for _, row in rows)
    above = sum(row["coverage_lower"] > row["nominal"] for _, row in rows)
    said = (
        f"Of {len(rows)} Bayesian rows {below} have bounds below the nominal probability and {above} above "
        "it. Simultaneous band: exact tests of both sides of every row, corrected for their number (Holm). "
        f"With probability .01 a row is outside by chance; {len(outside) or 'none'} of {len(rows)} "
        f"{'is' if len(outside) == 1 else 'are'} outside. The smallest corrected p-value against too little "
        f"coverage alone is {holm(lower).min():.3g}."
    )
    return "\n\n".join([said, *(["\n".join(outside)] if outside else [])])


_OVERALL = ("question", "swept", "method", "estimand", "data sets", "coverage", "lower", "upper")


def _overall(found: Mapping[str, Any]) -> list[list[Any]]:
    keys = ("swept", "method", "estimand", "datasets", "coverage", "coverage_lower", "coverage_upper")
    return [[name, *(row[key] for key in keys)] for name, result in found.items()
            for row in _kept(result["overall"])]  # fmt: skip


_CELL = ("swept", "value", "estimand", "method", "n", "coverage", "coverage_lower", "coverage_upper", "bias",
         "rmse", "width", "interval_score", "wrong_sign", "gates_failed")  # fmt: skip


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
    return [row for row in rows if str(row["method"]).startswith("bayes:") or row["method"] in BESIDE
            or (row["method"], row["estimand"]) == ("mle", "beta")]  # fmt: skip


def draw(path: Path) -> Path:
    """Draw a stored result beside it, as SVG."""
    import pandas as pd

    from bayesjudge.plots import coverage_curves, to_svg

    rows = _kept(json.loads(path.read_text(encoding="utf-8"))["cells"])
    shown = FIGURED.get(path.stem, {row["estimand"] for row in rows})
    frame = pd.DataFrame([row for row in rows if row["estimand"] in shown])
    figure = path.with_suffix(".svg")
    figure.write_text(to_svg(coverage_curves(frame)), encoding="utf-8")
    return figure
