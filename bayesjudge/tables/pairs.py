"""Pairs of responses that a judge has chosen between, some of them verified by people, with embeddings."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayesjudge.errors import UsageError, require_judges
from bayesjudge.tables.columns import label_source, require_frame
from bayesjudge.tables.embeddings import KEPT, check_embeddings
from bayesjudge.tables.pair_rows import NO_ATTACK, validate

#: Start of the names of columns that say whether another judge decided likewise.
SAME_AS = "same as "
#: Coordinates of the embeddings that tell rows apart in `Pairs.rank`.
COORDINATES = 8
#: Share of unverified pairs about questions that nobody verified, past which their questions are mostly new.
MOSTLY_NEW = 0.5


@dataclass(frozen=True, eq=False)
class Pairs:
    """A judge's verdicts on pairs of responses, one row a verdict.

    A pair judged in both orders of presentation has two rows, each with its own choice. The item names the
    pair, so that rows of one item, judge and attack belong together: people's choice is theirs in common.

    Parameters
    ----------
    frame : pandas.DataFrame
        Columns ``item, judge, attack, question, category, model_a, model_b, order`` (str; ``attack`` is
        ``"none"`` for the pair as it was, ``question`` is the item where none is given, the others may be
        missing), ``judge_prefers`` (a or b), ``human_prefers`` (a, b or missing = unverified), ``flip`` (1
        where the judge chose otherwise, or neither, when the order was swapped, 0 the same, NaN not known),
        ``gap`` (the judge's score of a minus its score of b, NaN none), ``length_a, length_b`` (NaN not
        known), then any extra columns as they came. Treat it as read-only.
    a, b : float32 array (n, d)
        Embeddings of the two responses; d is 0 where there are none.
    prompt : float32 array (n, d) or (n, 0)
        Embeddings of the prompts.
    dropped : mapping of str to int
        Rows of the input that could not be used: reason to count.
    warnings : tuple of str
        What was assumed on the way in.
    source : tuple of mapping
        The files that it was read from: name, size, SHA-256, format, records and rows.
    label_source : {"human", "mapped", "format"}, optional
        How people's labels were known as such: by their column's name, because the user named the column, or by the
        format of the tool's file.
    undecided : Pairs, optional
        Rows of which the judge or people call a tie (``tie``), or that people alone decided: counted in ``dropped``,
        and battles for `elo`. None in itself.
    """

    frame: pd.DataFrame
    a: NDArray[np.float32]
    b: NDArray[np.float32]
    prompt: NDArray[np.float32]
    dropped: Mapping[str, int] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    label_source: str | None = None
    source: tuple[Mapping[str, Any], ...] = ()
    undecided: Pairs | None = None

    @classmethod
    def from_frame(
        cls,
        frame: pd.DataFrame,
        *,
        a: Any = None,
        b: Any = None,
        prompt: Any = None,
        columns: Mapping[str, str] | None = None,
    ) -> Pairs:
        """Validate a data frame and its embeddings.

        Parameters
        ----------
        frame : pandas.DataFrame
            One row a verdict: ``item``, ``judge_prefers``, and where known ``human_prefers``, ``judge``,
            ``attack``, ``category``, ``question``, ``model_a``, ``model_b``, ``order``, ``flip``,
            ``length_a``, ``length_b``, ``score_gap`` (or ``score_a`` with ``score_b``, or ``prob_a``).
        a, b : array-like (n, d), optional
            Embeddings of the responses, in the frame's order; both or neither.
        prompt : array-like (n, d), optional
            Embeddings of the prompts, by the same encoder.
        columns : mapping of str to str, optional
            Our name to yours: ``{"human_prefers": "human"}``.

        Returns
        -------
        Pairs

        Raises
        ------
        InputError
            Every problem found: values that cannot be read, a pair with two verdicts, people who prefer
            both, embeddings that do not fit, no usable rows.
        UsageError
            A mapping from or to a column that does not exist; one embedding without the other.

        Notes
        -----
        Ties of the judge and of people are left out and counted in ``dropped``: a direction of preference
        needs a winner. Of a pair judged in both orders of presentation (rows ``ab`` and ``ba``) both rows
        are kept, and ``flip`` says whether they differ (a tie differs).

        Examples
        --------
        >>> frame = pd.DataFrame({"item": [1, 2, 3], "judge_prefers": ["a", "b", "tie"],
        ...                       "human_prefers": ["b", "", "a"]})
        >>> pairs = Pairs.from_frame(frame, a=np.eye(3), b=-np.eye(3))
        >>> pairs.agrees.tolist(), pairs.a.shape, dict(pairs.dropped)
        ([0.0, nan], (2, 3), {'tie by the judge': 1})
        """
        require_frame(frame, "read_pairs")
        if (a is None) != (b is None) or (a is None and prompt is not None):
            raise UsageError("give embeddings of both responses (a= and b=), or none at all")
        decided, others, dropped, warnings = validate(frame, columns)
        given = {
            name: array
            for name, array in {"response a": a, "response b": b, "prompts": prompt}.items()
            if array is not None
        }
        read = check_embeddings(given, rows=len(frame))
        nothing = np.zeros((len(frame), 0), dtype=KEPT)
        first, second, asked = (read.get(name, nothing) for name in ("response a", "response b", "prompts"))
        found, undecided = (cls(table, first[at], second[at], asked[at]) for table, at in (decided, others))
        return replace(
            found,
            dropped=dropped,
            undecided=undecided,
            warnings=warnings + found._identical_responses(),
            label_source=label_source(columns, found.frame, "human_prefers"),
        )

    def __len__(self) -> int:
        return len(self.frame)

    @property
    def dimensions(self) -> int:
        """Number of dimensions d of the embeddings; 0 where there are none."""
        return int(self.a.shape[1])

    @cached_property
    def rank(self) -> NDArray[np.int64]:
        """Rank of each row (n,) in an order that the verdicts themselves decide.

        Neither the table's order, nor names of items, judges and models, nor which response is called a has
        a part in it. Whatever is drawn at random is drawn in this order.
        """
        order = np.lexsort(self._sides()[::-1])
        rank = np.empty(len(order), dtype=np.int64)
        rank[order] = np.arange(len(order))
        return rank

    def codes(self, column: str) -> NDArray[np.int64]:
        """Code of each row's value in a column (n,), counted in the order of `rank`.

        Examples
        --------
        >>> frame = pd.DataFrame({"item": ["y", "x"], "judge_prefers": "a", "length_a": [9, 2],
        ...                       "length_b": 5})
        >>> Pairs.from_frame(frame).codes("item").tolist()
        [1, 0]
        """
        order = np.argsort(self.rank)
        found = np.empty(len(order), dtype=np.int64)
        found[order] = pd.factorize(self.frame[column].iloc[order])[0]
        return found

    def _sides(self) -> list[NDArray[Any]]:
        """What is known of each row, from the side of the response that the judge chose: the first decides most."""
        frame, first = self.frame, self.prefers_a
        sign = np.where(first, 1.0, -1.0)
        chosen, other = (np.where(side, frame["length_a"], frame["length_b"]) for side in (first, ~first))
        shown = sign * frame["order"].map({"ab": 1.0, "ba": -1.0}).to_numpy(dtype=float)
        same = [frame[name].to_numpy(float) for name in frame if str(name).startswith(SAME_AS)]
        return [
            chosen,
            other,
            sign * frame["gap"].to_numpy(float),
            frame["flip"].to_numpy(float),
            shown,
            *same,
            *(sign[:, None] * (self.a - self.b)[:, :COORDINATES]).T,
            *self.prompt[:, :COORDINATES].T,
            frame["category"].fillna("").to_numpy(dtype=str),
            self.agrees,
        ]

    @property
    def prefers_a(self) -> NDArray[np.bool_]:
        """Whether the judge prefers response a (n,)."""
        return np.asarray(self.frame["judge_prefers"] == "a", dtype=bool)

    @property
    def agrees(self) -> NDArray[np.float64]:
        """1 where people agree with the judge, 0 where they do not, NaN where nobody verified (n,)."""
        same = (self.frame["judge_prefers"] == self.frame["human_prefers"]).to_numpy(dtype=float)
        return np.where(self.verified, same, np.nan)

    @property
    def verified(self) -> NDArray[np.bool_]:
        """Whether people verified the pair (n,)."""
        return self.frame["human_prefers"].notna().to_numpy(dtype=bool)

    @property
    def identical(self) -> NDArray[np.bool_]:
        """Whether the two responses have one embedding, so that there is no direction between them (n,)."""
        if not self.dimensions:
            return np.zeros(len(self), dtype=bool)
        return np.asarray((self.a == self.b).all(axis=1), dtype=bool)

    @property
    def mostly_new_questions(self) -> bool:
        """Whether most unverified pairs are about questions nobody verified, of questions with many pairs."""
        pairs = ~self.frame["item"].duplicated()
        question, verified = self.frame["question"][pairs], self.verified[pairs]
        known = question[~verified].isin(question[verified])
        return bool(len(known) and question.duplicated().any() and (~known).mean() > MOSTLY_NEW)

    def take(self, rows: NDArray[Any]) -> Pairs:
        """Some of the rows, by a boolean mask or by places."""
        frame = self.frame.iloc[np.flatnonzero(rows) if rows.dtype == bool else rows].reset_index(drop=True)
        return replace(self, frame=frame, a=self.a[rows], b=self.b[rows], prompt=self.prompt[rows])

    def hide(self, rows: NDArray[np.bool_]) -> Pairs:
        """Copy in which nobody verified these rows (n,): what is held out."""
        hidden = self.frame["human_prefers"].mask(pd.Series(rows, index=self.frame.index))
        return replace(self, frame=self.frame.assign(human_prefers=hidden))

    def of(self, *, judge: str | None = None, attack: str = NO_ATTACK) -> Pairs:
        """Verdicts of one judge on the pairs as they were, or after one attack.

        Where the table has other judges, a column ``same as <judge>`` for each says whether it chose
        likewise (1), otherwise (−1), either way with the order (0), or did not choose (NaN).

        Raises
        ------
        UsageError
            No such judge or attack, or several judges and none chosen.
        """
        judges = list(dict.fromkeys(self.frame["judge"]))
        if judge is None and len(judges) > 1:
            named = ", ".join(map(repr, judges))
            raise UsageError(
                f"the table has {len(judges)} judges; choose one: judge={judges[0]!r}, or --judge (of {named})",
                options=[f"--judge {shlex.quote(name)}" for name in judges],
            )
        own = judges[0] if judge is None else judge
        require_judges([own], judges)
        attacks = list(dict.fromkeys(self.frame["attack"]))
        if attack not in attacks:
            raise UsageError(f"no attack {attack!r}; the table has {', '.join(map(repr, attacks))}")
        at = self.frame["attack"] == attack
        mine = (self.frame["judge"] == own) & at
        others = {other: self.frame[at & (self.frame["judge"] == other)] for other in judges if other != own}
        found, left = self.take(mine.to_numpy(dtype=bool))._compared(others), self.undecided
        if left is None:
            return found
        ours = (left.frame["judge"] == own) & (left.frame["attack"] == attack)
        return replace(found, undecided=left.take(ours.to_numpy(dtype=bool))._compared(others))

    def _compared(self, others: Mapping[str, pd.DataFrame]) -> Pairs:
        more = {f"{SAME_AS}{other}": _likewise(self.frame, theirs) for other, theirs in others.items()}
        # The most similar first, so that neither names nor row order decide on the order of the columns.
        likest = sorted(more, key=lambda name: (np.nansum(more[name]), np.isfinite(more[name]).sum()))
        return replace(self, frame=self.frame.assign(**{name: more[name] for name in reversed(likest)}))

    def _identical_responses(self) -> tuple[str, ...]:
        item = self.frame["item"]
        n, whole = item[self.identical].nunique(), item.nunique()
        text = f"{n} of {whole} pairs have one embedding for both responses (cut texts?): never flipped"
        return (text,) if n else ()


def _likewise(mine: pd.DataFrame, other: pd.DataFrame) -> NDArray[np.float64]:
    """1 where another judge chooses as my rows do, −1 where not, the mean over its orders; NaN where none."""
    side = other["judge_prefers"].map({"a": 1.0, "b": -1.0}).groupby(other["item"]).mean()
    own = mine["judge_prefers"].map({"a": 1.0, "b": -1.0}).astype(np.float64)
    return np.asarray(own * mine["item"].map(side).astype(np.float64), dtype=np.float64)
