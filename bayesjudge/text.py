"""What is shown, and written, of text that came out of somebody's file: it is read, and never acts. And of numbers."""

from __future__ import annotations

import math
import re

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


def number(value: float, spec: str = ".3f") -> str:
    """A number with a real minus, and no sign on a zero."""
    return f"{value:z{spec}}".replace("-", "−")


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
