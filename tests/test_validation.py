"""VALIDATION.md says what the stored results say, and the stored results are of every model."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mutations import MUTATIONS

from bayesjudge.checks.calibration import FALSE_ALARM
from bayesjudge.datasets.small import KIND_OF_MODEL
from bayesjudge.model import model_names

ROOT = Path(__file__).resolve().parents[1]
STORED = ROOT / "benchmarks" / "results" / "validation"


def test_the_page_shows_the_stored_results(benchmark_module: Callable[[str], Any]) -> None:
    written = (ROOT / "VALIDATION.md").read_text(encoding="utf-8")
    assert benchmark_module("harness.validation").page() == written


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
