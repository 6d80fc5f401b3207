r"""Which columns of a log say where the judge errs: a score test of each, given the label.

Without the column, verdicts on right answers of a system share one rate, and so do those on its wrong answers.
With r the verdict less that rate and x the column less its mean there, the score of an effect on a logit is
$U = \sum r x$, its information $I = \hat v(1 - \hat v) \sum x^2$, and its covariance V the sum over units of
answers (items) of products of their scores. Effects on sensitivity and specificity are tested together:
$U' I^- U$ compared with a scaled $\chi^2$ of the same mean and variance as V implies.

References
----------
Rao and Scott (1984). On chi-squared tests for multiway contingency tables with cell proportions estimated from
survey data. *Annals of Statistics* 12.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayesjudge.effects.columns import names_of, numbers_of, standardised
from bayesjudge.errors import UsageError
from bayesjudge.maths.holm import holm

type Array = NDArray[np.float64]
#: Holm's p below which a column is said to matter.
LEVEL = 0.05
#: Categories of a column that can be tested, and labelled answers of a category that is not merged with others.
MOST_LEVELS, FEWEST = 50, 5
_MERGED = "(few)"


@dataclass(frozen=True, eq=False, kw_only=True)
class _Coded:
    """A column as a matrix (n, k): standard deviations, or one indicator a category."""

    matrix: Array
    levels: int | None


def screen(answers: pd.DataFrame, columns: Sequence[str], *, names: Collection[str] = ()) -> pd.DataFrame:
    """One row for each judge and column that can be tested, the strongest first.

    answers: Columns ``judge, model, verdict`` (0 to 1), ``label``, ``unit``, and those to be tested.
    names: Columns whose numbers are names, and so categories.

    Returns: ``judge, column, levels`` (missing for a number), ``answers``, ``z`` (the normal deviate of p), ``p``,
    ``holm``, ``sensitivity, specificity`` (change of the rate with one standard deviation of a number).
    """
    rows = [
        {"judge": judge, "column": name, "levels": coded.levels, "answers": len(mine), **_tested(mine, coded)}
        for judge, mine in answers.groupby("judge", sort=True)
        for said in [(mine["verdict"], mine["label"], 1.0 - (mine["verdict"] - mine["label"]).abs())]
        for name in columns
        if (coded := _coded(mine[name], said, named=name in names)) is not None
    ]
    found = pd.DataFrame(rows, columns=_COLUMNS)
    found = found[found["p"].notna()].astype({"levels": "Int64"})
    found["holm"] = holm(found["p"].to_numpy(np.float64))
    return found.sort_values("p", kind="stable", ignore_index=True)


_COLUMNS = ["judge", "column", "levels", "answers", "z", "p", "holm", "sensitivity", "specificity"]


def _coded(values: pd.Series[Any], said: Sequence[pd.Series[Any]], *, named: bool) -> _Coded | None:
    """None for a constant, for text, and for what was said, or whether it agrees, in other words, such as scores."""
    try:
        numbers = None if named else numbers_of(values)
        if numbers is not None:
            one, _ = standardised(str(values.name), "", numbers)
            return None if any(_apart(numbers, each) for each in said) else _Coded(matrix=one[:, None], levels=None)
        names = pd.Series(names_of(values))
    except UsageError:
        return None
    levels = names.nunique()
    means = [each.reset_index(drop=True).groupby(names).mean() for each in said]
    if not 2 <= levels <= MOST_LEVELS or any(each.isin([0.0, 1.0]).all() for each in means):
        return None
    merged = names.where(names.map(names.value_counts()) >= FEWEST, _MERGED)
    return _Coded(matrix=pd.get_dummies(merged).to_numpy(np.float64), levels=levels)


def _apart(numbers: Array, said: pd.Series[Any]) -> bool:
    """Whether a threshold cuts numbers into what was said."""
    there = np.isfinite(numbers)
    no, yes = (numbers[there & (said == side).to_numpy()] for side in (0, 1))
    return bool(len(no) and len(yes) and (no.max() < yes.min() or yes.max() < no.min()))


def _tested(answers: pd.DataFrame, coded: _Coded) -> dict[str, float]:
    from scipy import stats

    k = coded.matrix.shape[1]
    scores, information, spread = np.zeros((len(answers), 2 * k)), np.zeros((2 * k, 2 * k)), np.zeros(2 * k)
    corrected = scores.copy()
    verdict, label = (answers[name].to_numpy(np.float64) for name in ("verdict", "label"))
    for here in answers.groupby(["model", "label"]).indices.values():
        if len(here) < 2:
            continue
        mine = slice(0, k) if label[here[0]] else slice(k, 2 * k)
        x, residual = coded.matrix[here] - coded.matrix[here].mean(axis=0), verdict[here] - verdict[here].mean()
        scores[here, mine] = residual[:, None] * x
        # The mean is estimated from the same answers.
        corrected[here, mine] = scores[here, mine] * np.sqrt(len(here) / (len(here) - 1))
        information[mine, mine] += residual.var(ddof=1) * x.T @ x
        spread[mine] += (x**2).sum(axis=0)
    total = scores.sum(axis=0)
    units = np.zeros((int(answers["unit"].max()) + 1, 2 * k))
    np.add.at(units, answers["unit"].to_numpy(), corrected)
    inverse = np.linalg.pinv(information, hermitian=True, rcond=1e-9)
    ratio = inverse @ units.T @ units
    mean, square = np.trace(ratio), np.trace(ratio @ ratio)
    if mean <= 0:
        return {"p": np.nan}
    chi = stats.chi2(mean**2 / square)
    value = total @ inverse @ total * mean / square
    slopes = np.divide(total, spread, where=spread > 0, out=np.full(2 * k, np.nan))
    found = {"z": float(stats.norm.isf(chi.sf(value) / 2)), "p": float(chi.sf(value))}
    return found if k > 1 else {**found, "sensitivity": float(slopes[0]), "specificity": -float(slopes[1])}
