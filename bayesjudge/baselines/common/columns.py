"""From points and limits to what is reported: bounds where nothing is known, clipping, reasons in notes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from bayesjudge.baselines.common.bootstrap import percentile
from bayesjudge.baselines.common.moments import Array, Evidence

__all__ = ["Column", "Context", "finished", "no_error", "noted", "percentiles"]


@dataclass(frozen=True, eq=False, kw_only=True)
class Column:
    """Estimates of one method for C units: arrays (C,), one note each; every limit is finite."""

    point: Array
    lower: Array
    upper: Array
    n: Array
    notes: list[str]


@dataclass(frozen=True, eq=False, kw_only=True)
class Context:
    """What the report must know about C units beside their estimates.

    Attributes
    ----------
    n : array (C,)
        Items behind each.
    reasons, cautions : list of str
        Why each is undefined (empty: it is not), and warnings.
    bounds : (float, float)
        The estimand's range.
    bounded : bool
        Whether points and limits are clipped to it.
    no_error : str
        Note where a limit is unknown although the estimate is defined.
    exact : bool array (C,), optional
        Where an interval without width is knowledge, not want of variation.
    """

    n: Array
    reasons: list[str]
    cautions: list[str]
    bounds: tuple[float, float]
    bounded: bool
    no_error: str
    exact: NDArray[np.bool_] | None = None


def no_error(evidence: Evidence) -> str:
    """Why there is no standard error."""
    return f"no standard error: a single {'cluster' if evidence.clusters else 'item'} of a kind"


def finished(point: Array, lower: Array, upper: Array, *, context: Context) -> Column:
    """Put the bounds where nothing is known, clip where asked, and say so."""
    low, high = context.bounds
    undefined = np.array([bool(reason) for reason in context.reasons], dtype=bool)
    point = np.where(undefined, np.nan, point)
    unknown = np.isnan(lower) | np.isnan(upper)
    flat = ~unknown & (upper <= lower) & (True if context.exact is None else ~context.exact)
    states = [
        (context.bounded & ((point < low) | (point > high)), [f"unclipped {value:.4g}" for value in point]),
        (unknown & ~undefined, [context.no_error] * len(point)),
        (flat & ~undefined, ["no variation seen: interval without width"] * len(point)),
    ]
    notes = [
        _joined(context.reasons[c], context.cautions[c], *(text[c] for applies, text in states if applies[c]))
        for c in range(len(point))
    ]
    lower, upper = np.where(unknown, low, lower), np.where(unknown, high, upper)
    if context.bounded:
        point, lower, upper = (np.clip(value, low, high) for value in (point, lower, upper))
    return Column(point=point, lower=lower, upper=upper, n=context.n, notes=notes)


def noted(column: Column, notes: Sequence[str]) -> Column:
    """Copy with one more note for each unit."""
    return replace(column, notes=[_joined(*both) for both in zip(column.notes, notes, strict=True)])


def _joined(*parts: str) -> str:
    return "; ".join(part for part in parts if part)


def percentiles(blocks: Iterable[Array], variance: Array, *, prob: float, context: Context) -> Column:
    """Percentile intervals of blocks (C, B) of replicates, undefined ones counted in the notes.

    ``variance`` (C,) is the delta method's: NaN where a single unit of a kind makes every replicate alike,
    and a percentile interval would pass off ignorance as certainty.
    """
    found = [(*percentile(block, prob=prob), np.full(len(block), block.shape[1])) for block in blocks]
    if not found:
        return finished(*np.zeros((3, 0)), context=context)
    point, lower, upper, lost, size = (np.concatenate(parts) for parts in zip(*found, strict=True))
    defined = np.array([not reason for reason in context.reasons], dtype=bool)
    counted = [f"{lost[c]} of {size[c]} replicates undefined" if lost[c] and defined[c] else ""
               for c in range(len(point))]  # fmt: skip
    cautions = [_joined(*both) for both in zip(context.cautions, counted, strict=True)]
    known, (low, high) = defined & ~np.isnan(variance), context.bounds
    lower = np.where(known, np.where(np.isfinite(lower), lower, low), np.nan)
    upper = np.where(known, np.where(np.isfinite(upper), upper, high), np.nan)
    counting = Context(n=context.n, reasons=context.reasons, cautions=cautions, bounds=context.bounds,
                       bounded=context.bounded, no_error=context.no_error)  # fmt: skip
    return finished(point, lower, upper, context=counting)
