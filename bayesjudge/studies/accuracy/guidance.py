"""What a reader must know before the numbers: warnings from the data, the judge's quality and the checks.

Its seven items are those of "Bias and Uncertainty in LLM-as-a-Judge Estimation", section 7.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pandas as pd

from bayesjudge.baselines.accuracy.rogan_gladen import shared_bias
from bayesjudge.counts import VerdictCounts
from bayesjudge.effects.screen import LEVEL
from bayesjudge.estimates import Estimates, Population, estimand_of
from bayesjudge.planning.labels.sampling import labels_for_half_width
from bayesjudge.report.accuracy.headline import ONE_MODEL, ONE_OR_SEVERAL, PANEL
from bayesjudge.report.comparison import ChecklistItem
from bayesjudge.report.lead import LOW_YOUDEN, about, quality_rows, shared_calibration
from bayesjudge.studies.accuracy.chosen import looks_chosen
from bayesjudge.studies.accuracy.fits import JudgeFits
from bayesjudge.studies.common.checks import check_warnings, effect_warnings, fallback_warnings
from bayesjudge.text import judge_words

#: Labelled answers of a model below which the prior still shows.
FEW_LABELS = 30
#: Labelled answers of one class below which J of a model is mostly prior.
FEW_OF_CLASS = 5


def fit_warnings(fits: Iterable[JudgeFits]) -> list[str]:
    """Where an engine was replaced by another, and where a fit that is only compared did not converge."""
    found = []
    for one in fits:
        for label, single in one.everything.items():
            if label in one.alternatives:
                continue
            whose = "" if one.judge == PANEL else f", {judge_words(one.judge)}"
            found += fallback_warnings({f"{label}{whose}": single})
            found += effect_warnings(single.manifest, whose=whose)
        found += [
            f"{label}, {judge_words(one.judge)}: the comparison of poolings rests on a fit that did not converge "
            f"({'; '.join(single.gate.reasons)})"
            for label, single in one.alternatives.items()
            if not single.gate.passed
        ]
    return found


def warnings_of(
    counts: VerdictCounts,
    estimates: Estimates,
    diagnostics: Estimates,
    checks: Mapping[str, pd.DataFrame],
    judges: Sequence[str],
    *,
    panel: bool = False,
) -> list[str]:
    """What a reader must know before the numbers, most serious first."""
    found = list(counts.warnings)
    if len(judges) > 1 and not panel:
        found.append(
            f"{len(judges)} judges: each is analysed on its own. Their verdicts are not pooled, because "
            "judges err together and treating them as independent gives intervals that are far too narrow."
        )
    said: dict[str, list[str]] = {}
    for judge in judges:
        of_judge = diagnostics.where(judge=judge)
        # The one judge of a table is not named in the rows of its estimates.
        theta = estimates.where(estimand="accuracy", judge=[judge, ""])
        own, tested = counts.for_judge(judge), checks["selection"]
        tested = tested[tested["judge"] == judge]
        for text in _judge_warnings(own, theta, of_judge, tested):
            said.setdefault(text, []).append(judge)
    # Labels that all judges share are warned of once.
    found += [text for text, whose in said.items() if len(whose) == len(judges)]
    some = {text: whose for text, whose in said.items() if len(whose) < len(judges)}
    found += [f"judge{'s' * (len(whose) > 1)} {', '.join(whose)}: {text}" for text, whose in some.items()]
    complete = bool((counts.answers.label >= 0).all())
    found += _columns(checks["columns"], len(counts.models), complete=complete) if "columns" in checks else []
    return found + check_warnings(checks)


def _columns(tested: pd.DataFrame, systems: int, *, complete: bool) -> list[str]:
    """Columns on which a judge's errors depend, and the formula for the strongest.

    complete: Every answer has a label, so that none was chosen.
    """
    bad = tested[tested["holm"] < LEVEL]
    if bad.empty:
        return []
    several = len(set(tested["judge"])) > 1
    shown = [
        f"{row.column} ({f'judge {row.judge}, ' if several else ''}z {row.z:.1f})" for row in bad.head(3).itertuples()
    ]
    more = f" and {len(bad) - 3} more" if len(bad) > 3 else ""
    first = bad.iloc[0]
    name = first["column"] if first["column"].isidentifier() else f"`{first['column']}`"
    number = pd.isna(first["levels"])
    term = name if number else f"(1|{name})"
    terms = " + ".join(["1", term, *["(1|system)"] * (systems > 1)])
    chosen = "" if complete else f"Wherever labels were chosen by it, add --formula 'label ~ 1 + {term}'; "
    # Categories next to systems in a formula of accuracy would make every system better and worse in the same ones.
    learn = (
        f"--formula 'sensitivity ~ {terms}' and the same for specificity and accuracy"
        if number
        else f"--group {shlex.quote(first['column'])}"
    )
    text = (
        f"errors depend on {', '.join(shown)}{more}, given the label (Holm's p below {LEVEL:g} over {len(tested)} "
        f"tests). {chosen}{'To' if complete else 'to'} learn how, {learn}"
    )
    return [text]


def _judge_warnings(counts: VerdictCounts, theta: Estimates, diagnostics: Estimates, tested: pd.DataFrame) -> list[str]:
    if not (counts.answers.label >= 0).any():
        return ["no human labels: the judge's errors cannot be estimated, and every corrected accuracy is mostly prior"]
    return [
        *_label_warnings(counts),
        *_selection(tested, weighed=counts.rows is None),
        *_quality_warnings(theta, diagnostics),
    ]


def _label_warnings(counts: VerdictCounts) -> list[str]:
    answers, out = counts.answers, []
    labelled = answers.label >= 0
    few, one_class, thin = [], [], []
    for k, model in enumerate(counts.models):
        mine = labelled & (answers.model == k)
        size, right = answers.n[mine].sum(), answers.n[mine & (answers.label == 1)].sum()
        if size < FEW_LABELS:
            few.append(f"{model} ({size})")
        if size and right in {0, size}:
            one_class.append(f"{model} ({'all correct' if right else 'all wrong'})")
        elif min(right, size - right) < FEW_OF_CLASS:
            thin.append(f"{model} ({right} correct, {size - right} wrong)")
    if few:
        out.append(f"fewer than {FEW_LABELS} labelled answers, so the prior still shows: {', '.join(few)}")
    if one_class:
        rest = "sensitivity or specificity rests on the other models and the prior"
        out.append(f"labels of one class only, so {rest}: {', '.join(one_class)}")
    if thin:
        named = ", ".join(thin)
        out.append(f"fewer than {FEW_OF_CLASS} labelled answers of a class, so J is mostly prior: {named}")
    return out


def _selection(table: pd.DataFrame, *, weighed: bool) -> list[str]:
    """What the permutation test of even labelling found, for one judge; ``weighed``: it has rows [reweighted]."""
    if not looks_chosen(table):
        return []
    row = table.iloc[0]
    rows = "as in rows [reweighted]" if weighed else "in rows [reweighted], which group= and formula= leave out"
    found = (
        f"labels look chosen (permutation test, p = {row['p']:.3f}; strongest in {row['strongest']}): the "
        f"judge calls {row['labelled']:.0%} of the answers to labelled items correct and "
        f"{row['unlabelled']:.0%} of the others. If they were drawn with known probabilities, give them in a "
        "column label_probability. If items were chosen by the judge's verdicts and nothing else, give "
        "labels='chosen-by-verdict': labels are then weighed by probabilities estimated from the verdicts, "
        f"{rows}; labelled, ppi and ppi++ are not valid. If answers were chosen by whether "
        "they are right, or items by how hard they are, no method repairs it: the table of sensitivity to "
        "chosen labels states how strong that choice would have to be to matter. (Rows [reweighted] and that "
        "table are about questions like these, not about exactly these items.)"
    )
    return [found]


def _quality_warnings(theta: Estimates, diagnostics: Estimates) -> list[str]:
    rows = quality_rows(diagnostics, "youden")
    low, inverted = rows[rows["point"] < LOW_YOUDEN], rows[rows["upper"] < 0]
    unsigned = rows[(rows["lower"] <= 0) & (rows["upper"] >= 0)]
    out = []
    if len(low):
        shown = ", ".join(f"{name} ({point:.2f})" for name, point in zip(low["name"], low["point"], strict=True))
        out.append(f"low judge quality (J below {LOW_YOUDEN}): corrected estimates are fragile for {shown}")
    if len(inverted):
        named = ", ".join(inverted["name"])
        out.append(f"the judge is wrong more often than a coin (J below 0): check its coding, on {named}")
    if len(unsigned):
        named = ", ".join(unsigned["name"])
        out.append(f"the judge may be no better than a coin (J interval reaches 0) on {named}")
    shared, sentence = shared_calibration(diagnostics)
    return [*out, f"{sentence} {_shift_by_sharing(theta, diagnostics)}".strip()] if shared is False else out


def _shift_by_sharing(theta: Estimates, diagnostics: Estimates) -> str:
    """By how much one calibration for all models would move the accuracy it moves most (METHODS 1.5).

    Nothing on exactly these items, of which it leaves the labelled where they are.
    """
    rows = theta.where(group="").frame
    bayes = rows[rows["method"].str.startswith("bayes:")].drop_duplicates("unit")
    if bayes.empty:
        return ""
    accuracy = bayes.set_index("unit")["point"]
    names = ("specificity", "sensitivity")
    rates = (quality_rows(diagnostics, name).set_index("name")["point"] for name in names)
    q0, q1 = (rate.reindex(accuracy.index).to_numpy(float) for rate in rates)
    mean_0, mean_1 = (np.full(len(q), np.nanmean(q)) for q in (q0, q1))
    right = accuracy.to_numpy(float)
    # As it is reported, an accuracy stays between 0 and 1.
    shift = np.clip(right + shared_bias(right, q0, q1, mean_0, mean_1), 0.0, 1.0) - right
    if not np.isfinite(shift).any():
        return ""
    worst = int(np.nanargmax(np.abs(shift)))
    return f"One calibration for all would move the accuracy of {accuracy.index[worst]} by {shift[worst]:+.2f}."


def checklist(
    counts: VerdictCounts,
    estimates: Estimates,
    diagnostics: Estimates,
    selection: pd.DataFrame,
    *,
    prob: float,
    labels: str,
    population: Population = "superpopulation",
    clusters: Mapping[str, int] | None = None,
) -> tuple[ChecklistItem, ...]:
    """The seven items with what these data say."""
    shared, sentence = shared_calibration(diagnostics)
    return (
        _estimand(population, clusters),
        _comparison(counts, estimates, population, prob),
        _calibration(counts, labels, selection),
        _intervals(counts, prob),
        _quality(counts, diagnostics),
        ("Stability across models (ΔJ)", {True: "yes", False: "warn", None: "no"}[shared], sentence),
        _strength(trouble=_low(diagnostics) > 0 or shared is False or _labelled(counts) == 0),
    )


def _estimand(population: Population, clusters: Mapping[str, int] | None) -> ChecklistItem:
    text = (
        f"{about(population, clusters=clusters)} Raw verdict rates are the rows called raw rate (method naive), every "
        "other row is corrected and names its estimator."
    )
    return "Estimand and correction", "yes", text


def _comparison(counts: VerdictCounts, estimates: Estimates, population: Population, prob: float) -> ChecklistItem:
    models = len(counts.models)
    rows = len(estimates.where(estimand=estimand_of("difference", population)).frame)
    if models == 1:
        text = ONE_MODEL + _labels_needed(counts, estimates, prob)
        return ONE_OR_SEVERAL, "warn", text
    text = f"{models} models: accuracies and {rows} rows of differences, paired on the same items."
    return ONE_OR_SEVERAL, "yes", text


def _labels_needed(counts: VerdictCounts, estimates: Estimates, prob: float) -> str:
    """How many labels would give ± .05, from the interval of PPI++; nothing where it says nothing."""
    found = estimates.where(estimand="accuracy", method=["ppi++[logit]", "ppi++"]).frame
    found = found[np.isfinite(found["upper"] - found["lower"])]
    labelled, answers = _labelled(counts), int(counts.answers.n.sum())
    if found.empty or not labelled or counts.clusters or counts.weighted:
        return ""
    row = found.iloc[0]
    half = float(row["upper"] - row["lower"]) / 2
    needed = labels_for_half_width(
        0.05, now=half, labelled=labelled, answers=answers, accuracy=float(row["point"]), prob=prob
    )
    more = "" if needed <= answers else f", more than the {answers} answers there are"
    return f" {labelled} labels gave ± {half:.3f} ({row['method']}); about {needed} would give ± 0.05{more}."


def _calibration(counts: VerdictCounts, labels: str, selection: pd.DataFrame) -> ChecklistItem:
    labelled, total = _labelled(counts), int(counts.answers.n.sum())
    kinds = {
        "random": "a random sample",
        "chosen-by-verdict": "chosen by the judge's verdicts",
        "enriched": "chosen by the answer's own label",
    }
    chosen = "drawn with the stated probabilities" if counts.weighted else kinds[labels]
    p = float(selection["p"].min()) if len(selection) else float("nan")
    looks = looks_chosen(selection)
    tested = "" if np.isnan(p) else f" Permutation test of even labelling: smallest p {p:.3f}."
    text = (
        f"{labelled} of {total} answers carry a human label, treated as {chosen}; calibration is shared only "
        f"in rows called (shared).{tested}"
    )
    return "Calibration design", "no" if not labelled else "warn" if looks else "yes", text


def _intervals(counts: VerdictCounts, prob: float) -> ChecklistItem:
    drawn = "clusters as units" if counts.clusters else "items"
    repeats = ", repeated judge runs" if int(counts.answers.runs.max()) > 1 else ""
    text = (
        f"{100 * prob:g} % intervals; they reflect the sampling of labelled and unlabelled {drawn}{repeats} "
        "and, for Bayesian rows, the stated priors. Pairing is preserved."
    )
    return "Intervals and their randomness", "yes", text


def _quality(counts: VerdictCounts, diagnostics: Estimates) -> ChecklistItem:
    if not _labelled(counts):
        return "Judge quality", "no", "No labels, so the judge's quality is unknown."
    low, cases = _low(diagnostics), len(quality_rows(diagnostics, "youden"))
    below = f"J is below {LOW_YOUDEN} for {low} of {cases} pairs of judge and model" if low else "no J is below"
    text = f"Sensitivity, specificity and J are reported with intervals; {below}{'' if low else f' {LOW_YOUDEN}'}."
    return "Judge quality", "warn" if low else "yes", text


def _strength(*, trouble: bool) -> ChecklistItem:
    if trouble:
        text = "The diagnostics show trouble: weaken the claim rather than pick the most favourable estimator."
        return "Strength of the claim", "warn", text
    text = "The diagnostics show no trouble. Passing them does not prove that the numbers are right."
    return "Strength of the claim", "yes", text


def _labelled(counts: VerdictCounts) -> int:
    return int(counts.answers.n[counts.answers.label >= 0].sum())


def _low(diagnostics: Estimates) -> int:
    return int((quality_rows(diagnostics, "youden")["point"] < LOW_YOUDEN).sum())
