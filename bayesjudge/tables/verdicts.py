"""Judge verdicts on single answers: the table behind every question about accuracy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow as pa

from bayesjudge.tables.columns import label_source, require_frame
from bayesjudge.tables.verdict_rows import IDS, validate

if TYPE_CHECKING:
    import ibis.expr.types as ir


@dataclass(frozen=True, eq=False)
class Verdicts:
    """Judge verdicts on single answers, some with a human label.

    Parameters
    ----------
    frame : pandas.DataFrame
        Columns ``item, model, judge, run`` (str), ``verdict`` (int8, 0 or 1), ``label`` (Int8: 0, 1 or
        missing for unlabelled), where labels were drawn with unequal probabilities ``label_probability``
        (float, above 0 and up to 1), then any extra columns as they came. Treat it as read-only.
    dropped : mapping of str to int
        Rows of the input that could not be used: reason to count.
    warnings : tuple of str
        What was assumed on the way in.
    source : tuple of mapping
        The files that it was read from: name, size, SHA-256, format, records and rows.
    annotations : pandas.DataFrame, optional
        Where the labels table names annotators: ``item, model, annotator, label``, one row a mark. ``label``
        of the frame is then their majority, missing where it is a tie.
    label_source : {"human", "mapped"}, optional
        How people's labels were known as such: by their column's name, or because the user named the column.
    cluster : str, optional
        The column that holds items together which are several answers to one question.
    metric : {"score", "verdict"}, optional
        Where no judge judged, and verdicts are metrics by reference or by code: what a tool's log has them in.
    """

    frame: pd.DataFrame
    dropped: Mapping[str, int] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    annotations: pd.DataFrame | None = None
    label_source: str | None = None
    cluster: str | None = None
    source: tuple[Mapping[str, Any], ...] = ()
    metric: str | None = None

    @classmethod
    def from_frame(
        cls, frame: pd.DataFrame, *, columns: Mapping[str, str] | None = None, labels: pd.DataFrame | None = None
    ) -> Verdicts:
        """Validate a data frame.

        Parameters
        ----------
        frame : pandas.DataFrame
            One row a verdict: ``item``, ``model``, ``verdict``, and where known ``judge``, ``label``, ``run``
            and columns to group or cluster by. Verdicts and labels may be numbers, booleans or words, see
            `bayesjudge.tables.coding.BINARY`. ``label_probability`` says with which probability an answer was
            chosen to be labelled; once it is there, every labelled answer needs it.
        columns : mapping of str to str, optional
            Our name to yours: ``{"verdict": "score"}`` reads verdicts from your column ``score``.
        labels : pandas.DataFrame, optional
            Gold labels: ``item``, ``label`` and ``model``; without the last, a label counts for every model's
            answer to the item; ``label_probability`` as above. With a column ``annotator``, each person's
            labels on an answer, which may differ.

        Returns
        -------
        Verdicts

        Raises
        ------
        InputError
            Every problem found: values that cannot be read, labels that differ within an answer, runs that
            differ, missing columns, no usable rows.
        UsageError
            A mapping from or to a column that does not exist.

        Notes
        -----
        Rows without an item, model, judge or verdict are counted in ``dropped``. A label on one row of an
        answer holds for all its rows, also when it stands on a row without a verdict. Without a ``run``
        column, repeated rows are repeated runs of the judge, numbered in row order; where a judge never
        contradicts itself they are copies of one row, counted in ``dropped`` and used once.

        Examples
        --------
        >>> frame = pd.DataFrame({"item": [1, 1, 2], "model": ["a", "b", "a"], "score": ["yes", "no", None]})
        >>> verdicts = Verdicts.from_frame(frame, columns={"verdict": "score"})
        >>> verdicts.frame["verdict"].tolist(), dict(verdicts.dropped)
        ([1, 0], {'missing verdict': 1})
        """
        require_frame(frame, "read_verdicts")
        found = cls(*validate(frame, columns, labels))
        return replace(found, label_source=label_source(columns, found.frame, "label"))

    def __len__(self) -> int:
        return len(self.frame)

    def to_ibis(self, *, extra: Sequence[str] | None = None) -> ir.Table:
        """The table as an Ibis expression on embedded DuckDB.

        Parameters
        ----------
        extra : sequence of str, optional
            Extra columns to take along (by default all); those of mixed kinds are given as text.
        """
        import ibis

        core = [name for name in (*IDS, "verdict", "label", "label_probability") if name in self.frame]
        names = [name for name in self.frame if name not in core] if extra is None else list(extra)
        chosen = self.frame[core + names]
        mixed = {str(name): chosen[name] for name in names if chosen[name].dtype == object}
        texts = {name: values.map(str, na_action="ignore") for name, values in mixed.items()}
        return ibis.memtable(pa.Table.from_pandas(chosen.assign(**texts), preserve_index=False))
