"""One row a vote or verdict, as an Ibis expression: of a validated table, or of rows that live elsewhere."""

# ruff: noqa: PD004 -- Ibis has no notna.

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd

from bayesjudge.counts.battles.covariates import covariate_keys, frame_differences, table_differences
from bayesjudge.counts.rows import IbisTable, fetch, texts
from bayesjudge.errors import InputError, Problem, UsageError
from bayesjudge.tables import Battles
from bayesjudge.tables.columns import require_columns

if TYPE_CHECKING:
    import ibis.expr.types as ir

__all__ = ["battle_events"]

#: Name of the one group where no column splits the battles, and of battles whose group is missing.
ALL, NO_GROUP = "all", "(missing)"


def battle_events(
    battles: Battles | ir.Table, group: str | None, lengths: bool, covariates: Sequence[str]
) -> tuple[IbisTable, dict[str, int], tuple[str, ...]]:
    """Usable rows in the columns that battles are made of, how many were dropped by reason, and warnings.

    Raises
    ------
    InputError
        Columns that are not there, values that are no outcomes.
    UsageError
        A group column that is not there.
    """
    columns = battles.frame.columns if isinstance(battles, Battles) else battles.columns
    if group is not None and group not in columns:
        raise UsageError(f"no column {group!r} to group by; the table has {list(columns)}")
    if isinstance(battles, Battles):
        return _from_battles(battles, group, lengths, covariates), dict(battles.dropped), battles.warnings
    return *_from_ibis(battles, group, lengths, covariates), ()


def _from_battles(battles: Battles, group: str | None, lengths: bool, covariates: Sequence[str]) -> IbisTable:
    import ibis
    import pyarrow as pa

    frame = battles.frame
    rows = frame[["model_a", "model_b", "judge", "order", "voter", "human", "verdict", "gap"]]
    has_length = lengths and {"length_a", "length_b"} <= set(frame.columns)
    rows = rows.assign(
        # Codes are a tenth of the size of names and compare faster.
        item=pd.factorize(frame["item"])[0],
        length=frame["length_a"] - frame["length_b"] if has_length else float("nan"),
        group=texts(frame[group]).fillna(NO_GROUP) if group else ALL,
        **frame_differences(frame, covariates),
    )
    table: IbisTable = ibis.memtable(pa.Table.from_pandas(rows, preserve_index=False))
    known = {name: table[name].cast("float64") for name in ("length", *covariate_keys(covariates))}
    return table.mutate(**known, judge=table.judge.cast("string"),
                        voter=table.voter.cast("string"), order=table.order.cast("string"))  # fmt: skip


def _from_ibis(
    table: IbisTable, group: str | None, lengths: bool, covariates: Sequence[str]
) -> tuple[IbisTable, dict[str, int]]:
    import ibis

    there = set(table.columns)
    problems = require_columns(table.columns, ("item", "model_a", "model_b"))
    if not there & {"human", "verdict", "gap", "score_gap"}:
        problems += require_columns(table.columns, ("human",))
    if problems:
        raise InputError(problems)
    text, number = ibis.null().cast("string"), ibis.null().cast("float64")
    gap = next((name for name in ("gap", "score_gap") if name in there), None)
    columns = {name: table[name].cast("string") for name in ("model_a", "model_b")}
    # Whole numbers as items take a quarter of the memory of their text.
    columns["item"] = table.item if table.item.type().is_integer() else table.item.cast("string")
    columns |= {
        name: table[name].cast("float64") if name in there else number for name in ("human", "verdict")
    }
    columns |= {name: table[name].cast("string") if name in there else text for name in ("order", "voter")}
    columns["gap"] = table[gap].cast("float64") if gap else number
    columns["judge"] = table["judge"].cast("string") if "judge" in there else ibis.literal("judge")
    has_length = lengths and {"length_a", "length_b"} <= there
    columns["length"] = (table.length_a - table.length_b).cast("float64") if has_length else number
    columns["group"] = table[group].cast("string").fill_null(NO_GROUP) if group else ibis.literal(ALL)
    rows = table.select(**columns, **table_differences(table, covariates))
    _require_known(rows)
    judged: Any = rows.verdict.notnull() | rows.gap.notnull()
    rows = rows.mutate(judge=judged.ifelse(rows.judge, text), voter=rows.voter.fill_null("human"))
    named = rows.drop_null(["item", "model_a", "model_b"])
    usable = named.filter(named.model_a != named.model_b, named.judge.notnull() | named.human.notnull())
    return usable, _count_dropped(rows, named, usable)


def _count_dropped(rows: IbisTable, named: IbisTable, usable: IbisTable) -> dict[str, int]:
    total, with_names = _size(rows), _size(named)
    itself = _size(named.filter(named.model_a == named.model_b))
    counts = {"missing item or model": total - with_names, "a model against itself": itself,
              "no human vote, verdict or score": with_names - itself - _size(usable)}  # fmt: skip
    return {reason: n for reason, n in counts.items() if n}


def _require_known(rows: IbisTable) -> None:
    odd = {name: (~rows[name].isin([0.0, 0.5, 1.0])).sum() for name in ("human", "verdict")}
    odd["gap"] = rows.gap.isinf().sum() + rows.gap.isnan().sum()
    odd["order"] = (~rows.order.isin(["ab", "ba"])).sum()
    allowed = {"human": "1, 0.5 and 0", "verdict": "1, 0.5 and 0", "gap": "finite numbers or null",
               "order": "'ab' and 'ba'"}  # fmt: skip
    found = fetch(rows.aggregate(**odd)).fillna(0).iloc[0]
    bad = [Problem(column=name, found=f"{int(found[name])} other values", allowed=allowed[name],
                   fix="Recode it where the data lives, or read the table with read_battles.")
           for name in allowed if found[name]]  # fmt: skip
    if bad:
        raise InputError(bad)


def _size(table: IbisTable) -> int:
    return int(table.count().to_pyarrow().as_py())
