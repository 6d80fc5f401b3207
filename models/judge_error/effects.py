"""The density of `judge_error` with formulas, in NumPyro and in PyMC."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayesjudge.effects import Formula
from bayesjudge.model import Data
from bayesjudge.models.judge_error.formulas import coefficients_of
from bayesjudge.models.judge_error.likelihood import log_cells_of_logits
from bayesjudge.priors import InUse


def numpyro_model(data: Data, prior: InUse, formulas: tuple[Formula, ...], *, enriched: bool) -> None:
    """The whole model in NumPyro."""
    import numpyro

    from bayesjudge.models.common.pattern_counts import PatternCounts

    logits = [data[f"design_{formula.rate}"] @ coefficients_of(formula).numpyro(data, prior) for formula in formulas]
    log_p = log_cells_of_logits(*logits, enriched=enriched).reshape(-1)
    with numpyro.plate("pattern", data.size("pattern"), dim=-1):
        numpyro.sample("n", PatternCounts(log_p, data["stratum"], data["total"]), obs=data.arrays.get("n"))


def pymc_model(data: Data, prior: InUse, formulas: tuple[Formula, ...], *, enriched: bool) -> Any:
    """The whole model in PyMC, cell by cell."""
    import pymc as pm

    from bayesjudge.models.judge_error.pymc import log_p_of_logits

    named = [(coefficients_of(formula), np.asarray(data[f"design_{formula.rate}"])) for formula in formulas]
    used = ("pattern", *(axis for found, _ in named for axis in found.axes()))
    with pm.Model(coords={axis: list(data.coords[axis]) for axis in used}) as model:
        theta, q1, q0 = (found.pymc(data, prior, matrix)[data["unit"]] for found, matrix in named)
        log_p = log_p_of_logits(theta, q1, q0, data, enriched=enriched)
        pm.Potential("n", data["n"].astype(float) * log_p, dims="pattern")
    return model
