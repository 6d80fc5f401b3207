"""Times that can be compared: calls take turns, so that a busy moment of the machine hits them alike."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from typing import Any

__all__ = ["median_seconds", "ratio", "seconds", "take_turns"]


def seconds(call: Callable[[], Any]) -> float:
    """Wall-clock seconds of one call.

    Examples
    --------
    >>> seconds(lambda: None) < 1
    True
    """
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def take_turns(calls: Mapping[str, Callable[[], Any]], *, repeats: int) -> dict[str, list[float]]:
    """Seconds of every call in every round; the first round is not counted."""
    for call in calls.values():
        call()
    rounds = [{name: seconds(call) for name, call in calls.items()} for _ in range(repeats)]
    return {name: [one[name] for one in rounds] for name in calls}


def median_seconds(call: Callable[[], Any], *, repeats: int) -> float:
    """Median of ``repeats`` calls after one that is not counted."""
    return statistics.median(take_turns({"it": call}, repeats=repeats)["it"])


def ratio(times: Mapping[str, list[float]], above: str, below: str) -> float:
    """Median over rounds of one call's time over another's in the same round."""
    return statistics.median(a / b for a, b in zip(times[above], times[below], strict=True))
