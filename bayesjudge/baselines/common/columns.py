"""From points and limits to what is reported: bounds where nothing is known, clipping, reasons in notes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesjudge.baselines.common.bootstrap import percentile
from bayesjudge.baselines.common.intervals import require_options
from bayesjudge.baselines.common.moments import Array, Codes, Evidence
from bayesjudge.counts import ItemPatterns, VerdictCounts
from bayesjudge.errors import UsageError


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
    """What the report must know about C units next to their estimates.

    n: Items behind each.
    reasons, cautions: Why each is undefined (empty: it is not), and warnings.
    bounds: The estimand's range.
    bounded: Whether points and limits are clipped to it.
    no_error: Note where a limit is unknown although the estimate is defined.
    exact: Where an interval without width is knowledge, not want of variation.
    """

    n: Array
    reasons: list[str]
    cautions: list[str]
    bounds: tuple[float, float]
    bounded: bool
    no_error: str
    exact: NDArray[np.bool_] | None = None

    def of_pairs(self, *, n: Array, cautions: list[str]) -> Context:
        """Of the differences between all pairs of these units, which are shares."""
        first, second = pairs(len(self.reasons))
        exact = None if self.exact is None else self.exact[first] & self.exact[second]
        reasons = pair_reasons(self.reasons)
        return replace(self, n=n, reasons=reasons, cautions=cautions, bounds=(-1.0, 1.0), exact=exact)


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
        (flat & ~undefined, ["no variation observed: interval without width"] * len(point)),
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

    ``variance`` (C,) is the delta method's: NaN where a single unit of a kind makes every replicate equal,
    and a percentile interval would pass off ignorance as certainty.
    """
    found = [(*percentile(block, prob=prob), np.full(len(block), block.shape[1])) for block in blocks]
    if not found:
        return finished(*np.zeros((3, 0)), context=context)
    point, lower, upper, lost, size = (np.concatenate(parts) for parts in zip(*found, strict=True))
    defined = np.array([not reason for reason in context.reasons], dtype=bool)
    counted = [
        f"{lost[c]} of {size[c]} replicates undefined" if lost[c] and defined[c] else "" for c in range(len(point))
    ]
    cautions = [_joined(*both) for both in zip(context.cautions, counted, strict=True)]
    known, (low, high) = defined & ~np.isnan(variance), context.bounds
    lower = np.where(known, np.where(np.isfinite(lower), lower, low), np.nan)
    upper = np.where(known, np.where(np.isfinite(upper), upper, high), np.nan)
    counting = replace(context, cautions=cautions, exact=None)
    return finished(point, lower, upper, context=counting)


#: The minus sign of differences (U+2212).
MINUS = "−"
#: Differences a bootstrap handles at once (times replicates times 8 bytes: 40 MB for 10,000).
_PAIRS_AT_ONCE = 500


def pairs(models: int) -> tuple[Codes, Codes]:
    """Indices of the first and the second model of every pair, first before second."""
    return np.triu_indices(models, k=1)


def pair_names(models: tuple[str, ...]) -> list[str]:
    """``a − b`` for every pair."""
    first, second = pairs(len(models))
    return [f"{models[a]} {MINUS} {models[b]}" for a, b in zip(first, second, strict=True)]


def pair_reasons(reasons: list[str]) -> list[str]:
    """Why a difference is undefined: the first of its models' reasons."""
    first, second = pairs(len(reasons))
    return [reasons[a] or reasons[b] for a, b in zip(first, second, strict=True)]


def pair_items(items: Array, evidence: Evidence) -> Array:
    """Number of items that either model of a pair uses, from the marks (R, M)."""
    used = items > 0
    count, both = evidence.n @ used, (used * evidence.n[:, None]).T @ used
    first, second = pairs(used.shape[1])
    return np.asarray(count[first] + count[second] - both[first, second])


def difference_blocks(values: Array) -> Iterator[Array]:
    """Differences (C, B) of every pair of rows of ``values`` (M, B), a block of pairs at a time."""
    first, second = pairs(len(values))
    for start in range(0, len(first), _PAIRS_AT_ONCE):
        block = slice(start, start + _PAIRS_AT_ONCE)
        yield values[first[block]] - values[second[block]]


def slices(
    counts: VerdictCounts, judge: str, *, prob: float, bootstrap: int, reference: str | None = None
) -> Iterator[tuple[str, Evidence]]:
    """Check the options, then yield the evidence over all items (named ``""``) and, where there are groups, each's."""
    _check(counts, judge, prob, bootstrap, reference)
    patterns, clustered = counts.items[judge], counts.clusters > 0
    chosen = None if reference is None else counts.models.index(reference)
    overall = Evidence.from_patterns(patterns, clustered=clustered, reference=chosen)
    yield "", overall
    if len(counts.groups) < 2:
        return
    for code, group in enumerate(counts.groups):
        within = _within(patterns, code)
        yield group, Evidence.from_patterns(within, clustered=clustered, reference=overall.reference)


def _check(counts: VerdictCounts, judge: str, prob: float, bootstrap: int, reference: str | None) -> None:
    if judge not in counts.items:
        raise UsageError(f"no judge {judge!r}; the table has {list(counts.judges)}")
    if reference is not None and reference not in counts.models:
        raise UsageError(f"no model {reference!r} to calibrate on; the table has {list(counts.models)}")
    require_options(prob, bootstrap)


def _within(patterns: ItemPatterns, code: int) -> ItemPatterns:
    keep = patterns.group == code
    given = {entry.name: getattr(patterns, entry.name) for entry in fields(patterns)}
    return replace(patterns, **{name: values[keep] for name, values in given.items() if values is not None})


def rows(column: Column, units: list[str], **fixed: Any) -> list[dict[str, Any]]:
    """One mapping a unit, as `Estimates.from_rows` takes them."""
    return [
        {
            "unit": unit,
            "point": column.point[c],
            "lower": column.lower[c],
            "upper": column.upper[c],
            "n": column.n[c],
            "note": column.notes[c],
            "judge": "",
            **fixed,
        }
        for c, unit in enumerate(units)
    ]
