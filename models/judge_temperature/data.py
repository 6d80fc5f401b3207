"""From counts of battles to what `judge_temperature` sees: votes with and against each gap."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from bayesjudge.errors import UsageError
from bayesjudge.model import Data
from bayesjudge.models.judge_temperature.units import guessed

if TYPE_CHECKING:
    from bayesjudge.counts.battles.counts import BattleCounts

__all__ = ["prepare"]


def prepare(counts: BattleCounts, *, by_group: bool) -> Data:
    """Distinct gaps of each judge (and group) with their votes, and all gaps by pair for soft targets.

    A battle is turned so that its gap is positive: outcome 0 is a vote with the judge, outcome 1 one
    against. A gap of 0 says nothing about β and stays out of the votes.
    """
    rows = counts.judged.keep(np.isfinite(counts.judged.gap))
    if not len(rows):
        raise UsageError("no judge gave scores, and a temperature is about score gaps; use bradley_terry or "
                         "judge_elo for verdicts")  # fmt: skip
    scoring = np.unique(rows.judge)
    judge = np.searchsorted(scoring, rows.judge)
    group = rows.group if by_group else np.zeros_like(rows.group)
    groups = counts.groups if by_group else ("all",)
    scale = np.array([np.sqrt(np.average(rows.gap[judge == j] ** 2, weights=rows.n[judge == j]))
                      for j in range(len(scoring))])  # fmt: skip
    names = tuple(counts.judges[j] for j in scoring)
    if not np.all(scale > 0):
        raise UsageError(f"judge {names[int(np.argmin(scale))]!r} scored every battle even; leave it out")
    n = np.stack([rows.votes[:, 0] * rows.n, rows.votes[:, 2] * rows.n], axis=1)
    votes = _votes(judge, group, rows.gap / scale[judge], n)
    guess = _guess(votes, judges=len(names), groups=len(groups))
    arrays = votes | guess | {
        "scale": scale, "soft_first": rows.first, "soft_second": rows.second, "soft_judge": judge,
        "soft_group": group, "soft_gap": rows.gap, "soft_n": rows.n,
    }  # fmt: skip
    dims = {name: ("pattern",) if name.startswith("soft") else ("outcome",) for name in arrays}
    return Data(
        arrays=arrays,
        dims={**dims, "total": ("strata",), "scale": ("judge",), **dict.fromkeys(guess, ("judge", "group"))},
        coords={"judge": names, "group": groups, "model": counts.models,
                "outcome": tuple(range(len(votes["n"]))), "strata": tuple(range(len(votes["total"]))),
                "pattern": tuple(range(len(rows)))},
        observed="n", weights="n", ragged=("outcome", "strata", "pattern"), facts={},
        units=_units(counts, rows, judge, names),
    )  # fmt: skip


def _votes(judge: Any, group: Any, gap: Any, n: Any) -> dict[str, Any]:
    """Outcomes (2 a stratum): a vote with the judge, one against; strata are distinct |gaps|."""
    n = np.where(gap[:, None] < 0, n[:, ::-1], n)
    voted = (n.sum(axis=1) > 0) & (gap != 0)
    if not voted.any():
        raise UsageError("no human vote that is not a tie stands beside a score gap; β is learned from those")
    keys = np.column_stack([judge, group, np.abs(gap)])[voted]
    strata, place = np.unique(keys, axis=0, return_inverse=True)
    counted = np.zeros((len(strata), 2), dtype=np.int64)
    np.add.at(counted, place.reshape(-1), n[voted])
    code = np.repeat(np.arange(len(strata)), 2)
    return {
        "judge": strata[code, 0].astype(np.int64), "group": strata[code, 1].astype(np.int64),
        "signed_gap": strata[code, 2] * np.tile([1.0, -1.0], len(strata)), "n": counted.reshape(-1),
        "stratum": code, "total": counted.sum(axis=1),
    }  # fmt: skip


def _guess(votes: dict[str, Any], *, judges: int, groups: int) -> dict[str, Any]:
    """What the votes say of every judge's log β in every group, (judges, groups)."""
    gap, cell = votes["signed_gap"][::2], (votes["judge"] * groups + votes["group"])[::2]
    found = guessed(gap, votes["n"].reshape(-1, 2), cell, judges * groups)
    return {"information": found.information.reshape(judges, groups),
            "pull": found.pull.reshape(judges, groups)}  # fmt: skip


def _units(counts: BattleCounts, rows: Any, judge: Any, names: tuple[str, ...]) -> dict[str, int]:
    """Votes without ties beside each judge's gaps, and battles of each model under each judge."""
    voted = (rows.votes[:, 0] + rows.votes[:, 2]) * rows.n
    found = {name: int(voted[judge == j].sum()) for j, name in enumerate(names)}
    for j, name in enumerate(names):
        for m, model in enumerate(counts.models):
            mine = (judge == j) & ((rows.first == m) | (rows.second == m))
            found[f"{name} | {model}"] = int(rows.n[mine].sum())
    return found
