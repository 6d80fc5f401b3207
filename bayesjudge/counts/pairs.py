"""Pairs and their presentations: which verdicts are about one pair, and which way each of them points."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayesjudge.counts.arrays import sums_within
from bayesjudge.tables import Pairs

#: Chosen and rejected nearer than this, relative to the longer of the two, are one text to the encoder.
NEAREST = 1e-4


@dataclass(frozen=True, eq=False, kw_only=True)
class Directions:
    """Embeddings turned the way the judge chose.

    chosen, rejected: Embeddings of the response the judge prefers and of the other.
    z: ``(chosen − rejected)/‖chosen − rejected‖``; zeros where the two are one.
    usable: Whether there is a direction.
    """

    chosen: NDArray[np.float32]
    rejected: NDArray[np.float32]
    z: NDArray[np.float32]
    usable: NDArray[np.bool_]


def directions(pairs: Pairs) -> Directions:
    """Direction of every decision (METHODS 3; PUAudit, equation 1)."""
    first = pairs.prefers_a[:, None]
    chosen, rejected = np.where(first, pairs.a, pairs.b), np.where(first, pairs.b, pairs.a)
    difference = chosen - rejected
    length = np.linalg.norm(difference, axis=1)
    scale = np.maximum(np.linalg.norm(chosen, axis=1), np.linalg.norm(rejected, axis=1))
    usable = length > NEAREST * scale
    z = np.where(usable[:, None], difference, 0) / np.where(usable, length, 1)[:, None]
    return Directions(chosen=chosen, rejected=rejected, z=z.astype(np.float32), usable=usable)


@dataclass(frozen=True, eq=False, kw_only=True)
class Presentations:
    """The verdicts of one judge gathered by pair.

    People chose once a pair, so a pair is one observation however often it was presented. It is looked at
    from one of its responses: the one that all verdicts chose, or either where they disagree.

    first: Row of each pair's first verdict, in order of appearance; its choice is the response looked from.
    pair: Pair of each row.
    side: 1 where the row chose the response looked from, −1 where it chose the other.
    vote: Mean side of each pair: 1 where its verdicts agree, 0 where two disagree.
    order: Pairs in the order of `Pairs.rank`.
    """

    first: NDArray[np.int64]
    pair: NDArray[np.int64]
    side: NDArray[np.float64]
    vote: NDArray[np.float64]
    order: NDArray[np.int64]

    def where(self, rows: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Pairs of the marked rows (n,), in the order of `Pairs.rank`."""
        return self.order[rows[self.first][self.order]]

    def of_rows(self, p: NDArray[np.float64]) -> NDArray[np.float64]:
        """Probability (n,) of what each row chose, from that of the response that its pair is looked from."""
        mine = p[self.pair]
        return np.where(self.side > 0, mine, 1 - mine)

    def mean(self, values: NDArray[Any]) -> NDArray[np.float64]:
        """Means over each pair's verdicts of values (n, ...)."""
        total = sums_within(values.astype(np.float64), self.pair, len(self.first))
        size = np.bincount(self.pair, minlength=len(self.first))
        return np.asarray(total / size.reshape(-1, *(1,) * (values.ndim - 1)))


def presentations(pairs: Pairs) -> Presentations:
    """Which verdicts of one judge are about one pair.

    Examples
    --------
    >>> import pandas as pd
    >>> from bayesjudge.tables import Pairs
    >>> frame = pd.DataFrame({"item": list("xxy"), "order": ["ab", "ba", "ab"], "judge_prefers": list("abb")})
    >>> found = presentations(Pairs.from_frame(frame))
    >>> found.pair.tolist(), found.vote.tolist()
    ([0, 0, 1], [0.0, 1.0])
    """
    pair = pd.factorize(pairs.frame["item"])[0].astype(np.int64)
    ranked = np.argsort(pairs.rank)
    known, place = np.unique(pair[ranked], return_index=True)
    first = np.empty(len(known), dtype=np.int64)
    first[known] = ranked[place]
    chosen = pairs.prefers_a
    side = np.where(chosen == chosen[first][pair], 1.0, -1.0)
    vote = np.bincount(pair, weights=side, minlength=len(first)) / np.bincount(pair, minlength=len(first))
    return Presentations(first=first, pair=pair, side=side, vote=vote, order=np.argsort(pairs.rank[first]))
