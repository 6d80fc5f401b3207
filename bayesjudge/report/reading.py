"""How to read J and ΔJ, as section 4.4 of "Bias and Uncertainty in LLM-as-a-Judge Estimation" has it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from bayesjudge.estimates import Estimates, Population, estimand_of
from bayesjudge.report.comparison import Comparison

#: J below which every corrected estimate is called fragile; the paper's failing cases lie under it.
LOW_YOUDEN = 0.3


def about(population: Population, shares: Mapping[str, Mapping[str, float]] | None = None) -> str:
    """What the intervals are about, in one sentence."""
    if shares:
        mixes = (
            f"{column} {', '.join(f'{level} {share:.0%}' for level, share in mix.items())}"
            for column, mix in shares.items()
        )
        return f"Intervals are about accuracy on a stated mix of questions like these: {'; '.join(mixes)}."
    if population == "items":
        return "Intervals are about accuracy on exactly these items: labels count as they are, others are predicted."
    return "Intervals are about accuracy on questions like these: the items are a sample of them."


def estimand_in(answer: Comparison, name: str) -> str:
    """Name of an estimand on the population that an accuracy answer is about."""
    return estimand_of(name, answer.settings["population"])


def quality_rows(diagnostics: Estimates, estimand: str) -> pd.DataFrame:
    """The Bayesian rows of a judge's quality: over all items where there are such, else group by group.

    Of several models the first one's. A column ``name`` says of what each row is.

    Examples
    --------
    >>> row = {"estimand": "youden", "unit": "m", "method": "bayes:x", "group": "law", "point": 0.5}
    >>> quality_rows(Estimates.from_rows([row]), "youden")["name"].tolist()
    ['m in law']
    """
    rows = diagnostics.where(estimand=estimand).frame
    rows = rows[rows["method"].str.startswith("bayes:")]
    rows = rows[rows["method"] == rows.groupby("judge")["method"].transform("first")]
    overall = rows[rows["group"] == ""]
    if len(overall) or rows.empty:
        return overall.assign(name=overall["unit"])
    return rows.assign(name=rows["unit"] + " in " + rows["group"])


def worth_of_labels(facts: Mapping[str, Any]) -> str:
    """What labels on items that models share are worth, from the facts in a fit's manifest.

    Examples
    --------
    >>> counts = {"theta": 80.0, "sensitivity": 60.0, "specificity": 20.0}
    >>> worth = {"theta": 50.0, "sensitivity": 40.0, "specificity": 12.0}
    >>> facts = {"labelled_items": 40, "labelled_answers": counts, "effective_answers": worth}
    >>> worth_of_labels({**facts, "effective_answers_95": {"theta": [38.0, 66.0]}}).rpartition("over models: ")[2]
    '50 (95 %: 38 to 66) of 80 for accuracies, 40 of 60 for sensitivities, 12 of 20 for specificities.'
    """
    worth, answers = facts["effective_answers"], facts["labelled_answers"]
    names = {"theta": "accuracies", "sensitivity": "sensitivities", "specificity": "specificities"}
    ends = {
        key: f" (95 %: {low:.0f} to {high:.0f})" for key, (low, high) in facts.get("effective_answers_95", {}).items()
    }
    listed = ", ".join(
        f"{worth[key]:.0f}{ends.get(key, '')} of {answers[key]:.0f} for {name}"
        for key, name in names.items()
        if key in worth
    )
    return (
        f"The {facts['labelled_items']} labelled items carry {answers.get('theta', 0):.0f} labelled answers. "
        "Models share items; effective numbers of independent answers, averaged over models: "
        f"{listed}."
    )


def shared_calibration(diagnostics: Estimates) -> tuple[bool | None, str]:
    """Whether one calibration may serve all models, in the paper's words; None when that is not known.

    Only pairs whose ΔJ is defined by the labels themselves count: elsewhere its posterior is the prior's.
    """
    rows = quality_rows(diagnostics, "delta_youden")
    plain = diagnostics.where(estimand="delta_youden").frame
    plain = plain[~plain["method"].str.startswith("bayes:")].dropna(subset=["point"])
    key = ["judge", "unit", "group"]
    rows = rows.merge(plain[key].drop_duplicates(), on=key).dropna(subset=["point"])
    # A posterior that shares the rates has no ΔJ to show.
    rows = rows[rows["upper"] > rows["lower"]]
    if rows.empty:
        return None, "ΔJ cannot be estimated: shared calibration needs labels on two models or more to be checked."
    apart = rows[(rows["lower"] > 0) | (rows["upper"] < 0)]
    one = len(rows) == 1
    if len(apart):
        pairs = "the pair" if one else f"{len(apart)} of {len(rows)} pairs, most for"
        worst = apart.iloc[int(np.argmax(apart["point"].abs()))]
        interval = f"{worst['lower']:+.2f} to {worst['upper']:+.2f}"
        return False, (
            f"Shared calibration is not defensible: ΔJ excludes 0 for {pairs} {worst['name']} "
            f"(ΔJ {worst['point']:+.2f}, {interval})."
        )
    pairs = "the pair of models" if one else f"all {len(rows)} pairs"
    return True, (
        f"ΔJ includes 0 for {pairs}: necessary for shared calibration, not sufficient; "
        "near-ties stay fragile either way."
    )
