"""How rows become verdicts between two responses: name, code, check, compare both orders, drop and count."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayesjudge.errors import InputError
from bayesjudge.tables.battle_gaps import GAPS, gap_of
from bayesjudge.tables.coding import MISSING, code_binary, code_names, joint_codes, names_of_rows
from bayesjudge.tables.columns import name_columns, require_columns
from bayesjudge.tables.schema import (
    CodedRows,
    Rule,
    broken_rules,
    filled,
    no_rows,
    readable,
    readable_columns,
    same_within,
    usable_rows,
)
from bayesjudge.tables.words import NUMBER, ORDER, ORDERS, OUTCOME, code_numbers, code_order, code_outcome, numbers_of

REQUIRED = ("item", "judge_prefers")
#: Columns of names, in the order of the validated table.
IDS = ("item", "judge", "attack", "question", "category", "model_a", "model_b")
CHOICES = ("judge_prefers", "human_prefers")
LENGTHS = ("length_a", "length_b")
#: Our names for the columns of a table of pairs.
NAMES = (*IDS, *CHOICES, "order", "flip", "voter", *LENGTHS, *GAPS)
#: Name of the one judge, and of no attack.
ONE_JUDGE, NO_ATTACK = "judge", "none"
_BOTH_ORDERS = (
    "pairs judged in both orders have two verdicts each, but count as one gain or loss; where the two disagree, what "
    "does not depend on the side (base rate, order) cancels, and other features say which is right"
)
_ALLOWED = "at least one row with an item and a preference of the judge"

_TIE = 2
_CHOICE = pd.Index(["a", "b", "tie", None], dtype="str")


#: Decisions, and the row that each came from.
type Rows = tuple[pd.DataFrame, NDArray[np.int64]]


def validate(
    frame: pd.DataFrame, columns: Mapping[str, str] | None
) -> tuple[Rows, Rows, dict[str, int], tuple[str, ...]]:
    """Usable decisions, those without two preferences, the count of all left out by reason, and what was assumed."""
    table, warnings = name_columns(frame, columns, names=NAMES)
    missing = require_columns(table.columns, REQUIRED)
    if missing or table.empty:
        raise InputError(missing or [no_rows("a header without rows", _ALLOWED)])
    # A validated frame calls its gap so; next to other scores it is some column of the user's.
    name = "gap (original)" if set(GAPS) & set(table) else "score_gap"
    table = table.rename(columns={"gap": name})
    gap, messages = gap_of(table)
    coded, said = _majority(_code(table))
    messages += said
    problems = broken_rules(coded.codes, _rules(coded))
    if problems:
        raise InputError(problems)
    rows, undecided, flip, dropped = _choose(coded)
    if not len(rows):
        raise InputError([no_rows(f"only rows that cannot be used: {dropped}", _ALLOWED)])
    if coded.codes["pair"].iloc[rows].duplicated().any():
        messages += (_BOTH_ORDERS,)
    gap = np.full(len(table), np.nan) if gap is None else gap
    decided, others = ((_assemble(coded, some, flip, gap), some) for some in (rows, undecided))
    return decided, others, dropped, warnings + messages


def _code(table: pd.DataFrame) -> CodedRows:
    codes: dict[str, NDArray[Any]] = {}
    names: dict[str, pd.Index[Any]] = {}
    for key in IDS:
        codes[key], names[key] = _code_name(table, key)
    if not len(names["question"]):
        codes["question"], names["question"] = codes["item"], names["item"]
    nothing = np.full(len(table), MISSING, np.int8)
    for key in CHOICES:
        codes[key] = code_outcome(table[key]) if key in table else nothing
    codes["order"] = code_order(table["order"]) if "order" in table else nothing
    codes["flip"] = code_binary(table["flip"]) if "flip" in table else nothing
    for key in (*LENGTHS, *GAPS):
        if key in table:
            codes[key] = code_numbers(table[key])[0]
    pair = joint_codes([codes[key] for key in IDS[:3]], [len(names[key]) for key in IDS[:3]])
    # An order that was not recorded is one of its own.
    event = joint_codes([pair, codes["order"] + 1], [int(pair.max(initial=0)) + 1, len(ORDERS) + 1])
    item = codes["item"].astype(np.int64)
    return CodedRows(pd.DataFrame({**codes, "pair": pair, "event": event, "subject": item}), names, table)


def _majority(coded: CodedRows) -> tuple[CodedRows, tuple[str, ...]]:
    """What most people prefer, on every row of an item; where voters are named, and a tie where as many prefer each."""
    if "voter" not in coded.table:
        return coded, ()
    voter, _ = code_names(coded.table["voter"])
    votes = coded.codes.assign(voter=voter)[["subject", "voter", "human_prefers"]]
    votes = votes[(votes["subject"] >= 0) & (votes["human_prefers"] >= 0)].drop_duplicates()
    each = votes.drop_duplicates(["subject", "voter"])["subject"].value_counts()
    several = int((each > 1).sum())
    counts = pd.crosstab(votes["subject"], votes["human_prefers"]).reindex(columns=range(3), fill_value=0)
    most = np.where(counts[0] > counts[1], 0, np.where(counts[1] > counts[0], 1, _TIE)).astype(np.int8)
    place = counts.index.get_indexer(pd.Index(coded.codes["subject"]))
    human = np.append(most, np.int8(MISSING))[place]
    # Of what cannot be read the rules speak, by its row.
    human = np.where(coded.codes["human_prefers"] < MISSING, coded.codes["human_prefers"], human)
    differ = int(((counts > 0).sum(axis=1) > 1).sum())
    note = (
        f"several people judged {several} items ({each.sum():,} votes on {len(each):,} items; they differ on "
        f"{differ}): what most of them prefer counts, and as many for each side are a tie"
    )
    codes = coded.codes.assign(human_prefers=human.astype(np.int8), voter=voter)
    return replace(coded, codes=codes), (note,) if several else ()


def _code_name(table: pd.DataFrame, key: str) -> tuple[NDArray[np.int32], pd.Index[Any]]:
    default = {"judge": ONE_JUDGE, "attack": NO_ATTACK}.get(key)
    if key not in table or (default and not table[key].notna().any()):
        known = [default] if default else []
        return np.full(len(table), 0 if default else MISSING, np.int32), pd.Index(known, dtype="str")
    codes, names = code_names(table[key])
    if key == "attack" and (codes == MISSING).any():
        names = names if NO_ATTACK in names else names.append(pd.Index([NO_ATTACK], dtype="str"))
        codes = np.where(codes == MISSING, np.int32(list(names).index(NO_ATTACK)), codes)
    return codes, names


def _rules(coded: CodedRows) -> list[Rule]:
    table, name = coded.table, coded.description("item", "judge", "attack")
    kinds = {
        CHOICES: (OUTCOME, "Write a, b or tie, or leave it empty where no one chose."),
        ("order",): (ORDER, "Write ab or ba."),
        (*LENGTHS, *GAPS): (NUMBER, "Write a number, or leave it empty."),
    }
    return [
        *(readable(key, table[key], binary=False) for key in IDS if key in table),
        *(readable("flip", table["flip"], binary=True) for key in ["flip"] if key in table),
        *readable_columns(table, kinds),
        same_within(
            "judge_prefers",
            "event",
            unit="item, judge, attack and order",
            name=name,
            values="different verdicts",
            fix="Say which order each verdict belongs to (order: ab or ba), or choose one prompt or "
            f"run: where={{{_apart(table)!r}: '...'}}, or --where {_apart(table)}=...",
        ),
        same_within(
            "human_prefers",
            "subject",
            unit="item",
            name=name,
            values="different preferences",
            fix="Give each pair one preference, or name the column that says whose it is: the majority then counts "
            "(--column voter=...).",
        ),
        same_within(
            "category",
            "subject",
            unit="item",
            name=name,
            values="several categories",
            fix="Give each item one category.",
        ),
    ]


def _apart(table: pd.DataFrame) -> str:
    """The column that may tell several verdicts on one pair apart: that of a tool's log, or one of the usual."""
    return "trial" if "trial" in table else "prompt"


def _choose(coded: CodedRows) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64], dict[str, int]]:
    """Places of the verdicts, and of rows with a tie or a vote alone; each row's flip; the rows left out by reason."""
    codes = coded.codes
    human = filled(codes["subject"].to_numpy(), codes["human_prefers"].to_numpy())
    judge = codes["judge_prefers"].to_numpy()
    again = codes["event"].duplicated().to_numpy() & (codes["event"] >= 0).to_numpy()
    other = again & ~codes.duplicated(["event", "voter"]).to_numpy() if "voter" in codes else np.zeros_like(again)
    unusable = {
        "missing item": (codes["item"] < 0).to_numpy(),
        "missing judge": (codes["judge"] < 0).to_numpy(),
        "missing judge_prefers": judge < 0,
        "a verdict once more, with a further person's vote": other,
        "exact repeat of a verdict": again,
    }
    keep, dropped = usable_rows(unusable)
    rows = np.flatnonzero(keep)
    # Before ties are left out: a tie in one order differs from a choice in the other.
    flip = np.full(len(codes), np.nan)
    flip[rows] = _flips(codes.iloc[rows])
    for reason, tied in {"tie by the judge": judge == _TIE, "tie by people": human == _TIE}.items():
        dropped[reason] = int(tied[rows].sum())
        rows = rows[~tied[rows]]
    named = ~(unusable["missing item"] | unusable["missing judge"])
    undecided = np.where(judge < 0, named & (human >= 0), keep & ((judge == _TIE) | (human == _TIE)))
    return rows, np.flatnonzero(undecided), flip, {reason: n for reason, n in dropped.items() if n}


def _flips(codes: pd.DataFrame) -> NDArray[np.float64]:
    """Whether a pair's verdicts differ (1, 0); for a pair with one verdict what the table says, or NaN."""
    of_pair = codes.groupby("pair")["judge_prefers"]
    differ = of_pair.transform("min") != of_pair.transform("max")
    given = codes["flip"].where(codes["flip"] >= 0).astype(float)
    known = differ.astype(float).where(of_pair.transform("size") > 1, given)
    return np.asarray(known, dtype=np.float64)


def _assemble(
    coded: CodedRows, rows: NDArray[np.int64], flip: NDArray[np.float64], gap: NDArray[np.float64]
) -> pd.DataFrame:
    codes, table = coded.codes, coded.table
    core: dict[str, Any] = {}
    for key in IDS:
        place = codes[key].to_numpy()
        place = filled(codes["subject"].to_numpy(), place) if key == "category" else place
        core[key] = names_of_rows(place[rows], coded.names[key])
    human = filled(codes["subject"].to_numpy(), codes["human_prefers"].to_numpy())
    core["judge_prefers"] = _CHOICE.take(codes["judge_prefers"].to_numpy()[rows]).array
    core["human_prefers"] = _CHOICE.take(human[rows]).array
    core["order"] = names_of_rows(codes["order"].to_numpy()[rows], pd.Index(ORDERS, dtype="str"))
    core |= {"flip": flip[rows], "gap": gap[rows]}
    for key in LENGTHS:
        core[key] = numbers_of(table[key])[rows] if key in table else np.full(len(rows), np.nan)
    extra = table.drop(columns=[name for name in NAMES if name in table]).iloc[rows].reset_index(drop=True)
    return pd.concat([pd.DataFrame(core), extra], axis=1)
