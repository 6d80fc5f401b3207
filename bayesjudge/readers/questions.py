"""What each question takes from a tool's rows: one small step a question, and why it cannot."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from bayesjudge.errors import UsageError
from bayesjudge.readers.criteria import choice_needed, chosen_rows
from bayesjudge.readers.meaning import decided
from bayesjudge.readers.parts import Part
from bayesjudge.readers.reading import Reading
from bayesjudge.tables.coding import MISSING, code_binary

#: Columns of rows that no table takes under these names.
_HELPERS = ("criterion", "threshold", "answer", "error")
_COMPARISONS = "comparisons of two models"
_SINGLE = "verdicts on single answers, no comparisons"
_VERDICTS = "verdicts on single answers"
#: Comparisons that are no verdicts, by the column they stand in.
_GRADED = {"prob_a": "probabilities", "score_a": "scores"}
#: What is said of several answers of one model to an item.
FURTHER_ANSWERS = "a model's further answers to an item (epochs, repeats) are no repetitions of the judge"
#: The item that several answers of one model belong to.
QUESTION = "question"


def to_verdicts(part: Part, reading: Reading, *, mapped: Collection[str] = ()) -> Part:
    """Judged single answers, with people's labels; a plain table as it is.

    ``mapped`` are our names that the user has given columns.

    A further answer of a model to an item is an item of its own, in the cluster of the first.
    """
    if part.tool is None:
        names = {str(name).casefold() for name in part.frame}
        if {"model_a", "model_b"} <= names and not {"model", "item"} & {*names, *mapped}:
            raise _other(part, holds=_COMPARISONS, lacks=_VERDICTS, instead="elo")
        return part
    _require_kind(part, compared=False)
    frame, notes = chosen_rows(part, reading)
    cluster = part.tool.cluster
    if {"answer", "item"} <= {*frame} and frame["answer"].nunique() >= 2:
        apart = frame["item"].astype(str) + " · answer " + frame["answer"].astype(str)
        frame, cluster = frame.assign(**{QUESTION: frame["item"], "item": apart}), QUESTION
    return replace(_part(part, _named(frame, {"trial": "run"}), notes), cluster=cluster)


def marks_apart(frame: pd.DataFrame, parts: Sequence[Part]) -> tuple[pd.DataFrame, pd.DataFrame | None]:
    """A tool's rows without people's marks, and these as a table of labels, as a file of them is.

    Several people may mark one answer differently; of one person, only marks on rows of their own are taken apart.
    """
    if not any(part.tool for part in parts) or not {"item", "model", "label", "annotator"} <= set(frame.columns):
        return frame, None
    marked, judged = frame["label"].notna(), frame["verdict"].notna()
    marks = frame.loc[marked, ["item", "model", "label", "annotator"]].reset_index(drop=True)
    if marks["annotator"].astype("str").nunique() >= 2:
        rest = frame[judged] if judged.any() else frame
        marks["annotator"] = marks["annotator"].fillna("a person")
        return rest.drop(columns=["label", "annotator"]), marks
    if not judged.any() or judged[marked].any() or not marked.any():
        return frame, None
    return frame[judged | ~marked].drop(columns="label"), marks.drop(columns="annotator")


def to_battles(part: Part, *, mapped: Mapping[str, str]) -> Part:
    """Comparisons of two models by judges, people or both; a plain table as it is.

    ``mapped`` are the user's columns by our names, which keep their names.
    """
    if part.tool is None:
        _require_no_single(part, mapped, lacks=_COMPARISONS)
        return part
    _require_kind(part, compared=True, mapped=mapped)
    renamed = {"trial": "run", "annotator": "voter"}
    return _part(
        part, _named(part.frame, {name: ours for name, ours in renamed.items() if name not in mapped.values()})
    )


def to_trials(part: Part) -> Part:
    """A judge's comparisons, of one pair of answers each item; a plain table as it is."""
    if part.tool is None:
        return part
    frame = _judged(part)
    renamed = {"verdict": "outcome"}
    return _part(part, _named(frame.assign(item=_pair_of(frame)), renamed, ("human", "annotator")))


def repeated(parts: Sequence[Part], *, mapped: Collection[str] = ()) -> list[Part]:
    """Comparisons where there are any, else scores: what reliability can take of a tool's rows."""
    for part in parts:
        _require_no_single(part, mapped, lacks="repeated comparisons or scores")
    compared = [part.tool is None or "model_a" in part.frame for part in parts]
    return [
        to_trials(part) if one or not _has_scores(part) else to_scores(part)
        for part, one in zip(parts, compared, strict=True)
    ]


def _require_no_single(part: Part, mapped: Collection[str], *, lacks: str) -> None:
    if part.tool is None and not mapped and _single_verdicts(part):
        raise _other(part, holds=_SINGLE, lacks=lacks, instead="accuracy")


def _single_verdicts(part: Part) -> bool:
    """Whether a plain table has models and yes-or-no verdicts, and nothing that compares."""
    names = {str(name).casefold(): str(name) for name in part.frame}
    verdict = next((names[name] for name in ("verdict", "judge_verdict", "judgment") if name in names), None)
    if verdict is None or "model" not in names or {"model_a", "score", "score_a", "order"} & names.keys():
        return False
    values = part.frame[verdict]
    return isinstance(values, pd.Series) and bool((code_binary(decided(values, verdict)[0]) >= MISSING).all())


def _has_scores(part: Part) -> bool:
    return "score" in part.frame and bool(part.frame["score"].notna().any())


def to_pairs(part: Part, *, mapped: Collection[str] = ()) -> Part:
    """A judge's preferences between two answers, with people's; a plain table as it is."""
    if part.tool is None:
        _require_no_single(part, mapped, lacks=_COMPARISONS)
        return part
    renamed = {"verdict": "judge_prefers", "human": "human_prefers", "item": "question"}
    frame = _judged(part)
    if "item" not in frame:
        raise UsageError(f"{part.name}: no record names 'item'", lacks=_COMPARISONS)
    return _part(part, _named(frame, renamed).assign(item=_pair_of(frame)))


def to_scores(part: Part) -> Part:
    """A judge's scores of single responses; a plain table as it is."""
    if part.tool is None:
        return part
    if not _has_scores(part):
        raise UsageError(f"{part.name}: {part.tool.title} holds no scores", lacks="scores")
    frame = part.frame[part.frame["score"].notna()]
    _require_one_criterion(part, frame)
    response = frame["model"].astype(str) if "model" in frame else pd.Series("response", index=frame.index)
    notes: tuple[str, ...] = ()
    if "answer" in frame and frame["answer"].nunique() >= 2:
        response = response + " · answer " + frame["answer"].astype(str)
        notes = (FURTHER_ANSWERS,)
    frame = frame.assign(response=response)
    return _part(part, _named(frame, {}, ("model", "verdict", "label", "annotator")), notes)


def _require_one_criterion(part: Part, frame: pd.DataFrame) -> None:
    """What a judge says of different things is no repetition; a number after a scorer's name is one."""
    names = sorted(map(str, frame["criterion"].dropna().unique())) if "criterion" in frame else []
    several = [name for name in names if re.sub(r"(?<=[^\s\d])\d+$", "", name) not in {*names} - {name}]
    if len(several) > 1:
        options = [f"--where {shlex.quote(f'criterion={name}')}" for name in several]
        raise choice_needed(part, "criteria of a judge, which are no repetitions", options)


def _pair_of(frame: pd.DataFrame) -> pd.Series[str]:
    """The question and the two models whose answers are compared."""
    item, a, b = (frame[name].astype("str") for name in ("item", "model_a", "model_b"))
    return item + ": " + a + " / " + b


def _named(frame: pd.DataFrame, renamed: dict[str, str], without: Sequence[str] = ()) -> pd.DataFrame:
    return frame.drop(columns=[name for name in (*_HELPERS, *without) if name in frame]).rename(columns=renamed)


def _part(part: Part, frame: pd.DataFrame, notes: Sequence[str] = ()) -> Part:
    return replace(part, frame=frame, notes=(*part.notes, *notes))


def _require_kind(part: Part, *, compared: bool, mapped: Collection[str] = ()) -> None:
    there = _names(part, "model_a")
    if there and not compared:
        raise _other(part, holds=_COMPARISONS, lacks=_VERDICTS, instead="elo")
    if compared and not there:
        raise _other(part, holds=_SINGLE, lacks=_COMPARISONS, instead="accuracy")
    if compared and not ("model_b" in mapped or _names(part, "model_b")):
        said = "--set model_b=NAME"
        text = f"no record names 'model_b', the second model of each comparison; state it with {said}"
        raise UsageError(f"{part.name}: {text}", lacks=f"the second model: {said}", options=[said])


def _names(part: Part, column: str) -> bool:
    return column in part.frame and bool(part.frame[column].notna().any())


def _other(part: Part, *, holds: str, lacks: str, instead: str) -> UsageError:
    title = f"{part.name}: {part.tool.title}" if part.tool else part.name
    return UsageError(f"{title} holds {holds}: the question is {instead}", lacks=lacks)


def _judged(part: Part) -> pd.DataFrame:
    """Comparisons that a judge made."""
    _require_kind(part, compared=True)
    frame = part.frame
    verdict = frame["verdict"] if "verdict" in frame else pd.Series(np.nan, index=frame.index, dtype=object)
    if not verdict.notna().any():
        if graded := [what for name, what in _GRADED.items() if name in frame and frame[name].notna().any()]:
            raise UsageError(
                f"{part.name}: the judge's comparisons are {graded[0]}, which state no verdict that could repeat or "
                "be audited: the question is elo",
                lacks=f"a judge's verdicts (its comparisons are {graded[0]})",
            )
        raise UsageError(
            f"{part.name}: only people judged here, no judge whose verdicts repeat or could be "
            "audited: the question is elo",
            lacks="a judge's verdicts",
        )
    return frame[verdict.notna()]
