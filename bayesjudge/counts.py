"""Sufficient statistics: how often each pattern of verdicts and labels occurs, as Ibis expressions.

A likelihood or an estimator that treats items as exchangeable depends on the rows only through these
counts, so one pass over the rows (DuckDB by default, any Ibis backend) is all that grows with them.
Repeated runs of a judge on one answer are collapsed to (runs, positives) here and are never counted
as independent items; cluster codes ride along so that clusters stay whole everywhere downstream.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesjudge.errors import InputError, Problem, UsageError
from bayesjudge.tables import Verdicts

if TYPE_CHECKING:
    import ibis.expr.types as ir
    import pandas as pd
    from numpy.typing import NDArray

__all__ = ["AnswerPatterns", "ItemPatterns", "VerdictCounts", "count_verdicts"]

#: Code of a missing label in the integer arrays below.
UNLABELLED = -1


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
        As in `AnswerPatterns`, one column a model; ``runs`` is 0 where the judge did not see that model's answer.
    n : int array (R,)
        How many items show the pattern.
    """

    group: NDArray[np.int64]
    cluster: NDArray[np.int64]
    label: NDArray[np.int64]
    runs: NDArray[np.int64]
    positives: NDArray[np.int64]
    n: NDArray[np.int64]


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
    """

    models: tuple[str, ...]
    judges: tuple[str, ...]
    groups: tuple[str, ...]
    clusters: int
    answers: AnswerPatterns
    items: Mapping[str, ItemPatterns]
    dropped: Mapping[str, int] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    def for_judge(self, judge: str) -> VerdictCounts:
        """Counts of one judge alone, as if the others had not been asked."""
        if judge not in self.judges:
            raise UsageError(f"no judge {judge!r}; the table has {list(self.judges)}")
        j = self.judges.index(judge)
        answers = self.answers
        codes = np.column_stack([answers.model, answers.group, answers.cluster, answers.label,
                                 answers.runs[:, j], answers.positives[:, j]])  # fmt: skip
        seen = answers.runs[:, j] > 0
        patterns, inverse = np.unique(codes[seen], axis=0, return_inverse=True)
        n = np.bincount(inverse.reshape(-1), weights=answers.n[seen], minlength=len(patterns)).astype(np.int64)
        model, group, cluster, label, runs, positives = patterns.T
        alone = AnswerPatterns(model=model, group=group, cluster=cluster, label=label,
                               runs=runs[:, None], positives=positives[:, None], n=n)  # fmt: skip
        return VerdictCounts(models=self.models, judges=(judge,), groups=self.groups, clusters=self.clusters,
                             answers=alone, items={judge: self.items[judge]},
                             dropped=self.dropped, warnings=self.warnings)  # fmt: skip


def count_verdicts(
    verdicts: Verdicts | ir.Table, *, group: str | None = None, cluster: str | Sequence[str] | None = None
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

    Returns
    -------
    VerdictCounts

    Raises
    ------
    InputError
        A label that differs within an answer, a group or cluster that differs within an item, no rows.
    UsageError
        A group or cluster column that the table does not have.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"item": [1, 1, 2, 2], "model": ["a", "b"] * 2, "verdict": [1, 0, 1, 1],
    ...                       "label": [1, 0, None, None]})
    >>> counts = count_verdicts(Verdicts.from_frame(frame))
    >>> counts.models, int(counts.answers.n.sum())
    (('a', 'b'), 4)
    """
    known = isinstance(verdicts, Verdicts)
    table = verdicts.to_ibis() if isinstance(verdicts, Verdicts) else verdicts
    clusters = [cluster] if isinstance(cluster, str) else list(cluster or ())
    _require_columns(table, [*([group] if group else []), *clusters])
    cells = _cells(table, group, clusters)
    _require_consistent(cells)
    names = _names(cells)
    if not names["model"]:
        raise InputError([Problem(column="(table)", found="no rows", allowed="at least one verdict",
                                  fix="Check the file and the `dropped` counts.")])  # fmt: skip
    return VerdictCounts(
        models=names["model"],
        judges=names["judge"],
        groups=names["group"],
        clusters=len(names["cluster"]) if clusters else 0,
        answers=_answer_patterns(cells, names),
        items={judge: _item_patterns(cells, names, judge) for judge in names["judge"]},
        dropped=dict(verdicts.dropped) if known else {},  # type: ignore[union-attr]
        warnings=verdicts.warnings if known else (),  # type: ignore[union-attr]
    )


def _require_columns(table: ir.Table, wanted: list[str]) -> None:
    missing = [name for name in wanted if name not in table.columns]
    if missing:
        raise UsageError(f"no column {missing[0]!r} to group or cluster by; the table has {list(table.columns)}")


def _cells(table: ir.Table, group: str | None, clusters: list[str]) -> ir.Table:
    """One row per (item, model, judge): runs, positives, label, and the spread of what must be constant."""
    import ibis

    code = ibis.literal("all") if group is None else table[group].cast("string").fill_null("(missing)")
    parts = [table[name].cast("string").fill_null("(missing)") for name in clusters]
    joined = ibis.literal("") if not parts else ibis.literal("\x1f").join(parts)
    table = table.mutate(group=code, cluster=joined)
    return table.group_by(["item", "model", "judge"]).aggregate(
        runs=table.verdict.count(),
        positives=table.verdict.cast("int64").sum(),
        label=table.label.cast("int64").max(),
        label_low=table.label.cast("int64").min(),
        group=table.group.max(),
        group_low=table.group.min(),
        cluster=table.cluster.max(),
        cluster_low=table.cluster.min(),
    )


def _require_consistent(cells: ir.Table) -> None:
    by_answer = cells.group_by(["item", "model"]).aggregate(high=cells.label.max(), low=cells.label_low.min())
    by_item = cells.group_by("item").aggregate(
        group_high=cells.group.max(), group_low=cells.group_low.min(),
        cluster_high=cells.cluster.max(), cluster_low=cells.cluster_low.min(),
    )  # fmt: skip
    wrong = {
        "label": by_answer.filter(by_answer.high != by_answer.low),
        "group": by_item.filter(by_item.group_high != by_item.group_low),
        "cluster": by_item.filter(by_item.cluster_high != by_item.cluster_low),
    }
    within = {"label": "answer (item and model)", "group": "item", "cluster": "item"}
    problems = []
    for column, rows in wrong.items():
        shown = rows.limit(5).execute()
        if len(shown):
            items = ", ".join(repr(item) for item in shown["item"])
            problems.append(Problem(column=column, found=f"several values for item {items}",
                                    allowed=f"one value for each {within[column]}",
                                    fix="Settle on one before counting."))  # fmt: skip
    if problems:
        raise InputError(problems)


def _names(cells: ir.Table) -> dict[str, tuple[str, ...]]:
    return {
        name: tuple(sorted(str(value) for value in cells.select(name).distinct().execute()[name]))
        for name in ("model", "judge", "group", "cluster")
    }


def _answer_patterns(cells: ir.Table, names: Mapping[str, tuple[str, ...]]) -> AnswerPatterns:
    wide = cells.group_by(["item", "model"]).aggregate(
        group=cells.group.max(), cluster=cells.cluster.max(), label=cells.label.max().fill_null(UNLABELLED),
        **_spread(cells, "judge", names["judge"], ("runs", "positives")),
    )  # fmt: skip
    frame = _tally(wide.drop("item"))
    return AnswerPatterns(
        model=_codes(frame["model"], names["model"]),
        group=_codes(frame["group"], names["group"]),
        cluster=_codes(frame["cluster"], names["cluster"]),
        label=frame["label"].to_numpy(np.int64),
        **{key: _matrix(frame, key, len(names["judge"])) for key in ("runs", "positives")},
        n=frame["n"].to_numpy(np.int64),
    )


def _item_patterns(cells: ir.Table, names: Mapping[str, tuple[str, ...]], judge: str) -> ItemPatterns:
    one = cells.filter(cells.judge == judge)
    wide = one.group_by("item").aggregate(
        group=one.group.max(), cluster=one.cluster.max(),
        **_spread(one, "model", names["model"], ("runs", "positives", "label")),
    )  # fmt: skip
    frame = _tally(wide.drop("item"))
    return ItemPatterns(
        group=_codes(frame["group"], names["group"]),
        cluster=_codes(frame["cluster"], names["cluster"]),
        **{key: _matrix(frame, key, len(names["model"])) for key in ("label", "runs", "positives")},
        n=frame["n"].to_numpy(np.int64),
    )


def _spread(cells: ir.Table, by: str, names: Sequence[str], values: Sequence[str]) -> dict[str, Any]:
    """Wide columns ``value_k`` for the k-th name; an absent cell has 0 runs and no label."""
    empty = {"runs": 0, "positives": 0, "label": UNLABELLED}
    return {
        f"{value}_{k}": cells[value].max(where=cells[by] == name).fill_null(empty[value])
        for k, name in enumerate(names)
        for value in values
    }


def _tally(wide: ir.Table) -> pd.DataFrame:
    keys = list(wide.columns)
    counted = wide.group_by(keys).aggregate(n=wide.count())
    return counted.order_by(keys).execute()


def _codes(values: pd.Series[str], names: Sequence[str]) -> NDArray[np.int64]:
    return np.searchsorted(np.asarray(names, dtype=object), values.to_numpy(dtype=object)).astype(np.int64)


def _matrix(frame: pd.DataFrame, value: str, width: int) -> NDArray[np.int64]:
    return frame[[f"{value}_{k}" for k in range(width)]].to_numpy(np.int64)
