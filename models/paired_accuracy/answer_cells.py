"""The outcomes one model's answer can show to one judge: (label, runs, verdicts of 1), each with a code.

An answer is of a *kind* (labelled or not, how many runs) by design; its *cell* is what came out. Kind 0
and cell 0 are an answer that was never given: nobody labelled it and the judge did not see it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesjudge.models.common.verdict_runs import log_choose

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["AnswerCells", "list_cells"]


@dataclass(frozen=True, eq=False, kw_only=True)
class AnswerCells:
    """All cells of all kinds that occur; K cells.

    Attributes
    ----------
    kind : int array (K,)
        Kind that each cell belongs to; cells of one kind stand together.
    label, runs, positives : int array (K,)
        What each cell is; label -1 where nobody labelled.
    answer_kind, answer_cell : int array, shape of the answers
        Codes of the answers that the cells were listed for.
    """

    kind: NDArray[np.int64]
    label: NDArray[np.int64]
    runs: NDArray[np.int64]
    positives: NDArray[np.int64]
    answer_kind: NDArray[np.int64]
    answer_cell: NDArray[np.int64]

    def arrays(self) -> dict[str, Any]:
        """The cells as a model's arrays, axis ``cells``."""
        return {"cell_label": self.label, "cell_runs": self.runs, "cell_positives": self.positives,
                "cell_log_ways": log_choose(self.runs, self.positives)}  # fmt: skip


def list_cells(
    label: NDArray[np.int64], runs: NDArray[np.int64], positives: NDArray[np.int64], *, enriched: bool
) -> AnswerCells:
    """List the cells of every kind of answer in three arrays of equal shape.

    With enriched labels the label was chosen, so it belongs to the kind; with random labels it came out.

    Examples
    --------
    >>> label, runs, positives = np.array([1, -1]), np.array([1, 1]), np.array([1, 0])
    >>> cells = list_cells(label, runs, positives, enriched=False)
    >>> list(zip(cells.label.tolist(), cells.positives.tolist())), cells.answer_cell.tolist()
    ([(-1, 0), (-1, 0), (-1, 1), (0, 0), (0, 1), (1, 0), (1, 1)], [6, 1])
    """
    by_design = label if enriched else np.minimum(label, 0)
    never = np.array([[-1, 0]])
    answers = np.concatenate([never, np.column_stack([by_design.ravel(), runs.ravel()])])
    kinds, answer_kind = np.unique(answers, axis=0, return_inverse=True)
    rows = [(code, y, k, v) for code, (mark, k) in enumerate(kinds.tolist())
            for y in _labels(mark, enriched=enriched) for v in range(k + 1)]  # fmt: skip
    kind, *outcome = np.array(rows, dtype=np.int64).T
    order = {(code, y, v): cell for cell, (code, y, _, v) in enumerate(rows)}
    answer_kind = answer_kind.reshape(-1)[1:]
    seen = np.column_stack([answer_kind, label.ravel(), positives.ravel()]).tolist()
    cell = np.array([order[tuple(row)] for row in seen], dtype=np.int64)
    return AnswerCells(
        kind=kind, label=outcome[0], runs=outcome[1], positives=outcome[2],
        answer_kind=answer_kind.reshape(runs.shape), answer_cell=cell.reshape(runs.shape),
    )  # fmt: skip


def _labels(mark: int, *, enriched: bool) -> tuple[int, ...]:
    """Labels an answer of a kind can show; ``mark`` is -1 without a label."""
    if mark < 0:
        return (-1,)
    return (mark,) if enriched else (0, 1)
