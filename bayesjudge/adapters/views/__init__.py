"""Tables as plain arrays under plain names: what a function that is a model is called with.

An array is observed by the site of its name. What the observations are made of goes along, so that any function's
observations can be resampled.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bayesjudge.adapters.views.battles import BATTLES
from bayesjudge.adapters.views.cells import cells_by
from bayesjudge.adapters.views.pairs import PAIRS
from bayesjudge.adapters.views.trials import TRIALS
from bayesjudge.adapters.views.verdicts import QUALITY, VERDICTS
from bayesjudge.adapters.views.view import PATTERN, View
from bayesjudge.errors import UsageError, require_choice
from bayesjudge.model import Data

__all__ = ["QUALITY", "VIEWS", "View", "data", "shown_arrays", "view_of"]

#: By question.
VIEWS = {view.question: view for view in (VERDICTS, BATTLES, TRIALS, PAIRS)}


def data(table: Any, question: str | None = None, *, columns: Sequence[str] = ()) -> Data:
    """Arrays of a table by name.

    Parameters
    ----------
    table : Verdicts, Battles, Trials, Pairs, their counts, or a file
        Verdicts of one judge, battles with human votes, repeated comparisons, or pairs of which some are verified.
    question : {"accuracy", "elo", "reliability", "audit"}, optional
        What a file is read for.
    columns : sequence of str, optional
        Of verdicts: columns of the log, as in `cells`. A cell is the answers of one system with one value of each;
        ``log(length)`` is a column too.

    Returns
    -------
    Data
        Of verdicts, all counted once a run: ``labelled`` (system, label, verdict), ``unlabelled`` (system, verdict),
        ``n`` and ``positives`` (system). With columns, the same along the axis ``cell`` in place of ``system``,
        ``system_of`` (cell), and the columns by their names (cell): numbers in standard deviations from their mean,
        rounded to an eighth; of others codes of their levels, which are ``coords[column]``. Of battles, votes by
        pair: ``wins, ties, losses, n`` (pair), and the codes ``first, second`` (pair) of its systems in order; the
        same of each judge's hard labels, ``judged_wins, judged_ties, judged_losses, judged_n`` (judge, judged), with
        ``judged_first, judged_second`` (judged). Of comparisons, over orders and conditions: ``outcomes`` (item,
        judge, outcome) and ``n`` (item, judge), at most ``facts["most_trials"]``. Of pairs: ``agree`` (row) of those
        verified, their ``features`` (row, feature), ``category`` codes and ``vote`` (row), 0 where verdicts of two
        orders disagree and 1 elsewhere; and ``features_other, category_other, vote_other`` of the others (other).

    Raises
    ------
    UsageError
        Another table; verdicts of several judges; battles without votes or verdicts; choices among more than two
        options.

    Examples
    --------
    >>> from bayesjudge.datasets import simulate_verdicts
    >>> view = data(simulate_verdicts(seed=1, labelled=50, unlabelled=70).verdicts)
    >>> view.coords["system"], view["labelled"].shape, view["n"].tolist()
    (('a', 'b'), (2, 2, 2), [120, 120])
    """
    if question is not None:
        require_choice("question", question, tuple(VIEWS))
    if columns and question not in {None, VERDICTS.question}:
        raise UsageError(f"columns are of verdicts, which {VERDICTS.question} is about, not {question}")
    views = {**VIEWS, VERDICTS.question: cells_by(columns)} if columns else VIEWS
    for view in views.values():
        if isinstance(table, view.kinds):
            if question not in {None, view.question}:
                raise UsageError(f"{type(table).__name__} is a table of {view.question}, not of {question}")
            if columns and view.question != VERDICTS.question:
                raise UsageError(f"columns are of verdicts, and {type(table).__name__} is a table of {view.question}")
            return view.made(table)
    if question is not None:
        view = views[question]
        return view.made(view.read(table))
    raise UsageError(
        "a function is a model of verdicts, battles, comparisons or pairs, not of "
        f"{type(table).__name__}: give an object with the methods of bayesjudge.model.Model, as "
        "examples/own_class.py does, or say of a file which question it is for, as in bayesjudge.data(file, 'elo')"
    )


def view_of(known: Data) -> View:
    """The view that data were made by."""
    return next(view for view in (*VIEWS.values(), cells_by(())) if view.arrays.items() <= known.dims.items())


def shown_arrays(known: Data) -> str:
    """Names of the arrays that a function reads."""
    return ", ".join(name for name in known.arrays if not name.startswith(PATTERN))
