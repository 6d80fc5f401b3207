"""Whether a condition holds, does not, or is undecided: by draws of a posterior, or by a method's interval."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from bayesjudge.conditions.condition import EVERY, FACTS, GATE, Condition
from bayesjudge.errors import UsageError, did_you_mean
from bayesjudge.estimates import Estimates, estimand_of
from bayesjudge.estimates.table import estimand_words, method_words
from bayesjudge.text import rounded

type Row = Mapping[str, Any]
#: ``unknown``: a name in it is none of the answer's.
type Result = Literal["holds", "does not hold", "undecided", "unknown"]

#: What stands between two names in a unit, and the sign of the value where they are the other way round.
_PAIRED = {" − ": -1, " & ": 1, " × ": 1, " ~ ": 1}


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What became of a condition.

    condition: As it was written.
    result: ``unknown``: it names what is not in the answer.
    figures: The estimate behind it, or what is wrong with its names.
    probability: Of the condition, NaN where an interval or a figure of the table decided.
    fails: Whether the run fails by it.
    """

    condition: str
    result: Result
    figures: str
    probability: float = math.nan
    fails: bool = False

    @property
    def line(self) -> str:
        """All of it in one line."""
        chance = "" if math.isnan(self.probability) else f", P {probable(self.probability)}"
        passed = ", which passes" if self.result == "undecided" and not self.fails else ""
        return f"{self.condition}: {self.result}{chance}{passed}; {self.figures}"


@dataclass(frozen=True, eq=False, kw_only=True)
class Evidence:
    """What conditions are held against.

    rows: Every row of the answer.
    draws: A row to its draws (S,), the same S for rows of one fit; None where there are none.
    doubts: A row to why its posterior is not to be used; empty where it is.
    facts: ``dropped``, the share of rows that could not be used, and ``labels``, as far as they are known.
    gate: Why the answer's gate failed.
    """

    rows: Estimates
    draws: Callable[[Row], NDArray[np.float64] | None] = lambda _: None
    doubts: Callable[[Row], str] = lambda _: ""
    facts: Mapping[str, float] = field(default_factory=dict)
    gate: tuple[str, ...] = ()


def decide(
    condition: Condition,
    evidence: Evidence,
    *,
    prob: float = 0.95,
    by: str | None = None,
    undecided: Literal["pass", "fail"] = "pass",
) -> Outcome:
    """Hold a condition against an answer.

    prob: It holds from this probability on, and does not from 1 − ``prob`` down.
    by: Method whose rows decide; by default the first posterior.
    """
    try:
        result, chance, figures = _decided(condition, evidence, prob=prob, by=by)
    except UsageError as error:
        return Outcome(condition=condition.text, result="unknown", figures=str(error))
    fails = result == "holds" or (result == "undecided" and undecided == "fail")
    return Outcome(condition=condition.text, result=result, figures=figures, probability=chance, fails=fails)


def _decided(condition: Condition, evidence: Evidence, *, prob: float, by: str | None) -> tuple[Result, float, str]:
    if condition.name == GATE:
        said = "; ".join(evidence.gate) or "the gate passed"
        return "holds" if evidence.gate else "does not hold", math.nan, said
    if condition.name in FACTS and not condition.units:
        value = evidence.facts.get(condition.name, math.nan)
        if math.isnan(value):
            raise UsageError(f"{condition.name} is not known for this question or for counts without their table")
        return "holds" if _met(value, condition) else "does not hold", math.nan, f"{condition.name} {shown(value)}"
    matched = list(_matched(condition, _candidates(condition, evidence.rows, by)))
    doubt = next(filter(None, (evidence.doubts(row) for row, _ in matched)), "")
    undefined = [row["unit"] for row, _ in matched if not math.isfinite(row["point"])]
    worst = max(matched, key=lambda found: _severity(condition, *found))
    figures = _figures(*worst) + (f", the most extreme of {len(matched)}" if len(matched) > 1 else "")
    if doubt or len(undefined) == len(matched):
        return "undecided", math.nan, f"{figures}; not used: {doubt or 'it is undefined'}"
    draws = [(row["judge"], sign, evidence.draws(row)) for row, sign in matched]
    known = [(judge, sign * values) for judge, sign, values in draws if values is not None]
    if len(known) < len(matched):
        return _by_interval(condition, matched), math.nan, figures
    chance = _chance(condition, known)
    result: Result = "holds" if chance >= prob else "does not hold" if chance <= 1 - prob else "undecided"
    return result, chance, figures


def _met(values: Any, condition: Condition) -> Any:
    return values < condition.bound if condition.sign == "<" else values > condition.bound


def _chance(condition: Condition, draws: Sequence[tuple[str, NDArray[np.float64]]]) -> float:
    """Probability that any unit meets it: joint where draws are of one posterior, else the largest."""
    met: dict[str, NDArray[np.bool_]] = {}
    for posterior, values in draws:
        met[posterior] = met.get(posterior, False) | _met(values, condition)
    return max(float(any_of.mean()) for any_of in met.values())


def _by_interval(condition: Condition, matched: Sequence[tuple[Row, int]]) -> Result:
    """Whether an interval lies on the condition's side of the bound, or all lie on the other."""
    ends = [sorted((sign * row["lower"], sign * row["upper"])) for row, sign in matched]
    inside = [all(_met(end, condition) for end in pair) for pair in ends]
    outside = [not any(_met(end, condition) for end in pair) and not np.isnan(pair).any() for pair in ends]
    return "holds" if any(inside) else "does not hold" if all(outside) else "undecided"


def _severity(condition: Condition, row: Row, sign: int) -> float:
    value = sign * row["point"] * (-1 if condition.sign == "<" else 1)
    return -math.inf if math.isnan(value) else value


def _candidates(condition: Condition, rows: Estimates, by: str | None) -> list[Row]:
    """Rows of the estimand by the method that decides: by default the first posterior, or the only method."""
    known = list(dict.fromkeys(rows.frame["estimand"]))
    name = next((one for one in (condition.name, estimand_of(condition.name, "items")) if one in known), None)
    if name is None:
        near = did_you_mean(condition.name, known)
        raise UsageError(f"no estimand {condition.name!r}{near}; this answer has {', '.join(known)}, and {_ALSO}")
    found = cast("list[Row]", rows.where(estimand=name).frame.to_dict("records"))
    methods = list(dict.fromkeys(row["method"] for row in found))
    bayes = [method for method in methods if method.startswith("bayes:")]
    chosen = by or next(iter(bayes or methods))
    if chosen not in methods or (by is None and not bayes and len(methods) > 1):
        wrong = f"no method {by!r}{did_you_mean(by, methods)} of {name}" if by else f"several methods of {name}"
        raise UsageError(f"{wrong}; choose one by --fail-by (fail_by=): {', '.join(methods)}")
    return [row for row in found if row["method"] == chosen]


_ALSO = f"{', '.join(FACTS)} and {GATE}"


def _matched(condition: Condition, rows: Sequence[Row]) -> Iterator[tuple[Row, int]]:
    """Rows that the names represent, with -1 where a difference is stored the other way round."""
    found = [(row, sign) for row in rows for sign in sorted(_signs(condition.units, row), reverse=True)]
    asked = ", ".join(condition.units)
    if not found:
        known = list(dict.fromkeys(_name(row) for row in rows))
        near = did_you_mean(asked.replace(", ", " − "), known)
        raise UsageError(f"no {condition.name}({asked}){near}; there are {', '.join(known)}")
    if len(found) > 1 and EVERY not in asked:
        several = ", ".join(_name(row) for row, _ in found)
        raise UsageError(f"{condition.name}({asked}) has several rows; write one of {several}")
    yield from found


def _suffixes(row: Row) -> Iterator[str]:
    """What follows a unit's name, as tables print it: its group, and its judge where it has one."""
    group = f" in {row['group']}" if row["group"] else ""
    yield group
    if row["judge"]:
        yield f"{group} by {row['judge']}"


def _name(row: Row) -> str:
    return f"{row['unit']}{list(_suffixes(row))[-1 if row['judge'] != row['unit'] else 0]}"


def _signs(names: tuple[str, ...], row: Row) -> set[int]:
    unit, last = row["unit"], names[-1]
    found: set[int] = set()
    for suffix in _suffixes(row):
        if not last.endswith(suffix) and not (last == EVERY and suffix == ""):
            continue
        mine = (*names[:-1], last.removesuffix(suffix))
        if mine == (EVERY,):
            found |= {1, -1} if " − " in unit else {1}
        elif mine == (unit,):
            found.add(1)
        elif len(mine) == 2:
            found |= _pair_signs(mine, unit)
    return found


def _pair_signs(names: Sequence[str], unit: str) -> set[int]:
    """1 where two names represent a unit as it is stored, what `_PAIRED` says where the other way round."""

    def fits(parts: Sequence[str]) -> bool:
        return all(name in {EVERY, part} for name, part in zip(names, parts, strict=True))

    found = set()
    for between, swapped in _PAIRED.items():
        words = unit.split(between)
        for k in range(1, len(words)):  # a name may hold what stands between names
            parts = between.join(words[:k]), between.join(words[k:])
            found |= ({1} if fits(parts) else set()) | ({swapped} if fits(parts[::-1]) else set())
    return found


def _figures(row: Row, sign: int) -> str:
    unit = row["unit"]
    if sign < 0:
        first, _, second = unit.partition(" − ")
        unit = f"{second} − {first}"
    point, lower, upper, spec = rounded(row)
    low, high = sorted((sign * lower, sign * upper))
    figures = f"{shown(sign * point, spec)} [{shown(low, spec)}, {shown(high, spec)}]"
    of = f"{estimand_words(row['estimand'])} {unit}{_name(row).removeprefix(row['unit'])}"
    return f"{of} {figures} by {method_words(row['method'])}"


def shown(value: float, spec: str = ".3f") -> str:
    """A number with its decimals, or none where three would say nothing."""
    whole = spec == ".3f" and value and float(value).is_integer()
    return f"{value:.0f}" if abs(value) >= 100 or whole else f"{value:z{spec}}"


def probable(chance: float) -> str:
    """A probability; never 0 or 1, which no number of draws can show.

    Examples
    --------
    >>> probable(0.98), probable(1.0), probable(0.0)
    ('= .980', '> .999', '< .001')
    """
    if not 0.001 <= chance <= 0.999:
        return "> .999" if chance > 0.5 else "< .001"
    return f"= {chance:.3f}".replace("0.", ".", 1)
