"""Read battles from wherever they are."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Unpack

import numpy as np
import pandas as pd

from bayesjudge.errors import InputError, Problem, UsageError
from bayesjudge.readers.aliases import BATTLE_ALIASES, SCORE_ALIASES
from bayesjudge.readers.column_names import columns_of, reference_answers
from bayesjudge.readers.conflicts import choose_one, items_of_files, models_of_files, written
from bayesjudge.readers.items import of_log, read_items, with_items
from bayesjudge.readers.marks import (
    one_vote_a_row,
    people_alone,
    people_among_judges,
    voters_among_columns,
    voters_among_judges,
    without_fickle_voters,
)
from bayesjudge.readers.parts import Part, located, origins, read_parts, unread
from bayesjudge.readers.questions import to_battles
from bayesjudge.readers.reading import Choices, Reading
from bayesjudge.readers.repetitions import repeats_of_what, require_one_criterion
from bayesjudge.readers.sides import (
    codes_to_state,
    comparisons_offered,
    may_be_winners,
    verdict_among_columns,
    winners_named,
)
from bayesjudge.readers.values import listing
from bayesjudge.readers.wide import one_judge_a_row
from bayesjudge.tables import Battles
from bayesjudge.tables.battle_gaps import BOTH, require_no_ranks
from bayesjudge.tables.battle_rows import NAMES
from bayesjudge.tables.columns import label_source, require_unique
from bayesjudge.tables.words import ORDERS, code_numbers, is_place

#: Share of more than so many names of answerers that are on one item alone, from which they are no models, where
#: there are so many items: a few models on a prompt each are a log.
_ALONE, _FEW_NAMES, _FEW_ITEMS = 0.9, 20, 3
#: A column's name that says scores.
_SCORES = re.compile(r"score|rating|grade|points|reward")
#: What a judge decides once.
_KEYS = ("item", "model_a", "model_b", "judge", "order")


def read_battles(
    source: Any,
    *,
    columns: Mapping[str, str] | None = None,
    judges: Sequence[str] | None = None,
    order: str | None = None,
    refuse_doubtful: bool = False,
    **choices: Unpack[Choices],
) -> Battles:
    """Read battles from a file, several files, standard input or a table in memory.

    Parameters
    ----------
    source : str, path or table
        A CSV, TSV, JSONL, JSON or Parquet file (also with ``.gz``) or the log of a tool, see
        `bayesjudge.readers.formats`; a folder of them, a pattern such as ``"votes/*.parquet"``, ``"-"`` for
        standard input, or a pandas, Polars, pyarrow or Ibis table. A wide table may hold one column of
        verdicts a judge.
    columns : mapping of str to str, optional
        Our name to yours: ``{"human": "winner"}``; see `Battles.from_frame` for our names.
    judges : sequence of str, optional
        Columns of a wide table that each hold one judge's verdicts.
    order : {"ab", "ba"}, optional
        Which answer was shown first on every row, where the table has no column that says so.
    refuse_doubtful : bool, default False
        Refuse rows that another column or the file tells apart, in place of a warning that they count as repetitions.
    **choices
        What else to say of the file, see `Reading`: ``format, put, where, items``.

    Returns
    -------
    Battles

    Raises
    ------
    InputError
        A file that cannot be read, columns that could mean two things, and every problem that
        `Battles.from_frame` finds. Row numbers count from 1 after the header, in the file that is named.
    UsageError
        An unknown file ending, a mapping that fits no column, an unknown order.

    Examples
    --------
    >>> frame = pd.DataFrame({"battle_id": [1], "model_a": ["x"], "model_b": ["y"], "human": [0.5],
    ...                       "gpt-4": ["a"], "claude": ["tie"]})
    >>> read_battles(frame).frame[["judge", "verdict", "human"]].values.tolist()
    [['gpt-4', 1.0, 0.5], ['claude', 0.5, 0.5]]
    """
    if order is not None and order not in ORDERS:
        raise UsageError(f"order is {order!r}; it is one of {list(ORDERS)}, or left out")
    reading = Reading(**choices)
    items = read_items(reading.items, columns, aliases=BATTLE_ALIASES, names=NAMES)
    parts: list[Part] = []
    warnings: tuple[str, ...] = ()
    read = read_parts(source, reading, taken={**(columns or {}), **{name: name for name in judges or ()}})
    for part in (to_battles(one, mapped=columns or {}) for one in read):
        one, notes = _named(*one_vote_a_row(part, of_log(part.frame, columns, items), "human"), judges)
        parts.append(one)
        warnings += one.notes + notes
    parts, said = items_of_files(parts, NAMES, [items.frame] if items else ())
    warnings += said
    log = pd.concat([part.frame for part in parts], ignore_index=True)
    frame, joined = with_items(log, items)
    _require_one_pair(log, frame)
    warnings += joined
    if order is not None and "order" not in frame:
        frame = frame.assign(order=order)
    require_one_criterion(frame, parts, value="verdict", keys=_KEYS, number="run")
    try:
        battles = Battles.from_frame(frame)
    except InputError as error:
        found = located(error.problems, parts)
        stated = written(parts[0], reading.put)
        better = choose_one(frame, found, value="human", keys=_KEYS[:3], known=NAMES, joined=stated)
        better = better or codes_to_state(frame, found, theirs=_winner(parts[0]))
        of_files = models_of_files(parts, frame) if not any(one.rows for one in found) else None
        raise better or of_files or _offered(parts[0], found) or parts[0].explained(InputError(found)) from error
    _require_no_places(battles.frame, parts[0])
    if "item" in frame:
        _require_models(battles.frame, parts[0])
    warnings += _of_probabilities(frame)
    warnings += repeats_of_what(
        frame,
        parts,
        value="verdict",
        keys=_KEYS,
        number="run",
        known=NAMES,
        assumed=battles.warnings,
        refuse=refuse_doubtful,
    )
    return replace(
        battles,
        warnings=tuple(dict.fromkeys(warnings + battles.warnings)),
        dropped={**unread(parts), **battles.dropped},
        source=origins(parts) + (items.source if items else ()),
        label_source=label_source(columns, battles.frame, "human", by_format=parts[0].tool is not None),
    )


def _winner(part: Part) -> str:
    """A tool's column of winners, which is what people or a judge said; empty where there is none."""
    return "winner" if part.tool is not None and "winner" in part.tool.marks else ""


def _offered(part: Part, problems: Sequence[Problem]) -> UsageError | None:
    """What is said of a table without outcomes, or without models by our names, that may have them by others."""
    if part.tool is not None or any(one.rows for one in problems):
        return None
    lacks = "; ".join(one.allowed for one in problems)
    scores = columns_of(part.frame, ["score", *SCORE_ALIASES["score"][0]])
    options, said = may_be_winners(part.frame, scores[0], scores[0], ours="verdict") if len(scores) == 1 else ([], "")
    if not said:
        options, said = _scores_in_lists(part)
    if not said and (options := comparisons_offered(part.frame, part.read_as)):
        said = f"other columns may hold the two models and who won: {' or '.join(options)}"
    return UsageError(f"{part.name}: {said}", lacks=lacks, options=options) if said else None


def _scores_in_lists(part: Part) -> tuple[list[str], str]:
    """The option that reads the one column of two scores a row as those of both models, and what is said of it."""
    named = [name for name in map(str, part.frame.columns) if _SCORES.search(name.casefold())]
    if len(found := [name for name in named if _of_two_numbers(part.frame[name])]) != 1:
        return [], ""
    (name,) = found
    scores = " ".join(f"--column {shlex.quote(f'{ours}={name}.{place}')}" for place, ours in enumerate(BOTH, start=1))
    said = f"column {name!r} has two numbers a row, which may be the scores of both answers"
    known = {"model_a", "model_b"} <= {*part.frame.columns}
    models = [] if known else comparisons_offered(part.frame.assign(**dict.fromkeys(BOTH, 0)), part.read_as)
    if not (known or models):
        return [], f"{said} ({scores}). Name the models, too (--column model_a=COLUMN --column model_b=COLUMN)."
    options = [" ".join([*models, scores])]
    return options, f"{said}: {options[0]}"


def _of_two_numbers(column: Any) -> bool:
    cells = column.dropna() if isinstance(column, pd.Series) else ()
    numbers = ([isinstance(one, int | float) for one in listing(cell)] for cell in cells)
    return len(cells) > 0 and all(one == [True, True] for one in numbers)


def _require_no_places(frame: pd.DataFrame, part: Part) -> None:
    """Places of answers, as JudgeBench names both of one model's, have no strength of their own."""
    names = sorted({str(name) for side in ("model_a", "model_b") for name in frame[side].unique()})
    if names and all(map(is_place, names)):
        said = " and ".join(map(repr, names))
        raise UsageError(
            f"{said} in {part.name} are places of answers, not the models that gave them, so that an Elo would be of "
            "the places; reliability and audit take such a log. Where the models are known, name their columns: "
            "--column model_a=COLUMN --column model_b=COLUMN",
            lacks=f"names of models: {said} are places of answers",
        )


def _require_models(frame: pd.DataFrame, part: Part) -> None:
    """Ids of answers, each in the battles of one item, are no models: next to nothing compares the items."""
    items, every = pd.factorize(frame["item"])
    names, known = pd.factorize(pd.concat([frame["model_a"], frame["model_b"]], ignore_index=True))
    if len(known) <= _FEW_NAMES or len(every) < _FEW_ITEMS:
        return
    of = pd.Series(np.tile(items, 2)).groupby(names).agg(["min", "max"])
    alone = int((of["min"] == of["max"]).sum())
    if alone < _ALONE * len(known):
        return
    columns = " and ".join(repr(part.read_as.get(side, side)) for side in ("model_a", "model_b"))
    raise UsageError(
        f"columns {columns} of {part.name} have {len(known)} names, of which {alone} are each in the battles of one "
        f"item only ({len(every)} items), so that next to nothing compares items: they look like ids of answers. Name "
        "the two columns of models that gave these: --column model_a=COLUMN --column model_b=COLUMN",
        lacks=f"two columns of models: {alone} of {len(known)} names in {columns} are on one item only",
    )


def _of_probabilities(frame: pd.DataFrame) -> tuple[str, ...]:
    """What is said of a judge's preferences that are probabilities, without a stated verdict."""
    if "prob_a" not in frame:
        return ()
    alone = frame["prob_a"] if "verdict" not in frame else frame["prob_a"][frame["verdict"].isna()]
    numbers = code_numbers(alone)[1]
    if not ((numbers > 0) & (numbers < 1) & (numbers != 0.5)).any():
        return ()
    return ("a judge's probabilities count as wins above 0.5 in hard Elo and Bradley–Terry, elsewhere by their logits",)


def _require_one_pair(log: pd.DataFrame, joined: pd.DataFrame) -> None:
    """A vote that the items file brings is about one comparison."""
    if "human" in log or "human" not in joined or not {"model_a", "model_b"} <= set(log.columns):
        return
    pairs = log[["item", "model_a", "model_b"]].astype("str").drop_duplicates()
    if (several := pairs["item"].duplicated()).any():
        problem = Problem(
            column="human",
            found=f"one vote an item, of which {pairs['item'][several].iloc[0]!r} compares several pairs of models",
            allowed="items of one comparison each, where their file holds votes",
            fix="Put the votes into the log, one a comparison.",
        )
        raise InputError([problem])


def _named(part: Part, mapped: dict[str, str], judges: Sequence[str] | None) -> tuple[Part, tuple[str, ...]]:
    frame = part.frame.rename(columns=str)
    try:
        require_unique(frame.columns)
        notes: tuple[str, ...] = ()
        if part.tool is None or judges is not None:
            frame, notes = one_judge_a_row(frame, judges=judges, taken=tuple(mapped.values()))
        frame, voters = (frame, ()) if part.tool else voters_among_columns(frame, mapped)
        aliases = {name: words for name, words in BATTLE_ALIASES.items() if name != "judge" or not voters}
        mapping, doubts = replace(part, frame=frame).recognised(mapped, aliases)
        if part.tool is None:
            mapping, chosen = verdict_among_columns(frame, mapping, verdict="verdict", human="human")
            doubts += chosen
        require_no_ranks(mapping)
    except InputError as error:
        located_in = [replace(problem, found=f"{problem.found} in {part.name}") for problem in error.problems]
        raise InputError(located_in, options=error.options) from error
    named, moved = replace(part, frame=frame).named(mapping, NAMES)
    sides = ("human", "verdict")
    theirs = dict.fromkeys(sides, _winner(part)) if _winner(part) else named.read_as
    whole, read = winners_named(named.frame, sides, [theirs.get(side, side) for side in sides])
    if part.tool is None and "judge" not in mapped:
        whole, numbered = voters_among_judges(whole, named.read_as.get("judge", "judge"))
        notes += numbered
    people, said = people_among_judges(whole, "verdict") if "human" not in whole else (None, ())
    said += () if part.tool or people is None else people_alone(whole, named.read_as.get("verdict", "verdict"))
    if people is not None and people.any():
        voted = whole["verdict"].astype(object).where(people)
        whole = whole.assign(human=voted, **{name: whole[name].mask(people) for name in ("judge", "verdict")})
    if voters or (part.tool is not None and "voter" not in mapped):
        whole, voters = without_fickle_voters(whole, voters)
    named = replace(named, frame=whole)
    notes += voters + doubts + moved + read + said
    notes += () if part.tool else reference_answers(named.frame, "human")
    return named, notes
