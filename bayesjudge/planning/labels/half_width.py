"""How many labels, drawn evenly, would give an interval for one system's accuracy of a given half width."""

from __future__ import annotations

import math
from statistics import NormalDist

from bayesjudge.errors import UsageError


def labels_for_half_width(
    wanted: float, *, now: float, labelled: int, answers: int, accuracy: float, prob: float = 0.95
) -> int:
    """Labels in all, from the half width that some labels gave.

    With n of N answers labelled, the variance of a corrected accuracy is that of N labels, p(1 − p)/N, and
    c (1/n − 1/N) for what the judge does not say of the unlabelled (two-phase sampling); c is solved for from
    the half width there is. Where N labels are too few, the number is that of labelled answers needed.

    wanted, now: Half widths: the one to reach, and that of the interval with ``labelled`` labels.
    labelled, answers: n, at least 1, and N.
    accuracy: p, between 0 and 1.

    References
    ----------
    Cochran, Sampling Techniques (1977), chapter 12: double sampling.
    """
    if not 1 <= labelled <= answers:
        raise UsageError(f"{labelled} labels of {answers} answers: at least one, and not more than there are")
    z2 = NormalDist().inv_cdf(0.5 + prob / 2) ** 2
    # An accuracy of 0 or 1 so far is no certainty: as if one more answer were of the other kind.
    p = min(max(accuracy, 1 / (answers + 2)), 1 - 1 / (answers + 2))
    least = z2 * p * (1 - p) / answers
    if least >= wanted**2:
        return math.ceil(z2 * p * (1 - p) / wanted**2)
    if labelled == answers:
        return answers
    c = max(now**2 - least, 0.0) / (1 / labelled - 1 / answers)
    return labelled if c == 0 else math.ceil(1 / ((wanted**2 - least) / c + 1 / answers))
