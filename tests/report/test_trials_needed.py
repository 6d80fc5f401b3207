"""How many trials are needed, and what the checklist says of judges, on the page of reliability."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pandas as pd

from bayesjudge.report.comparison import Comparison
from bayesjudge.report.reliability.page import _needed
from bayesjudge.studies.reliability.guidance import checklist

LIMITS = {"judge": "j", "group": "", "stratum": "all", "point": 0.9, "lower": 0.8, "upper": 0.95, "method": "exact"}


def test_the_smallest_numbers_of_trials_are_of_two_targets() -> None:
    """Both were printed as 1, by the format of numbers of trials."""
    curves = pd.DataFrame([{**LIMITS, "items": 3, "reference": "observed", "trials": k} for k in (1, 3)])
    tiers = pd.DataFrame([{**LIMITS, "tier": "minimum", "trials": 10, "promised": 0.95, "verdict": "holds"}])
    found = [{**LIMITS, "target": target, "point": 7.0, "lower": 3.0, "upper": 9.0} for target in (0.9, 0.95)]
    checks: dict[str, Any] = {"curves": curves, "tiers": tiers, "minimum": pd.DataFrame(found)}
    section = _needed(cast("Comparison", SimpleNamespace(checks=checks)))
    assert section is not None
    (table,) = (one for one in section.tables if one.caption == "Smallest number of trials")
    assert table.frame["target"].tolist() == ["90 %", "95 %"]
    assert checks["minimum"]["target"].tolist() == [0.9, 0.95]


def test_the_checklist_says_of_scores_that_agreement_is_over_all_judges() -> None:
    """Of scores no pair of judges has an agreement."""
    counts = SimpleNamespace(judges=("heron", "otter"), conditions=("not recorded",))
    of_scores = checklist(None, cast("Any", SimpleNamespace(counts=counts)), {})
    assert ("Panel of judges", "yes", of_scores[1][2]) == of_scores[1]
    assert of_scores[1][2].startswith("2 judges; agreement of their mean scores is reported over all of them")
