"""How rows become battles: name, code, check, then drop and count what cannot be used."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayesjudge.errors import InputError, Problem
from bayesjudge.tables.battle_gaps import GAPS, gap_of, with_gap_named
from bayesjudge.tables.coding import MISSING, code_names, joint_codes
from bayesjudge.tables.columns import name_columns, require_columns
from bayesjudge.tables.rules import Rule, broken_rules, readable, readable_as, same_within
from bayesjudge.tables.words import (
    NUMBER,
    ORDER,
    ORDERS,
    OUTCOME,
    code_numbers,
    code_order,
    code_outcome,
)

__all__ = ["IDS", "NAMES", "NUMBERS", "REQUIRED", "validate"]

REQUIRED = ("model_a", "model_b")
#: Columns of names, in the order of the validated table.
IDS = ("item", "model_a", "model_b", "judge", "run", "voter")
#: Numbers kept as they are.
NUMBERS = ("length_a", "length_b")
#: Our names for the columns of a battle table.
NAMES = (*IDS, "order", "human", "verdict", *GAPS, *NUMBERS)

#: What the codes of `code_outcome` (a, b, tie, then missing as −1) stand for.
_OUTCOME = np.array([1.0, 0.0, 0.5, np.nan])
#: Names of the one judge, the one vote of a battle and a run that carry none.
_ONE_JUDGE, _ONE_VOTER, _ONE_RUN = "judge", "human", "1"
_NO_RUN, _NO_VOTER = "(missing)", "(missing)"


@dataclass(frozen=True, eq=False)
class _Coded:
    """Codes of every row, what the codes of names stand for, and the table they were made from."""

    codes: pd.DataFrame
    names: Mapping[str, pd.Index[Any]]
    table: pd.DataFrame

    def with_name(self, key: str, codes: NDArray[Any], names: pd.Index[Any]) -> _Coded:
        return replace(self, codes=self.codes.assign(**{key: codes}), names={**self.names, key: names})

    def key(self, *parts: str) -> NDArray[np.int64]:
        """One code for each combination of names."""
        sizes = [len(self.names.get(part, ORDERS)) + 1 for part in parts]
        # Missing names are a value of their own here: shifted to 0.
        return joint_codes([self.codes[part].to_numpy() + 1 for part in parts], sizes)

    def told(self, row: int) -> str:
        shown = {key: self.codes[key].iloc[row] for key in ("item", "model_a", "model_b", "judge")}
        return ", ".join(f"{key} {self.names[key][code]!r}" for key, code in shown.items() if code >= 0)


def validate(
    frame: pd.DataFrame, columns: Mapping[str, str] | None
) -> tuple[pd.DataFrame, dict[str, int], tuple[str, ...]]:
    """Usable rows, the count of the others by reason, and what was assumed; see `Battles`."""
    table, warnings = name_columns(frame, columns, names=NAMES)
    table = with_gap_named(table)
    missing = require_columns(table.columns, REQUIRED) + _no_evidence(table)
    if missing or table.empty:
        raise InputError(missing or [_no_rows("a header without rows")])
    gap, told = gap_of(table)
    coded, assumed = _named(_code(table, gap))
    problems = broken_rules(coded.codes, _rules(coded))
    if problems:
        raise InputError(problems)
    chosen, dropped = _choose(coded)
    return _assemble(coded, chosen, dropped), dropped, warnings + told + assumed


def _no_evidence(table: pd.DataFrame) -> list[Problem]:
    if {"human", "verdict", "score_gap", "prob_a", "score_a"} & set(table.columns):
        return []
    return [Problem(column="(table)", found=f"no outcome; the table has {list(table.columns)}",
                    allowed="a column human, verdict, score_gap, prob_a, or score_a and score_b",
                    fix="Say which column it is: columns={'human': 'your_column'}, or "
                        "--column human=your_column.")]  # fmt: skip


def _code(table: pd.DataFrame, gap: NDArray[np.float64] | None) -> _Coded:
    codes: dict[str, Any] = {}
    names: dict[str, pd.Index[Any]] = {}
    nothing = np.full(len(table), MISSING, np.int32)
    for key in IDS:
        codes[key], names[key] = (
            code_names(table[key]) if key in table else (nothing, pd.Index([], dtype="str"))
        )
    codes["order"] = code_order(table["order"]) if "order" in table else nothing
    for key in ("human", "verdict"):
        codes[key] = code_outcome(table[key]) if key in table else nothing
    for key in (*GAPS, *NUMBERS):
        if key in table:
            codes[key] = code_numbers(table[key])[0]
    codes["gap"] = np.full(len(table), np.nan) if gap is None else gap
    codes["judged"] = (codes["verdict"] != MISSING) | ~np.isnan(codes["gap"])
    return _Coded(pd.DataFrame(codes), names, table)


def _named(coded: _Coded) -> tuple[_Coded, tuple[str, ...]]:
    """Items, judges, runs and voters of rows that name none."""
    warnings: tuple[str, ...] = ()
    if not len(coded.names["item"]):
        rows = np.arange(len(coded.table), dtype=np.int32)
        coded = coded.with_name("item", rows, pd.Index((rows + 1).astype(str), dtype="str"))
        warnings += ("there is no item column: each row was taken as a battle of its own",)
    judged = coded.codes["judged"].to_numpy()
    if not len(coded.names["judge"]):
        coded = coded.with_name("judge", np.where(judged, 0, MISSING), pd.Index([_ONE_JUDGE], dtype="str"))
    coded = coded.with_name("pair", *_pairs(coded))
    coded = replace(coded, codes=coded.codes.assign(**_turned(coded)))
    coded, repeated = _number_runs(coded, judged)
    coded, several = _number_voters(coded, judged)
    event = coded.key("item", "pair", "judge", "order seen", "run")
    vote = coded.key("item", "pair", "voter")
    human = coded.codes["human"].to_numpy() != MISSING
    codes = coded.codes.assign(event=np.where(judged, event, MISSING), vote=np.where(human, vote, MISSING))
    return replace(coded, codes=codes), warnings + repeated + several


def _pairs(coded: _Coded) -> tuple[NDArray[np.int64], pd.Index[Any]]:
    """One code for two models in either order."""
    a, b = _model_codes(coded)
    size = max(int(a.max(initial=0)), int(b.max(initial=0))) + 1
    pair, names = pd.factorize(np.minimum(a, b) * size + np.maximum(a, b))
    return np.where((a < 0) | (b < 0), MISSING, pair), pd.Index(names.astype(str), dtype="str")


def _model_codes(coded: _Coded) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Codes of both models in one list of names, `MISSING` or `UNKNOWN` where there is none."""
    a, b = coded.codes["model_a"].to_numpy(np.int64), coded.codes["model_b"].to_numpy(np.int64)
    place = coded.names["model_a"].append(coded.names["model_b"])
    shared, _ = pd.factorize(place)
    first = len(coded.names["model_a"])
    return (np.where(a >= 0, shared[np.maximum(a, 0)], a),
            np.where(b >= 0, shared[np.minimum(np.maximum(b, 0) + first, len(shared) - 1)], b))  # fmt: skip


def _turned(coded: _Coded) -> dict[str, NDArray[np.int32]]:
    """Votes, verdicts and orders in a frame that does not depend on which model is called a."""
    a, b = _model_codes(coded)
    turned = {}
    for key in ("human", "verdict", "order"):
        code = coded.codes[key].to_numpy(np.int32)
        # In all three, 0 and 1 change places; a tie, 2, and the negative codes stay.
        turned[f"{key} seen"] = np.where((a > b) & ((code == 0) | (code == 1)), 1 - code, code)
    return turned


def _number_runs(coded: _Coded, judged: NDArray[np.bool_]) -> tuple[_Coded, tuple[str, ...]]:
    if len(coded.names["run"]):
        lost = judged & (coded.codes["run"].to_numpy() == MISSING)
        filled = np.where(lost, len(coded.names["run"]), coded.codes["run"])
        names = coded.names["run"].append(pd.Index([_NO_RUN] if lost.any() else [], dtype="str"))
        told = (
            (f"{int(lost.sum())} rows have no run; each counts as the run {_NO_RUN!r}",) if lost.any() else ()
        )
        return coded.with_name("run", filled, names), told
    run = _count_within(coded.key("item", "pair", "judge", "order seen", "voter"), judged)
    again = int((run > 0).sum())
    told = (f"{again} rows repeat a battle, judge and order without a run column: taken as repeated runs",)
    names = pd.Index([str(k + 1) for k in range(int(run.max(initial=0)) + 1)], dtype="str")
    return coded.with_name("run", run, names), told if again else ()


def _number_voters(coded: _Coded, judged: NDArray[np.bool_]) -> tuple[_Coded, tuple[str, ...]]:
    human = coded.codes["human"].to_numpy() != MISSING
    if len(coded.names["voter"]):
        lost = human & (coded.codes["voter"].to_numpy() == MISSING)
        filled = np.where(lost, len(coded.names["voter"]), coded.codes["voter"])
        names = coded.names["voter"].append(pd.Index([_NO_VOTER] if lost.any() else [], dtype="str"))
        told = (f"{int(lost.sum())} votes have no voter; each battle's count as one",) if lost.any() else ()
        return coded.with_name("voter", filled, names), told
    # A vote beside a judge's verdict is the same vote on the rows of every judge; alone, each is its own.
    place = _count_within(coded.key("item", "pair"), human & ~judged)
    again = int((place > 0).sum())
    names = pd.Index(
        [_ONE_VOTER, *(f"{_ONE_VOTER} {k + 1}" for k in range(1, int(place.max(initial=0)) + 1))]
    )
    told = (f"{again} rows repeat a battle without a voter column: taken as votes of several people",)
    return coded.with_name("voter", np.where(human, place, MISSING), names), told if again else ()


def _count_within(key: NDArray[np.int64], among: NDArray[np.bool_]) -> NDArray[np.int64]:
    """How many of the rows counted share the key and came before; 0 for the others."""
    place = np.zeros(len(key), dtype=np.int64)
    place[among] = pd.Series(key[among]).groupby(key[among]).cumcount()
    return place


def _rules(coded: _Coded) -> list[Rule]:
    table = coded.table
    kinds = {
        ("order",): (ORDER, "Write ab or ba."),
        ("human", "verdict"): (OUTCOME, "Recode it; a score belongs in score_gap, or score_a and score_b."),
        (*GAPS, *NUMBERS): (NUMBER, "Write a number, or leave it empty."),
    }
    return [
        *(readable(key, table[key], binary=False) for key in _there(table, *IDS)),
        *(readable_as(key, table[key], allowed=allowed, fix=fix)
          for keys, (allowed, fix) in kinds.items() for key in _there(table, *keys)),
        same_within("human seen", "vote", unit="battle and voter", name=coded.told, values="different votes",
                    fix="Give each battle its own item, or each person's vote its own voter."),
        same_within("verdict seen", "event", unit="battle, judge, order and run", name=coded.told,
                    values="different verdicts",
                    fix="Give each run its own value in the run column, or remove the wrong row."),
    ]  # fmt: skip


def _there(table: pd.DataFrame, *keys: str) -> list[str]:
    return [key for key in keys if key in table]


def _choose(coded: _Coded) -> tuple[NDArray[np.bool_], dict[str, int]]:
    """Rows to keep and, for the others, the first reason that holds."""
    codes = coded.codes
    a, b = _model_codes(coded)
    judged, human = codes["judged"].to_numpy(), (codes["human"] >= 0).to_numpy()
    unusable = {f"missing {key}": (codes[key] < 0).to_numpy() for key in ("item", *REQUIRED)} | {
        "a model against itself": a == b,
        "no human vote, verdict or score": ~judged & ~human,
        "missing judge": judged & (codes["judge"] < 0).to_numpy(),
        "exact repeat of a vote": _repeated_votes(codes, judged),
    }
    keep = np.ones(len(codes), dtype=bool)
    dropped = {}
    for reason, rows in unusable.items():
        dropped[reason] = int((keep & rows).sum())
        keep &= ~rows
    return keep, {reason: n for reason, n in dropped.items() if n}


def _repeated_votes(codes: pd.DataFrame, judged: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Votes on rows of their own that the same voter has cast before."""
    alone = (codes["vote"] >= 0).to_numpy() & ~judged
    return alone & codes["vote"].where(alone).duplicated().to_numpy()


def _assemble(coded: _Coded, keep: NDArray[np.bool_], dropped: Mapping[str, int]) -> pd.DataFrame:
    if not keep.any():
        raise InputError([_no_rows(f"only rows that cannot be used: {dict(dropped)}")])
    codes, table = coded.codes[keep], coded.table[keep]
    core: dict[str, Any] = {}
    for key in IDS:
        names = coded.names[key].append(pd.Index([None], dtype="str"))
        core[key] = names.take(codes[key].to_numpy()).array
    core["order"] = pd.Index([*ORDERS, None], dtype="str").take(codes["order"].to_numpy()).array
    core |= {key: _OUTCOME[codes[key].to_numpy()] for key in ("human", "verdict")}
    core["gap"] = codes["gap"].to_numpy()
    for key in _there(table, *NUMBERS):
        place, values = code_numbers(table[key])
        core[key] = np.append(values, np.nan)[place]
    extra = table.drop(columns=[name for name in NAMES if name in table]).reset_index(drop=True)
    return pd.concat([pd.DataFrame(core), extra], axis=1)


def _no_rows(found: str) -> Problem:
    return Problem(column="(table)", found=found, allowed="at least one row with two models and an outcome",
                   fix="Check the file, and which columns were read as what.")  # fmt: skip
