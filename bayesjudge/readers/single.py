"""A table without models or items: the answers of one system; and a table's scores as verdicts."""

from __future__ import annotations

import pandas as pd

from bayesjudge.readers.column_names import VERDICT_ALIASES, means_any
from bayesjudge.readers.criteria import binary
from bayesjudge.readers.reading import Reading
from bayesjudge.tables.coding import MISSING, code_binary
from bayesjudge.tables.words import code_numbers


def one_system(frame: pd.DataFrame, name: str) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """The table with the one model that it is about, where it names none; without items, each row is one.

    A table in which a judge is there twice for an item, and no run says why, could be of several models: it
    stays as it is.

    Examples
    --------
    >>> frame = pd.DataFrame({"item": ["q1", "q2"], "verdict": ["pass", "fail"]})
    >>> one_system(frame, "answers")[0]["model"].tolist()
    ['answers', 'answers']
    """
    if {"model", "model_a", "model_b"} & set(frame.columns) or "verdict" not in frame:
        return frame, ()
    if "item" not in frame:
        rows = pd.Series(range(1, len(frame) + 1), index=frame.index).map(f"{name}, row {{}}".format)
        return frame.assign(item=rows, model=name), (
            f"no column of items or models: each row is an item, its answer {name!r}'s",
        )
    keys = [key for key in ("item", "judge", "run") if key in frame]
    if frame.loc[frame["item"].notna(), keys].astype("str").duplicated().any():
        return frame, ()
    return frame.assign(model=name), (f"no column of models: the answers are one system's, {name!r}",)


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


def meaning_yes(frame: pd.DataFrame, name: str, reading: Reading) -> pd.DataFrame:
    """The table with scores read as verdicts and labels, by the user's threshold or values."""
    if "verdict" not in frame:
        return frame
    for column, (_, values) in (("verdict", reading.criterion), ("label", reading.label_criterion)):
        if column not in frame:
            continue
        codes, numbers = code_numbers(frame[column])
        scores = bool(set(numbers) - {0, 1}) and not (codes == -2).any()
        if values or scores or (column == "verdict" and reading.threshold is not None):
            frame = frame.assign(**{column: binary(name, frame, column, reading, values)})
    return frame
