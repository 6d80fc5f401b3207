"""Which side a row of a comparison means: winners by name, number or place."""

from __future__ import annotations

import itertools
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd

from bayesjudge.errors import InputError, Problem
from bayesjudge.readers.aliases import BATTLE_ALIASES, VERDICT_ALIASES
from bayesjudge.readers.column_kinds import is_of_people, is_of_two, is_pick
from bayesjudge.readers.column_names import columns_of, folded, means_known
from bayesjudge.readers.values import as_words
from bayesjudge.tables.battle_gaps import BOTH, GAPS
from bayesjudge.tables.choices import among_options
from bayesjudge.tables.coding import MISSING, UNKNOWN, code_binary
from bayesjudge.tables.unfold import COUNT_COLUMNS
from bayesjudge.tables.words import OUTCOMES, code_numbers, code_outcome

#: Share of the values that are no outcome, above which names of models are what they are.
_MOST = 0.5
#: Names of two places, as columns of two models end with.
_PLACES = (("a", "b"), ("1", "2"), ("x", "y"), ("left", "right"), ("first", "second"))
#: What 0, 1 and 2 may mean: some write a, b and tie so, others tie, a and b. A command states it by one of these.
_UNCLEAR = ("0=tie,1=a,2=b", "0=a,1=b,2=tie")
#: Numbers that state a winner otherwise than 1, 0 and 0.5 do, by those that give them away, and how they are read.
_CODES = (({2.0}, {1.0: "a", 2.0: "b", 1.5: "tie", 3.0: "tie"}), ({-1.0}, {1.0: "a", -1.0: "b", 0.0: "tie"}))


def winners_named(
    frame: pd.DataFrame, values: Sequence[str], theirs: Sequence[str] = ()
) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """The table with a, b and tie in columns that hold the winner's name or a number, and how these were read.

    values: Our names of the columns; theirs: the file's, of the same columns.

    Examples
    --------
    >>> frame = pd.DataFrame({"model_a": ["x", "y"], "model_b": ["y", "x"], "verdict": ["y", "y"]})
    >>> winners_named(frame, ["verdict"])[0]["verdict"].tolist()
    ['b', 'a']
    """
    notes: list[str] = []
    for value, name in zip(values, theirs or values, strict=True):
        if value in frame and isinstance(frame[value], pd.Series):
            found, said = _named(frame, value, name)
            # Outcomes of a table without models may be grades that have another name.
            compared = value != "outcome" or all(two_models(frame))
            found, read = _numbered(found, name, ours=name == value) if compared else (found, [])
            frame = frame.assign(**{value: found})
            notes += [*said, *read]
    return frame, tuple(notes)


def _named(frame: pd.DataFrame, value: str, name: str) -> tuple[pd.Series[Any], list[str]]:
    """Values that are no outcome but, most of them, the name of a model of their row; other words stay."""
    column, (a, b) = frame[value], two_models(frame)
    other = code_outcome(column) == UNKNOWN
    if not (other.any() and a and b):
        return column, []
    word = as_words(column).to_numpy()
    first, second = (word == as_words(frame[side]).to_numpy() for side in (a, b))
    if (first ^ second)[other].mean() <= _MOST:
        return column, []
    other = other & (first ^ second)
    found = column.astype(object).mask(other & first, "a").mask(other & second, "b")
    return found, [f"column {name!r} names the model that won: read as a for {a!r} and b for {b!r}"]


def _numbered(column: pd.Series[Any], name: str, *, ours: bool) -> tuple[pd.Series[Any], list[str]]:
    """Numbers by the code that they give away; of 1 and 0 it is said how they are read, unless the name is ours."""
    codes, numbers = code_numbers(column)
    if not len(numbers) or (codes == UNKNOWN).any():
        return column, []
    for given, means in _CODES:
        if given <= set(numbers) <= set(means):
            words = np.array([*(means[number] for number in numbers), None], dtype=object)
            read = ", ".join(f"{number:g} as {means[number]}" for number in sorted(means) if number in set(numbers))
            return pd.Series(words[codes], index=column.index), [f"numbers of column {name!r} were read as: {read}"]
    plain = set(numbers) <= {0.0, 0.5, 1.0} and {0.0, 1.0} <= set(numbers)
    tie = ", 0.5 as tie" if 0.5 in numbers else ""
    said = f"numbers of column {name!r} were read as: 1 as a, 0 as b{tie}"
    return column, [said] if plain and not ours else []


def yes_and_no(frame: pd.DataFrame, value: str, name: str) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Repeated verdicts on single answers in words for yes and no as 1 and 0, and what is said.

    value: The column; name: what the file calls it.

    Examples
    --------
    >>> frame, said = yes_and_no(pd.DataFrame({"outcome": ["Correct", "incorrect", None]}), "outcome", "result")
    >>> frame["outcome"].tolist(), said[0]
    ([1.0, 0.0, nan], "words of 'result' mean yes and no: 1 yes, 1 no")
    """
    compared = all(two_models(frame)) or columns_of(frame, ["order", "model", *VERDICT_ALIASES["model"][0]])
    if value not in frame or not isinstance(frame[value], pd.Series) or compared or among_options(frame):
        return frame, ()
    column = frame[value]
    codes, outcomes = code_binary(column), code_outcome(column)
    words = (outcomes == UNKNOWN) & (codes >= 0)
    if not words.any() or not (words | (outcomes == MISSING)).all():
        return frame, ()
    found = pd.Series(np.where(words, codes, np.nan), index=column.index)
    yes, no = (int((codes == code).sum()) for code in (1, 0))
    said = f"words of {name!r} mean yes and no: {yes} yes, {no} no"
    return frame.assign(**{value: found}), (said,)


def may_be_winners(frame: pd.DataFrame, value: str, name: str, *, ours: str) -> tuple[list[str], str]:
    """Of few whole numbers next to two models the option that reads them as winners, and what is said of them.

    value: The column; name: what the file calls it; ours: our name of a column of winners.

    Examples
    --------
    >>> frame = pd.DataFrame({"model_a": ["x", "y"], "model_b": ["y", "x"], "score": [1, 2]})
    >>> may_be_winners(frame, "score", "points", ours="verdict")[0]
    ['--column verdict=points']
    """
    codes, numbers = code_numbers(frame[value])
    few = sorted(set(numbers.tolist()))
    winners = itertools.chain(["outcome", "verdict", "human"], *BATTLE_ALIASES["verdict"], *BATTLE_ALIASES["human"])
    if not all(two_models(frame)) or columns_of(frame, [*winners]):
        return [], ""
    if (codes == UNKNOWN).any() or not 2 <= len(few) <= len(OUTCOMES) or any(number % 1 for number in few):
        return [], ""
    said = f"numbers of column {name!r} ({', '.join(f'{number:g}' for number in few)}) may be codes of the winner"
    if (code_outcome(_numbered(frame[value], name, ours=True)[0]) == UNKNOWN).any():
        options = _stated(ours, name) if _unclear(frame[value]) else []
        return options, f"{said}, and nothing says which is which: {' or '.join(options)}" if options else ""
    option = f"--column {shlex.quote(f'{ours}={name}')}"
    return [option], f"{said}: {option} reads them so"


def codes_to_state(frame: pd.DataFrame, problems: Sequence[Problem], *, theirs: str = "") -> InputError | None:
    """The problems of outcomes that are 0, 1 and 2, or grades of the winner, with options that state what these mean.

    theirs: The column of a tool's file that they are from.

    Examples
    --------
    >>> wrong = Problem(column="human", found="2", allowed="a, b or tie", fix="Recode it.", rows=[3])
    >>> codes_to_state(pd.DataFrame({"human": [0, 1, 2]}), [wrong]).options
    ("--set 'human={human:0=tie,1=a,2=b}'", "--set 'human={human:0=a,1=b,2=tie}'")
    >>> codes_to_state(pd.DataFrame({"human": ["slight_A", "strong B", "tie"]}), [wrong]).options
    ("--set 'human={human:slight_A=a,strong B=b}'",)
    """
    for one in problems:
        if not one.rows or one.column not in frame:
            continue
        name = theirs or one.theirs or one.column
        # Repeated numbers without models may be grades.
        unclear = _unclear(frame[one.column]) and (one.column != "outcome" or all(two_models(frame)))
        if not (codes := _UNCLEAR if unclear else _grades_of_winners(frame[one.column])):
            continue
        table = f"--format table --column {shlex.quote(f'{one.column}={theirs}')} " if theirs else ""
        options = [f"{table}{option}" for option in _stated(name, name, codes)]
        fix = (
            f"Numbers of {name!r} may be codes of the winner, and nothing says which is which: {' or '.join(options)}."
            if unclear
            else f"Words of {name!r} grade the winner, and grades are not used: {options[0]} reads who won."
        )
        mine = [replace(each, fix=fix) if each.column == one.column else each for each in problems]
        return InputError(mine, options=options)
    return None


#: Words of a grade that may mean the other side than the one they name, and the most grades that are typed.
_DENIED = frozenset({"not", "no", "worse", "worst", "lose", "loses", "lost", "bad", "against", "than", "over"})
_MOST_GRADES = 10


def _grades_of_winners(column: pd.Series[Any]) -> tuple[str, ...]:
    """Words that name one side each and how much it is better, and that side, as ``--set`` writes them; else none."""
    unknown = as_words(column[code_outcome(column) == UNKNOWN]).unique()
    found = {word: {*re.split(r"[\W_]+", word.casefold())} for word in unknown}
    sides = {word: [side for side in OUTCOMES if side in parts] for word, parts in found.items()}
    typed = all(len(sides[word]) == 1 and not (_DENIED & found[word] or re.search(r"[,=:{}]", word)) for word in found)
    words = ",".join(f"{word}={side}" for word, (side, *_) in sides.items()) if typed else ""
    return (words,) if words and len(found) <= _MOST_GRADES else ()


def _stated(ours: str, name: str, means: Sequence[str] = _UNCLEAR) -> list[str]:
    """The options that state what 0, 1 and 2, or other values, of a column mean."""
    return [f"--set {shlex.quote(f'{ours}={{{name}:{codes}}}')}" for codes in means]


def comparisons_offered(frame: pd.DataFrame, theirs: Mapping[str, str] = MappingProxyType({})) -> list[str]:
    """The options that read a table as comparisons, by the one column of outcomes and two of names that look alike.

    theirs: The file's names of our columns.

    Examples
    --------
    >>> frame = pd.DataFrame({"system_1": ["x", "y"], "system_2": ["y", "x"], "says": ["A", "tie"]})
    >>> comparisons_offered(frame)[0]
    '--column model_a=system_1 --column model_b=system_2 --column verdict=says'
    """
    known = all(two_models(frame))
    pairs = [two_models(frame)] if known else [pair for pair in _alike(frame) if _names_of_two(frame, *pair)]
    # Where several are, that of models has their name.
    pairs = [pair for pair in pairs if _MODELS.search(pair[0].casefold())] if len(pairs) > 1 else pairs
    if len(pairs) != 1 or not frame.columns.is_unique:
        return []
    (sides,) = pairs
    named = frame.rename(columns=dict(zip(sides, ("model_a", "model_b"), strict=True)))
    pair = zip(("model_a", "model_b"), () if known else sides, strict=False)
    models = "".join(f"--column {shlex.quote(f'{ours}={theirs.get(name, name)}')} " for ours, name in pair)
    if set(COUNT_COLUMNS[:2]) <= set(frame.columns) or set(BOTH) <= set(frame.columns):
        return [models.strip()] if models else []
    outcomes = [name for name in map(str, frame.columns) if name not in sides and _chosen(named, name)]
    coded = [name for name in map(str, frame.columns) if is_of_two(name) and _numbers_of_winners(frame[name])]
    if len(found := outcomes or coded) != 1:
        return []
    (name,) = found
    says = [f"--column {shlex.quote(f'{ours}={theirs.get(name, name)}')}" for ours in ("verdict", "human")]
    if not outcomes and _unclear(frame[name]):
        says = _stated("verdict", theirs.get(name, name))
    return [models + one for one in says]


#: What a column of models is called.
_MODELS = re.compile(r"model|system|llm|bot|agent|assistant|candidate|player|engine")


def _alike(frame: pd.DataFrame) -> list[tuple[str, str]]:
    """Columns whose names differ in the place alone: ``system_1`` and ``system_2``."""
    names = {folded(name): name for name in map(str, frame.columns)}
    marks = [
        (
            re.compile(
                rf"(?<![a-z\d]){one}(?![a-z\d])|(?<=[a-z]){one}(?=_|$)" if one.isdigit() else rf"(?<![^_]){one}(?![^_])"
            ),
            other,
        )
        for one, other in _PLACES
    ]
    return [
        (name, names[second])
        for first, name in names.items()
        for mark, other in marks
        if (second := mark.sub(other, first)) != first and second in names
    ]


def _names_of_two(frame: pd.DataFrame, a: str, b: str) -> bool:
    """Whether two columns hold names, each on several rows, that differ within a row."""
    both = pd.concat([as_words(frame[a]), as_words(frame[b])], ignore_index=True)
    none = (code_numbers(both)[0] >= 0) | (code_binary(both) != UNKNOWN) | (code_outcome(both) != UNKNOWN)
    differ = (as_words(frame[a]) != as_words(frame[b])).all()
    return not none.any() and bool(differ) and both.nunique() <= len(frame) / 2 + 1


def _unclear(column: Any) -> bool:
    """Whether a column holds 0, 1 and 2, which are written in two ways."""
    codes, numbers = code_numbers(column)
    return {0.0, 2.0} <= set(numbers) <= {0.0, 1.0, 2.0} and not (codes == UNKNOWN).any()


def _numbers_of_winners(column: Any) -> bool:
    codes, numbers = code_numbers(column)
    return not (codes == UNKNOWN).any() and 2 <= len(numbers) <= len(OUTCOMES) and not (numbers % 1).any()


def verdict_among_columns(
    frame: pd.DataFrame, mapping: Mapping[str, str], *, verdict: str, human: str
) -> tuple[dict[str, str], tuple[str, ...]]:
    """The mapping with the one column of what judges chose, next to both models or their names and people's choices.

    verdict, human: Our names of what the judge said and of what people said. What is said comes second.

    Examples
    --------
    >>> frame = pd.DataFrame({"judge": ["m", "m"], "human": ["a", "b"], "gpt_pick": ["A", "B"], "says": ["B", "A"]})
    >>> verdict_among_columns(frame, {}, verdict="verdict", human="human")[0]
    {'verdict': 'gpt_pick'}
    >>> print(verdict_among_columns(frame[["judge", "human", "says"]], {}, verdict="verdict", human="human")[1][0])
    column 'judge' names judges, and no column was read as their verdicts: if 'says' holds them, `--column verdict=says`
    """
    columns = list(map(str, frame.columns))
    there = {*mapping, *columns}
    voted = {"judge", human} <= there
    if not (voted or all(two_models(frame))) or {verdict, *GAPS} & there:
        return dict(mapping), ()
    judges = columns_of(frame, ["judge", *VERDICT_ALIASES["judge"][0]])
    others = [name for name in columns if name not in {*mapping.values(), human, *judges}]
    found = [name for name in others if _chosen(frame, name)]
    named = [name for name in found if is_pick(name)]
    if len(named) == 1:
        return {**mapping, verdict: named[0]}, (f"column {named[0]!r} was read as the judge's verdicts",)
    may_be = named or [name for name in found if not (means_known(name) or is_of_people(name))]
    offered = "; ".join(f"if {name!r} holds them, `--column {shlex.quote(f'{verdict}={name}')}`" for name in may_be)
    who = f"column {mapping.get('judge', 'judge')!r} names judges, and no column was read as their verdicts"
    return dict(mapping), (f"{who}: {offered}",) if may_be and voted else ()


def _chosen(frame: pd.DataFrame, name: str) -> bool:
    """Whether a column holds outcomes in words, or names of their row's models, alone; not all of them ties."""
    column = frame[name]
    if not isinstance(column, pd.Series) or not (code_numbers(column)[0] == UNKNOWN).any():
        return False
    codes = set(code_outcome(_named(frame, name, name)[0]).tolist())
    return bool({0, 1} & codes) and UNKNOWN not in codes


def two_models(frame: pd.DataFrame) -> tuple[str, str]:
    """The columns of both models, empty where there are none."""
    found = [columns_of(frame, [name, *BATTLE_ALIASES[name][0]]) for name in ("model_a", "model_b")]
    return (found[0][0], found[1][0]) if all(len(one) == 1 for one in found) else ("", "")


def of_places(outcomes: pd.Series[Any], name: str) -> pd.Series[Any]:
    """Outcomes of a presentation, a being what stood first, where first and second, or numbers of places, say so.

    Examples
    --------
    >>> of_places(pd.Series(["First", "second", "tie", "B"]), "says").tolist()
    ['a', 'b', 'tie', 'B']
    >>> of_places(pd.Series([1, 2, 1]), "says").tolist()
    ['a', 'b', 'a']
    """
    found, _ = _numbered(outcomes, name, ours=True)
    words = as_words(outcomes).str.casefold()
    return found.astype(object).mask(words == "first", "a").mask(words == "second", "b")
