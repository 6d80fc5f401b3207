"""How rows become verdicts: name, code, join labels, check, then drop and count what cannot be used."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayesjudge.errors import InputError
from bayesjudge.tables.coding import (
    MISSING,
    PROBABILITY,
    code_binary,
    code_names,
    code_probability,
    joint_codes,
    names_of_rows,
)
from bayesjudge.tables.columns import name_columns, require_columns
from bayesjudge.tables.gold import PROBABILITY_FIX, Gold, match_gold, read_gold
from bayesjudge.tables.schema import (
    NO_NAME,
    CodedRows,
    Rule,
    broken_rules,
    count_within,
    filled,
    grouped,
    no_rows,
    readable,
    readable_as,
    same_within,
    usable_rows,
)

#: Our names for the columns of a verdict table; the first three are required.
NAMES = ("item", "model", "verdict", "judge", "label", "run", "label_probability")
REQUIRED = NAMES[:3]
#: Columns of names, in the order of the validated table.
IDS = ("item", "model", "judge", "run")
_ALLOWED = "at least one row with an item, model and verdict"
#: Share of repeated verdicts above which two that differ may be another judge's.
_CONTRARY = 0.8


def validate(
    frame: pd.DataFrame, columns: Mapping[str, str] | None, labels: pd.DataFrame | None
) -> tuple[pd.DataFrame, dict[str, int], tuple[str, ...], pd.DataFrame | None]:
    """Usable rows, the count of the others by reason, what was assumed, annotators' marks; see `Verdicts`."""
    table, warnings = name_columns(frame, _of_verdicts(frame, columns, labels), names=NAMES)
    gold, problems = (None, []) if labels is None else read_gold(labels, columns)
    missing = require_columns(table.columns, REQUIRED)
    if missing or table.empty:
        raise InputError([*missing, *([] if missing else [no_rows("a header without rows", _ALLOWED)]), *problems])
    coded = _code(table)
    if gold is not None:
        coded, unmatched, mismatch = match_gold(gold, coded)
        problems, warnings = problems + mismatch, warnings + gold.warnings
        if gold.model is None and len(coded.names["model"]) > 1:
            warnings += (
                "the labels table has no model column: each label counts for every model's answer to the item",
            )
    coded, numbered = _number_runs(coded)
    problems += broken_rules(coded.codes, _rules(coded))
    if problems:
        raise InputError(problems)
    chosen, dropped = _choose(coded)
    if gold is not None:
        dropped |= {**gold.dropped, **({"labels table: row that matches no verdict": unmatched} if unmatched else {})}
    rows = _assemble(coded, chosen, dropped)
    return rows, dropped, warnings + numbered, None if gold is None else _marks_on(rows, gold)


def _marks_on(rows: pd.DataFrame, gold: Gold) -> pd.DataFrame | None:
    """Annotators' marks on the answers of the table; marks on an item count for every model's answer."""
    if gold.marks is None:
        return None
    by = ["item", *([] if gold.model is None else ["model"])]
    found = gold.marks.merge(rows[["item", "model"]].drop_duplicates(), on=by)
    return found[["item", "model", "annotator", "label"]]


def _of_verdicts(frame: pd.DataFrame, columns: Mapping[str, str] | None, labels: pd.DataFrame | None) -> dict[str, str]:
    """The part of a mapping that is not about the labels table alone."""
    if labels is None:
        return dict(columns or {})
    ours, theirs = set(map(str, frame.columns)), set(map(str, labels.columns))
    return {name: source for name, source in (columns or {}).items() if source in ours or source not in theirs}


def _code(table: pd.DataFrame) -> CodedRows:
    codes: dict[str, NDArray[Any]] = {}
    names: dict[str, pd.Index[Any]] = {}
    for key in IDS:
        if key in table and (key in REQUIRED or table[key].notna().any()):
            codes[key], names[key] = code_names(table[key])
        else:
            codes[key], names[key] = np.zeros(len(table), np.int32), pd.Index([key], dtype="str")
    nothing = np.full(len(table), MISSING, np.int8)
    codes["verdict"] = code_binary(table["verdict"])
    codes["label"] = code_binary(table["label"]) if "label" in table else nothing
    codes["gold"] = nothing
    unknown = np.full(len(table), np.nan)
    codes["label_probability"] = (
        code_probability(table["label_probability"]) if "label_probability" in table else unknown
    )
    codes["gold_probability"] = unknown
    codes["answer"] = joint_codes([codes["item"], codes["model"]], [len(names["item"]), len(names["model"])])
    return CodedRows(pd.DataFrame(codes), names, table)


def _number_runs(coded: CodedRows) -> tuple[CodedRows, tuple[str, ...]]:
    """Name the runs and give rows of one judge, answer and run one code ``event``."""
    codes, warning = coded.codes, ""
    event = joint_codes([codes[key].to_numpy() for key in IDS[:3]], [len(coded.names[key]) for key in IDS[:3]])
    event[codes["verdict"].to_numpy() < 0] = MISSING
    if "run" in coded.table and coded.table["run"].notna().any():
        lost = codes["run"].to_numpy() == MISSING
        coded = coded.with_missing_named("run", lost)
        warning = f"{int(lost.sum())} rows have no run; each counts as the run {NO_NAME!r}" if lost.any() else ""
        sizes = [int(event.max(initial=0)) + 1, len(coded.names["run"])]
        event = joint_codes([event, coded.codes["run"].to_numpy()], sizes)
    elif _only_copies(event, coded.table):
        coded = coded.with_name("run", codes["run"].to_numpy(), pd.Index(["0"], dtype="str"))
    else:
        run = count_within(event, event >= 0)
        names = pd.Index([str(k) for k in range(int(run.max(initial=0)) + 1)], dtype="str")
        coded = coded.with_name("run", run, names)
        again = f"{int((run > 0).sum())} rows repeat an item, model and judge without a run column"
        doubt = _contrary(event, codes["verdict"].to_numpy())
        warning = f"{again}: taken as repeated runs, numbered in row order{doubt}" if run.any() else ""
        event = np.full(len(event), MISSING, dtype=np.int64)
    return replace(coded, codes=coded.codes.assign(event=event)), (warning,) if warning else ()


def _only_copies(event: NDArray[np.int64], table: pd.DataFrame) -> bool:
    """Whether rows that repeat an answer of a judge are copies, equal in every column but the label.

    A judge asked several times differs from itself somewhere. Where it never does, the mean of the copies is
    the row itself, so nothing is lost by using it once.
    """
    again = (event >= 0) & pd.Series(event).duplicated(keep=False).to_numpy()
    rows = table.drop(columns=["label", "label_probability"], errors="ignore")[again]
    try:
        first = ~rows.duplicated().to_numpy()
    except TypeError:  # Lists and mappings have no hash; what they hold is not compared.
        return False
    return bool(np.bincount(event[again][first]).max(initial=1) == 1)


def _contrary(event: NDArray[np.int64], verdict: NDArray[np.int8]) -> str:
    """Doubt about repeated verdicts of which nearly all differ: of two runs of a judge that tosses a coin half do."""
    known = event >= 0
    of_event = pd.Series(verdict[known]).groupby(event[known]).agg(["size", "mean"])
    twice = of_event.loc[of_event["size"] > 1, "mean"]
    differ = int(((twice > 0) & (twice < 1)).sum())
    if of_event["size"].max() != 2 or differ <= _CONTRARY * len(twice):
        return ""
    return f"; the two verdicts differ in {differ} of {len(twice)} cases: these may be no runs of one judge"


def _rules(coded: CodedRows) -> list[Rule]:
    present = [key for key in NAMES if key in coded.table and key != "label_probability"]
    values = [readable(key, coded.table[key], binary=key in {"verdict", "label"}) for key in present]
    return [
        *values,
        *_probability_rules(coded),
        same_within(
            "label",
            "answer",
            unit="answer (item and model)",
            name=coded.description("item", "model"),
            fix="Give each answer one label, for example by majority.",
        ),
        _gold_agrees(coded),
        same_within(
            "verdict",
            "event",
            unit="item, model, judge and run",
            name=coded.description(*IDS),
            fix="Give each run its own value in the run column, or remove the wrong row.",
        ),
    ]


def _probability_rules(coded: CodedRows) -> list[Rule]:
    """A probability can be read, is one for each answer, and is there for every label once it is for any."""
    codes, name = coded.codes, coded.description("item", "model")
    if not (codes[["label_probability", "gold_probability"]] > 0).to_numpy().any():
        return []
    label, chance = _filled_label(codes), _filled_probability(codes)

    def found(_: pd.DataFrame, rows: NDArray[np.int64]) -> list[tuple[str, NDArray[np.int64]]]:
        return grouped(codes["answer"].to_numpy()[rows], rows, lambda row: f"none, but a label, for {name(row)}")

    column = "label_probability"
    written = (
        []
        if column not in coded.table
        else [
            readable_as(column, coded.table[column], allowed=PROBABILITY, fix=PROBABILITY_FIX),
            same_within(
                column, "answer", unit="answer (item and model)", name=name, fix="Keep one.", values="several values"
            ),
        ]
    )
    return [
        *written,
        Rule(
            column=column,
            holds=lambda _: ~((label >= 0) & np.isnan(chance)),
            found=found,
            allowed="a probability for every labelled answer where any has one",
            fix="Give 1 to answers that were labelled for certain, or before others were drawn (--set "
            "label_probability=1), or remove the column if every answer had the same chance.",
        ),
    ]


def _gold_agrees(coded: CodedRows) -> Rule:
    name = coded.description("item", "model")

    def holds(codes: pd.DataFrame) -> NDArray[np.bool_]:
        both = (codes["label"] >= 0) & (codes["gold"] >= 0)
        return ~(both & (codes["label"] != codes["gold"])).to_numpy(dtype=bool)

    def found(codes: pd.DataFrame, rows: NDArray[np.int64]) -> list[tuple[str, NDArray[np.int64]]]:
        return grouped(
            codes["answer"].to_numpy()[rows],
            rows,
            lambda row: (
                f"{codes['label'].iloc[row]} where the labels table has {codes['gold'].iloc[row]} for {name(row)}"
            ),
        )

    return Rule(
        column="label",
        holds=holds,
        found=found,
        allowed="the same label in both tables",
        fix="Give each answer one label, or use one of the two.",
    )


def _choose(coded: CodedRows) -> tuple[NDArray[np.bool_], dict[str, int]]:
    """Rows to keep and, for the others, the first reason that holds."""
    codes = coded.codes
    label = _filled_label(codes)
    repeat = "exact repeat of a run" if len(coded.names["run"]) > 1 else "exact repeat of a row"
    unusable = {f"missing {key}": (codes[key] < 0).to_numpy() for key in ("item", "model", "judge")}
    silent = (codes["verdict"] < 0).to_numpy()
    unusable |= {"missing verdict": silent & (label < 0), "missing verdict, answer labelled": silent & (label >= 0)}
    event = codes["event"]
    unusable[repeat] = ((event >= 0) & event.duplicated()).to_numpy()
    return usable_rows(unusable)


def _filled_label(codes: pd.DataFrame) -> NDArray[np.int8]:
    """Every row's label: its own, the labels table's, or that of another row of the answer."""
    own = np.maximum(codes["label"].to_numpy(), codes["gold"].to_numpy())
    return filled(codes["answer"].to_numpy(), own)


def _filled_probability(codes: pd.DataFrame) -> NDArray[np.float64]:
    """The same for the probability of being labelled, NaN where none is known; that of the table with the label."""
    answer = codes["answer"].to_numpy()
    mine, theirs = codes["label_probability"], codes["gold_probability"]
    elsewhere = (filled(answer, codes["label"].to_numpy()) < 0) & (codes["gold"] >= 0) & (theirs > 0)
    return filled(answer, np.where((mine > 0) & ~elsewhere, mine, theirs), np.nan)


def _assemble(coded: CodedRows, keep: NDArray[np.bool_], dropped: Mapping[str, int]) -> pd.DataFrame:
    if not keep.any():
        raise InputError([no_rows(f"only rows that cannot be used: {dict(dropped)}", _ALLOWED)])
    codes, table, label = coded.codes, coded.table, _filled_label(coded.codes)
    chance = _filled_probability(codes)
    if not keep.all():
        codes, table, label, chance = codes[keep], table[keep], label[keep], chance[keep]
    core: dict[str, Any] = {key: names_of_rows(codes[key].to_numpy(), coded.names[key], table.get(key)) for key in IDS}
    core["verdict"] = codes["verdict"].to_numpy()
    core["label"] = pd.arrays.IntegerArray(np.where(label < 0, np.int8(0), label), label < 0)
    if np.isfinite(chance).any():
        core["label_probability"] = chance
    extra = table.drop(columns=[name for name in NAMES if name in table]).reset_index(drop=True)
    return pd.concat([pd.DataFrame(core), extra], axis=1)
