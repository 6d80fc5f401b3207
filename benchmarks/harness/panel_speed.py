"""How long one panel takes on a warm process: 9 models, 9 judges, 400 items, 40 of them labelled."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bayesjudge.counts.panel import PanelVotes
from bayesjudge.inference import fit
from bayesjudge.models.judge_panel import JudgePanel
from harness.machine import machine
from harness.results import holds
from harness.timing import median_seconds

__all__ = ["quick_enough", "timed"]


def timed(votes: PanelVotes, *, engines: Sequence[str], repeats: int) -> Iterator[dict[str, Any]]:
    """Median warm seconds of preparing, of one fit by each engine, and of its table of estimates."""
    model = JudgePanel()
    calls: dict[str, Any] = {"prepare": lambda: model.prepare(votes)}
    for engine in engines:
        calls[f"fit, {engine}"] = lambda engine=engine: fit(model, votes, engine=engine)
    calls["estimates"] = fit(model, votes, engine=engines[0]).estimates
    for what, call in calls.items():
        wall, cpu = median_seconds(call, repeats=repeats)
        yield {"what": what, "seconds": wall, "cpu_seconds": cpu, "load": machine()["load"]}


def quick_enough(speed: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """A warm fit takes less than 3 s of a core, whatever else the machine does meanwhile."""
    busy = {row["what"]: row["cpu_seconds"] for row in speed}
    return [holds("processor seconds of fit, hmc", busy["fit, hmc"], most=3.0)]
