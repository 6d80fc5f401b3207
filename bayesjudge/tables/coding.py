"""From what people write in a table to what is counted: 0/1 for yes and no, text for names."""

from __future__ import annotations

import math
import numbers
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

#: Code of a value that is not there.
MISSING = -1
#: Code of a value that cannot be read as what the column holds.
UNKNOWN = -2
#: What `code_binary` reads, in words for messages.
BINARY = "0 or 1, true/false, yes/no, correct/incorrect, pass/fail, or empty for missing"
#: What `code_names` reads, in words for messages.
NAMES = "text without NUL characters, or a finite number"
#: The same where names are shown: of models, judges and the like.
SHORT_NAMES = "text of at most 1,000 characters without NUL among them, or a finite number"
#: What `code_probability` reads, in words for messages.
PROBABILITY = "a number above 0 and up to 1, or empty for missing"

_ONE = frozenset({"true", "yes", "correct", "pass"})
_ZERO = frozenset({"false", "no", "incorrect", "fail"})
#: Text that represents a missing value.
NOTHING = frozenset({"", "na", "n/a", "nan", "none", "null", "<na>"})
#: Columns that may hold the text of a question or of a judge's prompt in place of a short name.
_TEXTS = frozenset({"item", "question", "prompt"})
#: Characters of the longest name that can be shown.
_LONGEST = 1000
_NUMBER = re.compile(r"([01])(\.0*)?")


def code_binary(values: pd.Series[Any]) -> NDArray[np.int8]:
    """Code a column of verdicts or labels.

    values: Numbers, booleans or text, see `BINARY`; case and surrounding spaces do not matter. ``NA``, ``none``,
        ``null`` and ``nan`` as text count as missing.

    Returns: 0, 1, `MISSING` or `UNKNOWN`; never a guess.
    """
    if pd.api.types.is_numeric_dtype(values.dtype):
        return _code_numbers(values)
    codes, distinct = distinct_values(values)
    table = np.array([*map(_binary, distinct), MISSING], dtype=np.int8)
    return np.asarray(table[codes], dtype=np.int8)


def code_probability(values: pd.Series[Any]) -> NDArray[np.float64]:
    """Code a column of probabilities.

    Returns: In (0, 1], NaN where missing, `UNKNOWN` where the value is anything else.

    Examples
    --------
    >>> code_probability(pd.Series(["0.25", 1, None, 0, "high"])).tolist()
    [0.25, 1.0, nan, -2.0, -2.0]
    """
    codes, distinct = distinct_values(values)
    found = [_probability(value) for value in distinct]
    return np.asarray(np.array([*found, np.nan], dtype=float)[codes])


def _probability(value: object) -> float:
    if isinstance(value, str) and value.strip().casefold() in NOTHING:
        return np.nan
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return UNKNOWN
    return number if 0 < number <= 1 else UNKNOWN


def names_in(column: str) -> str:
    """What `code_names` reads in a column of that name, in words for messages."""
    return NAMES if column in _TEXTS else SHORT_NAMES


def code_names(values: pd.Series[Any]) -> tuple[NDArray[np.int32], pd.Index[Any]]:
    """Code a column of identifiers.

    values: Text or numbers. An integral number becomes its integer's text (``1.0`` is ``"1"``); text stays as it is;
        empty text is missing.

    Returns: codes: Position in ``names``, `MISSING`, or `UNKNOWN` for a list, an infinite number, broken text, text
        with a NUL, or, unless the column has no name or is called ``item``, ``question`` or ``prompt``, a name too long
        to show.; names: In order of first appearance.
    """
    codes, distinct = distinct_values(values)
    most = sys.maxsize if values.name is None or values.name in _TEXTS else _LONGEST
    if isinstance(distinct, pd.Index) and isinstance(distinct.dtype, pd.StringDtype):
        return _code_texts(np.asarray(codes, dtype=np.int32), distinct, most)
    texts = [_name(value, most) for value in distinct]
    good = np.array([isinstance(text, str) for text in texts], dtype=bool)
    places, names = pd.factorize(np.array(texts, dtype=object)[good])
    # One more place at the end: code -1 of a missing value indexes it.
    table = np.array([*(UNKNOWN if text is UNKNOWN else MISSING for text in texts), MISSING], dtype=np.int32)
    table[:-1][good] = places
    return np.asarray(table[codes], dtype=np.int32), pd.Index(names, dtype="str")


def names_of_rows(codes: NDArray[Any], names: pd.Index[Any], column: pd.Series[Any] | None = None) -> Any:
    """The names of rows, missing where the code is.

    column: What the codes were made of, where they are of all its rows: text of which nothing is missing is not
        written a second time.

    Examples
    --------
    >>> names_of_rows(np.array([1, MISSING, 0]), pd.Index(["a", "b"], dtype="str")).tolist()
    ['b', nan, 'a']
    """
    if column is not None and isinstance(column.dtype, pd.StringDtype) and (codes >= 0).all() and column.notna().all():
        return column.array
    return names.array.take(codes, allow_fill=True)


def _code_texts(codes: NDArray[np.int32], texts: pd.Index[Any], most: int) -> tuple[NDArray[np.int32], pd.Index[Any]]:
    """The same for a text column, without a Python step for each of what may be millions of names."""
    blank = np.asarray(texts.str.isspace() | (texts.str.len() == 0), dtype=bool)
    wrong = np.asarray(texts.str.contains("\0", regex=False) | (texts.str.len() > most), dtype=bool)
    good = ~blank & ~wrong
    if good.all():
        return codes, pd.Index(texts, dtype="str")
    places = np.where(wrong, UNKNOWN, np.where(blank, MISSING, np.cumsum(good) - 1))
    table = np.append(places, MISSING).astype(np.int32)
    return np.asarray(table[codes], dtype=np.int32), pd.Index(texts[good], dtype="str")


def distinct_values(values: pd.Series[Any]) -> tuple[NDArray[np.intp], Any]:
    """Distinct values as they came and the place of each row's among them, -1 where missing.

    Values that cannot be hashed (lists, mappings) are stood in for by `Odd`.
    """
    try:
        codes, distinct = pd.factorize(values)
    except TypeError:
        stand_ins = np.empty(len(values), dtype=object)
        stand_ins[:] = [_hashable(value) for value in values]
        return pd.factorize(stand_ins)
    return np.asarray(codes), distinct


def joint_codes(codes: Sequence[NDArray[Any]], sizes: Sequence[int]) -> NDArray[np.int64]:
    """One code for each combination, below four times the number of rows; `MISSING` where any part is.

    Examples
    --------
    >>> joint_codes([np.array([0, 1, -1]), np.array([2, 0, 1])], [2, 3]).tolist()
    [2, 3, -1]
    """
    known = np.logical_and.reduce([code >= 0 for code in codes])
    key = np.zeros(int(known.sum()), dtype=np.int64)
    bound = 1
    for code, size in zip(codes, sizes, strict=True):
        key = key * size + code[known]
        bound *= size
        # Sums over the combinations must fit in memory, and the codes in 64 bits.
        if bound > 4 * len(known):
            key = pd.factorize(key)[0].astype(np.int64)
            bound = int(key.max(initial=0)) + 1
    joint = np.full(len(known), MISSING, dtype=np.int64)
    joint[known] = key
    return joint


@dataclass(frozen=True)
class Odd:
    """Stands for a value that is neither text nor a number; equal to no text, and shown as it came."""

    text: str

    def __repr__(self) -> str:
        return self.text


def _hashable(value: object) -> object:
    try:
        hash(value)
    except TypeError:
        return Odd(spelled(value))
    return value


def spelled(value: object) -> str:
    """A value as Python would write it; what it cannot write is named by its type.

    Examples
    --------
    >>> spelled(np.float64(0.5)), spelled("a"), spelled(10**5000)
    ('0.5', "'a'", 'a value of type int that cannot be shown')
    """
    try:
        return repr(value.item() if isinstance(value, np.generic) else value)
    except (ValueError, RecursionError):
        # Whole numbers of more than 4,300 digits, and lists within lists within lists.
        return f"a value of type {type(value).__name__} that cannot be shown"


def shown(value: object) -> str:
    """The same, cut to what fits into a message."""
    text = spelled(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _code_numbers(values: pd.Series[Any]) -> NDArray[np.int8]:
    missing = values.isna().to_numpy(dtype=bool)
    one = (values == 1).fillna(value=False).to_numpy(dtype=bool)
    zero = (values == 0).fillna(value=False).to_numpy(dtype=bool)
    return np.select([missing, one, zero], [MISSING, 1, 0], UNKNOWN).astype(np.int8)


def _binary(value: object) -> int:
    if isinstance(value, (bool, np.bool_, numbers.Number)):
        return 1 if value == 1 else 0 if value == 0 else UNKNOWN
    if not isinstance(value, str):
        return UNKNOWN
    text = value.strip().casefold()
    if number := _NUMBER.fullmatch(text):
        return int(number[1])
    return 1 if text in _ONE else 0 if text in _ZERO else MISSING if text in NOTHING else UNKNOWN


def _name(value: object, most: int) -> str | int | None:
    """Text of a value, None where it is empty, `UNKNOWN` where it cannot be a name."""
    if isinstance(value, str):
        if not value.strip():
            return None
        return value if "\0" not in value and len(value) <= most and _is_unicode(value) else UNKNOWN
    if isinstance(value, (bool, np.bool_)):
        return str(bool(value))
    if isinstance(value, (numbers.Real, Decimal)):
        return _number_name(value)
    if isinstance(value, (Odd, bytes, tuple, frozenset, complex)):
        return UNKNOWN
    return str(value)


def _number_name(value: numbers.Real | Decimal) -> str | int:
    try:
        if isinstance(value, numbers.Integral):
            return str(int(value))
        number = float(value)
    except (OverflowError, ValueError):
        # Integers of thousands of digits and signalling NaNs.
        return UNKNOWN
    if not math.isfinite(number):
        return UNKNOWN
    return str(int(number)) if number.is_integer() else str(number)


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
