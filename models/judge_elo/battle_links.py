"""Which battles several raters saw: the outcomes of people and judges on one battle, counted together.

A stratum is a set of battles of one pair of models, shown in one way, that the same raters saw. Its battles
are counted by the joint outcome of all raters, people first; a rater who did not see them counts as outcome
0, with certainty. A battle with several votes keeps them apart: they stay with the votes that no judge stands
beside.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayesjudge.errors import UsageError
from bayesjudge.model import Data
from bayesjudge.models.common.battle_rows import OutcomeRows, pattern_places
from bayesjudge.models.common.davidson import OUTCOMES

if TYPE_CHECKING:
    from bayesjudge.counts.battles.counts import BattleCounts, JudgedBattles

__all__ = ["PEOPLE", "agreement", "link_battles", "margin", "outcomes_of"]

#: Name of the first rater.
PEOPLE = "people"
#: Joint outcomes times strata up to which the table is made: it is worked through at every step of a chain.
MOST_CELLS = 500_000
#: Outcome of a rater who did not see the battle.
_UNSEEN = -1

type Arrays = dict[str, Any]


def link_battles(counts: BattleCounts, votes: OutcomeRows, *, length: bool) -> tuple[Arrays, OutcomeRows]:
    """Joint outcomes of judged battles by stratum, and the votes that are left.

    Parameters
    ----------
    counts : BattleCounts
        With battles kept apart.
    votes : OutcomeRows
        All votes, by pair: `battle_rows.human_rows`.
    length : bool
        Whether the judges' patterns tell lengths apart.

    Returns
    -------
    arrays : dict
        ``linked_n`` (D, 3^(J+1)); ``linked_place`` (D, J+1), the pattern of votes or of verdicts behind each
        rater; ``linked_seen``, of the same shape; ``linked_first, linked_second, linked_total`` (D,).
    OutcomeRows
        Votes that belong to no judged battle, or stand beside other votes on the same one.

    Raises
    ------
    UsageError
        Battles were not kept apart, or the table would have more than `MOST_CELLS` cells.
    """
    if np.any(counts.judged.battle < 0):
        raise UsageError("battle_effect=True needs to know which verdicts are of one battle: give it the "
                         "table itself, or count_battles(..., keep_battles=True)")  # fmt: skip
    place, outcome = _by_battle(counts, votes, length=length)
    seen = place != _UNSEEN
    place, outcome, seen = (part[seen.any(axis=1)] for part in (place, outcome, seen))
    strata, row = np.unique(place, axis=0, return_inverse=True)
    cells = len(OUTCOMES) ** place.shape[1]
    if len(strata) * cells > MOST_CELLS:
        raise UsageError(
            f"battle_effect=True counts {len(strata)} kinds of battles by {cells} joint outcomes of people "
            f"and {place.shape[1] - 1} judges, more than {MOST_CELLS} cells: choose fewer judges (judges=), "
            "or leave length_effect out"
        )
    n = np.zeros((len(strata), cells), dtype=np.int64)
    np.add.at(n, (row.reshape(-1), np.where(seen, outcome, 0) @ _powers(place.shape[1])), 1)
    known = strata != _UNSEEN
    pairs = _pairs(counts, strata, votes, length=length)
    arrays = {
        "linked_n": n,
        "linked_place": np.where(known, strata, 0),
        "linked_seen": known.astype(np.int64),
        "linked_first": pairs[:, 0],
        "linked_second": pairs[:, 1],
        "linked_total": n.sum(axis=1),
    }
    return arrays, votes.less(margin_of(n, arrays, rater=0, patterns=len(votes)))


def _by_battle(
    counts: BattleCounts, votes: OutcomeRows, *, length: bool
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Pattern and outcome of each rater on each battle, (B, J + 1)."""
    judged = counts.judged
    shape = (int(judged.battle.max(initial=-1)) + 1, 1 + len(counts.judges))
    place, outcome = np.full(shape, _UNSEEN), np.zeros(shape, dtype=np.int64)
    start = 0
    for column, rows in enumerate(_of_judges(counts), 1):
        distinct, at = pattern_places(rows, order=True, length=length)
        place[rows.battle, column] = start + at
        outcome[rows.battle, column] = np.rint(2 * (1 - rows.label)).astype(np.int64)
        start += len(distinct)
    one = judged.keep(judged.votes.sum(axis=1) == 1)
    place[one.battle, 0] = _vote_patterns(one, votes)
    outcome[one.battle, 0] = one.votes.argmax(axis=1)
    return place, outcome


def _of_judges(counts: BattleCounts) -> list[JudgedBattles]:
    return [counts.judged.keep(counts.judged.judge == j) for j in range(len(counts.judges))]


def _vote_patterns(rows: JudgedBattles, votes: OutcomeRows) -> NDArray[np.int64]:
    """Where the pair of each battle stands among the patterns of votes."""
    of_pair = {
        pair: k for k, pair in enumerate(zip(votes.first.tolist(), votes.second.tolist(), strict=True))
    }
    pairs = zip(rows.first.tolist(), rows.second.tolist(), strict=True)
    return np.array([of_pair[pair] for pair in pairs], dtype=np.int64)


def _pairs(
    counts: BattleCounts, strata: NDArray[np.int64], votes: OutcomeRows, *, length: bool
) -> NDArray[np.int64]:
    """Models of each stratum, (D, 2): any rater who saw it knows them."""
    judged = [pattern_places(rows, order=True, length=length)[0][:, :2] for rows in _of_judges(counts)]
    of_verdicts = np.concatenate(judged).astype(np.int64)
    found = np.stack([votes.first, votes.second], axis=1)[np.maximum(strata[:, 0], 0)]
    for column in strata[:, 1:].T:
        found = np.where((column != _UNSEEN)[:, None], of_verdicts[np.maximum(column, 0)], found)
    return found


def _powers(raters: int) -> NDArray[np.int64]:
    return len(OUTCOMES) ** np.arange(raters - 1, -1, -1)


def outcomes_of(raters: int) -> NDArray[np.int64]:
    """Outcome of each rater in each joint outcome, (3^raters, raters).

    Examples
    --------
    >>> outcomes_of(2)[:4].tolist()
    [[0, 0], [0, 1], [0, 2], [1, 0]]
    """
    return np.arange(len(OUTCOMES) ** raters)[:, None] // _powers(raters) % len(OUTCOMES)


def margin_of(n: NDArray[Any], arrays: Any, *, rater: int, patterns: int) -> NDArray[Any]:
    """Outcomes of one rater in counts (..., D, cells), by its own patterns (..., patterns, 3)."""
    place, seen = (np.asarray(arrays[f"linked_{name}"])[:, rater] for name in ("place", "seen"))
    raters = np.shape(arrays["linked_place"])[1]
    own = np.eye(len(OUTCOMES), dtype=n.dtype)[outcomes_of(raters)[:, rater]]
    rows = (place[:, None] == np.arange(patterns)) & (seen[:, None] > 0)
    found: NDArray[Any] = np.swapaxes(np.swapaxes(n @ own, -1, -2) @ rows.astype(n.dtype), -1, -2)
    return found


def margin(n: NDArray[Any], data: Data, rater: int) -> NDArray[Any]:
    """Outcomes of one rater (0 people, then the judges) by the patterns of its kind."""
    kind = "verdict" if rater else "vote"
    return margin_of(n, data.arrays, rater=rater, patterns=len(data[f"{kind}_first"]))


def agreement(n: NDArray[Any], data: Data) -> dict[str, Any]:
    """Share of battles on which two raters say the same, for each two who saw some together.

    More of it than the models' strengths explain is what a battle effect is about.
    """
    raters: Sequence[str] = data.coords["rater"]
    said, seen = outcomes_of(len(raters)), np.asarray(data["linked_seen"]) > 0
    found = {}
    for a in range(len(raters)):
        for b in range(a + 1, len(raters)):
            both = seen[:, a] & seen[:, b]
            total = np.asarray(data["linked_total"])[both].sum()
            if total:
                alike = n[..., both, :][..., said[:, a] == said[:, b]].sum(axis=(-1, -2))
                found[f"{raters[a]} & {raters[b]}"] = alike / total
    return found
