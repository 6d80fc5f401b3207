"""Votes of a panel of judges as dense arrays (items, models, judges), with the human labels beside them.

A regression of the label on all votes needs every judge's vote on an answer side by side, which the pattern
counts of `bayesjudge.counts` do not keep for many judges and models at once. One pass (DuckDB by default,
any Ibis backend) collapses rows to one row an answer; the pivot to arrays is all that happens here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayesjudge.counts.key_columns import columns_of_answers
from bayesjudge.counts.memory import GivenTable, fetch
from bayesjudge.counts.rows import Cells, coded, make_cells, packed_cells, unpacked_cells
from bayesjudge.errors import UsageError, require_judges
from bayesjudge.tables import Verdicts
from bayesjudge.tables.verdict_rows import NAMES

#: Who gave a label that stands in the verdict table itself, where other labels name their annotators.
UNNAMED = "(label column)"


@dataclass(frozen=True, eq=False, kw_only=True)
class PanelVotes:
    """Votes of J judges on the answers of M models to I items, and the labels that people gave.

    models, judges, groups, items: Names in the order of the codes, sorted; without a group column the one group is
        ``"all"``.
    votes: Mean verdict over the judge's runs, in [0, 1]; NaN where the judge did not vote.
    runs: How many runs the mean is over, 0 where there is no vote.
    label: Mean human label over annotators (0 or 1 for one annotator), NaN where nobody labelled the answer.
    annotations: Human labels behind ``label``, 0 where there is none.
    group, cluster: Codes of the item's group, and of the cluster it belongs to (its own where none was named).
    scores: Mean graded score over the runs, on the judge's own scale, where a score column was named; NaN where the
        judge gave none.
    annotators: People who labelled, where the table tells them apart; else empty.
    marks: Each annotator's label, 0 or 1, and -1 where they gave none.
    group_name: Of the group column.
    columns: ``item``, ``system`` and the columns that formulas name, one row for each answer, whose index has the codes
        of item and system; none where no such were asked for.
    probability: With which each labelled answer was chosen to be labelled, NaN where there is no label; none where all
        had the same chance.
    dropped: Rows of the input that could not be used, by reason.
    warnings: What was assumed on the way in.
    """

    models: tuple[str, ...]
    judges: tuple[str, ...]
    groups: tuple[str, ...]
    items: tuple[str, ...]
    votes: NDArray[np.float64]
    runs: NDArray[np.int64]
    label: NDArray[np.float64]
    annotations: NDArray[np.int64]
    group: NDArray[np.int64]
    cluster: NDArray[np.int64]
    group_name: str = "group"
    columns: pd.DataFrame | None = None
    scores: NDArray[np.float64] | None = None
    annotators: tuple[str, ...] = ()
    marks: NDArray[np.int64] | None = None
    probability: NDArray[np.float64] | None = None
    dropped: Mapping[str, int] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    @property
    def answered(self) -> NDArray[np.bool_]:
        """Cells (I, M) that any row of the table mentioned."""
        return np.asarray((self.runs.sum(-1) > 0) | (self.annotations > 0))

    def with_labels_of(self, keep: NDArray[np.bool_]) -> PanelVotes:
        """The same votes with the labels of some items (I,) or cells (I, M) alone, as if no other were known."""
        cells = keep if keep.ndim == 2 else keep[:, None]
        marks = None if self.marks is None else np.where(cells[..., None], self.marks, -1)
        label, annotations = np.where(cells, self.label, np.nan), np.where(cells, self.annotations, 0)
        return replace(self, label=label, marks=marks, annotations=annotations)

    def majority(self) -> PanelVotes:
        """The same votes with the label that most annotators gave; an answer on which they tie has none."""
        if self.marks is None:
            return self
        decided = np.isfinite(self.label) & (self.label != 0.5)
        label, annotations = np.where(decided, self.label > 0.5, np.nan), np.where(decided, self.annotations, 0)
        return replace(self, label=label, annotations=annotations, annotators=(), marks=None)

    def for_judges(self, judges: Sequence[str]) -> PanelVotes:
        """The panel of some of its judges, in its own order."""
        require_judges(judges, self.judges)
        keep = np.isin(self.judges, judges)
        scores = None if self.scores is None else self.scores[:, :, keep]
        names = tuple(np.array(self.judges, dtype=object)[keep])
        return replace(self, judges=names, scores=scores, votes=self.votes[:, :, keep], runs=self.runs[:, :, keep])


def panel_votes(
    verdicts: Verdicts | GivenTable,
    *,
    group_by: str | None = None,
    cluster: str | Sequence[str] | None = None,
    score: str | None = None,
    columns: Sequence[str] | None = None,
) -> PanelVotes:
    """Votes of all judges on all answers, in one pass where the data lives.

    group_by: Column whose values split the items (a subject, a language); constant within an item.
    cluster: Columns whose values say which items belong together (one document); constant within an item.
    columns: Columns of formulas; constant within an answer.
    """
    cells = make_cells(verdicts, group=group_by, cluster=cluster)
    frame = fetch(_one_row_an_answer(cells))
    item, items = pd.factorize(frame["item"], sort=True)
    place = (item, coded(frame["model"], cells.models))
    shape = (len(items), len(cells.models), len(cells.judges))
    votes, runs, label = _dense(frame, place, shape)
    chance = np.full(shape[:2], np.nan)
    if "probability" in frame:
        chance[place] = frame["probability"].to_numpy(np.float64, na_value=np.nan)
    found = PanelVotes(
        models=cells.models,
        judges=cells.judges,
        groups=cells.groups,
        items=tuple(map(str, items)),
        votes=votes,
        runs=runs,
        label=label,
        annotations=np.isfinite(label).astype(np.int64),
        group_name=group_by or "group",
        columns=None if columns is None else _columns(verdicts, columns, frame, place),
        group=_of_items(frame, item, "group", cells.groups, np.zeros(len(items), np.int64)),
        cluster=_of_items(frame, item, "cluster", cells.clusters, np.arange(len(items))),
        probability=np.where(np.isfinite(label), chance, np.nan) if "probability" in frame else None,
        scores=None if score is None else _scores(verdicts, score, items, cells),
        dropped=cells.dropped,
        warnings=cells.warnings,
    )
    marks = verdicts.annotations if isinstance(verdicts, Verdicts) else None
    return found if marks is None else _annotated(found, marks)


def _columns(
    verdicts: Verdicts | GivenTable, columns: Sequence[str], frame: pd.DataFrame, place: tuple[Any, Any]
) -> pd.DataFrame:
    """The columns of every row, indexed by its codes."""
    keys = frame[["item", "model"]].rename(columns={"model": "system"})
    found = keys.merge(columns_of_answers(verdicts, columns), how="left", on=["item", "system"], validate="1:1")
    return found.set_axis(pd.MultiIndex.from_arrays(place, names=["item_code", "system_code"]), axis=0)


def _annotated(votes: PanelVotes, annotations: pd.DataFrame) -> PanelVotes:
    """The same votes with every annotator's own mark, and their mean as the label."""
    annotators = tuple(sorted(annotations["annotator"].unique()))
    named = {"item": votes.items, "model": votes.models, "annotator": annotators}
    place = tuple(coded(annotations[column], names) for column, names in named.items())
    # Answers without a usable verdict are not among the items.
    known = (place[0] >= 0) & (place[1] >= 0)
    marks = np.full((*votes.label.shape, len(annotators)), -1, np.int64)
    marks[tuple(code[known] for code in place)] = annotations["label"].to_numpy(np.int64)[known]
    # A label of the verdict table itself has no annotator's name: one more annotator gave it.
    alone = (votes.annotations > 0) & (marks < 0).all(axis=-1)
    if alone.any():
        own = np.where(alone, votes.label > 0.5, -1).astype(np.int64)
        marks, annotators = np.concatenate([marks, own[..., None]], axis=-1), (*annotators, UNNAMED)
    given = (marks >= 0).sum(axis=-1)
    mean = (marks == 1).sum(axis=-1) / np.maximum(given, 1)
    return replace(
        votes, annotators=annotators, marks=marks, annotations=given, label=np.where(given > 0, mean, np.nan)
    )


def _one_row_an_answer(cells: Cells) -> Any:
    table = cells.table
    keys = {name: table[name].max() for name in ("group", "cluster", "probability") if name in table.columns}
    codes = {f"code_{j}": packed_cells(table, table.judge == name) for j, name in enumerate(cells.judges)}
    return table.group_by(["item", "model"]).aggregate(label=table.label.max(), **keys, **codes)


def _dense(
    frame: pd.DataFrame, place: tuple[Any, Any], shape: tuple[int, int, int]
) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.float64]]:
    """Votes, runs and labels at the places (item, model) of the rows, nothing elsewhere."""
    counted, positives, _ = unpacked_cells(frame[[f"code_{j}" for j in range(shape[2])]].to_numpy(np.int64))
    runs, votes = np.zeros(shape, np.int64), np.full(shape, np.nan)
    runs[place] = counted
    votes[place] = np.where(counted > 0, positives / np.maximum(counted, 1), np.nan)
    label = np.full(shape[:2], np.nan)
    label[place] = frame["label"].to_numpy(np.float64, na_value=np.nan)
    return votes, runs, label


def _of_items(
    frame: pd.DataFrame, item: NDArray[Any], name: str, names: Sequence[str], default: NDArray[np.int64]
) -> NDArray[np.int64]:
    if name not in frame:
        return default
    codes = np.empty(len(default), np.int64)
    codes[item] = coded(frame[name], names)
    return codes


def _scores(verdicts: Verdicts | GivenTable, score: str, items: pd.Index[Any], cells: Cells) -> NDArray[np.float64]:
    """Mean score of each judge on each answer; rows without a score count as no vote."""
    import ibis

    names = list(verdicts.frame.columns if isinstance(verdicts, Verdicts) else verdicts.columns)
    if score not in names or score in NAMES:
        raise UsageError(f"no column {score!r} with graded scores; the table has {names}")
    table: Any = verdicts.to_ibis(extra=[score]) if isinstance(verdicts, Verdicts) else verdicts
    if not table[score].type().is_numeric():
        raise UsageError(f"scores must be numbers; column {score!r} holds {table[score].type()}")
    judge = table["judge"] if "judge" in table.columns else ibis.literal(cells.judges[0])
    names_of = {name: table[name].cast("string") for name in ("item", "model")}
    rows = table.select(**names_of, judge=judge, score=table[score].cast("float64")).drop_null()
    means = fetch(rows.group_by(["item", "model", "judge"]).aggregate(score=rows.score.mean()))
    place = (
        items.get_indexer(pd.Index(means["item"])),
        coded(means["model"], cells.models),
        coded(means["judge"], cells.judges),
    )
    known = np.logical_and.reduce([code >= 0 for code in place])
    scores = np.full((len(items), len(cells.models), len(cells.judges)), np.nan)
    scores[tuple(code[known] for code in place)] = means["score"].to_numpy()[known]
    return scores
