"""Which verified pairs are held out together: folds that look like what is to be audited."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayesjudge.tables import Pairs


@dataclass(frozen=True, eq=False, kw_only=True)
class Folds:
    """Folds of the verified pairs.

    fold: Fold of each row of the table, −1 where nobody verified it.
    question: Code of each one's question.
    by_question: Whether whole questions are held out, because the unverified pairs are about new questions.
    """

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
        return len(np.unique(self.question[self.fold >= 0]))


def make_folds(pairs: Pairs, *, folds: int, seed: int) -> Folds:
    """Split the verified pairs at random, or by question where deployment is on new questions.

    Random folds are blind to what goes wrong on new questions: the model was fitted to the questions it is
    tested on (METHODS 3.2).
    """
    verified, by_question = pairs.verified, pairs.mostly_new_questions
    question = pairs.codes("question")
    unit = question if by_question else pairs.codes("item")
    known = np.unique(unit[verified])
    part = np.full(int(unit.max(initial=-1)) + 1, -1)
    part[known] = np.random.default_rng(seed).permutation(len(known)) % max(min(folds, len(known)), 1)
    fold = np.where(verified, part[unit], -1)
    return Folds(fold=fold, question=question, by_question=by_question)
