"""The files behind a source, each recognised by itself; problems by a file's own row numbers."""

from __future__ import annotations

import itertools
import re
import shlex
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bayesjudge.errors import InputError, Problem, UsageError
from bayesjudge.readers.aliases import Aliases
from bayesjudge.readers.column_names import hardly_filled, recognise
from bayesjudge.readers.containers import archive_records, is_database, open_table, read_sheet
from bayesjudge.readers.enclosed import enclosed_rows, inner_rows
from bayesjudge.readers.filters import ROW, conditions, keep_where
from bayesjudge.readers.format import File, Format, Record
from bayesjudge.readers.formats import known_formats
from bayesjudge.readers.json_records import JsonRecords
from bayesjudge.readers.qrels import read_qrels
from bayesjudge.readers.reading import Reading
from bayesjudge.readers.recognition import FIRST, TABLE, near_formats, recognise_format
from bayesjudge.readers.rows import Columns, Rows, collect_rows, frame_records
from bayesjudge.readers.sources import Source, file_error, find_sources, is_frame, to_pandas
from bayesjudge.readers.stated import columns_stated, with_stated
from bayesjudge.readers.tabular import header_of_data, read_delimited, read_parquet
from bayesjudge.readers.texts import with_texts
from bayesjudge.readers.values import names_of_objects, with_paths
from bayesjudge.readers.wide import Wide
from bayesjudge.tables.columns import name_columns

#: Our columns of names, which a file may have as objects.
_NAMES = ("item", "model", "model_a", "model_b", "response", "judge", "annotator", "voter")
#: Files that one finding is reported of by rows.
MOST_FILES = 2


@dataclass(frozen=True, eq=False, kw_only=True)
class Part:
    """One file, or one table in memory.

    tool: The tool's format; None for a plain table.
    origin: The file's name, size and SHA-256, and what was read of it; empty for a table in memory.
    read_as: Columns that have other names in the file: our name to the file's.
    """

    name: str
    frame: pd.DataFrame
    tool: Format | None = None
    rows: Rows | None = None
    near: tuple[Problem, ...] = ()
    notes: tuple[str, ...] = ()
    cluster: str | None = None
    origin: Mapping[str, Any] = field(default_factory=dict)
    read_as: Mapping[str, str] = field(default_factory=dict)

    def named(self, mapping: Mapping[str, str], names: Sequence[str]) -> tuple[Part, tuple[str, ...]]:
        """The file under our names, its rows' places in it as index; which of its columns were displaced."""
        frame, moved = name_columns(self.frame, mapping, names=names)
        others = {ours: theirs for ours, theirs in mapping.items() if ours != theirs}
        named = [] if self.tool else [name for name in _NAMES if name in names]
        frame, said = names_of_objects(frame, named, others)
        return replace(self, frame=frame.set_axis(self.frame.index), read_as=others), moved + said

    def recognised(
        self, columns: Mapping[str, str] | None, aliases: Aliases, *, found: Sequence[str] | None = None
    ) -> tuple[dict[str, str], tuple[str, ...]]:
        """Our name to the column, and what was guessed; a tool's rows have our names already."""
        if self.tool is not None:
            return dict(columns or {}), ()
        there = map(str, self.frame.columns) if found is None else found
        return recognise(there, columns, aliases=aliases, empty=hardly_filled(self.frame))

    @property
    def stem(self) -> str:
        """The file's name without its ending."""
        return File(name=self.name).stem

    def explained(self, error: InputError) -> InputError:
        """The error, with the nearest formats where columns are missing."""
        missing = all(not problem.rows and problem.column not in self.frame for problem in error.problems)
        if not (missing and self.near):
            return error
        return InputError([*error.problems, *self.near], options=error.options)


def read_parts(source: Any, reading: Reading | None = None, *, taken: Mapping[str, str] | None = None) -> list[Part]:
    """Each file that a path, pattern, folder or ``-`` means, or the table in memory or DuckDB.

    reading: What the user says of it; its ``where`` chooses rows.
    taken: Columns that the user names, by our names.
    """
    reading, taken = reading or Reading(), taken or {}
    if isinstance(source, list) and source and all(isinstance(part, Part) for part in source):
        return source
    if is_frame(source):
        parts = [_of_frame("the table", to_pandas(source).rename(columns=str), reading, taken)]
    elif isinstance(source, str | Path) and is_database(source):
        parts = [_of_frame(str(source), to_pandas(open_table(source)).rename(columns=str), reading, taken)]
    elif isinstance(source, str | Path):
        parts = _together(str(source), [_read(found, reading, taken) for found in find_sources(source)])
    else:
        raise UsageError(
            f"cannot read a table from an object of type {type(source).__name__}; "
            "give a path, of several files their folder or a pattern, or a pandas, Polars, pyarrow or Ibis table"
        )
    named = [*taken.values(), *filter(None, (reading.criterion[0], reading.label_criterion[0]))]
    named += [Wide.parsed(reading.wide).columns] if reading.wide else []
    named += [one.column for one in conditions(reading.where)]
    named += columns_stated(reading.put)
    reached = [part if part.tool else replace(part, frame=with_paths(part.frame, named)) for part in parts]
    parts = [_unfolded(_put(part, reading), reading, taken) for part in reached]
    kept = keep_where([(part.name, part.frame) for part in parts], reading.where)
    return [with_rows(part, frame) for part, (_, frame) in zip(parts, kept, strict=True)]


def _unfolded(part: Part, reading: Reading, taken: Mapping[str, str]) -> Part:
    """A wide table with one row a verdict."""
    if reading.wide is None:
        return part
    if part.tool is not None:
        raise UsageError(f"--wide is for plain tables; {part.name} is a file of {part.tool.title}")
    frame, notes = Wide.parsed(reading.wide).of(part.frame, part.name, taken)
    return replace(part, frame=frame, notes=(*part.notes, *notes))


def with_rows(part: Part, frame: pd.DataFrame) -> Part:
    """The part with some of its rows; how many were left out stands with its file."""
    lost = len(part.frame) - len(frame)
    origin = {**part.origin, "left_out_by_where": lost} if lost and part.origin else part.origin
    return replace(part, frame=frame, origin=origin)


def _together(source: str, parts: list[Part]) -> list[Part]:
    """Files of one format; of a folder, those of the tool without what it writes beside them."""
    tools = {part.tool.name: part.name for part in reversed(parts) if part.tool is not None}
    if len(tools) > 1:
        commands = "; ".join(f"{tool}: bayesjudge inspect {shlex.quote(name)}" for tool, name in sorted(tools.items()))
        raise UsageError(f"{source} holds files of several formats, each to be read by itself: {commands}")
    beside = [part.name for part in parts if part.tool is None]
    if not tools or not beside:
        return parts
    if not Path(source).is_dir():
        raise UsageError(
            f"{source} matches files of {min(tools)} and others, for instance {beside[0]}; name those of one kind"
        )
    left_out = f"{len(beside)} other files of the folder were left out: {', '.join(beside[:3])}"
    return [replace(part, notes=(*part.notes, left_out)) for part in parts if part.tool is not None]


def _put(part: Part, reading: Reading) -> Part:
    """The values that the user gives to all rows, and no note that asks for them."""
    frame, said = with_stated(part.frame, part.name, reading.put)
    notes = tuple(note for note in part.notes if not any(f"--set {name}=" in note for name in reading.put))
    return replace(part, frame=frame, notes=notes + said) if reading.put else part


def _read(source: Source, reading: Reading, taken: Mapping[str, str]) -> Part:
    try:
        part = _parsed(source, reading, taken)
        origin = {**source.identity, **_counts(part)}
    except (OSError, EOFError, zlib.error) as error:
        found, fix = f"a file that cannot be read ({error})", "Check that it is complete, and its permissions."
        raise file_error(source.name, found, fix) from error
    return replace(part, origin=origin)


def _parsed(source: Source, reading: Reading, taken: Mapping[str, str]) -> Part:
    if source.format == "zip":
        header, records = archive_records(source)
        return _of_records(source.name, records, reading, taken, header=header)
    if source.format == "json":
        return _of_records(source.name, JsonRecords(source), reading, taken)
    if source.format == "parquet":
        frame = read_parquet(source, lambda names: _projected(names, reading, taken))
    elif source.format == "sheet":
        frame = read_sheet(source)
    elif source.format == "qrels":
        frame = read_qrels(source)
    else:
        frame = read_delimited(source)
        part = _of_frame(source.name, frame, reading, taken)
        return part if part.tool else replace(part, notes=(*part.notes, *header_of_data(frame)))
    return _of_frame(source.name, frame, reading, taken)


def _counts(part: Part) -> dict[str, Any]:
    """The format, records read, rows made of them, and records without a row by reason."""
    made = {"format": part.tool.name if part.tool else TABLE, "records": len(part.frame), "rows": len(part.frame)}
    if part.rows is None:
        return made
    dropped = {
        reason: {"records": n, "first": list(part.rows.places[reason])} for reason, n in part.rows.dropped.items()
    }
    return {**made, "records": part.rows.records, "dropped": dropped}


def _projected(columns: Sequence[str], reading: Reading, taken: Mapping[str, str]) -> list[str] | None:
    """The columns that the one format of such columns needs, those of choices, and the user's."""
    free = set(columns) - set(taken.values())
    fit = [
        tool
        for tool in known_formats()
        if tool.marks
        and reading.format in {None, tool.name}
        and not tool.lacks(free)
        and not tool.without & {*free, *taken}
    ]
    if len(fit) != 1 or not fit[0].columns:
        return None
    needed = [name.partition(".")[0] for name in fit[0].columns]
    wanted = (*needed, *fit[0].marks, *taken.values(), *(one.column for one in conditions(reading.where)))
    return [column for column in columns if any(fnmatchcase(column, pattern) for pattern in wanted)]


def _of_frame(name: str, frame: pd.DataFrame, reading: Reading, taken: Mapping[str, str]) -> Part:
    # A tool may write columns of one name, by their places; of a plain table the table itself refuses them.
    apart = frame.set_axis(_apart(list(map(str, frame.columns))), axis=1)
    first = list(frame_records(apart.iloc[:FIRST])) or [dict.fromkeys(map(str, apart.columns))]
    # What the user puts on every row tells formats apart as a column does: a judge's votes are no people's.
    shown = [{**record, **reading.put} for record in first]
    found = recognise_format(name, shown, wanted=reading.format, taken=taken)
    if found is None:
        return Part(name=name, frame=frame, near=tuple(near_formats(first)))
    file = File(name=name, taken=frozenset({*taken, *reading.put}))
    return _of_tool(file, found.tool, frame_records(apart), reading)


def _apart(names: list[str]) -> list[str]:
    """A number after the second column of one name and further ones."""
    found: dict[str, None] = {}
    for name in names:
        numbered = (name if k == 0 else f"{name}.{k}" for k in itertools.count())
        found[next(one for one in numbered if one not in found)] = None
    return list(found)


def _of_records(
    name: str,
    records: Iterator[Record],
    reading: Reading,
    taken: Mapping[str, str],
    header: Mapping[str, Any] | None = None,
) -> Part:
    first = list(itertools.islice(records, FIRST))
    if not first:
        raise file_error(name, "no objects", "Check how the file was written.")
    alone = len(first) == 1
    shown = first if alone else [{**record, **reading.put} for record in first]
    found = recognise_format(name, shown, wanted=reading.format, taken=taken, alone=alone)
    every = itertools.chain(first, records)
    if found is None:
        near = tuple(near_formats(first, alone=alone))
        inside = enclosed_rows(name, first[0]) if alone else None
        frame, notes = inner_rows(_table(name, every if inside is None else iter(inside[0])))
        around = () if inside is None else (f"rows are {inside[1]}",)
        return Part(name=name, frame=frame, near=near, notes=(*around, *notes))
    columns = found.tool.columns
    if columns and isinstance(records, JsonRecords) and not reading.texts and not any("*" in name for name in columns):
        records.only({*columns, *found.tool.marks, *found.tool.preamble})
    known = {**(header or {}), **(found.header or {})}
    file = File(name=name, header=known, taken=frozenset({*taken, *reading.put}))
    return _of_tool(file, found.tool, every if found.records is None else iter(found.records), reading)


def _of_tool(file: File, tool: Format, records: Iterator[Record], reading: Reading) -> Part:
    rows = collect_rows(records, with_texts(tool) if reading.texts else tool, file)
    source = f"read as {tool.title}; people's judgements: {tool.people}"
    return Part(name=file.name, frame=rows.frame, tool=tool, rows=rows, notes=(source, *file.notes))


def _table(name: str, records: Iterator[Record]) -> pd.DataFrame:
    columns = Columns(name)
    for place, record in enumerate(records):
        columns.add(record, place)
    return columns.frame(columns.names()).reset_index(drop=True)


def said_once(noted: Sequence[tuple[Part, Sequence[str]]]) -> tuple[str, ...]:
    """What is said of files, once where it differs in their names and numbers of rows alone.

    Examples
    --------
    >>> parts = [Part(name=f"{name}.json", frame=pd.DataFrame()) for name in "xy"]
    >>> said_once([(part, [f"answers are {part.stem!r}'s", "rows are lists"]) for part in parts])
    ("answers are 'x''s, and the like of 1 more file", 'rows are lists')
    """
    found: dict[str, list[str]] = {}
    for part, notes in noted:
        for note in notes:
            bare = note.replace(part.name, "").replace(repr(part.stem), "")
            found.setdefault(re.sub(r" \(\d+\)$", "", bare), []).append(note)
    more = {texts[0]: len(texts) - 1 if len(set(texts)) > 1 else 0 for texts in found.values()}
    return tuple(f"{text}, and the like of {n} more file{'s' * (n > 1)}" if n else text for text, n in more.items())


def origins(parts: Sequence[Part]) -> tuple[Mapping[str, Any], ...]:
    """Where rows came from: files, and what was read of each."""
    return tuple(part.origin for part in parts if part.origin)


def unread(parts: Sequence[Part]) -> dict[str, int]:
    """Records that gave no row, and judgements that records lack, by reason."""
    read = [part.rows for part in parts if part.rows]
    others = summed(rows.unscored for rows in read).items()
    return summed(rows.dropped for rows in read) | {f"{reason}{_OF_OTHERS}": n for reason, n in others}


#: What tells a judgement that cannot be used from a record that cannot.
_OF_OTHERS = ", of a record with other judgements"


def summed(counts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """All counts of each reason."""
    total = Counter[str]()
    for one in counts:
        total.update(one)
    return dict(total)


def located(problems: Sequence[Problem], parts: Sequence[Part], labels: pd.DataFrame | None = None) -> list[Problem]:
    """The problems of files under our names with each one's own row numbers and names of columns.

    labels: The rows of a second file, of which the log's conditions may have chosen some.
    """
    ends = np.cumsum([len(part.frame) for part in parts])
    located = []
    for problem in problems:
        # Rows of a table of labels are its own: no choice of the log's rows is about them.
        if problem.column.startswith("labels."):
            located.append(problem if labels is None else replace(problem, rows=_places(problem.rows, labels)))
            continue
        if len(parts) == 1 or not problem.rows:
            located.append(_in_file(problem, problem.rows, parts[0]) if len(parts) == 1 else problem)
            continue
        rows = np.asarray(problem.rows)
        place = np.searchsorted(ends, rows, side="left")
        files = np.unique(place).tolist()
        more = len(files) - MOST_FILES
        located += [
            replace(
                _in_file(problem, rows[place == k] - (ends[k] - len(parts[k].frame)), parts[k]),
                found=f"{problem.found} in {parts[k].name}"
                + (f" and {more} more files" if more > 0 and k == files[MOST_FILES - 1] else ""),
            )
            for k in files[:MOST_FILES]
        ]
    return located


def _in_file(problem: Problem, rows: Any, part: Part) -> Problem:
    """By row numbers of the file, of which only some rows may be chosen or a record may give several."""
    places = _places(rows, part.frame)
    return replace(problem, rows=places, theirs=part.read_as.get(problem.column, "") if places else "")


def _places(rows: Any, frame: pd.DataFrame) -> tuple[int, ...]:
    places = np.asarray(rows, dtype=np.int64)
    if frame.index.name == ROW and len(places):
        places = frame.index.to_numpy(np.int64)[places - 1] + 1
    return tuple(dict.fromkeys(places.tolist()))
