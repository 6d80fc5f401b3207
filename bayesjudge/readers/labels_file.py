"""A second file of people's labels, or several, under our names: ``--gold``."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

import pandas as pd

from bayesjudge.errors import InputError, Problem
from bayesjudge.readers.aliases import GOLD_ALIASES, VERDICT_ALIASES, Aliases
from bayesjudge.readers.column_names import means_any, reference_answers
from bayesjudge.readers.filters import ROW, keep_alike
from bayesjudge.readers.items import Items, labels_by_model, labels_together
from bayesjudge.readers.marks import label_columns, one_mark_a_row, people_together
from bayesjudge.readers.meaning import only_decisions, values_said
from bayesjudge.readers.parts import Part, origins, read_parts, unread, with_rows
from bayesjudge.readers.reading import Reading
from bayesjudge.readers.single import labels_meaning_yes
from bayesjudge.readers.values import with_paths
from bayesjudge.tables.coding import UNKNOWN, code_binary
from bayesjudge.tables.columns import name_columns


def read_labels_files(
    labels: Any, columns: Mapping[str, str] | None, reading: Reading, models: Collection[str]
) -> tuple[Items | None, dict[str, pd.Series[Any]]]:
    """Labels of one table or of a list of them, which may have other names in each; columns of labels as they came.

    models: The names of the log's models, of each of which a table may have a column.
    """
    sources = labels if isinstance(labels, list | tuple) else [] if labels is None else [labels]
    read = [_read_labels(source, columns, reading, models) for source in sources]
    if len(read) < 2:
        return read[0] if read else (None, {})
    cells = [came for _, came in read]
    names = dict.fromkeys(name for one in cells for name in one)
    grades = {name: pd.concat([one[name] for one in cells if name in one]) for name in names}
    return labels_together([found for found, _ in read]), grades


def _read_labels(
    labels: Any, columns: Mapping[str, str] | None, reading: Reading, models: Collection[str]
) -> tuple[Items, dict[str, pd.Series[Any]]]:
    """A labels table under our names, and its columns of labels as they came."""
    paths = [*(columns or {}).values(), *filter(None, [reading.label_criterion[0]])]
    read = [_as_marks(part) for part in read_parts(labels)]
    read = [part if part.tool else replace(part, frame=with_paths(part.frame, paths)) for part in read]
    parts, chosen = _of_the_same_rows(read, columns or {}, reading)
    # One file's chosen rows keep their places in it, for messages.
    several = len(parts) > 1 or parts[0].frame.index.name != ROW
    frame = pd.concat([part.frame for part in parts]).reset_index(drop=True) if several else parts[0].frame
    mine = {
        name: column for name, column in (columns or {}).items() if name in GOLD_ALIASES and column in frame.columns
    }
    frame, wide = labels_by_model(frame, parts[0].name, models, mine.values())
    people = label_columns(frame.columns, parts[0].name, reading)
    if len(people) == 1:
        mine["label"] = people[0]
    cells, frame = frame[[*people]], frame if len(people) < 2 else frame.drop(columns=[*people])
    said = values_said(parts, reading, mine, options=("label",))
    aliases = without_label(GOLD_ALIASES) if len(people) > 1 else GOLD_ALIASES
    mapping, doubts = replace(parts[0], frame=frame).recognised(mine, aliases)
    named, moved = name_columns(frame, mapping, names=tuple(GOLD_ALIASES))
    named = named.set_axis(frame.index)
    doubtful = () if len(people) > 1 else reference_answers(named, "label")
    if doubtful:
        raise InputError(
            [
                Problem(
                    column="labels.label",
                    found=text,
                    fix="Map the column, or rename it.",
                    allowed="a column named label, human_label, gold_label or annotator_label",
                )
                for text in doubtful
            ]
        )
    theirs = mapping.get("label", "label")
    # Values of another column, the log's, are not of labels that are 0 and 1 already.
    if not people and reading.label_criterion[0] not in {"label", theirs} and "label" in named:
        reading = reading if (code_binary(named["label"]) == UNKNOWN).any() else replace(reading, label=None)
    named, lost = only_decisions(named, reading, {"label": theirs})
    cells, of_people = only_decisions(cells, reading, {name: name for name in people})
    # Grades with a threshold or values of their own are not for the judge's.
    own = reading.of_labels is not reading or reading.label_criterion[1]
    columns_of_labels: dict[str, Any] = people_together(cells, reading) or {theirs: named.get("label")}
    came = {} if own else {name: column for name, column in columns_of_labels.items() if column is not None}
    if len(people) > 1:
        named = one_mark_a_row(named, cells, parts[0].name, reading)
    else:
        named = labels_meaning_yes(named, parts[0].name, reading, label=theirs)
    found = Items(
        frame=named,
        came_with=frozenset({*frame.columns, *people}),
        notes=chosen + wide + doubts + moved + said + lost + of_people,
        source=origins(parts),
        name=parts[0].name,
        dropped={f"labels table: {reason}": n for reason, n in unread(parts).items()},
    )
    return found, came


def _of_the_same_rows(
    parts: list[Part], columns: Mapping[str, str], reading: Reading
) -> tuple[list[Part], tuple[str, ...]]:
    """Of labels, the rows that the log's conditions choose: those by another criterion are none of its verdicts."""
    who_said = ("judge", "verdict", "label")
    names = {other for name in who_said for part in VERDICT_ALIASES[name] for other in part} | {*who_said}
    names |= {columns.get(name, name) for name in who_said} | {*filter(None, [reading.label_criterion[0]])}
    rows = [(part.name, part.frame) for part in parts]
    found, notes = keep_alike(rows, reading.where, lambda column: means_any([column], [*names]))
    return [with_rows(part, frame) for part, frame in zip(parts, found, strict=True)], notes


def _as_marks(part: Part) -> Part:
    """Of a format whose scores may be people's grades, these as labels."""
    if part.tool is None or not part.tool.grades or "score" not in part.frame:
        return part
    frame = part.frame.rename(columns={"score": "label"}).drop(columns=["judge"], errors="ignore")
    return replace(part, frame=frame)


def without_label(aliases: Aliases) -> Aliases:
    """The names of columns but that of labels: they are in columns that the user has named."""
    return {name: others for name, others in aliases.items() if name != "label"}
