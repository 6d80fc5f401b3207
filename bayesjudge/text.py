"""What is shown, and written, of text that came out of somebody's file: it is read, and never acts."""

from __future__ import annotations

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
