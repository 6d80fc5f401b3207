"""Checks of the fits behind an answer, as tables, and whether they all converged."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import pandas as pd

from bayesjudge.checks import convergence, predictive_check, prior_sensitivity
from bayesjudge.inference import Fit
from bayesjudge.inference.gate import Gate

__all__ = ["check_fits", "joint_gate", "stacked_tables"]


def check_fits(headline: Iterable[Fit], everything: Iterable[Fit]) -> dict[str, pd.DataFrame]:
    """Tables ``predictive`` and ``sensitivity`` of the fits that answer, ``convergence`` of every fit.

    Every table has a column ``method``.
    """
    answering = list(headline)
    return {
        "predictive": _stacked((one, predictive_check(one).frame) for one in answering),
        "sensitivity": _stacked((one, prior_sensitivity(one).frame) for one in answering),
        "convergence": _stacked((one, convergence(one).frame) for one in everything),
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
    figures = {"rhat": float(np.max([gate.figures["rhat"] for gate in gates.values()])),
               "ess": float(np.min([gate.figures["ess"] for gate in gates.values()]))}  # fmt: skip
    return Gate(passed=all(gate.passed for gate in gates.values()), reasons=reasons, figures=figures)
