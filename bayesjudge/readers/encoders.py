"""Text to embeddings: any function will do, and a name means a model of sentence-transformers."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import numpy as np
import pandas as pd

from bayesjudge.errors import InputError, Problem, UsageError

__all__ = ["Encoder", "embed_texts", "find_encoder"]

#: From texts (n,) to an array (n, d).
type Encoder = Callable[[Sequence[str]], Any]

_TEXTS = {
    "a": ("response_a", "answer_a", "text_a", "output_a"),
    "b": ("response_b", "answer_b", "text_b", "output_b"),
    "prompt": ("prompt", "question_text", "instruction", "query"),
}


def find_encoder(encoder: Encoder | str) -> Encoder:
    """The function itself, or the named model of sentence-transformers.

    Raises
    ------
    UsageError
        Neither, or sentence-transformers is not installed.

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
        raise UsageError(f"encoder={encoder!r} names a model of sentence-transformers, which is not "
                         "installed: pip install 'bayesjudge[encoder]', or give a function")  # fmt: skip
    # By name, since the extra need not be there for type checkers either.
    model = import_module("sentence_transformers").SentenceTransformer(encoder)
    return lambda texts: model.encode(list(texts), convert_to_numpy=True)


def embed_texts(frame: pd.DataFrame, encoder: Encoder | str) -> dict[str, Any]:
    """Embeddings ``a``, ``b`` and, where there are prompts, ``prompt``; each distinct text is encoded once.

    Raises
    ------
    InputError
        No text columns, rows without text, or an encoder that gives something else than one row a text.

    Examples
    --------
    >>> frame = pd.DataFrame({"response_a": ["yes", "no"], "response_b": ["no", "no"]})
    >>> embed_texts(frame, lambda texts: [[len(text)] for text in texts])["a"].tolist()
    [[3.0], [2.0]]
    """
    columns = {side: name for side, names in _TEXTS.items()
               for name in [next((name for name in names if name in frame), None)] if name}  # fmt: skip
    problems = [_no_texts(side, frame) for side in ("a", "b") if side not in columns]
    problems += [_empty(name, frame) for name in columns.values() if frame[name].isna().any()]
    if problems:
        raise InputError(problems)
    texts = {side: frame[name].astype(str) for side, name in columns.items()}
    codes, distinct = pd.factorize(pd.concat(list(texts.values()), ignore_index=True))
    vectors = np.asarray(find_encoder(encoder)([str(text) for text in distinct]), dtype=np.float64)
    if vectors.ndim != 2 or len(vectors) != len(distinct):
        raise UsageError(f"the encoder gave an array of shape {vectors.shape} for {len(distinct)} texts; "
                         "it must give one row a text")  # fmt: skip
    parts = np.split(vectors[codes], len(texts))
    return dict(zip(texts, parts, strict=True))


def _no_texts(side: str, frame: pd.DataFrame) -> Problem:
    return Problem(column=_TEXTS[side][0], found=f"no such column; the table has {list(frame.columns)}",
                   allowed=f"texts in one of {', '.join(_TEXTS[side])}",
                   fix="Rename the column of texts, or give embeddings= instead of encoder=.")  # fmt: skip


def _empty(name: str, frame: pd.DataFrame) -> Problem:
    rows = np.flatnonzero(frame[name].isna()) + 1
    return Problem(column=name, found="no text", rows=tuple(rows.tolist()), allowed="a text on every row",
                   fix="Fill it in, or leave these rows out.")  # fmt: skip
