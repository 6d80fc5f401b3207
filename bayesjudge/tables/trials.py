"""Repeated judging, the tables behind every question about repeatability: comparisons of two responses, and scores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pandas as pd

from bayesjudge.tables.choices import CHOICE_COLUMNS, choices_of
from bayesjudge.tables.coding import UNKNOWN
from bayesjudge.tables.columns import name_columns, require_frame
from bayesjudge.tables.repeat_rows import Layout, validate_events
from bayesjudge.tables.unfold import COUNT_COLUMNS, SIDE_COLUMNS, unfold_outcomes, unfold_scores
from bayesjudge.tables.words import code_numbers

SINGLE = (
    "verdicts are 0 and 1, without an order or two responses: taken as verdicts on one answer each (of comparisons, "
    "write a and b)"
)
#: Column of items as they were named, where each pair of an item's models was made an item.
GIVEN_ITEM = "item (of several pairs)"
#: What one row of `Trials` holds.
TRIALS = Layout(
    value="outcome", keys=("item", "judge"), conditions=("order", "prompt", "temperature"), unfold=unfold_outcomes
)
#: The same where outcomes are labels of three options or more.
CHOICES = replace(TRIALS, labels=("outcome", "order"))


@dataclass(frozen=True, eq=False)
class Trials:
    """Repeated verdicts of judges on comparisons of two responses, a and b, or among more options.

    Parameters
    ----------
    frame : pandas.DataFrame
        Columns ``item, judge, trial`` (str), ``outcome`` (str: a, b or tie, the response that won, wherever
        it was shown), ``order`` (str: ab where response a was shown first, ba, or missing), ``prompt`` (str
        or missing), ``temperature`` (float, NaN where not recorded), ``category`` (str or missing), then any
        extra columns as they came. Of three options or more, ``outcome`` is a label or tie, ``order`` the labels
        as shown with commas between them, and ``slot`` (float, 1 for the first), ``options`` (all labels) and
        ``truth`` (the right one) are among the extra columns. Treat it as read-only.
    dropped : mapping of str to int
        Rows of the input that could not be used: reason to count.
    warnings : tuple of str
        What was assumed on the way in.
    source : tuple of mapping
        The files that it was read from: name, size, SHA-256, format, records and rows.
    options : mapping of str to tuple of str
        Labels of each item's options where some item has three or more; empty where all are a and b.
    single : bool
        Whether verdicts are of one answer each, which passes (a) or fails (b): nothing is shown first.
    """

    frame: pd.DataFrame
    dropped: Mapping[str, int] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    source: tuple[Mapping[str, Any], ...] = ()
    options: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    single: bool = False

    @classmethod
    def from_frame(cls, frame: pd.DataFrame, *, columns: Mapping[str, str] | None = None) -> Trials:
        """Validate a data frame.

        Parameters
        ----------
        frame : pandas.DataFrame
            One row a trial: ``item``, ``outcome``, and where known ``judge``, ``trial``, ``order``,
            ``prompt``, ``temperature``, ``category``; or one row a cell with the counts ``n_a``, ``n_b`` and,
            where ties were possible, ``n_tie`` in place of ``outcome``. An outcome may be the label of any option
            (``order`` then has the options as they were shown, ``"c,a,b"``, or ``options`` lists them, or ``slot``
            says where the chosen one stood), or the letter of a slot next to ``order``; ``truth`` is the right one.
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
        own. A prompt that no item has two of is the question, and no condition, if there are more than ten or one for
        each item (said in ``warnings``). Without a ``trial`` column, repeated rows are repeated trials, numbered in row
        order.

        Examples
        --------
        >>> frame = pd.DataFrame({"item": ["q1"] * 3, "trial": [0, 1, 2], "winner": ["A", "tie", None]})
        >>> trials = Trials.from_frame(frame, columns={"outcome": "winner"})
        >>> trials.frame["outcome"].tolist(), dict(trials.dropped)
        (['a', 'tie'], {'missing outcome': 1})
        >>> len(Trials.from_frame(pd.DataFrame({"item": ["q1", "q2"], "n_a": [30, 50], "n_b": [20, 0]})))
        100
        """
        require_frame(frame, "read_trials")
        names = (*TRIALS.columns, *COUNT_COLUMNS, *CHOICE_COLUMNS)
        table, moved = name_columns(frame, columns, names=names)
        chosen = choices_of(table)
        if chosen is None or not chosen.several:
            said = () if chosen is None else chosen.said
            found, dropped, warnings = validate_events(table if chosen is None else chosen.table, None, TRIALS)
            single = _of_one_answer(table)
            said = (*said, *[SINGLE] * single)
            return cls(found, dropped, (*moved, *said, *warnings), single=single)
        found, dropped, warnings = validate_events(chosen.table, None, CHOICES)
        by_item = found.drop_duplicates("item")
        options = {item: tuple(text.split(",")) for item, text in zip(by_item["item"], by_item["options"], strict=True)}
        return cls(found, dropped, (*moved, *chosen.said, *warnings), options=options)

    def __len__(self) -> int:
        return len(self.frame)


def _of_one_answer(table: pd.DataFrame) -> bool:
    """Whether outcomes are 0 and 1 and nothing says that two responses were compared."""
    names = {str(name) for name in table}
    if "outcome" not in names or any(f"{name[:-2]}_b" in names for name in names if name.endswith("_a")):
        return False
    codes, numbers = code_numbers(table["outcome"])
    known = "order" in names and bool(table["order"].notna().any())
    return not known and not (codes == UNKNOWN).any() and len(numbers) > 0 and set(numbers) <= {0.0, 1.0}


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
