"""From moments of repeated scores to what `pointwise_scores` sees.

A block is one judge under one condition, a target one response to one item. In a block whose cells all have
the same trials, the squares within cells split into those of the trials' means and the rest, which is all
that the scores say about how trials differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayesjudge.counts.scores import ScoreCells, ScoreCounts, TrialMeans
from bayesjudge.effects import Formula
from bayesjudge.errors import UsageError
from bayesjudge.model import Data
from bayesjudge.models.common.added_terms import added_to, columns_of

#: By how much draws of the ICC, of noise and of mean scores are stretched: scores are not normal, responses of an item
#: not independent.
EXCESS = "excess"
#: Standard error of the log odds of the ICC between judges, items being what is drawn; 0 where it is not known.
JUDGES_ERROR = "judges_error"
_FEW = "no response was scored twice by one judge under one condition, so noise cannot be distinguished from responses"


def gaussian_data(counts: ScoreCounts, formulas: Sequence[Formula] = ()) -> Data:
    """Means of cells (targets, blocks), and sums of squares of blocks with their degrees of freedom."""
    blocks, block, targets, target = _codes(counts)
    named = _named(counts, blocks)
    added = added_to(named["block_judge"], _columns(counts, formulas), formulas, axis="target")
    shape = (len(targets), len(blocks))
    mean, n = np.zeros(shape), np.zeros(shape, dtype=np.int64)
    mean[target, block], n[target, block] = counts.cells.mean, counts.cells.n
    within, item = np.zeros(shape), np.zeros(len(targets), dtype=np.int64)
    within[target, block], item[target] = counts.cells.squares, counts.cells.item
    squares = np.array([_squares(counts, pair) for pair in blocks])
    if not squares[:, 2].sum():
        raise _nothing_repeated(counts)
    location, scale = _units(counts.cells)
    arrays = {
        "mean": mean,
        "n": n,
        "squares": squares[:, :2],
        "freedom": squares[:, 2:4].astype(np.int64),
        "complete": squares[:, 4].astype(np.int64),
        EXCESS: np.array([_excess(counts, pair) for pair in blocks]),
        JUDGES_ERROR: np.array([_judges_error(mean, n, within, item)]),
        "location": np.array([location]),
        "scale": np.array([scale]),
        **added.arrays,
    }
    axes = {
        "mean": ("target", "block"),
        "n": ("target", "block"),
        "squares": ("block", "source"),
        "freedom": ("block", "source"),
        "complete": ("block",),
        EXCESS: ("block", "figure"),
        **added.dims,
    }
    return Data(
        arrays=arrays,
        dims={name: axes.get(name, ("unit",)) for name in arrays},
        coords={
            "target": targets,
            "source": ("within", "trials"),
            "unit": ("score",),
            "figure": ("icc", "noise", "mean"),
            **named,
            **added.coords,
        },
        observed="mean",
        also_observed=("squares",),
        ragged=() if formulas else ("target",),
        facts={"trials": bool(squares[:, 3].sum()), **added.facts},
        units=_sizes(block, counts, blocks),
    )


def ordinal_data(counts: ScoreCounts, formulas: Sequence[Formula] = ()) -> Data:
    """How often each level was given in each cell (cells, levels), laid out (block, response)."""
    if len(counts.levels) < 3:
        raise UsageError(
            f"likelihood='ordinal' needs 3 to 21 distinct scores, these have {len(counts.levels) or 'more'}; "
            "use likelihood='gaussian'"
        )
    if counts.cells.n.max() < 2:
        raise _nothing_repeated(counts)
    blocks, block, targets, target = _codes(counts)
    named = _named(counts, blocks)
    added = added_to(named["block_judge"], _columns(counts, formulas), formulas, axis="response")
    grid = np.zeros((len(blocks), len(targets), len(counts.levels)), dtype=np.int64)
    grid[block, target] = counts.cells.levels
    places = np.indices(grid.shape[:2])
    total = grid.sum(axis=0) + 0.5 / len(counts.levels)
    levels = grid.reshape(-1, grid.shape[-1])
    arrays = {
        "levels": levels,
        "observed": levels,
        "total": levels.sum(1),
        "block": places[0].ravel(),
        "target": places[1].ravel(),
        "share": total / total.sum(axis=1, keepdims=True),
        "value": np.array(counts.levels),
        **added.arrays,
    }
    axes = {
        "levels": ("cell", "level"),
        "observed": ("cell", "level"),
        "share": ("response", "level"),
        "value": ("level",),
        **added.dims,
    }
    gaps = tuple(f"{low:g} to {high:g}" for low, high in zip(counts.levels[1:-1], counts.levels[2:], strict=True))
    return Data(
        arrays=arrays,
        dims={name: axes.get(name, ("cell",)) for name in arrays},
        coords={
            "cell": tuple(f"{target} | {name}" for name in named["block"] for target in targets),
            "level": tuple(f"{v:g}" for v in counts.levels),
            "response": targets,
            "gap": gaps,
            **named,
            **added.coords,
        },
        observed="levels",
        facts=added.facts,
        units=_sizes(block, counts, blocks),
    )


def _nothing_repeated(counts: ScoreCounts) -> UsageError:
    several = len({one.prompt for one in counts.conditions}) > 1
    each = ", or, where each prompt is to count as one repetition, --column trial=prompt" if several else ""
    return UsageError(f"{_FEW}; give repeated scores (several rows or columns s0, s1, ... a response){each}")


def _columns(counts: ScoreCounts, formulas: Sequence[Formula]) -> pd.DataFrame:
    """The columns of every target."""
    pairs = np.unique(np.column_stack([counts.cells.item, counts.cells.response]), axis=0)
    keys = {"item": np.array(counts.items)[pairs[:, 0]], "response": np.array(counts.responses)[pairs[:, 1]]}
    if not formulas:
        return pd.DataFrame(keys)
    if counts.columns is None:
        raise UsageError(
            f"these counts have no columns for formulas: count_scores(scores, columns={columns_of(formulas)})"
        )
    return pd.DataFrame(keys).merge(counts.columns, how="left", on=list(keys), validate="1:1")


def _codes(counts: ScoreCounts) -> tuple[Any, NDArray[np.int64], tuple[str, ...], NDArray[np.int64]]:
    """Pairs (judge, condition), each cell's block, names of targets, each cell's target."""
    cells = counts.cells
    blocks, block = np.unique(np.column_stack([cells.judge, cells.condition]), axis=0, return_inverse=True)
    pairs, target = np.unique(np.column_stack([cells.item, cells.response]), axis=0, return_inverse=True)
    names = tuple(f"{counts.items[i]} | {counts.responses[r]}" for i, r in pairs)
    return blocks, block.reshape(-1), names, target.reshape(-1)


def _named(counts: ScoreCounts, blocks: Any) -> dict[str, tuple[str, ...]]:
    """Names of blocks, and their judges and conditions (empty where there is one)."""
    several = len(counts.conditions) > 1
    judges = tuple(counts.judges[j] for j, _ in blocks)
    groups = tuple(str(counts.conditions[c]) if several else "" for _, c in blocks)
    names = tuple(" | ".join(filter(None, pair)) for pair in zip(judges, groups, strict=True))
    return {"block": names, "block_judge": judges, "block_condition": groups}


def _sizes(block: NDArray[np.int64], counts: ScoreCounts, blocks: Any) -> dict[str, int]:
    """Responses behind each block."""
    return dict(zip(_named(counts, blocks)["block"], map(int, np.bincount(block)), strict=True))


def _squares(counts: ScoreCounts, pair: Any) -> tuple[float, float, int, int, int]:
    """Squares within and of trials, their degrees of freedom, and the complete cells of one block."""
    cells, complete, trials = counts.cells, counts.crossed, counts.trial_means
    mine = _of(cells, pair)
    whole, freedom = float(cells.squares[mine].sum()), int((cells.n[mine] - 1).sum())
    means, size = trials.mean[_of(trials, pair)], int(_of(complete, pair).sum())
    if len(means) < 2 or size < 2:
        return whole, 0.0, freedom, 0, size
    between = float(size * ((means - means.mean()) ** 2).sum())
    return max(whole - between, 0.0), between, freedom - (len(means) - 1), len(means) - 1, size


def _excess(counts: ScoreCounts, pair: Any) -> tuple[float, float, float]:
    """How much further log odds of one block's ICC, its log noise and its mean vary than of the density; at least 1.

    The variance of responses' means and the mean square within them are sums over items. What each item adds to the
    figures, to first order, has a variance over items as it is (a sandwich), and one as of independent normal scores.
    """
    mine, cells = _of(counts.cells, pair), counts.cells
    n, mean, squares = (np.asarray(values[mine], dtype=np.float64) for values in (cells.n, cells.mean, cells.squares))
    place = cells.item[mine]
    freedom, total, per = (n - 1).sum(), mean.var(), (1 / n).mean()
    noise = squares.sum() / max(freedom, 1)
    own = total - noise * per
    if len(np.unique(place)) < 2 or noise <= 0 or own <= 0:
        return 1.0, 1.0, 1.0
    of_noise = (squares - (n - 1) * noise) / (freedom * noise)
    slope = 1 + noise * per / own
    of_odds = ((mean - mean.mean()) ** 2 - total) / (len(n) * own) - slope * of_noise
    of_mean = (mean - mean.mean()) / len(n)
    normal = 2 * total**2 / (len(n) * own**2) + slope**2 * 2 / freedom, 2 / freedom, total / len(n)
    odds, spread, middle = (
        max(1.0, float(np.sqrt(_over_items(each, place) / variance)))
        for each, variance in zip((of_odds, of_noise, of_mean), normal, strict=True)
    )
    return odds, spread, middle


def _over_items(influence: NDArray[np.float64], item: NDArray[np.int64]) -> float:
    """Variance of a sum over responses where items are drawn."""
    items, place = np.unique(item, return_inverse=True)
    return float(len(items) / (len(items) - 1) * (np.bincount(place, weights=influence) ** 2).sum())


def _judges_error(
    mean: NDArray[np.float64], n: NDArray[np.int64], squares: NDArray[np.float64], item: NDArray[np.int64]
) -> float:
    """Standard error over items of the log odds of the ICC between judges, by moments and to first order.

    Mean covariance of two blocks over the mean variance of a single score, means of blocks included.

    mean, n, squares: Of cells (targets, blocks).
    """
    on, blocks = (n > 0).astype(float), n.shape[1]
    number, freedom, both = on.sum(0), np.maximum(n - 1, 0).sum(0), on.T @ on
    if blocks < 2 or len(np.unique(item)) < 2 or min(number.min(), freedom.min(), both.min()) < 2:
        return 0.0
    middle = (mean * on).sum(0) / number
    x = (mean - middle) * on
    share = (1 - np.eye(blocks)) / (blocks * (blocks - 1) * both)
    covariance, noise = x.T @ x / both, squares.sum(0) / freedom
    left = 1 - np.divide(on, n, out=np.zeros_like(on), where=n > 0).sum(0) / number
    shared = float((share * both * covariance).sum())
    total = float((covariance.diagonal() + left * noise).mean() + middle.var(ddof=1))
    if not 0 < shared < total:
        return 0.0
    of_shared = ((x @ share) * x - (on @ (share * covariance)) * on).sum(1)
    of_total = (x**2 - on * covariance.diagonal()) / number + left * (squares - np.maximum(n - 1, 0) * noise) / freedom
    of_total = of_total.mean(1) + (x / number) @ (2 * (middle - middle.mean()) / (blocks - 1))
    ratio = shared / total
    influence = (of_shared - ratio * of_total) / total
    return float(np.sqrt(_over_items(influence, item))) / (ratio * (1 - ratio))


def _of(part: ScoreCells | TrialMeans, pair: Any) -> NDArray[np.bool_]:
    return np.asarray((part.judge == pair[0]) & (part.condition == pair[1]))


def _units(cells: ScoreCells) -> tuple[float, float]:
    """Mean and standard deviation of all scores: the units of the priors."""
    weight = cells.n / cells.n.sum()
    location = float(weight @ cells.mean)
    variance = float(weight @ (cells.mean - location) ** 2) + float(cells.squares.sum() / cells.n.sum())
    if not variance > 0:
        raise UsageError(
            "every score is the same, so there is nothing to distinguish; give scores that differ, or check "
            "which column was read as the score (--column score=NAME)"
        )
    return location, variance**0.5
