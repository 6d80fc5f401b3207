"""Checks of the fits behind an answer, as tables, and whether they all converged."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import pandas as pd

from bayesjudge.checks import convergence, predictive_check, prior_sensitivity
from bayesjudge.checks.predictive import FLAG_BELOW
from bayesjudge.estimates.gate import Gate
from bayesjudge.inference import Fit


def check_fits(headline: Iterable[Fit], everything: Iterable[Fit]) -> dict[str, pd.DataFrame]:
    """Tables ``predictive`` and ``sensitivity`` of the fits that answer, ``convergence`` of every fit.

    ``mixing`` has the ranks of the chains of the first that answers.

    Every table has a column ``method``.
    """
    answering = list(headline)
    tables = [(one, convergence(one)) for one in everything]
    return {
        "predictive": _stacked((one, predictive_check(one).frame) for one in answering),
        "sensitivity": _stacked((one, prior_sensitivity(one).frame) for one in answering),
        "convergence": _stacked((one, table.frame) for one, table in tables),
        "mixing": _stacked((one, table.ranks) for one, table in tables if one is answering[0]),
    }


def _stacked(frames: Iterable[tuple[Fit, pd.DataFrame]]) -> pd.DataFrame:
    named = [frame.assign(method=one.model.label) for one, frame in frames]
    return pd.concat(named, ignore_index=True)


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


def predictive_warnings(checks: Mapping[str, pd.DataFrame]) -> list[str]:
    """Statistics of the table ``predictive`` that the models do not reproduce."""
    table = checks["predictive"]
    bad = table[table["flagged"]]
    # By chance alone about this share of the statistics of a right model are flagged.
    if len(bad) <= FLAG_BELOW * len(table):
        return []
    shown = _first_few(bad, "statistic")
    return [f"predictive checks: the model does not reproduce {len(bad)} of {len(table)} statistics ({shown})"]


def sensitivity_warnings(checks: Mapping[str, pd.DataFrame]) -> list[str]:
    """Estimands of the table ``sensitivity`` that move with the prior."""
    table = checks["sensitivity"]
    bad = table[table["prior_sensitive"]]
    if bad.empty:
        return []
    shown = _first_few(bad, "estimand")
    return [f"prior sensitivity: {len(bad)} of {len(table)} estimands move with the prior ({shown})"]


def _first_few(rows: pd.DataFrame, what: str) -> str:
    judges = rows["judge"] if "judge" in rows else rows["unit"]
    whose = rows["unit"].where(rows["unit"].astype(str) != "", judges)
    named = [f"{kind} of {unit}" for kind, unit in zip(rows[what], whose, strict=True)]
    return "; ".join(list(dict.fromkeys(named))[:3])
