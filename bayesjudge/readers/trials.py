"""Read repeated trials and scores from wherever they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from bayesjudge.errors import InputError
from bayesjudge.readers.names import SCORE_ALIASES, TRIAL_ALIASES, recognise
from bayesjudge.readers.parts import located, read_parts
from bayesjudge.tables import Scores, Trials
from bayesjudge.tables.columns import name_columns
from bayesjudge.tables.scores import SCORES
from bayesjudge.tables.trials import TRIALS
from bayesjudge.tables.unfold import COUNT_COLUMNS, SIDE_COLUMNS, score_columns

__all__ = ["read_scores", "read_trials"]

type _Aliases = Mapping[str, tuple[Sequence[str], Sequence[str]]]


def read_trials(source: Any, *, columns: Mapping[str, str] | None = None) -> Trials:
    """Read repeated comparisons from a file, several files, standard input or a table in memory.

    Parameters
    ----------
    source : str, path or table
        A CSV, TSV, JSONL, JSON or Parquet file (also with ``.gz``), a pattern such as ``"logs/*.jsonl"``,
        ``"-"`` for standard input, or a pandas, Polars, pyarrow or Ibis table: one row a trial, or one row a
        cell with counts ``n_a, n_b, n_tie``.
    columns : mapping of str to str, optional
        Our name to yours: ``{"outcome": "winner"}``. Common names of known formats need no mapping, see
        `bayesjudge.readers.names.TRIAL_ALIASES`.

    Returns
    -------
    Trials

    Raises
    ------
    InputError
        A file that cannot be read, columns that could mean two things, and every problem that
        `Trials.from_frame` finds. Row numbers count from 1 after the header, in the file that is named.
    UsageError
        An unknown file ending, or a mapping that fits no column.

    Examples
    --------
    >>> frame = pd.DataFrame({"question_id": ["q1", "q1"], "run": [0, 1], "winner": ["model_a", "tie"]})
    >>> read_trials(frame).frame[["item", "trial", "outcome"]].values.tolist()
    [['q1', '0', 'a'], ['q1', '1', 'tie']]
    """
    frame, parts, warnings = _named(source, columns, TRIAL_ALIASES, (*TRIALS.columns, *COUNT_COLUMNS))
    try:
        trials = Trials.from_frame(frame)
    except InputError as error:
        raise InputError(located(error.problems, *parts)) from error
    return Trials(trials.frame, trials.dropped, tuple(dict.fromkeys(warnings + trials.warnings)))


def read_scores(source: Any, *, columns: Mapping[str, str] | None = None) -> Scores:
    """Read repeated scores of single responses; sources and errors as for `read_trials`.

    Parameters
    ----------
    source : str, path or table
        One row a score, one row a response with numbered columns (``s0``, ``s1``, ...), or one row a
        comparison with ``score_a`` and ``score_b``.
    columns : mapping of str to str, optional
        Our name to yours: ``{"score": "rating"}``. Common names of known formats need no mapping, see
        `bayesjudge.readers.names.SCORE_ALIASES`.

    Returns
    -------
    Scores

    Raises
    ------
    InputError
        As `read_trials`, and every problem that `Scores.from_frame` finds.
    UsageError
        An unknown file ending, or a mapping that fits no column.

    Examples
    --------
    >>> frame = pd.DataFrame({"item_id": ["q1"], "response": [0], "s0": [7], "s1": [8]})
    >>> read_scores(frame).frame[["item", "trial", "score"]].values.tolist()
    [['q1', '0', 7.0], ['q1', '1', 8.0]]
    """
    frame, parts, warnings = _named(source, columns, SCORE_ALIASES, (*SCORES.columns, *SIDE_COLUMNS))
    try:
        scores = Scores.from_frame(frame)
    except InputError as error:
        raise InputError(located(error.problems, *parts)) from error
    return Scores(scores.frame, scores.dropped, tuple(dict.fromkeys(warnings + scores.warnings)))


def _named(
    source: Any, columns: Mapping[str, str] | None, aliases: _Aliases, names: Sequence[str]
) -> tuple[pd.DataFrame, tuple[list[str], list[pd.DataFrame]], tuple[str, ...]]:
    """All rows under our names, the name and frame of each file, and what was guessed."""
    files, frames = [], []
    warnings: tuple[str, ...] = ()
    for name, frame in read_parts(source):
        # A numbered column is a trial's scores, not the name of a trial or an item.
        numbered = score_columns(map(str, frame.columns)) if "score" in names else {}
        found = [column for column in map(str, frame.columns) if column not in numbered]
        mapping, doubts = recognise(found, columns, aliases=aliases)
        named, moved = name_columns(frame, mapping, names=names)
        files.append(name)
        frames.append(named)
        warnings += doubts + moved
    frame = frames[0] if len(frames) == 1 else pd.concat(frames, ignore_index=True)
    return frame, (files, frames), warnings
