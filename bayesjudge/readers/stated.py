"""Values that the user states for all rows of a file, in which names in braces represent a row's own."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

import pandas as pd

from bayesjudge.errors import UsageError
from bayesjudge.readers.format import File
from bayesjudge.readers.values import as_words, forty_of

#: A name in a value for all rows.
_IN_BRACES = re.compile(r"\{([^\W\d][^{}]*)\}")


def columns_stated(put: Mapping[str, str]) -> list[str]:
    """The columns that may be meant by names in braces.

    Examples
    --------
    >>> columns_stated({"judge": "{by}", "verdict": "{won:0=a}", "model": "m"})
    ['by', 'by', 'won:0=a', 'won']
    """
    braces = [name for value in put.values() for name in _IN_BRACES.findall(value)]
    return [one for name in braces for one in (name, _recoded(name, ())[0])]


def with_stated(frame: pd.DataFrame, name: str, put: Mapping[str, str]) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """The rows of the file ``name`` with these values, and what is said of others that one value for all replaced.

    Examples
    --------
    >>> games = pd.DataFrame({"model_a": ["x", "y"], "model_b": ["o3", None]})
    >>> with_stated(games, "games.jsonl", {"model_b": "o4", "judge": "j"})[1]
    ("'model_b' of games.jsonl is 'o4' as stated, in place of 'o3' in 1 of 2 rows",)
    """
    there = {ours: frame[ours] for ours in put if ours in frame.columns and not _IN_BRACES.search(put[ours])}
    said = [_replaced(column, put[ours], name) for ours, column in there.items() if isinstance(column, pd.Series)]
    values = {ours: _filled(ours, value, frame, name) for ours, value in put.items()}
    return frame.assign(**values), tuple(filter(None, said))


def _replaced(column: pd.Series[Any], value: str, name: str) -> str:
    """What is said of a column's other values, which one value for all rows replaced; empty where there is none."""
    words = as_words(column)
    others = words[(words != "") & (words != value)]
    if others.empty:
        return ""
    of = f"{others.iloc[0]!r}{f' and {more} more' if (more := others.nunique() - 1) else ''}"
    return f"{column.name!r} of {name} is {value!r} as stated, in place of {of} in {len(others)} of {len(words)} rows"


def _filled(ours: str, value: str, frame: pd.DataFrame, name: str) -> Any:
    """A value with the names in braces as what they represent; none in a row that lacks one."""
    texts, known = _IN_BRACES.split(value), File(name=name).names
    there = frame.set_axis(list(map(str, frame.columns)), axis=1)
    inside = [_recoded(one, [*map(str, there), *known]) for one in texts[1::2]]
    if lost := [one for one, _ in inside if one not in there and one not in known]:
        raise UsageError(
            f"--set {ours}={value}: no column {lost[0]!r} in {name}; it has {forty_of(there)}, and {{file}}, "
            "{folder}, {folder.2} represent the names of the file, its folder and the one above, {file.1}, {file.2} "
            "what is before and after -vs- in the file's name"
        )
    found: Any = texts[0]
    for (one, codes), text in zip(inside, texts[2::2], strict=True):
        words = known[one] if one in known else as_words(there[one]).where(there[one].notna()).replace(codes)
        found = found + words + text
    return found


def _recoded(name: str, there: Collection[str]) -> tuple[str, dict[str, str]]:
    """The column that a name in braces means, and words in place of its values: of ``winner:0=tie,1=a`` two."""
    column, _, codes = name.partition(":")
    pairs = [one.partition("=") for one in codes.split(",")]
    if name in there or not all(sign for _, sign, _ in pairs):
        return name, {}
    return column, {value.strip(): word.strip() for value, _, word in pairs}
