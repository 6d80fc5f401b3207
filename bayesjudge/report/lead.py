"""Which row answers: a posterior's where it may be used, else the best valid baseline's; how differences are read."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import PurePath
from typing import Any

import numpy as np
import pandas as pd

from bayesjudge.estimates import Estimates, Population, estimand_of
from bayesjudge.estimates.table import method_words
from bayesjudge.report.comparison import Comparison
from bayesjudge.text import chance, monte_carlo_error, number, rounded

#: What is to be done, at the end of a gate's reason, and whose posterior it is about, at its beginning.
_REMEDY = re.compile(r": (run|draw|raise|use|reparameterise) .*$")
_METHOD = re.compile(r"^bayes:.*?: ")
#: Key of a posterior at the beginning of a gate's reason, or of a warning.
_KEY = re.compile(r"^bayes:\w+(\[[^\]]*\])?")
#: Part of warnings that say how a file was read, and warn of nothing.
READ = "read as "
#: Between the two units of a difference.
MINUS = " − "


def data_facts(judges: Iterable[str], **counts: Any) -> dict[str, Any]:
    """Settings that say of which data an answer is: counts by what is counted, the judges, the day.

    Examples
    --------
    >>> data_facts(["gpt-4"], labelled_answers=12)["data"]
    {'labelled answers': 12}
    """
    data = {name.replace("_", " "): int(count) for name, count in counts.items()}
    return {"judges": list(judges), "data": data, "date": datetime.now(UTC).date().isoformat()}


def file_fact(source: Any) -> dict[str, str]:
    """Setting that names the file of an answer, where a file was given."""
    return {"file": PurePath(source).name} if isinstance(source, str | PurePath) else {}


def counted(answer: Comparison, what: str) -> int:
    """How many of something the data hold; 1 where an answer does not say."""
    return int(answer.settings.get("data", {}).get(what, 1))


def usable(answer: Comparison) -> bool:
    """Whether the Bayesian figures may be used: the gate passed, and there were labels where they are needed."""
    return answer.gate.passed and counted(answer, "labelled answers") > 0


def how_many_differ(answer: Comparison, bayes: pd.DataFrame) -> list[str]:
    """How many of the Bayesian intervals of differences exclude 0, as a sentence; none where they may not be used."""
    if not usable(answer) or bayes.empty:
        return []
    apart = (bayes["lower"] > 0) | (bayes["upper"] < 0)
    if len(apart) == 1:
        return [f"The Bayesian interval of the difference {'excludes' if apart.all() else 'includes'} 0."]
    return [f"The Bayesian interval excludes 0 for {int(apart.sum())} of {len(apart)} differences."]


def leading(answer: Comparison, rows: pd.DataFrame, baselines: Sequence[str]) -> str:
    """Method of the row that answers; empty where none may.

    With a failed gate the first of these ``baselines`` (method as in the rows) with a finite interval for every unit.
    """
    present = list(dict.fromkeys(rows["method"]))
    if answer.gate.passed:
        return next((name for name in present if name.startswith("bayes:")), "")
    for name in (name for name in baselines if name in present):
        mine = rows[rows["method"] == name]
        if len(mine) == len(rows["unit"].unique()) and np.isfinite(mine[["point", "lower", "upper"]]).all(axis=None):
            return name
    return ""


def refusal(answer: Comparison) -> str:
    """Why no Bayesian figure is among the answer; empty where one is."""
    if answer.gate.passed:
        return ""
    # Several judges may have one reason.
    reasons = list(dict.fromkeys(_METHOD.sub("", _REMEDY.sub("", reason)) for reason in answer.gate.reasons))
    more = f" and {len(reasons) - 2} more" if len(reasons) > 2 else ""
    return f"A gate failed, so no Bayesian figure may be used: {'; '.join(reasons[:2])}{more}."


def gate_reasons(answer: Comparison) -> list[str]:
    """Why the gate failed, posteriors named in words."""
    return [_KEY.sub(lambda found: method_words(found[0]), reason) for reason in answer.gate.reasons]


def sentence(text: str) -> str:
    """Text that begins with a capital, its other letters as they are.

    Examples
    --------
    >>> sentence("by GPT-4")
    'By GPT-4'
    """
    return text[:1].upper() + text[1:]


def further_warnings(answer: Comparison) -> list[str]:
    """The warnings that are not the answer itself, posteriors named in words."""
    said = ("no human labels", "no human votes")
    return [
        _KEY.sub(lambda found: method_words(found[0]), text) for text in answer.warnings if not text.startswith(said)
    ]


#: Format of a share of whole things.
PER_CENT = ".1%"


def point_words(row: Any, spec: str = ".3f") -> str:
    """An estimate, with the digits of its interval."""
    point, *_, spec = rounded(row, spec)
    return number(point, spec)


def interval_words(row: Any, spec: str = ".3f", *, prob: float | None = None) -> str:
    """An interval in words, with its probability where that is to be said.

    Examples
    --------
    >>> interval_words({"point": 0.1, "lower": -0.25, "upper": 0.5}, prob=0.95)
    '95 % interval −0.250 to 0.500'
    """
    _, lower, upper, spec = rounded(row, spec)
    ends = f"{number(lower, spec)} to {number(upper, spec)}"
    return ends if prob is None else f"{100 * prob:g} % interval {ends}"


def chance_words(p: float, draws: float) -> str:
    """A posterior probability with its Monte-Carlo error, where it is no bound.

    Examples
    --------
    >>> chance_words(0.25, 1200), chance_words(1.0, 4000)
    ('.250 (Monte-Carlo error .013)', '> .999')
    """
    shown = chance(p, draws)
    if shown.startswith((">", "<", "–")) or not draws > 0:
        return shown
    return f"{shown} (Monte-Carlo error {monte_carlo_error(p, draws):.3f})".replace("error 0", "error ")


def oriented(rows: Estimates, models: Iterable[str]) -> Estimates:
    """Differences of two models turned so that the first row of each is positive; others as they are."""
    frame = rows.frame
    names = set(models)
    pairs = frame[frame["estimand"].str.startswith("difference")].dropna(subset=["point"]).drop_duplicates("unit")
    splits = {
        unit: [(MINUS.join(parts[:k]), MINUS.join(parts[k:])) for k in range(1, len(parts))]
        for unit in pairs.loc[pairs["point"] < 0, "unit"]
        for parts in [unit.split(MINUS)]
    }
    turned = {
        unit: f"{second}{MINUS}{first}"
        for unit, found in splits.items()
        for first, second in found
        if {first, second} <= names
    }
    chosen = frame["unit"].isin(list(turned)) & frame["estimand"].str.startswith("difference")
    if not chosen.any():
        return rows
    frame, mine = frame.copy(), frame[chosen]
    negated = {"point": mine["point"], "lower": mine["upper"], "upper": mine["lower"], "truth": mine["truth"]}
    for name, values in negated.items():
        frame.loc[chosen, name] = -values
    frame.loc[chosen, "p_positive"] = 1 - mine["p_positive"]
    frame.loc[chosen, "unit"] = mine["unit"].map(turned)
    return Estimates(frame)


#: J below which every corrected estimate is called fragile; the paper's failing cases lie under it.
LOW_YOUDEN = 0.3


def plural(column: str) -> str:
    """The values of a column in words: those that hold prompts, items and voters are spelled out; others are quoted."""
    if re.search("prompt|question|instruction|conversation", column):
        return "prompts"
    return {"item": "items", "voter": "voters"}.get(column, f"values of {column!r}")


def about(
    population: Population,
    shares: Mapping[str, Mapping[str, float]] | None = None,
    clusters: Mapping[str, int] | None = None,
) -> str:
    """What the intervals are about, in one sentence.

    clusters: How many units other than the items there are, by the column that names them.

    Examples
    --------
    >>> print(about("superpopulation", clusters={"topic": 43}))
    Intervals are about accuracy on questions like these: they are for new values of 'topic' (43 here), each with ...
    """
    units = "".join(
        f"they are for new {plural(column) if column else 'clusters'} ({n:,} here), each with its items"
        for column, n in (clusters or {}).items()
    )
    if shares:
        mixes = (
            f"{column} {', '.join(f'{level} {share:.0%}' for level, share in mix.items())}"
            for column, mix in shares.items()
        )
        said = "; ".join([*mixes, *filter(None, [units])])
        return f"Intervals are about accuracy on a stated mix of questions like these: {said}."
    if population == "items":
        return "Intervals are about accuracy on exactly these items: labels count as they are, others are predicted."
    return f"Intervals are about accuracy on questions like these: {units or 'the items are a sample of them'}."


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
