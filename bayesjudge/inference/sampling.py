"""Options that every question takes, checked before anything is counted or sampled."""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from bayesjudge.errors import EngineError, UsageError
from bayesjudge.inference.engines import ENGINES, engine_of

__all__ = ["SamplingOptions"]

#: Fewest draws of a chain whose R-hat is defined: it compares the chain's two halves.
LEAST_DRAWS = 4
#: Seeds must fit in what every random generator used here takes.
MOST_SEED = 2**32 - 2


@dataclass(frozen=True, kw_only=True)
class SamplingOptions:
    """How to sample and how wide intervals are; a question's own options are added by a subclass.

    Raises
    ------
    UsageError, EngineError
        The first option that cannot be, with what is allowed.

    Examples
    --------
    >>> SamplingOptions(draws=500).sampling["engine"].draws
    500
    """

    #: Target acceptance rate of the engine, whichever it is.
    target_accept: ClassVar[float] = 0.95

    engine: str = "nuts"
    prob: float = 0.95
    seed: int = 0
    bootstrap: int = 10_000
    chains: int = 4
    draws: int = 1000
    tune: int = 1000
    progress: bool = False

    def __post_init__(self) -> None:
        if not 0 < self.prob < 1:
            raise UsageError(f"prob={self.prob} must lie between 0 and 1, for instance 0.95")
        for name, least in (
            ("chains", 1),
            ("draws", LEAST_DRAWS),
            ("tune", 0),
            ("bootstrap", 0),
            ("seed", 0),
        ):
            _require_whole(name, getattr(self, name), least)
        if self.seed > MOST_SEED:
            raise UsageError(f"seed={self.seed} must be at most {MOST_SEED}")
        if self.engine not in ENGINES:
            raise UsageError(f"engine={self.engine!r} is not one of {', '.join(ENGINES)}")
        if self.engine == "pymc" and importlib.util.find_spec("pymc") is None:
            raise EngineError("engine='pymc' needs PyMC: pip install 'bayesjudge[pymc]'")

    @property
    def sampling(self) -> Mapping[str, Any]:
        """Keywords of `fit`."""
        engine = engine_of(self.engine, chains=self.chains, draws=self.draws, tune=self.tune,
                           target_accept=self.target_accept)  # fmt: skip
        return {"engine": engine, "seed": self.seed, "progress": self.progress}

    @property
    def settings(self) -> Mapping[str, Any]:
        """What the manifest of the answer records."""
        return {"prob": self.prob, "seed": self.seed, "engine": self.engine, "bootstrap": self.bootstrap,
                "chains": self.chains, "draws": self.draws, "tune": self.tune}  # fmt: skip


def _require_whole(name: str, value: float, least: int) -> None:
    if not math.isfinite(value) or value != int(value) or value < least:
        raise UsageError(f"{name}={value} must be a whole number of at least {least}")
