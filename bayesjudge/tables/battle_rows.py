"""How rows become battles: name, code, check, then drop and count what cannot be used."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayesjudge.errors import InputError, Problem
from bayesjudge.tables.battle_gaps import GAPS, gap_of, require_no_ranks, with_gap_named
from bayesjudge.tables.battle_names import Coded, model_codes, named
from bayesjudge.tables.coding import MISSING, code_names, names_of_rows
from bayesjudge.tables.columns import name_columns, require_columns
from bayesjudge.tables.repeat_rows import Unfolded, of_source
from bayesjudge.tables.schema import Rule, broken_rules, no_rows, readable, readable_columns, same_within, usable_rows
from bayesjudge.tables.unfold import COUNT_COLUMNS, unfold_outcomes
from bayesjudge.tables.words import NUMBER, ORDER, ORDERS, OUTCOME, code_numbers, code_order, code_outcome, numbers_of

REQUIRED = ("model_a", "model_b")
#: Columns of names, in the order of the validated table.
IDS = ("item", "model_a", "model_b", "judge", "run", "voter")
#: Numbers kept as they are.
NUMBERS = ("length_a", "length_b")
_EVENT = (*IDS, "order", "human", "verdict", *GAPS, *NUMBERS)
#: Our names for the columns of a battle table.
NAMES = (*_EVENT, *COUNT_COLUMNS)

_ALLOWED = "at least one row with two models and an outcome"
#: What the codes of `code_outcome` (a, b, tie, then missing as −1) represent.
_OUTCOME = np.array([1.0, 0.0, 0.5, np.nan])


def validate(
    frame: pd.DataFrame, columns: Mapping[str, str] | None
) -> tuple[pd.DataFrame, dict[str, int], tuple[str, ...]]:
    """Usable rows, the count of the others by reason, and what was assumed; see `Battles`."""
    require_no_ranks(columns or {})
    table, warnings = name_columns(frame, columns, names=NAMES)
    unfolded = _counted(with_gap_named(table))
    table = unfolded.table
    missing = require_columns(table.columns, REQUIRED) + _no_evidence(table)
    if missing or table.empty:
        raise InputError(missing or [no_rows("a header without rows", _ALLOWED)])
    gap, notes = gap_of(table)
    coded, assumed = named(_code(table, gap))
    problems = broken_rules(coded.codes, _rules(coded))
    if problems:
        raise InputError(of_source(problem, unfolded.source) for problem in problems)
    chosen, lost = _choose(coded)
    dropped = {**unfolded.dropped, **lost}
    return _assemble(coded, chosen, dropped), dropped, warnings + unfolded.notes + notes + assumed


#: How verdicts of one judge on one battle may differ.
_APART = "Give each run its own value in the run column, or remove the wrong row."
_SWAPPED = (
    "If model_a was presented first in every row, and models are exchanged in some, say so: order='ab', or --order ab."
)


def _counted(table: pd.DataFrame) -> Unfolded:
    """One row a comparison, from counts of a judge's verdicts where these are all that says who won."""
    if not _no_evidence(table) or "outcome" in table:
        return Unfolded(table=table, source=np.arange(len(table)), dropped={})
    unfolded = unfold_outcomes(table)
    if not unfolded.numbered:
        return unfolded
    said = f"counts n_a and n_b of {len(table)} rows were read as {len(unfolded.table)} comparisons by a judge"
    return replace(unfolded, table=unfolded.table.rename(columns={"outcome": "verdict"}), notes=(said, *unfolded.notes))


def _no_evidence(table: pd.DataFrame) -> list[Problem]:
    if {"human", "verdict", "score_gap", "prob_a", "score_a"} & set(table.columns):
        return []
    return [
        Problem(
            column="(table)",
            found=f"no outcome; the table has {list(table.columns)}",
            allowed="a column human, verdict, score_gap, prob_a, score_a and score_b, or counts n_a and n_b",
            fix="Say which column it is: columns={'human': 'your_column'}, or --column human=your_column.",
        )
    ]


def _code(table: pd.DataFrame, gap: NDArray[np.float64] | None) -> Coded:
    codes: dict[str, Any] = {}
    names: dict[str, pd.Index[Any]] = {}
    nothing = np.full(len(table), MISSING, np.int32)
    for key in IDS:
        codes[key], names[key] = code_names(table[key]) if key in table else (nothing, pd.Index([], dtype="str"))
    codes["order"] = code_order(table["order"]) if "order" in table else nothing
    for key in ("human", "verdict"):
        codes[key] = code_outcome(table[key]) if key in table else nothing
    for key in (*GAPS, *NUMBERS):
        if key in table:
            codes[key] = code_numbers(table[key])[0]
    codes["gap"] = np.full(len(table), np.nan) if gap is None else gap
    codes["judged"] = (codes["verdict"] != MISSING) | ~np.isnan(codes["gap"])
    return Coded(pd.DataFrame(codes), names, table)


def _rules(coded: Coded) -> list[Rule]:
    table = coded.table
    kinds = {
        ("order",): (ORDER, "Write ab or ba."),
        ("human", "verdict"): (OUTCOME, "Recode it; a score belongs in score_gap, or score_a and score_b."),
        (*GAPS, *NUMBERS): (NUMBER, "Write a number, or leave it empty."),
    }
    return [
        *(readable(key, table[key], binary=False) for key in _there(table, *IDS)),
        *readable_columns(table, kinds),
        _same_outcome(
            coded,
            "human",
            "vote",
            unit="battle and voter",
            values="different votes",
            fix="Give each battle its own item, or each person's vote its own voter.",
        ),
        _same_outcome(
            coded,
            "verdict",
            "event",
            unit="battle, judge, order and run",
            values="different verdicts",
            fix=_APART if "order" in table else f"{_APART} {_SWAPPED}",
        ),
    ]


def _same_outcome(coded: Coded, column: str, key: str, *, unit: str, values: str, fix: str) -> Rule:
    """Compared in the frame of `named`, shown under the column's own name."""
    name = coded.description("item", "model_a", "model_b", "judge")
    rule = same_within(f"{column} oriented", key, unit=unit, name=name, values=values, fix=fix)
    return replace(rule, column=column)


def _there(table: pd.DataFrame, *keys: str) -> list[str]:
    return [key for key in keys if key in table]


def _choose(coded: Coded) -> tuple[NDArray[np.bool_], dict[str, int]]:
    """Rows to keep and, for the others, the first reason that holds."""
    codes = coded.codes
    a, b = model_codes(coded)
    judged, human = codes["judged"].to_numpy(), (codes["human"] >= 0).to_numpy()
    unusable = {f"missing {key}": (codes[key] < 0).to_numpy() for key in ("item", *REQUIRED)} | {
        "a model against itself": a == b,
        "no human vote, verdict or score": ~judged & ~human,
        "missing judge": judged & (codes["judge"] < 0).to_numpy(),
        "exact repeat of a vote": _repeated_votes(codes, judged),
    }
    return usable_rows(unusable)


def _repeated_votes(codes: pd.DataFrame, judged: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Votes on rows of their own that the same voter has cast before."""
    alone = (codes["vote"] >= 0).to_numpy() & ~judged
    return alone & codes["vote"].where(alone).duplicated().to_numpy()


def _assemble(coded: Coded, keep: NDArray[np.bool_], dropped: Mapping[str, int]) -> pd.DataFrame:
    if not keep.any():
        raise InputError([no_rows(f"only rows that cannot be used: {dict(dropped)}", _ALLOWED)])
    codes, table = coded.codes[keep], coded.table[keep]
    core: dict[str, Any] = {key: names_of_rows(codes[key].to_numpy(), coded.names[key]) for key in IDS}
    core["order"] = names_of_rows(codes["order"].to_numpy(), pd.Index(ORDERS, dtype="str"))
    core |= {key: _OUTCOME[codes[key].to_numpy()] for key in ("human", "verdict")}
    core["gap"] = codes["gap"].to_numpy()
    for key in _there(table, *NUMBERS):
        core[key] = numbers_of(table[key])
    extra = table.drop(columns=[name for name in _EVENT if name in table]).reset_index(drop=True)
    return pd.concat([pd.DataFrame(core), extra], axis=1)
