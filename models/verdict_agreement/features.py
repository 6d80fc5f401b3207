"""What is known of a judge's decision before people look at it: features, in blocks with one scale each.

Scalars are turned the way the judge chose and standardised over all rows, verified or not; directions are the
first principal directions of the normalised embedding differences, uncentred, on one common scale.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayesjudge.counts.pairs import Directions, directions
from bayesjudge.errors import UsageError
from bayesjudge.tables.pairs import SAME_AS

if TYPE_CHECKING:
    from bayesjudge.tables import Pairs

__all__ = ["BLOCKS", "Features", "features"]

#: Blocks of features, in order; each has a scale of its own.
BLOCKS = ("scalar", "category", "strength", "direction")
#: Verified questions that a direction needs where other questions are audited.
QUESTIONS_A_DIRECTION = 10


@dataclass(frozen=True, eq=False, kw_only=True)
class Features:
    """Features of n decisions.

    Attributes
    ----------
    x : float array (n, k)
        One row a decision.
    names : tuple of str (k,)
        One name a feature.
    block : int array (k,)
        Place of each feature's block in `BLOCKS`.
    warnings : tuple of str
        What was left out or filled in.
    """

    x: NDArray[np.float64]
    names: tuple[str, ...]
    block: NDArray[np.int64]
    warnings: tuple[str, ...] = ()


def features(pairs: Pairs, *, components: int = 32, extra: Sequence[str] = ()) -> Features:
    """Features of every row of a table.

    Parameters
    ----------
    pairs : Pairs
        Of one judge.
    components : int
        Most principal directions of the embeddings.
    extra : sequence of str
        Further numeric columns; ``"style"`` also stands for the columns ``style_a`` and ``style_b``, whose
        difference is turned the way the judge chose.

    Raises
    ------
    UsageError
        An extra column that is not there or not numeric.

    Notes
    -----
    A feature that is the same on every row says nothing and is left out; a missing value counts as the mean.

    Where most unverified pairs are about questions that nobody verified, evidence comes in questions: pairs
    of one question have like directions and like outcomes, so that more directions than the verified
    questions can tell apart are learned as noise, and pull trust on other questions towards one half. One
    direction for `QUESTIONS_A_DIRECTION` verified questions is used then (the card says why).

    Examples
    --------
    >>> import pandas as pd
    >>> from bayesjudge.tables import Pairs
    >>> choices = {"judge_prefers": ["a", "b", "b"], "order": ["ab", "ab", "ba"]}
    >>> features(Pairs.from_frame(pd.DataFrame({"item": [1, 2, 3], **choices}))).names
    ('first shown',)
    """
    turned = directions(pairs)
    components, warnings = _carried(pairs, components)
    names: list[str] = []
    columns: list[NDArray[np.float64]] = []
    block: list[int] = []
    for name, values in _scalars(pairs, turned, extra):
        column, told = _standard(values, name)
        warnings += told
        if column is not None:
            names, columns, block = [*names, name], [*columns, column], [*block, 0]
    for code, part in enumerate((_categories(pairs), _strengths(pairs), _principal(turned, components)), 1):
        found = list(part)
        names += [name for name, _ in found]
        columns += [column for _, column in found]
        block += [code] * len(found)
    x = np.column_stack(columns) if columns else np.zeros((len(pairs), 0))
    return Features(x=x, names=tuple(names), block=np.array(block, np.int64), warnings=tuple(warnings))


def _carried(pairs: Pairs, components: int) -> tuple[int, list[str]]:
    """How many directions the verified pairs can teach about the others."""
    question = pairs.frame["question"][pairs.verified]
    if not (pairs.mostly_unseen and pairs.dimensions and question.duplicated().any()):
        return components, []
    most = min(components, question.nunique() // QUESTIONS_A_DIRECTION)
    told = (
        f"most unverified pairs are about questions that nobody verified: {most} of {components} directions "
        f"of the embeddings are used, one for {QUESTIONS_A_DIRECTION} verified questions"
    )
    return most, [told] if most < components else []


def _scalars(
    pairs: Pairs, turned: Directions, extra: Sequence[str]
) -> Iterator[tuple[str, NDArray[np.float64]]]:
    frame, sign = pairs.frame, np.where(pairs.prefers_a, 1.0, -1.0)
    gap = np.log1p(_positive(frame["length_a"])) - np.log1p(_positive(frame["length_b"]))
    yield "length gap", sign * gap
    yield "length gap, size", np.abs(gap)
    yield "first shown", sign * np.asarray(frame["order"].map({"ab": 1.0, "ba": -1.0}), dtype=np.float64)
    yield "order flip", frame["flip"].to_numpy(dtype=float)
    yield "score gap", sign * frame["gap"].to_numpy(dtype=float)
    if pairs.prompt.shape[1]:
        yield "relevance gap", _cosine(turned.chosen, pairs.prompt) - _cosine(turned.rejected, pairs.prompt)
    for name in frame.columns:
        if str(name).startswith(SAME_AS):
            yield str(name), frame[name].to_numpy(dtype=float)
    for name in extra:
        yield name, _extra(frame, name, sign)


def _positive(values: Any) -> NDArray[np.float64]:
    """Lengths as they are; a negative one is no length and counts as missing."""
    found = values.to_numpy(dtype=float)
    return np.where(found >= 0, found, np.nan)


def _extra(frame: Any, name: str, sign: NDArray[np.float64]) -> NDArray[np.float64]:
    sides = [f"{name}_a", f"{name}_b"]
    wanted = [name] if name in frame else sides
    if any(column not in frame for column in wanted):
        raise UsageError(f"no feature {name!r}: the table has neither that column nor {sides[0]!r} with "
                         f"{sides[1]!r}; it has {list(frame.columns)}")  # fmt: skip
    try:
        values = [frame[column].to_numpy(dtype=float, na_value=np.nan) for column in wanted]
    except (TypeError, ValueError) as error:
        raise UsageError(f"feature {name!r} is not numeric ({error}); give numbers") from error
    return values[0] if len(values) == 1 else np.asarray(sign * (values[0] - values[1]))


def _standard(values: NDArray[np.float64], name: str) -> tuple[NDArray[np.float64] | None, list[str]]:
    """Mean 0 and standard deviation 1, missing at 0; nothing where there is nothing to tell apart."""
    known = np.isfinite(values)
    if not known.any():
        return None, []
    mean, spread = values[known].mean(), values[known].std()
    # Equal numbers can differ in the last digit after a logarithm.
    if spread <= 1e-9 * max(abs(mean), 1.0):
        return None, [f"{name} is the same for every pair and was left out"]
    lost = int((~known).sum())
    told = [f"{name} is missing for {lost} of {len(values)} pairs, which count as average"] if lost else []
    return np.where(known, (values - mean) / spread, 0.0), told


def _cosine(vectors: NDArray[Any], to: NDArray[Any]) -> NDArray[np.float64]:
    length = np.linalg.norm(vectors, axis=1) * np.linalg.norm(to, axis=1)
    product = np.einsum("nd,nd->n", vectors, to)
    return np.where(length > 0, product / np.where(length > 0, length, 1), np.nan).astype(np.float64)


def _categories(pairs: Pairs) -> Iterator[tuple[str, NDArray[np.float64]]]:
    """One indicator a category, where there are two or more."""
    values = pairs.frame["category"]
    names = sorted(values.dropna().unique())
    for name in names if len(names) > 1 else []:
        yield f"category: {name}", (values == name).to_numpy(dtype=float)


def _strengths(pairs: Pairs) -> Iterator[tuple[str, NDArray[np.float64]]]:
    """For each model, 1 where the judge chose its response and −1 where it chose against it."""
    frame, sign = pairs.frame, np.where(pairs.prefers_a, 1.0, -1.0)
    known = frame["model_a"].notna() & frame["model_b"].notna()
    names = sorted({*frame.loc[known, "model_a"], *frame.loc[known, "model_b"]})
    for name in names if len(names) > 1 else []:
        side = (frame["model_a"] == name).astype(float) - (frame["model_b"] == name).astype(float)
        yield f"strength: {name}", sign * np.where(known, side, 0.0)


def _principal(turned: Directions, components: int) -> Iterator[tuple[str, NDArray[np.float64]]]:
    """Coordinates along the first principal directions; 0 where there is no direction."""
    z = turned.z.astype(np.float64)
    most = min(components, *z.shape, int(turned.usable.sum()))
    if most < 1:
        return
    # From the smaller of the two Gram matrices: tables are long, or embeddings wide, seldom both.
    if z.shape[1] <= z.shape[0]:
        _, basis = np.linalg.eigh(z.T @ z)
        axes = basis[:, ::-1][:, :most]
    else:
        values, basis = np.linalg.eigh(z @ z.T)
        axes = z.T @ (basis[:, ::-1][:, :most] / np.sqrt(np.maximum(values[::-1][:most], 1e-300)))
    # An axis has no sign of its own: its largest part is made positive, so that row order is irrelevant.
    axes = axes * np.sign(axes[np.abs(axes).argmax(axis=0), np.arange(most)])
    placed = z @ axes
    scale = float(np.sqrt((placed[turned.usable] ** 2).mean()))
    for k in range(most):
        yield f"direction {k + 1}", placed[:, k] / (scale or 1.0)
