"""Sufficient statistics: how often each pattern of verdicts and labels occurs, as Ibis expressions.

A likelihood or an estimator that treats items as exchangeable depends on the rows only through these
counts, so one pass over the rows (DuckDB by default, any Ibis backend) is all that grows with them.
Repeated runs of a judge on one answer are collapsed to (runs, positives) here and are never counted
as independent items; cluster codes ride along so that clusters stay whole everywhere downstream.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayesjudge.counts.key_columns import answer_rows
from bayesjudge.counts.memory import GivenTable, IbisTable, fetch
from bayesjudge.counts.rows import UNLABELLED, Cells, coded, make_cells, packed_cells, unpacked_cells
from bayesjudge.errors import UsageError
from bayesjudge.tables import Verdicts


@dataclass(frozen=True, eq=False, kw_only=True)
class AnswerPatterns:
    """Patterns over the judges of one answer (an item answered by a model); R patterns, J judges.

    Attributes
    ----------
    model, group, cluster : int array (R,)
        Codes into `VerdictCounts.models`, `.groups` and the clusters.
    label : int array (R,)
        1, 0, or -1 where no person labelled the answer.
    runs, positives : int array (R, J)
        Number of runs of each judge on the answer (0: it did not judge it) and how many said 1.
    n : int array (R,)
        How many answers show the pattern.
    """

    model: NDArray[np.int64]
    group: NDArray[np.int64]
    cluster: NDArray[np.int64]
    label: NDArray[np.int64]
    runs: NDArray[np.int64]
    positives: NDArray[np.int64]
    n: NDArray[np.int64]


@dataclass(frozen=True, eq=False, kw_only=True)
class ItemPatterns:
    """Patterns over the models of one item, for one judge; R patterns, M models.

    Attributes
    ----------
    group, cluster : int array (R,)
        Codes into `VerdictCounts.groups` and the clusters.
    label, runs, positives : int array (R, M)
        As in `AnswerPatterns`, one column a model; ``runs`` is 0 and ``label`` -1 where the judge did not see
        that model's answer.
    n : int array (R,)
        How many items show the pattern.
    probability : float array (R, M), optional
        With which each labelled answer was chosen to be labelled, 0 where it has no label; none where all
        had the same chance.
    """

    group: NDArray[np.int64]
    cluster: NDArray[np.int64]
    label: NDArray[np.int64]
    runs: NDArray[np.int64]
    positives: NDArray[np.int64]
    n: NDArray[np.int64]
    probability: NDArray[np.float64] | None = None

    @property
    def label_weight(self) -> NDArray[np.float64]:
        """How many labels each one represents (R, M): 1/probability, with mean 1 over a model's labels.

        1 where labels had the same chance, 0 where there is no label (or the judge did not judge the answer).
        """
        given = (self.label >= 0) & (self.runs > 0)
        if self.probability is None:
            return given.astype(np.float64)
        raw = np.divide(1.0, self.probability, where=given, out=np.zeros(given.shape))
        count, total = self.n @ given, self.n @ raw
        return raw * np.divide(count, total, where=total > 0, out=np.zeros(len(count)))


@dataclass(frozen=True, eq=False, kw_only=True)
class VerdictCounts:
    """Everything the models and baselines of the accuracy question see.

    Attributes
    ----------
    models, judges, groups : tuple of str
        Names in the order of the codes; without a group column there is the one group ``"all"``.
    clusters : int
        Number of clusters; 0 when every item stands alone.
    answers : AnswerPatterns
        Joint over judges, one answer at a time.
    items : mapping of str to ItemPatterns
        Joint over models, one judge at a time.
    dropped : mapping of str to int
        Rows of the input that could not be used, by reason.
    warnings : tuple of str
        What was assumed on the way in.
    label_source : {"human", "mapped"}, optional
        As in `Verdicts`.
    rows : pandas.DataFrame, optional
        Answers one by one with the columns that formulas name, where such were asked for.
    """

    models: tuple[str, ...]
    judges: tuple[str, ...]
    groups: tuple[str, ...]
    clusters: int
    answers: AnswerPatterns
    items: Mapping[str, ItemPatterns]
    dropped: Mapping[str, int] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    label_source: str | None = None
    rows: pd.DataFrame | None = None

    @property
    def weighted(self) -> bool:
        """Whether labels were drawn with unequal probabilities that the table states."""
        return any(items.probability is not None for items in self.items.values())

    def for_judge(self, judge: str) -> VerdictCounts:
        """Counts of one judge alone, as if no other had been asked; models it never saw are left out."""
        if judge not in self.judges:
            raise UsageError(f"no judge {judge!r}; the table has {list(self.judges)}")
        j = self.judges.index(judge)
        answers = self.answers
        codes = np.column_stack(
            [answers.model, answers.group, answers.cluster, answers.label, answers.runs[:, j], answers.positives[:, j]]
        )
        judged = answers.runs[:, j] > 0
        patterns, inverse = np.unique(codes[judged], axis=0, return_inverse=True)
        n = np.bincount(inverse.reshape(-1), weights=answers.n[judged], minlength=len(patterns)).astype(np.int64)
        model, group, cluster, label, runs, positives = patterns.T
        kept, model = np.unique(model, return_inverse=True)
        codes_of = {"model": model.reshape(-1), "group": group, "cluster": cluster, "label": label}
        alone = AnswerPatterns(**codes_of, runs=runs[:, None], positives=positives[:, None], n=n)
        items = self.items[judge]
        wide = {key: getattr(items, key)[:, kept] for key in ("label", "runs", "positives")}
        wide["probability"] = None if items.probability is None else items.probability[:, kept]
        return replace(
            self,
            models=tuple(self.models[k] for k in kept),
            judges=(judge,),
            answers=alone,
            items={judge: replace(items, **wide)},
            rows=None if self.rows is None else self.rows[self.rows["judge"] == judge].reset_index(drop=True),
        )


def count_verdicts(
    verdicts: Verdicts | GivenTable,
    *,
    group: str | None = None,
    cluster: str | Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
) -> VerdictCounts:
    """Count verdict patterns in one pass where the data lives.

    Parameters
    ----------
    verdicts : Verdicts or ibis Table
        A validated table, or an Ibis expression with the columns of `Verdicts` on any backend.
    group : str, optional
        Column whose values split the items (a subject, a language); constant within an item.
    cluster : str or sequence of str, optional
        Columns whose values say which items belong together (one document); constant within an item.
    columns : sequence of str, optional
        Columns of formulas; constant within an answer. With them, answers are kept one by one.

    Raises
    ------
    InputError
        A label that differs within an answer, a group or cluster that differs within an item, no rows.
    UsageError
        A group, cluster or other column that the table does not have.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"item": [1, 1, 2, 2], "model": ["a", "b"] * 2, "verdict": [1, 0, 1, 1],
    ...                       "label": [1, 0, None, None]})
    >>> counts = count_verdicts(Verdicts.from_frame(frame))
    >>> counts.models, int(counts.answers.n.sum())
    (('a', 'b'), 4)
    """
    cells = make_cells(verdicts, group=group, cluster=cluster)
    return VerdictCounts(
        models=cells.models,
        judges=cells.judges,
        groups=cells.groups,
        clusters=len(cells.clusters),
        answers=_answer_patterns(cells),
        items=_item_patterns(cells),
        dropped=cells.dropped,
        warnings=cells.warnings,
        label_source=verdicts.label_source if isinstance(verdicts, Verdicts) else None,
        rows=None if columns is None else answer_rows(verdicts, cells, columns),
    )


def _answer_patterns(cells: Cells) -> AnswerPatterns:
    table = cells.table
    codes = {f"code_{j}": packed_cells(table, table.judge == judge) for j, judge in enumerate(cells.judges)}
    keys = _shared_keys(cells) | {"label": table.label.max().fill_null(UNLABELLED)}
    wide = table.group_by(["item", "model"]).aggregate(**keys, **codes)
    frame = _tally(wide, ["model", *keys, *codes])
    packed = frame[list(codes)].to_numpy(np.int64)
    runs, positives, _ = unpacked_cells(packed)
    return AnswerPatterns(
        model=coded(frame["model"], cells.models),
        **_shared_codes(frame, cells),
        label=frame["label"].to_numpy(np.int64),
        runs=runs,
        positives=positives,
        n=frame["n"].to_numpy(np.int64),
    )


def _item_patterns(cells: Cells) -> dict[str, ItemPatterns]:
    table = cells.table
    if len(cells.judges) > 1:
        # A label may stand on the rows of another judge of the same answer. Not every backend has windows.
        known = {name: table[name].max() for name in ("label", "probability") if name in table.columns}
        labels = table.group_by(["item", "model"]).aggregate(**known)
        table = table.drop("label_low", *known).inner_join(labels, ["item", "model"])
    codes = {f"code_{m}": packed_cells(table, table.model == model) for m, model in enumerate(cells.models)}
    chances = {
        f"chance_{m}": table.probability.max(where=(table.model == model) & table.label.notnull()).fill_null(0.0)
        for m, model in enumerate(cells.models if "probability" in table.columns else ())
    }
    keys = _shared_keys(cells)
    wide = table.group_by(["judge", "item"]).aggregate(**keys, **codes, **chances)
    frame = _tally(wide, ["judge", *keys, *codes, *chances])
    of_judge = {judge: frame[frame["judge"] == judge] for judge in cells.judges}
    return {judge: _one_judge(mine, cells, list(codes), list(chances)) for judge, mine in of_judge.items()}


def _one_judge(frame: pd.DataFrame, cells: Cells, codes: list[str], chances: list[str]) -> ItemPatterns:
    runs, positives, label = unpacked_cells(frame[codes].to_numpy(np.int64))
    probability = frame[chances].to_numpy(np.float64) if chances else None
    return ItemPatterns(
        **_shared_codes(frame, cells),
        label=label,
        runs=runs,
        positives=positives,
        n=frame["n"].to_numpy(np.int64),
        probability=probability,
    )


def _shared_keys(cells: Cells) -> dict[str, Any]:
    return {name: cells.table[name].max() for name in ("group", "cluster") if name in cells.table.columns}


def _shared_codes(frame: pd.DataFrame, cells: Cells) -> dict[str, NDArray[np.int64]]:
    nothing = np.zeros(len(frame), dtype=np.int64)
    named = {"group": cells.groups, "cluster": cells.clusters}
    return {key: coded(frame[key], names) if key in frame else nothing for key, names in named.items()}


def _tally(wide: IbisTable, keys: list[str]) -> pd.DataFrame:
    """Patterns and how often each occurs, in an order that no backend's collation changes."""
    patterns = wide.group_by(keys).aggregate(n=wide.count())
    return fetch(patterns).sort_values(keys, ignore_index=True)
