"""Trials among any number of options: from lists in the order shown, letters and slots to the options' labels."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from bayesjudge.errors import InputError, Problem
from bayesjudge.tables.coding import UNKNOWN, shown
from bayesjudge.tables.schema import grouped
from bayesjudge.tables.words import OUTCOMES, TIES, UNREAD, code_outcome, is_nothing, read_number
from bayesjudge.text import written

#: Columns that say among what was chosen, and other names of each that are looked at where it is not there.
CHOICE_COLUMNS = ("options", "slot", "truth")
_ALSO = {
    "order": ("permutation", "shown_order", "arrangement", "shuffle"),
    "options": ("choices", "candidates"),
    "slot": ("chosen_slot", "chosen_position"),
    "truth": ("correct", "correct_option", "answer_key", "gold"),
}
_SEPARATOR = re.compile(r"[,;|>]")
EXPLAINED = (
    "Give what explains it: a column order (the options as they were shown, as in 'c,a,b'; A is then the first), "
    "options (all options of the item) or slot (where the chosen one stood, 1 for the first)."
)
_RECODE = "Recode it, or leave it empty."
_ONE = "one right option of each item"
_LIST = "the options in the order shown, as in 'b,a,c' or '2,0,3,1', or empty for not recorded"
_SLOT = "the place of the chosen option, 1 or A for the first, or empty"

type Labels = tuple[str, ...]


@dataclass(frozen=True, eq=False, kw_only=True)
class Choices:
    """A table of trials whose outcomes are labels of options.

    table: ``outcome`` (a label, or tie), ``order`` and ``options`` (labels with commas between them), ``slot`` (of the
        chosen option, from 1), ``truth`` (a label); of two options each, ``a`` and ``b`` represent them.
    several: Whether some item has more than two options.
    said: How outcomes were read.
    """

    table: pd.DataFrame
    several: bool
    said: tuple[str, ...]


def choices_of(table: pd.DataFrame) -> Choices | None:
    """What was chosen among which options; None where the table has a and b alone.

    Examples
    --------
    >>> frame = pd.DataFrame({"item": ["q", "q"], "outcome": ["A", "C"], "order": ["2,0,1", "0,1,2"]})
    >>> choices_of(frame).table[["outcome", "slot"]].values.tolist()
    [['2', 1.0], ['2', 3.0]]
    """
    return _Reader(table, _columns(table)).read() if among_options(table) else None


def _columns(table: pd.DataFrame) -> dict[str, pd.Series[Any] | None]:
    return {name: _column(table, name) for name in ("order", *CHOICE_COLUMNS)}


def _column(table: pd.DataFrame, name: str) -> pd.Series[Any] | None:
    return next((table[one] for one in (name, *_ALSO[name]) if one in table), None)


def among_options(table: pd.DataFrame) -> bool:
    """Whether lists or slots say more than that a and b were compared."""
    columns = _columns(table)
    if any(set(labels) - {"a", "b"} for labels in set(_lists(columns["order"]))):
        return True
    if "outcome" not in table:
        return False
    # Another tool's column of the name says nothing of the outcomes.
    listed = zip(table["outcome"], _lists(columns["options"]), strict=False)
    if any(set(labels) - {"a", "b"} and _label(said, labels) for said, labels in listed):
        return True
    return columns["slot"] is not None and bool((code_outcome(table["outcome"]) == UNKNOWN).any())


def other_letters(table: pd.DataFrame) -> pd.Series[bool]:
    """The rows whose outcome and slot are letters that differ, where nothing says in which order options were shown.

    Examples
    --------
    >>> other_letters(pd.DataFrame({"outcome": ["A", "C", "two"], "slot": ["a", "B", "B"]})).tolist()
    [False, True, False]
    """
    nothing = [None] * len(table)
    known = any(_lists(_columns(table)["order"]))
    chosen, slots = ([_text(value).casefold() for value in table.get(name, nothing)] for name in ("outcome", "slot"))
    found = [
        not known and one != other and all(re.fullmatch("[a-z]", letter) for letter in (one, other))
        for one, other in zip(chosen, slots, strict=True)
    ]
    return pd.Series(found, index=table.index, dtype=bool)


def _lists(values: pd.Series[Any] | None) -> list[Labels]:
    """The list that each value holds; empty where it holds none."""
    return [] if values is None else [_list(value) for value in values]


def _list(value: object) -> Labels:
    if isinstance(value, (list, tuple, np.ndarray)):
        parts: Iterable[object] = value
    elif not isinstance(value, str):
        return ()
    elif re.fullmatch("[A-Za-z]{2,26}", value.strip()) and len(_SEPARATOR.split(value)) == 1:
        # Letters alone are a list where they are the first of the alphabet: "bca" as "ab" and "ba".
        parts = value.strip().casefold()
        if set(parts) != set("abcdefghijklmnopqrstuvwxyz"[: len(parts)]):
            return ()
    else:
        parts = _SEPARATOR.split(value.strip().strip("[](){}"))
    labels = tuple(_text(part) for part in parts)
    folded = {label.casefold() for label in labels}
    return labels if len(folded) == len(labels) > 1 and not folded & {"", *TIES} else ()


def _text(value: object) -> str:
    """A label as it is written; empty where there is none."""
    if isinstance(value, str):
        text = value.strip().strip("[]\"'").strip()
        return "" if is_nothing(text) else text
    number = read_number(value)
    return "" if value is None or math.isnan(number) else f"{number:.0f}" if number % 1 == 0 else written(value)


def _label(value: object, labels: Labels) -> str:
    """The label that a value spells, whatever the case; empty where it spells none."""
    text = _text(value)
    return text if text in labels else {one.casefold(): one for one in labels}.get(text.casefold(), "")


def _place(value: object) -> int:
    """The place that a letter or a number from 1 names, from 0; −1 where it names none."""
    # Whole numbers of a column with gaps come back from CSV as 1.0.
    text = _text(value).casefold().removesuffix(".0")
    if text.isascii() and text.isdigit() and len(text) < 4:
        return int(text) - 1
    return ord(text) - ord("a") if re.fullmatch("[a-z]", text) else -1


def _sorted(labels: Iterable[str]) -> Labels:
    """Numbers by size, then text."""
    return tuple(sorted(labels, key=lambda one: (not one.isdecimal(), len(one) if one.isdecimal() else 0, one)))


class _Reader:
    """One table on its way to labels; problems are gathered and raised together."""

    def __init__(self, table: pd.DataFrame, columns: Mapping[str, pd.Series[Any] | None]) -> None:
        nothing = pd.Series([None] * len(table))
        self.table, self.problems = table, list[Problem]()
        self.columns = {name: nothing if values is None else values for name, values in columns.items()}
        self.order, self.listed = (_lists(self.columns[name]) for name in ("order", "options"))
        listed = {label.casefold() for labels in (*self.order, *self.listed) for label in labels}
        # As in comparisons of two, a reply that could not be read is missing.
        said = table.get("outcome", nothing)
        self.outcome = [None if _text(one).casefold() in UNREAD - listed else one for one in said]
        self.item = [_text(value) for value in table["item"]] if "item" in table else [""] * len(table)

    def read(self) -> Choices:
        """Labels, slots and options of every row."""
        options = self._options()
        outcome, said = self._labels(options)
        slot, truth = self._slots(outcome), self._truth(options)
        if self.problems:
            raise InputError(self.problems)
        if max(map(len, options), default=0) <= 2 and not any(place > 2 for place in slot):
            return self._two(options, outcome, said)
        found = {
            "outcome": [label or None for label in outcome],
            "order": [",".join(labels) or None for labels in self.order],
            "slot": np.array(slot, dtype=np.float64),
            "options": [",".join(labels) for labels in options],
            "truth": truth,
        }
        table = self.table.assign(**{name: pd.Series(values, index=self.table.index) for name, values in found.items()})
        return Choices(table=table, several=True, said=said)

    def _two(self, options: list[Labels], outcome: list[str], said: tuple[str, ...]) -> Choices:
        """Two options an item are a and b, by name; the user's other columns stay as they were."""
        letters = [{**dict(zip(labels, OUTCOMES, strict=False)), "tie": "tie"} for labels in options]
        sides = ["".join(map(names.__getitem__, labels)) for names, labels in zip(letters, self.order, strict=True)]
        values = {"outcome": [names.get(one) for names, one in zip(letters, outcome, strict=True)], "order": sides}
        table = self.table.assign(**{name: pd.Series(found, dtype="object") for name, found in values.items()})
        return Choices(table=table, several=False, said=(*said, "two options an item: a is the first of them by name"))

    def _fails(self, column: str, rows: Sequence[int], tell: Callable[[int], str], allowed: str, fix: str) -> None:
        at = np.array(rows, dtype=np.int64)
        for text, mine in grouped(pd.Series([tell(row) for row in rows], dtype="str"), at, tell) if rows else ():
            places = tuple((mine + 1).tolist())
            self.problems.append(Problem(column=column, found=text, allowed=allowed, fix=fix, rows=places))

    def _options(self) -> list[Labels]:
        """Options of each row's item: what its lists hold, or else whatever was chosen."""
        for name, lists in (("order", self.order), ("options", self.listed)):
            values = self.columns[name]
            bad = [row for row, value in enumerate(values) if not lists[row] and _filled(value)]
            self._fails(name, bad, lambda row, values=values: shown(values.iloc[row]), _LIST, _RECODE)  # type: ignore[misc]
        sets: dict[str, set[frozenset[str]]] = {item: set() for item in self.item}
        chosen: dict[str, set[str]] = {item: set() for item in self.item}
        for item, value, *lists in zip(self.item, self.outcome, self.order, self.listed, strict=True):
            sets[item] |= {frozenset(labels) for labels in lists if labels}
            chosen[item] |= {_text(value)} - {"", *TIES}
        conflicting = [row for row, item in enumerate(self.item) if len(sets[item]) > 1]
        what = "several sets of options for item {!r}"
        one = "the same options in every trial of an item"
        self._fails("options", conflicting, lambda row: what.format(self.item[row]), one, "Give each set its own item.")
        by_item = {item: _sorted(next(iter(found), chosen[item])) for item, found in sets.items()}
        return [by_item[item] for item in self.item]

    def _labels(self, options: list[Labels]) -> tuple[list[str], tuple[str, ...]]:
        """The label chosen in each row, ``tie``, or nothing; letters count as slots where they are no labels."""
        labels = [_label(value, mine) or _tie(value) for value, mine in zip(self.outcome, options, strict=True)]
        letters = [_tie(value) or self._at(row, value) for row, value in enumerate(self.outcome)]
        stated = [row for row, value in enumerate(self.outcome) if _text(value)]
        said: tuple[str, ...] = ()
        if not all(labels[row] for row in stated) and all(letters[row] for row in stated):
            labels, said = letters, ("outcomes are letters of slots: A is the option that was shown first",)
        elif any(
            re.fullmatch("[A-Za-z]", _text(self.outcome[row])) and letters[row] not in {"", labels[row]}
            for row in stated
        ):
            said = ("outcomes are labels of options; where they are letters of slots, call their column slot",)
        pointed = [label or self._at(row, self.columns["slot"].iloc[row]) for row, label in enumerate(labels)]
        self._fails(
            "outcome",
            [row for row in stated if not pointed[row]],
            lambda row: f"{_text(self.outcome[row])!r}, which is no option of its item ({', '.join(options[row])})",
            "an option of the item, tie, or empty for missing",
            EXPLAINED,
        )
        return pointed, said

    def _at(self, row: int, value: object) -> str:
        """The label that stood at a place in the order shown."""
        place, labels = _place(value), self.order[row]
        return labels[place] if 0 <= place < len(labels) else ""

    def _slots(self, outcome: list[str]) -> list[float]:
        """The slot of each row's chosen option, from 1; NaN where it is not known."""
        known = [
            labels.index(label) + 1 if label in labels else 0 for label, labels in zip(outcome, self.order, strict=True)
        ]
        stated = [_place(value) + 1 for value in self.columns["slot"]]
        wrong = [
            row
            for row, value in enumerate(self.columns["slot"])
            if _filled(value) and (not stated[row] or known[row] not in {0, stated[row]})
        ]
        self._fails("slot", wrong, lambda row: self._conflict(row, known[row]), _SLOT, "Count places from 1.")
        places = [
            one or (other if label != "tie" else 0) for one, other, label in zip(known, stated, outcome, strict=True)
        ]
        return [place or np.nan for place in places]

    def _conflict(self, row: int, known: int) -> str:
        where = f" where the order has the outcome at {known}" if known else ""
        return shown(self.columns["slot"].iloc[row]) + where

    def _truth(self, options: list[Labels]) -> list[str | None]:
        """The right option of each row's item, where a column names one wherever it has a value."""
        values = self.columns["truth"]
        found = [_label(value, labels) or None for value, labels in zip(values, options, strict=True)]
        if not all(one or not _filled(value) for one, value in zip(found, values, strict=True)):
            return [None] * len(options)
        first = {item: one for item, one in zip(reversed(self.item), reversed(found), strict=True) if one}
        conflicting = [row for row, item in enumerate(self.item) if found[row] not in {None, first.get(item)}]
        what, fix = "another right option of item {!r}", "Give each item one right option."
        self._fails("truth", conflicting, lambda row: what.format(self.item[row]), _ONE, fix)
        return found


def _filled(value: object) -> bool:
    return isinstance(value, (list, tuple, np.ndarray)) or _text(value) != ""


def _tie(value: object) -> str:
    return "tie" if _text(value).casefold() in TIES else ""
