"""What an engine is: a frozen dataclass of its options with one verb, ``run(job) -> Drawn``."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np

from bayesjudge.errors import UsageError, require_whole
from bayesjudge.inference.gate import gate_of
from bayesjudge.inference.programs.progress import Report, bar
from bayesjudge.model import Data, Model, latent_sites

if TYPE_CHECKING:
    from bayesjudge.inference.programs.density import Arrays, Density, Sets

#: Target acceptance of a second run, made when the first one diverged.
CAREFUL = 0.99
#: Draws of each chain between two looks at whether the chains have mixed.
ASKED = 100


@dataclass(frozen=True, eq=False, kw_only=True)
class Job:
    """One posterior to draw from: plain values, so that it can travel to another process.

    Attributes
    ----------
    model : Model
    data : Data
    seed : int
        Equal seeds give equal draws on one kind of device.
    progress : bool
        Show a progress bar on standard error.
    """

    model: Model
    data: Data
    seed: int = 0
    progress: bool = False

    @property
    def target(self) -> Density:
        """The posterior; built once for each shape of data in a process."""
        from bayesjudge.inference.programs.density import density

        return density(self.model, self.data)

    @property
    def arrays(self) -> dict[str, Any]:
        """The data on the device."""
        from bayesjudge.inference.programs import accelerator

        return accelerator.to_device(self.data.arrays)

    @property
    def key(self) -> Any:
        """JAX key of the seed."""
        import jax

        return jax.random.key(self.seed)


class Drawn(NamedTuple):
    """What an engine gives: unconstrained draws (chains, draws, d), statistics, facts for the manifest."""

    flat: Any
    stats: dict[str, Any]
    facts: dict[str, Any]


@dataclass(frozen=True, eq=False, kw_only=True)
class Draws:
    """Unconstrained draws and the sampler's statistics.

    flat: The draws; leading axes are data sets.
    stats: ``lp, energy, diverging, n_steps, acceptance_rate``; ``pareto_k, importance_ess`` of weighted draws.
    """

    flat: Any
    stats: dict[str, Any]

    @property
    def alone(self) -> Draws:
        """Those of the first data set."""
        return Draws(flat=self.flat[0], stats={name: values[0] for name, values in self.stats.items()})

    @classmethod
    def joined(cls, parts: Sequence[tuple[Any, dict[str, Any]]]) -> Draws:
        """Blocks of draws and their statistics, end to end."""
        flat, stats = zip(*parts, strict=True)
        return cls(
            flat=np.concatenate(flat, axis=-2),
            stats={name: np.concatenate([one[name] for one in stats], axis=-1) for name in stats[0]},
        )


@dataclass(frozen=True, kw_only=True)
class Engine(ABC):
    """Options that every engine has.

    Attributes
    ----------
    chains : int
        Chains, 1 or more.
    draws : int
        Retained draws of each chain, 1 or more.
    tune : int
        Warm-up draws of each chain.
    target_accept : float
        Target acceptance rate, between 0 and 1: the nearer to 1, the shorter the steps.

    Raises
    ------
    UsageError
        The first option that is out of range, with what is allowed.
    """

    name: ClassVar[str]

    chains: int = 4
    draws: int = 1000
    tune: int = 1000
    target_accept: float = 0.95

    def __post_init__(self) -> None:
        for name, least in (("chains", 1), ("draws", 1), ("tune", 0)):
            require_whole(name, getattr(self, name), least=least)
        if not 0 < self.target_accept < 1:
            raise UsageError(f"target_accept={self.target_accept} must lie between 0 and 1")

    @abstractmethod
    def run(self, job: Job) -> Drawn:
        """Draws from one posterior."""

    @property
    def careful(self) -> Self | None:
        """The engine of a second run, after divergent transitions; None where this one is as careful."""
        return replace(self, target_accept=CAREFUL) if self.target_accept < CAREFUL else None


class SideBySide(Engine):
    """An engine that also draws from many posteriors of one shape in one program, for `fit_many`."""

    @abstractmethod
    def draw_many(
        self, target: Density, arrays: Arrays, key: Any, *, many: Sets, report: Report | None = None
    ) -> Draws:
        """Draws with a leading axis of data sets; arguments as in `run_nuts`."""


def mixed(job: Job, drawn: Draws) -> bool:
    """Whether R-hat and ESS, which are of ranks, are within the gate's bounds in unconstrained coordinates."""
    import xarray as xr

    places = job.target.unravel(np.arange(job.target.size))
    sites = {
        name: (("chain", "draw", *(f"{name}_{k}" for k in range(at.ndim))), drawn.flat[..., at])
        for name, at in places.items()
    }
    return gate_of(xr.Dataset(sites), xr.Dataset(), latent=latent_sites(job.model)).passed


def with_care[E: Engine](engine: E, job: Job, sample: Callable[[E, int, Report | None], Draws]) -> Drawn:
    """Draws, made a second time with shorter steps where transitions diverged; the manifest states it.

    sample: ``(engine, seed, report) -> Draws``.
    """

    def drawn(engine: E, seed: int) -> Draws:
        title = f"{job.model.label}: {engine.chains} chains"
        with bar(title) if job.progress else nullcontext() as report:
            return sample(engine, seed, report)

    facts: dict[str, Any] = {"engine": engine.name, "target_accept": engine.target_accept}
    first = drawn(engine, job.seed)
    diverged, careful = int(first.stats["diverging"].sum()), engine.careful
    if not diverged or careful is None:
        return Drawn(first.flat, first.stats, facts)
    second = drawn(careful, job.seed + 1)
    facts |= {"target_accept": CAREFUL, "repeated_after_divergences": diverged}
    return Drawn(second.flat, second.stats, facts)
