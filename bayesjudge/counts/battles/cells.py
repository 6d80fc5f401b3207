"""Battles in one frame, as Ibis expressions: one row a vote, one a judge's view of a battle.

Which model is called a, and which answer was shown first, must not matter, so every battle is turned to the
frame of its first model (the one whose name comes first). Votes, orders and runs are collapsed here.
"""

# ruff: noqa: PD003, PD004 -- Ibis has no isna and notna.

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd

from bayesjudge.counts.battles.covariates import covariate_keys
from bayesjudge.counts.battles.rows import battle_events
from bayesjudge.counts.rows import IbisTable, cached, fetch
from bayesjudge.tables import Battles

if TYPE_CHECKING:
    import ibis.expr.types as ir

__all__ = ["BattleCells", "make_battle_cells"]

#: Gaps are told apart to this many digits: means of the same scores in another order are the same gap.
_DIGITS = 9
_BATTLE = ("item", "first", "second")


@dataclass(frozen=True, eq=False, kw_only=True)
class BattleCells:
    """Cells and the names behind their codes.

    Attributes
    ----------
    votes : ibis Table
        One row a battle that people voted on: ``item, first, second, group, place, length`` and the number of
        votes ``a, tie, b`` for the first model, neither and the second; ``torn`` where one voter has two.
    judged_votes : ibis Table
        Those of battles that a judge saw too.
    shown : ibis Table
        One row for each judge, battle and order: ``item, first, second, judge, place, group, gap, stated,
        label, length``.
    judged : ibis Table
        The same with both orders averaged.
    models, judges, groups : tuple of str
        Sorted names.
    covariates : tuple of str
        Names of the covariates, which are the columns ``x_0, x_1, ...`` of every table.
    dropped : mapping of str to int
        Rows that could not be used.
    warnings : tuple of str
        What was assumed.
    """

    votes: IbisTable
    judged_votes: IbisTable
    shown: IbisTable
    judged: IbisTable
    models: tuple[str, ...]
    judges: tuple[str, ...]
    groups: tuple[str, ...]
    covariates: tuple[str, ...]
    dropped: Mapping[str, int]
    warnings: tuple[str, ...]


def make_battle_cells(
    battles: Battles | ir.Table, *, group: str | None, lengths: bool, digits: int = _DIGITS,
    covariates: Sequence[str] = (),
) -> BattleCells:  # fmt: skip
    """Collapse rows to cells; see `bayesjudge.counts.battles.counts.count_battles` for what is refused."""
    x = covariate_keys(covariates)
    rows, dropped, warnings = battle_events(battles, group, lengths, covariates)
    models = _distinct(rows, "model_a", "model_b")
    turned = _turn(rows, models, x)
    shown = cached(_shown(turned, digits, x))
    judged = cached(_both_orders(shown, digits, x))
    # Most of a long log may have votes alone: only those beside a judge's view are kept battle by battle.
    beside = turned.view().semi_join(judged, list(_BATTLE))
    return BattleCells(
        votes=_votes(turned, x), judged_votes=cached(_votes(beside, ())), shown=shown, judged=judged,
        models=models, judges=_distinct(rows, "judge"), groups=_distinct(rows, "group"),
        covariates=tuple(covariates), dropped=dropped, warnings=warnings,
    )  # fmt: skip


def _turn(rows: IbisTable, models: tuple[str, ...], x: tuple[str, ...]) -> IbisTable:
    """Models as codes, everything in the frame of the one with the smaller code."""
    import ibis

    codes = ibis.memtable(pd.DataFrame({"name": list(models), "code": range(len(models))}))
    rows = rows.inner_join(codes.rename(model_a="name", code_a="code"), "model_a")
    rows = rows.inner_join(codes.rename(model_b="name", code_b="code"), "model_b")
    as_is = rows.code_a < rows.code_b
    place = rows.order.cases(("ab", 1), ("ba", -1), else_=0)
    return rows.select(
        "item", "judge", "voter", "group",
        first=as_is.ifelse(rows.code_a, rows.code_b), second=as_is.ifelse(rows.code_b, rows.code_a),
        place=as_is.ifelse(place, -place), gap=as_is.ifelse(rows.gap, -rows.gap),
        human=as_is.ifelse(rows.human, 1 - rows.human), verdict=as_is.ifelse(rows.verdict, 1 - rows.verdict),
        **{name: as_is.ifelse(rows[name], -rows[name]) for name in ("length", *x)},
    )  # fmt: skip


def _votes(turned: IbisTable, x: tuple[str, ...]) -> IbisTable:
    """One row a battle; what its voters saw first is known where the row is not also a judge's."""
    rows = turned.filter(turned.human.notnull())
    rows = rows.mutate(alone=rows.judge.isnull().ifelse(rows.place, 0))
    cast = rows.group_by([*_BATTLE, "voter"]).aggregate(
        human=rows.human.max(), torn=(rows.human.max() > rows.human.min()).cast("int64"),
        group=rows.group.max(), **_means(rows, x), place=rows.alone.max() + rows.alone.min(),
    )  # fmt: skip
    return cast.group_by(_BATTLE).aggregate(
        a=(cast.human == 1).sum(), tie=(cast.human == 0.5).sum(), b=(cast.human == 0).sum(),
        torn=cast.torn.sum(), group=cast.group.max(), place=cast.place.sum().sign(),
        **_means(cast, x),
    )  # fmt: skip


def _shown(turned: IbisTable, digits: int, x: tuple[str, ...]) -> IbisTable:
    """One row for each judge, battle and order: runs are averaged, since they are not independent."""
    rows = turned.filter(turned.verdict.notnull() | turned.gap.notnull())
    cells = rows.group_by([*_BATTLE, "judge", "place"]).aggregate(
        gap=rows.gap.mean().round(digits), stated=rows.verdict.mean(), group=rows.group.max(),
        **_means(rows, x),
    )  # fmt: skip
    return cells.mutate(label=cells.gap.sign().fill_null(_side(cells.stated)), stated=_side(cells.stated))


def _means(rows: IbisTable, x: tuple[str, ...]) -> dict[str, Any]:
    """What one battle's rows say of its answers, averaged."""
    return {name: rows[name].mean() for name in ("length", *x)}


def _side(mean: Any) -> Any:
    """+1 where the first model is preferred, −1 the second, 0 neither."""
    return (mean - 0.5).sign()


def _both_orders(shown: IbisTable, digits: int, x: tuple[str, ...]) -> IbisTable:
    """One row for each judge and battle; a preference that turns with the order is a tie."""
    both = shown.group_by([*_BATTLE, "judge"]).aggregate(
        gap=shown.gap.mean().round(digits), stated=shown.stated.sum(), group=shown.group.max(),
        **_means(shown, x), high=shown.label.max(), low=shown.label.min(),
        sides=shown.label.sum(), places=shown.place.sum(), n_places=shown.place.count(),
    )  # fmt: skip
    turns = both.high * both.low < 0
    label = turns.ifelse(0.0, both.gap.sign().fill_null(both.sides.sign().cast("float64")))
    return both.mutate(label=label, stated=both.stated.sign(),
                       place=(both.n_places == 1).ifelse(both.places, 0))  # fmt: skip


def _distinct(table: IbisTable, *columns: str) -> tuple[str, ...]:
    found: set[str] = set()
    for column in columns:
        found |= set(fetch(table.select(column).distinct()).iloc[:, 0].dropna().map(str))
    return tuple(sorted(found))
