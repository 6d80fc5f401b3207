"""Read repeated trials and scores from wherever they are."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence, Set
from dataclasses import replace
from typing import Any, Unpack

import pandas as pd

from bayesjudge.errors import InputError, Problem, UsageError
from bayesjudge.readers.aliases import BATTLE_ALIASES, SCORE_ALIASES, TRIAL_ALIASES, Aliases
from bayesjudge.readers.both_ways import pairs_as_items
from bayesjudge.readers.column_kinds import choices_offered, is_of_two, repeated_ids
from bayesjudge.readers.column_names import means_any, recognise
from bayesjudge.readers.conflicts import choose_one, items_of_files, written
from bayesjudge.readers.items import Items, of_log, read_items, with_items
from bayesjudge.readers.marks import judged_once
from bayesjudge.readers.parts import Part, located, origins, read_parts, unread
from bayesjudge.readers.questions import repeated, to_scores, to_trials
from bayesjudge.readers.reading import Choices, Reading
from bayesjudge.readers.repetitions import repeats_of_what, require_one_criterion
from bayesjudge.readers.sides import codes_to_state, may_be_winners, verdict_among_columns, winners_named, yes_and_no
from bayesjudge.readers.wide import Wide
from bayesjudge.tables import Scores, Trials
from bayesjudge.tables.choices import CHOICE_COLUMNS, other_letters
from bayesjudge.tables.repeat_rows import Layout
from bayesjudge.tables.trials import GIVEN_ITEM, SCORES, SINGLE, TRIALS
from bayesjudge.tables.unfold import COUNT_COLUMNS, SIDE_COLUMNS, score_columns

TRIAL_NAMES = (*TRIALS.columns, *COUNT_COLUMNS, *CHOICE_COLUMNS)
SCORE_NAMES = (*SCORES.columns, *SIDE_COLUMNS)

_REPEATED_ITEMS = {name: TRIAL_ALIASES[name] for name in ("item", "category")}


def read_trials(source: Any, *, columns: Mapping[str, str] | None = None) -> Trials:
    """Read repeated comparisons from a file, several files, standard input or a table in memory.

    Parameters
    ----------
    source : str, path or table
        A CSV, TSV, JSONL, JSON or Parquet file (also with ``.gz``), a pattern such as ``"logs/*.jsonl"``,
        ``"-"`` for standard input, or a pandas, Polars, pyarrow or Ibis table: one row a trial, or one row a
        cell with counts ``n_a, n_b, n_tie``.
    columns : mapping of str to str, optional
        Our name to yours: ``{"outcome": "winner"}``. Common names of known formats need no mapping, see
        `bayesjudge.readers.aliases.TRIAL_ALIASES`.

    Returns
    -------
    Trials

    Raises
    ------
    InputError
        A file that cannot be read, columns that could mean two things, and every problem that
        `Trials.from_frame` finds. Row numbers count from 1 after the header, in the file that is named.
    UsageError
        An unknown file ending, or a mapping that fits no column.

    Examples
    --------
    >>> frame = pd.DataFrame({"question_id": ["q1", "q1"], "run": [0, 1], "winner": ["model_a", "tie"]})
    >>> read_trials(frame).frame[["item", "trial", "outcome"]].values.tolist()
    [['q1', '0', 'a'], ['q1', '1', 'tie']]
    """
    parts = read_parts(source, taken=columns)
    return _trials([to_trials(part) for part in parts], columns, Reading())


def read_scores(source: Any, *, columns: Mapping[str, str] | None = None) -> Scores:
    """Read repeated scores of single responses; sources and errors as for `read_trials`.

    Parameters
    ----------
    source : str, path or table
        One row a score, one row a response with numbered columns (``s0``, ``s1``, ...), or one row a
        comparison with ``score_a`` and ``score_b``.
    columns : mapping of str to str, optional
        Our name to yours: ``{"score": "rating"}``. Common names of known formats need no mapping, see
        `bayesjudge.readers.aliases.SCORE_ALIASES`.

    Returns
    -------
    Scores

    Raises
    ------
    InputError
        As `read_trials`, and every problem that `Scores.from_frame` finds.
    UsageError
        An unknown file ending, or a mapping that fits no column.

    Examples
    --------
    >>> frame = pd.DataFrame({"item_id": ["q1"], "response": [0], "s0": [7], "s1": [8]})
    >>> read_scores(frame).frame[["item", "trial", "score"]].values.tolist()
    [['q1', '0', 7.0], ['q1', '1', 8.0]]
    """
    parts = read_parts(source, taken=columns)
    return _scores([to_scores(part) for part in parts], columns, Reading())


def read_repeats(
    source: Any,
    *,
    scores: Any = None,
    columns: Mapping[str, str] | None = None,
    refuse_doubtful: bool = False,
    **choices: Unpack[Choices],
) -> tuple[Trials | None, Scores | None]:
    """Read a table that holds comparisons, scores, or both (a verdict and ``score_a``, ``score_b`` a row).

    Parameters
    ----------
    source : str, path or table
        As in `read_trials` and `read_scores`.
    scores : str, path or table, optional
        A second table, of scores; then the first holds comparisons.
    columns : mapping of str to str, optional
        Our name to yours, of either.
    refuse_doubtful : bool, default False
        Refuse rows that another column or the file tells apart, in place of a warning that they count as repetitions.
    **choices
        What else to say of the first table, see `Reading`: ``format, put, where, items``, as in
        ``where="prompt=base"``.

    Returns
    -------
    trials : Trials or None
        Where there is an outcome, or counts of outcomes.
    scores : Scores or None
        Where there are scores.

    Raises
    ------
    InputError
        Neither, or every problem that the tables find.
    UsageError
        An unknown file ending, a mapping that fits no column, a choice of rows that there are none of.

    Examples
    --------
    >>> both = pd.DataFrame({"item": ["q"], "winner": ["a"], "score_a": [8], "score_b": [6]})
    >>> trials, scores = read_repeats(both)
    >>> len(trials), scores.frame["response"].tolist()
    (1, ['a', 'b'])
    """
    mapped = dict(columns or {})
    reading = Reading(**choices)
    read = [judged_once(part) for part in read_parts(source, reading, taken=mapped)]
    parts = repeated(read, mapped=mapped)
    if reading.wide is not None and Wide.parsed(reading.wide).verdicts:
        # That is what the columns were said to hold, whatever others may be called.
        mapped.setdefault("outcome", "verdict")
    if scores is not None:
        others = [to_scores(part) for part in read_parts(scores, taken=mapped)]
        first, second = _here(mapped, parts, others), _here(mapped, others, parts)
        return _trials(parts, first, reading), _scores(others, second, Reading())
    found = [str(column) for column in parts[0].frame.columns]
    compared, scored = _outcome_columns(found, _with_picks(parts[0], mapped)[0]), _score_columns(found, mapped)
    if compared == list(COUNT_COLUMNS[:2]):
        _require_no_votes(parts[0], {*found, *mapped})
    if not (compared or scored):
        raise parts[0].explained(InputError([_neither(found)], options=choices_offered(parts[0].frame)))
    # Of a log with both, the rows that are used may hold one of them alone.
    empty = [names for names in (compared, scored) if names and not _filled(parts, names)]
    left_out = empty[0] if compared and scored and len(empty) == 1 else None
    said = (f"no value in {' or '.join(left_out)} of the rows used: not looked at",) if left_out else ()
    trials = scores = None
    if compared and compared is not left_out:
        of_trials = _mapped(mapped, TRIAL_NAMES, SCORE_NAMES)
        trials = _trials(parts, of_trials, reading, refuse=refuse_doubtful)
        trials = replace(trials, warnings=said + trials.warnings)
    if scored and scored is not left_out:
        of_scores = _mapped(mapped, SCORE_NAMES, TRIAL_NAMES)
        scores = _scores(parts, of_scores, reading, refuse=refuse_doubtful)
        scores = replace(scores, warnings=said + scores.warnings)
    return trials, scores


def _with_picks(part: Part, mapped: Mapping[str, str]) -> tuple[dict[str, str], tuple[str, ...]]:
    """The mapping with a plain table's column of what judges chose of two models, where no other has outcomes."""
    if part.tool is not None:
        return dict(mapped), ()
    known = {**_known(list(map(str, part.frame.columns)), mapped, TRIAL_ALIASES), **mapped}
    chosen, said = verdict_among_columns(part.frame, known, verdict="outcome", human="human")
    return ({**mapped, "outcome": chosen["outcome"]}, said) if said and "outcome" in chosen else (dict(mapped), ())


def _require_no_votes(part: Part, found: Set[str]) -> None:
    """Counts in a table of people's decisions, without a judge, are how many people decided so."""
    people = [name for name in found if means_any([name], ["human", *BATTLE_ALIASES["human"][0]])]
    if people and not means_any(found, ["judge", *BATTLE_ALIASES["judge"][0]]):
        raise UsageError(
            f"{part.name} holds people's votes: n_a and n_b with {people[0]!r}, and no judge; "
            "--set judge=NAME states that one judge made these comparisons",
            lacks="a judge's comparisons or scores",
        )


def _outcome_columns(found: Sequence[str], columns: Mapping[str, str]) -> list[str]:
    """The table's columns that hold outcomes, or counts of them."""
    known = {**_known(found, columns, TRIAL_ALIASES), **columns}
    counted = [known.get(name, name) for name in COUNT_COLUMNS[:2]]
    names = [known["outcome"]] if "outcome" in known else ["slot"] if "slot" in found else counted
    return names if set(names) <= {*found, *columns.values()} else []


def _score_columns(found: Sequence[str], columns: Mapping[str, str]) -> list[str]:
    """The table's columns that hold scores."""
    known = {**_known(found, columns, SCORE_ALIASES), **columns}
    if "score" in known:
        return [known["score"]]
    sides = [known.get(name, name) for name in SIDE_COLUMNS]
    return list(score_columns(found)) or (sides if set(sides) <= {*found, *columns.values()} else [])


def _filled(parts: Sequence[Part], names: Sequence[str]) -> bool:
    """Whether any row has a value in any of these columns."""
    # A name may stand above two columns: `Trials` and `Scores` say so.
    return any(part.frame.loc[:, part.frame.columns.isin(names)].notna().to_numpy().any() for part in parts)


def _known(found: Sequence[str], columns: Mapping[str, str], aliases: Aliases) -> dict[str, str]:
    """Our names that the table has, under these or others; columns of the user's own mapping are theirs."""
    taken = set(columns.values())
    value = {name: words for name, words in aliases.items() if name in {"outcome", "score"}}
    mapping, _ = recognise([name for name in found if name not in taken], aliases=value)
    return {**mapping, **{name: name for name in value if name in found}}


def _mapped(columns: Mapping[str, str], own: Sequence[str], other: Sequence[str]) -> dict[str, str]:
    """The part of a mapping that is not about the other kind of table alone."""
    return {name: column for name, column in columns.items() if name in own or name not in other}


def _here(columns: Mapping[str, str], own: Sequence[Part], other: Sequence[Part]) -> dict[str, str]:
    """The part of a mapping that is not about columns of the other table alone."""
    mine, theirs = ({str(name) for part in parts for name in part.frame.columns} for parts in (own, other))
    return {name: column for name, column in columns.items() if column in mine or column not in theirs}


def _neither(found: Sequence[str]) -> Problem:
    return Problem(
        column="outcome",
        found=f"neither outcomes nor scores; the table has {list(found)}",
        allowed="a column outcome (a, b, tie), counts n_a and n_b, or a column score",
        fix="Say which column it is: columns={'outcome': 'your_column'}, or --column outcome=your_column.",
    )


def _trials(
    parts: Sequence[Part], columns: Mapping[str, str] | None, reading: Reading, *, refuse: bool = False
) -> Trials:
    mapped, picked = _with_picks(parts[0], columns or {})
    items = read_items(reading.items, mapped, aliases=_REPEATED_ITEMS, names=TRIAL_NAMES)
    frame, named, warnings = _named(parts, mapped, TRIAL_ALIASES, TRIAL_NAMES, items)
    warnings += picked
    if "slot" in frame:
        _require_chosen_slots(frame, named[0], columns or {})
    else:
        frame, read = winners_named(frame, ["outcome"], [named[0].read_as.get("outcome", "outcome")])
        frame, worded = yes_and_no(frame, "outcome", named[0].read_as.get("outcome", "outcome"))
        frame, paired = pairs_as_items(frame, values=["outcome"], given=GIVEN_ITEM)
        warnings += read + worded + paired
    _require_one_criterion(frame, named, TRIALS)
    try:
        trials = Trials.from_frame(frame)
    except InputError as error:
        found = located(error.problems, named)
        better = codes_to_state(frame, found) or _apart(frame, found, TRIALS, written(named[0], reading.put))
        raise better or InputError(found, options=_named_as_item(named[0], error)) from error
    warnings += _of_what(frame, named, TRIALS, TRIAL_NAMES, assumed=trials.warnings, refuse=refuse)
    notes = tuple(dict.fromkeys(warnings + trials.warnings))
    # A winner is one of two, whatever it is written as.
    single = trials.single and not is_of_two(named[0].read_as.get("outcome", "outcome"))
    notes = tuple(note for note in notes if single or note != SINGLE)
    whole = replace(trials, single=single, warnings=notes, source=origins(parts))
    return replace(whole, dropped={**unread(parts), **trials.dropped})


def _require_chosen_slots(frame: pd.DataFrame, part: Part, columns: Mapping[str, str]) -> None:
    """Letters of a column slot that are not those of the outcomes may be places of the right option."""
    if part.tool is not None or "slot" in columns or not (differ := other_letters(frame)).any():
        return
    outcome, row = part.read_as.get("outcome", "outcome"), int(differ.to_numpy().argmax())
    said = " and ".join(repr(str(frame[name].iloc[row])) for name in ("outcome", "slot"))
    raise UsageError(
        f"columns {outcome!r} and 'slot' have different letters in {differ.sum()} of {len(differ)} rows, as {said}. If "
        f"'slot' is the place of the right option, leave it out and give a column order (the options as shown, "
        f"as in 'c,a,b'; A is then the first); if it is that of the chosen one, and {outcome!r} its name, type "
        "--column slot=slot"
    )


def _named_as_item(part: Part, error: InputError) -> list[str]:
    """The option that takes the column of responses, or the one of ids, for that of items, which alone is lacking."""
    if [problem.column for problem in error.problems] != ["item"] or "item" in part.frame:
        return []
    theirs = part.read_as.get("response", "response")
    found = [theirs] if means_any([theirs], ["response_id"]) else repeated_ids(part.frame)
    return [f"--column {shlex.quote(f'item={name}')}" for name in found] if len(found) == 1 else []


def _scores(
    parts: Sequence[Part], columns: Mapping[str, str] | None, reading: Reading, *, refuse: bool = False
) -> Scores:
    items = read_items(reading.items, columns, aliases=_REPEATED_ITEMS, names=SCORE_NAMES)
    frame, named, warnings = _named(parts, columns, SCORE_ALIASES, SCORE_NAMES, items)
    frame, paired = pairs_as_items(frame)
    warnings += paired + _numbered(frame)
    if "score" in frame and parts[0].tool is None:
        theirs = named[0].read_as.get("score", "score")
        warnings += tuple(filter(None, may_be_winners(frame, "score", theirs, ours="outcome")[1:]))
    _require_one_criterion(frame, named, SCORES)
    try:
        scores = Scores.from_frame(frame)
    except InputError as error:
        found = located(error.problems, named)
        raise _apart(frame, found, SCORES, written(named[0], reading.put)) or InputError(
            found, options=_named_as_item(named[0], error)
        ) from error
    warnings += _of_what(frame, named, SCORES, SCORE_NAMES, assumed=scores.warnings, refuse=refuse)
    notes = tuple(dict.fromkeys(warnings + scores.warnings))
    return replace(scores, dropped={**unread(parts), **scores.dropped}, warnings=notes, source=origins(parts))


def _require_one_criterion(frame: pd.DataFrame, parts: Sequence[Part], layout: Layout) -> None:
    keys = (*layout.keys, *layout.conditions)
    require_one_criterion(frame, parts, value=layout.value, keys=keys, number="trial")


def _apart(
    frame: pd.DataFrame, problems: Sequence[Problem], layout: Layout, joined: Mapping[str, str]
) -> InputError | None:
    keys = (*layout.keys, "trial", *layout.conditions)
    return choose_one(frame, problems, value=layout.value, keys=keys, known=layout.columns, joined=joined)


def _of_what(
    frame: pd.DataFrame,
    parts: Sequence[Part],
    layout: Layout,
    names: Sequence[str],
    *,
    assumed: Sequence[str],
    refuse: bool,
) -> tuple[str, ...]:
    return repeats_of_what(
        frame,
        parts,
        value=layout.value,
        keys=(*layout.keys, *layout.conditions),
        number="trial",
        known=names,
        assumed=assumed,
        refuse=refuse,
    )


def _numbered(frame: pd.DataFrame) -> tuple[str, ...]:
    """What numbered columns were taken for: models may have numbers too."""
    found = () if "score" in frame else tuple(score_columns(map(str, frame.columns)))
    if not found:
        return ()
    wide = shlex.quote(f"score:model={','.join(found)}")
    said = f"columns {', '.join(map(repr, found))} were read as repeated scores of one response"
    return (f"{said}; if each is a model's: --wide {wide}",)


def _named(
    parts: Sequence[Part],
    columns: Mapping[str, str] | None,
    aliases: Aliases,
    names: Sequence[str],
    items: Items | None,
) -> tuple[pd.DataFrame, list[Part], tuple[str, ...]]:
    """All rows under our names, each file under them, and what was guessed."""
    files: list[Part] = []
    warnings: tuple[str, ...] = ()
    for part in parts:
        # A numbered column is a trial's scores, not the name of a trial or an item.
        numbered = score_columns(map(str, part.frame.columns)) if "score" in names else {}
        found = [column for column in map(str, part.frame.columns) if column not in numbered]
        mapping, doubts = part.recognised(of_log(part.frame, columns, items), aliases, found=found)
        named, moved = part.named(mapping, names)
        files.append(named)
        warnings += part.notes + doubts + moved
    files, said = items_of_files(files, names, [items.frame] if items else ())
    frame, joined = with_items(pd.concat([one.frame for one in files], ignore_index=True), items)
    return frame, files, warnings + said + joined
