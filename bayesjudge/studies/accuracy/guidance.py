"""What a reader must know before the numbers: warnings from the data, the judge's quality and the checks.

Its seven items are those of "Bias and Uncertainty in LLM-as-a-Judge Estimation", section 7.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from bayesjudge.counts import VerdictCounts
from bayesjudge.estimates import Estimates, Population, estimand_of
from bayesjudge.studies.accuracy.fits import PANEL
from bayesjudge.studies.common.checks import fallback_warnings, predictive_warnings, sensitivity_warnings
from bayesjudge.studies.common.reading import LOW_YOUDEN, about, quality_rows, shared_calibration

if TYPE_CHECKING:
    import pandas as pd

    from bayesjudge.counts import AnswerPatterns
    from bayesjudge.studies.accuracy.fits import JudgeFits
    from bayesjudge.studies.common.comparison import ChecklistItem

__all__ = ["checklist", "fit_warnings", "warnings_of"]

#: Labelled answers of a model below which the prior still shows.
FEW_LABELS = 30
#: Level of the test that labelled and unlabelled answers have the same verdict rate.
SELECTION_LEVEL = 0.001
#: Answers with and without a label that a model needs to enter that test: below, its χ² is no χ².
LEAST_ANSWERS = 10


def fit_warnings(fits: Iterable[JudgeFits]) -> list[str]:
    """Where an engine was replaced by another, and where a fit that is only compared did not converge."""
    found = []
    for one in fits:
        for label, single in one.everything.items():
            whose = "" if one.judge == PANEL else f", judge {one.judge}"
            found += fallback_warnings({f"{label}{whose}": single})
        found += [
            f"{label}, judge {one.judge}: the comparison of poolings rests on a fit that did not converge "
            f"({'; '.join(single.gate.reasons)})"
            for label, single in one.alternatives.items()
            if not single.gate.passed
        ]
    return found


def warnings_of(
    counts: VerdictCounts, diagnostics: Estimates, checks: Mapping[str, pd.DataFrame], judges: Sequence[str],
    *, labels: str, panel: bool = False,
) -> list[str]:  # fmt: skip
    """What a reader must know before the numbers, most serious first."""
    found = list(counts.warnings)
    if len(judges) > 1 and not panel:
        found.append(
            f"{len(judges)} judges: each is analysed on its own. Their verdicts are not pooled, because "
            "judges err together and treating them as independent gives intervals that are far too narrow."
        )
    if counts.clusters and len(counts.models) > 1:
        found.append(
            "items in clusters: paired_accuracy is left out, so Bayesian differences come from judge_error, "
            "which does not pair items (too wide, not too narrow) and lets clusters shift all models alike"
        )
    for judge in judges:
        about = f"judge {judge}: " if len(judges) > 1 else ""
        of_judge = diagnostics.where(judge=judge)
        found += [about + text for text in _judge_warnings(counts.for_judge(judge), of_judge, labels)]
    return found + predictive_warnings(checks) + sensitivity_warnings(checks)


def _judge_warnings(counts: VerdictCounts, diagnostics: Estimates, labels: str) -> list[str]:
    if not (counts.answers.label >= 0).any():
        return [
            "no human labels: the judge's errors cannot be seen, and every corrected accuracy is mostly prior"
        ]
    selection = _selection(counts) if labels == "random" else []
    return [*_label_warnings(counts), *selection, *_quality_warnings(diagnostics)]


def _label_warnings(counts: VerdictCounts) -> list[str]:
    answers, out = counts.answers, []
    labelled = answers.label >= 0
    few, one_class = [], []
    for k, model in enumerate(counts.models):
        mine = labelled & (answers.model == k)
        size, right = answers.n[mine].sum(), answers.n[mine & (answers.label == 1)].sum()
        if size < FEW_LABELS:
            few.append(f"{model} ({size})")
        if size and right in {0, size}:
            one_class.append(f"{model} ({'all correct' if right else 'all wrong'})")
    if few:
        out.append(f"fewer than {FEW_LABELS} labelled answers, so the prior still shows: {', '.join(few)}")
    if one_class:
        rest = "sensitivity or specificity rests on the other models and the prior"
        out.append(f"labels of one class only, so {rest}: {', '.join(one_class)}")
    return out


def _selection(counts: VerdictCounts) -> list[str]:
    """Whether the labelled answers look like a random sample by their verdict rate (two-proportion tests)."""
    from scipy.stats import chi2

    statistic, tests = 0.0, 0
    worst, shown = 0.0, ""
    for k, model in enumerate(counts.models):
        (n1, rate1), (n2, rate2) = (_verdict_rate(counts.answers, k, labelled=flag) for flag in (True, False))
        pooled = (n1 * rate1 + n2 * rate2) / max(n1 + n2, 1)
        if min(n1, n2) < LEAST_ANSWERS or not 0 < pooled < 1:
            continue
        gap = rate1 - rate2
        statistic, tests = statistic + gap**2 / (pooled * (1 - pooled) * (1 / n1 + 1 / n2)), tests + 1
        if abs(gap) >= worst:
            worst, shown = abs(gap), f"{model}: {rate1:.0%} of labelled, {rate2:.0%} of unlabelled"
    if tests == 0 or chi2.sf(statistic, tests) > SELECTION_LEVEL:
        return []
    differ = "labelled answers are judged correct at another rate than unlabelled ones"
    # Given every verdict, choosing by verdict leaves P(y | v) alone; choosing by label does not.
    advice = (
        "if they were chosen by their verdict, judge_error, eif and mle still hold, and labelled, ppi and "
        "ppi++ do not; if by their label, or from other items, say that labels are enriched"
    )
    return [
        f"{differ} (most for {shown}), so the labels do not look like a random sample: {advice}",
    ]


def _verdict_rate(answers: AnswerPatterns, model: int, *, labelled: bool) -> tuple[int, float]:
    """Answers of a model with, or without, a label, and their mean verdict."""
    mine = (answers.model == model) & ((answers.label >= 0) == labelled)
    mean = answers.positives[mine, 0] / np.maximum(answers.runs[mine, 0], 1)
    n = int(answers.n[mine].sum())
    return n, float(answers.n[mine] @ mean) / max(n, 1)


def _quality_warnings(diagnostics: Estimates) -> list[str]:
    rows = quality_rows(diagnostics, "youden")
    low, inverted = rows[rows["point"] < LOW_YOUDEN], rows[rows["upper"] < 0]
    unsigned = rows[(rows["lower"] <= 0) & (rows["upper"] >= 0)]
    out = []
    if len(low):
        shown = ", ".join(
            f"{name} ({point:.2f})" for name, point in zip(low["name"], low["point"], strict=True)
        )
        out.append(f"low judge quality (J below {LOW_YOUDEN}): corrected estimates are fragile for {shown}")
    if len(inverted):
        named = ", ".join(inverted["name"])
        out.append(f"the judge is wrong more often than a coin (J below 0): look at its coding, on {named}")
    if len(unsigned):
        named = ", ".join(unsigned["name"])
        out.append(f"the judge may be no better than a coin (J interval reaches 0) on {named}")
    shared, sentence = shared_calibration(diagnostics)
    return [*out, sentence] if shared is False else out


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
