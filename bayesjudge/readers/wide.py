"""Plain tables with a column for each judge, model or run, turned into one row a verdict or score."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import pandas as pd

from bayesjudge.errors import InputError, Problem, UsageError
from bayesjudge.readers.aliases import GOLD_ALIASES, VERDICT_ALIASES
from bayesjudge.readers.both_ways import as_shown_second
from bayesjudge.readers.column_kinds import (
    are_grades,
    is_label,
    is_measure,
    is_no_vote,
    is_of_judge,
    is_of_people,
    is_of_two,
    is_person,
    means_other,
    said_of_names,
)
from bayesjudge.readers.column_names import columns_of, hardly_filled, listed_columns, means_any, means_known
from bayesjudge.readers.filters import ROW
from bayesjudge.readers.sides import of_places
from bayesjudge.readers.values import as_words, forty_of
from bayesjudge.tables.coding import MISSING, UNKNOWN, code_binary
from bayesjudge.tables.words import ORDERS, code_numbers, code_order, code_outcome

_WORDS = frozenset({"a", "b", "tie", "model_a", "model_b"})
#: Columns that say how a judge's verdicts are written, where a table has one judge a row already.
_LONG = frozenset({"verdict", "judge", "score_a", "score_gap", "prob_a", "winner"})
#: Columns that a message names.
MOST_NAMED = 8
#: Seconds since 1970 are more, scores and grades are less.
_TIMES = 1e8
_OTHERS = frozenset({"model_a", "model_b", "order", "label", "gold", "item"})


@dataclass(frozen=True, kw_only=True)
class Wide:
    """Which of our columns the cells of some columns hold, which their names hold, and which columns.

    Examples
    --------
    >>> Wide.parsed("verdict:model=gpt-4,claude")
    Wide(cells='verdict', names='model', columns='gpt-4,claude')
    """

    cells: str
    names: str
    columns: str = ""

    @classmethod
    def parsed(cls, text: str) -> Wide:
        """As ``--wide`` has it."""
        found = re.fullmatch(r"\s*(verdict|score|shown)\s*:\s*(model|judge|run|order)\s*(?:=(.+))?", text, re.DOTALL)
        cells, names = found.groups()[:2] if found else ("", "")
        if found is None or (cells == "shown" and names != "order") or (cells == "score" and names == "order"):
            raise UsageError(
                f"--wide {text!r}: write verdict:model (a column of verdicts for each model), verdict:judge or "
                "verdict:run, score in place of verdict, verdict:model=gpt-4,claude where not all are meant, or "
                "shown:order=ONE,TWO where a judge saw both orders, a in each being the answer in the first place "
                "(shown:order=ONE next to a column order), and verdict:order=ONE,TWO where a is the same answer in both"
            )
        return cls(cells=found[1], names=found[2], columns=found[3] or "")

    @property
    def verdicts(self) -> bool:
        """Whether the cells are verdicts."""
        return self.cells != "score"

    def of(self, frame: pd.DataFrame, name: str, taken: Mapping[str, str]) -> tuple[pd.DataFrame, tuple[str, ...]]:
        """The table with one row a cell, each row's place in the file as index, and what was taken.

        taken: Our names to the file's.
        """
        columns, lost = listed_columns(list(map(str, frame.columns)), self.columns)
        if lost:
            raise UsageError(f"--wide: no column {lost[0]!r} in {name}; it has {forty_of(frame.columns)}")
        if self.names == "order":
            order = taken.get("order", "order")
            if self.cells == "shown" and order in frame and len(columns) == 1:
                return _as_shown(frame, columns, order)
            return _both_orders(frame, columns, order, places=self.cells == "shown")
        found = [] if columns else cells_of(frame, self.cells, taken.values())
        columns = columns or tuple(_votes(found, models=self.names == "model"))
        if not columns:
            raise UsageError(f"--wide {self.cells}:{self.names}: {name} has no column of {self.cells}s but known ones")
        note = f"columns {', '.join(map(repr, columns))} were read as one {self.names}'s {self.cells}s each"
        left = [name for name in found if name not in columns]
        others = [name for name in map(str, frame.columns) if name not in taken.values() and means_other(name)]
        others = [one for one in others if isinstance(frame[one], pd.Series) and _holds(frame[one], "verdict")]
        said = said_of_names((self.cells, self.names), columns, people=left, others=others) if found else ()
        return unfolded(frame, columns, cells=self.cells, names=self.names), (note, *said)


def judges_in_objects(frame: pd.DataFrame) -> list[str]:
    """The options for a column of objects with what each judge said, next to one of what each person did.

    Examples
    --------
    >>> said = {"human": [{"p": "yes", "q": "no"}] * 2, "judges": [{"x": "no"}, {"x": "yes", "y": "no"}]}
    >>> judges_in_objects(pd.DataFrame({"item": [1, 2], **said}))
    ["--wide 'verdict:judge=judges.*' --label 'human.*'"]
    """
    words = {name: found for name in map(str, frame.columns) if (found := _words_in_objects(frame[name]))}
    people = [name for name in words if is_of_people(name)]
    judges = [one for one in words if len(people) == 1 and one not in people and len(words[one] & words[people[0]]) > 1]
    if len(judges) != 1:
        return []
    wide = f"--wide {shlex.quote(f'verdict:judge={judges[0]}.*')}"
    every = pd.Series(sorted(words[people[0]] | words[judges[0]]), dtype=object)
    codes = code_binary(every)
    # Of words that are neither yes nor no, those that mean yes are to be named.
    yes = [f"={word}" for word in every[codes == 1]] or [f"={word}" for word in every]
    means = [""] if (codes >= MISSING).all() else yes[:MOST_NAMED]
    labels = [f"--label {shlex.quote(f'{people[0]}.*{one}')}" for one in means]
    said = [one and f" --verdict {shlex.quote(f'verdict{one}')}" for one in means]
    return [f"{wide} {label}{verdict}" for label, verdict in zip(labels, said, strict=True)]


def _words_in_objects(column: pd.Series[Any] | pd.DataFrame) -> set[str]:
    """The few words, or 0 and 1, that objects hold; none of another column."""
    cells = column.dropna() if isinstance(column, pd.Series) else ()
    if not len(cells) or not all(isinstance(cell, dict) for cell in cells):
        return set()
    words = set(as_words(pd.Series([value for cell in cells for value in cell.values()], dtype=object))) - {""}
    return words if len(words) <= MOST_NAMED else set()


def orders_apart(frame: pd.DataFrame) -> str:
    """The option for two columns of outcomes whose names end with the orders; empty where there are none.

    Examples
    --------
    >>> orders_apart(pd.DataFrame({"winner": ["x"], "winner_ab": ["A"], "winner_ba": ["tie"], "note_ab": ["?"]}))
    '--wide shown:order=winner_ab,winner_ba'
    """
    names = [name for name in map(str, frame.columns) if name.casefold().endswith("ab")]
    pairs = [[name, other] for name in names for other in map(str, frame.columns) if _turned(name) == other.casefold()]
    held = (code_outcome(pd.concat([frame[name] for name in pair])) for pair in pairs)
    found = [pair for pair, codes in zip(pairs, held, strict=True) if (codes >= 0).any() and (codes >= MISSING).all()]
    return f"--wide {shlex.quote(f'shown:order={",".join(found[0])}')}" if len(found) == 1 else ""


def _turned(name: str) -> str:
    return f"{name[:-2].casefold()}ba"


def _as_shown(frame: pd.DataFrame, columns: Sequence[str], order: str) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """The verdicts as of a and b, where letters are places and each row has the order; missing where it has none."""
    (name,), codes = columns, code_order(frame[order])
    said = of_places(frame[name], name)
    verdict = said.where(codes != 1, as_shown_second(said)).where((codes != MISSING) | (code_outcome(said) == 2))
    note = f"{name!r} is a where the first was chosen: of rows with b shown first, a was turned into b"
    return frame.drop(columns=name).assign(verdict=verdict), (note,)


def _both_orders(
    frame: pd.DataFrame, columns: Sequence[str], order: str, *, places: bool
) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """A row for each order of presentation, verdicts being of a and b whatever stood first.

    places: Whether a is what stood first, so that it is turned where that was b.
    """
    if len(columns) != len(ORDERS):
        cells, alone = ("shown", f", or one next to a column {order!r}") if places else ("verdict", "")
        raise UsageError(
            f"--wide {cells}:order={','.join(columns)}: name two columns, first that in which a was shown first{alone}"
        )
    said = {name: of_places(frame[name], name) for name in columns}
    if places:
        said[columns[1]] = as_shown_second(said[columns[1]])
    rows = unfolded(frame.assign(**said), columns, names="order")
    turned = "where a verdict a is turned into b" if places else "and a is the same answer in both"
    note = f"{columns[0]!r} is of a shown first, {columns[1]!r} of b shown first, {turned}"
    return rows.assign(order=rows["order"].map(dict(zip(columns, ORDERS, strict=True)))), (note,)


def cells_of(frame: pd.DataFrame, kind: str, taken: Collection[str]) -> list[str]:
    """Columns without a known name that hold nothing but verdicts, or numbers where none does or scores are meant."""
    none = {*taken, *hardly_filled(frame)}
    names = [name for name in map(str, frame.columns) if name not in none]
    free = [name for name in names if says_yes_and_no(frame, name) or not (means_known(name) or is_measure(name))]
    found = {
        cells: [name for name in free if isinstance(frame[name], pd.Series) and _holds(frame[name], cells)]
        for cells in ("verdict", "score")
    }
    return found[kind] or found["score"]


def _votes(cells: Sequence[str], *, models: bool = False) -> list[str]:
    """The columns that may be judges' by their names, or models'; all where none may."""
    return [name for name in cells if not is_no_vote(name, agreement=models)] or list(cells)


def _holds(values: pd.Series[Any], kind: str) -> bool:
    if kind == "score":
        places, numbers = code_numbers(values)
        # Larger numbers are points in time.
        return bool((places >= 0).any() and not (places == -2).any() and np.abs(numbers).max() < _TIMES)
    codes = code_binary(values)
    known = values.dropna()
    coded = bool((codes >= 0).any() and (codes >= MISSING).all())
    return coded or (not known.empty and set(map(str, known)) <= _WORDS)


def _worded(frame: pd.DataFrame, taken: Collection[str]) -> list[str]:
    """Columns without a known name in a few words that another column has too, as a judge's are people's."""
    words: dict[str, set[str]] = {}
    for name in map(str, frame.columns):
        if name not in taken and isinstance(frame[name], pd.Series) and not _holds(frame[name], "score"):
            found = set(as_words(frame[name])) - {""}
            words |= {name: found} if 2 <= len(found) <= min(MOST_NAMED, len(frame) / 2) else {}
    return [
        name
        for name, mine in words.items()
        if not (means_known(name) or is_of_people(name) or is_of_two(name) or _holds(frame[name], "verdict"))
        and any(len(mine & theirs) >= 2 for other, theirs in words.items() if other != name)
    ]


def says_yes_and_no(frame: pd.DataFrame, name: str) -> bool:
    """Whether a column with a name of who judges holds what they said, in words or not of each row.

    Examples
    --------
    >>> frame = pd.DataFrame({"rater": ["yes", "no"], "annotator": [1, None], "judge_id": [0, 1]})
    >>> [says_yes_and_no(frame, name) for name in frame]
    [True, True, False]
    """
    column = frame[name]
    named = means_any([name], VERDICT_ALIASES["judge"][0]) and isinstance(column, pd.Series)
    if not named or not _holds(column, "verdict"):
        return False
    return bool(column.isna().any() or (code_numbers(column)[0] == UNKNOWN).any())


def may_be_labels(frame: pd.DataFrame) -> tuple[str, ...]:
    """What is said of columns named as people's that hold yes and no, in a table without labels.

    Examples
    --------
    >>> may_be_labels(pd.DataFrame({"item": [1, 2], "verdict": [1, 1], "doctor": ["yes", "no"]}))
    ("column 'doctor' may hold people's labels: `--column label=doctor` states that it does",)
    """
    free = [name for name in map(str, frame.columns) if is_no_vote(name) and not is_no_vote(name, agreement=True)]
    peoples = [name for name in free if not means_known(name)]
    names = [] if "label" in frame else [one for one in map(str, frame.columns) if is_person(one) or one in peoples]
    return tuple(
        f"column {name!r} may hold people's labels: `--column {shlex.quote(f'label={name}')}` states that it does"
        for name in names
        if _holds(frame[name], "verdict")
    )


def looks_wide(
    frame: pd.DataFrame, name: str, problems: Sequence[Problem], *, taken: Collection[str] = ()
) -> InputError | None:
    """The problems of a table without a column of verdicts but one or several that hold some; None for others."""
    if "verdict" not in frame and (offered := judges_in_objects(frame)):
        return InputError(problems, options=offered)
    rest = [problem for problem in problems if problem.column not in {"model", "verdict"}]
    cells = cells_of(frame, "verdict", taken) if "verdict" not in frame and len(rest) < len(problems) else []
    columns = list(map(str, frame.columns))
    labels = columns_of(frame, ["label", *chain(*VERDICT_ALIASES["label"])])
    people, theirs = [one for one in cells if is_person(one)], []
    if not (people or labels):
        # Next to who annotated, what no judge's name is on is what people said.
        annotated = columns_of(frame, ["annotator_name", *GOLD_ALIASES["annotator"][0]])
        theirs = [one for one in columns if annotated and not is_of_judge(one)]
        people = [one for one in cells if is_label(one) or one in theirs]
    found = _votes([one for one in cells if one not in people])
    lacking = {problem.column for problem in problems}
    worded = _worded(frame, taken) if "verdict" in lacking and len(found) < 2 else []
    worded = [one for one in worded if one not in theirs]
    if worded:
        found = [*worded, *(one for one in found if not is_of_people(one))]
    if not found:
        return _labels_alone(name, people, rest) if people and "verdict" in lacking else None
    words = bool(worded) or _holds(frame[found[0]], "verdict")
    # Numbers may be anything: lengths, or figures of a paper where there are no items and models.
    alone = len(found) == 1
    if not words and alone and not _like(frame, found[0], people or labels):
        return None
    if not (words or alone) and ("item" in lacking or ("model" in lacking and not are_grades(frame, found))):
        return None
    if len(found) == 1 or means_any(columns, ["judge", *VERDICT_ALIASES["judge"][0]]):
        # A judge with several columns has criteria, or turns of one conversation: one of them is the verdict.
        options = [f"--column {shlex.quote(f'verdict={one}')}" for one in found[:MOST_NAMED]]
        fix = f"Say which is the verdict: {'; '.join(options)}."
    else:
        # Columns of words are not found by what they hold.
        listed = bool(worded) or not words
        options, fix = _shapes(found, "verdict" if words else "score", listed=listed, models="model" not in lacking)
    # Once that is said, a row of a table without models is an item.
    rest = [problem for problem in rest if problem.column != "item" or "model" not in lacking]
    if people:
        marks = f"--label {shlex.quote(','.join(people))}"
        whose = "Where each is one person's" if len(people) > 1 else f"Where {people[0]!r} holds people's labels"
        options, fix = [f"{one} {marks}" for one in options], f"{fix} {whose}: {marks}."
    problem = Problem(
        column="verdict",
        found=f"{len(found)} column{'s' * (len(found) > 1)} of {'verdicts' if words else 'numbers'} in {name}: "
        f"{', '.join(map(repr, found[:MOST_NAMED]))}{', …' if len(found) > MOST_NAMED else ''}",
        allowed="one column of verdicts" if len(found) > 1 else "a column named 'verdict'",
        fix=fix,
    )
    return InputError([*rest, problem], options=options)


def _labels_alone(name: str, people: Sequence[str], rest: Sequence[Problem]) -> InputError:
    """The problem of a table in which people's labels are all that could be verdicts."""
    problem = Problem(
        column="verdict",
        found=f"no column of verdicts in {name}, and {', '.join(map(repr, people))} may be people's labels",
        allowed="a column named 'verdict'",
        fix=f"If it is the judge's: --column {shlex.quote(f'verdict={people[0]}')}; labels of another log's verdicts "
        "go to --gold in the command on that log.",
    )
    return InputError([*rest, problem])


def _like(frame: pd.DataFrame, name: str, graded: Sequence[str]) -> bool:
    """Whether numbers are on the scale of the grades that people gave."""
    columns = [frame[one] for one in graded if isinstance(frame[one], pd.Series)]
    grades = np.concatenate([np.zeros(0), *(code_numbers(column)[1] for column in columns)])
    numbers = code_numbers(frame[name])[1]
    return len(grades) > 2 and bool((numbers.min() >= grades.min() - 1) and (numbers.max() <= grades.max() + 1))


def _shapes(found: Sequence[str], cells: str, *, listed: bool, models: bool) -> tuple[list[str], str]:
    """What several columns may be, as options and as a sentence; models only where no column has their names."""
    # Some of several numbers may be no scores: the option lists them, to be shortened.
    those = f"={','.join(found)}" if listed and len(found) <= MOST_NAMED and "," not in "".join(found) else ""
    names = ("judge", "run") if models else ("model", "judge", "run")
    ways = ", ".join(f"--wide {cells}:{one} (one {one}'s)" for one in names)
    fix = f"Say what each column is: {ways}{f'; those of {cells}s alone by {cells}:{names[0]}=A,B' if those else ''}."
    return [f"--wide {shlex.quote(f'{cells}:{one}{those}')}" for one in names], fix


def one_judge_a_row(
    frame: pd.DataFrame, *, judges: Sequence[str] | None, taken: Sequence[str]
) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Battles with ``judge`` and ``verdict``, each row's place in the file as index, and what was assumed.

    judges: Columns that each hold one judge's verdicts; by default those that hold outcomes in words and no other known
        column.
    """
    if judges is not None:
        lost = [name for name in judges if name not in frame.columns]
        if lost or not judges:
            raise UsageError(f"no column {lost or judges!r} of a judge; the table has {list(frame.columns)}")
        return unfolded(frame, judges), ()
    found = [name for name in frame.columns if name not in taken and _is_judge(frame, name)]
    if not found:
        return frame, ()
    note = f"columns {', '.join(map(repr, found))} were read as one judge's verdicts each"
    return unfolded(frame, found), (note,)


def _is_judge(frame: pd.DataFrame, name: str) -> bool:
    if _LONG & set(frame.columns) or name in _OTHERS or "human" in name.casefold():
        return False
    if means_any(map(str, frame.columns), VERDICT_ALIASES["judge"][0]):
        return False
    values = frame[name]
    if pd.api.types.is_numeric_dtype(values.dtype):
        return False
    words = values.dropna()
    return not words.empty and set(map(str, words)) <= _WORDS


def unfolded(
    frame: pd.DataFrame, columns: Sequence[str], *, cells: str = "verdict", names: str = "judge"
) -> pd.DataFrame:
    """One row a cell of these columns."""
    rows = frame if frame.index.name == ROW else frame.set_axis(pd.RangeIndex(len(frame), name=ROW))
    rest = rows.drop(columns=list(columns))
    each: list[pd.DataFrame] = []
    for name in columns:
        added: dict[str, Any] = {names: name, cells: rows[name].astype(object)}
        each.append(rest.assign(**added))
    return pd.concat(each)
