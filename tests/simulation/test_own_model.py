"""`check_model` passes a right model, finds the slips put into it, and writes its page."""

from __future__ import annotations

from pathlib import Path

import pytest

import bayesjudge as bj
from bayesjudge.datasets import simulate_verdicts

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


@pytest.mark.slow
def test_a_function_is_checked_and_its_slips_are_found(tmp_path: Path) -> None:
    log = simulate_verdicts(seed=3, accuracy=(0.72, 0.65), youden=0.6, labelled=60, unlabelled=300).verdicts
    function = f"{EXAMPLES / 'own_model.py'}:validated_judge"
    found = bj.check_model(function, log, replicates=100, mutated=100, engine="laplace")
    assert found.passed
    assert found.mutations["found"].all()
    assert found.recovery.set_index(["estimand", "unit"]).loc[("accuracy", "a"), "correlation"] > 0.9
    assert {"accuracy", "observed"} <= set(found.prior["quantity"])
    page = found.to_html(tmp_path / "check.html").read_text(encoding="utf-8").replace("\N{NO-BREAK SPACE}", " ")
    assert all(text.split(";")[0] in page for text in found.summary)
    assert "data counted twice" in found._repr_html_()


def test_what_has_no_simulator_is_refused() -> None:
    log = simulate_verdicts(seed=3, labelled=60, unlabelled=30).verdicts
    with pytest.raises(bj.UsageError, match="validated_judge is written in PyMC: simulation studies need"):
        bj.check_model(f"{EXAMPLES / 'own_pymc_model.py'}:validated_judge", log)
