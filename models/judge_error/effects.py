"""The density of `judge_error` with formulas, in NumPyro and in PyMC."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayesjudge.effects import Formula
from bayesjudge.model import Data
from bayesjudge.models.judge_error.formulas import slot_of
from bayesjudge.priors import InUse


def numpyro_model(data: Data, prior: InUse, formulas: tuple[Formula, ...], *, enriched: bool) -> None:
    """The whole model in NumPyro."""
    import numpyro

    from bayesjudge.models.common.pattern_counts import PatternCounts
    from bayesjudge.models.judge_error.likelihood import log_cells_of_logits

    logits = [_numpyro_logit(data, prior, formula) for formula in formulas]
    log_p = log_cells_of_logits(*logits, enriched=enriched).reshape(-1)
    with numpyro.plate("pattern", data.size("pattern"), dim=-1):
        numpyro.sample("n", PatternCounts(log_p, data["stratum"], data["total"]), obs=data.arrays.get("n"))


def _numpyro_logit(data: Data, prior: InUse, formula: Formula) -> Any:
    """Logit of one rate in every cell, (C,)."""
    import jax.numpy as jnp
    import numpyro
    from numpyro import distributions as dist

    rate, found = formula.rate, []
    for term in formula.common:
        slot = slot_of(formula, term)
        of = prior.numpyro(slot, logit=slot == rate)
        if not term.columns:
            found.append(numpyro.sample(f"mu_{rate}", of)[None])
            continue
        with numpyro.plate(slot, len(data.coords[slot]), dim=-1):
            found.append(numpyro.sample(f"b_{slot}", of))
    if formula.grouped:
        named = [slot_of(formula, term) for term in formula.grouped]
        spreads = [numpyro.sample(f"tau_{slot}", prior.numpyro(slot)) for slot in named]
        each = jnp.repeat(jnp.stack(spreads), np.array([len(data.coords[slot]) for slot in named]))
        with numpyro.plate(f"{rate}_group", each.shape[0], dim=-1):
            found.append(each * numpyro.sample(f"z_{rate}", dist.Normal(0.0, 1.0)))
    return data[f"design_{rate}"] @ jnp.concatenate(found)


def pymc_model(data: Data, prior: InUse, formulas: tuple[Formula, ...], *, enriched: bool) -> Any:
    """The whole model in PyMC, cell by cell."""
    import pymc as pm

    from bayesjudge.models.judge_error.pymc import log_p_of_logits

    used = {slot_of(f, term) for f in formulas for term in f.common} | {f"{f.rate}_group" for f in formulas}
    coords = {name: list(data.coords[name]) for name in (*sorted(used), "pattern") if data.coords[name]}
    with pm.Model(coords=coords) as model:
        theta, q1, q0 = (_pymc_logit(data, prior, formula)[data["unit"]] for formula in formulas)
        log_p = log_p_of_logits(theta, q1, q0, data, enriched=enriched)
        pm.Potential("n", data["n"].astype(float) * log_p, dims="pattern")
    return model


def _pymc_logit(data: Data, prior: InUse, formula: Formula) -> Any:
    import pymc as pm
    import pytensor.tensor as pt

    rate, start = formula.rate, 0
    matrix, logit = np.asarray(data[f"design_{rate}"]), np.float64(0)
    for term in formula.common:
        slot = slot_of(formula, term)
        name, dims = (f"b_{slot}", slot) if term.columns else (f"mu_{rate}", None)
        b = prior.pymc(name, slot, logit=slot == rate, dims=dims)
        stop = start + len(data.coords[slot])
        logit = logit + pt.dot(matrix[:, start:stop], pt.atleast_1d(b))
        start = stop
    if formula.grouped:
        z, first = pm.Normal(f"z_{rate}", np.float64(0), np.float64(1), dims=f"{rate}_group"), start
        for term in formula.grouped:
            slot = slot_of(formula, term)
            stop = start + len(data.coords[slot])
            logit = logit + prior.pymc(f"tau_{slot}", slot) * pt.dot(
                matrix[:, start:stop], z[start - first : stop - first]
            )
            start = stop
    return logit
