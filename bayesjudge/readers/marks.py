"""Labels of several people side by side, a column each, as a table of one row a mark."""

from __future__ import annotations

from collections.abc import Iterable

import pandas as pd

from bayesjudge.errors import InputError, UsageError
from bayesjudge.readers.column_names import listed_columns
from bayesjudge.readers.reading import Reading
from bayesjudge.readers.single import labels_meaning_yes
from bayesjudge.tables.coding import MISSING, code_binary
from bayesjudge.tables.schema import broken_rules, readable

#: What a mark is of, where the table says it.
_OF = ("item", "model", "label_probability")


def label_columns(columns: Iterable[str], name: str, reading: Reading) -> tuple[str, ...]:
    """The columns that ``label`` names: one of labels, or several of one person's each, by a list or a pattern.

    None where it names a criterion, or a column of another table.

    Examples
    --------
    >>> label_columns(["item", "human 1", "human 2"], "the table", Reading(label="human *=4,5"))
    ('human 1', 'human 2')
    """
    columns, (option, _) = list(map(str, columns)), reading.label_criterion
    if option is None or option in columns:
        return () if option is None else (option,)
    found, lost = listed_columns(columns, option)
    if found and lost:
        raise UsageError(f"--label: no column {lost[0]!r} in {name}; it has {columns}")
    return found


def one_mark_a_row(rows: pd.DataFrame, cells: pd.DataFrame, name: str, reading: Reading) -> pd.DataFrame:
    """A table of labels with ``annotator``, as a file of them is; an empty cell is no mark.

    rows: Under our names; cells: A column a person, in the order of the rows.
    """
    keys, people = rows[[key for key in _OF if key in rows]], list(map(str, cells.columns))
    each = [keys.assign(annotator=who, label=cells[who].array) for who in people]
    marks = labels_meaning_yes(pd.concat(each, ignore_index=True), name, reading, label=",".join(people))
    codes = code_binary(marks["label"])
    coded = pd.DataFrame(codes.reshape(len(people), -1).T, columns=people)
    if problems := broken_rules(coded, [readable(who, cells[who], binary=True) for who in people]):
        raise InputError(problems)
    marked: pd.DataFrame = marks.loc[codes != MISSING].drop_duplicates(ignore_index=True)
    return marked
