"""Test quantities that look at parameters and data together.

Ranks of parameters alone cannot tell a posterior from the prior: both are calibrated. What depends on the
data, too, can (Modrák, Moon, Kim, Bürkner, Huurre, Faltejsková, Gelman & Vehtari 2023, "Simulation-based
calibration checking for Bayesian computation"): the log likelihood of all data, which `sbc` always ranks, of
a part of them, which sees a part that was ignored or counted twice, and the prior density, which moves with
all parameters at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bayesjudge.model import Data, Model
from bayesjudge.simulation.calibration.replicates import Quantity


def data_quantities(model: Model, data: Data) -> dict[str, Quantity]:
    """Quantities for ``sbc(quantities=...)`` that every model has.

    Parameters
    ----------
    model : Model
        Any model of the protocol.
    data : Data
        The design.

    Returns
    -------
    dict of str to callable
        ``log prior``; the log likelihood of the first half of the rows, but for a model whose rows are one
        multivariate observation; and of each kind of observation where there are several.
    """
    names = data.observations
    parts = {f"log likelihood of {name}": _likelihood(model, data, (name,)) for name in names}
    half = {"log likelihood of the first half": _likelihood(model, data, names, half=True)}
    return {
        "log prior": _prior(model, data),
        **(half if _has_rows(model, data) else {}),
        **(parts if len(names) > 1 else {}),
    }


def _has_rows(model: Model, data: Data) -> bool:
    """Whether the likelihood of every kind of observation is a product over rows."""
    import jax
    from numpyro import handlers

    rows: list[bool] = []

    def run(key: Any) -> None:
        sites = handlers.trace(handlers.seed(model.numpyro, key)).get_trace(data)
        rows.extend(bool(sites[name]["fn"].batch_shape) for name in data.observations)

    jax.eval_shape(run, jax.random.key(0))  # nothing is computed
    return all(rows)


def _replayed(model: Model, data: Data, values: Mapping[str, Any], arrays: Mapping[str, Any]) -> Any:
    import jax

    from bayesjudge.inference.programs.density import replay

    return replay(model, data)(jax.random.key(0), values, arrays)


def _prior(model: Model, data: Data) -> Quantity:
    def quantity(values: Mapping[str, Any], arrays: Mapping[str, Any]) -> Any:
        sites = _replayed(model, data, values, arrays)
        return sum(sites[name]["fn"].log_prob(value).sum() for name, value in values.items())

    return quantity


def _likelihood(model: Model, data: Data, names: tuple[str, ...], *, half: bool = False) -> Quantity:
    def quantity(values: Mapping[str, Any], arrays: Mapping[str, Any]) -> Any:
        sites = _replayed(model, data, values, arrays)
        total: Any = 0.0
        for name in names:
            rows = sites[name]["fn"].log_prob(arrays[name])
            total = total + (rows[: len(rows) // 2] if half else rows).sum()
        return total

    return quantity
