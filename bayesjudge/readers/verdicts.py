"""Read judge verdicts from wherever they are."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any, Unpack

import pandas as pd

from bayesjudge.errors import InputError, Problem
from bayesjudge.readers.aliases import ITEM_ALIASES, VERDICT_ALIASES
from bayesjudge.readers.column_names import listed_columns, means_any, reference_answers
from bayesjudge.readers.conflicts import choose_one, items_of_files, other_items, several_answers, written
from bayesjudge.readers.criteria import cut_instead, first_words, unread_scores, verdicts_in_objects
from bayesjudge.readers.format import NO_JUDGES
from bayesjudge.readers.items import Items, by_answer, labels_together, models_of, of_log, read_items, with_items
from bayesjudge.readers.labels_file import read_labels_files, without_label
from bayesjudge.readers.marks import label_columns, one_mark_a_row, people_apart, people_in_lists, people_together
from bayesjudge.readers.meaning import of_one_kind, only_decisions, values_among, values_said
from bayesjudge.readers.parts import Part, located, origins, read_parts, said_once, unread
from bayesjudge.readers.questions import marks_apart, to_verdicts
from bayesjudge.readers.reading import Choices, Reading
from bayesjudge.readers.repetitions import repeats_of_what, require_one_criterion
from bayesjudge.readers.single import (
    judge_as_verdict,
    judges_as_models,
    looks_like_items,
    meaning_yes,
    on_one_scale,
    one_system,
    require_models,
    require_no_judges,
    require_no_tasks,
    words_offered,
)
from bayesjudge.readers.wide import Wide, looks_wide, may_be_labels, says_yes_and_no
from bayesjudge.tables import Verdicts
from bayesjudge.tables.columns import label_source
from bayesjudge.tables.verdict_rows import NAMES

#: Our columns that hold decisions.
_SAID = ("verdict", "label")
#: What a judge decides once.
_KEYS = ("item", "model", "judge")


def read_verdicts(
    source: Any,
    *,
    columns: Mapping[str, str] | None = None,
    labels: Any = None,
    refuse_doubtful: bool = False,
    **choices: Unpack[Choices],
) -> Verdicts:
    """Read judge verdicts from a file, several files, standard input or a table in memory.

    Parameters
    ----------
    source : str, path or table
        A CSV, TSV, JSONL, JSON or Parquet file (also with ``.gz``) or the log of a tool, see
        `bayesjudge.readers.formats`; a folder of them, a pattern such as ``"logs/*.jsonl"``, ``"-"`` for
        standard input, or a pandas, Polars, pyarrow or Ibis table. CSV and TSV cells are text. Without a
        column of models the answers are one system's, named after the file.
    columns : mapping of str to str, optional
        Our name to yours: ``{"verdict": "score"}``. Common names of known formats need no mapping, see
        `bayesjudge.readers.aliases.VERDICT_ALIASES`.
    labels : str, path or table, or a list of these, optional
        Gold labels by item and model, or by item alone; the same mapping applies where it names their
        columns. By default the marks of people that a tool's log holds.
    refuse_doubtful : bool, default False
        Refuse rows that another column or the file tells apart, in place of a warning that they count as repetitions.
    **choices
        What else to say of the file, see `Reading`: ``format, verdict, label, threshold, put, where, items,
        texts``.

    Returns
    -------
    Verdicts

    Raises
    ------
    InputError
        A file that cannot be read, columns that could mean two things, and every problem that
        `Verdicts.from_frame` finds. Row numbers count from 1 after the header, in the file that is named.
    UsageError
        An unknown file ending, or a mapping that fits no column.

    Examples
    --------
    >>> frame = pd.DataFrame({"question_id": ["q1"], "model_name": ["m"], "score": ["pass"]})
    >>> read_verdicts(frame).frame[["item", "model", "verdict"]].to_dict("records")
    [{'item': 'q1', 'model': 'm', 'verdict': 1}]
    >>> read_verdicts(frame.assign(score=7), threshold=">=6").frame["verdict"].tolist()
    [1]
    """
    reading = Reading(**choices)
    parts = read_parts(source, reading, taken=columns)
    models = () if labels is None else models_of(parts, columns or {})
    gold, grades = read_labels_files(labels, columns, reading, models)
    items = read_items(reading.items, columns, aliases=ITEM_ALIASES, names=NAMES)
    warnings = () if gold is None else gold.notes
    # What is said of labels is about the second file's columns, where it has them, and about labels here of that name.
    elsewhere = gold is not None and label_columns(gold.came_with, "the labels file", reading)
    mine = replace(reading, label=None) if elsewhere and not _holds_labels_too(parts, columns, reading) else reading
    apart = people_in_lists(parts, mine, columns or {}) if gold is None else (parts, mine, columns, ())
    parts, mine, columns, said = apart
    warnings += said + values_said(parts, mine, columns, options=("verdict", "label"))
    parts = [to_verdicts(part, mine, mapped=columns or ()) for part in parts]
    named, marks, noted, among = [], [], [], lru_cache(partial(values_among, parts))
    for part in parts:
        one, notes, theirs = _named(part, mine, of_log(part.frame, columns, gold, items), grades, among=among)
        named.append(one)
        marks += [] if theirs is None else [theirs]
        doubtful = () if gold or part.tool else reference_answers(one.frame, "label")
        doubtful += () if gold or part.tool or theirs is not None else may_be_labels(one.frame)
        noted.append((part, notes + doubtful))
    require_models(named)
    require_no_tasks(named)
    require_no_judges(parts, named)
    if gold is None and not marks:
        named, marks, said = people_apart(named)
        warnings += said
    elif gold is not None and marks:
        here = Items(frame=pd.concat(marks), came_with=frozenset(), notes=(), source=())
        gold, marks = labels_together([gold, here]), []
    warnings += said_once(noted)
    named, said = items_of_files(named, NAMES, [one.frame for one in (gold, items) if one])
    frame, joined = with_items(named[0].frame if len(named) == 1 else pd.concat([one.frame for one in named]), items)
    warnings += said + joined
    whole = frame
    gold = gold and replace(gold, frame=by_answer(gold.frame, frame))
    frame, people = (whole, gold.frame.reset_index(drop=True)) if gold else marks_apart(whole, parts)
    people = pd.concat(marks, ignore_index=True) if marks else people
    warnings += of_one_kind(frame, people, reading)
    require_one_criterion(whole, named, value="verdict", keys=_KEYS, number="run")
    try:
        verdicts = Verdicts.from_frame(frame.reset_index(drop=True), labels=people)
    except InputError as error:
        problems = located(error.problems, named, gold.frame if gold else None)
        better = _offered(frame, problems, named, parts[0], taken=(columns or {}).values(), reading=reading)
        raise better or parts[0].explained(InputError(problems)) from error
    warnings += repeats_of_what(
        whole,
        named,
        value="verdict",
        keys=_KEYS,
        number="run",
        known=NAMES,
        assumed=verdicts.warnings,
        refuse=refuse_doubtful,
    )
    if not any(part.tool or "judge" in one.frame for part, one in zip(parts, named, strict=True)):
        warnings += judges_as_models(verdicts.frame, named[0].read_as, reading)
    return replace(
        verdicts,
        warnings=tuple(dict.fromkeys(warnings + verdicts.warnings)),
        dropped={**unread(parts), **(gold.dropped if gold else {}), **verdicts.dropped},
        source=origins(parts) + tuple(one for other in (gold, items) if other for one in other.source),
        cluster=parts[0].cluster,
        metric=_metric(parts[0], verdicts.frame["judge"].unique()),
        label_source=label_source({"label": reading.label} if reading.label else columns, verdicts.frame, "label"),
    )


def _offered(
    frame: pd.DataFrame,
    problems: Sequence[Problem],
    named: Sequence[Part],
    part: Part,
    *,
    taken: Collection[str],
    reading: Reading,
) -> InputError | None:
    """The problems with the options by which the table may be read; None where there are none.

    named: The files under our names.
    part: The first one, as it is.
    taken: Columns that the user named.
    reading: What the user said of the file.
    """
    better = looks_like_items(frame, problems)
    if "verdict" not in frame:
        wide = looks_wide(part.frame, part.name, problems, taken=taken)
        # Next to people's labels the table is read well enough to need no tool's format.
        better = better or (part.explained(wide) if wide and "label" not in frame else wide)
        better = better or (None if part.tool else verdicts_in_objects(part.frame, part.name, problems))
    if all(one.read_as == named[0].read_as for one in named):
        where = f" in {len(named)} files, here of {named[0].name}" if len(named) > 1 else ""
        better = better or words_offered(frame, problems, named[0].read_as, where=where)
    joined = written(named[0], reading.put)
    better = better or choose_one(frame, problems, value="label", keys=("item", "model"), known=NAMES, joined=joined)
    labels = label_columns(part.frame.columns, part.name, reading) or [named[0].read_as.get("label", "label")]
    better = better or other_items(part.frame, problems, labels, named[0].read_as)
    return better or several_answers(frame, problems, joined)


def _metric(part: Part, judges: Iterable[str]) -> str | None:
    """What a tool's rows have verdicts in where no judge gave them: scores, or verdicts."""
    if part.tool is None or not NO_JUDGES.issuperset(judges):
        return None
    return "score" if "score" in part.frame and part.frame["score"].notna().any() else "verdict"


def _named(
    part: Part,
    reading: Reading,
    mapped: dict[str, str],
    grades: Mapping[str, Any],
    *,
    among: Callable[[str], Sequence[Any]],
) -> tuple[Part, tuple[str, ...], pd.DataFrame | None]:
    """A file under our names, what was assumed, and marks of several people in columns.

    grades: People's of a second file, by the names of its columns.
    among: A column's values in all files.
    """
    people = () if part.tool else label_columns(part.frame.columns, part.name, reading)
    several = people if len(people) > 1 else ()
    cells, part = part.frame[[*several]], replace(part, frame=part.frame.drop(columns=[*several]))
    aliases = without_label(VERDICT_ALIASES) if several else VERDICT_ALIASES
    put = {name: name for name in reading.put if name in NAMES}
    there = [name for name in map(str, part.frame.columns) if not says_yes_and_no(part.frame, name)]
    mapping, doubts = part.recognised(_chosen(part, reading, people) | mapped | put, aliases, found=there)
    one, moved = part.named(mapping, NAMES)
    whole, assumed = one_system(one.frame, part.stem, wide=reading.wide)
    theirs = one.read_as.get("label", "label")
    scaled: tuple[str, ...] = ()
    if part.tool is None:
        names = {name: one.read_as.get(name, name) for name in _SAID}
        whole, lost = only_decisions(whole, reading, names, among=among)
        cells, of_people = only_decisions(cells, reading, {name: name for name in people}, among=among)
        mine = people_together(cells, reading) | ({theirs: whole["label"]} if "label" in whole else {})
        scaled = lost + of_people + on_one_scale({**grades, **mine}, whole.get("verdict"), reading, among=among)
        if "verdict" in whole:
            scaled += unread_scores(whole["verdict"], names["verdict"], reading)
            replies, said = first_words(whole["verdict"], names["verdict"], reading)
            whole, scaled = whole.assign(verdict=replies), scaled + said
        chosen = (
            "verdict" in mapped | put or reading.criterion[0] or (reading.wide and Wide.parsed(reading.wide).verdicts)
        )
        # Next to a column that the user chose, one called score is not the judge's.
        judged = whole.drop(columns="score", errors="ignore") if chosen else whole
        scaled += cut_instead(judged, names["verdict"], reading)
        read = meaning_yes(judged, part.name, reading, label=theirs)
        whole = whole.assign(**{name: read[name] for name in _SAID if name in read})
    marks = one_mark_a_row(whole, cells, part.name, reading) if several else None
    notes = part.notes + doubts + moved + assumed + scaled
    return replace(one, frame=whole), notes, marks


def _holds_labels_too(parts: Sequence[Part], columns: Mapping[str, str] | None, reading: Reading) -> bool:
    """Whether a plain log has the column of labels that a second file has, too, and not for the judge's verdicts."""
    column = reading.label_criterion[0] or ""
    judged = {reading.criterion[0], *(theirs for ours, theirs in (columns or {}).items() if ours != "label")}
    names = ["verdict", *VERDICT_ALIASES["verdict"][0], *VERDICT_ALIASES["verdict"][1]]
    columns_of = (list(map(str, part.frame.columns)) for part in parts if part.tool is None)
    there = any(column in own or all(listed_columns(own, one)[0] for one in column.split(",")) for own in columns_of)
    return there and column not in judged and not means_any([column], names)


def _chosen(part: Part, reading: Reading, people: Sequence[str]) -> dict[str, str]:
    """Of a plain table, the columns of the user's choices, and a column ``judge`` that holds verdicts."""
    if part.tool:
        return {}
    label = None if len(people) > 1 else (*people, reading.label_criterion[0])[0]
    chosen = {"verdict": reading.criterion[0], "label": label}
    return {name: column for name, column in chosen.items() if column} | judge_as_verdict(part.frame)
