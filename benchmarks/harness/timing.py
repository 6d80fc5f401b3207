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


def median_seconds(call: Callable[[], Any], *, repeats: int) -> tuple[float, float]:
    """Median wall-clock and processor seconds of ``repeats`` calls after one that is not counted.

    Processor seconds add up the cores and leave out the time that other programs had them.
    """
    call()
    found = []
    for _ in range(repeats):
        before = time.process_time()
        found.append((seconds(call), time.process_time() - before))
    return statistics.median(wall for wall, _ in found), statistics.median(cpu for _, cpu in found)


def ratio(times: Mapping[str, list[float]], above: str, below: str) -> float:
    """Median over rounds of one call's time over another's in the same round."""
    return statistics.median(a / b for a, b in zip(times[above], times[below], strict=True))
