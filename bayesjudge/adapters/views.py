"""Counts as plain arrays under plain names: what a function that is a model is called with.

An array is observed by the site of its name. What all observations are made of, patterns and how often each
occurs, goes along as ``pattern_…``, so that any function's observations can be resampled.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesjudge.counts import VerdictCounts, count_verdicts
from bayesjudge.counts.battles.counts import BattleCounts, count_battles
from bayesjudge.errors import UsageError
from bayesjudge.model import Data
from bayesjudge.tables import Battles, Verdicts

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Beginning of the names of arrays that functions need not read.
PATTERN = "pattern_"
_OF_VERDICTS = {
    "labelled": ("system", "label", "verdict"),
    "unlabelled": ("system", "verdict"),
    "n": ("system",),
    "positives": ("system",),
}
_OF_BATTLES = dict.fromkeys(("wins", "ties", "losses", "n", "first", "second"), ("pair",))
#: Every array that a function may observe.
VIEWS = _OF_BATTLES | _OF_VERDICTS


def data_view(table: Any) -> Data:
    """Arrays of a table by name.

    Parameters
    ----------
    table : Verdicts, VerdictCounts, Battles, BattleCounts
        Verdicts of one judge, or battles with human votes.

    Returns
    -------
    Data
        Of verdicts, all counted once a run: ``labelled`` (system, label, verdict), ``unlabelled``
        (system, verdict), ``n`` and ``positives`` (system). Of battles, votes by pair: ``wins, ties, losses,
        n`` (pair), and the codes ``first, second`` (pair) of its systems, ``first < second``.

    Raises
    ------
    UsageError
        Another table; verdicts of several judges; battles without votes.

    Examples
    --------
    >>> from bayesjudge.datasets import simulate_verdicts
    >>> view = data_view(simulate_verdicts(seed=1, labelled=50, unlabelled=70).verdicts)
    >>> view.coords["system"], view["labelled"].shape, view["n"].tolist()
    (('a', 'b'), (2, 2, 2), [120, 120])
    """
    counts = count_verdicts(table) if isinstance(table, Verdicts) else table
    counts = count_battles(counts) if isinstance(counts, Battles) else counts
    if isinstance(counts, VerdictCounts):
        return _of_verdicts(counts)
    if isinstance(counts, BattleCounts):
        return _of_battles(counts)
    raise UsageError(
        f"a function is a model of verdicts or of battles, not of {type(table).__name__}: give an object with the "
        "methods of bayesjudge.model.Model, as examples/own_class.py does"
    )


def question_of(data: Data) -> str:
    """Which question a view is of."""
    return "elo" if "pair" in data.coords else "accuracy"


def shown_arrays(data: Data) -> str:
    """Names of the arrays that a function reads."""
    return ", ".join(name for name in data.arrays if name in VIEWS)


def resampled(data: Data, *, replicates: int, seed: int) -> dict[str, NDArray[np.int64]]:
    """Arrays of resampled observations, (replicates, ...): within each system, or pair, as many as there were."""
    rng = np.random.default_rng(seed)
    n, stratum = np.asarray(data[f"{PATTERN}n"]), np.asarray(data[f"{PATTERN}stratum"])
    drawn = np.zeros((replicates, len(n)), dtype=np.int64)
    for code in np.unique(stratum):
        mine = np.flatnonzero(stratum == code)
        drawn[:, mine] = rng.multinomial(n[mine].sum(), n[mine] / n[mine].sum(), size=replicates)
    arrays = {name: np.asarray(array) for name, array in data.arrays.items() if name.startswith(PATTERN)}
    summed = _sums_of_verdicts if "system" in data.dims["n"] else _sums_of_battles
    return dict(summed({**arrays, f"{PATTERN}n": drawn}, len(data.coords[data.dims["n"][0]])))


def _of_verdicts(counts: VerdictCounts) -> Data:
    if len(counts.judges) > 1:
        raise UsageError(f"a function is a model of one judge's verdicts; choose one of {', '.join(counts.judges)}")
    answers = counts.answers
    patterns = {
        "n": answers.n,
        "stratum": answers.model,
        "label": answers.label,
        "runs": answers.runs[:, 0],
        "positives": answers.positives[:, 0],
    }
    arrays = {f"{PATTERN}{name}": np.asarray(array, dtype=np.int64) for name, array in patterns.items()}
    found = _sums_of_verdicts(arrays, len(counts.models))
    return Data(
        arrays={**found, **arrays},
        dims={**_OF_VERDICTS, **dict.fromkeys(arrays, ("pattern",))},
        coords={
            "system": counts.models,
            "label": ("wrong", "right"),
            "verdict": ("judged wrong", "judged right"),
            "judge": counts.judges,
            "pattern": tuple(range(len(answers.n))),
        },
        observed="positives",
        units=dict(zip(counts.models, found["n"].tolist(), strict=True)),
    )


def _sums_of_verdicts(arrays: Mapping[str, NDArray[np.int64]], systems: int) -> Mapping[str, NDArray[np.int64]]:
    """Counts from patterns; ``pattern_n`` may have leading axes."""
    n, model, label, runs, positives = (
        arrays[PATTERN + name] for name in ("n", "stratum", "label", "runs", "positives")
    )
    cells = np.zeros((*n.shape[:-1], systems, 3, 2), dtype=np.int64)
    each = np.moveaxis(np.stack([n * (runs - positives), n * positives], axis=-1), -2, 0)
    # No label is -1: the last of three.
    np.add.at(np.moveaxis(cells, (-3, -2), (0, 1)), (model, label), each)
    total = cells.sum(-2)
    return {
        "labelled": cells[..., :2, :],
        "unlabelled": cells[..., 2, :],
        "n": total.sum(-1),
        "positives": total[..., 1],
    }


def _of_battles(counts: BattleCounts) -> Data:
    pairs = counts.human_pairs()
    votes = np.asarray(pairs.n, dtype=np.int64)
    if not votes.sum():
        raise UsageError("a function is a model of human votes, and these battles have none")
    size = len(votes)
    arrays = {
        f"{PATTERN}n": votes.ravel(),
        f"{PATTERN}stratum": np.repeat(np.arange(size), 3),
        f"{PATTERN}outcome": np.tile(np.arange(3), size),
    }
    found = {**_sums_of_battles(arrays, size), "first": np.asarray(pairs.first), "second": np.asarray(pairs.second)}
    names = [f"{counts.models[a]} − {counts.models[b]}" for a, b in zip(pairs.first, pairs.second, strict=True)]
    met = np.bincount(np.r_[pairs.first, pairs.second], weights=np.tile(found["n"], 2), minlength=len(counts.models))
    return Data(
        arrays={**found, **arrays},
        dims={**_OF_BATTLES, **dict.fromkeys(arrays, ("pattern",))},
        coords={"system": counts.models, "pair": tuple(names), "pattern": tuple(range(3 * size))},
        observed="wins",
        units=dict(zip(counts.models, met.astype(int).tolist(), strict=True)),
    )


def _sums_of_battles(arrays: Mapping[str, NDArray[np.int64]], pairs: int) -> Mapping[str, NDArray[np.int64]]:
    n = arrays[f"{PATTERN}n"]
    votes = n.reshape(*n.shape[:-1], pairs, 3)
    return {"wins": votes[..., 0], "ties": votes[..., 1], "losses": votes[..., 2], "n": votes.sum(-1)}
