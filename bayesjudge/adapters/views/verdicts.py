"""The accuracy question: verdicts of one judge, counted by system, label and verdict."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesjudge.adapters.views.view import PATTERN, View, by_entry, drawn_within
from bayesjudge.counts import VerdictCounts, count_verdicts
from bayesjudge.errors import UsageError
from bayesjudge.model import Data
from bayesjudge.readers import read_verdicts
from bayesjudge.tables import Verdicts

ARRAYS: Mapping[str, tuple[str, ...]] = {
    "labelled": ("system", "label", "verdict"),
    "unlabelled": ("system", "verdict"),
    "n": ("system",),
    "positives": ("system",),
}
#: Of the judge; one value for all systems, or one for each.
QUALITY = ("sensitivity", "specificity", "youden")


def require_one_judge(counts: VerdictCounts) -> None:
    """Refuse verdicts of several judges."""
    if len(counts.judges) > 1:
        raise UsageError(f"a function is a model of one judge's verdicts; choose one of {', '.join(counts.judges)}")


def _made(table: Any) -> Data:
    counts = count_verdicts(table) if isinstance(table, Verdicts) else table
    require_one_judge(counts)
    answers = counts.answers
    patterns = {
        "n": answers.n,
        "stratum": answers.model,
        "label": answers.label,
        "runs": answers.runs[:, 0],
        "positives": answers.positives[:, 0],
    }
    arrays = {f"{PATTERN}{name}": np.asarray(array, dtype=np.int64) for name, array in patterns.items()}
    found = counted(arrays, len(counts.models))
    return Data(
        arrays={**found, **arrays},
        dims={**ARRAYS, **dict.fromkeys(arrays, ("pattern",))},
        coords={
            "system": counts.models,
            "label": ("wrong", "right"),
            "verdict": ("judged wrong", "judged right"),
            "judge": counts.judges,
            "pattern": tuple(range(len(answers.n))),
        },
        observed="positives",
        counted=True,
        units=dict(zip(counts.models, found["n"].tolist(), strict=True)),
    )


def _resampled(data: Data, replicates: int, rng: np.random.Generator) -> Mapping[str, Any]:
    arrays = {name: np.asarray(array) for name, array in data.arrays.items() if name.startswith(PATTERN)}
    drawn = drawn_within(arrays[f"{PATTERN}stratum"], arrays[f"{PATTERN}n"], replicates, rng)
    return counted({**arrays, f"{PATTERN}n": drawn}, len(data["n"]))


def counted(arrays: Mapping[str, NDArray[np.int64]], strata: int) -> Mapping[str, NDArray[np.int64]]:
    """Counts of each stratum from patterns; ``pattern_n`` may have leading axes."""
    n, stratum, label, runs, positives = (
        arrays[PATTERN + name] for name in ("n", "stratum", "label", "runs", "positives")
    )
    cells = np.zeros((*n.shape[:-1], strata, 3, 2), dtype=np.int64)
    each = np.moveaxis(np.stack([n * (runs - positives), n * positives], axis=-1), -2, 0)
    # No label is -1: the last of three.
    np.add.at(np.moveaxis(cells, (-3, -2), (0, 1)), (stratum, label), each)
    total = cells.sum(-2)
    return {
        "labelled": cells[..., :2, :],
        "unlabelled": cells[..., 2, :],
        "n": total.sum(-1),
        "positives": total[..., 1],
    }


VERDICTS = View(
    question="accuracy",
    kinds=(Verdicts, VerdictCounts),
    read=read_verdicts,
    made=_made,
    arrays=ARRAYS,
    estimands=dict.fromkeys(("accuracy", *QUALITY), "system"),
    needed=("accuracy",),
    shared=QUALITY,
    resampled=_resampled,
    shown=by_entry,
)
