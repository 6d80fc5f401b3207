"""One judge's evidence, overall and within each group, with its options checked."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from bayesjudge.baselines.common.columns import Column
from bayesjudge.baselines.common.moments import Evidence
from bayesjudge.counts import ItemPatterns, VerdictCounts
from bayesjudge.errors import UsageError

__all__ = ["Slice", "rows", "slices"]


@dataclass(frozen=True, eq=False, kw_only=True)
class Slice:
    """All items (``group`` empty) or one group's."""

    group: str
    evidence: Evidence


def slices(
    counts: VerdictCounts, judge: str, *, prob: float, bootstrap: int, reference: str | None = None
) -> Iterator[Slice]:
    """Check the options, then yield the overall evidence and, where there are groups, each group's.

    Raises
    ------
    UsageError
        An unknown judge or reference model, a probability outside (0, 1), negative replicates.
    """
    _check(counts, judge, prob, bootstrap, reference)
    patterns, clustered = counts.items[judge], counts.clusters > 0
    chosen = None if reference is None else counts.models.index(reference)
    overall = Evidence.from_patterns(patterns, clustered=clustered, reference=chosen)
    yield Slice(group="", evidence=overall)
    if len(counts.groups) < 2:
        return
    for code, group in enumerate(counts.groups):
        part = Evidence.from_patterns(
            _within(patterns, code), clustered=clustered, reference=overall.reference
        )
        yield Slice(group=group, evidence=part)


def _check(counts: VerdictCounts, judge: str, prob: float, bootstrap: int, reference: str | None) -> None:
    if judge not in counts.items:
        raise UsageError(f"no judge {judge!r}; the table has {list(counts.judges)}")
    if reference is not None and reference not in counts.models:
        raise UsageError(f"no model {reference!r} to calibrate on; the table has {list(counts.models)}")
    if not 0.0 < prob < 1.0:
        raise UsageError(f"prob must lie between 0 and 1, for instance 0.95, not {prob!r}")
    if bootstrap < 0:
        raise UsageError(f"bootstrap must be 0 (none) or a number of replicates, not {bootstrap!r}")


def _within(patterns: ItemPatterns, code: int) -> ItemPatterns:
    keep = patterns.group == code
    names = ("group", "cluster", "label", "runs", "positives", "n")
    return replace(patterns, **{name: getattr(patterns, name)[keep] for name in names})


def rows(column: Column, units: list[str], **fixed: Any) -> list[dict[str, Any]]:
    """One mapping a unit, as `Estimates.from_rows` takes them."""
    return [
        {"unit": unit, "point": column.point[c], "lower": column.lower[c], "upper": column.upper[c],
         "n": column.n[c], "note": column.notes[c], "judge": "", **fixed}
        for c, unit in enumerate(units)
    ]  # fmt: skip
