r"""What further labels are worth before they are made: the expected value of sample information.

After n of N answers a posterior of corrected accuracies has about the covariance of two-phase sampling,

.. math:: \Sigma(n) = A/N + C (1/n - 1/N),

A of the labels of one item, which N labels of each would leave, and C of what the verdicts do not say of them;
C follows from the covariance there is. The posterior mean after the labels then has the covariance Σ(n) − Σ(n + m)
around the mean of today. Its distribution is that of today's draws, shrunk to that covariance (moment matching, Heath,
Manolopoulou and Baio 2018, Med. Decis. Making 38): exact for a joint normal, whose closed form for two systems is a
test, and without its assumption where the posterior is skewed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

type Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False, kw_only=True)
class Labels:
    """Labels there are, and what they cannot tell.

    made: Labelled answers of each system, above 0.
    answers: Answers of each system, infinite where there is no end of them.
    floor: Covariance (M, M) that labels on all answers would leave; 0 where the answer is about these items.
    """

    made: float
    answers: float = math.inf
    floor: Array | float = 0.0


def after_labels(now: Array, labels: Labels, more: float) -> Array:
    """Covariance (M, M) that is expected after ``more`` labels on each system, from that of today.

    Examples
    --------
    >>> after_labels(np.eye(1), Labels(made=20), 60).item()
    0.25
    """
    made, answers = labels.made, labels.answers
    total = min(made + more, answers)
    left = (1 / total - 1 / answers) / (1 / made - 1 / answers) if made < answers else 1.0
    floor = _within(np.broadcast_to(np.asarray(labels.floor, dtype=float), now.shape), now)
    return np.asarray(floor + left * (now - floor))


def _within(floor: Array, now: Array) -> Array:
    """The floor, nowhere above what is left today: labels never add to it."""
    root, inverse = _roots(now)
    values, vectors = np.linalg.eigh(inverse @ floor @ inverse)
    return np.asarray(root @ (vectors * np.clip(values, 0.0, 1.0)) @ vectors.T @ root)


def _roots(covariance: Array) -> tuple[Array, Array]:
    """Symmetric square root, and its pseudo-inverse."""
    values, vectors = np.linalg.eigh(covariance)
    kept = values > 1e-12 * max(float(values.max(initial=0.0)), 1e-300)
    root = np.sqrt(np.where(kept, values, 0.0))
    inverse = np.divide(1.0, root, where=kept, out=np.zeros_like(root))
    return (vectors * root) @ vectors.T, (vectors * inverse) @ vectors.T


def item_covariance(draws: pd.DataFrame, pairs: pd.DataFrame | None) -> Array:
    """Covariance (M, M) of the labels of one item, whose floor is its share of the answers.

    pairs: Items that two systems have labelled (``first, second, n, both, first_only, second_only``); the draws'
        correlations represent pairs that are not there.
    """
    correlation = draws.corr().fillna(0.0)
    for name in draws.columns:
        correlation.loc[name, name] = 1.0
    for row in [] if pairs is None else pairs.to_dict("records"):
        a, b, n = row["first"], row["second"], max(row["n"], 1)
        p, q = ((row["both"] + row[name]) / n for name in ("first_only", "second_only"))
        spread = math.sqrt(p * (1 - p) * q * (1 - q))
        correlation.loc[a, b] = correlation.loc[b, a] = (row["both"] / n - p * q) / spread if spread else 0.0
    mean = np.clip(draws.to_numpy(dtype=float).mean(axis=0), 0.0, 1.0)
    root = np.sqrt(mean * (1 - mean))
    return np.asarray(correlation.to_numpy() * np.outer(root, root))


def value_of_labels(draws: pd.DataFrame, labels: Labels, more: Sequence[float], *, prob: float) -> pd.DataFrame:
    """What further labels on each system are expected to change, where the best by posterior mean is chosen.

    draws: Joint draws, a column a system, more is better; two systems or more.
    more: Further labels on each system.

    Returns: A row for each number: ``more``, ``value`` (by how much the expected loss falls), ``width`` of the interval
    for the difference of the two systems that lead, at ``prob``; the last row, ``more`` infinite, is perfect
    information.
    """
    from scipy.special import ndtri

    values = draws.to_numpy(dtype=float)
    mean, now = values.mean(axis=0), np.cov(values, rowvar=False)
    _, inverse = _roots(now)
    lead = np.zeros(len(mean))
    lead[np.argsort(-mean)[:2]] = 1.0, -1.0
    rows = []
    for number in more:
        after = after_labels(now, labels, number)
        shrunk = mean + (values - mean) @ inverse @ _roots(now - after)[0]
        width = 2 * float(ndtri((1 + prob) / 2)) * math.sqrt(max(float(lead @ after @ lead), 0.0))
        rows.append({"more": float(number), "value": float(shrunk.max(axis=1).mean() - mean.max()), "width": width})
    perfect = {"more": math.inf, "value": float(values.max(axis=1).mean() - mean.max()), "width": 0.0}
    return pd.DataFrame([*rows, perfect])
