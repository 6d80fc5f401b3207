"""Which battles are not independent: columns that name prompts, items or voters, and the clusters they make.

Battles on one prompt share what the prompt asks for, so that a leaderboard for new prompts is known no better
than the number of prompts allows.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

import pandas as pd

from bayesjudge.counts.memory import GivenTable, IbisTable, fetch_number
from bayesjudge.counts.rows import texts
from bayesjudge.errors import InputError, UsageError
from bayesjudge.tables import Battles
from bayesjudge.tables.columns import require_table

#: Names of columns that hold the prompt, the first one that is there and repeats.
PROMPTS = ("prompt", "prompt_id", "question_id", "instruction_id", "conversation")
#: What clusters where no prompt is known, and the word for battles that are taken as independent.
ITEM, NONE = "item", "none"
#: Before the item of a row whose cluster is missing: a character that no name holds.
_ALONE = "\x1f"


def cluster_columns(battles: Battles | GivenTable, asked: str | Sequence[str] | None) -> tuple[str, ...]:
    """Columns whose values are clusters: those asked for, else the prompt where it repeats, else the item.

    asked: Names of columns; ``"none"`` takes battles as independent.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"model_a": "x", "model_b": "y", "human": 1, "question_id": [1, 1, 2]})
    >>> cluster_columns(Battles.from_frame(frame), None), cluster_columns(Battles.from_frame(frame), "none")
    (('question_id',), ())
    """
    require_table(battles, Battles)
    columns = tuple(map(str, battles.frame.columns if isinstance(battles, Battles) else battles.columns))
    if asked is None:
        return (_prompt(battles, columns) or ITEM,)
    names = (asked,) if isinstance(asked, str) else tuple(dict.fromkeys(asked))
    if names == (NONE,):
        return ()
    if lost := [name for name in names if name not in columns]:
        raise UsageError(
            f"no column {lost[0]!r} to cluster by; the table has {list(columns)}, and "
            f"{NONE!r} alone takes battles as independent"
        )
    return names


def _prompt(battles: Battles | GivenTable, columns: Sequence[str]) -> str | None:
    """The first column that names prompts which come back in other battles."""
    named = {re.sub(r"\W+", "_", name.strip()).casefold(): name for name in columns}
    for name in (named[key] for key in PROMPTS if key in named):
        prompts, items = _distinct(battles, name), _distinct(battles, ITEM)
        if 1 < prompts < items:
            return name
    return None


def _distinct(battles: Battles | GivenTable, name: str) -> int:
    """Number of distinct names; 0 in a column of lists or other things that are no names."""
    if not isinstance(battles, Battles):
        kind = battles[name].type()
        named = kind.is_string() or kind.is_integer()
        return fetch_number(battles[name].nunique()) if named else 0
    try:
        return int(texts(battles.frame[name], shown=False).nunique())
    except InputError:
        return 0


def cluster_keys(names: Iterable[str]) -> tuple[str, ...]:
    """What clusters are called inside cells, where a user's name could be one of ours."""
    return tuple(f"cluster_{k}" for k, _ in enumerate(names))


def frame_clusters(frame: pd.DataFrame, names: Sequence[str]) -> dict[str, Any]:
    r"""The cluster of every row of a validated table; a row that names none stands with its item alone.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"item": ["i", "k"], "prompt": ["p", None]})
    >>> frame_clusters(frame, ["prompt"])["cluster_0"].tolist()
    ['p', '\x1fk']
    """
    alone = _ALONE + frame[ITEM].astype("str")
    keys = zip(cluster_keys(names), names, strict=True)
    found = {key: texts(frame[name], shown=False) for key, name in keys}
    return {key: values.where(values.notna(), alone) for key, values in found.items()}


def table_clusters(table: IbisTable, names: Sequence[str]) -> dict[str, Any]:
    """The same as Ibis expressions."""
    import ibis

    alone = ibis.literal(_ALONE) + table[ITEM].cast("string")
    return {
        key: table[name].cast("string").fill_null(alone) for key, name in zip(cluster_keys(names), names, strict=True)
    }
