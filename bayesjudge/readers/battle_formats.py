"""Battle logs as known projects write them, turned into one row an event under our own names.

Formats are told by their columns: LMArena votes (a ``winner`` or one-hot ``winner_model_a``...), MT-bench
judgments (``g1_winner, g2_winner``), AlpacaEval annotations (``preference`` from 1 to 2), Soft-Elo
annotations (``scores_a, scores_b`` as dictionaries; preferences count 0 for a), and wide tables with one
column a judge.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayesjudge.errors import InputError, Problem, UsageError
from bayesjudge.tables.words import code_numbers, code_outcome, read_number

__all__ = ["Unfolded", "criterion_gap", "read_scores_cell", "unfold_battles"]

_ONE_HOT = ("winner_model_a", "winner_model_b", "winner_tie")
#: Names that data sets give to people in a column called judge.
_PERSON = re.compile(r"(arena_user|expert|author|human|annotator)[_ -]?\w*")
_MT_BENCH = {"model_1": "a", "model_2": "b"}
#: Preferences this near to the middle are ties in Soft-Elo's files.
_NEAR_TIE = 0.05
_WORDS = ("a", "b", "tie", "model_a", "model_b")


@dataclass(frozen=True, eq=False, kw_only=True)
class Unfolded:
    """A frame of events, the number of stacked copies it is made of, and what was assumed."""

    frame: pd.DataFrame
    copies: int = 1
    warnings: tuple[str, ...] = ()


def unfold_battles(frame: pd.DataFrame, *, judges: Sequence[str] | None, taken: Sequence[str]) -> Unfolded:
    """One row an event; see the module for the formats.

    Parameters
    ----------
    frame : pandas.DataFrame
        A table as it came.
    judges : sequence of str, optional
        Columns that each hold one judge's verdicts; by default those that hold outcomes in words and no
        other known column.
    taken : sequence of str
        Columns that the user has mapped: nothing is guessed about them.
    """
    if judges is not None:
        return _wide(frame, list(judges))
    there = set(frame.columns) - set(taken)
    if {"g1_winner", "g2_winner"} <= there:
        return _mt_bench(frame)
    if "preference" in there and {"output_1", "output_2"} & there:
        return _alpaca_eval(frame)
    if {"scores_a", "scores_b"} <= there:
        return _soft_elo(frame, there)
    return _winner(frame) if "winner" in there else _told_by_words(frame, there)


def _told_by_words(frame: pd.DataFrame, there: set[str]) -> Unfolded:
    """A vote spread over three columns, a column of verdicts for each judge, or a table as it is."""
    if set(_ONE_HOT) <= there and "human" not in there:
        return Unfolded(frame=_one_hot(frame))
    found = [name for name in frame.columns if name in there and _is_judge(frame, name)]
    if not found:
        return Unfolded(frame=frame)
    told = f"columns {', '.join(map(repr, found))} were read as one judge's verdicts each"
    return replace(_wide(frame, found), warnings=(told,))


def _is_judge(frame: pd.DataFrame, name: str) -> bool:
    if {"verdict", "judge", "score_a", "score_gap", "prob_a"} & set(frame.columns):
        return False
    values = frame[name]
    if pd.api.types.is_numeric_dtype(values.dtype) or "human" in name.casefold():
        return False
    words = values.dropna()
    if words.empty or name in {"model_a", "model_b", "order", "winner", "label", "gold", "item"}:
        return False
    return set(map(str, words.unique())) <= set(_WORDS)


def _wide(frame: pd.DataFrame, judges: list[str]) -> Unfolded:
    lost = [name for name in judges if name not in frame.columns]
    if lost or not judges:
        raise UsageError(f"no column {lost or judges!r} of a judge; the table has {list(frame.columns)}")
    rest = frame.drop(columns=judges)
    parts = [rest.assign(judge=name, verdict=frame[name].astype(object)) for name in judges]
    return Unfolded(frame=pd.concat(parts, ignore_index=True), copies=len(parts))


def _mt_bench(frame: pd.DataFrame) -> Unfolded:
    """Game 1 shows the first model first, game 2 the second; both winners are in the models' frame."""
    named = _with_turn(frame).rename(columns={"model_1": "model_a", "model_2": "model_b"})
    named = named.assign(judge=_judge_names(named)) if "judge" in named else named
    rest = named.drop(columns=["g1_winner", "g2_winner"])
    failed = 0
    parts = []
    for column, order in (("g1_winner", "ab"), ("g2_winner", "ba")):
        failed += int((frame[column] == "error").sum())
        parts.append(rest.assign(verdict=frame[column].replace({**_MT_BENCH, "error": None}), order=order))
    told = (f"{failed} verdicts are 'error' and count as missing",) if failed else ()
    return Unfolded(frame=pd.concat(parts, ignore_index=True), copies=2, warnings=told)


def _with_turn(frame: pd.DataFrame) -> pd.DataFrame:
    """Each turn of a question is an item of its own; the question is the prompt that they share."""
    if not {"question_id", "turn"} <= set(frame.columns):
        return frame
    item = frame["question_id"].astype(str) + " turn " + frame["turn"].astype(str)
    return frame.assign(item=item)


def _judge_names(frame: pd.DataFrame) -> pd.Series[Any]:
    """``["gpt-4", "pair-v2"]`` is the judge ``gpt-4 pair-v2``."""
    return frame["judge"].map(lambda name: name if isinstance(name, str) else " ".join(map(str, name)),
                              na_action="ignore")  # fmt: skip


def _winner(frame: pd.DataFrame) -> Unfolded:
    """Who is meant by ``winner``: a person where no judge is named or the judges are people."""
    if "judge" not in frame.columns or "human" in frame.columns:
        name = "verdict" if "judge" in frame.columns or "human" in frame.columns else "human"
        return Unfolded(frame=_named_length(frame).rename(columns={"winner": name}))
    judges = _judge_names(frame)
    people = judges.map(lambda name: bool(_PERSON.fullmatch(str(name).casefold())), na_action="ignore")
    if not people.dropna().all():
        return Unfolded(frame=_with_turn(frame.assign(judge=judges)).rename(columns={"winner": "verdict"}))
    renamed = _with_turn(frame).rename(columns={"winner": "human", "judge": "voter"})
    told = "the column judge names people: its rows were read as human votes"
    return Unfolded(frame=renamed, warnings=(told,))


def _named_length(frame: pd.DataFrame) -> pd.DataFrame:
    """Answer lengths in tokens out of LMArena's ``conv_metadata``."""
    if "conv_metadata" not in frame.columns or "length_a" in frame.columns:
        return frame
    sides = {side: [_tokens(cell, side) for cell in frame["conv_metadata"]] for side in "ab"}
    return frame.assign(length_a=sides["a"], length_b=sides["b"])


def _tokens(cell: Any, side: str) -> float:
    value = cell.get(f"sum_assistant_{side}_tokens") if isinstance(cell, Mapping) else None
    return read_number(value) if isinstance(value, (int, float)) else float("nan")


def _one_hot(frame: pd.DataFrame) -> pd.DataFrame:
    """Kaggle's arena votes; a row that marks none or several is unreadable, and said so by the table."""
    marks = np.stack([code_outcome(frame[name]) == 0 for name in _ONE_HOT], axis=1)
    words = np.array(["model_a", "model_b", "tie"], dtype=object)[marks.argmax(axis=1)]
    human = np.where(marks.sum(axis=1) == 1, words, "not exactly one of " + ", ".join(_ONE_HOT))
    return frame.assign(human=human).drop(columns=list(_ONE_HOT))


def _alpaca_eval(frame: pd.DataFrame) -> Unfolded:
    """``preference`` runs from 1 (output 1 is better) to 2; whole and half numbers are verdicts."""
    codes, numbers = code_numbers(frame["preference"])
    side = np.append(2.0 - numbers, [np.nan, np.nan])[codes]
    plain = np.isin(numbers, [1.0, 1.5, 2.0]).all()
    named = frame.rename(columns={"generator": "generator_1"} if "generator_1" not in frame else {})
    named = named.rename(columns={"generator_1": "model_a", "generator_2": "model_b", "annotator": "judge"})
    if "item" not in named and "instruction" in named:
        named = named.assign(item=named["instruction"])
    unread = np.where(codes == -2, frame["preference"].astype(object), side)
    column = {"verdict" if plain else "prob_a": unread}
    drop = ["preference", *(name for name in ("output_1", "output_2") if name in named)]
    return Unfolded(frame=named.drop(columns=drop).assign(**column))


def _soft_elo(frame: pd.DataFrame, there: set[str]) -> Unfolded:
    """Preferences count 0 for a and 1 for b here, with .5 ± .05 a tie."""
    gap = criterion_gap(frame["scores_a"], frame["scores_b"])
    named = frame.drop(columns=["scores_a", "scores_b"]).assign(score_gap=gap)
    turned = {}
    for column, ours in (("human_pref", "human"), ("judge_pref", "verdict")):
        if column in there:
            codes, numbers = code_numbers(frame[column])
            near = np.where(np.abs(numbers - 0.5) <= _NEAR_TIE, 0.5, (numbers < 0.5).astype(float))
            # A preference outside 0 to 1 stays what it is, for the table to refuse.
            near = np.where((numbers < 0) | (numbers > 1), numbers, near)
            read = np.append(near, [np.nan, np.nan])[codes]
            turned[ours] = np.where(codes == -2, frame[column].astype(object), read)
            named = named.drop(columns=column)
    told = "preferences were read as Soft-Elo writes them: 0 for model_a, 1 for model_b"
    language = {"meta_lang": "language"} if "meta_lang" in named else {}
    return Unfolded(frame=named.assign(**turned).rename(columns=language), warnings=(told,) if turned else ())


_NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_NONE = r"None|null|nan|NaN"
_PAIR = re.compile(rf"""\s*(?:'([^'\\]*)'|"([^"\\]*)")\s*:\s*(?:({_NUMBER})|({_NONE}))\s*""")


def read_scores_cell(value: Any) -> dict[str, float] | None:
    """Criteria and their scores, as JSON or as Python prints a dictionary; None where it is neither.

    A criterion without a number (``None``, ``null``, ``nan``) is left out; an empty cell has no criteria.

    Examples
    --------
    >>> read_scores_cell("{'clarity': 7.5, 'fluency': 8}"), read_scores_cell('{"clarity": null}')
    ({'clarity': 7.5, 'fluency': 8.0}, {})
    >>> read_scores_cell("{'clarity': open('file')}") is None
    True
    """
    if isinstance(value, Mapping):
        return _from_mapping(value)
    if value is None or (isinstance(value, float) and math.isnan(value)) or value is pd.NA:
        return {}
    return _from_text(value.strip()) if isinstance(value, str) else None


def _from_mapping(value: Mapping[Any, Any]) -> dict[str, float] | None:
    known = {str(key): score for key, score in value.items() if score is not None}
    good = all(isinstance(score, (int, float, np.number)) and not isinstance(score, bool)
               and not math.isinf(score) for score in known.values())  # fmt: skip
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


def criterion_gap(a: pd.Series[Any], b: pd.Series[Any]) -> NDArray[np.float64]:
    """Mean over the criteria that both answers have of score a − score b, (N,); NaN where they share none.

    Raises
    ------
    InputError
        Cells that are no dictionary of finite numbers, all of them.
    """
    read = [[read_scores_cell(value) for value in side] for side in (a, b)]
    bad = [Problem(column=str(side.name), found="a cell that is no dictionary of numbers",
                   allowed="{'criterion': number, ...}", rows=rows, fix="Check how the scores were written.")
           for side, cells in zip((a, b), read, strict=True)
           if (rows := tuple(row for row, cell in enumerate(cells, start=1) if cell is None))]  # fmt: skip
    if bad:
        raise InputError(bad)
    return np.array([_gap(x or {}, y or {}) for x, y in zip(*read, strict=True)])


def _gap(a: Mapping[str, float], b: Mapping[str, float]) -> float:
    shared = a.keys() & b.keys()
    return math.fsum(a[key] - b[key] for key in shared) / len(shared) if shared else math.nan
