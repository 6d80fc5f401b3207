"""What to make of the numbers: warnings, and the paper's reporting checklist filled from the data.

The reading of J and ΔJ and the seven items are those of "Bias and Uncertainty in LLM-as-a-Judge Estimation",
sections 4.4 and 7.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from bayesjudge.counts import VerdictCounts
from bayesjudge.estimates import Estimates

if TYPE_CHECKING:
    import pandas as pd

    from bayesjudge.studies.comparison import ChecklistItem

__all__ = ["checklist", "shared_calibration", "warnings_of"]

#: J below which every corrected estimate is called fragile; the paper's failing cases lie under it.
LOW_YOUDEN = 0.3
#: Labelled answers of a model below which the prior still shows.
FEW_LABELS = 30
#: Level of the test that labelled and unlabelled answers have the same verdict rate.
SELECTION_LEVEL = 0.001


def shared_calibration(diagnostics: Estimates) -> tuple[bool | None, str]:
    """Whether one calibration may serve all models, in the paper's words; None when that is not known."""
    rows = diagnostics.where(estimand="delta_youden").frame
    rows = rows[rows["method"].str.startswith("bayes:") & (rows["group"] == "")].dropna(subset=["point"])
    if rows.empty:
        return None, "ΔJ cannot be seen: shared calibration needs labels on two models or more to be checked."
    apart = rows[(rows["lower"] > 0) | (rows["upper"] < 0)]
    if len(apart):
        worst = apart.loc[apart["point"].abs().idxmax()]
        return False, (
            f"Shared calibration is not defensible: ΔJ excludes 0 for {len(apart)} of {len(rows)} pairs, most for "
            f"{worst['unit']} (ΔJ {worst['point']:+.2f}, {worst['lower']:+.2f} to {worst['upper']:+.2f})."
        )
    return True, (
        f"ΔJ includes 0 for all {len(rows)} pairs: necessary for shared calibration, not sufficient; "
        "near-ties stay fragile either way."
    )


def warnings_of(
    counts: VerdictCounts, diagnostics: Estimates, checks: dict[str, pd.DataFrame], judges: Iterable[str]
) -> list[str]:
    """What a reader must know before the numbers, most serious first."""
    found = list(counts.warnings)
    chosen = list(judges)
    if len(chosen) > 1:
        found.append(
            f"{len(chosen)} judges: each is analysed on its own. Their verdicts are not pooled, because judges err "
            "together and treating them as independent gives intervals that are far too narrow."
        )
    for judge in chosen:
        about = f"judge {judge}: " if len(chosen) > 1 else ""
        alone = counts.for_judge(judge)
        found += [about + text for text in _label_warnings(alone) + _quality_warnings(diagnostics, judge)]
    return found + _check_warnings(checks)


def _label_warnings(counts: VerdictCounts) -> list[str]:
    answers, out = counts.answers, []
    labelled = answers.label >= 0
    if not labelled.any():
        return [
            "no human labels: the judge's errors cannot be seen, and every corrected accuracy is mostly prior"
        ]
    few, one_class = [], []
    for k, model in enumerate(counts.models):
        mine = labelled & (answers.model == k)
        size, right = answers.n[mine].sum(), answers.n[mine & (answers.label == 1)].sum()
        if 0 < size < FEW_LABELS or size == 0:
            few.append(f"{model} ({size})")
        if size and right in {0, size}:
            one_class.append(f"{model} ({'all correct' if right else 'all wrong'})")
    if few:
        out.append(f"fewer than {FEW_LABELS} labelled answers, so the prior still shows: {', '.join(few)}")
    if one_class:
        out.append(
            f"labels of one class only, so sensitivity or specificity rests on the other models and the prior: {', '.join(one_class)}"
        )
    return out + _selection(counts)


def _selection(counts: VerdictCounts) -> list[str]:
    """Whether the labelled answers look like a random sample by their verdict rate (two-proportion test)."""
    from scipy.stats import chi2

    answers = counts.answers
    mean = answers.positives[:, 0] / np.maximum(answers.runs[:, 0], 1)
    statistic, rows, shown = 0.0, 0, []
    for k, model in enumerate(counts.models):
        rates = []
        for labelled in (True, False):
            mine = (answers.model == k) & ((answers.label >= 0) == labelled)
            rates.append((answers.n[mine].sum(), (answers.n[mine] * mean[mine]).sum()))
        (n1, s1), (n2, s2) = rates
        pooled = (s1 + s2) / max(n1 + n2, 1)
        if min(n1, n2) < 10 or not 0 < pooled < 1:
            continue
        gap = s1 / n1 - s2 / n2
        statistic, rows = statistic + gap**2 / (pooled * (1 - pooled) * (1 / n1 + 1 / n2)), rows + 1
        shown.append((abs(gap), f"{model}: {s1 / n1:.0%} of labelled, {s2 / n2:.0%} of unlabelled"))
    if rows == 0 or chi2.sf(statistic, rows) > SELECTION_LEVEL:
        return []
    return [
        f"labelled answers are judged correct at another rate than unlabelled ones (most for {max(shown)[1]}), so "
        "the labels do not look like a random sample: if they were chosen by stratum or verdict, use labels='enriched'"
    ]


def _quality_warnings(diagnostics: Estimates, judge: str) -> list[str]:
    rows = diagnostics.where(estimand="youden", judge=judge).frame
    rows = rows[rows["method"].str.startswith("bayes:") & (rows["group"] == "")]
    low = rows[rows["point"] < LOW_YOUDEN]
    unsigned = rows[rows["lower"] <= 0]
    out = []
    if len(low):
        shown = ", ".join(f"{row.unit} ({row.point:.2f})" for row in low.itertuples())
        out.append(
            f"low judge quality (J below {LOW_YOUDEN}): every corrected estimate is fragile for {shown}"
        )
    if len(unsigned):
        out.append(
            f"the judge may be no better than a coin (J interval reaches 0) on {', '.join(unsigned['unit'])}"
        )
    shared, sentence = shared_calibration(diagnostics.where(judge=judge))
    return [*out, sentence] if shared is False else out


def _check_warnings(checks: dict[str, pd.DataFrame]) -> list[str]:
    out = []
    predictive = checks.get("predictive")
    if predictive is not None and predictive["flagged"].any():
        bad = predictive[predictive["flagged"]]
        shown = "; ".join(f"{row.statistic} of {row.unit}" for row in bad.head(3).itertuples())
        out.append(
            f"predictive checks: the model does not reproduce {len(bad)} of {len(predictive)} statistics ({shown})"
        )
    sensitivity = checks.get("sensitivity")
    if sensitivity is not None and len(sensitivity):
        bad = sensitivity[sensitivity["prior_sensitive"]]
        if len(bad):
            shown = "; ".join(f"{row.estimand} of {row.unit}" for row in bad.head(3).itertuples())
            out.append(
                f"prior sensitivity: {len(bad)} of {len(sensitivity)} estimands move with the prior ({shown})"
            )
    return out


def checklist(
    counts: VerdictCounts,
    estimates: Estimates,
    diagnostics: Estimates,
    *,
    prob: float,
    labels: str,
    clustered: bool,
) -> tuple[ChecklistItem, ...]:
    """The seven items of the paper's section 7 with what these data say."""
    answers = counts.answers
    labelled = int(answers.n[answers.label >= 0].sum())
    total = int(answers.n.sum())
    models = len(counts.models)
    shared, sentence = shared_calibration(diagnostics)
    youden = diagnostics.where(estimand="youden").frame
    youden = youden[youden["method"].str.startswith("bayes:") & (youden["group"] == "")]
    low = int((youden["point"] < LOW_YOUDEN).sum())
    drawn = "whole clusters" if clustered else "items"
    differences = len(estimates.where(estimand="difference").frame)
    repeats = ", repeated judge runs" if int(answers.runs.max()) > 1 else ""
    trouble = low > 0 or shared is False
    return (
        ("Estimand and correction", "yes",
         "Accuracy on the superpopulation the items are drawn from; raw verdict rates are the rows called naive, "
         "every other row is corrected and names its estimator."),
        ("Single model or comparison", "yes" if models > 1 else "warn",
         f"{models} models: accuracies and {differences} rows of differences, paired on the same items."
         if models > 1 else "One model: no comparison is made."),
        ("Calibration design", "yes" if labelled else "no",
         f"{labelled} of {total} answers carry a human label, treated as "
         f"{'a random sample' if labels == 'random' else 'chosen by stratum or verdict'}; calibration is shared only "
         "in rows called [shared]."),
        ("Intervals and their randomness", "yes",
         f"{prob:.0%} intervals; they reflect the sampling of labelled and unlabelled {drawn}{repeats} and, for "
         "Bayesian rows, the stated priors. Pairing is kept."),
        ("Judge quality", "no" if not labelled else "warn" if low else "yes",
         "No labels, so the judge's quality is unknown." if not labelled
         else f"Sensitivity, specificity and J are reported with intervals; J is below {LOW_YOUDEN} in {low} of "
              f"{len(youden)} cases."),
        ("Stability across models (ΔJ)", {True: "yes", False: "warn", None: "no"}[shared], sentence),
        ("Strength of the claim", "warn" if trouble else "yes",
         "The diagnostics show trouble: weaken the claim rather than pick the most favourable estimator."
         if trouble else "The diagnostics show no trouble; they are warnings, not acceptance criteria."),
    )  # fmt: skip
