"""A model by its name: options in brackets, formulas and priors by themselves, and the name that a table prints."""

from __future__ import annotations

from typing import Any

import pytest

from bayesjudge.errors import UsageError
from bayesjudge.model import find_model
from bayesjudge.options.registered import named

PRINTED: list[tuple[str, dict[str, Any]]] = [
    ("bradley_terry", {"by_group": True, "length_effect": True}),
    ("conditional_panel", {}),
    ("judge_elo", {"length_effect": True}),
    ("judge_error", {"pooling": "shared", "labels": "enriched"}),
    ("judge_error", {"formulas": ("sensitivity ~ 1 + log(length) + (1|system)", "specificity ~ 1 + (length|topic)")}),
    ("judge_panel", {"annotators": "independent", "formulas": ("label ~ 1 + length",)}),
    ("judge_temperature", {"by_group": True}),
    ("pointwise_scores", {"likelihood": "ordinal"}),
    ("repeated_trials", {"formulas": ("position ~ 1 + log(words)", "preference ~ 1 + length")}),
    ("verdict_agreement", {"formulas": ("agreement ~ 1 + style",)}),
]


@pytest.mark.parametrize(("name", "options"), PRINTED, ids=[f"{name} {k}" for k, (name, _) in enumerate(PRINTED)])
def test_a_name_that_a_table_prints_is_taken_back(name: str, options: dict[str, Any]) -> None:
    model: Any = find_model(name)(**options)
    assert named(model.label).label == model.label
    slot = next(iter(model.priors))
    other = model.with_priors({slot: model.priors[slot].default.widened(2)})
    assert named(other.label).label == other.label


def test_a_formula_stands_by_itself() -> None:
    made: Any = named("judge_error[pooling=shared, sensitivity ~ 1 + length, specificity ~ 1 + `a, b`]")
    assert made.formulas == ("sensitivity ~ 1 + length", "specificity ~ 1 + `a, b`")
    assert made.pooling == "shared"
    reviewed: Any = named("verdict_agreement[positives, reviewed=0.5]")
    assert (reviewed.labels, reviewed.reviewed) == ("positives", 0.5)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("judge_error[formulas=sensitivity ~ 1 + length]", r"as in judge_error\[sensitivity ~ 1 \+ length\]$"),
        ("judge_error[commom]", r"'commom' is no option of judge_error; write option=value in brackets, or a formula"),
        ("bradley_terry[heron]", "'heron' is no option of bradley_terry"),
        ("judge_elo[sensitivity ~ 1]", "judge_elo has no option 'formulas'"),
        ("judge_error[sensitivity ~ 1, sensitivity ~ 1 + length]", "two formulas of sensitivity"),
        ("judge_error[sensitivty~Beta(1, 1)]", "did you mean 'sensitivity'"),
        ("judge_error[sensitivity~Beta(1)]", "has 1 parameter"),
    ],
)
def test_what_is_no_model_says_what_to_type(text: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        named(text)
