"""Warnings that any question may have to give: engines that were replaced, checks that failed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from bayesjudge.checks.predictive import FLAG_BELOW

if TYPE_CHECKING:
    import pandas as pd

    from bayesjudge.inference import Fit

__all__ = ["fallback_warnings", "predictive_warnings", "sensitivity_warnings"]


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
    return [
        f"predictive checks: the model does not reproduce {len(bad)} of {len(table)} statistics ({shown})"
    ]


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
