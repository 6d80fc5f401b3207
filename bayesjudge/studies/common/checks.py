"""Checks of the fits behind an answer, as tables, and whether they all converged."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from bayesjudge.adapters.estimands import NamedEstimands
from bayesjudge.checks import convergence, leave_one_out, predictive_check, prior_sensitivity, unchecked
from bayesjudge.checks.predictive import FLAG_BELOW
from bayesjudge.estimates.mixing import Gate
from bayesjudge.inference import Fit


def check_fits(
    headline: Iterable[Fit], everything: Iterable[Fit], *, compared: Mapping[str, Fit]
) -> dict[str, pd.DataFrame]:
    """Tables ``predictive`` and ``sensitivity`` of the fits that answer, ``convergence`` of every fit.

    ``comparison`` is the leave-one-out of those ``compared``, by label, that have what it takes.
    ``mixing`` has the ranks of the chains of the first that answers; ``unchecked`` (``check, reason``) is there where
    some check of one that answers cannot be made. Every table has a column ``method``.
    """
    answering = list(headline)
    left_out = {one.model.label: unchecked(one) for one in answering}
    tables = [(one, convergence(one)) for one in everything]

    def checked(name: str) -> list[Fit]:
        return [one for one in answering if name not in left_out[one.model.label]]

    rows = [
        {"method": label, "check": check, "reason": reason}
        for label, found in left_out.items()
        for check, reason in found.items()
    ]
    lasting = {name: one for name, one in compared.items() if "leave-one-out" not in unchecked(one)}
    found = {
        "predictive": _stacked((one, predictive_check(one).frame) for one in checked("predictive")),
        "comparison": leave_one_out(lasting) if lasting else None,
        "sensitivity": _stacked((one, prior_sensitivity(one).frame) for one in checked("sensitivity")),
        "convergence": _stacked((one, table.frame) for one, table in tables),
        "mixing": _stacked((one, table.ranks) for one, table in tables if one is answering[0]),
        "unchecked": pd.DataFrame(rows) if rows else None,
    }
    return {name: table for name, table in found.items() if table is not None}


def _stacked(frames: Iterable[tuple[Fit, pd.DataFrame]]) -> pd.DataFrame | None:
    named = [frame.assign(method=one.model.label) for one, frame in frames]
    return pd.concat(named, ignore_index=True) if named else None


def stacked_tables(parts: Iterable[Mapping[str, pd.DataFrame]]) -> dict[str, pd.DataFrame]:
    """Tables of one name, one below the other."""
    found: dict[str, list[pd.DataFrame]] = {}
    for part in parts:
        for name, table in part.items():
            found.setdefault(name, []).append(table)
    return {name: pd.concat(tables, ignore_index=True) for name, tables in found.items()}


def joint_gate(gates: Mapping[str, Gate]) -> Gate:
    """Passed when every gate passed; reasons name the fit."""
    reasons = tuple(f"{name}: {reason}" for name, gate in gates.items() for reason in gate.reasons)
    # np.max and np.min, since the built-in ones can lose a NaN.
    known = {name: [gate.figures[name] for gate in gates.values() if name in gate.figures] for name in ("rhat", "ess")}
    worst = {"rhat": np.max, "ess": np.min}
    figures = {name: float(worst[name](values)) for name, values in known.items() if values}
    return Gate(passed=all(gate.passed for gate in gates.values()), reasons=reasons, figures=figures)


def fallback_warnings(fits: Mapping[str, Fit]) -> list[str]:
    """Where an engine was replaced by another."""
    return [
        f"{name}: the Laplace approximation was not good enough (Pareto k "
        f"{fit.manifest['laplace_pareto_k']:.2f}), so NUTS was run instead"
        for name, fit in fits.items()
        if fit.manifest["engine"] == "nuts after laplace"
    ]


def check_warnings(checks: Mapping[str, pd.DataFrame]) -> list[str]:
    """What the checks found, and what could not be checked."""
    predicted = _predictive(checks["predictive"]) if "predictive" in checks else []
    moved = _sensitivity(checks["sensitivity"]) if "sensitivity" in checks else []
    return [*predicted, *moved, *(_unchecked(checks["unchecked"]) if "unchecked" in checks else [])]


def _predictive(table: pd.DataFrame) -> list[str]:
    """Statistics that the models do not reproduce."""
    bad = table[table["flagged"]]
    # By chance alone about this share of the statistics of a right model are flagged.
    if len(bad) <= FLAG_BELOW * len(table):
        return []
    shown = _first_few(bad, "statistic")
    return [f"predictive checks: the model does not reproduce {len(bad)} of {len(table)} statistics ({shown})"]


def _sensitivity(table: pd.DataFrame) -> list[str]:
    """Estimands that are prior-sensitive."""
    bad = table[table["prior_sensitive"]]
    if bad.empty:
        return []
    shown = _first_few(bad, "estimand")
    are = "is" if len(bad) == 1 else "are"
    return [f"prior sensitivity: {len(bad)} of {len(table)} estimands {are} prior-sensitive ({shown})"]


def _unchecked(table: pd.DataFrame) -> list[str]:
    """What could not be checked of which fit, and why."""
    return [
        f"not checked of {method}: " + "; ".join(f"{row.check} ({row.reason})" for row in rows.itertuples())
        for method, rows in table.groupby("method", sort=False)
    ]


def _first_few(rows: pd.DataFrame, what: str) -> str:
    judges = rows["judge"] if "judge" in rows else rows["unit"]
    whose = rows["unit"].where(rows["unit"].astype(str) != "", judges)
    named = [f"{kind} of {unit}" for kind, unit in zip(rows[what], whose, strict=True)]
    return "; ".join(list(dict.fromkeys(named))[:3])


def independence_warnings(fits: Iterable[Fit], clusters: Iterable[str]) -> list[str]:
    """Whose intervals are too narrow where observations share something: a function knows counts, and no clusters."""
    named, columns = [one.model.label for one in fits if isinstance(one.model, NamedEstimands)], list(clusters)
    if not (named and columns):
        return []
    text = (
        f"{', '.join(named)}: observes counts alone, and so treats observations that share {' or '.join(columns)} as "
        "independent; the other methods' intervals allow for it"
    )
    return [text]


#: Share of what was judged in both orders whose verdicts turn with the order, and the fewest. Tossing a coin turns
#: half; nine LLM judges of MT-bench and DevBench turned .09 to .49, letters of places (three judges) .66 to 1.
TURNED, FEWEST_TURNED = 0.6, 20


def turned_warnings(judge: str, turned: int, judged: int, *, what: str, ours: str) -> list[str]:
    """Whether verdicts turn with the order on most, as letters of places do when taken for answers'.

    what: What was judged in both orders, and did not tie in both.
    ours: Our name of the column of verdicts.

    Examples
    --------
    >>> turned_warnings("x", 9, 30, what="items", ours="outcome")
    []
    """
    if judged < FEWEST_TURNED or turned <= TURNED * judged:
        return []
    text = (
        f"{judge}: verdicts turn with the order on {turned} of {judged} {what} judged in both orders. If letters are "
        f"of places (A is what was shown first), they were taken for answers': type --wide shown:order=COLUMN in place "
        f"of --column {ours}=COLUMN, or shown in place of verdict in --wide verdict:order=ONE,TWO"
    )
    return [text]


def effect_warnings(manifest: Mapping[str, Any], *, whose: str = "", of: str = "answers") -> list[str]:
    """What formulas of a fit took gaps in their columns for, and columns of too many categories.

    of: What has a value, in words.
    """
    effects = manifest.get("effects", {})
    gaps = [
        f"{column}{whose}: {n} {of} have no value; a missing number counts as the mean with an effect of its own, a "
        "missing category as one"
        for column, n in effects.get("missing", {}).items()
    ]
    many = [
        f"{column}{whose}: its {n} categories pool, and are too many for Bayesian rows of their own"
        for column, n in effects.get("too_many", {}).items()
    ]
    return gaps + many
