"""Where a table comes from: a file, several files by a pattern, or standard input."""

from __future__ import annotations

import difflib
import gzip
import hashlib
import io
import re
import shlex
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import pandas as pd
import pyarrow as pa

from bayesjudge.errors import InputError, Problem, UsageError

#: File name endings and the format that each represents.
FORMATS = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".jsonl": "json",
    ".ndjson": "json",
    ".json": "json",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".eval": "zip",
    ".xlsx": "sheet",
    ".qrels": "qrels",
}
#: Endings that say nothing: what such a file is, its first bytes say; as of files such as ``qrels.2019``.
_SNIFFED = ("", ".txt", ".log")
#: The first line of TREC's relevance judgements, and of a run: topic, iteration, document, and then numbers.
QRELS = re.compile(rb"\S+[ \t]+(?:0|Q0)[ \t]+\S+[ \t]+-?\d+(?:\.\d+)?(?:[ \t]+\S+){0,2}[ \t\r]*(?:\n|$)")


#: A workbook and one of its sheets.
_SHEET = re.compile(r"(.+\.xlsx)::(.+)", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True, eq=False, kw_only=True)
class Source:
    """One stream of bytes.

    path: Of the file where it is not packed.
    sheet: Of a workbook, the one that is meant; empty where it has one.
    """

    name: str
    format: str
    open: Callable[[], BinaryIO]
    raw: Callable[[], io.BufferedReader | io.BytesIO]
    path: Path | None = None
    sheet: str = ""

    @property
    def identity(self) -> dict[str, Any]:
        """Name, size and SHA-256 of the file as it lies there."""
        with self.raw() as stream:
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
            return {"file": self.name, "bytes": stream.tell(), "sha256": digest}


def find_sources(source: str | Path) -> list[Source]:
    """The files that a path, a folder, a pattern or ``-`` (standard input) means, in order of name."""
    if str(source) == "-":
        return [_standard_input()]
    if str(source).startswith(("https://", "http://")):
        raise UsageError(f"nothing is fetched from a service; fetch it first: curl -LO {source}")
    path = Path(source).expanduser()
    if "\0" in str(path):
        raise UsageError(f"{str(source)!r} cannot be the name of a file")
    if (workbook := _SHEET.fullmatch(str(path))) and not path.exists():
        return [replace(one, name=f"{one.name}::{workbook[2]}", sheet=workbook[2]) for one in find_sources(workbook[1])]
    if any(mark in str(path) for mark in "*?[") and not path.exists():
        matches = _matches(path)
        if not matches:
            raise file_error(str(source), "no file that matches", "Check the pattern and the folder.")
        return [_file(match) for match in matches]
    return [_file(one) for one in (_folder(path) if path.is_dir() else [path])]


def file_error(name: str, found: str, fix: str, rows: tuple[int, ...] = ()) -> InputError:
    """What is raised where something is wrong with a file as a whole."""
    allowed = "a readable CSV, TSV, JSONL, JSON or Parquet file with a header and rows"
    return InputError([Problem(column="(file)", found=f"{found}: {name}", rows=rows, fix=fix, allowed=allowed)])


def _matches(pattern: Path) -> list[Path]:
    start = Path(pattern.anchor or ".")
    try:
        found = start.glob(str(pattern.relative_to(pattern.anchor)))
        return sorted(path for path in found if path.is_file())
    except ValueError as error:
        raise UsageError(
            f"{str(pattern)!r} is no file and no pattern ({error}); write for example logs/*.csv"
        ) from error


def _folder(path: Path) -> list[Path]:
    """Every file in a folder, and in those in it, whose ending is known; in order of name."""
    found = sorted(one for one in path.rglob("*") if one.is_file() and _ending(one) in FORMATS)
    if not found:
        others = sorted(one for one in path.rglob("*") if one.is_file() and _ending(one) in _SNIFFED[1:])
        pattern = f", or a pattern: {shlex.quote(f'{others[0].parent}/*{others[0].suffix}')}" if others else ""
        fix = f"Name a file{pattern}; known endings are {', '.join(FORMATS)}."
        raise file_error(str(path), "a folder without a file of a known ending", fix)
    return found


def _ending(path: Path) -> str:
    name = path.with_suffix("") if path.suffix.lower() == ".gz" else path
    return name.suffix.lower()


def _file(path: Path) -> Source:
    if not path.is_file():
        raise file_error(str(path), "no such file", _near_files(path))
    if path.suffix.lower() == ".duckdb":
        raise UsageError(f"{str(path)!r} holds tables; choose one: {path}::TABLE")
    packed, ending = path.suffix.lower() == ".gz", _ending(path)
    if ending not in {*FORMATS, *_SNIFFED} and not path.name.lower().startswith("qrels."):
        fix = "save the sheet as CSV" if ending == ".xls" else "rename the file, or pipe it in and read '-'"
        raise UsageError(
            f"cannot tell the format of {path.name!r} from its ending {ending!r}; known endings are "
            f"{', '.join(FORMATS)}, each also with .gz; {fix}"
        )
    if path.stat().st_size == 0:
        raise file_error(str(path), "an empty file", "Check how it was written.")
    found = FORMATS.get(ending, "")
    if found in {"", "json"}:
        with _open(path, packed=packed) as stream:
            sniffed = _sniff(stream.read(4096))
        # Relevance judgements are named after the table or the JSON that they were made of.
        found = sniffed if not found or sniffed == "qrels" else found
    unpacked = partial(_open, path, packed=packed)
    plain = None if packed else path
    return Source(name=str(path), format=found, open=unpacked, raw=lambda: path.open("rb"), path=plain)


def _open(path: Path, *, packed: bool) -> BinaryIO:
    try:
        return gzip.open(path) if packed else path.open("rb")  # type: ignore[return-value]  # GzipFile reads as one
    except OSError as error:
        raise file_error(
            str(path), f"a file that cannot be opened ({error.strerror})", "Check its permissions."
        ) from error


def _near_files(path: Path) -> str:
    folder = path.parent
    names = sorted(entry.name for entry in folder.iterdir()) if folder.is_dir() else []
    near = difflib.get_close_matches(path.name, names, n=3, cutoff=0.6)
    if near:
        return f"Did you mean {', '.join(repr(str(folder / name)) for name in near)}?"
    return f"Check the name; the folder is {str(folder.resolve())!r}" + ("." if names else ", which has no files.")


def _standard_input() -> Source:
    content = sys.stdin.buffer.read()
    if not content.strip():
        raise file_error("standard input", "nothing", "Pipe a table in, or name a file.")
    stream = partial(io.BytesIO, content)
    return Source(name="standard input", format=_sniff(content), open=stream, raw=stream)


def _sniff(content: bytes) -> str:
    if content[:4] == b"PAR1":
        return "parquet"
    start = content.removeprefix(b"\xef\xbb\xbf").lstrip()
    if start[:1] in {b"{", b"["}:
        return "json"
    if QRELS.match(start):
        return "qrels"
    header = start.split(b"\n", 1)[0]
    return "tsv" if header.count(b"\t") > header.count(b",") else "csv"


#: What says that an object is a table, whoever made it: Arrow's stream, or the data frame interchange protocol.
_PROTOCOLS = ("__arrow_c_stream__", "__dataframe__")


def is_frame(source: object) -> bool:
    """Whether the source is a table: by a protocol, or of a library that is read lazily or by name."""
    known = type(source).__module__.split(".")[0] in {"pandas", "polars", "pyarrow", "ibis"}
    return known or any(hasattr(source, name) for name in _PROTOCOLS)


def to_pandas(source: Any) -> pd.DataFrame:
    """A data frame with the same columns; whole numbers stay whole where some are missing."""
    if isinstance(source, pd.DataFrame):
        return source
    if hasattr(source, "collect") and hasattr(source, "lazy"):
        source = source.collect()
    if hasattr(source, "to_pyarrow") and hasattr(source, "columns"):
        return arrow_to_pandas(source.to_pyarrow())
    if hasattr(source, "to_arrow") and hasattr(source, "columns"):
        return arrow_to_pandas(source.to_arrow())
    if hasattr(source, "__arrow_c_stream__"):
        import pyarrow as pa

        try:
            return arrow_to_pandas(pa.table(source))
        except pa.ArrowInvalid as error:
            kind = f"{type(source).__module__}.{type(source).__name__}"
            raise UsageError(f"an object of type {kind} is no table ({error}); give a path or a table") from error
    if hasattr(source, "__dataframe__"):
        import pyarrow.interchange

        return arrow_to_pandas(pyarrow.interchange.from_dataframe(source))
    raise UsageError(
        f"cannot read an object of type {type(source).__module__}.{type(source).__name__}; "
        "give a path, or a table of pandas, Polars, Ibis or anything with __arrow_c_stream__"
    )


def arrow_to_pandas(table: pa.Table) -> pd.DataFrame:
    """Arrow to pandas with nullable integers and booleans, since floats would round long identifiers."""
    kinds = {
        pa.bool_(): pd.BooleanDtype(),
        pa.int8(): pd.Int8Dtype(),
        pa.int16(): pd.Int16Dtype(),
        pa.int32(): pd.Int32Dtype(),
        pa.int64(): pd.Int64Dtype(),
        pa.uint8(): pd.UInt8Dtype(),
        pa.uint16(): pd.UInt16Dtype(),
        pa.uint32(): pd.UInt32Dtype(),
        pa.uint64(): pd.UInt64Dtype(),
    }
    # Arrow parses pandas' own notes even when it is to ignore them, and they may be damaged.
    frame: pd.DataFrame = table.replace_schema_metadata(None).to_pandas(types_mapper=kinds.get)
    return frame
