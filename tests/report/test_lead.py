"""How figures are put into words, whichever question they answer."""

from __future__ import annotations

import itertools
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from bayesjudge.estimates import Estimates
from bayesjudge.estimates.mixing import Gate
from bayesjudge.report.lead import oriented, refusal
from bayesjudge.text import chance

MODELS = ["a − b", "b", "a", "c"]


def differences(seed: int) -> Estimates:
    rng = np.random.default_rng(seed)
    pairs = [f"{first} − {second}" for first, second in itertools.combinations(MODELS, 2)]
    rows = [{"estimand": "difference", "unit": unit, "method": m} for unit in pairs for m in ("bayes:x", "naive")]
    for row in rows:
        low, point, high = np.sort(rng.normal(size=3))
        row |= {"point": point, "lower": low, "upper": high, "truth": rng.normal(), "p_positive": rng.uniform()}
    return Estimates.from_rows([*rows, {"estimand": "accuracy", "unit": "a", "point": -1.0}])


@pytest.mark.parametrize("seed", range(20))
def test_differences_are_turned_whole(seed: int) -> None:
    before = differences(seed)
    after = oriented(before, MODELS)
    first = after.frame[after.frame["estimand"] == "difference"].drop_duplicates("unit")
    assert (first["point"] >= 0).all()
    same = after.frame["unit"] == before.frame["unit"]
    numbers = ["point", "lower", "upper", "truth"]
    assert after.frame[same].equals(before.frame[same])
    turned, original = after.frame[~same], before.frame[~same]
    np.testing.assert_allclose(turned[numbers], -original[["point", "upper", "lower", "truth"]])
    np.testing.assert_allclose(turned["p_positive"], 1 - original["p_positive"])


def test_a_pair_whose_names_are_not_models_is_left_alone() -> None:
    row = {"estimand": "difference", "unit": "x − y", "point": -1.0}
    assert oriented(Estimates.from_rows([row]), ["a", "b"]).frame["unit"].tolist() == ["x − y"]


@pytest.mark.parametrize("draws", [4, 50, 400, 1000, 4000, 1e6])
@pytest.mark.parametrize("p", [0.0, 0.001, 0.4999, 0.9994, 1.0])
def test_no_probability_is_written_as_certain(p: float, draws: float) -> None:
    shown = chance(p, draws)
    assert shown not in {".000", "1.000", "0.000"}
    if shown[0] in "<>":
        bound = float(shown[2:])
        # Rule of three: so many draws without an exception leave 95 % probability to at most 3 / draws.
        assert 0 <= bound <= 1
        assert (bound if p < 0.5 else 1 - bound) >= min(3 / draws, 1) - 1e-9
    else:
        assert float(shown) == pytest.approx(p, abs=0.0005)


def test_a_reason_of_several_judges_is_given_once() -> None:
    """Six real judges' gate said: labels look chosen; labels look chosen and 1 more."""
    gate = Gate(passed=False, reasons=tuple(f"bayes:x, judge {k}: labels look chosen" for k in "abc"), figures={})
    answer: Any = SimpleNamespace(gate=gate)
    assert refusal(answer).endswith("may be used: labels look chosen.")
