"""Read pairs that a judge chose between, with their embeddings, from wherever they are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Unpack

import pandas as pd

from bayesjudge.errors import InputError, UsageError
from bayesjudge.readers.aliases import PAIR_ALIASES
from bayesjudge.readers.both_ways import pairs_as_items
from bayesjudge.readers.column_names import reference_answers
from bayesjudge.readers.conflicts import choose_one, models_of_files, written
from bayesjudge.readers.embeddings import Encoder, embed_texts, find_embeddings
from bayesjudge.readers.items import of_log, read_items, with_items
from bayesjudge.readers.marks import one_vote_a_row
from bayesjudge.readers.parts import Part, located, origins, read_parts, unread
from bayesjudge.readers.questions import to_pairs
from bayesjudge.readers.reading import Choices, Reading
from bayesjudge.readers.sides import codes_to_state, verdict_among_columns, winners_named
from bayesjudge.tables import Pairs
from bayesjudge.tables.columns import label_source
from bayesjudge.tables.pair_rows import CHOICES, NAMES


def read_pairs(
    source: Any,
    *,
    embeddings: Any = None,
    encoder: Encoder | str | None = None,
    columns: Mapping[str, str] | None = None,
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
        Common names of known formats need no mapping, see `bayesjudge.readers.aliases.PAIR_ALIASES`.
        Columns of either file may be named.
    **choices
        What else to say of the log, see `Reading`: ``format, put, where``, as in
        ``where=["prompt=Vanilla", "run=0"]``; and ``items``, a second file with one row an item: what people
        preferred, lengths, categories, models, texts, whatever the log does not say.

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
    reading = Reading(**choices)
    items = read_items(reading.items, columns, aliases=PAIR_ALIASES, names=NAMES)
    named: list[Part] = []
    warnings: tuple[str, ...] = ()
    parts = read_parts(source, reading, taken=columns)
    parts = [to_pairs(part, mapped=columns or ()) for part in parts]
    for each in parts:
        part, mapped = one_vote_a_row(each, of_log(each.frame, columns, items), "human_prefers")
        mapping, doubts = part.recognised(mapped, PAIR_ALIASES)
        if part.tool is None:
            mapping, chosen = verdict_among_columns(part.frame, mapping, verdict="judge_prefers", human="human_prefers")
            doubts += chosen
        one, moved = part.named(mapping, NAMES)
        whole, read = winners_named(one.frame, CHOICES, [one.read_as.get(side, side) for side in CHOICES])
        named.append(replace(one, frame=whole))
        warnings += part.notes + doubts + moved + read
    whole = pd.concat([one.frame for one in named], ignore_index=True)
    if "item" not in whole and "question" in whole:
        whole = whole.assign(item=whole["question"])
    # Of a question and its models, the pair is what both orders and all judges have in common.
    whole, paired = pairs_as_items(whole, values=CHOICES)
    warnings += paired
    try:
        whole, notes = with_items(whole, items)
        warnings += notes
        warnings += () if parts[0].tool else reference_answers(whole, "human_prefers")
        arrays = embed_texts(whole, encoder) if encoder is not None else _embeddings(embeddings, whole)
        pairs = Pairs.from_frame(whole, **arrays)
    except InputError as error:
        found = located(error.problems, named)
        keys = ("item", "judge", "attack", "order")
        joined = written(named[0], reading.put)
        better = choose_one(whole, found, value="judge_prefers", keys=keys, known=NAMES, joined=joined)
        better = better or codes_to_state(whole, found)
        of_files = models_of_files(named, whole) if len(named) > 1 else None
        raise better or of_files or parts[0].explained(InputError(found)) from error
    return replace(
        pairs,
        warnings=tuple(dict.fromkeys(warnings + pairs.warnings)),
        dropped={**unread(parts), **pairs.dropped},
        source=origins(parts) + (items.source if items else ()),
        label_source=label_source(columns, pairs.frame, "human_prefers", by_format=parts[0].tool is not None),
    )


def _embeddings(given: Any, frame: pd.DataFrame) -> dict[str, Any]:
    # Without an item column the table is refused by its own rules, which say so better.
    return find_embeddings(given, frame) if "item" in frame else {}
