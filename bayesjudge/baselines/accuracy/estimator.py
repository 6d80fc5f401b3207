"""What a family of estimators supplies; everything else (variances, bootstrap, rows) is shared."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayesjudge.baselines.accuracy.finite_population import Finite
from bayesjudge.baselines.common.moments import Array, Evidence, Moments

__all__ = ["Estimator", "no_notes", "observed", "texts"]


def texts(size: int, cases: Sequence[tuple[NDArray[np.bool_], str | Sequence[str]]]) -> list[str]:
    """For each of ``size`` models the text of the first case that applies, else an empty string.

    Examples
    --------
    >>> texts(2, [(np.array([False, True]), "no labelled item")])
    ['', 'no labelled item']
    """
    chosen = [""] * size
    for applies, text in cases:
        for m in np.flatnonzero(applies).tolist():
            chosen[m] = chosen[m] or (text if isinstance(text, str) else text[m])
    return chosen


def no_notes(moments: Moments) -> list[str]:
    """Nothing to warn of."""
    return [""] * moments.labelled.shape[1]


def observed(evidence: Evidence) -> Array:
    """Items (R, M) with a verdict of the model: what most estimators use."""
    return evidence.labelled + evidence.unlabelled


@dataclass(frozen=True, kw_only=True)
class Estimator:
    """A family: how moments become accuracies, and how items move them.

    Parameters
    ----------
    point : callable
        Moments (B, M) → accuracies (B, M), NaN where undefined; never clipped.
    influence : callable
        ``(evidence, ddof)`` → influence values (R, M) of one item of each pattern, scaled so that their
        sums of squares over items are variances with divisor ``n − ddof``.
    reasons : callable
        Moments of the data (B = 1) → why each model's estimate is undefined, empty where it is not.
    cautions : callable
        The same for warnings that do not make the estimate undefined.
    items : callable
        Evidence → (R, M), above 0 where the pattern's items enter the model's estimate.
    bounded : bool
        Whether the reported value is clipped to [0, 1] (the unclipped one goes to the note).
    shared : bool
        Whether the reference model's labels serve every model.
    finite : Finite, optional
        The same for the accuracy on exactly these items, where the family has an answer to that.
    """

    point: Callable[[Moments], Array]
    influence: Callable[[Evidence, int], Array]
    reasons: Callable[[Moments], list[str]]
    cautions: Callable[[Moments], list[str]] = no_notes
    items: Callable[[Evidence], Array] = observed
    bounded: bool = False
    shared: bool = False
    finite: Finite | None = None
