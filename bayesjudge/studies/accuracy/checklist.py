"""The reporting checklist, filled from the data.

Its seven items are those of "Bias and Uncertainty in LLM-as-a-Judge Estimation", section 7.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bayesjudge.counts import VerdictCounts
from bayesjudge.estimates import Estimates, Population, estimand_of
from bayesjudge.studies.common.reading import LOW_YOUDEN, about, quality_rows, shared_calibration

if TYPE_CHECKING:
    from bayesjudge.studies.common.comparison import ChecklistItem

__all__ = ["checklist"]


def checklist(
    counts: VerdictCounts, estimates: Estimates, diagnostics: Estimates, *, prob: float, labels: str,
    population: Population = "superpopulation",
) -> tuple[ChecklistItem, ...]:  # fmt: skip
    """The seven items with what these data say."""
    shared, sentence = shared_calibration(diagnostics)
    return (
        _estimand(population),
        _comparison(counts, estimates.where(estimand=estimand_of("difference", population))),
        _calibration(counts, labels),
        _intervals(counts, prob),
        _quality(counts, diagnostics),
        ("Stability across models (ΔJ)", {True: "yes", False: "warn", None: "no"}[shared], sentence),
        _strength(trouble=_low(diagnostics) > 0 or shared is False or _labelled(counts) == 0),
    )


def _estimand(population: Population) -> ChecklistItem:
    text = (
        f"{about(population)} Raw verdict rates are the rows called naive, every other row is corrected and "
        "names its estimator."
    )
    return "Estimand and correction", "yes", text


def _comparison(counts: VerdictCounts, differences: Estimates) -> ChecklistItem:
    models, rows = len(counts.models), len(differences.frame)
    if models == 1:
        return "Single model or comparison", "warn", "One model: no comparison is made."
    text = f"{models} models: accuracies and {rows} rows of differences, paired on the same items."
    return "Single model or comparison", "yes", text


def _calibration(counts: VerdictCounts, labels: str) -> ChecklistItem:
    labelled, total = _labelled(counts), int(counts.answers.n.sum())
    chosen = "a random sample" if labels == "random" else "chosen by stratum or verdict"
    text = (
        f"{labelled} of {total} answers carry a human label, treated as {chosen}; calibration is shared only "
        "in rows called [shared]."
    )
    return "Calibration design", "yes" if labelled else "no", text


def _intervals(counts: VerdictCounts, prob: float) -> ChecklistItem:
    drawn = "whole clusters" if counts.clusters else "items"
    repeats = ", repeated judge runs" if int(counts.answers.runs.max()) > 1 else ""
    text = (
        f"{100 * prob:g} % intervals; they reflect the sampling of labelled and unlabelled {drawn}{repeats} "
        "and, for Bayesian rows, the stated priors. Pairing is kept."
    )
    return "Intervals and their randomness", "yes", text


def _quality(counts: VerdictCounts, diagnostics: Estimates) -> ChecklistItem:
    if not _labelled(counts):
        return "Judge quality", "no", "No labels, so the judge's quality is unknown."
    low, cases = _low(diagnostics), len(quality_rows(diagnostics, "youden"))
    text = (
        "Sensitivity, specificity and J are reported with intervals; "
        f"J is below {LOW_YOUDEN} in {low} of {cases} cases."
    )
    return "Judge quality", "warn" if low else "yes", text


def _strength(*, trouble: bool) -> ChecklistItem:
    if trouble:
        text = (
            "The diagnostics show trouble: weaken the claim rather than pick the most favourable estimator."
        )
        return "Strength of the claim", "warn", text
    text = "The diagnostics show no trouble; they are warnings, not acceptance criteria."
    return "Strength of the claim", "yes", text


def _labelled(counts: VerdictCounts) -> int:
    return int(counts.answers.n[counts.answers.label >= 0].sum())


def _low(diagnostics: Estimates) -> int:
    return int((quality_rows(diagnostics, "youden")["point"] < LOW_YOUDEN).sum())
