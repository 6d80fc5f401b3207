"""Repeated comparisons of two responses: the table behind every question about repeatability."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from bayesjudge.errors import UsageError
from bayesjudge.tables.repeat_rows import Layout, validate_events
from bayesjudge.tables.unfold import COUNT_COLUMNS, unfold_outcomes

#: What one row of `Trials` holds.
TRIALS = Layout(
    value="outcome", keys=("item", "judge"), conditions=("order", "prompt", "temperature"), unfold=unfold_outcomes
)


@dataclass(frozen=True, eq=False)
class Trials:
    """Repeated verdicts of judges on comparisons of two responses, a and b.

    Parameters
    ----------
    frame : pandas.DataFrame
        Columns ``item, judge, trial`` (str), ``outcome`` (str: a, b or tie, the response that won, wherever
        it was shown), ``order`` (str: ab where response a was shown first, ba, or missing), ``prompt`` (str
        or missing), ``temperature`` (float, NaN where not recorded), ``category`` (str or missing), then any
        extra columns as they came. Treat it as read-only.
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
    def from_frame(cls, frame: pd.DataFrame, *, columns: Mapping[str, str] | None = None) -> Trials:
        """Validate a data frame.

        Parameters
        ----------
        frame : pandas.DataFrame
            One row a trial: ``item``, ``outcome``, and where known ``judge``, ``trial``, ``order``,
            ``prompt``, ``temperature``, ``category``; or one row a cell with the counts ``n_a``, ``n_b`` and,
            where ties were possible, ``n_tie`` in place of ``outcome``.
        columns : mapping of str to str, optional
            Our name to yours: ``{"outcome": "winner"}`` reads outcomes from your column ``winner``.

        Returns
        -------
        Trials

        Raises
        ------
        InputError
            Every problem found: values that cannot be read, trials that differ, an item with several
            categories, missing columns, no usable rows.
        UsageError
            A mapping from or to a column that does not exist.

        Notes
        -----
        Rows without an item, judge, trial or outcome are counted in ``dropped``. Trials under different
        orders, prompts or temperatures are different cells; a condition that was not recorded is one of its
        own. Without a ``trial`` column, repeated rows are repeated trials, numbered in row order.

        Examples
        --------
        >>> frame = pd.DataFrame({"item": ["q1"] * 3, "trial": [0, 1, 2], "winner": ["A", "tie", None]})
        >>> trials = Trials.from_frame(frame, columns={"outcome": "winner"})
        >>> trials.frame["outcome"].tolist(), dict(trials.dropped)
        (['a', 'tie'], {'missing outcome': 1})
        >>> len(Trials.from_frame(pd.DataFrame({"item": ["q1", "q2"], "n_a": [30, 50], "n_b": [20, 0]})))
        100
        """
        if not isinstance(frame, pd.DataFrame):
            raise UsageError(
                f"from_frame takes a pandas DataFrame, not {type(frame).__name__}; "
                "bayesjudge.readers.read_trials takes files and other tables"
            )
        return cls(*validate_events(frame, columns, TRIALS, also=COUNT_COLUMNS))

    def __len__(self) -> int:
        return len(self.frame)
