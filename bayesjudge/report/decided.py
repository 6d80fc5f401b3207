"""A decision between the systems of an answer, as two tables among its checks."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Real

import numpy as np
import pandas as pd

from bayesjudge.decisions import (
    UNDECIDED,
    Labels,
    adjusted,
    compared_with,
    estimate_tests,
    item_covariance,
    loss_of_choosing,
    paired_tests,
    regret,
    value_of_labels,
)
from bayesjudge.decisions.choice import Loss
from bayesjudge.errors import UsageError, did_you_mean
from bayesjudge.estimates.table import is_bayesian
from bayesjudge.report.accuracy.headline import PANEL
from bayesjudge.report.accuracy.headline import VALID as CORRECTED
from bayesjudge.report.comparison import Comparison
from bayesjudge.report.draws import draws_of
from bayesjudge.report.elo.headline import VALID as RATED
from bayesjudge.report.lead import MINUS, counted, usable
from bayesjudge.report.terminal import unit_name

KEEP = "keep="
#: Replicates of the paired bootstrap.
REPLICATES = 10_000
#: The tables of a decision among an answer's checks.
DECISION, VALUE = "decision", "label_value"
#: Figures of the posterior, which a failed gate takes away.
_BAYES = ["p_best", "expected_loss", "difference", "lower", "upper", "p_better", "p_equivalent", "p_worse"]
#: P-values, with their headings.
TESTS = {
    "p_noninferior": "p not worse",
    "p_tost": "p TOST",
    "p_different": "p differs",
    "p_mcnemar": "McNemar",
    "p_bootstrap": "bootstrap",
}


@dataclass(frozen=True, kw_only=True)
class Aim:
    """What a question's systems are compared by.

    estimand: Of the rows that are compared; more of it is better where ``sign`` is 1, less where it is -1.
    margin: By default.
    worth: Wrong answers (lost battles) for each unit of loss and each answer (battle).
    baselines: Frequentist methods, the best first.
    labels: What is labelled, and what there is to label, in the facts of the data; empty where nothing is.
    """

    estimand: str
    margin: float
    sign: int = 1
    worth: float = 1.0
    baselines: Sequence[str] = ()
    labels: tuple[str, str] = ("", "")


AIMS = {
    "accuracy": Aim(estimand="accuracy", margin=0.02, baselines=CORRECTED, labels=("labelled answers", "answers")),
    # An Elo point is worth ln(10)/1600 of a battle between equals.
    "elo": Aim(estimand="elo", margin=10.0, worth=math.log(10) / 1600, baselines=RATED, labels=("human votes", "")),
    "reliability": Aim(estimand="flip_rate", margin=0.02, sign=-1),
}


@dataclass(frozen=True, eq=False, kw_only=True)
class Request:
    """What is to be decided: the rule, its margin, the prices, the loss."""

    rule: str
    margin: float
    prob: float
    cost_label: float | None
    horizon: float | None
    loss: Loss

    def __post_init__(self) -> None:
        """Refuse what the options of a question refuse, in the same words."""
        if not isinstance(self.rule, str):
            raise UsageError(f"decide={self.rule} must be a name")
        _require_number("margin", self.margin, above=0)
        _require_number("cost_label", self.cost_label, least=0)
        _require_number("horizon", self.horizon, above=0)
        if (self.cost_label is None) != (self.horizon is None):
            raise UsageError("cost_label= and horizon= go together: what a label costs, and what the choice is for")
        if not callable(self.loss):
            raise UsageError(f"loss={self.loss!r} must be a function of the draws, a data frame with a column a system")


def _require_number(name: str, value: object, *, above: float = -math.inf, least: float = -math.inf) -> None:
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, Real) or not (float(value) > above and float(value) >= least):
        allowed = f"above {above:g}" if math.isfinite(above) else f"of at least {least:g}"
        raise UsageError(f"{name}={value!r} must be a number {allowed}")


@dataclass(frozen=True, eq=False, kw_only=True)
class Scale:
    """The systems that are compared on one scale: joint draws, more is better, by which method and judge.

    reference: What the others are compared with: the one in use, or the best.
    """

    judge: str
    draws: pd.DataFrame
    method: str
    reference: str


def decided(
    answer: Comparison,
    rule: str,
    *,
    margin: float | None,
    cost_label: float | None,
    horizon: float | None,
    loss: Loss | None,
) -> Comparison:
    """The answer with the tables of a decision among its checks, and its rule among the settings."""
    if answer.question not in AIMS:
        raise UsageError(f"decide is for {', '.join(AIMS)}: {answer.question} compares no systems")
    aim = AIMS[answer.question]
    request = Request(
        rule=rule,
        margin=aim.margin if margin is None else margin,
        prob=answer.settings["prob"],
        cost_label=cost_label,
        horizon=horizon,
        loss=regret if loss is None else loss,
    )
    tables, values = [], []
    judges = [str(judge) for judge in dict.fromkeys(answer.ranks["judge"])]
    # Judges' systems are compared apart, all together where there is a panel.
    for judge in [PANEL] if PANEL in judges else judges or [""]:
        draws, method = _joint_draws(answer, aim, judge)
        scale = Scale(judge=judge, draws=draws, method=method, reference=_reference(draws, request))
        tables.append(_table(answer, aim, request, scale))
        if loss is None and usable(answer) and (labels := _labels(answer, aim, draws)):
            values.append(_value(draws, labels, request, aim).assign(judge=judge))
    found = {DECISION: pd.concat(tables, ignore_index=True)}
    found |= {VALUE: pd.concat(values, ignore_index=True)} if values else {}
    said = {"rule": rule, "margin": request.margin, "prob": request.prob}
    said |= {} if cost_label is None else {"cost_label": cost_label, "horizon": horizon}
    kept = {name: table for name, table in answer.checks.items() if name not in {DECISION, VALUE}}
    return replace(answer, checks={**kept, **found}, settings={**answer.settings, "decision": said})


# The systems and their draws ---------------------------------------------------------------------------


def _rows(answer: Comparison, estimand: str, judge: str) -> pd.DataFrame:
    """Rows of an estimand on one scale, with the name of each system."""
    items = f"{estimand} (these items)"
    known = set(answer.estimates.frame["estimand"])
    rows = answer.estimates.where(estimand=items if items in known else estimand).frame
    if answer.question != "reliability":  # whose systems are the judges themselves
        rows = rows[(rows["group"] == "") & rows["judge"].isin(["", judge])]
    names = [unit_name(unit, group) for unit, group in zip(rows["unit"], rows["group"], strict=True)]
    return rows.assign(system=names)


def _joint_draws(answer: Comparison, aim: Aim, judge: str) -> tuple[pd.DataFrame, str]:
    """Draws of every system by the first posterior that gives them, more is better, and its method."""
    rows, draws = _rows(answer, aim.estimand, judge), draws_of(answer)
    for method in dict.fromkeys(name for name in rows["method"] if is_bayesian(name)):
        mine = rows[rows["method"] == method].drop_duplicates("system").to_dict("records")
        found = {row["system"]: draws({str(key): value for key, value in row.items()}) for row in mine}
        known = {name: aim.sign * values for name, values in found.items() if values is not None}
        if len(known) == len(found) > 1:
            return pd.DataFrame(known), method
        if len(found) == 1:
            raise UsageError(f"a decision needs two systems; there is only {next(iter(found))!r}")
    raise UsageError(
        f"a decision needs joint draws of {aim.estimand} of two systems, which this answer has not: ask again with "
        "decide='best', since an answer that was loaded has no draws, nor has one without a posterior"
    )


def _reference(draws: pd.DataFrame, request: Request) -> str:
    """The system that the others are compared with: the one in use, or that of the least expected loss."""
    rule = request.rule
    if rule == "best":
        return str(loss_of_choosing(draws, request.loss)[0].idxmin())
    kept = rule.removeprefix(KEEP)
    if kept not in draws.columns or kept == rule:
        raise UsageError(
            f"decide={rule!r}: {f'no system {kept!r}' if kept != rule else 'write best, or keep=NAME'}"
            f"{did_you_mean(kept, list(draws.columns))}; there are {', '.join(map(str, draws.columns))}"
        )
    return kept


# The two tables ----------------------------------------------------------------------------------------


def _table(answer: Comparison, aim: Aim, request: Request, scale: Scale) -> pd.DataFrame:
    draws, reference = scale.draws, scale.reference
    expected, perfect = loss_of_choosing(draws, request.loss)
    # Systems that are equal in a draw share it.
    best = draws.eq(draws.max(axis=1), axis=0).pipe(lambda first: first.div(first.sum(axis=1), axis=0)).mean()
    found = compared_with(draws, reference, margin=request.margin, prob=request.prob)
    found[["difference", "lower", "upper"]] *= aim.sign
    if aim.sign < 0:
        found[["lower", "upper"]] = found[["upper", "lower"]].to_numpy()
    found = found.assign(p_best=best, expected_loss=expected, perfect_information=perfect)
    if not usable(answer):
        found[[*_BAYES, "perfect_information"]] = np.nan
        found["verdict"] = ["" if name == reference else UNDECIDED for name in found.index]
    tests, baseline = _tests(answer, aim, request, scale)
    found = found.join(tests).assign(method=scale.method, baseline=baseline, reference=reference, judge=scale.judge)
    order = ["judge", "reference", *_BAYES, "verdict", *TESTS, "perfect_information", "method", "baseline"]
    return found[order].rename_axis("system").sort_values("expected_loss", kind="stable").reset_index()


def _tests(answer: Comparison, aim: Aim, request: Request, scale: Scale) -> tuple[pd.DataFrame, str]:
    """P-values of each system against the reference, adjusted by Holm for the comparisons, and whose rows they are of.

    Where the data chose the reference, any two systems might have been compared: all pairs count.
    """
    reference, fixed, systems = scale.reference, request.rule.startswith(KEEP), list(map(str, scale.draws.columns))
    gaps, method = _frequentist(answer, aim, scale.judge, systems)
    undefined = (math.nan, math.nan)
    pairs = [(a, b) for a, b in itertools.permutations(systems, 2) if not fixed or b == reference]
    estimates = {pair: gaps.get(pair, undefined) for pair in pairs}
    directed = {
        pair: estimate_tests(aim.sign * gap, error, margin=request.margin) for pair, (gap, error) in estimates.items()
    }
    one_sided = adjusted({pair: {"p_noninferior": one["p_noninferior"]} for pair, one in directed.items()})
    counts, seed = _counts(answer), answer.settings["seed"]
    two_sided = adjusted(
        {
            (a, b): {name: directed[a, b][name] for name in ("p_different", "p_tost")}
            | (paired_tests(*counts[a, b], bootstrap=REPLICATES, seed=seed) if (a, b) in counts else {})
            for a, b in pairs
            if b == reference or (a != reference and a < b)
        }
    )
    rows = {a: {**one_sided[a, b], **two_sided[a, b]} for a, b in pairs if b == reference}
    return pd.DataFrame.from_dict(rows, orient="index").reindex(columns=[*TESTS]), method


def _frequentist(
    answer: Comparison, aim: Aim, judge: str, systems: Sequence[str]
) -> tuple[dict[tuple[str, str], tuple[float, float]], str]:
    """Differences of two systems with their standard errors, both ways round, and the baseline they are of.

    Where a baseline has no differences, those of its rows as if these were independent.
    """
    from scipy.special import ndtri

    gaps = _rows(answer, "difference", judge)
    rows = gaps if len(gaps) else _rows(answer, aim.estimand, judge)
    rows = rows[[not is_bayesian(name) for name in rows["method"]]]
    rows = rows[np.isfinite(rows[["point", "lower", "upper"]]).all(axis=1)]
    present = list(dict.fromkeys(rows["method"]))
    method = next((name for name in aim.baselines or present if name in present), "")
    mine = rows[rows["method"] == method].drop_duplicates("system").set_index("system")
    error = (mine["upper"] - mine["lower"]) / (2 * float(ndtri((1 + answer.settings["prob"]) / 2)))
    known = {str(name): (float(mine["point"][name]), float(error[name])) for name in mine.index}
    found = {}
    for a, b in itertools.permutations(systems, 2):
        if one := known.get(f"{a}{MINUS}{b}"):
            found[a, b] = one
        elif other := known.get(f"{b}{MINUS}{a}"):
            found[a, b] = -other[0], other[1]
        elif not len(gaps) and a in known and b in known:
            found[a, b] = known[a][0] - known[b][0], math.hypot(known[a][1], known[b][1])
    return found, method


def _counts(answer: Comparison) -> dict[tuple[str, str], tuple[int, int, int]]:
    """By two systems, both ways round: labelled items on which one alone was right, and all of them."""
    table = answer.checks.get("labelled_pairs")
    rows = [] if table is None else table.to_dict("records")
    found = {(row["first"], row["second"]): (row["first_only"], row["second_only"], row["n"]) for row in rows}
    return found | {(b, a): (two, one, n) for (a, b), (one, two, n) in found.items()}


def _labels(answer: Comparison, aim: Aim, draws: pd.DataFrame) -> Labels | None:
    """Labels there are on each system, and what they leave where people's accuracy on new items is asked for."""
    made, there = (counted(answer, name) if name else 0 for name in aim.labels)
    if not made:
        return None
    systems = len(draws.columns) if answer.question == "accuracy" else 1
    answers = there / systems if there else math.inf
    if answer.question != "accuracy" or answer.settings["population"] == "items":
        return Labels(made=made / systems, answers=answers)
    pairs = answer.checks.get("labelled_pairs")
    return Labels(made=made / systems, answers=answers, floor=item_covariance(draws, pairs) / answers)


def _value(draws: pd.DataFrame, labels: Labels, request: Request, aim: Aim) -> pd.DataFrame:
    """What further labels on each system are worth: half as many, as many, three times as many, and what pays most."""
    most = labels.answers - labels.made if math.isfinite(labels.answers) else 100 * labels.made
    if most < 1:
        return pd.DataFrame()
    grid = np.unique(np.geomspace(1, most, 60).round())
    shares = {float(round(labels.made * share)) for share in (0.5, 1.0, 3.0)}
    shown = {number for number in shares if 1 <= number <= most}
    found = value_of_labels(draws, labels, sorted({*grid, *shown}), prob=request.prob)
    if request.cost_label is not None and request.horizon is not None:
        systems = len(draws.columns) if aim.estimand == "accuracy" else 1
        found["cost"] = request.cost_label * systems * found["more"]
        found["gain"] = request.horizon * aim.worth * found["value"]
        net = (found["gain"] - found["cost"]).to_numpy()[:-1]
        most_paying = int(net.argmax())
        found["pays"] = [bool(k == most_paying and net[k] > 0) for k in range(len(found))]
        shown |= {float(found["more"].iloc[most_paying])} if net.max() > 0 else set()
    return found[found["more"].isin([*shown, math.inf])].reset_index(drop=True)
