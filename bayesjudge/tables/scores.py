"""Repeated scores of single responses: the pointwise half of questions about repeatability."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from bayesjudge.tables.columns import require_frame
from bayesjudge.tables.repeat_rows import Layout, validate_events
from bayesjudge.tables.unfold import SIDE_COLUMNS, unfold_scores

#: What one row of `Scores` holds.
SCORES = Layout(
    value="score", keys=("item", "judge", "response"), conditions=("prompt", "temperature"), unfold=unfold_scores
)


@dataclass(frozen=True, eq=False)
class Scores:
    """Repeated scores that judges gave to single responses.

    Parameters
    ----------
    frame : pandas.DataFrame
        Columns ``item, judge, response, trial`` (str), ``score`` (float), ``prompt`` (str or missing),
        ``temperature`` (float, NaN where not recorded), ``category`` (str or missing), then any extra columns
        as they came. Treat it as read-only.
    dropped : mapping of str to int
        Rows of the input that could not be used: reason to count.
    warnings : tuple of str
        What was assumed on the way in.
    source : tuple of mapping
        The files that it was read from: name, size, SHA-256, format, records and rows.
    """

    frame: pd.DataFrame
    dropped: Mapping[str, int] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    source: tuple[Mapping[str, Any], ...] = ()

    @classmethod
    def from_frame(cls, frame: pd.DataFrame, *, columns: Mapping[str, str] | None = None) -> Scores:
        """Validate a data frame.

        Parameters
        ----------
        frame : pandas.DataFrame
            One row a score: ``item``, ``score``, and where known ``judge``, ``response``, ``trial``,
            ``prompt``, ``temperature``, ``category``; or one row a response with one column a trial (``s0``,
            ``s1``, ... or ``run_1``, ``run_2``, ...); or ``score_a`` and ``score_b`` of both responses of a
            comparison, which become the responses ``a`` and ``b``.
        columns : mapping of str to str, optional
            Our name to yours: ``{"score": "rating"}`` reads scores from your column ``rating``.

        Returns
        -------
        Scores

        Raises
        ------
        InputError
            Every problem found: scores that are no numbers, trials that differ, an item with several
            categories, missing columns, no usable rows.
        UsageError
            A mapping from or to a column that does not exist.

        Notes
        -----
        Missing scores and rows without an item, judge, response or trial are counted in ``dropped``. Without
        a ``trial`` column, repeated rows are repeated trials, numbered in row order.

        Examples
        --------
        >>> wide = pd.DataFrame({"item": ["q1", "q2"], "s0": [7, 9], "s1": [8, None]})
        >>> scores = Scores.from_frame(wide)
        >>> scores.frame["score"].tolist(), dict(scores.dropped)
        ([7.0, 9.0, 8.0], {'missing score': 1})
        """
        require_frame(frame, "read_scores")
        return cls(*validate_events(frame, columns, SCORES, also=SIDE_COLUMNS))

    def __len__(self) -> int:
        return len(self.frame)
