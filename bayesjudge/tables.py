"""The tables every question starts from: validated, frozen, one row an event."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pandas as pd

if TYPE_CHECKING:
    import ibis.expr.types as ir

__all__ = ["Verdicts"]


@dataclass(frozen=True, eq=False)
class Verdicts:
    """Judge verdicts on single answers, some with a human label.

    Parameters
    ----------
    frame : pandas.DataFrame
        Columns ``item, model, judge, run`` (str), ``verdict`` (int8, 0 or 1), ``label`` (Int8: 0, 1 or missing
        for unlabelled), then any extra columns as they came. Treat it as read-only.
    dropped : mapping of str to int
        Rows of the input that could not be used: reason to count.
    warnings : tuple of str
        What was assumed on the way in.
    """

    frame: pd.DataFrame
    dropped: Mapping[str, int] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    @classmethod
    def from_frame(cls, frame: pd.DataFrame, *, columns: Mapping[str, str] | None = None) -> Verdicts:
        """Validate a data frame."""
        frame = frame.rename(columns=dict(columns or {}))
        if "judge" not in frame:
            frame = frame.assign(judge="judge")
        if "label" not in frame:
            frame = frame.assign(label=pd.NA)
        if "run" not in frame:
            frame = frame.assign(run=frame.groupby(["item", "model", "judge"]).cumcount().astype(str))
        core = {name: frame[name].astype(str) for name in ("item", "model", "judge", "run")}
        core |= {"verdict": frame["verdict"].astype("int8"), "label": frame["label"].astype("Int8")}
        extra = [name for name in frame.columns if name not in core]
        return cls(pd.DataFrame(core).join(frame[extra]))

    def __len__(self) -> int:
        return len(self.frame)

    def to_ibis(self) -> ir.Table:
        """The table as an Ibis expression on embedded DuckDB."""
        import ibis

        return ibis.memtable(self.frame)
