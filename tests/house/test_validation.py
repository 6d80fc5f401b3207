"""VALIDATION.md says what the stored results say, and the stored results are of every model."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mutations import MUTATIONS

from bayesjudge.datasets.small import KIND_OF_MODEL, small_table
from bayesjudge.maths.holm import both_sides
from bayesjudge.model import find_model, model_names
from bayesjudge.simulation import prior_cell
from bayesjudge.simulation.calibration.ranks import FALSE_ALARM
from bayesjudge.simulation.intervals import coverage as coverage_runs
from bayesjudge.simulation.sweeps.questions import SWEEPS

ROOT = Path(__file__).resolve().parents[2]
STORED = ROOT / "benchmarks" / "results" / "validation"
COVERED = ROOT / "benchmarks" / "results" / "prior_coverage"
SWEPT = ROOT / "benchmarks" / "results" / "coverage"


def test_the_page_shows_the_stored_results(benchmark_module: Callable[[str], Any]) -> None:
    written = (ROOT / "VALIDATION.md").read_text(encoding="utf-8")
    assert benchmark_module("harness.pages").validation() == written
    # A page to read, not an archive: `benchmarks/show.py` prints every table.
    assert len(written.encode()) <= 21_000


def test_every_table_behind_the_page_can_be_printed(
    benchmark_module: Callable[[str], Any], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    show = benchmark_module("show")
    for name in show.names():
        monkeypatch.setattr("sys.argv", ["show.py", name])
        show.main()
        shown = capsys.readouterr().out
        stored = json.loads((STORED.parent / f"{name}.json").read_text(encoding="utf-8"))
        for title, rows in show.tables(stored):
            assert not title or f"\n{title}\n\n| " in shown
            assert shown.count("\n| ") > len(rows)
        assert all(claim["claim"].replace("|", "\\|") in shown for claim in stored.get("must_hold", []))


def test_rows_of_a_stored_table_can_be_chosen(
    benchmark_module: Callable[[str], Any], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    chosen = ["show.py", "coverage/elo", "cells", "--where", "method=hard-elo", "--where", "estimand=elo"]
    monkeypatch.setattr("sys.argv", chosen)
    benchmark_module("show").main()
    lines = capsys.readouterr().out.strip().splitlines()[4:]
    stored = json.loads((SWEPT / "elo.json").read_text(encoding="utf-8"))["cells"]
    assert len(lines) == sum(row["method"] == "hard-elo" and row["estimand"] == "elo" for row in stored) > 0
    monkeypatch.setattr("sys.argv", ["show.py", "coverage/elo", "cell"])
    with pytest.raises(SystemExit):
        benchmark_module("show").main()
    assert "it has from_prior, family, overall, by_truth, cells" in capsys.readouterr().err


def test_every_registered_model_has_a_small_table() -> None:
    assert set(KIND_OF_MODEL) == set(model_names())


@pytest.mark.parametrize("path", sorted(STORED.glob("*.json")), ids=lambda path: path.stem)
def test_stored_verdicts_follow_from_the_stored_figures(path: Path) -> None:
    stored = json.loads(path.read_text(encoding="utf-8"))
    if path.stem == "mutations":
        assert {row["model"] for row in stored["mutations"]} == set(MUTATIONS)
        assert all(row["density"] > 1e-10 for row in stored["mutations"])
        return
    (claim,) = stored["must_hold"]
    smallest = min(row["adjusted"] for row in stored["quantities"])
    assert claim["value"] == smallest
    assert claim["holds"] is (smallest >= FALSE_ALARM)
    assert all(sum(row["histogram"]) == stored["replicates"] for row in stored["quantities"])


def test_every_model_was_judged_over_its_prior() -> None:
    assert {path.stem for path in COVERED.glob("*.json")} == set(KIND_OF_MODEL)


@pytest.mark.parametrize("path", sorted(COVERED.glob("*.json")), ids=lambda path: path.stem)
def test_stored_coverage_over_the_prior_is_what_its_bounds_say(path: Path) -> None:
    stored = json.loads(path.read_text(encoding="utf-8"))
    (claim,) = stored["must_hold"]
    rows = stored["estimands"]
    found = both_sides([row["below"] for row in rows], [row["above"] for row in rows])
    # Stored to six digits.
    assert [row["adjusted"] for row in rows] == pytest.approx(found.tolist(), rel=1e-5)
    assert claim["value"] == min(row["adjusted"] for row in rows)
    assert claim["holds"] is (claim["value"] >= coverage_runs.FALSE_ALARM)
    for row in rows:
        inside = row["coverage_lower"] <= row["nominal"] <= row["coverage_upper"]
        assert inside is (min(row["below"], row["above"]) >= 0.025)


def _judged(folder: Path, part: str, label: str) -> set[str]:
    """Estimands of a method that stored results have coverage of."""
    stored = [json.loads(path.read_text(encoding="utf-8")) for path in folder.glob("*.json")]
    return {row["estimand"] for one in stored for row in one[part] if row["method"] == label}


@pytest.mark.slow
@pytest.mark.parametrize("name", KIND_OF_MODEL)
def test_coverage_was_measured_of_all_that_a_model_says(name: str) -> None:
    model = find_model(name)()
    cell = prior_cell(model, model.prepare(small_table(KIND_OF_MODEL[name])))
    _, truth = cell.simulate(0)
    assert {key[0] for key in truth} <= _judged(COVERED, "estimands", model.label)
    # A prediction of what the trials made would show again has no truth; flip rates within one order are judged
    # next to the model, in `tests/models/test_repeated_trials.py`.
    beside = {name for name in cell.left_out if "[N=" in name} | {"flip_rate[same order]"}
    assert set(cell.left_out) - beside <= _judged(SWEPT, "cells", model.label)


def test_every_sweep_was_run() -> None:
    assert {path.stem for path in SWEPT.glob("*.json")} == set(SWEEPS)


@pytest.mark.parametrize("question", SWEEPS)
def test_stored_sweeps_claim_what_their_rows_say(question: str) -> None:
    stored = json.loads((SWEPT / f"{question}.json").read_text(encoding="utf-8"))
    rows = [row for row in stored["cells"] if row["method"].startswith("bayes:")]
    drawn, default = SWEEPS[question].from_prior, SWEEPS[question].models()[0].label
    assert tuple(stored.get("from_prior", ())) == drawn
    assert {row["swept"] for row in rows} == {cell.swept for cell in SWEEPS[question].cells}
    claims = {claim["claim"].split(": smallest")[0]: claim for claim in stored["must_hold"]}
    for swept in drawn:
        mine = [row for row in rows if row["swept"] == swept and row["method"] == default]
        both = both_sides([row["below"] for row in mine], [row["above"] for row in mine])
        # Stored to six digits.
        assert claims[swept]["value"] == pytest.approx(both.min(), rel=1e-5)
        assert claims[swept]["holds"] is bool(both.min() >= coverage_runs.FALSE_ALARM)
