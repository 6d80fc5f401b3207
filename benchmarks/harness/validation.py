"""Write VALIDATION.md from stored results: ``python benchmarks/harness/validation.py``."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(FOLDER))

from harness.machine import line  # noqa: E402 the folder above is not on the path when this file runs alone
from harness.prior_coverage_pages import pages as prior_coverage  # noqa: E402
from harness.reference_pages import references, seeds  # noqa: E402
from harness.sweep_pages import pages as sweeps  # noqa: E402
from harness.tables import picked, table  # noqa: E402

PAGE = FOLDER.parent / "VALIDATION.md"
GOLDEN = FOLDER.parent / "tests" / "golden"

INTRODUCTION = """# Validation

What was checked, by what, and what came out. Written by `python benchmarks/harness/validation.py` from
`benchmarks/results/` and `tests/golden/`; do not edit it by hand. `tests/house/test_validation.py` holds the
page against the stored results.

| question | check | where |
|---|---|---|
| Is the density what was meant? | the same log density in NumPyro and PyMC at 1,000 points, with and \
without the Jacobian, and near the edges of the support, to 1e-10 | `tests/models/test_twins.py` |
| Do density and simulator belong together? | moments of the score | `bayesjudge.checks.score_check` |
| Is the posterior right? | ranks of simulated truths among posterior draws (SBC), and within chains that \
start at the truth (Gandy & Scott) | `bayesjudge simulate sbc MODEL`, below |
| Would an error be seen? | wrong versions of every model, each of which must be found | \
`tests/models/test_mutations.py`, below |
| Does every engine find it? | NUTS, lock-step HMC, Laplace and PyMC beside 10,000 reference draws | \
`benchmarks/reference.py`, below |
| Do intervals cover? | truths from each model's prior; sweeps of simulated worlds, and real data with known \
truth, beside the baselines | `bayesjudge simulate coverage`, below |
| Is bad input told? | damaged files and values of every type through every reader, command and option, \
hostile names in every page | `tests/readers/test_fuzz.py`, `tests/cli/test_fuzz_commands.py`, \
`benchmarks/fuzz.py` |
| Are figures those of the literature? | golden values with their source | below |
| How often would a right package fail its tests? | one error budget, and twenty runs with other seeds | \
`tests/error_budget.py`, `benchmarks/seeds.py`, below |
"""

CALIBRATION = """## Simulation-based calibration

Each model on a small table of its kind (`bayesjudge.datasets.small`): parameters from the prior, data given
them, a posterior for each data set. Ranks of every parameter, of the log likelihood (all, and of half of the
rows) and of the log prior must be uniform: ECDF test with simultaneous bands (Säilynoja et al. 2022), and
the same for exact ranks; p-values are corrected for the number of all of a model's tests (Holm), and a model
holds where the smallest is above .01. `bias` is the largest mean of (posterior mean − truth)/posterior sd
over quantities, in absolute value; `unreliable` counts fits with divergent transitions, which are not left
out.

While the strengths of `bradley_terry` were centred, 44 of 250 replicates looked at one by one diverged: 60
battles of three models often leave their spread undecided, and its posterior ran down the neck of a funnel.
In the units of `common/strengths.py` (`models/bradley_terry/README.md`) none
does.

The smallest p of `verdict_agreement`, .025, is that of one quantity among fourteen, by two tests. A thousand
other truths (`--seed 2`) gave 1 as the smallest: it was chance. Processor seconds are upper limits: one to
three other programs shared the two cores, and searches for modes take less time since (`judge_panel` a third,
`verdict_agreement` a sixth).
"""

MUTATIONS = """## Mutations

Wrong versions of each model. `density`: how far its log density is from the right one, relative to the
largest, at random points: the twin test allows 1e-10. `score`: the largest moment of the score in standard
errors over 2,000 simulated data sets; the right model's is below `critical`. A score of infinite variance
(a spread taken twice) can hide from the moments, and is left to the twin.
"""

COVERAGE = """## Coverage

Shares of intervals that hold the known truth, with exact binomial limits; every method of every design is in
`benchmarks/README.md`.
"""

STUDIES = """## Real data, and known truth at length

What each benchmark claims, and what was found.
"""

GOLDENS = """## Golden values

Figures of papers and of other packages that the tests reproduce.
"""


def page() -> str:
    """The whole page."""
    parts = [
        INTRODUCTION,
        _calibration(),
        _mutations(),
        references(),
        prior_coverage(),
        sweeps(),
        _coverage(),
        seeds(),
        _studies(),
        _goldens(),
    ]
    return "\n".join(part.rstrip() + "\n" for part in parts)


def main() -> None:
    """Write the page."""
    PAGE.write_text(page(), encoding="utf-8")


def _stored(folder: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for path in sorted(folder.glob("*.json")):
        yield path.stem, json.loads(path.read_text(encoding="utf-8"))


def _calibration() -> str:
    found = [result for name, result in _stored(FOLDER / "results" / "validation") if name != "mutations"]
    names = ("model", "table", "replicates", "quantities", "smallest p", "bias", "unreliable", "cpu s", "holds")
    machine = f"Machine of the first: {line(dict(found[0]['machine']))}." if found else ""
    details = [
        f"<details><summary>{r['label']}: every quantity</summary>\n\n{_quantities(r)}\n\n</details>" for r in found
    ]
    return "\n\n".join([CALIBRATION, table(names, [_calibrated(r) for r in found]), machine, *details])


def _calibrated(result: Mapping[str, Any]) -> list[Any]:
    rows, (claim,) = result["quantities"], result["must_hold"]
    bias = max(abs(row["bias"]) for row in rows)
    return [
        f"`{result['label']}`",
        result["table"],
        result["replicates"],
        len(rows),
        claim["value"],
        bias,
        result["unreliable"],
        _rounded(result["cpu_seconds"]),
        _holds(claim),
    ]


def _rounded(seconds: float | None) -> int | None:
    """Processor seconds; none where the run went on from kept blocks."""
    return None if seconds is None else round(seconds)


def _quantities(result: Mapping[str, Any]) -> str:
    names = ("quantity", "p_value", "chi_squared", "exact", "adjusted", "bias", "contraction")
    return picked(result["quantities"], names)


def _mutations() -> str:
    path = FOLDER / "results" / "validation" / "mutations.json"
    if not path.is_file():
        return MUTATIONS
    result = json.loads(path.read_text(encoding="utf-8"))
    rows = result["mutations"]
    return "\n\n".join([MUTATIONS, picked(rows, list(rows[0]))])


def _coverage() -> str:
    parts = [COVERAGE]
    for name, result in _stored(FOLDER / "results"):
        rows = [row for row in _covered(result) if _is_headline(row)]
        if rows:
            parts += [f"### {name}", picked(rows, [c for c in _COLUMNS if any(c in row for row in rows)])]
    return "\n\n".join(parts)


_COLUMNS = (
    "table",
    "judge",
    "layer",
    "estimand",
    "method",
    "youden",
    "delta_youden",
    "n_cal",
    "n",
    "nominal",
    "coverage",
    "coverage_lower",
    "coverage_upper",
    "width",
    "median_width",
    "wrong_sign",
)
#: Baselines that the coverage tables keep beside the models; the benchmarks' own page has all.
_BESIDE = ("ppi++", "rogan-gladen", "naive", "labelled", "conformal", "f-interval")


def _covered(result: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """Rows with a coverage, wherever a result keeps them."""
    parts = [part for part in result.values() if isinstance(part, list)]
    return [row for part in parts for row in part if "coverage_lower" in row]


def _is_headline(row: Mapping[str, Any]) -> bool:
    """Models and the baselines beside them; of several numbers of labels, 40, where methods differ most."""
    method = str(row.get("method", "bayes"))
    return method.startswith(("bayes", *_BESIDE)) and row.get("n_cal", 40) == 40


def _studies() -> str:
    rows = [
        [name, _holds(c), c["claim"], c["value"]]
        for name, result in _stored(FOLDER / "results")
        for c in result["must_hold"]
    ]
    return "\n\n".join([STUDIES, table(("benchmark", "holds", "claim", "found"), rows)])


def _holds(claim: Mapping[str, Any]) -> str:
    return "yes" if claim["holds"] else "**no**"


def _goldens() -> str:
    rows = [
        [f"`{name}.json`", value, source]
        for name, stored in _stored(GOLDEN)
        for value, source in _sources(name, stored)
    ]
    return "\n\n".join([GOLDENS, table(("file", "value", "source"), rows)])


def _sources(name: str, stored: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Values of a golden file and where they are from; one source may be that of the whole file."""
    if "provenance" in stored:
        yield name, stored["provenance"]
    for value, entry in stored.items():
        if isinstance(entry, dict) and "provenance" in entry:
            yield value, entry["provenance"]


if __name__ == "__main__":
    main()
