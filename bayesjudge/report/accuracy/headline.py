"""The accuracy answer in sentences."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterable, Sequence
from itertools import chain, pairwise
from typing import Any

import pandas as pd

from bayesjudge.estimates.table import method_words
from bayesjudge.report.comparison import Comparison
from bayesjudge.report.lead import (
    about,
    chance_words,
    counted,
    estimand_in,
    interval_words,
    leading,
    point_words,
    refusal,
    sentence,
    usable,
)
from bayesjudge.text import judge_words, number, rounded

#: What stands in the column ``judge`` for all judges together.
PANEL = "all judges"
#: What the reason of a gate says where the test of even labelling rejects.
LOOK_CHOSEN = "labels look chosen"
#: Baselines that answer where the posterior may not, the best first.
VALID = (
    "eif[panel-logit,logit]",
    "ppi++[multi-proxy,logit]",
    "ppi++[best-judge,logit]",
    "active[panel-logit]",
    "aipw",
    "ppi++[logit]",
    "ppi++",
    "eif[logit]",
    "eif",
    "labelled",
)
#: Of these, the ones that hold where labels were chosen by the judge's verdict.
CHOSEN_BY_VERDICT = ("eif[panel-logit,logit]", "eif[logit]", "eif", "mle")
#: Beginnings of those that do not.
_NOT_BY_VERDICT = ("ppi", "labelled", "active", "aipw")
#: The file to fill in, and options of a command that its reading takes, too.
SHEET = "to_label.csv"
READING = ("--column", "--where", "--format", "--set", "--verdict", "--label", "--threshold", "--items", "--wide")
#: Judges that answer alone, each with a sentence, a column of the first table and tables that are not folded.
MOST_JUDGES = 3
#: An item of the checklist, and what it begins with where there is one system.
ONE_OR_SEVERAL, ONE_MODEL = "Single model or comparison", "One model: no comparison is made."
#: Models whose rates are named where nothing is labelled.
MOST_RATES = 4


def headline(answer: Comparison) -> list[str]:
    """Who is best, how sure that is, and how far off the raw verdicts are."""
    if not counted(answer, "labelled answers"):
        return _unlabelled(answer)
    judges = list(dict.fromkeys(answer.ranks["judge"]))
    shown = [PANEL] if PANEL in judges else judges[:MOST_JUDGES]
    sentences = [_best(answer, judge, several=len(judges) > 1, first=k == 0) for k, judge in enumerate(shown)]
    refused = [refusal(answer)] if not answer.gate.passed else []
    return [
        *sentences,
        *refused,
        *_alone(answer, judges),
        *_raw(answer),
        *_labels_needed(answer),
        about(answer.settings["population"], answer.settings.get("shares"), answer.settings.get("clusters")),
    ]


def accuracies(answer: Comparison, judge: str) -> tuple[str, pd.DataFrame]:
    """The method that answers for one judge or all together, and its rows, the highest accuracy first."""
    rows = answer.estimates.where(estimand=estimand_in(answer, "accuracy"), group="", judge=["", judge]).frame
    method = leading(answer, rows, CHOSEN_BY_VERDICT if _look_chosen(answer) else VALID)
    mine = rows[rows["method"] == method].drop_duplicates("unit").set_index("unit")
    if not answer.gate.passed:
        return method, mine.sort_values("point", ascending=False, kind="stable")
    ranks = answer.ranks[answer.ranks["judge"] == judge]
    return method, mine.reindex([name for name in ranks["model"] if name in mine.index])


def _look_chosen(answer: Comparison) -> bool:
    return any(LOOK_CHOSEN in reason for reason in answer.gate.reasons)


def first_baselines(answer: Comparison, judge: str, names: Iterable[str]) -> list[str]:
    """Baselines of the first tables: without a posterior the one that answers first, and none that is not valid."""
    if usable(answer) or not counted(answer, "labelled answers"):
        return list(names)
    method, _ = accuracies(answer, judge)
    out = _NOT_BY_VERDICT if _look_chosen(answer) else ()
    return list(dict.fromkeys([*filter(None, [method]), *(name for name in names if not name.startswith(out))]))


def named_baselines(answer: Comparison, present: Collection[str]) -> list[str]:
    """Methods of the baselines that were asked for by name; that of ``file.py:name`` is called name."""
    asked = [str(one).rpartition(".py:")[2] for one in answer.settings.get("baselines", ())]
    return [name for name in asked if name in present]


def _best(answer: Comparison, judge: str, *, several: bool, first: bool) -> str:
    by = "By all judges together, " if judge == PANEL else f"By judge {judge}, "
    who = by if several else ""
    method, rows = accuracies(answer, judge)
    if rows.empty:
        return f"{who}{'no' if who else 'No'} baseline has an interval for every model either."
    if not answer.gate.passed:
        valid = (
            "valid if labels were chosen by verdicts alone" if _look_chosen(answer) else "the best valid baseline here"
        )
        who += f"by {method_words(method)}, {f'{valid}, ' if first else ''}"
    row: Any = rows.iloc[0]
    model, prob = rows.index[0], answer.settings["prob"] if first else None
    interval = interval_words(row, prob=prob)
    claim = "has the highest accuracy," if len(rows) > 1 else "has accuracy"
    text = f"{who}{model} {claim} {point_words(row)} ({interval})"
    if len(rows) > 1 and answer.gate.passed:
        best = answer.ranks[answer.ranks["judge"] == judge].iloc[0]
        text += f"; it is the best model with probability {chance_words(best['p_best'], row['ess'])}"
    return f"{text[:1].upper() if who else text[:1]}{text[1:]}."


def _alone(answer: Comparison, judges: list[str]) -> list[str]:
    """Whom each judge alone puts first, with a panel or where there are too many to say more of each."""
    alone = [judge for judge in judges if judge != PANEL]
    if PANEL not in judges:
        further = len(judges) - MOST_JUDGES
        return [f"What {further} more judge{'s' * (further > 1)} say{'s' * (further == 1)} is below."] * (further > 0)
    if not answer.gate.passed or len(answer.ranks["model"].unique()) < 2:
        return []
    first = answer.ranks.drop_duplicates("judge").set_index("judge")["model"]
    same = sum(first[judge] == first[PANEL] for judge in alone)
    if len(alone) == 1:
        which = "the same" if same else "another"
        return [f"The judge's errors by themselves put {which} model first."] if first.size > 1 else []
    who = f"{same} of {len(alone)} judges alone put"
    who = f"Each of the {len(alone)} judges alone puts" if same == len(alone) else who
    return [f"{who} the same model first."] if first.size > 1 else []


def _raw(answer: Comparison) -> list[str]:
    """How far the raw verdict rate lies from the accuracy that answers, at its worst, and of which answers it is."""
    judges = [judge for judge in dict.fromkeys(answer.ranks["judge"]) if judge != PANEL]
    found, unlabelled = [], False
    for judge in judges:
        rows = answer.estimates.where(estimand=estimand_in(answer, "accuracy"), group="", judge=["", judge])
        naive = rows.where(method="naive").frame.drop_duplicates("unit").set_index("unit")
        _, mine = accuracies(answer, judge)
        unlabelled |= bool((naive["n"] < mine["n"].reindex(naive.index)).any())
        rates = {str(model): float(rate) for model, rate in naive["point"].items()}
        by = f" by {judge}" if len(judges) > 1 else ""
        known = [(f"{k}{by}", rates[str(k)], row) for k, row in mine.iterrows() if k in rates]
        found += [(abs(rate - row["point"]), name, rate, row) for name, rate, row in known]
    if not found:
        return []
    gap, name, raw, row = max(found, key=lambda one: one[0])
    off = number(gap, rounded(row.to_dict()).spec)
    if len(found) == 1:
        which = "The raw rate on answers without a label" if unlabelled else "The raw rate"
        where = "inside" if row["lower"] <= raw <= row["upper"] else "outside"
        return [f"{which} is off by {off} ({number(raw)} raw, {point_words(row)} corrected), {where} the interval."]
    outside = sum(not one["lower"] <= rate <= one["upper"] for _, _, rate, one in found)
    worst = f"{name}: {number(raw)} raw, {point_words(row)} corrected"
    where = f"{outside} of {len(found)} lie outside their interval"
    where = where if outside > 1 else f"{'one' if outside else 'none'} of {len(found)} lies outside its interval"
    whose = "Raw rates on answers without a label" if unlabelled else "Raw rates"
    return [f"{whose} are off by up to {off} ({worst}); {where}."]


def _labels_needed(answer: Comparison) -> list[str]:
    """Of one system: how many labels would give ± .05, as the checklist says after its first sentence."""
    text = next((text for item, _, text in answer.checklist if item == ONE_OR_SEVERAL), "")
    needed = text.removeprefix(ONE_MODEL)
    return [needed.strip()] if needed not in {"", text} else []


def _unlabelled(answer: Comparison) -> list[str]:
    """What can be said without a label, and how to get some."""
    rows = answer.estimates.where(estimand=estimand_in(answer, "accuracy"), group="", method="naive").frame
    rows = rows.sort_values("point", ascending=False, kind="stable")
    judges = answer.settings["judges"]
    who = sentence(f"{judge_words(judges[0])} calls") if len(judges) == 1 else "The judges call"
    shares = [
        f"{row['point']:.1%} of {row['unit']}'s{f' ({judge})' if (judge := row['judge']) else ''}".replace("%", " %")
        for row in rows.head(MOST_RATES).to_dict("records")
    ]
    more = f" ({len(rows) - MOST_RATES} more below)" if len(rows) > MOST_RATES else ""
    if "metric" in answer.settings:
        return _by_metric(answer, f"They call {', '.join(shares)} answers correct{more}.")
    return [
        "Not yet: no answer has a human label, so the judge's errors are unknown and no model can be called better.",
        f"{who} {', '.join(shares)} answers correct{more}: these are rates of verdicts, not accuracies.",
        *_labelling(answer),
    ]


def _by_metric(answer: Comparison, rates: str) -> list[str]:
    """What is said of metrics without a judge: they are their own labels, with which answers and runs are compared."""
    words = _words(answer)
    labels = ["--set", f"label={{{answer.settings['metric']}}}"]
    accuracy = shlex.join(["bayesjudge", "accuracy", *words, *labels])
    compare = shlex.join(["bayesjudge", "compare", words[0], "AFTER", *_read(words), *labels])
    return [
        "These are metrics by reference or by code: no judge gave them, so there is nothing to correct or to label.",
        rates,
        f"As their own labels they give intervals of models and differences: {accuracy}",
        f"With a second run, whose file takes the place of AFTER: {compare}",
    ]


def _words(answer: Comparison) -> list[str]:
    """The words of the command after the question, the file first."""
    return shlex.split(str(answer.settings.get("command", "")))[2:] or [str(answer.settings.get("file", "FILE"))]


def _read(words: Sequence[str]) -> list[str]:
    """Of a command's words, the options of how its file is read."""
    return [*chain.from_iterable(pair for pair in pairwise(words) if pair[0] in READING)]


def _labelling(answer: Comparison) -> list[str]:
    """The commands that draw answers to label and use their labels."""
    command, file = str(answer.settings.get("command", "")), str(answer.settings.get("file", "FILE"))
    words = _words(answer)
    drawn = shlex.join(["bayesjudge", "next", "accuracy", words[0], *_read(words), "--out", SHEET])
    in_python = f"bj.accuracy(bj.read_verdicts({file!r}, labels={SHEET!r}))"
    again = f"{command} --gold {SHEET}" if command else in_python
    # Values that the user said mean yes are read in these labels, too, where 1 would be another.
    written = "what that command says" if "--label" in words else "1 (right) or 0 (wrong)"
    return [f"Draw answers to label at random: {drawn}", f"Write {written} into its column label, then run: {again}"]
