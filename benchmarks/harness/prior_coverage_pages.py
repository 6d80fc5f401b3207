"""What models cover over truths from their priors: one figure, and their part of VALIDATION.md."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(FOLDER))

from harness.tables import picked, table  # noqa: E402 the folder above is not on the path in VALIDATION's run

__all__ = ["draw", "pages"]

STORED = FOLDER / "results" / "prior_coverage"

WORDS = """## Coverage over truths from the prior

`bayesjudge simulate coverage MODEL`, and `bayesjudge.simulation.prior_cell` for any model of yours. Over
parameters from its prior and data given them, a Bayesian interval has its nominal coverage exactly, however
few the data; nowhere else does it promise that, and here both sides are held: each estimand's
coverage must lie in the exact binomial band about .95 that holds for all of a model's estimands at once
(Holm, false alarm .01). Fits are the default ones (4 chains of 500 draws, lock-step HMC); posteriors that
failed the convergence gate are counted, not left out.

Judged is every estimand that is a function of the parameters, for every model, judge and group it is given
for. The others have something else in them that is random and that the models' own simulator does not keep:
accuracies and differences of `judge_panel` (which items are drawn), Elo of `judge_temperature` (the soft
targets of endless battles), and of `repeated_trials` what speaks of the log's own cells (flip rate, position
effect, tie rate, disagreement, noise budgets, swap risks, minimum numbers of trials, shares of variance).
These are swept below, with parameters from the priors too, in worlds of simulators that keep them.

`judge_error` covers more than .95 here, for sensitivities beyond chance: its draws get a t factor for the
dependence between models, which its own simulator does not have, and a rate whose labels show no error has an
interval that reaches 1.
"""


def pages(folder: Path = STORED) -> str:
    """The section of VALIDATION.md."""
    found = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.json"))]
    names = (
        "model",
        "table",
        "data sets",
        "estimands",
        "lowest",
        "highest",
        "smallest p",
        "gates failed",
        "cpu s",
        "holds",
    )
    figure = folder / "models.svg"
    shown = [f"![coverage over truths from the prior]({figure.relative_to(FOLDER.parent)})"] * figure.is_file()
    details = [
        f"<details><summary>{one['label']}: every estimand</summary>\n\n{picked(one['estimands'], _ROW)}\n\n</details>"
        for one in found
    ]
    rows = [row for one in found for row in one["estimands"]]
    inside = sum(row["coverage_lower"] <= row["nominal"] <= row["coverage_upper"] for row in rows)
    counted = f"{inside} of {len(rows)} estimands have their nominal coverage within their own exact 95 % bounds."
    return "\n\n".join([WORDS, table(names, [_line(one) for one in found]), counted, *shown, *details])


_ROW = ("estimand", "n", "coverage", "coverage_lower", "coverage_upper", "adjusted", "bias", "rmse", "width")


def _line(result: Mapping[str, Any]) -> list[Any]:
    rows, (claim,) = result["estimands"], result["must_hold"]
    spent = None if result["cpu_seconds"] is None else round(result["cpu_seconds"])
    held = "yes" if claim["holds"] else "**no**"
    return [
        f"`{result['label']}`",
        result["table"],
        result["datasets"],
        len(rows),
        _named(rows, min),
        _named(rows, max),
        claim["value"],
        result["gates_failed"],
        spent,
        held,
    ]


def _named(rows: Sequence[Mapping[str, Any]], most: Any) -> str:
    row = most(rows, key=lambda row: row["coverage"])
    return f"{row['coverage']:.3f} ({row['estimand']})"


def draw(folder: Path = STORED) -> Path:
    """Draw all stored results in one figure beside them, as SVG."""
    import pandas as pd

    from bayesjudge.plots import coverage_points, to_svg

    rows = [
        row
        for path in sorted(folder.glob("*.json"))
        for row in json.loads(path.read_text(encoding="utf-8"))["estimands"]
    ]
    figure = folder / "models.svg"
    figure.write_text(to_svg(coverage_points(pd.DataFrame(rows))), encoding="utf-8")
    return figure
