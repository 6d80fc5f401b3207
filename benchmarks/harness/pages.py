"""Write benchmarks/README.md and VALIDATION.md from stored results: ``python benchmarks/harness/pages.py``."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

FOLDER = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(FOLDER))

from bayesjudge.maths.holm import both_sides, holm  # noqa: E402 the folder above is not on the path alone
from bayesjudge.simulation.intervals.coverage import FALSE_ALARM  # noqa: E402 ditto
from harness.tables import cell, table  # noqa: E402 ditto

ROOT = FOLDER.parent
STORED, GOLDEN, TEMPLATES = FOLDER / "results", ROOT / "tests" / "golden", FOLDER / "harness" / "templates"
#: Probability that a row is outside its own bounds on one side, by chance.
ROW_ALARM = 0.025
#: Draws of each chain where a sweep does not say otherwise: those of `fit_many`.
USUAL_DRAWS = 500

type Result = Mapping[str, Any]


def main() -> None:
    """Write both pages."""
    (FOLDER / "README.md").write_text(benchmarks(), encoding="utf-8")
    (ROOT / "VALIDATION.md").write_text(validation(), encoding="utf-8")


def benchmarks() -> str:
    """The index, and what every benchmark claims."""
    found = dict(_stored(STORED))
    counts = [_counted(name, result) for name, result in found.items()]
    failing = [[name, c["claim"], c["value"], _bounds(c)] for name, c in _claims(found.items()) if not c["holds"]]
    return _filled(
        "benchmarks.md",
        claims=table(("result", "claims", "hold", "settings", "machine, date"), counts),
        failing=table(("result", "claim", "found", "required"), failing),
    )


def validation() -> str:
    """What was checked of every model, and what came out: a line a model for each proof."""
    sweeps = dict(_stored(STORED / "coverage"))
    reference = json.loads((STORED / "reference.json").read_text(encoding="utf-8"))
    return _filled(
        "validation.md",
        calibration=_lines(_calibrated, STORED / "validation"),
        mutations=_mutations(),
        references=_references(reference),
        engines=table(("claim", "found", "required", "holds"), [_claim(claim) for claim in reference["must_hold"]]),
        prior=_lines(_over_prior, STORED / "prior_coverage"),
        sweeps=table(_SWEEP, [_swept(name, result) for name, result in sweeps.items()]),
        simultaneous=_simultaneous(sweeps),
        seeds=table(("runs", "claim", "found", "required", "holds"), [_seeds(n) for n in ("seeds", "seeds_slow")]),
        golden=table(("file", "value", "source"), list(_golden())),
    )


def _filled(name: str, **parts: str) -> str:
    """A template with ``{name}`` replaced; braces of other names stay."""
    text = (TEMPLATES / name).read_text(encoding="utf-8")
    for key, value in parts.items():
        text = text.replace(f"{{{key}}}", value)
    return text


def _stored(folder: Path) -> Iterator[tuple[str, Result]]:
    for path in sorted(folder.glob("*.json")):
        yield path.stem, json.loads(path.read_text(encoding="utf-8"))


def _claims(found: Any) -> Iterator[tuple[str, Result]]:
    for name, result in found:
        for claim in result["must_hold"]:
            yield name, claim


def _counted(name: str, result: Result) -> list[Any]:
    claims, machine = result["must_hold"], result["machine"]
    settings = ", ".join(f"{key} {value}" for key, value in result["settings"].items() if key != "quick")
    return [
        f"`{name}`",
        len(claims),
        sum(claim["holds"] for claim in claims),
        settings,
        f"{machine['cores']} cores ({machine['processor']}), {machine['date']}",
    ]


def _bounds(claim: Result) -> str:
    least, most = claim["least"], claim["most"]
    parts = ["" if least == "-Infinity" else f"≥ {cell(least)}", "" if most == "Infinity" else f"≤ {cell(most)}"]
    return " and ".join(part for part in parts if part)


def _claim(claim: Result) -> list[Any]:
    return [claim["claim"], claim["value"], _bounds(claim), _holds(claim)]


def _holds(*claims: Result) -> str:
    return "yes" if all(claim["holds"] for claim in claims) else "**no**"


def _lines(row: Callable[[Result], Mapping[str, Any]], folder: Path) -> str:
    rows = [row(result) for name, result in _stored(folder) if name != "mutations"]
    return table(list(rows[0]), [list(one.values()) for one in rows])


def _calibrated(result: Result) -> Mapping[str, Any]:
    rows, (claim,) = result["quantities"], result["must_hold"]
    return {
        "model": f"`{result['label']}`",
        "table": result["table"],
        "replicates": result["replicates"],
        "quantities": len(rows),
        "smallest p": claim["value"],
        "bias": max(abs(row["bias"]) for row in rows),
        "unreliable": result["unreliable"],
        "cpu s": _rounded(result["cpu_seconds"]),
        "holds": _holds(claim),
    }


def _over_prior(result: Result) -> Mapping[str, Any]:
    rows, (claim,) = result["estimands"], result["must_hold"]
    inside = sum(row["coverage_lower"] <= row["nominal"] <= row["coverage_upper"] for row in rows)
    return {
        "model": f"`{result['label']}`",
        "data sets": result["datasets"],
        "estimands": len(rows),
        "inside own 95 % bounds": inside,
        "lowest": _named(rows, min),
        "highest": _named(rows, max),
        "smallest p": claim["value"],
        "gates failed": result["gates_failed"],
        "cpu s": _rounded(result["cpu_seconds"]),
        "holds": _holds(claim),
    }


def _named(rows: Sequence[Result], most: Callable[..., Any]) -> str:
    row = most(rows, key=lambda row: row["coverage"])
    return f"{row['coverage']:.3f} ({row['estimand']})"


def _rounded(seconds: float | None) -> int | None:
    """Processor seconds; none where the run continued from stored blocks."""
    return None if seconds is None else round(seconds)


def _mutations() -> str:
    """Of each model: how many wrong versions, and the one that is nearest to the right one."""
    rows = json.loads((STORED / "validation" / "mutations.json").read_text(encoding="utf-8"))["mutations"]
    of = {name: [row for row in rows if row["model"] == name] for name in dict.fromkeys(row["model"] for row in rows)}
    lines = []
    for name, mine in of.items():
        near = min(mine, key=lambda row: row["density"])
        found = sum(row["score"] > row["critical"] for row in mine)
        lines.append(
            [
                f"`{name}`",
                len(mine),
                f"{near['density']:.2g} ({near['mutation']})",
                found,
                mine[0]["right"],
                mine[0]["critical"],
            ]
        )
    names = (
        "model",
        "wrong versions",
        "nearest density",
        "found by scores alone",
        "score of the right one",
        "critical",
    )
    return table(names, lines)


def _references(result: Result) -> str:
    """Of each model: its stored draws, and how far each engine is from them at most (rms where accepted)."""
    engines = list(dict.fromkeys(row["engine"] for row in result["rows"]))
    lines = []
    for kept in result["references"]:
        model, data = kept["reference"].rsplit("-", 1)
        mine = {row["engine"]: row for row in result["rows"] if (row["model"], row["data"]) == (model, data)}
        figures = [_furthest(mine.get(engine)) for engine in engines]
        lines.append([kept["reference"], kept["parameters"], kept["rhat"], kept["autocorrelation"], *figures])
    return table(("data set", "parameters", "R-hat", "autocorrelation", *engines), lines)


def _furthest(row: Result | None) -> str:
    if row is None:
        return ""
    return f"{row['furthest']:.2g}" if row["accepted"] else "refused"


_SWEEP = (
    "question",
    "data sets a cell",
    "draws",
    "cells",
    "unit tests",
    "smallest p",
    "lowest coverage",
    "below",
    "above",
    "rows",
    "rows outside, low",
    "high",
    "cpu s",
    "holds",
)


def _swept(name: str, result: Result) -> list[Any]:
    family, claims = result["family"], result["must_hold"]
    return [
        f"[{name}](benchmarks/results/coverage/{name}.svg)",
        result["settings"]["datasets"],
        f"4 × {result.get('sampling', {}).get('draws', USUAL_DRAWS):,}",
        len({(row["swept"], row["value"]) for row in result["cells"]}),
        family["tests"],
        claims[0]["value"],
        f"{family['lowest']:.3g} ({family['lowest_at']})",
        family["below"],
        family["above"],
        family["rows"],
        len(family["rows_below"]),
        len(family["rows_above"]),
        _rounded(result["cpu_seconds"]),
        _holds(*claims),
    ]


def _simultaneous(found: Mapping[str, Result]) -> str:
    """What the rows of all questions say together: over truths from the priors, and over others."""
    # The prior is that of the default model, which comes first.
    rows = [
        (name, row, row["swept"] in result.get("from_prior", ()) and row["method"] == result["cells"][0]["method"])
        for name, result in found.items()
        for row in result["cells"]
        if row["method"].startswith("bayes:")
    ]
    drawn, fixed = ([(name, row) for name, row, is_drawn in rows if is_drawn is kind] for kind in (True, False))
    families = {"**Parameters from the prior.**": drawn, "**Other truths.**": fixed}
    return "\n\n".join(_band(words, part) for words, part in families.items() if part)


def _band(words: str, rows: Sequence[tuple[str, Result]]) -> str:
    lower = np.array([row["below"] for _, row in rows])
    both = both_sides(lower, [row["above"] for _, row in rows])
    outside = [
        f"- {name}, {row['swept']} {row['value']:g}: {row['method']}, {row['estimand']}: "
        f"{row['coverage']:.3g} (p {p:.2g})"
        for (name, row), p in zip(rows, both, strict=True)
        if p < FALSE_ALARM
    ]
    below, above = (sum(row[side] < ROW_ALARM for _, row in rows) for side in ("below", "above"))
    text = (
        f"{words} Of {len(rows)} Bayesian rows {below} have bounds below the nominal probability and {above} "
        "above it. Exact tests of both sides of every row, corrected for their number (Holm): "
        f"{len(outside) or 'none'} of {len(rows)} {'is' if len(outside) == 1 else 'are'} outside. The smallest "
        f"corrected p-value of both sides is {both.min():.3g}, that against too little coverage alone "
        f"{holm(lower).min():.3g}."
    )
    return "\n\n".join([text, *(["\n".join(outside)] if outside else [])])


def _seeds(name: str) -> list[Any]:
    result = json.loads((STORED / f"{name}.json").read_text(encoding="utf-8"))
    (claim,) = result["must_hold"]
    return [f"{len(result['rows'])} ({'slow' if name.endswith('slow') else 'fast'})", *_claim(claim)]


def _golden() -> Iterator[tuple[str, str, str]]:
    """Values of a golden file and where they are from; one source may be that of the whole file."""
    for name, stored in _stored(GOLDEN):
        if "provenance" in stored:
            yield f"`{name}.json`", name, stored["provenance"]
        for value, entry in stored.items():
            if isinstance(entry, dict) and "provenance" in entry:
                yield f"`{name}.json`", value, entry["provenance"]


if __name__ == "__main__":
    main()
