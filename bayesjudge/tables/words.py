"""From what people write to outcomes of a comparison, orders of presentation and numbers."""

from __future__ import annotations

import math
import numbers
import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayesjudge.tables.coding import MISSING, NOTHING, UNKNOWN, distinct_values

#: Outcomes of a comparison and orders of presentation, in the order of their codes.
OUTCOMES = ("a", "b", "tie")
ORDERS = ("ab", "ba")
#: What is read, in words for messages.
OUTCOME = (
    "a, b or tie (also model_a, response b, [[A]], A>B, draw; as numbers 1, 0 and 0.5; first and second, of places, by "
    "--wide shown:order=COLUMN), or empty for missing"
)
ORDER = "ab (response a was shown first, also original) or ba (b first, also swapped), or empty for not recorded"
#: Largest number: fourth powers, as variances of variances have, are still finite.
MOST = 1e75
NUMBER = f"a number from {-MOST:g} to {MOST:g}, or empty for missing"

_OUTCOME_WORDS = {
    **dict.fromkeys(("a", "model_a", "response_a", "answer_a", "assistant_a"), 0),
    **dict.fromkeys(("model_1", "response_1", "answer_1", "assistant_1", "output_1"), 0),
    **dict.fromkeys(("b", "model_b", "response_b", "answer_b", "assistant_b"), 1),
    **dict.fromkeys(("model_2", "response_2", "answer_2", "assistant_2", "output_2"), 1),
    **dict.fromkeys(("tie", "ties", "tied", "draw", "equal", "same", "c"), 2),
    **dict.fromkeys(("tie_(bothbad)", "bothbad", "both_bad"), 2),
    # As Arena-Hard and JudgeBench write them; how much better is not asked here.
    **dict.fromkeys(("a>b", "a>>b", "b<a", "b<<a"), 0),
    **dict.fromkeys(("b>a", "b>>a", "a<b", "a<<b"), 1),
    **dict.fromkeys(("a=b", "b=a"), 2),
    # A judge that was asked in both orders and contradicted itself.
    "inconsistent": 2,
    # A judge's reply that could not be read is no verdict.
    **dict.fromkeys(("invalid", "error"), MISSING),
}
#: Words for a tie whatever the options are called: "c" is one of a and b alone.
TIES = frozenset(word for word, code in _OUTCOME_WORDS.items() if code == 2) - {"c"} | {"0.5"}
#: Words for no outcome.
UNREAD = frozenset(word for word, code in _OUTCOME_WORDS.items() if code == MISSING)
_DOUBTS = (
    "unsure, not sure, uncertain, undecided, undetermined, unclear, unknown, unlabeled, unlabelled, cannot tell, "
    "can't tell, cannot decide, can't decide, cannot say, can't say, don't know, not applicable, ?, ??, skip, skipped, "
    "abstain, abstained"
)
#: Words of yes-or-no columns that decide nothing. Not "same" and "inconsistent", which decide what is not compared.
UNDECIDED = frozenset(word for word, code in _OUTCOME_WORDS.items() if code == MISSING or re.match("tie|draw", word))
UNDECIDED |= {*_DOUBTS.split(", ")}
#: Numbers that represent a missing value where 0 and 1, or words, are the others.
SENTINELS = frozenset({-1.0, -9.0, -99.0, -999.0, 99.0, 999.0})
_ORDER_WORDS = {
    **dict.fromkeys(("ab", "a,b", "a-b", "a_b", "original", "normal", "forward", "unswapped"), 0),
    **dict.fromkeys(("ba", "b,a", "b-a", "b_a", "swapped", "swap", "reversed", "reverse", "flipped", "backward"), 1),
}


def code_outcome(values: pd.Series[Any]) -> NDArray[np.int8]:
    """Code a column of outcomes: place in `OUTCOMES`, `MISSING` or `UNKNOWN`.

    Examples
    --------
    >>> code_outcome(pd.Series(["A", "[[B]]", "Tie", "model_a", None, "perhaps"])).tolist()
    [0, 1, 2, 0, -1, -2]
    >>> code_outcome(pd.Series(["[[A>>B]]", "B > A", "A<B", "A=B", "A>C"])).tolist()
    [0, 1, 1, 2, -2]
    >>> code_outcome(pd.Series([1.0, 0.0, 0.5])).tolist()
    [0, 1, 2]
    """
    return _code(values, _OUTCOME_WORDS, {1.0: 0, 0.0: 1, 0.5: 2})


def code_order(values: pd.Series[Any]) -> NDArray[np.int8]:
    """Code a column of orders: place in `ORDERS`, `MISSING` or `UNKNOWN`.

    Examples
    --------
    >>> code_order(pd.Series(["ab", "BA", "Original", "swapped", "none", "left"])).tolist()
    [0, 1, 0, 1, -1, -2]
    """
    return _code(values, _ORDER_WORDS, {})


def is_nothing(text: str) -> bool:
    """Whether a text represents a missing value.

    Examples
    --------
    >>> is_nothing(" NA "), is_nothing("b")
    (True, False)
    """
    return text.strip().casefold() in NOTHING


def is_place(name: str) -> bool:
    """Whether the name of a model is an answer's place in its pair, whoever gave the answer.

    Examples
    --------
    >>> is_place("answer A"), is_place("response_2"), is_place("a"), is_place("answerer-b")
    (True, True, False, False)
    """
    return re.fullmatch(r"(answer|response|output|assistant|completion)[ _]?[ab12]", name.casefold()) is not None


def code_numbers(values: pd.Series[Any]) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Code a column of numbers.

    Returns: codes: Place in ``numbers``, `MISSING`, or `UNKNOWN` for what is no number, or one beyond `MOST`.; numbers:
        Distinct values in ascending order.

    Examples
    --------
    >>> codes, numbers = code_numbers(pd.Series(["8", "7.5", "", "good"]))
    >>> codes.tolist(), numbers.tolist()
    ([1, 0, -1, -2], [7.5, 8.0])
    """
    places, distinct = distinct_values(values)
    if values.dtype in (np.dtype("float16"), np.dtype("float32")):
        # A single-precision 0.3 is 0.3 as it was written, not the double next to it.
        distinct = [str(value) for value in np.asarray(distinct)]
    read = np.array([*map(read_number, distinct), math.nan])
    usable = np.abs(read) <= MOST
    known = np.sort(np.unique(read[usable]))
    table = np.where(np.isnan(read), MISSING, UNKNOWN).astype(np.int32)
    table[usable] = np.searchsorted(known, read[usable])
    return np.asarray(table[places], dtype=np.int32), known


def numbers_of(values: pd.Series[Any]) -> NDArray[np.float64]:
    """The number of every row, NaN where there is none or what is there is no number."""
    places, numbers = code_numbers(values)
    return np.asarray(np.append(numbers, [np.nan, np.nan])[places], dtype=np.float64)


def _code(values: pd.Series[Any], words: Mapping[str, int], figures: Mapping[float, int]) -> NDArray[np.int8]:
    places, distinct = distinct_values(values)
    table = np.array([*(_word(value, words, figures) for value in distinct), MISSING], dtype=np.int8)
    return np.asarray(table[places], dtype=np.int8)


def _word(value: object, words: Mapping[str, int], figures: Mapping[float, int]) -> int:
    if isinstance(value, str):
        text = "_".join(value.casefold().replace("[", "").replace("]", "").split())
        # LMArena and others write why there was no winner: tie (both bad), tie(all bad).
        text = re.sub(r"_?([<>=]+)_?", r"\1", re.sub(r"^tie_?\(.*\)$", "tie", text))
        if text in words:
            return words[text]
        if text in NOTHING:
            return MISSING
    number = read_number(value)
    return MISSING if math.isnan(number) else figures.get(number, UNKNOWN)


def read_number(value: object) -> float:
    """The number a value is or spells: NaN where there is none, infinity where it is none.

    Examples
    --------
    >>> read_number(" 7.5"), read_number("NA"), read_number("good"), read_number(10**400)
    (7.5, nan, inf, inf)
    """
    if isinstance(value, str):
        text = value.strip().casefold()
        if text in NOTHING:
            return math.nan
        try:
            number = float(text)
        except ValueError:
            return math.inf
        return math.inf if math.isnan(number) else number
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (numbers.Real, np.number, Decimal)):
        return math.inf
    try:
        return float(value)
    except (OverflowError, ValueError):
        # A whole number of hundreds of digits, which JSON may hold; a decimal that signals that it is none.
        return math.inf
