"""Battles between two models, judged by people, by LLMs, or by both: the table behind every Elo question."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pandas as pd

from bayesjudge.tables.battle_rows import validate
from bayesjudge.tables.columns import label_source, require_frame


@dataclass(frozen=True, eq=False)
class Battles:
    """Outcomes of battles, one row an event: a person's vote, a judge's verdict, or both side by side.

    Parameters
    ----------
    frame : pandas.DataFrame
        Columns ``item, model_a, model_b, judge, run, voter, order`` (str; ``judge`` is missing on a row
        without a judge's verdict, ``voter`` on one without a vote, ``order`` where it is not known),
        ``human, verdict`` (1 a wins, .5 tie, 0 b wins, NaN none), ``gap`` (the judge's score of a minus its
        score of b, NaN none), ``length_a, length_b`` where given, then any extra columns as they came.
        Treat it as read-only.
    dropped : mapping of str to int
        Rows of the input that could not be used: reason to count.
    warnings : tuple of str
        What was assumed on the way in.
    source : tuple of mapping
        The files that it was read from: name, size, SHA-256, format, records and rows.
    label_source : {"human", "mapped", "format"}, optional
        How people's labels were known as such: by their column's name, because the user named the column, or by the
        format of the tool's file.

    Notes
    -----
    A battle is an item with an unordered pair of models. Verdicts, votes and gaps are in the frame of the
    row's own models, whichever was shown first; ``order`` says that (``ab``: a first).
    """

    frame: pd.DataFrame
    dropped: Mapping[str, int] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    label_source: str | None = None
    source: tuple[Mapping[str, Any], ...] = ()

    @classmethod
    def from_frame(cls, frame: pd.DataFrame, *, columns: Mapping[str, str] | None = None) -> Battles:
        """Validate a data frame.

        Parameters
        ----------
        frame : pandas.DataFrame
            One row an event: ``model_a``, ``model_b``, at least one of ``human``, ``verdict``,
            ``score_gap``, ``score_a`` with ``score_b`` or ``prob_a``, and where known ``item``, ``judge``,
            ``order``, ``run``, ``voter``, ``length_a``, ``length_b`` and columns to group by; or one row a pair
            with the counts ``n_a``, ``n_b`` and, where there are ties, ``n_tie`` of a judge's verdicts.
        columns : mapping of str to str, optional
            Our name to yours: ``{"human": "winner"}`` reads votes from your column ``winner``.

        Returns
        -------
        Battles

        Raises
        ------
        InputError
            Every problem found: values that cannot be read, one voter with two votes on a battle, one run
            with two verdicts, missing columns, no usable rows.
        UsageError
            A mapping from or to a column that does not exist.

        Notes
        -----
        Rows without a model or an outcome and battles of a model against itself are counted in ``dropped``.
        A vote on the rows of several judges is one vote; without a ``voter`` column, votes on rows of their
        own are votes of different people. Without a ``run`` column, repeated rows are runs of the judge.

        Examples
        --------
        >>> frame = pd.DataFrame({"item": [1, 2, 3], "model_a": ["x", "y", "x"], "model_b": ["y", "x", "x"],
        ...                       "winner": ["model_a", "tie", "model_b"]})
        >>> battles = Battles.from_frame(frame, columns={"human": "winner"})
        >>> battles.frame["human"].tolist(), dict(battles.dropped)
        ([1.0, 0.5], {'a model against itself': 1})
        """
        require_frame(frame, "read_battles")
        found = cls(*validate(frame, columns))
        return replace(found, label_source=label_source(columns, found.frame, "human"))

    def __len__(self) -> int:
        return len(self.frame)
