"""One number for how much a judge prefers a to b: from a gap, two scores or a probability."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayesjudge.errors import InputError, Problem
from bayesjudge.tables.words import numbers_of

#: Columns that a gap is made from; the first one there is used.
BOTH = ("score_a", "score_b")
GAPS = ("score_gap", *BOTH, "prob_a")
#: Probabilities of 0 and 1 have no finite logit: they count as one in a thousand.
_NEAREST = 0.001
#: Means of few criteria differ by no less than this; rounding makes equal scores equal gaps.
_DIGITS = 9
#: A column's name that says rank: ``system1rank``, ``Rank A``, ``rankB``, and not ``frank``.
_RANK = re.compile(r"(?<![A-Za-z])[Rr](?:ank|ANK)(?:s|ing|ings)?(?![a-z])")


def require_no_ranks(columns: Mapping[str, str]) -> None:
    """Refuse ranks as scores, where the model in the last place would win; exchanged, they may be scores.

    Examples
    --------
    >>> require_no_ranks({"score_a": "rank_b", "score_b": "rank_a"})
    >>> require_no_ranks({"score_a": "rank_a", "score_b": "rank_b"})  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    bayesjudge.errors.InputError: column 'score_a': found a name that says rank, 'rank_a', and the smaller rank ...
    """
    first, second = columns.get("score_a", ""), columns.get("score_b", "")
    if not (_RANK.search(first) and _RANK.search(second)) or first > second:
        return
    options = " ".join(f"--column {shlex.quote(one)}" for one in (f"score_a={second}", f"score_b={first}"))
    problem = Problem(
        column="score_a",
        found=f"a name that says rank, {first!r}, and the smaller rank is the better one",
        allowed="scores, of which the larger is the better one",
        fix=f"Name columns of scores, or give the ranks the other way round: {options}.",
    )
    raise InputError([problem], options=[options])


def with_gap_named(table: pd.DataFrame) -> pd.DataFrame:
    """The table with its ``gap``, as validated tables call it, under the name that is read."""
    if "gap" not in table:
        return table
    if others := [name for name in GAPS if name in table]:
        problem = Problem(
            column="gap",
            found=f"gap together with {', '.join(others)}",
            allowed="one column, or pair of columns, that gives how much a is preferred",
            fix="Leave out all but one.",
        )
        raise InputError([problem])
    return table.rename(columns={"gap": "score_gap"})


def gap_of(table: pd.DataFrame) -> tuple[NDArray[np.float64] | None, tuple[str, ...]]:
    """Score of a minus score of b on every row (N,), NaN where there is none, and what was assumed.

    A probability p that a is better becomes its logit, so that a calibrated judge has slope 1.

    Examples
    --------
    >>> gap_of(pd.DataFrame({"score_a": [7, 8, None], "score_b": [5, 8.5, 4]}))[0].tolist()
    [2.0, -0.5, nan]
    """
    there = [name for name in GAPS if name in table]
    if ("score_a" in there) != ("score_b" in there):
        raise InputError([_lone("score_b" if "score_a" in there else "score_a")])
    if not there:
        return None, ()
    read = {name: numbers_of(table[name]) for name in there}
    notes: tuple[str, ...] = ()
    if "score_gap" in read:
        gap, used = read["score_gap"], ["score_gap"]
    elif "score_a" in read:
        gap, used = read["score_a"] - read["score_b"], ["score_a", "score_b"]
    else:
        used = ["prob_a"]
        gap, notes = _logit(read["prob_a"])
    left = [name for name in there if name not in used]
    notes += (f"{', '.join(left)} not used: the gap is {' − '.join(used)}",) if left else ()
    # Adding zero turns −0 into 0.
    return np.round(gap, _DIGITS) + 0.0, notes


def _logit(prob: NDArray[np.float64]) -> tuple[NDArray[np.float64], tuple[str, ...]]:
    wrong = np.flatnonzero((prob < 0) | (prob > 1))
    if len(wrong):
        problem = Problem(
            column="prob_a",
            found=f"{prob[wrong[0]]:g}",
            rows=tuple((wrong + 1).tolist()),
            allowed="a probability from 0 to 1 that a is better",
            fix="Put a score difference in score_gap instead.",
        )
        raise InputError([problem])
    near = np.clip(prob, _NEAREST, 1 - _NEAREST)
    moved = int((near != prob)[~np.isnan(prob)].sum())
    note = f"{moved} probabilities beyond {_NEAREST} and {1 - _NEAREST} were moved there"
    return np.log(near) - np.log1p(-near), (note,) if moved else ()


def _lone(missing: str) -> Problem:
    return Problem(
        column=missing,
        found="no such column, but the other of score_a and score_b",
        allowed="both scores, or their difference as score_gap",
        fix=f"Add {missing}, or map it: columns={{{missing!r}: 'your_column'}}.",
    )
