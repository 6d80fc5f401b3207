"""Which of a file's scores is the judge's verdict, which are people's labels, and when a score means yes."""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Mapping, Sequence
from decimal import ROUND_FLOOR, Context
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayesjudge.errors import InputError, Problem, UsageError
from bayesjudge.readers.column_kinds import are_grades, is_measure, is_of_people
from bayesjudge.readers.meaning import denies, means_yes, only_decisions, undecided
from bayesjudge.readers.parts import Part
from bayesjudge.readers.reading import Reading
from bayesjudge.readers.values import as_words, paths_in, with_paths
from bayesjudge.tables.coding import MISSING, UNKNOWN, code_binary, shown
from bayesjudge.tables.words import code_numbers

#: Values in objects among which one that may be the verdict is sought.
_MOST_PATHS = 40
#: Values of a criterion, and criteria, that a message names.
MOST_NAMED = 8
#: Share of scores that may be no numbers, and count as missing, where a threshold is given: with more of them it is no
#: column of scores.
MOST_UNREAD = 0.2
#: A reply that begins with its verdict, as judges write before they explain it.
_REPLY = re.compile(r"\W*(yes|no)[*_\"']*\s*([,.;:!\n]|$)", re.IGNORECASE)
_DOWNWARD = Context(prec=6, rounding=ROUND_FLOOR)
#: Share of yes above which no threshold is offered where another leaves more of no.
_MOST_YES = 0.95
_BLOCKS = "▁▂▃▄▅▆▇█"


def chosen_rows(part: Part, reading: Reading) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """A tool's rows of one criterion with ``verdict`` and ``label`` of 0 and 1, and what was taken."""
    # One record may have given several rows, so places in the file are no index to compute by.
    places, frame = part.frame.index, part.frame.reset_index(drop=True)
    names, none = ("verdict", "score", "label", "criterion"), pd.Series(None, index=frame.index, dtype=object)
    frame = frame.assign(**{name: frame[name].astype(object) if name in frame else none for name in names})
    column, values = reading.criterion
    if column is not None and column in frame and not (frame["criterion"] == column).any():
        # A column of the user's is the verdict, where no criterion has its name.
        frame = frame.assign(verdict=frame[column], criterion=column)
    judged = (frame["verdict"].notna() | frame["score"].notna()).to_numpy()
    marked = frame["label"].notna().to_numpy()
    label, meaning = reading.label_criterion
    if label is not None:
        of_people = judged & (frame["criterion"] == label).to_numpy()
        frame.loc[of_people, "label"] = frame["verdict"].where(frame["verdict"].notna(), frame["score"])
        frame.loc[of_people, ["verdict", "score"]] = None
        judged, marked = judged & ~of_people, marked | of_people
        if not of_people.any() and label in frame and label != "label":
            frame["label"], marked = frame[label], frame[label].notna().to_numpy()
        elif not (marked & (frame["criterion"] == label).to_numpy()).any() and label != "label":
            raise UsageError(_no_criterion(part, "label", label, frame))
    verdict = _one(part, frame.loc[judged, "criterion"], reading.criterion[0], "verdict")
    people = _one(part, frame.loc[marked & ~judged, "criterion"], label or verdict, "label")
    keep = (judged & _of(frame, verdict)) | (marked & ~judged & _of(frame, people))
    frame = frame[keep].set_axis(places[keep])
    frame, silent = only_decisions(frame, reading, {"verdict": verdict or "verdict", "label": people or "label"})
    scores = frame["verdict"].where(frame["score"].isna(), frame["score"])
    lost = () if values else unread_scores(scores, verdict or "score", reading)
    frame = frame.assign(
        verdict=binary(part.name, frame, "verdict", reading, values, named=verdict or "verdict"),
        label=binary(part.name, frame, "label", reading.of_labels, meaning, named=people or "label"),
    )
    notes = (f"verdict: criterion {verdict!r} of {part.tool.name}",) if verdict and part.tool else ()
    return frame, notes + silent + lost


def _of(frame: pd.DataFrame, criterion: str | None) -> NDArray[np.bool_]:
    if criterion is None:
        return np.ones(len(frame), dtype=bool)
    return (frame["criterion"].isna() | (frame["criterion"] == criterion)).to_numpy()


def _one(part: Part, there: pd.Series[Any], wanted: str | None, option: str) -> str | None:
    """The criterion to use: the user's, or the only one."""
    names = sorted(map(str, there.dropna().unique()))
    if not names:
        return None
    if wanted in names:
        return wanted
    if option == "verdict" and wanted is not None:
        raise UsageError(_no_criterion(part, option, wanted, part.frame))
    if len(names) > 1:
        what = "criteria of a judge" if option == "verdict" else "kinds of mark by people"
        raise choice_needed(part, what, [f"--{option} {shlex.quote(name)}" for name in names])
    return names[0]


def choice_needed(part: Part, what: str, options: Sequence[str]) -> UsageError:
    """A file holds several of what a question takes one of; each has its option."""
    named = options[:MOST_NAMED]
    message = f"{part.name} holds {len(options)} {what}; choose one: {'; '.join(named)}"
    return UsageError(message, lacks=f"a choice of one of {len(options)} {what}", options=named)


def _no_criterion(part: Part, option: str, wanted: str, frame: pd.DataFrame) -> str:
    names = sorted(map(str, frame["criterion"].dropna().unique())) if "criterion" in frame else []
    return (
        f"--{option} {wanted!r}: {part.name} has no such criterion; it has "
        f"{', '.join(map(repr, names[:MOST_NAMED])) or 'none'}"
    )


def binary(
    name: str,
    frame: pd.DataFrame,
    column: str,
    reading: Reading,
    values: frozenset[str] = frozenset(),
    *,
    named: str = "",
) -> pd.Series[Any]:
    """Verdicts or labels as they are, or scores by the threshold; missing where there is neither.

    named: What the file calls the column.

    Examples
    --------
    >>> frame = pd.DataFrame({"verdict": [1, 0, 1], "score": [5, 2, None]})
    >>> binary("log.csv", frame, "verdict", Reading(threshold=4)).tolist()
    [1.0, 0.0, 1]
    """
    found = frame[column].astype(object)
    if values:
        return means_yes(found, values)
    scores = found
    if column == "verdict" and "score" in frame:
        scored, said = frame["score"].notna(), code_binary(found)
        # A verdict of yes or no is no score: 1 would be cut as the lowest of a scale.
        if reading.threshold is not None and scored.any() and (said >= MISSING).all():
            cut = frame.assign(verdict=frame["score"]).drop(columns="score")[scored]
            either = found.where(said != MISSING)
            either[scored.to_numpy()] = binary(name, cut, column, reading, named=named).to_numpy()
            return either
        if reading.threshold is not None:
            found = found.where(frame["score"].isna(), frame["score"])
        found = found.where(found.notna(), frame["score"])
        scores = found
    codes, numbers = code_numbers(scores)
    if reading.threshold is not None and len(numbers) and (codes == -2).sum() <= MOST_UNREAD * (codes != -1).sum():
        # A reply that is no score, among many that are, is none.
        codes = np.where(codes == -2, -1, codes)
        passed = np.append([float(reading.passes(value)) for value in numbers], np.nan)
        return pd.Series(passed[codes], index=frame.index)
    if (codes >= 0).any() and not (codes == -2).any() and not set(numbers.tolist()) <= {0.0, 1.0}:
        raise no_threshold(name, column, numbers[codes[codes >= 0]])
    coded = code_binary(found)
    if (coded < MISSING).any():
        raise _no_words(found, column, named or column)
    return found


def no_threshold(
    name: str, column: str, scores: NDArray[np.float64], *, option: str = "--threshold", before: str = ""
) -> InputError:
    """Scores without a threshold: their distribution, and what three thresholds would give.

    before: What the option's value has before the threshold.
    """
    low, high = float(scores.min()), float(scores.max())
    # Halves, since the difference of two scores may be too large for a number.
    width = high / 2 - low / 2
    place = np.minimum(9, ((scores / 2 - low / 2) / width * 10).astype(int)) if width > 0 else scores * 0
    counts = np.bincount(place.astype(int), minlength=10 if width > 0 else 1)
    blocks = "".join(_BLOCKS[math.ceil(7 * n / counts.max())] for n in counts)
    words = offered_bounds(scores)
    shares = ", ".join(f"{shlex.quote(f'{before}>={bound}')} {share:.0%}" for bound, share in words.items())
    problem = Problem(
        column=column,
        found=f"scores from {low:g} to {high:g} ({blocks}) in {name}",
        allowed="0 and 1, yes and no, or a threshold",
        fix=f"Say which scores mean yes, by {option}; shares of yes: {shares}.",
    )
    return InputError([problem], options=[f"{option} {shlex.quote(f'{before}>={bound}')}" for bound in words])


def offered_bounds(scores: NDArray[np.float64]) -> dict[str, float]:
    """Three bounds at most, in few digits, and the share of scores that each lets pass.

    Examples
    --------
    >>> offered_bounds(np.array([0, 1 / 3, 2 / 3, 2 / 3]))
    {'0.333333': 0.75, '0.666666': 0.5}
    """
    # By the lowest score, all would mean yes.
    above = scores[scores > scores.min()] if scores.max() > scores.min() else scores
    bounds = [_plain(bound, above) for bound in np.quantile(above, [0.25, 0.5, 0.75], method="closest_observation")]
    passed = {word: float(np.mean(scores >= float(word))) for word in map(_at_most, sorted(set(bounds)))}
    return {word: share for word, share in passed.items() if share <= _MOST_YES} or passed


#: Scores further from 0 have no halves to round to, and twice the largest is no number.
_MOST_PLAIN = 1e12


def _plain(bound: float, scores: NDArray[np.float64]) -> float:
    """A bound of two decimals or more as the whole or half number next to it that cuts most like it.

    Examples
    --------
    >>> _plain(5 / 3, np.array([1, 4 / 3, 5 / 3, 3])), _plain(0.25, np.array([0.2, 0.25, 0.3]))
    (1.5, 0.25)
    >>> _plain(1.5e308, np.array([-1.5e308, 0.25, 1.5e308]))
    1.5e+308
    """
    if np.abs(scores).max() > _MOST_PLAIN:
        return float(bound)
    near = [half for half in (np.floor(2 * bound) / 2, np.ceil(2 * bound) / 2) if scores.min() <= half <= scores.max()]
    if 10 * bound == round(10 * bound) or scores.max() - scores.min() < 2 or not near:
        return float(bound)
    wanted = np.mean(scores >= bound)
    return float(min(near, key=lambda half: abs(np.mean(scores >= half) - wanted)))


def _at_most(bound: float) -> str:
    """A number in few digits that scores of it reach: of two thirds, .666666 and not .666667."""
    short = f"{bound:g}"
    return short if float(short) <= bound else str(_DOWNWARD.create_decimal_from_float(bound))


def unread_scores(column: pd.Series[Any], name: str, reading: Reading) -> tuple[str, ...]:
    """What is said of scores that are no numbers where a threshold is given.

    Examples
    --------
    >>> unread_scores(pd.Series([1, 2, 3, 4, "N/A (no code)"]), "gpt", Reading(threshold=3))
    ("1 of 5 values of 'gpt' are no numbers and count as missing: 'N/A (no code)'",)
    """
    codes, numbers = code_numbers(column)
    lost = codes == -2
    if reading.threshold is None or not len(numbers) or not 0 < lost.sum() <= MOST_UNREAD * (codes != -1).sum():
        return ()
    words = ", ".join(dict.fromkeys(shown(value) for value in column[lost][:MOST_NAMED]))
    return (f"{lost.sum()} of {(codes != -1).sum()} values of {name!r} are no numbers and count as missing: {words}",)


def verdicts_in_objects(frame: pd.DataFrame, name: str, problems: Sequence[Problem]) -> InputError | None:
    """The problems of a table whose objects alone hold what may be verdicts: yes and no, or grades of a few numbers.

    Examples
    --------
    >>> frame = pd.DataFrame({"item": [1, 2], "scores": [{"right": 4, "polite": 5}, {"right": 1, "polite": 5}]})
    >>> error = verdicts_in_objects(frame, "log.json", [Problem(column="verdict", found="", allowed="", fix="")])
    >>> error and error.options
    ('--column verdict=scores.right',)
    """
    paths = [path for path in paths_in(frame) if path not in frame]
    if len(paths) > _MOST_PATHS or not any(problem.column == "verdict" for problem in problems):
        return None
    whole = with_paths(frame, paths)
    free = [path for path in paths if path in whole and not (is_of_people(path) or is_measure(path))]
    found = [path for path in free if _decides(whole, path)]
    if not found:
        return None
    options = [f"--column {shlex.quote(f'verdict={path}')}" for path in found[:MOST_NAMED]]
    problem = Problem(
        column="verdict",
        found=f"no such column in {name}, but in objects {', '.join(map(repr, found[:MOST_NAMED]))}",
        allowed="a column named 'verdict'",
        fix=f"Say which is the verdict: {'; '.join(options)}.",
    )
    return InputError([*(one for one in problems if one.column not in {"model", "verdict"}), problem], options=options)


def _decides(frame: pd.DataFrame, path: str) -> bool:
    codes, numbers = code_binary(frame[path]), code_numbers(frame[path])[1]
    return {0, 1} <= {*codes} <= {0, 1, MISSING} or (len(numbers) > 1 and are_grades(frame, [path]))


def cut_instead(frame: pd.DataFrame, name: str, reading: Reading) -> tuple[str, ...]:
    """What is said of verdicts that a threshold leaves out, as it cuts the column ``score`` next to them.

    Examples
    --------
    >>> frame = pd.DataFrame({"score": [1, 9, 2], "verdict": [1, 0, None]})
    >>> print(cut_instead(frame, "verdict", Reading(threshold=5))[0])
    --threshold 5 cuts 'score', not 'verdict', which says otherwise in 2 of 2 rows that have both: to have the ...
    """
    if reading.threshold is None or reading.criterion[1] or not {"verdict", "score"} <= {*frame.columns}:
        return ()
    (codes, scores), said = code_numbers(frame["score"]), code_binary(frame["verdict"])
    passed, plain = np.array([*map(reading.passes, scores), 0]), bool((said >= MISSING).all())
    if not plain:
        places, numbers = code_numbers(frame["verdict"])
        said = np.where(places >= 0, np.array([*map(reading.passes, numbers), 0])[places], MISSING)
    both = (codes >= 0) & (said >= 0)
    differ = int((passed[codes] != said)[both].sum())
    typed = "leave --threshold out" if plain else f"type --column {shlex.quote(f'verdict={name}')}"
    text = (
        f"--threshold {reading.threshold} cuts 'score', not {name!r}, which says otherwise in {differ} of "
        f"{both.sum()} rows that have both: to have the verdicts of {name!r}, {typed}"
    )
    return (text,) if differ else ()


def first_words(column: pd.Series[Any], name: str, reading: Reading) -> tuple[pd.Series[Any], tuple[str, ...]]:
    """Replies that begin with yes or no and a stop, as these words, and what is said of them; else as they are.

    Examples
    --------
    >>> column, said = first_words(pd.Series(["Yes, it is.", "No. The answer differs.", None]), "gpt", Reading())
    >>> column.tolist(), said
    (['yes', 'no', nan], ("replies of 'gpt' were read by their first word: 1 yes, 1 no",))
    """
    unread = code_binary(column) == UNKNOWN
    found = column.astype(object).where(unread).map(_first_word, na_action="ignore")
    read = found.notna().to_numpy()
    if reading.criterion[1] or not read.any() or (unread & ~read).sum() > MOST_UNREAD * column.notna().sum():
        return column, ()
    yes = int((found == "yes").sum())
    lost = [shown(value) for value in column[unread & ~read]]
    others = f"; {len(lost)} count as missing: {', '.join(lost[:MOST_NAMED])}" if lost else ""
    said = f"replies of {name!r} were read by their first word: {yes} yes, {int(read.sum()) - yes} no{others}"
    return column.astype(object).mask(unread, found.where(read, None)), (said,)


def _first_word(reply: object) -> str | None:
    found = _REPLY.match(reply) if isinstance(reply, str) else None
    return found[1].casefold() if found else None


def _no_words(found: pd.Series[Any], column: str, name: str) -> InputError:
    """Words that mean neither yes nor no, with counts and an option for each that may mean yes."""
    words = as_words(found[code_binary(found) < MISSING])
    counts = as_words(found[~undecided(found)]).loc[lambda said: said != ""].value_counts()
    # Of replies, which are words of their own each, none is worth an option.
    replies = counts[MOST_NAMED:].sum() > MOST_UNREAD * counts.sum()
    often = counts[: 0 if replies else MOST_NAMED]
    kept = {str(word): int(n) for word, n in often.items() if "," not in str(word)}
    _, options, fix = words_as_yes(kept, column, name)
    problem = Problem(
        column=column,
        found=f"values that mean neither yes nor no: {', '.join(map(repr, sorted(set(words))[:MOST_NAMED]))}",
        allowed="0 or 1, true/false, yes/no, correct/incorrect, pass/fail",
        fix=fix,
    )
    return InputError([problem], options=options)


def words_as_yes(kept: Mapping[str, int], option: str, name: str) -> tuple[list[str], list[str], str]:
    """Words that are neither yes nor no, an option for each, or for none, that may mean yes, and these in a sentence.

    kept: Words and how many rows have them.

    Examples
    --------
    >>> words_as_yes({"yes": 3, "partly": 2}, "verdict", "covered")[1]
    ['--verdict covered=yes', '--verdict covered=yes,partly']
    """
    known = dict(zip(kept, code_binary(pd.Series(list(kept), dtype=object)), strict=True))
    words = sorted((word for word in kept if known[word] < 0), key=lambda word: (denies(word, kept), word))
    yes = [word for word in kept if known[word] == 1]
    ways = [yes] * bool(yes) + [[*yes, word] for word in words]
    options = [f"--{option} {shlex.quote(f'{name}={",".join(way)}')}" for way in ways]
    offered = [f"{one} ({sum(kept[word] for word in way)} rows)" for one, way in zip(options, ways, strict=True)]
    said = "; ".join([*offered, f"several by --{option} {name}=A,B"])
    return words, options, f"Say which mean yes, others then mean no: {said}."
