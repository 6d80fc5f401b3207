"""From cells of battles to arrays of patterns: the last group-by, where the data lives, and what it gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayesjudge.counts.battles.cells import BattleCells
from bayesjudge.counts.battles.covariates import covariate_keys
from bayesjudge.counts.battles.patterns import HumanVotes, JudgedBattles, Swaps
from bayesjudge.counts.rows import IbisTable, fetch
from bayesjudge.errors import InputError, Problem

__all__ = ["human_votes", "judged_battles", "swaps_of"]

type Ints = NDArray[np.int64]
type Floats = NDArray[np.float64]


def human_votes(cells: BattleCells) -> HumanVotes:
    """People's votes by pattern.

    Raises
    ------
    InputError
        Two votes of one voter on a battle.
    """
    keys = ["first", "second", "group", "place", "length", *covariate_keys(cells.covariates)]
    sums = {name: cells.votes[name].sum() for name in ("a", "tie", "b", "torn")}
    frame = fetch(cells.votes.group_by(keys).aggregate(**sums)).sort_values(keys, ignore_index=True)
    if frame["torn"].sum():
        torn = fetch(cells.votes.filter(cells.votes.torn > 0).select("item").limit(5))
        items = ", ".join(sorted(map(str, torn["item"])))
        raise InputError([Problem(column="human", found=f"different votes on item {items}",
                                  allowed="one vote for each battle and voter",
                                  fix="Give each person's vote its own voter.")])  # fmt: skip
    return HumanVotes(**_common(frame, cells), votes=frame[["a", "tie", "b"]].to_numpy(np.int64))


def judged_battles(cells: BattleCells, rows: IbisTable, keep_battles: bool) -> JudgedBattles:
    """Judges' views by pattern, beside the votes on the same battles; ``rows`` are cells of one kind."""
    keys = ["judge", "first", "second", "group", "place", "label", "stated", "gap", "length", "a", "tie", "b"]
    keys += [*covariate_keys(cells.covariates), *(["item"] if keep_battles else [])]
    votes = cells.judged_votes.select("item", "first", "second", "a", "tie", "b")
    joined = rows.left_join(votes, ["item", "first", "second"]).select(*keys)
    joined = joined.mutate(**{side: joined[side].fill_null(0) for side in ("a", "tie", "b")})
    frame = fetch(joined.group_by(keys).aggregate(n=joined.count())).sort_values(keys, ignore_index=True)
    battle = _battles(frame) if keep_battles else np.full(len(frame), -1)
    return JudgedBattles(
        judge=_codes(frame["judge"], cells.judges), **_common(frame, cells),
        label=_outcome(frame["label"]), verdict=_outcome(frame["stated"]),
        gap=frame["gap"].to_numpy(np.float64), battle=battle,
        votes=frame[["a", "tie", "b"]].to_numpy(np.int64), n=frame["n"].to_numpy(np.int64),
    )  # fmt: skip


def _battles(frame: pd.DataFrame) -> Ints:
    codes, _ = pd.factorize(pd.MultiIndex.from_frame(frame[["item", "first", "second"]]))
    return codes.astype(np.int64)


def _outcome(side: pd.Series[float]) -> Floats:
    """+1, 0, −1 to 1, .5, 0."""
    return (side.to_numpy(np.float64) + 1) / 2


def _common(frame: pd.DataFrame, cells: BattleCells) -> dict[str, Any]:
    return {
        "first": frame["first"].to_numpy(np.int64), "second": frame["second"].to_numpy(np.int64),
        "group": _codes(frame["group"], cells.groups), "order": frame["place"].to_numpy(np.int64),
        "length": frame["length"].to_numpy(np.float64),
        "covariates": frame[list(covariate_keys(cells.covariates))].to_numpy(np.float64),
    }  # fmt: skip


def swaps_of(cells: BattleCells) -> Swaps:
    """What changes with the order, in battles that a judge saw in both."""
    battle = ["item", "first", "second", "judge"]
    sides = [
        cells.shown.filter(cells.shown.place == place).select(*battle, "label", "gap") for place in (1, -1)
    ]
    both = sides[0].inner_join(sides[1], battle, rname="{name}_second")
    both = both.mutate(change=(both.gap - both.gap_second) / 2)
    table = both.group_by(["judge", "label", "label_second"]).aggregate(
        n=both.count(), graded=both.change.count(), advantage=both.change.sum().fill_null(0.0),
        squares=(both.change * both.change).sum().fill_null(0.0),
    )  # fmt: skip
    # A sum of floats depends on the order of its terms, and the database gives groups in any.
    frame = fetch(table).sort_values(["judge", "label", "label_second"])
    judge = _codes(frame["judge"], cells.judges)
    # Label +1 (the first model) comes first in the table, then 0 and −1.
    place = [(1 - frame[name].to_numpy(np.float64)).astype(int) for name in ("label", "label_second")]
    labels = np.zeros((len(cells.judges), 3, 3), dtype=np.int64)
    np.add.at(labels, (judge, *place), frame["n"].to_numpy(np.int64))
    sums = {name: np.bincount(judge, weights=frame[name].to_numpy(np.float64), minlength=len(cells.judges))
            for name in ("graded", "advantage", "squares")}  # fmt: skip
    return Swaps(labels=labels, advantage=sums["advantage"], advantage_squares=sums["squares"],
                 n=sums["graded"].astype(np.int64))  # fmt: skip


def _codes(values: pd.Series[str], names: tuple[str, ...]) -> Ints:
    return pd.Index(names).get_indexer(pd.Index(values)).astype(np.int64)
