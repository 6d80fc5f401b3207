"""Read pairs that a judge chose between, with their embeddings, from wherever they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Unpack

import numpy as np
import pandas as pd

from bayesjudge.errors import InputError, Problem, UsageError
from bayesjudge.readers.column_names import PAIR_ALIASES, recognise, reference_answers
from bayesjudge.readers.embeddings import Encoder, embed_texts, find_embeddings
from bayesjudge.readers.parts import located, read_parts, unread
from bayesjudge.readers.questions import to_pairs
from bayesjudge.readers.reading import Choices, Reading
from bayesjudge.tables import Pairs
from bayesjudge.tables.coding import code_names, shown
from bayesjudge.tables.columns import label_source, name_columns, require_columns
from bayesjudge.tables.pair_rows import NAMES


def read_pairs(
    source: Any,
    *,
    embeddings: Any = None,
    encoder: Encoder | str | None = None,
    columns: Mapping[str, str] | None = None,
    items: Any = None,
    **choices: Unpack[Choices],
) -> Pairs:
    """Read pairs from a file, several files, standard input or a table in memory.

    Parameters
    ----------
    source : str, path or table
        A CSV, TSV, JSONL, JSON or Parquet file (also with ``.gz``), a pattern, ``"-"`` for standard input, or
        a pandas, Polars, pyarrow or Ibis table: one row a decision of the judge.
    embeddings : path, mapping or tuple of arrays, optional
        An ``.npz`` (``item_id, response_a, response_b`` and, where known, ``prompt``), a Parquet file with an
        item column and list columns of those names, a mapping of arrays by those names, or ``(a, b)`` in the
        table's order. By default list columns ``embedding_a`` and ``embedding_b`` of the table itself; a
        table without any is read without embeddings.
    encoder : callable or str, optional
        Embeds the texts in ``response_a``, ``response_b`` (and ``prompt``): any function from texts to an
        array (n, d), or the name of a sentence-transformers model (the optional extra ``encoder``).
    columns : mapping of str to str, optional
        Our name to yours: ``{"human_prefers": "gold"}`` says that the column gold holds people's choices.
        Common names of known formats need no mapping, see `bayesjudge.readers.column_names.PAIR_ALIASES`.
        Columns of either file may be named.
    items : path or table, optional
        One row an item: what people preferred, lengths, categories, models, texts, whatever the log does not
        say; joined by item.
    **choices
        What else to say of the log, see `Reading`: ``format, put, where``, as in
        ``where={"prompt": "Vanilla", "run": 0}``.

    Returns
    -------
    Pairs

    Raises
    ------
    InputError
        A file that cannot be read, columns that could mean two things, embeddings that do not fit, and every
        problem that `Pairs.from_frame` finds.
    UsageError
        An unknown file ending, a mapping that fits no column, both embeddings and an encoder, a choice of
        rows that there are none of.

    Examples
    --------
    >>> frame = pd.DataFrame({"pair_id": ["p1", "p2"], "verdict": ["a", "b"], "human": ["a", None],
    ...                       "embedding_a": [[1.0, 0.0]] * 2, "embedding_b": [[0.0, 1.0]] * 2})
    >>> pairs = read_pairs(frame)
    >>> pairs.agrees.tolist(), pairs.dimensions
    ([1.0, nan], 2)
    >>> log = pd.DataFrame({"pair_id": ["p1", "p1"], "verdict": ["a", "b"], "prompt": ["short", "long"]})
    >>> people = pd.DataFrame({"pair_id": ["p1"], "human": ["a"]})
    >>> read_pairs(log, items=people, where={"prompt": "long"}).agrees.tolist()
    [0.0]
    """
    if embeddings is not None and encoder is not None:
        raise UsageError("give embeddings= or encoder=, not both")
    known = named_items(items, columns, aliases=PAIR_ALIASES, names=NAMES) if items is not None else None
    frames = []
    warnings: tuple[str, ...] = () if known is None else known[2]
    parts = read_parts(source, Reading(**choices), taken=(columns or {}).values())
    parts = [to_pairs(part) for part in parts]
    for part in parts:
        mine = _of_log(part.frame, columns, frozenset() if known is None else known[1])
        mapping, doubts = part.recognised(mine, PAIR_ALIASES)
        named, moved = name_columns(part.frame, mapping, names=NAMES)
        frames.append(named.set_axis(part.frame.index))
        warnings += part.notes + doubts + moved
    whole = pd.concat(frames, ignore_index=True)
    try:
        if known is not None and "item" in whole:
            whole, lost = with_items(whole, known[0])
            warnings += lost
        warnings += () if parts[0].tool else reference_answers(whole, "human_prefers")
        arrays = embed_texts(whole, encoder) if encoder is not None else _embeddings(embeddings, whole)
        pairs = Pairs.from_frame(whole, **arrays)
    except InputError as error:
        told = located(error.problems, [part.name for part in parts], frames)
        raise parts[0].explained(InputError(told)) from error
    return replace(
        pairs,
        warnings=tuple(dict.fromkeys(warnings + pairs.warnings)),
        dropped={**unread(parts), **pairs.dropped},
        label_source=label_source(columns, pairs.frame, "human_prefers"),
    )


def _of_log(frame: pd.DataFrame, columns: Mapping[str, str] | None, elsewhere: frozenset[str]) -> dict[str, str]:
    """The part of a mapping that is not about the items file alone."""
    return {
        name: column for name, column in (columns or {}).items() if column in frame.columns or column not in elsewhere
    }


def _embeddings(given: Any, frame: pd.DataFrame) -> dict[str, Any]:
    # Without an item column the table is refused by its own rules, which say so better.
    return find_embeddings(given, frame) if "item" in frame else {}


WHERE = "the items file"


def named_items(
    source: Any,
    columns: Mapping[str, str] | None,
    *,
    aliases: Mapping[str, tuple[Sequence[str], Sequence[str]]],
    names: Sequence[str],
) -> tuple[pd.DataFrame, frozenset[str], tuple[str, ...]]:
    """The items under our names, the names they came with, and what was guessed.

    Raises
    ------
    InputError
        A file that cannot be read, no column of items, an item on two rows.
    """
    frame = pd.concat([part.frame for part in read_parts(source)], ignore_index=True)
    mine = {name: column for name, column in (columns or {}).items() if column in frame}
    mapping, doubts = recognise(map(str, frame.columns), mine, aliases=aliases)
    named, moved = name_columns(frame, mapping, names=names)
    problems = require_columns(named.columns, ("item",), where=WHERE)
    if problems:
        raise InputError(problems)
    # By name, as they are joined: 1 and "1" are one item, and a list is none.
    codes, _ = code_names(named["item"])
    twice = np.flatnonzero(pd.Series(codes).duplicated(keep=False)).tolist()
    if twice:
        raise InputError(
            [
                Problem(
                    column="item",
                    found=f"items on several rows of {WHERE}",
                    allowed="one row an item",
                    rows=tuple(row + 1 for row in twice),
                    fix="Keep one row of each.",
                )
            ]
        )
    nameless = int((codes < 0).sum())
    lost = (f"rows of {WHERE} that name no item, left out: {nameless}",) if nameless else ()
    return named, frozenset(map(str, frame.columns)), doubts + moved + lost


def with_items(frame: pd.DataFrame, items: pd.DataFrame) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """The decisions with every column of their item that they do not have themselves.

    Returns
    -------
    frame : pandas.DataFrame
        The decisions' rows, in their order.
    warnings : tuple of str
        How many decisions have no item, where some have none.

    Raises
    ------
    InputError
        Not one decision is about an item of the file.

    Examples
    --------
    >>> decisions = pd.DataFrame({"item": [1, 2, 1], "judge_prefers": ["a", "b", "b"]})
    >>> items = pd.DataFrame({"item": ["1", "2"], "human_prefers": ["a", None], "judge_prefers": "?"})
    >>> with_items(decisions, items)[0]["human_prefers"].tolist()
    ['a', nan, 'a']
    """
    both = pd.concat([items["item"].astype(object), frame["item"].astype(object)], ignore_index=True)
    codes, _ = code_names(both)
    theirs, ours = codes[: len(items)], codes[len(items) :]
    at = pd.Index(np.where(theirs >= 0, theirs, -2 - np.arange(len(items)))).get_indexer(pd.Index(ours))
    lost = int((at < 0).sum())
    if lost == len(frame):
        there, here = (shown(rows["item"].iloc[0]) if len(rows) else "none" for rows in (items, frame))
        told = f"no decision about an item of {WHERE} (items: {there} there and {here} here)"
        raise InputError(
            [
                Problem(
                    column="item",
                    found=told,
                    allowed="one name for an item in both files",
                    fix="Make the names the same, or say which column has them.",
                )
            ]
        )
    new = [name for name in items.columns if name not in frame]
    brought = items[new].reindex(pd.Index(at)).set_axis(frame.index)
    warnings = (f"{lost} of {len(frame)} decisions are about no item of {WHERE}",) if lost else ()
    return pd.concat([frame, brought], axis=1), warnings
