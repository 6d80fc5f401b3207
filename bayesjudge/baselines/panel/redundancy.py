r"""How far judges err together, and what a panel would lose without each of them.

Given the label, two judges' errors are ``e = v − E(v | y, model)``, and their correlation over the labelled
answers says how much of a second judge is an echo of the first: 0 is what Dawid & Skene assume, 1 a
duplicate. Fisher's z transform makes the interval; its standard error comes from the influence of each item
(cluster) on r,

.. math:: φ = \frac{e_j e_k}{s_j s_k} - \frac r2 \left(\frac{e_j^2}{s_j^2} + \frac{e_k^2}{s_k^2}\right),

because binary errors are not normal and a judge errs on several models' answers to one item.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayesjudge.baselines.common.columns import Context, finished, rows
from bayesjudge.baselines.common.intervals import normal_quantile, require_options
from bayesjudge.baselines.common.moments import Array
from bayesjudge.baselines.panel.accuracy import panel_baselines
from bayesjudge.baselines.panel.proxies import labelled_cells
from bayesjudge.counts.panel import PanelVotes
from bayesjudge.errors import UsageError
from bayesjudge.estimates import Estimates, Population

#: Methods whose intervals depend on every judge.
_WHOLE_PANEL = ("ppi++[mean-vote]", "ppi++[multi-proxy]", "eif[panel-logit]")


def error_correlations(votes: PanelVotes, *, prob: float = 0.95) -> Estimates:
    """Correlation of every two judges' errors given the label, over the labelled answers both voted on.

    Parameters
    ----------
    votes : PanelVotes
        From `bayesjudge.counts.panel.panel_votes`.
    prob : float
        Confidence level of the intervals.

    Returns
    -------
    Estimates
        Estimand ``error_correlation``, unit ``a ~ b``, method ``pearson[fisher-z]``; ``n`` counts labelled
        answers. Undefined (a judge that never errs, or always alike): NaN with [−1, 1] and the reason.

    Raises
    ------
    UsageError
        A probability outside (0, 1).
    """
    require_options(prob)
    first, second = np.triu_indices(len(votes.judges), k=1)
    found = [_correlation(votes, int(a), int(b)) for a, b in zip(first, second, strict=True)]
    point, error, n = (
        (np.array(column, dtype=float) for column in zip(*found, strict=True)) if found else (np.zeros((3, 0)))
    )
    z = normal_quantile(prob)
    inside = np.clip(point, -1.0 + 1e-12, 1.0 - 1e-12)
    centre, step = np.arctanh(inside), z * error / (1.0 - inside**2)
    same = np.abs(point) > 1.0 - 1e-9
    point = np.where(same, np.sign(point), point)
    lower, upper = (np.where(same, point, np.tanh(centre + sign * step)) for sign in (-1.0, 1.0))
    names = [(votes.judges[a], votes.judges[b]) for a, b in zip(first, second, strict=True)]
    context = Context(
        n=n,
        reasons=[_reason(*pair) for pair in zip(names, point, n, strict=True)],
        cautions=["the same errors everywhere" if one else "" for one in same & (point > 0)],
        bounds=(-1.0, 1.0),
        bounded=True,
        no_error="no standard error: a single item or cluster",
        exact=same,
    )
    column = finished(point, lower, upper, context=context)
    units = [f"{a} ~ {b}" for a, b in names]
    return Estimates.from_rows(rows(column, units, estimand="error_correlation", method="pearson[fisher-z]", prob=prob))


def _reason(pair: tuple[str, str], point: float, n: float) -> str:
    if np.isfinite(point):
        return ""
    if not n:
        return f"no labelled answer with votes of both {pair[0]} and {pair[1]}"
    return "a judge whose errors do not vary given the label"


def _correlation(votes: PanelVotes, a: int, b: int) -> tuple[float, float, int]:
    """Correlation, its cluster-robust standard error, and the number of answers behind it."""
    cells = labelled_cells(votes) & np.isfinite(votes.votes[:, :, [a, b]]).all(2)
    one, other = (_errors(votes.votes[:, :, judge], votes.label, cells) for judge in (a, b))
    n = int(cells.sum())
    spread = np.sqrt([(one * one).sum(), (other * other).sum()])
    if n == 0 or spread.min() < 1e-9:
        return np.nan, np.nan, n
    u, w = one / spread[0], other / spread[1]
    r = float(np.clip((u * w).sum(), -1.0, 1.0))
    influence = (u * w - r / 2.0 * (u * u + w * w)).sum(1)
    names, code = np.unique(votes.cluster[cells.any(1)], return_inverse=True)
    sums = np.bincount(code.reshape(-1), weights=influence[cells.any(1)])
    several = len(names) / (len(names) - 1.0) if len(names) > 1 else np.nan
    return r, float(np.sqrt(several * (sums * sums).sum())), n


def _errors(vote: Array, label: Array, cells: NDArray[np.bool_]) -> Array:
    """``v − E(v | y, model)`` (I, M) by least squares on the label within models; 0 outside the cells."""
    n = np.maximum(cells.sum(0), 1)
    v, y = (np.where(cells, value, 0.0) for value in (vote, label))
    v, y = (np.where(cells, value - value.sum(0) / n, 0.0) for value in (v, y))
    room = (y * y).sum(0)
    slope = np.divide((v * y).sum(0), room, out=np.zeros_like(room), where=room > 1e-12)
    return np.asarray(v - slope * y)


def without_judge(votes: PanelVotes, judge: str) -> PanelVotes:
    """The panel without one judge; answers that only it voted on stay, without votes."""
    if judge not in votes.judges or len(votes.judges) == 1:
        raise UsageError(f"no judge {judge!r} to leave out of {', '.join(map(repr, votes.judges))}")
    return votes.for_judges([name for name in votes.judges if name != judge])


def drop_one(
    votes: PanelVotes,
    *,
    methods: Iterable[str] = _WHOLE_PANEL,
    prob: float = 0.95,
    population: Population = "superpopulation",
    seed: int = 0,
) -> pd.DataFrame:
    """What the panel's intervals would be without each judge.

    Parameters
    ----------
    votes : PanelVotes
        A panel of two judges or more.
    methods : iterable of str
        Some of `PANEL_METHODS`.
    prob, population, seed
        As in `panel_baselines`.

    Returns
    -------
    pandas.DataFrame
        Columns ``judge, method, width, width_without, change``: mean widths of the models' intervals, and
        ``width_without/width − 1``, above 0 where the judge helps. NaN where no interval has a width.
    """

    def widths(panel: PanelVotes) -> pd.Series[float]:
        found = panel_baselines(panel, methods=list(methods), prob=prob, population=population, seed=seed)
        frame = found.frame
        accuracy = frame[frame["estimand"].str.startswith("accuracy") & (frame["group"] == "")]
        known = accuracy[accuracy["point"].notna()]
        return (known["upper"] - known["lower"]).groupby(known["method"]).mean()

    whole = widths(votes)
    found: list[tuple[str, str, float, float, float]] = []
    for judge in votes.judges if len(votes.judges) > 1 else ():
        without = widths(without_judge(votes, judge))
        for method in methods:
            both = float(whole.get(method, np.nan)), float(without.get(method, np.nan))
            change = both[1] / both[0] - 1.0 if both[0] > 0 else np.nan
            found.append((judge, method, *both, change))
    return pd.DataFrame(found, columns=["judge", "method", "width", "width_without", "change"])
