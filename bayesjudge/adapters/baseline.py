"""Frequentist methods of other shapes than `Baseline`: a function of arrays, or of a question's counts."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesjudge.adapters.files import from_file, names_file, raised
from bayesjudge.baseline import Baseline, QuestionName
from bayesjudge.counts import VerdictCounts
from bayesjudge.errors import UsageError
from bayesjudge.estimates import Estimates

type Array = NDArray[np.float64]

#: Parameters of a function of arrays, by which it is known.
ARRAYS = ("y", "v", "v_unlabelled")
#: What a function of counts may take besides them.
_OFFERED = ("prob", "seed", "bootstrap", "options")


def as_baseline(
    given: Any, name: str | None = None, *, question: QuestionName = "accuracy", differences: bool = False
) -> Baseline:
    """A baseline, or a function made into one.

    Parameters
    ----------
    given : Baseline, callable or str
        ``f(y, v, v_unlabelled, prob)``, known by the names of its parameters, gives ``(point, lower, upper)`` of one
        system's accuracy from its labels, the judge's verdicts on the labelled answers, and its verdicts on the others.
        Any other function has a question's counts and those of ``prob, seed, bootstrap, options`` that it takes; it
        gives `Estimates`, or their rows. ``file.py:name`` is a function of a Python file, which is run.
    name : str, optional
        The method's name; by default that of the function.
    question : {"accuracy", "elo", "reliability", "audit"}
        Which question it answers.
    differences : bool
        Whether ``f`` may also be given the differences of two systems, item by item, for the rows of differences.

    Raises
    ------
    UsageError
        Neither; a file without it.

    Examples
    --------
    >>> def labelled_mean(y, v, v_unlabelled, prob):
    ...     half = 2 * y.std() / len(y) ** 0.5
    ...     return y.mean(), y.mean() - half, y.mean() + half
    >>> as_baseline(labelled_mean).name
    'labelled_mean'
    """
    given = from_file(given, what="baseline")
    if isinstance(given, Baseline):
        return given
    if not callable(given):
        raise UsageError(
            f"{given!r} is no baseline: give its name, a function of counts, or one of (y, v, v_unlabelled, prob) "
            "(examples/own_baseline.py)"
        )
    label: str = name or str(getattr(given, "__name__", type(given).__name__))
    taken = _parameters(given)
    if tuple(taken[: len(ARRAYS)]) != ARRAYS:
        return Baseline(name=label, question=question, estimates=_of_counts(given, label, taken))
    if question != "accuracy":
        raise UsageError(f"{label} is a function of labels and verdicts, which answers accuracy, not {question}")

    def estimates(counts: VerdictCounts, *, options: Any) -> Estimates:
        return Estimates.from_rows(_rows(given, label, counts, prob=options.prob, differences=differences))

    return Baseline(name=label, question="accuracy", estimates=estimates)


def taken_as_baseline(given: Any, question: QuestionName) -> Any:
    """What a question was given: a name as it is, a function as a baseline."""
    return given if isinstance(given, str) and not names_file(given) else as_baseline(given, question=question)


def _parameters(function: Callable[..., Any]) -> list[str]:
    try:
        return list(inspect.signature(function).parameters)
    except (TypeError, ValueError):  # written in C
        return []


def _of_counts(function: Callable[..., Any], label: str, taken: list[str]) -> Callable[..., Estimates]:
    def estimates(counts: Any, *, options: Any) -> Estimates:
        offered = {name: options if name == "options" else getattr(options, name) for name in _OFFERED}
        more = {name: value for name, value in offered.items() if name in taken[1:]}
        found = _called(function, label, counts, **more)
        if isinstance(found, Estimates):
            return found
        try:
            return Estimates.from_rows({"method": label, "prob": options.prob, **row} for row in found)
        except (TypeError, ValueError) as error:
            raise UsageError(f"baseline {label!r} must give Estimates, or rows of them as mappings: {error}") from error

    return estimates


def _called(function: Callable[..., Any], name: str, *arguments: Any, **more: Any) -> Any:
    try:
        return function(*arguments, **more)
    except UsageError:
        raise
    except Exception as error:
        raise UsageError(f"baseline {name!r}, called with its counts: {raised(error)}") from error


def _rows(
    function: Callable[..., Any], label: str, counts: VerdictCounts, *, prob: float, differences: bool
) -> Iterator[Mapping[str, Any]]:
    if counts.weighted:
        raise UsageError(f"baseline {label!r} takes labels as drawn evenly, and the table has label_probability")
    items = counts.items[counts.judges[0]]
    judged = items.runs > 0
    verdict = np.where(judged, items.positives / np.maximum(items.runs, 1), np.nan)
    y, v = (
        np.repeat(array, items.n, axis=0)
        for array in (np.where(judged & (items.label >= 0), items.label, np.nan), verdict)
    )
    columns = {("accuracy", name): (y[:, k], v[:, k]) for k, name in enumerate(counts.models)}
    if differences:
        pairs = itertools.combinations(enumerate(counts.models), 2)
        columns |= {("difference", f"{a} − {b}"): (y[:, i] - y[:, j], v[:, i] - v[:, j]) for (i, a), (j, b) in pairs}
    for (estimand, unit), (labels, verdicts) in columns.items():
        yield {
            "estimand": estimand,
            "unit": unit,
            "method": label,
            "prob": prob,
            **_row(function, label, labels, verdicts, prob),
        }


def _row(function: Callable[..., Any], name: str, labels: Array, verdicts: Array, prob: float) -> dict[str, Any]:
    known, judged = np.isfinite(labels), np.isfinite(verdicts)
    if not known.any():
        return {"n": float(judged.sum()), "note": "no label"}
    given = _called(function, name, labels[known], verdicts[known], verdicts[judged & ~known], prob)
    try:
        found = np.asarray(given, dtype=float).ravel()
    except (TypeError, ValueError) as error:
        raise UsageError(f"baseline {name!r} must give (point, lower, upper) as numbers, not {given!r}") from error
    if found.size != 3:
        raise UsageError(f"a function of labels and verdicts must give (point, lower, upper), not {found.size} numbers")
    row = {"point": found[0], "lower": found[1], "upper": found[2], "n": float(judged.sum())}
    if not np.isnan(found).any():
        return row
    if np.isfinite(found[0]):
        raise UsageError(f"baseline {name!r} gives the point {found[0]:g} with limits {found[1]:g} and {found[2]:g}")
    return {**row, "note": "not defined"}
