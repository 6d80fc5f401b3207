"""What is shown, and written, of text that came out of somebody's file: it is read, and never acts. And of numbers."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from statistics import NormalDist
from typing import Any, NamedTuple

#: What a terminal or a browser obeys instead of showing: control characters, marks that change the reading
#: direction, separators of lines; and what no XML may hold, halves of surrogate pairs among them.
_OBEYED = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
)
#: What a spreadsheet takes for the beginning of a formula, as a regular expression.
FORMULA = "[=+@\t\r\n\uff1d\uff0b\uff0d\uff20-]"
#: Written before it, so that a spreadsheet shows the text; our readers take it off again.
GUARD = "'"


def visible(text: str) -> str:
    r"""Text in which everything that acts is written out; newlines stay.

    Examples
    --------
    >>> print(visible("red\x1b[31m\u202e, two\nlines"))
    red\x1b[31m\u202e, two
    lines
    """
    return _OBEYED.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def json_visible(text: str) -> str:
    r"""JSON of the same value in which everything that acts is escaped.

    Examples
    --------
    >>> print(json_visible('["\u202e"]'))
    ["\u202e"]
    """
    return _OBEYED.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def written(value: object) -> str:
    """Any value as text; what holds integers past 4,300 digits, which Python does not write, in hexadecimal.

    Examples
    --------
    >>> written([1, "a"]), len(written([10**5000, "a"]))
    ("[1, 'a']", 4160)
    """
    try:
        return str(value)
    except ValueError:
        if isinstance(value, list | tuple):
            return f"[{', '.join(map(written, value))}]"
        return hex(value) if isinstance(value, int) else f"a {type(value).__name__} of a very long integer"


def judge_words(name: str) -> str:
    """A judge in a sentence; one that no column names is the judge.

    Examples
    --------
    >>> judge_words("gpt-4"), judge_words("judge")
    ('judge gpt-4', 'the judge')
    """
    return "the judge" if name == "judge" else f"judge {name}"


def number(value: float, spec: str = ".3f") -> str:
    """A number with a real minus, and no sign on a zero."""
    return f"{value:z{spec}}".replace("-", "−").replace("%", " %")


def apart(value: float, bound: float, digits: int) -> str:
    """A number with so many decimals, and as many more as show on which side of a bound it lies.

    Examples
    --------
    >>> apart(1.0104, 1.01, 3), apart(1.2, 1.01, 3), apart(399.97, 400, 0)
    ('1.0104', '1.200', '399.97')
    """
    shown = (f"{value:.{decimals}f}" for decimals in range(digits, 17))
    return next(
        (text for text in shown if float(text) != bound and (float(text) > bound) == (value > bound)), str(value)
    )


class Rounded(NamedTuple):
    """An estimate and the ends of its interval, and the format that shows of them what is known."""

    point: float
    lower: float
    upper: float
    spec: str


def rounded(row: Mapping[Any, Any], spec: str = ".3f") -> Rounded:
    """An estimate and its interval with as many digits as twice the Monte-Carlo error of the interval's ends allows.

    row: ``point, lower, upper``, and where they come from draws ``prob`` and ``ess``: the interval's probability and
        the effective draws behind it.
    spec: Decimals or per cent, the most digits that are shown.

    Examples
    --------
    >>> drawn = {"point": 0.7864, "lower": 0.7312, "upper": 0.8379, "prob": 0.95, "ess": 2500.0}
    >>> rounded(drawn).spec, rounded(drawn, ".1%").spec, rounded({**drawn, "ess": 1e6}).spec
    ('.2f', '.0%', '.3f')
    >>> rounded({"point": 1131.2, "lower": 1072.4, "upper": 1190.0, "prob": 0.95, "ess": 900.0}, ".0f")
    Rounded(point=1130.0, lower=1070.0, upper=1190.0, spec='.0f')
    """
    point, lower, upper = (float(row[name]) for name in ("point", "lower", "upper"))
    digits = _digits(upper - lower, float(row.get("prob", math.nan)), float(row.get("ess", math.nan)))
    fixed = re.fullmatch(r"(.*\.)(\d+)([f%])", spec)
    if digits is None or fixed is None:
        return Rounded(point, lower, upper, spec)
    before, most, kind = fixed[1], int(fixed[2]), fixed[3]
    spec = f"{before}{min(most, max(digits - 2 * (kind == '%'), 0))}{kind}"
    digits = min(digits, most + 2 * (kind == "%"))
    return Rounded(round(point, digits), round(lower, digits), round(upper, digits), spec)


def _digits(width: float, prob: float, draws: float) -> int | None:
    """Decimals of an interval's ends; at least so many that rounding moves them by at most a tenth of the width."""
    if not (0 < width < math.inf and 0 < prob < 1 and 0 < draws < math.inf):
        return None
    tail, normal = (1 - prob) / 2, NormalDist()
    end = -normal.inv_cdf(tail)
    error = width / (2 * end) * math.sqrt(tail * (1 - tail) / draws) / normal.pdf(end)
    return max(math.floor(-math.log10(2 * error)), math.ceil(-math.log10(width / 5)))


def chance(p: float, draws: float = math.inf) -> str:
    """A probability estimated from so many (effective) draws, never as 0 or 1.

    Where fewer than three draws speak against it, it lies with 95 % probability beyond the bound that is shown (3
    divided by the number of draws, Louis 1981), or beyond .999.
    """
    if math.isnan(p):
        return "–"
    draws = math.inf if math.isnan(draws) else draws
    rest = min(p, 1 - p)
    bound = max(0.001, math.ceil(3000 / draws) / 1000) if draws > 0 else 1.0
    if rest < 0.0005 or rest * draws < 3:
        return f"< {bound:.3f}".replace("0.", ".") if p < 0.5 else f"> {1 - bound:.3f}".replace("0.", ".")
    return f"{p:.3f}".replace("0.", ".", 1)


def monte_carlo_error(p: float, draws: float) -> float:
    """Standard error of a probability that was estimated from so many (effective) draws."""
    return math.sqrt(p * (1 - p) / draws)
