"""Which of several models predicts left-out observations best, and by how much."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayesjudge.errors import UsageError
from bayesjudge.inference import Fit
from bayesjudge.inference.loo import by_cell, of_answers, standard_error

if TYPE_CHECKING:
    from arviz_stats.utils import ELPDDataLOO


@dataclass(frozen=True, eq=False, kw_only=True)
class ModelComparison:
    """Models on the same data, the best predictor first.

    Attributes
    ----------
    frame : pandas.DataFrame
        One row a model: ``model, elpd, se, elpd_diff`` (to the best, 0 or negative), ``diff_se``, ``p_loo,
        weight`` (stacking), ``bad_k`` (observations with an unreliable k), ``note``.
    loos : mapping of str to arviz_stats.ELPDDataLOO
        What `arviz_stats.compare` takes, and gives the same figures for.
    """

    frame: pd.DataFrame
    loos: Mapping[str, ELPDDataLOO]

    @property
    def summary(self) -> str:
        """What the differences say, in one sentence.

        A difference below 4 or within 2 standard errors is no evidence against the lesser model (Sivula,
        Magnusson & Vehtari 2020).
        """
        best, rest = self.frame.iloc[0], self.frame.iloc[1:]
        worse = rest[(rest["elpd_diff"] < -4) & (rest["elpd_diff"] < -2 * rest["diff_se"])]
        if worse.empty:
            return f"{best['model']} predicts best, but no other model is clearly worse"
        return f"{best['model']} predicts best; clearly worse: {', '.join(worse['model'])}"


def compare(fits: Mapping[str, Fit] | Sequence[Fit]) -> ModelComparison:
    """Compare models by leave-one-out on the same data.

    Parameters
    ----------
    fits : mapping of str to Fit, or sequence of Fit
        Two fits or more; in a sequence each is named by its model's label.

    Returns
    -------
    ModelComparison

    Raises
    ------
    UsageError
        Fewer than two fits, two of one name, or fits of different observations.

    References
    ----------
    Vehtari, Gelman & Gabry (2017), section 5.2 (standard error of a difference); Yao, Vehtari, Simpson &
    Gelman (2018), Using stacking to average Bayesian predictive distributions.

    Examples
    --------
    >>> from bayesjudge.datasets import simulate_verdicts
    >>> from bayesjudge.inference import Laplace, fit
    >>> from bayesjudge.models.judge_error import JudgeError
    >>> table = simulate_verdicts(seed=1).verdicts
    >>> models = [JudgeError(pooling=pooling) for pooling in ("shared", "specific")]
    >>> fits = [fit(model, table, engine=Laplace(draws=500)) for model in models]
    >>> found = compare(fits).frame
    >>> sorted(found["model"]), round(float(found["weight"].sum()), 6)
    (['bayes:judge_error[shared]', 'bayes:judge_error[specific]'], 1.0)
    """
    named = _named(fits)
    cells = {name: by_cell(one) for name, one in named.items()}
    first = next(iter(named))
    if other := next((name for name in named if not _same(named, cells, first, name)), None):
        raise UsageError(
            f"{first!r} and {other!r} were fitted to different data, or see the same table as different "
            "observations; leave-one-out compares models of the same observations only"
        )
    return _compared(named, cells)


def leave_one_out(fits: Mapping[str, Fit]) -> pd.DataFrame:
    """Leave-one-out of every fit by name, compared where several models predict the same observations.

    Rows as those of `ModelComparison`, and ``best``, whose ELPD differences are to; without these, and without a
    weight, where no other model predicts the same.
    """
    cells, tables = {name: by_cell(one) for name, one in fits.items()}, []
    remaining = list(cells)
    while remaining:
        group = [name for name in remaining if _same(fits, cells, remaining[0], name)]
        remaining = [name for name in remaining if name not in group]
        table = _compared(fits, {name: cells[name] for name in group}).frame
        table = table.assign(best=table["model"][0])
        if len(group) == 1:
            alone = "not compared: no other model predicts the same observations"
            notes = "; ".join(filter(None, [table["note"][0], alone if len(cells) > 1 else ""]))
            table = table.assign(elpd_diff=np.nan, diff_se=np.nan, weight=np.nan, best="", note=notes)
        tables.append(table)
    return pd.concat(tables, ignore_index=True)


def _same(fits: Mapping[str, Fit], cells: Mapping[str, pd.DataFrame], one: str, other: str) -> bool:
    """Whether two models predict the same observations of the same data."""
    same_data = fits[one].manifest["data"] == fits[other].manifest["data"]
    return same_data and cells[one][["cell", "n"]].equals(cells[other][["cell", "n"]])


def _compared(fits: Mapping[str, Fit], cells: Mapping[str, pd.DataFrame]) -> ModelComparison:
    loos = {name: of_answers(fits[name], rows) for name, rows in cells.items()}
    elpd = np.column_stack([rows["elpd"].to_numpy() for rows in cells.values()])
    n = next(iter(cells.values()))["n"].to_numpy()
    weights = stacking_weights(elpd, n)
    best = int(np.argmax([one.elpd for one in loos.values()]))
    gaps = elpd - elpd[:, [best]]
    rows: list[dict[str, Any]] = []
    for k, (name, one) in enumerate(loos.items()):
        bad = int(n[~(cells[name]["pareto_k"] <= one.good_k)].sum())
        note = f"Pareto k above {one.good_k:.2f} for {bad} of {one.n_data_points} observations: elpd is unreliable"
        rows.append(
            {
                "model": name,
                "elpd": one.elpd,
                "se": one.se,
                "elpd_diff": float(n @ gaps[:, k]),
                # As ArviZ has it, without the correction for one mean.
                "diff_se": standard_error(gaps[:, k], n, ddof=0),
                "p_loo": one.p,
                "weight": float(weights[k]),
                "bad_k": bad,
                "note": note if bad else "",
            }
        )
    frame = pd.DataFrame(rows).sort_values("elpd", ascending=False, ignore_index=True)
    return ModelComparison(frame=frame, loos=loos)


def _named(fits: Mapping[str, Fit] | Sequence[Fit]) -> dict[str, Fit]:
    pairs = list(fits.items()) if isinstance(fits, Mapping) else [(one.model.label, one) for one in fits]
    names = [name for name, _ in pairs]
    if len(pairs) < 2:
        raise UsageError(f"compare needs two fits or more, got {len(pairs)}")
    if len(set(names)) < len(names):
        raise UsageError(f"two fits have one name among {names}; give a mapping of names to fits")
    return dict(pairs)


def stacking_weights(elpd: NDArray[np.float64], n: NDArray[np.int64]) -> NDArray[np.float64]:
    """Weights whose mixture of predictive distributions scores best on left-out observations."""
    from scipy.optimize import LinearConstraint, minimize

    density = np.exp(elpd - elpd.max(axis=1, keepdims=True))
    share = n / n.sum()

    def loss(weight: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        mixed = density @ weight
        return -float(share @ np.log(mixed)), -(share / mixed) @ density

    models = elpd.shape[1]
    found = minimize(
        loss,
        np.full(models, 1 / models),
        jac=True,
        method="SLSQP",
        bounds=[(0.0, 1.0)] * models,
        constraints=LinearConstraint(np.ones((1, models)), 1.0, 1.0),
        options={"ftol": 1e-12},
    )
    clipped = np.where(found.x > 1e-9, found.x, 0.0)
    weights: NDArray[np.float64] = clipped / clipped.sum()
    return weights
