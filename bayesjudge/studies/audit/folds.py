"""Which verified pairs are held out together: folds that look like what is to be audited."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from bayesjudge.tables import Pairs

__all__ = ["Folds", "make_folds"]


@dataclass(frozen=True, eq=False, kw_only=True)
class Folds:
    """Folds of the verified pairs.

    Attributes
    ----------
    rows : int array (v,)
        Places of the verified pairs in the table.
    fold : int array (v,)
        Fold of each.
    question : int array (v,)
        Code of each one's question.
    by_question : bool
        Whether whole questions are held out, because the unverified pairs are about questions unseen.
    """

    rows: NDArray[np.int64]
    fold: NDArray[np.int64]
    question: NDArray[np.int64]
    by_question: bool

    @property
    def number(self) -> int:
        """Number of folds."""
        return int(self.fold.max(initial=-1)) + 1

    @property
    def questions(self) -> int:
        """Number of verified questions."""
        return len(np.unique(self.question))


def make_folds(pairs: Pairs, *, folds: int, seed: int) -> Folds:
    """Split the verified pairs at random, or by question where deployment is on unseen questions.

    Random folds are blind to what goes wrong on new questions: the model has seen the questions it is tested
    on (METHODS 3.2).

    Examples
    --------
    >>> from bayesjudge.datasets import simulate_pairs
    >>> found = make_folds(simulate_pairs(seed=1, n=30, verified=12).pairs, folds=5, seed=0)
    >>> found.number, found.by_question
    (5, False)
    """
    question: NDArray[Any] = np.unique(pairs.frame["question"].to_numpy(dtype=str), return_inverse=True)[1]
    verified = pairs.verified
    rows = np.flatnonzero(verified)
    mine, by_question = question[verified], pairs.mostly_unseen
    # Named units, so that folds do not hang on row order.
    unit = mine if by_question else pairs.frame["item"].to_numpy(dtype=str)[rows]
    names, place = np.unique(unit, return_inverse=True)
    order = np.random.default_rng(seed).permutation(len(names)) % min(folds, len(names))
    return Folds(rows=rows, fold=order[place], question=mine, by_question=by_question)
