"""Dictionaries of scores in the cells of a table, as JSON or as Python prints them; nothing is ever run."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

_NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_NONE = r"None|null|nan|NaN"
_PAIR = re.compile(rf"""\s*(?:'([^'\\]*)'|"([^"\\]*)")\s*:\s*(?:({_NUMBER})|({_NONE}))\s*""")


def read_scores_cell(value: Any) -> dict[str, float] | None:
    """Criteria and their scores, as JSON or as Python prints a dictionary; None where it is neither.

    A criterion without a number (``None``, ``null``, ``nan``) is left out; an empty cell has no criteria.
    """
    if isinstance(value, Mapping):
        return _from_mapping(value)
    if value is None or (isinstance(value, float) and math.isnan(value)) or value is pd.NA:
        return {}
    return _from_text(value.strip()) if isinstance(value, str) else None


def _from_mapping(value: Mapping[Any, Any]) -> dict[str, float] | None:
    known = {str(key): score for key, score in value.items() if score is not None}
    good = all(
        isinstance(score, (int, float, np.number)) and not isinstance(score, bool) and not math.isinf(score)
        for score in known.values()
    )
    if not good:
        return None
    return {key: float(score) for key, score in known.items() if not math.isnan(score)}


def _from_text(text: str) -> dict[str, float] | None:
    if not text:
        return {}
    if not (text.startswith("{") and text.endswith("}")):
        return None
    scores: dict[str, float] = {}
    inside, place = text[1:-1].strip(), 0
    while place < len(inside):
        pair = _PAIR.match(inside, place)
        if pair is None:
            return None
        key = pair[1] if pair[1] is not None else pair[2]
        if pair[3] is not None:
            scores[key] = float(pair[3])
        place = pair.end()
        if place < len(inside):
            if inside[place] != ",":
                return None
            place += 1
    return scores


def criterion_gap(a: Mapping[str, float], b: Mapping[str, float]) -> float:
    """Mean over the criteria that both answers have of score a − score b; NaN where they share none.

    Examples
    --------
    >>> criterion_gap({"clarity": 8.0, "fluency": 7.0}, {"clarity": 6.0})
    2.0
    """
    shared = a.keys() & b.keys()
    return math.fsum(a[key] - b[key] for key in shared) / len(shared) if shared else math.nan
