"""A table without models or items: the answers of one system; and a table's scores as verdicts."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayesjudge.errors import InputError, Problem, UsageError
from bayesjudge.readers.aliases import VERDICT_ALIASES
from bayesjudge.readers.column_kinds import is_human
from bayesjudge.readers.column_names import means_any, means_known
from bayesjudge.readers.criteria import MOST_NAMED, MOST_UNREAD, binary, no_threshold, offered_bounds, words_as_yes
from bayesjudge.readers.filters import ROW
from bayesjudge.readers.format import File
from bayesjudge.readers.meaning import undecided
from bayesjudge.readers.parts import Part
from bayesjudge.readers.reading import Reading
from bayesjudge.readers.values import as_words
from bayesjudge.readers.wide import Wide
from bayesjudge.tables.coding import MISSING, code_binary
from bayesjudge.tables.verdict_rows import NAMES
from bayesjudge.tables.words import code_numbers

#: Share of rows below which a word is no kind of word that may mean yes.
_RARE = 0.01
#: Share of texts that are of files of one name alone, where these are tasks, and of rows whose text another row has.
_NEARLY_ALL, _SHARED = 0.8, 0.4
#: Right and wrong answers from which on two systems do not have the same ones by chance.
_FEW = 5


def one_system(frame: pd.DataFrame, name: str, *, wide: str | None = None) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """The table with the one model that it is about, where it names none; without items, each row is one.

    wide: As in `Reading`: a column for each model, turned into rows, is of one item a row, too.

    A table in which a judge is there twice for an item, and no run says why, could be of several models: it
    stays as it is.

    Examples
    --------
    >>> frame = pd.DataFrame({"item": ["q1", "q2"], "verdict": ["pass", "fail"]})
    >>> one_system(frame, "answers")[0]["model"].tolist()
    ['answers', 'answers']
    """
    if not _lacks_models(frame):
        if "item" in frame or wide is None or Wide.parsed(wide).names != "model":
            return frame, ()
        rows = pd.Series(frame.index + 1, index=frame.index).map(f"{name}, row {{}}".format)
        return frame.assign(item=rows), ("no column of items: each row is an item, which each model answered",)
    if "item" not in frame:
        # Columns or objects of one row, turned into rows of their own, are of one answer.
        place = np.asarray(frame.index) if frame.index.name == ROW else np.arange(len(frame))
        each = frame[[key for key in ("judge", "run") if key in frame]].astype("str").assign(place=place)
        place = np.arange(len(frame)) if each.duplicated().any() else place
        rows = pd.Series(place + 1, index=frame.index).map(f"{name}, row {{}}".format)
        return frame.assign(item=rows, model=name), (
            f"no column of items or models: each row is an item, its answer {name!r}'s",
        )
    keys = [key for key in ("item", "judge", "run") if key in frame]
    if frame.loc[frame["item"].notna(), keys].astype("str").duplicated().any():
        return frame, ()
    return frame.assign(model=name), (f"no column of models: the answers are one system's, {name!r}",)


def _lacks_models(frame: pd.DataFrame) -> bool:
    return "verdict" in frame and not {"model", "model_a", "model_b"} & set(frame.columns)


def require_models(parts: Sequence[Part]) -> None:
    """Refuse several files of which one could be of several models: its rows would be lost next to the others'."""
    lost = [part.name for part in parts if _lacks_models(part.frame)]
    if not lost or len(parts) == 1:
        return
    # Where another file has a column of models, names of files would take its place.
    guessed = all(_lacks_models(part.frame) or part.frame["model"].eq(part.stem).all() for part in parts)
    options = ["--set 'model={file}'"] if guessed else []
    problem = Problem(
        column="model",
        found=f"no such column in {len(lost)} of {len(parts)} files, for instance {lost[0]}, which have an item twice",
        allowed="a column of models in each file, or each item once, as the answers of one system",
        fix=f"Say whose answers: {f'each file is a model, {options[0]}' if options else '--column model=...'}.",
    )
    raise InputError([problem], options=options)


def require_no_judges(parts: Sequence[Part], named: Sequence[Part]) -> None:
    """Refuse files without models that are judges': people's labels of every item are the same in each.

    parts: As they were read; named: Under our names, each file as one model where it names none.
    """
    frames = [part.frame for part in named]
    models = any("model" in part.frame or "model" in one.read_as for part, one in zip(parts, named, strict=True))
    if len(parts) == 1 or models or any("label" not in one or "judge" in one for one in frames):
        return
    items, codes = (pd.concat([one[name] for one in frames], ignore_index=True) for name in ("item", "label"))
    labels = pd.DataFrame({"item": as_words(items), "label": code_binary(codes)})[lambda rows: rows["label"] >= 0]
    each = labels.groupby("item")["label"].agg(["size", "nunique", "first"])
    shared = each.loc[each["size"] == len(parts), "first"]
    if (each["nunique"] > 1).any() or shared.value_counts().reindex([0, 1], fill_value=0).min() < _FEW:
        return
    top = Path(os.path.commonpath([File(name=part.name).path.absolute() for part in parts])).name
    options = [f"--set 'judge={{file}}' --set {shlex.quote(f'model={top}')}", "--set 'model={file}'"]
    raise UsageError(
        f"people gave the same label in all {len(parts)} files on each of {len(shared)} items, and no column names a "
        f"model or judge. Where files are judges of the same answers: {options[0]}; where they are systems: "
        f"{options[1]}.",
        lacks=f"a judge or a model for each of {len(parts)} files",
        options=options,
    )


def judges_as_models(frame: pd.DataFrame, read_as: Mapping[str, str], reading: Reading) -> tuple[str, ...]:
    """What is said of models for all of which people gave the same label on every item: they look like judges.

    frame: Verdicts with labels; read_as: Our names of columns to the file's.

    Examples
    --------
    >>> log = pd.DataFrame({"item": [*range(10)] * 2, "model": ["x"] * 10 + ["y"] * 10, "label": [0, 1] * 10})
    >>> print(judges_as_models(log, {"model": "llm"}, Reading())[0])
    people gave all 2 models the same label on each of 10 items, as where models judged one answer: if ...
    """
    labelled = frame.loc[frame["label"].notna(), ["item", "model", "label"]].drop_duplicates()
    models = labelled["model"].nunique()
    each = labelled.groupby("item")["label"].agg(["size", "nunique", "first"])
    shared = each.loc[each["size"] == models, "first"]
    differ = (each["nunique"] > 1).any()
    if models < 2 or differ or shared.value_counts().reindex([0, 1], fill_value=0).min() < _FEW:
        return ()
    typed = f"--column {shlex.quote('judge=' + read_as.get('model', 'model'))}"
    if "model" in reading.put:
        typed = f"--set {shlex.quote('judge=' + reading.put['model'])}"
    elif reading.wide is not None and Wide.parsed(reading.wide).names == "model":
        typed = f"--wide {shlex.quote(reading.wide.replace(':model', ':judge', 1))}"
    text = (
        f"people gave all {models} models the same label on each of {len(shared)} items, as where models judged one "
        f"answer: if they did, type {typed}; by these labels no model is better than another"
    )
    return (text,)


def require_no_tasks(parts: Sequence[Part]) -> None:
    """Refuse files named for tasks, whose names would be models': folders have the same names, each with own rows."""
    files = [File(name=part.name) for part in parts]
    pairs = {(file.folder, file.stem) for file in files}
    stems = {file.stem for file in files}
    guessed = all("model" in part.frame and part.frame["model"].eq(part.stem).all() for part in parts)
    if not guessed or not 1 < len(stems) < len(parts) or not (once := _of_tasks(parts)):
        return
    top = Path(os.path.commonpath([file.path.absolute() for file in files]))
    folders = sorted({file.folder for file in files})
    item = f"--set {shlex.quote(f'item={{file}}-{{{once}}}')}"
    judged = f"--set 'judge={{folder}}' --set {shlex.quote(f'model={top.name}')} {item}"
    options = [judged] if any(map(is_human, folders)) else [f"--set 'model={{folder}}' {item}", judged]
    lacks = "a model's name in each row, or for each folder"
    text = f"each folder is a model's or, of one model, a judge's (human: people's): {'; '.join(options)}"
    if len(pairs) < len(parts):
        inner = sorted({file.path.absolute().relative_to(top).parts[0] for file in files})
        options, lacks = [], f"one model's files: name one folder in {top.name} ({', '.join(inner[:MOST_NAMED])})"
        text = lacks
    of = f"{len(parts)} files of {len(stems)} tasks in folders {', '.join(map(repr, folders[:MOST_NAMED]))}"
    raise UsageError(f"{of}, and no column of models: {text}.", lacks=lacks, options=options)


def _of_tasks(parts: Sequence[Part]) -> str:
    """The shortest column that numbers the rows of each file, where one has texts that files of one name share."""
    texts: dict[str, list[pd.Series[str]]] = {}
    for name in (name for name in map(str, parts[0].frame.columns) if name not in NAMES):
        if all(isinstance(part.frame.get(name), pd.Series) for part in parts):
            texts[name] = [as_words(part.frame[name]) for part in parts]
    stems = np.repeat([part.stem for part in parts], [len(part.frame) for part in parts])
    found = {name: pd.concat(each, ignore_index=True) for name, each in texts.items()}
    whose = {name: words.to_frame("word").assign(stem=stems) for name, words in found.items()}
    owned = [name for name, rows in whose.items() if rows["word"].duplicated().mean() >= _SHARED and _owned(rows)]
    once = [name for name, each in texts.items() if all(one.ne("").all() and one.is_unique for one in each)]
    return min(once, key=lambda name: found[name].str.len().sum(), default="") if owned else ""


def _owned(rows: pd.DataFrame) -> bool:
    """Whether nearly every text is in files of one name alone, of which each has several."""
    pairs = rows.drop_duplicates()
    several = pairs["stem"].value_counts().min() > 1
    return bool(several and (~pairs["word"].duplicated(keep=False)).mean() >= _NEARLY_ALL)


def looks_like_items(frame: pd.DataFrame, problems: Sequence[Problem]) -> InputError | None:
    """The problems of a table without items but with a column that each model has once a value; None for others.

    Examples
    --------
    >>> frame = pd.DataFrame({"story": [1, 1, 2, 2], "model": ["x", "y"] * 2, "verdict": [1, 1, 0, 1]})
    >>> lacking = Problem(column="item", found="none", allowed="a column of items", fix="Name it.")
    >>> looks_like_items(frame, [lacking]).options
    ('--column item=story',)
    """
    if "model" not in frame or not any(problem.column == "item" and not problem.rows for problem in problems):
        return None
    once = [name for name in ("model", "judge", "run") if name in frame]
    least = max(2.0, as_words(frame["model"]).nunique() / 2)
    free = [str(name) for name in frame.columns if name not in once and not means_known(str(name))]
    found = [name for name in free if not frame[name].isna().any() and _crosses(frame, name, once, least)]
    options = [f"--column {shlex.quote(f'item={name}')}" for name in found[:MOST_NAMED]]
    fix = f"Each model has every value of {' and of '.join(map(repr, found[:MOST_NAMED]))} once: {'; '.join(options)}."
    known = [replace(one, fix=fix) if one.column == "item" else one for one in problems]
    return InputError(known, options=options) if options else None


def words_offered(
    frame: pd.DataFrame, problems: Sequence[Problem], read_as: Mapping[str, str], *, where: str = ""
) -> InputError | None:
    """The problems of verdicts or labels that are words of some kinds, with an option for each that may mean yes.

    read_as: The file's names of our columns; where: Of several files, whose row numbers they are.

    Examples
    --------
    >>> frame = pd.DataFrame({"verdict": ["FULL", "PARTIAL", "FULL"]})
    >>> wrong = Problem(column="verdict", found="'FULL'", allowed="0 or 1", fix="Recode it.", rows=[1])
    >>> words_offered(frame, [wrong], {"verdict": "coverage"}).options
    ('--verdict coverage=FULL', '--verdict coverage=PARTIAL')
    """
    for name in ("verdict", "label"):
        mine = [problem for problem in problems if problem.column == name and problem.rows]
        if not mine or name not in frame:
            continue
        sure = frame.loc[~undecided(frame[name]), name]
        counts = as_words(sure).loc[lambda words: words != ""].value_counts()
        often, least = counts[:MOST_NAMED], _RARE * counts.sum()
        # Replies are words of their own each; of a few kinds of word some may be replies.
        replies = counts.sum() - often.sum() > MOST_UNREAD * counts.sum()
        kept = {str(word): int(n) for word, n in often.items() if n >= least and "," not in str(word)}
        words, options, fix = words_as_yes(kept, name, read_as.get(name, name))
        if len(counts) < 2 or replies or not words:
            return None
        wrong = name == "verdict" and any(problem.column == "label" and problem.rows for problem in problems)
        if wrong and {*as_words(frame.loc[~undecided(frame["label"]), "label"])} - {""} == {*counts.index} == {*kept}:
            # One by one, the judge's yes could be people's no.
            theirs = words_as_yes(kept, "label", read_as.get("label", "label"))[1]
            options = [f"{one} {other}" for one, other in zip(options, theirs, strict=True)]
            fix = f"Say which mean yes, for people too, who use the same words: {'; '.join(options)}."
        if len(words) < len(kept):
            # One word among yes and no may be a mistake: its rows are named.
            return InputError([replace(one, fix=fix) if one in mine else one for one in problems], options=options)
        others = len(counts) - len(words)
        named = ", ".join(map(repr, words)) + (f" and {others} other{'s' * (others > 1)}" if others else "")
        of_words = replace(mine[0], found=f"words {named}{where}", fix=fix)
        return InputError([*(one for one in problems if one not in mine), of_words], options=options)
    return None


def _crosses(frame: pd.DataFrame, name: str, once: Sequence[str], least: float) -> bool:
    """Whether each value of a column comes once with a model, and with so many of the models."""
    pairs = frame[[name, *once]].apply(as_words)
    answers = pairs[[name, "model"]].drop_duplicates()
    return not pairs.duplicated().any() and len(answers) >= least * pairs[name].nunique()


def judge_as_verdict(frame: pd.DataFrame) -> dict[str, str]:
    """Our name to the column ``judge``, where that holds what the judge said and nothing else could.

    Examples
    --------
    >>> judge_as_verdict(pd.DataFrame({"case": [1, 2], "human": ["yes", "no"], "judge": ["yes", "yes"]}))
    {'verdict': 'judge'}
    """
    if "judge" not in frame or "verdict" in frame or not frame.columns.is_unique:
        return {}
    others = [str(name) for name in frame.columns if name != "judge"]
    strong, weak = VERDICT_ALIASES["verdict"]
    if means_any(others, [*strong, *weak]):
        return {}
    codes = code_binary(frame["judge"])
    return {"verdict": "judge"} if (codes >= 0).any() and (codes >= MISSING).all() else {}


def meaning_yes(frame: pd.DataFrame, name: str, reading: Reading, *, label: str = "label") -> pd.DataFrame:
    """The table with scores read as verdicts and labels, by the user's threshold or values.

    label: The file's own name of the column of labels.
    """
    if "verdict" not in frame:
        return frame
    values = reading.criterion[1]
    if values or reading.threshold is not None or len(_grades(frame["verdict"])):
        frame = frame.assign(verdict=binary(name, frame, "verdict", reading, values))
    return labels_meaning_yes(frame, name, reading, label=label)


def labels_meaning_yes(frame: pd.DataFrame, name: str, reading: Reading, *, label: str = "label") -> pd.DataFrame:
    """The table with people's grades read as labels, by the user's values, or by the threshold of scores."""
    reading, values = reading.of_labels, reading.label_criterion[1]
    grades = _grades(frame["label"]) if "label" in frame else []
    if not (values and "label" in frame) and not len(grades):
        return frame
    if not values and reading.threshold is None:
        numbers = np.asarray(grades)
        if len(np.unique(numbers)) <= MOST_NAMED:
            raise _no_grades(name, label, numbers)
        raise no_threshold(name, label, numbers, option="--label", before=label)
    return frame.assign(label=binary(name, frame, "label", reading, values))


def on_one_scale(
    grades: Mapping[str, pd.Series[Any]],
    scores: pd.Series[Any] | None,
    reading: Reading,
    *,
    among: Callable[[str], Sequence[Any]],
) -> tuple[str, ...]:
    """What is said of people's grades that the judge's threshold cuts, too: none where they have a word of their own.

    grades: By the file's names of the columns, those of several people by the list of them.
    among: A column's values in all files of a log, as those of one may all mean yes.

    Refused where the largest grade is twice the largest score or more, or the other way round, or all mean yes, or no.

    Examples
    --------
    >>> people = {"human": pd.Series([1, 5, 4])}
    >>> on_one_scale(people, pd.Series([2, 5, 5]), Reading(threshold=4), among=lambda name: [])[0]
    "people's grades in 'human' are cut by the judge's threshold 4: 67% mean yes (other: --label 'human>=...')"
    """
    own = reading.of_labels is not reading or reading.label_criterion[1]
    found = {} if own or reading.threshold is None else {name: _grades(column) for name, column in grades.items()}
    judged, notes = code_numbers(scores)[1] if scores is not None else np.zeros(0), []
    for name, values in ((name, values) for name, values in found.items() if len(values)):
        elsewhere = [value for one in {name, *name.split(",")} for value in among(one)]
        every = np.append(values, code_numbers(pd.Series(elsewhere, dtype=object))[1])
        most = sorted([abs(np.max(values)), abs(np.max(judged))]) if len(judged) else [1, 1]
        one_kind = len({reading.passes(value) for value in every}) == 1 < len(set(every))
        if most[1] >= 2 * most[0] or (one_kind and len(judged)):
            raise _on_another_scale(name, values, judged, reading, one_kind=one_kind)
        yes = np.mean([reading.passes(value) for value in values])
        notes.append(
            f"people's grades in {name!r} are cut by the judge's threshold {reading.threshold}: {yes:.0%} mean yes "
            f"(other: --label {shlex.quote(f'{name}>=...')})"
        )
    return tuple(notes)


def _on_another_scale(
    name: str, grades: NDArray[np.float64], judged: NDArray[np.float64], reading: Reading, *, one_kind: bool
) -> UsageError:
    """People's grades that the judge's threshold is not for, with bounds of their own."""
    options = [f"--label {shlex.quote(f'{name}>={bound}')}" for bound in offered_bounds(grades)]
    scores_go, grades_go = (f"from {np.min(one):g} to {np.max(one):g}" for one in (judged, grades))
    same = re.sub(r"^(?![<>])", ">=", str(reading.threshold).strip())
    kind = "yes" if reading.passes(grades[0]) else "no"
    # On one scale, all may be good, which is for the user to state.
    cut = f", and by it all mean {kind} (if so, --label {shlex.quote(f'{name}{same}')})" if one_kind else ""
    return UsageError(
        f"--threshold {reading.threshold} is for the judge's scores, {scores_go}; people's grades in {name!r} "
        f"go {grades_go}{cut}: say which of these mean yes, --label {shlex.quote(f'{name}>=...')}",
        options=options,
    )


def _grades(column: pd.Series) -> Any:
    """The numbers of a column where there are others than 0 and 1 among them; none of a column of words."""
    codes, numbers = code_numbers(column)
    graded = bool(set(numbers) - {0, 1}) and not (codes == -2).any()
    return numbers[codes[codes >= 0]] if graded else []


def _no_grades(name: str, label: str, grades: NDArray[np.float64]) -> InputError:
    """People's grades without a word on which mean yes: by value, as judges' scores may be on another scale."""
    # Thirds that differ in their last digits are one grade, and are typed as one.
    values, counts = np.unique([float(f"{grade:g}") for grade in grades], return_counts=True)
    passing = [",".join(f"{value:g}" for value in values[k:]) for k in range(1, len(values))]
    options = [f"--label {shlex.quote(f'{label}={found}')}" for found in passing]
    shares = 1 - np.cumsum(counts)[:-1] / len(grades)
    said = ", ".join(f"{option} {share:.0%}" for option, share in zip(options, shares, strict=True))
    problem = Problem(
        column="label",
        found=f"grades {', '.join(f'{value:g}' for value in values)} in {name}",
        allowed="0 and 1, yes and no, or grades of which it is stated which mean yes",
        fix=f"Say which mean yes; shares of yes: {said or 'all'}; by --threshold where judges' scores have it too.",
    )
    return InputError([problem], options=options)
