"""What several people said, where each has a column or rows of their own: one row a mark, a judge's verdict once."""

from __future__ import annotations

import itertools
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from bayesjudge.errors import InputError, UsageError
from bayesjudge.readers.aliases import VERDICT_ALIASES, VOTERS
from bayesjudge.readers.column_kinds import is_human, is_numbered_person
from bayesjudge.readers.column_names import columns_of, listed_columns, named_like
from bayesjudge.readers.filters import ROW
from bayesjudge.readers.parts import Part
from bayesjudge.readers.reading import Reading
from bayesjudge.readers.single import labels_meaning_yes, words_offered
from bayesjudge.readers.values import as_words, listing
from bayesjudge.readers.wide import MOST_NAMED, unfolded
from bayesjudge.tables.coding import MISSING, code_binary
from bayesjudge.tables.columns import require_unique
from bayesjudge.tables.schema import broken_rules, readable

#: What a mark is of, where the table says it.
_OF = ("item", "model", "label_probability")


def label_columns(columns: Iterable[str], name: str, reading: Reading) -> tuple[str, ...]:
    """The columns that ``label`` names: one of labels, or several of one person's each, by a list or a pattern.

    None where it names a criterion, or a column of another table.

    Examples
    --------
    >>> label_columns(["item", "human 1", "human 2"], "the table", Reading(label="human *=4,5"))
    ('human 1', 'human 2')
    """
    columns, (option, _) = list(map(str, columns)), reading.label_criterion
    if option is None:
        return ()
    if reading.label not in columns:
        _require_one_meaning(columns, str(reading.label))
    if option in columns:
        return (option,)
    found, lost = listed_columns(columns, option)
    if found and lost:
        raise UsageError(f"--label: no column {lost[0]!r} in {name}; it has {columns}")
    if found:
        require_unique(pd.Index(columns))
    return found


def _require_one_meaning(columns: Sequence[str], said: str) -> None:
    """Refuse columns that have bounds, or values, each: which mean yes is said once, after all of them."""
    pieces = [re.fullmatch(r"\s*(.+?)\s*(?:([<>]=?|=)\s*(.*?)\s*)?", piece) for piece in said.split(",")]
    named = [one.groups(default="") for one in pieces if one and one[1] in columns]
    ends = [sign + value for _, sign, value in named if sign]
    # A value may be called as a column is: `grade=good,other`.
    if len(ends) < 2 and not any(sign[:1] in {"<", ">"} for _, sign, _ in named[:-1]):
        return
    # Of a list of values, the first piece has one alone.
    end = ends[0] if len({*ends}) == 1 and ends[0][0] != "=" else f"{'>=' if ends[0][0] != '=' else '='}..."
    once = ",".join(name for name, _, _ in named) + end
    raise UsageError(
        f"--label {said!r}: which values mean yes is stated once, after the last column, for all of them: "
        f"--label {shlex.quote(once)}; columns that differ in it must be written as 0 and 1 first"
    )


def people_in_lists(
    parts: list[Part], reading: Reading, columns: Mapping[str, str]
) -> tuple[list[Part], Reading, dict[str, str], tuple[str, ...]]:
    """Plain tables with a column a person in place of one of labels that holds lists, and what says so of them.

    Examples
    --------
    >>> part = Part(name="x", frame=pd.DataFrame({"item": [1, 2], "human_labels": [[1, 0], [1]]}))
    >>> parts, reading, _, said = people_in_lists([part], Reading(), {})
    >>> list(parts[0].frame), reading.label, said[0]
    (['item', 'human_labels.1', 'human_labels.2'], 'human_labels.1,human_labels.2', "lists in 'human_labels' were ...")
    """
    named = reading.label_criterion[0] or columns.get("label")
    found = {name for part in parts for name in [named] if name in part.frame} if named else _labels_of(parts)
    if len(found) != 1 or any(part.tool or not part.frame.columns.is_unique for part in parts):
        return parts, reading, dict(columns), ()
    (name,) = found
    lists = [[listing(cell) for cell in part.frame[name]] if name in part.frame else [] for part in parts]
    most = max((len(one) for cells in lists for one in cells), default=0)
    filled = sum(int(part.frame[name].notna().sum()) for part in parts if name in part.frame)
    if most < 2 or filled > sum(len(one) > 0 for cells in lists for one in cells):
        return parts, reading, dict(columns), ()
    people = [f"{name}.{place + 1}" for place in range(most)]
    made = [
        replace(part, frame=_apart(part.frame.drop(columns=[name]), cells, people)) if cells else part
        for part, cells in zip(parts, lists, strict=True)
    ]
    said = f"lists in {name!r} were read as the labels of up to {most} people, by their places"
    label = ",".join(people) + (reading.label or "").removeprefix(name)
    return made, replace(reading, label=label), {ours: one for ours, one in columns.items() if ours != "label"}, (said,)


def _labels_of(parts: Iterable[Part]) -> set[str]:
    names = ["label", *VERDICT_ALIASES["label"][0], *VERDICT_ALIASES["label"][1]]
    return {name for part in parts for name in columns_of(part.frame, names)}


def _apart(frame: pd.DataFrame, lists: Sequence[Sequence[Any]], people: Sequence[str]) -> pd.DataFrame:
    columns = zip(people, itertools.zip_longest(*lists), strict=True)
    return frame.assign(**{who: np.array([*cells, None], dtype=object)[:-1] for who, cells in columns})


def one_vote_a_row(part: Part, columns: Mapping[str, str], name: str) -> tuple[Part, dict[str, str]]:
    """Comparisons with a column a person, as ``columns`` lists them for ``name``: one row a vote, with ``voter``.

    Votes of one row are on one battle, also where nothing names it.
    """
    listed, there = columns.get(name, ""), list(map(str, part.frame.columns))
    people, lost = ((), ()) if part.tool or listed in there else listed_columns(there, listed)
    if not people:
        return part, dict(columns)
    if lost:
        raise UsageError(f"--column {name}=...: no column {lost[0]!r} in {part.name}; it has {there}")
    require_unique(pd.Index(there))
    note = f"columns {', '.join(map(repr, people))} were read as one person's votes each"
    frame = unfolded(part.frame, people, cells=name, names="voter")
    if name == "human" and not named_like([*there, *columns], "item"):
        frame = frame.assign(item=frame.index + 1)
    others = {ours: theirs for ours, theirs in columns.items() if ours != name}
    return replace(part, frame=frame, notes=(*part.notes, note)), others


def voters_among_columns(frame: pd.DataFrame, mapped: Mapping[str, str]) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Battles with ``voter``, where all they hold are people's votes and one column has a name of who judged.

    Examples
    --------
    >>> votes = pd.DataFrame({"model_a": ["x"], "model_b": ["y"], "human": ["a"], "annotator": ["p1"]})
    >>> voters_among_columns(votes, {})[0]["voter"].tolist()
    ['p1']
    """
    there = [name for name in map(str, frame.columns) if name not in mapped.values()]
    judged = any(named_like([*there, *mapped], name) for name in _JUDGED)
    if judged or not named_like([*there, *mapped], "human") or named_like([*there, *mapped], "voter"):
        return frame, ()
    found = [name for name in columns_of(frame, VOTERS) if name in there]
    if len(found) != 1:
        return frame, ()
    return frame.assign(voter=frame[found[0]]), (f"column {found[0]!r} was read as voter: all here are people's votes",)


def without_fickle_voters(frame: pd.DataFrame, said: tuple[str, ...]) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Votes without ``voter``, read from a column of another name, where one of them voted differently on one battle.

    said: How the voters were read.
    """
    keys = ["item", "model_a", "model_b", "voter"]
    theirs = [name for name in columns_of(frame, VOTERS) if name != "voter"]
    if not theirs or not {*keys, "human"} <= set(frame.columns):
        return frame, said
    votes = frame[[*keys, "human"]].apply(as_words).drop_duplicates()
    again = votes[keys[:-1]].assign(voter=votes["voter"]).duplicated() & (votes["voter"] != "")
    if not again.any():
        return frame, said
    note = (
        f"{again.sum()} votes differ from another of the same {theirs[0]!r} on the same battle: each counts as another "
        f"person's; --cluster {shlex.quote(theirs[0])} keeps each one's together"
    )
    return frame.drop(columns="voter"), (note,)


#: What a judge says of a battle.
_JUDGED = ("verdict", "score_a", "score_gap", "prob_a")


def judged_once(part: Part) -> Part:
    """A plain table without the rows that differ from others in a person's vote and name alone.

    They hold a judge's verdict once more, which is no repetition of it.
    """
    there = [] if part.tool else list(map(str, part.frame.columns))
    voter, people = named_like(there, "voter"), named_like(there, "human")
    if not (voter and people):
        return part
    judged = part.frame.rename(columns=str).drop(columns=[*voter, *people])
    again = judged.apply(as_words).duplicated().to_numpy()
    if not again.any():
        return part
    note = f"{again.sum()} rows differ from others in a person's vote alone: the judge's verdict counts once"
    frame = part.frame if part.frame.index.name == ROW else part.frame.set_axis(pd.RangeIndex(len(again), name=ROW))
    return replace(part, frame=frame[~again], notes=(*part.notes, note))


def people_among_judges(frame: pd.DataFrame, verdict: str) -> tuple[pd.Series[bool], tuple[str, ...]]:
    """The rows whose judge is called human and that have a verdict, and what is said of them."""
    none = pd.Series(False, index=frame.index)
    if "judge" not in frame or verdict not in frame:
        return none, ()
    found = as_words(frame["judge"]).map(is_human).astype(bool) & frame[verdict].notna()
    if not found.any() or found.all():
        return none, ()
    name = frame.loc[found, "judge"].iloc[0]
    return found.astype(bool), (f"{int(found.sum())} rows of the judge {str(name)!r} were read as people's",)


def voters_among_judges(frame: pd.DataFrame, theirs: str) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Battles with people's votes apart, where judges are persons whom a data set has numbered, and what is said.

    theirs: The file's name of the judges.

    Examples
    --------
    >>> rows = pd.DataFrame({"judge": ["arena_user_7", "gpt-4", "arena_user_9"], "verdict": [*"aba"]})
    >>> voters_among_judges(rows, "judge")[0][["judge", "verdict", "human", "voter"]].fillna("").to_numpy().tolist()
    [['', '', 'a', 'arena_user_7'], ['gpt-4', 'b', '', ''], ['', '', 'a', 'arena_user_9']]
    """
    if {"human", "voter"} & {*frame} or not {"judge", "verdict"} <= {*frame}:
        return frame, ()
    people = as_words(frame["judge"]).map(is_numbered_person).astype(bool)
    names = frame.loc[people, "judge"].astype("str")
    if names.nunique() < 2:
        return frame, ()
    votes = {
        "human": frame["verdict"].astype(object).where(people),
        "voter": frame["judge"].astype(object).where(people),
    }
    left = {name: frame[name].mask(people) for name in ("judge", "verdict")}
    frame = frame.drop(columns=[*left]) if people.all() else frame.assign(**left)
    said = (
        f"{len(names)} rows of {names.nunique()} numbered persons such as {names.iloc[0]!r} were read as people's votes"
    )
    return frame.assign(**votes), (f"{said}; if these are judges: --column {shlex.quote(f'judge={theirs}')}",)


def people_alone(frame: pd.DataFrame, theirs: str) -> tuple[str, ...]:
    """What is said of comparisons by a judge called human alone: what makes them votes.

    theirs: The file's name of the verdicts.

    Examples
    --------
    >>> print(people_alone(pd.DataFrame({"judge": ["human"], "verdict": ["a"]}), "winner")[0])
    every verdict's judge is 'human': if people voted, `--column human=winner` makes them votes
    """
    there = {"judge", "verdict"} <= set(frame.columns) and not frame.empty
    if not (there and as_words(frame["judge"]).map(is_human).all()):
        return ()
    typed = f"--column {shlex.quote(f'human={theirs}')}"
    return (f"every verdict's judge is {str(frame['judge'].iloc[0])!r}: if people voted, `{typed}` makes them votes",)


def people_apart(parts: list[Part]) -> tuple[list[Part], list[pd.DataFrame], tuple[str, ...]]:
    """Plain tables of verdicts without the rows whose judge is people, these as marks, and what is said of them."""
    free = [part for part in parts if part.tool is None and "label" not in part.frame]
    free = [part for part in free if {"item", "model"} <= set(part.frame.columns)]
    whole = pd.concat([part.frame for part in free], ignore_index=True) if free else pd.DataFrame()
    rows, said = people_among_judges(whole, "verdict")
    if not rows.any():
        return parts, [], ()
    keys = [name for name in ("item", "model", "annotator") if name in whole]
    marks = whole.loc[rows, [*keys, "verdict"]].rename(columns={"verdict": "label"})
    ends = np.cumsum([len(part.frame) for part in free])[:-1]
    each = dict(zip(map(id, free), np.split(rows.to_numpy(), ends), strict=True))
    left = [replace(part, frame=part.frame[~each[id(part)]]) if id(part) in each else part for part in parts]
    return left, [marks], said


def called_together(people: Sequence[str], reading: Reading) -> str:
    """Columns of people as ``--label`` takes them: by their names, of many by the pattern that the user gave.

    Examples
    --------
    >>> called_together(["a 1", "a 2"], Reading(label="a *")), called_together(["a"] * 9, Reading(label="a *>=4"))
    ('a 1,a 2', 'a *')
    """
    pattern, _ = reading.of_labels.label_criterion
    return pattern if pattern and len(people) > MOST_NAMED else ",".join(people)


def people_together(people: pd.DataFrame, reading: Reading) -> dict[str, Any]:
    """The marks of people in columns, which one threshold cuts, by the list or pattern that ``--label`` has."""
    names = list(map(str, people.columns))
    return {called_together(names, reading): pd.Series(people.to_numpy().ravel())} if names else {}


def one_mark_a_row(rows: pd.DataFrame, cells: pd.DataFrame, name: str, reading: Reading) -> pd.DataFrame:
    """A table of labels with ``annotator``, as a file of them is; an empty cell is no mark.

    rows: Under our names; cells: A column a person, in the order of the rows.
    """
    keys, people = rows[[key for key in _OF if key in rows]], list(map(str, cells.columns))
    each = [keys.assign(annotator=who, label=cells[who].array) for who in people]
    marks = labels_meaning_yes(pd.concat(each, ignore_index=True), name, reading, label=",".join(people))
    codes = code_binary(marks["label"])
    coded = pd.DataFrame(codes.reshape(len(people), -1).T, columns=people)
    if problems := broken_rules(coded, [readable(who, cells[who], binary=True) for who in people]):
        wrong = [replace(problem, column="label") for problem in problems]
        offered = words_offered(marks, wrong, {"label": called_together(people, reading)})
        raise InputError(problems, options=offered.options if offered else ())
    marked: pd.DataFrame = marks.loc[codes != MISSING].drop_duplicates(ignore_index=True)
    return marked
