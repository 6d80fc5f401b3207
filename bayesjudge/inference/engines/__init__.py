"""The engines: how draws from a posterior are made."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bayesjudge.errors import require_choice
from bayesjudge.inference.engines.base import Drawn, Engine, Job
from bayesjudge.inference.engines.options import Chains, Hmc, Laplace, Nuts, PyMC

__all__ = ["ENGINES", "Chains", "Drawn", "Engine", "Hmc", "Job", "Laplace", "Nuts", "PyMC", "engine_of"]

#: Engines by their short names.
ENGINES: Mapping[str, type[Engine]] = {one.name: one for one in (Nuts, Hmc, Laplace, PyMC)}


def engine_of(engine: Engine | str, **options: Any) -> Engine:
    """An engine as it is, or the engine of that name with ``options`` in place of its defaults.

    Raises
    ------
    UsageError
        An unknown name.

    Examples
    --------
    >>> engine_of("hmc", draws=500)
    Hmc(chains=4, draws=500, tune=1000, target_accept=0.9, most_draws=None)
    """
    if isinstance(engine, Engine):
        return engine
    require_choice("engine", engine, ENGINES)
    return ENGINES[engine](**options)
