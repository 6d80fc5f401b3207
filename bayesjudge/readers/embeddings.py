"""Embeddings from wherever they are: .npz files, Parquet lists, arrays, or list columns of the table."""

from __future__ import annotations

import importlib.util
import zipfile
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayesjudge.errors import InputError, Problem, UsageError
from bayesjudge.readers.parts import read_parts
from bayesjudge.readers.sources import file_error
from bayesjudge.tables.coding import MISSING, code_names, joint_codes

#: Names under which the arrays are known, ours first.
SIDES: Mapping[str, tuple[str, ...]] = {
    "a": ("response_a", "embedding_a", "embeddings_a", "answer_a", "a"),
    "b": ("response_b", "embedding_b", "embeddings_b", "answer_b", "b"),
    "prompt": ("prompt", "embedding_prompt", "prompt_embedding", "question"),
}
_ITEM = ("item", "item_id", "pair_id", "id")
#: What a person may hand over, in words for messages.
TAKEN = (
    "an .npz file (item_id, response_a, response_b and, where known, prompt), a Parquet file with an item "
    "column and list columns of those names, a mapping of arrays, or a tuple (a, b) in the table's order"
)


def find_embeddings(given: Any, frame: pd.DataFrame) -> dict[str, Any]:
    """Arrays ``a``, ``b`` and, where known, ``prompt`` in the order of the frame; empty where there are none.

    given: See `TAKEN`; None looks for list columns ``embedding_a`` and ``embedding_b`` in the frame.

    Examples
    --------
    >>> frame = pd.DataFrame({"item": ["q2", "q1"]})
    >>> found = find_embeddings({"item": ["q1", "q2"], "a": [[1.0], [2.0]], "b": [[3.0], [4.0]]}, frame)
    >>> found["a"].tolist()
    [[2.0], [1.0]]
    """
    if given is None:
        return _of_columns(frame)
    if isinstance(given, (str, Path)):
        named = _read_npz(Path(given)) if str(given).endswith(".npz") else _read_table(given)
        return _placed(named, frame, where=str(given))
    if isinstance(given, Mapping):
        return _placed(dict(given), frame, where="the embeddings")
    if isinstance(given, Sequence) and len(given) in {2, 3}:
        return dict(zip(SIDES, given, strict=False))
    raise UsageError(f"cannot read embeddings from an object of type {type(given).__name__}; give {TAKEN}")


def _of_columns(frame: pd.DataFrame) -> dict[str, Any]:
    found = {}
    for side, names in SIDES.items():
        # A column "a" or "prompt" may be anything: only a name that says it is an embedding counts.
        there = [name for name in names if name.startswith("embedding") and name in frame]
        there += [f"{side}_embedding"] if f"{side}_embedding" in frame else []
        if there:
            found[side] = _stacked(frame[there[0]], there[0])
    return found


def _read_npz(path: Path) -> dict[str, Any]:
    try:
        # Never unpickled: an .npz of objects could run code.
        with np.load(path, allow_pickle=False) as file:
            return {name: file[name] for name in file.files}
    except FileNotFoundError as error:
        raise file_error(str(path), "no such file", "Check the name.") from error
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        fix = "Write it with numpy.savez(path, item_id=, response_a=, response_b=)."
        reason = f"no readable .npz of numbers and text ({error})"
        raise file_error(str(path), reason, fix) from error


def _read_table(source: Any) -> dict[str, Any]:
    frame = pd.concat([part.frame for part in read_parts(source)], ignore_index=True)
    sides = {name for names in SIDES.values() for name in names}
    return {
        str(name): _stacked(column, str(name)) if name in sides else column.to_numpy() for name, column in frame.items()
    }


def _stacked(column: pd.Series[Any], name: str) -> NDArray[np.float64]:
    """A column of lists as one array."""
    widths = column.map(lambda value: len(value) if isinstance(value, (list, tuple, np.ndarray)) else -1)
    odd = np.flatnonzero((widths != widths.max()) | (widths < 0))
    if len(odd):
        raise InputError(
            [
                Problem(
                    column=name,
                    found="rows that hold no list of numbers, or a shorter one",
                    rows=tuple((odd + 1).tolist()),
                    allowed="a list of numbers of one length on every row",
                    fix="Embed these responses again, or leave their rows out.",
                )
            ]
        )
    return np.array(column.tolist(), dtype=np.float64)


def _placed(named: Mapping[str, Any], frame: pd.DataFrame, *, where: str) -> dict[str, Any]:
    """The arrays by side, joined by item (and attack) where items are there, else as they come."""
    found = {
        side: named[name]
        for side, names in SIDES.items()
        for name in [next((name for name in names if name in named), None)]
        if name
    }
    absent = [SIDES[side][0] for side in ("a", "b") if side not in found]
    if absent:
        reason = f"no array {' and no array '.join(absent)} in {where}, which has {sorted(map(str, named))}"
        problem = Problem(
            column="(embeddings)", found=reason, allowed=TAKEN, fix="Name the arrays response_a and response_b."
        )
        raise InputError([problem])
    item = next((named[name] for name in _ITEM if name in named), None)
    if item is None:
        return found
    lengths = {len(item), *(len(array) for array in found.values())}
    if len(lengths) > 1:
        raise InputError([_unequal(where, {"item": item, **found})])
    at = _join(np.asarray(item), named.get("attack"), frame, where)
    return {side: np.asarray(array)[at] for side, array in found.items()}


def _join(item: NDArray[Any], attack: Any, frame: pd.DataFrame, where: str) -> NDArray[np.int64]:
    """The place of every row of the frame among the embeddings."""
    by_attack = attack is not None and "attack" in frame
    keys = [(item, frame["item"]), *([(np.asarray(attack), frame["attack"])] if by_attack else [])]
    parts = [
        code_names(pd.concat([pd.Series(theirs, dtype=object), ours.astype(object)], ignore_index=True))
        for theirs, ours in keys
    ]
    key = joint_codes([codes for codes, _ in parts], [len(names) for _, names in parts])
    theirs, ours = key[: len(item)], key[len(item) :]
    known = theirs[theirs >= 0]
    if len(np.unique(known)) < len(known):
        twice = pd.Series(theirs[theirs >= 0]).duplicated().sum()
        raise InputError(
            [
                _join_problem(
                    f"{twice} items with several embeddings in {where}",
                    (),
                    "Keep one of each, or add an attack column to both.",
                )
            ]
        )
    place = np.full(int(key.max(initial=0)) + 2, MISSING, dtype=np.int64)
    place[known] = np.flatnonzero(theirs >= 0)
    at = place[ours]
    lost = np.flatnonzero((at < 0) & (ours >= 0))
    if len(lost):
        names = ", ".join(repr(str(frame["item"].iloc[row])) for row in lost[:3])
        reason = f"no embedding in {where} for {len(lost)} rows (items {names} ...)"
        fix = "Embed these too, or leave them out."
        raise InputError([_join_problem(reason, tuple((lost + 1).tolist()), fix)])
    return np.asarray(np.maximum(at, 0))


def _join_problem(found: str, rows: tuple[int, ...], fix: str) -> Problem:
    return Problem(column="(embeddings)", found=found, rows=rows, allowed="one embedding an item", fix=fix)


def _unequal(where: str, arrays: Mapping[str, Any]) -> Problem:
    lengths = ", ".join(f"{name}: {len(array)}" for name, array in arrays.items())
    return _join_problem(f"arrays of unequal length in {where} ({lengths})", (), "Write them again, together.")


#: From texts (n,) to an array (n, d).
type Encoder = Callable[[Sequence[str]], Any]
_TEXTS = {
    "a": ("response_a", "answer_a", "text_a", "output_a"),
    "b": ("response_b", "answer_b", "text_b", "output_b"),
    "prompt": ("prompt", "question_text", "instruction", "query"),
}


def find_encoder(encoder: Encoder | str) -> Encoder:
    """The function itself, or the named model of sentence-transformers.

    Examples
    --------
    >>> find_encoder(lambda texts: np.zeros((len(texts), 2)))(["x"]).shape
    (1, 2)
    """
    if callable(encoder):
        return encoder
    if not isinstance(encoder, str):
        raise UsageError(f"encoder={encoder!r} is neither a function from texts to an array nor a name")
    if importlib.util.find_spec("sentence_transformers") is None:
        raise UsageError(
            f"encoder={encoder!r} names a model of sentence-transformers, which is not "
            "installed: pip install 'bayesjudge[encoder]', or give a function"
        )
    # By name, since the extra need not be there for type checkers either.
    model = import_module("sentence_transformers").SentenceTransformer(encoder)
    return lambda texts: model.encode(list(texts), convert_to_numpy=True)


def embed_texts(frame: pd.DataFrame, encoder: Encoder | str) -> dict[str, Any]:
    """Embeddings ``a``, ``b`` and, where there are prompts, ``prompt``; each distinct text is encoded once.

    Examples
    --------
    >>> frame = pd.DataFrame({"response_a": ["yes", "no"], "response_b": ["no", "no"]})
    >>> embed_texts(frame, lambda texts: [[len(text)] for text in texts])["a"].tolist()
    [[3.0], [2.0]]
    """
    columns = {
        side: name
        for side, names in _TEXTS.items()
        for name in [next((name for name in names if name in frame), None)]
        if name
    }
    problems = [_no_texts(side, frame) for side in ("a", "b") if side not in columns]
    problems += [_empty(name, frame) for name in columns.values() if frame[name].isna().any()]
    if problems:
        raise InputError(problems)
    texts = {side: frame[name].astype(str) for side, name in columns.items()}
    codes, distinct = pd.factorize(pd.concat(list(texts.values()), ignore_index=True))
    vectors = np.asarray(find_encoder(encoder)([str(text) for text in distinct]), dtype=np.float64)
    if vectors.ndim != 2 or len(vectors) != len(distinct):
        raise UsageError(
            f"the encoder gave an array of shape {vectors.shape} for {len(distinct)} texts; it must give one row a text"
        )
    parts = np.split(vectors[codes], len(texts))
    return dict(zip(texts, parts, strict=True))


def _no_texts(side: str, frame: pd.DataFrame) -> Problem:
    return Problem(
        column=_TEXTS[side][0],
        found=f"no such column; the table has {list(frame.columns)}",
        allowed=f"texts in one of {', '.join(_TEXTS[side])}",
        fix="Rename the column of texts, or give embeddings= instead of encoder=.",
    )


def _empty(name: str, frame: pd.DataFrame) -> Problem:
    rows = np.flatnonzero(frame[name].isna()) + 1
    return Problem(
        column=name,
        found="no text",
        rows=tuple(rows.tolist()),
        allowed="a text on every row",
        fix="Fill it in, or leave these rows out.",
    )
