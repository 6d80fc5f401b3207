"""The rows of a file under this package's names, for any library: what is read, before a question takes it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Unpack

import pandas as pd
import pyarrow as pa

from bayesjudge.errors import InputError, UsageError
from bayesjudge.readers.aliases import BATTLE_ALIASES, PAIR_ALIASES, SCORE_ALIASES, TRIAL_ALIASES, VERDICT_ALIASES
from bayesjudge.readers.parts import Part, origins, read_parts, unread
from bayesjudge.readers.reading import Choices, Reading
from bayesjudge.readers.recognition import TABLE
from bayesjudge.tables.choices import CHOICE_COLUMNS
from bayesjudge.tables.columns import name_columns
from bayesjudge.tables.unfold import COUNT_COLUMNS

if TYPE_CHECKING:
    import polars as pl


#: Names that a table's columns may represent: of verdicts or battles, and, where a user maps them, of the others.
_QUESTIONS = (VERDICT_ALIASES, BATTLE_ALIASES, TRIAL_ALIASES, SCORE_ALIASES, PAIR_ALIASES)
#: Names of repeated trials that have no others.
_BY_MAPPING = (*COUNT_COLUMNS, *CHOICE_COLUMNS)


@dataclass(frozen=True, eq=False, kw_only=True)
class Log:
    """Rows of a log, with what was said of reading them.

    Attributes
    ----------
    frame : pandas.DataFrame
        One row an event, columns under this package's names where their meaning is clear.
    format : str
        Name of the tool's format; ``table`` for a plain table.
    notes : tuple of str
        What was assumed.
    dropped : mapping of str to int
        Records that gave no row, by reason.
    source : tuple of mapping
        The files: name, size, SHA-256, format, records and rows.
    """

    frame: pd.DataFrame
    format: str
    notes: tuple[str, ...]
    dropped: Mapping[str, int]
    source: tuple[Mapping[str, Any], ...]

    def __len__(self) -> int:
        return len(self.frame)

    def to_arrow(self) -> pa.Table:
        """The rows as an Arrow table; columns of mixed kinds are text."""
        return pa.table({str(name): _array(column) for name, column in self.frame.items()})

    def to_polars(self) -> pl.DataFrame:
        """The rows as a Polars data frame.

        Raises
        ------
        UsageError
            Polars is not installed.
        """
        try:
            import polars as pl
        except ImportError as error:
            raise UsageError("to_polars() needs Polars: pip install polars") from error
        return pl.DataFrame(self.to_arrow())

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The rows as an Arrow stream, which Polars, DuckDB, pyarrow and pandas take as it is."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)


def read(source: Any, *, columns: Mapping[str, str] | None = None, **choices: Unpack[Choices]) -> Log:
    """Read any log that a question reads, and give its rows.

    Parameters
    ----------
    source : str, path or table
        As in `read_verdicts`.
    columns : mapping of str to str, optional
        Our name to yours: ``{"verdict": "score"}``.
    **choices
        What else to say of the file, see `Reading`.

    Returns
    -------
    Log
        Every question takes it as a table.

    Raises
    ------
    InputError, UsageError
        A file that cannot be read; columns that are not there, or are mapped to names that no question has.

    Examples
    --------
    >>> log = read(pd.DataFrame({"question_id": ["q1"], "model_name": ["m"], "score": ["pass"]}))
    >>> log.to_arrow().to_pylist()
    [{'item': 'q1', 'model': 'm', 'verdict': 'pass'}]
    """
    parts = read_parts(source, Reading(**choices), taken=columns)
    frames = [part.frame if part.tool else named_rows(part, columns) for part in parts]
    tool = parts[0].tool
    return Log(
        frame=frames[0] if len(frames) == 1 else pd.concat(frames, ignore_index=True),
        format=tool.name if tool else TABLE,
        notes=tuple(dict.fromkeys(note for part in parts for note in part.notes)),
        dropped=unread(parts),
        source=origins(parts),
    )


def named_rows(part: Part, columns: Mapping[str, str] | None) -> pd.DataFrame:
    """A plain table's rows, its columns under our names where one meaning is clear.

    A mapping of the user's is one of some question's names, or refused; without one, names that could mean several
    things stay as they are.
    """
    mapped = set(columns or {})
    refused: list[InputError | UsageError] = []
    for aliases in sorted(_QUESTIONS, key=lambda names: -len(mapped & names.keys())):
        try:
            mapping = part.recognised(columns, aliases)[0]
            return name_columns(part.frame, mapping, names=(*aliases, *_BY_MAPPING))[0]
        except (InputError, UsageError) as error:
            refused.append(error)
    if mapped:
        raise refused[0]
    return part.frame.rename(columns=str)


def _array(column: pd.Series) -> pa.Array:
    """A column as Arrow has it; values of several kinds as text."""
    try:
        found = pa.array(column, from_pandas=True)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
        return pa.array([None if missing else str(value) for value, missing in zip(column, column.isna(), strict=True)])
    return found.combine_chunks() if isinstance(found, pa.ChunkedArray) else found
