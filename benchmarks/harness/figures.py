"""Figures of stored coverage, drawn next to the results."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

PRIOR_COVERAGE = Path(__file__).resolve().parents[1] / "results" / "prior_coverage"
#: Baselines that figures show next to the models; the stored results have all.
COMPARED = (
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
#: What the figure of a question with more estimands than columns shows.
FIGURED = {
    "elo": ("elo",),
    "accuracy": ("difference",),
    "panel": ("difference", "difference (these items)"),
    "reliability": ("flip_rate", "position_effect"),
    "scores": ("icc", "score_sd", "mean_score"),
}


def draw_sweep(path: Path) -> Path:
    """Draw a stored sweep next to it, as SVG."""
    import pandas as pd

    from bayesjudge.plots import coverage_curves, to_svg

    rows = _compared(json.loads(path.read_text(encoding="utf-8"))["cells"])
    shown = FIGURED.get(path.stem, {row["estimand"] for row in rows})
    frame = pd.DataFrame([row for row in rows if row["estimand"] in shown])
    # What is infinite is stored in words.
    frame["width"] = frame["width"].astype(float)
    figure = path.with_suffix(".svg")
    figure.write_text(to_svg(coverage_curves(frame)), encoding="utf-8")
    return figure


def draw_prior_coverage(folder: Path = PRIOR_COVERAGE) -> Path:
    """Draw what all models cover over truths from their priors in one figure next to the results, as SVG."""
    import pandas as pd

    from bayesjudge.plots import coverage_points, to_svg

    stored = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.json"))]
    figure = folder / "models.svg"
    frame = pd.DataFrame([row for one in stored for row in one["estimands"]])
    figure.write_text(to_svg(coverage_points(frame)), encoding="utf-8")
    return figure


def _compared(rows: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return [
        row
        for row in rows
        if str(row["method"]).startswith("bayes:")
        or row["method"] in COMPARED
        or (row["method"], row["estimand"]) == ("mle", "beta")
    ]
