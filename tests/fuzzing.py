"""Damaged inputs: tables of every question in every format, broken in cells, in columns and in bytes.

`damaged` makes one input from a seed, `read_or_refused` reads it as the package's users would and says what
became of it. ``benchmarks/fuzz.py`` runs many.
"""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bayesjudge import datasets, readers
from bayesjudge.errors import InputError, UsageError

__all__ = [
    "BYTE_DAMAGE",
    "KINDS",
    "Case",
    "Kind",
    "Outcome",
    "Rng",
    "broken",
    "damaged",
    "outcome_of",
    "read_or_refused",
]

type Rng = np.random.Generator

#: Names that break out of a cell, a line, a page, a formula, a path, a terminal or an encoding.
HOSTILE = (
    "=1+1",
    "=cmd|' /C calc'!A0",
    "+1",
    "-1",
    "@SUM(A1)",
    "<script>alert(1)</script>",
    '"><img src=x onerror=a>',
    "' or 1=1 --",
    "a,b",
    'say "hi"',
    "two\nlines",
    "tab\there",
    "\r",
    "\x00",
    "\x1b[31mred",
    "../../etc/passwd",
    "naïve",
    "日本語",
    "نموذج",
    "😀" * 3,
    "e\u0301",
    "\u202eabc",
    "\ufeff",
    " ",
    "x" * 3000,
    "NaN",
    "None",
    "null",
    "true",
    "1e5",
    "007",
    "{{7*7}}",
    "%s%n",
    "judge_error[partial]",
    "a" + "\u0300" * 50,
    "model",
    "item",
)
#: Numbers and not quite numbers.
NUMBERS = (
    "1e308",
    "1e400",
    "-1e400",
    "nan",
    "inf",
    "-inf",
    "-0.0",
    "1" * 400,
    "0x10",
    "1_000",
    "1,5",
    "１",
    "½",
    "1e-320",
    "True",
    "yes",
    "tie",
    "",
    " ",
    "2",
    "-1",
    "0.5",
    "1.0000000001",
    "9007199254740993",
)
NESTED = ([], {}, [[1]], {"a": {"b": [1, 2]}}, [None], [1, "x"])


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A question's table: a small sound one, and its reader."""

    frame: Callable[[Rng], pd.DataFrame]
    read: Callable[[Any], Any]
    rows: Callable[[Any], int] | None = None


@dataclass(frozen=True, kw_only=True)
class Case:
    """One damaged input.

    Attributes
    ----------
    kind, format : str
        Which reader it is for, and the file's ending.
    content : bytes
        The file.
    rows : int or None
        Rows that the table held; None where bytes were damaged, or the format cannot say.
    damage : tuple of str
        What was done to it.
    """

    kind: str
    format: str
    content: bytes
    rows: int | None
    damage: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What became of an input: ``read``, ``refused`` (with the message), or a ``fault`` of the package."""

    state: str
    message: str = ""


@cache
def _simulated(kind: str) -> pd.DataFrame:
    """The undamaged table, made once: the simulators take longer than all else."""
    simulate = getattr(datasets, f"simulate_{kind}")
    few = {"labelled": 4, "unlabelled": 4} if kind == "verdicts" else {}
    frame: pd.DataFrame = getattr(simulate(seed=1, **few), kind).frame
    return frame if kind == "verdicts" else frame.dropna(axis=1, how="all")


def _some(kind: str, rng: Rng) -> pd.DataFrame:
    """Its first rows, one to eight."""
    return _simulated(kind).iloc[: int(rng.integers(1, 9))].reset_index(drop=True)


def _counted(table: Any) -> int:
    return len(table.frame) + sum(table.dropped.values())


KINDS: dict[str, Kind] = {
    "verdicts": Kind(frame=partial(_some, "verdicts"), read=readers.read_verdicts, rows=_counted),
    "battles": Kind(frame=partial(_some, "battles"), read=readers.read_battles, rows=_counted),
    "pairs": Kind(frame=partial(_some, "pairs"), read=readers.read_pairs, rows=_counted),
    "trials": Kind(frame=partial(_some, "trials"), read=readers.read_trials, rows=_counted),
    "scores": Kind(frame=partial(_some, "scores"), read=readers.read_scores, rows=_counted),
    "repeats": Kind(frame=partial(_some, "trials"), read=readers.read_repeats),
}


# Damage to cells and columns -------------------------------------------------------------------------


def _put(frame: pd.DataFrame, rng: Rng, values: tuple[Any, ...]) -> pd.DataFrame:
    """One to three cells replaced."""
    cells = frame.to_numpy(dtype=object, copy=True)
    for _ in range(int(rng.integers(1, 4))):
        place = int(rng.integers(len(cells))), int(rng.integers(cells.shape[1]))
        cells[place] = values[int(rng.integers(len(values)))]
    return pd.DataFrame(cells, columns=frame.columns)


def _renamed(frame: pd.DataFrame, rng: Rng) -> pd.DataFrame:
    names = [str(column) for column in frame.columns]
    other = (*HOSTILE, "score", "label", "winner", "id", names[0].upper(), names[0] + " ", "")
    names[int(rng.integers(len(names)))] = other[int(rng.integers(len(other)))]
    return frame.set_axis(names, axis=1)


def _doubled(frame: pd.DataFrame, rng: Rng) -> pd.DataFrame:
    """A second column of one name: the first of them, or of another."""
    column = frame.columns[int(rng.integers(frame.shape[1]))]
    return pd.concat([frame, frame[column]], axis=1)


def _dropped(frame: pd.DataFrame, rng: Rng) -> pd.DataFrame:
    return frame.drop(columns=frame.columns[int(rng.integers(frame.shape[1]))])


def _repeated(frame: pd.DataFrame, rng: Rng) -> pd.DataFrame:
    return frame.iloc[rng.integers(len(frame), size=len(frame) + 2)].reset_index(drop=True)


TABLE_DAMAGE: dict[str, Callable[[pd.DataFrame, Rng], pd.DataFrame]] = {
    "none": lambda frame, _: frame,
    "hostile": lambda frame, rng: _put(frame, rng, HOSTILE),
    "numbers": lambda frame, rng: _put(frame, rng, NUMBERS),
    "missing": lambda frame, rng: _put(frame, rng, (None, np.nan, "", "NA", pd.NaT)),
    "nested": lambda frame, rng: _put(frame, rng, NESTED),
    "renamed": _renamed,
    "doubled": _doubled,
    "dropped": _dropped,
    "repeated": _repeated,
    "no rows": lambda frame, _: frame.iloc[:0],
}


# Formats ---------------------------------------------------------------------------------------------


def _lines(frame: pd.DataFrame) -> list[str]:
    return [
        json.dumps(dict(zip(map(str, frame.columns), row, strict=True)), default=str)
        for row in frame.astype(object).where(frame.notna(), None).to_numpy()
    ]


def _parquet(frame: pd.DataFrame) -> bytes:
    stream = io.BytesIO()
    frame.to_parquet(stream, index=False)
    return stream.getvalue()


FORMATS: dict[str, Callable[[pd.DataFrame], bytes]] = {
    "csv": lambda frame: frame.to_csv(index=False).encode("utf-8", "surrogatepass"),
    "tsv": lambda frame: frame.to_csv(index=False, sep="\t").encode("utf-8", "surrogatepass"),
    "csv.gz": lambda frame: gzip.compress(frame.to_csv(index=False).encode(), mtime=0),
    "jsonl": lambda frame: "\n".join(_lines(frame)).encode(),
    "json": lambda frame: f"[{','.join(_lines(frame))}]".encode(),
    "parquet": _parquet,
}


# Damage to bytes -------------------------------------------------------------------------------------


def _flipped(content: bytes, rng: Rng) -> bytes:
    raw = bytearray(content)
    for place in rng.integers(len(raw), size=int(rng.integers(1, 6))):
        raw[place] = int(rng.integers(256))
    return bytes(raw)


def _inserted(content: bytes, rng: Rng) -> bytes:
    pieces = (
        b"\x00",
        b"\xff\xfe",
        b"\xef\xbb\xbf",
        b'"',
        b"'",
        b"\n\n",
        b"\r",
        b",,,,",
        b"\xed\xa0\x80",
        b"{",
        b"]",
        b"[" * 5000,
        b"\\ud800",
        b"9" * 5000,
        b'{"a":' * 1200,
        b"<!--",
        b"PAR1",
        b"\x1f\x8b",
    )
    place = int(rng.integers(len(content) + 1))
    return content[:place] + pieces[int(rng.integers(len(pieces)))] + content[place:]


BYTE_DAMAGE: dict[str, Callable[[bytes, Rng], bytes]] = {
    "cut": lambda content, rng: content[: int(rng.integers(len(content)))],
    "flipped": _flipped,
    "inserted": _inserted,
    "spliced": lambda content, rng: content[int(rng.integers(len(content))) :] + content,
    "another encoding": lambda content, _: content.decode("utf-8", "replace").encode("utf-16"),
    "noise": lambda _, rng: rng.bytes(int(rng.integers(1, 300))),
}


def damaged(seed: int) -> Case:
    """The input of a seed."""
    rng = np.random.default_rng(seed)
    kind = str(rng.choice(list(KINDS)))
    return broken(kind, KINDS[kind].frame(rng), rng)


def broken(kind: str, frame: pd.DataFrame, rng: Rng) -> Case:
    """A table with damage done to it, as a file."""
    done = []
    for _ in range(int(rng.integers(1, 3))):
        name = str(rng.choice(list(TABLE_DAMAGE)))
        if len(frame) and frame.shape[1]:
            frame = TABLE_DAMAGE[name](frame, rng)
            done.append(name)
    ending = str(rng.choice(list(FORMATS)))
    content, rows = _written(frame, ending)
    if content and rng.random() < 0.25:
        name = str(rng.choice(list(BYTE_DAMAGE)))
        content, rows = BYTE_DAMAGE[name](content, rng), None
        done.append(name)
    return Case(kind=kind, format=ending, content=content, rows=rows, damage=tuple(done))


def _written(frame: pd.DataFrame, ending: str) -> tuple[bytes, int | None]:
    """The file, and how many rows a reader has to account for."""
    import pyarrow as pa

    try:
        content = FORMATS[ending](frame)
    except (pa.ArrowException, ValueError, TypeError):
        # The format cannot hold the damage, so no file of it will ever arrive.
        content = FORMATS[ending](frame.loc[:, ~frame.columns.duplicated()].astype(str))
    return content, len(frame) or None


def read_or_refused(case: Case, folder: Path) -> Outcome:
    """Read the input; anything but a table whose rows are all counted, or a plain message, is a fault."""
    path = folder / f"input.{case.format}"
    path.write_bytes(case.content)
    return outcome_of(KINDS[case.kind], path, case.rows)


def outcome_of(reader: Kind, source: Path | pd.DataFrame, rows: int | None) -> Outcome:
    """The same for a file, or a data frame, of so many rows."""
    try:
        table = reader.read(source)
    except (InputError, UsageError) as error:
        return _plain(str(error))
    except Exception as error:  # noqa: BLE001 - what no reader may raise is what is looked for
        return Outcome(state="fault", message=f"{type(error).__name__}: {error}")
    if reader.rows is not None and rows is not None and reader.rows(table) != rows:
        return Outcome(state="fault", message=f"{reader.rows(table)} rows counted of {rows}")
    return Outcome(state="read")


def _plain(message: str) -> Outcome:
    """A message must say something, and be readable: no control characters, not the whole file."""
    controls = [mark for mark in message if ord(mark) < 32 and mark != "\n"]
    if not message.strip() or controls or len(message) > 8000:
        return Outcome(state="fault", message=f"unreadable message of {len(message)}: {message[:300]!r}")
    return Outcome(state="refused", message=message)
