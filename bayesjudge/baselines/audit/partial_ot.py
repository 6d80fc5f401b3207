"""Partial optimal transport from what people chose to unverified verdicts (PUAudit, section 3).

The verdicts that receive no mass are those least like what people chose; PUAudit flips them.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayesjudge.baselines.audit.evidence import Anchors, Audit, gather, measured_share, response_of
from bayesjudge.baselines.audit.transport import BYTES_A_CELL, denoise, entropic_masses, exact_masses
from bayesjudge.errors import UsageError, require_choice
from bayesjudge.tables import Pairs

SOLVERS = ("auto", "exact", "entropic")
#: Cells of the cost matrix up to which "auto" solves exactly.
MOST_EXACT = 25_000_000


class LargeProblemWarning(UserWarning):
    """The exact solver would need more memory than this machine has free."""


def partial_ot(
    pairs: Pairs,
    *,
    share: float | None = None,
    anchors: Anchors = "people",
    keep: tuple[float, float] = (0.9, 0.9),
    threshold: float = 0.5,
    solver: str = "auto",
    epsilon: float = 0.002,
    report: Callable[[int, int], None] | None = None,
) -> Audit:
    """Flip the unverified verdicts that partial optimal transport leaves unmatched.

    Parameters
    ----------
    pairs : Pairs
        Of one judge, some verified; see `Pairs.of`.
    share : float, optional
        Transported mass s, the share of verdicts taken as consistent. By default the share of all verified
        pairs, on which no anchor has a part.
    anchors : {"people", "agreements"}
        From where mass comes: every verified pair, turned the way people chose (PUAudit's set P), or the
        verified verdicts that people agree with.
    keep : (float, float)
        Shares ρ1 and ρ2 of the anchors that the two stages of denoising keep.
    threshold : float
        Verdicts with a score below it are flipped.
    solver : {"auto", "exact", "entropic"}
        Exact up to 25 million cells, entropic beyond; the exact one needs some 50 bytes a cell.
    epsilon : float
        Temperature of the entropic solver.
    report : callable, optional
        ``report(done, total)``, called between the steps.

    Returns
    -------
    Audit
        Scores ``w_j = |U| Σ_i T_ij`` from 0 to 1, summing to s|U|; NaN, and no flip, where both responses
        have one embedding. Verdicts of one pair for one response share their score.

    Raises
    ------
    InputError
        No embeddings, nothing verified or nothing to audit, no anchor.
    UsageError
        An option out of range.
    EngineError
        The exact solver gave up.

    Warns
    -----
    LargeProblemWarning
        The exact solver would need more memory than is free.

    Notes
    -----
    At a vertex of the polytope nearly all scores are 0 or 1, so the threshold hardly matters and about
    (1 − s)|U| verdicts flip: s sets their number, it does not estimate it. With a general-purpose encoder
    this lowered agreement with people in 13 of 17 settings (METHODS 3.1); look at what it gains on verified
    pairs before acting on it.

    References
    ----------
    Quantifying and Auditing LLM Evaluation via Positive–Unlabeled Learning (PUAudit), sections 3.2 and 3.3.
    """
    require_choice("solver", solver, SOLVERS)
    if not 0 <= threshold <= 1:
        raise UsageError(f"threshold={threshold} must lie between 0 and 1")
    advance = report or (lambda _done, _total: None)
    advance(0, 3)
    s, evidence = measured_share(pairs, share), gather(pairs, anchors=anchors)
    kept = denoise(evidence.chosen, evidence.anchors, evidence.category, keep=keep)
    rows = evidence.unverified[evidence.usable]
    advance(1, 3)
    found = transport_scores(evidence.anchors[kept], evidence.z[rows], share=s, solver=solver, epsilon=epsilon)
    # Two verdicts for one response have one direction: mass could lie on either of them.
    found = pd.Series(found).groupby(response_of(pairs, rows).to_numpy()).transform("mean").to_numpy()
    scores = np.full(len(evidence.unverified), np.nan)
    scores[evidence.usable] = found
    advance(3, 3)
    flips = np.nan_to_num(scores, nan=1.0) < threshold
    return evidence.audit("partial-ot", scores, flips, share=s, anchors=float(kept.sum()))


def transport_scores(
    anchors: NDArray[np.float32],
    targets: NDArray[np.float32],
    *,
    share: float,
    solver: str = "auto",
    epsilon: float = 0.002,
) -> NDArray[np.float64]:
    """Scores (u,) of targets (u, d) given anchors (p, d); both unit vectors."""
    if not len(targets):
        return np.zeros(0)
    cells = len(anchors) * len(targets)
    if solver == "exact" or (solver == "auto" and cells <= MOST_EXACT):
        _warn_of_memory(cells)
        mass = exact_masses(anchors, targets, share=share)
    else:
        mass = entropic_masses(anchors, targets, share=share, epsilon=epsilon)
    # A vertex is 0 or 1/u up to the last digits of a sum.
    return np.clip(mass * len(targets), 0.0, 1.0)


def _warn_of_memory(cells: int) -> None:
    need, free = BYTES_A_CELL * cells, free_memory()
    if free is not None and need > free:
        warnings.warn(
            f"exact partial optimal transport needs about {need / 1e9:.1f} GB, and {free / 1e9:.1f} GB are "
            "free: use solver='entropic', or audit category by category",
            LargeProblemWarning,
            stacklevel=4,
        )


def free_memory() -> int | None:
    """Bytes that a program may still take, or None where the system does not say."""
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:  # noqa: PTH123  # a kernel's table, no path of ours
            known = dict(line.split(":", 1) for line in lines)
        return int(known["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError, ValueError):
        return None
