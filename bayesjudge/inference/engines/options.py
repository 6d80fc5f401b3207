"""What is said of an engine: frozen options. What samples by them is imported when it runs, with JAX."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, get_args

import numpy as np

from bayesjudge.errors import UsageError, require_choice
from bayesjudge.inference.engines.base import Drawn, Draws, Engine, Job, SideBySide, with_care
from bayesjudge.inference.gate import MOST_PARETO_K

if TYPE_CHECKING:
    from bayesjudge.inference.programs.density import Arrays, Density, Sets
    from bayesjudge.inference.programs.progress import Report

#: Doublings of a trajectory at most, by default.
DEPTH = 10
Sampler = Literal["numpyro", "pymc"]


@dataclass(frozen=True, kw_only=True)
class Chains(SideBySide):
    """An engine whose chains go on where asked to, until they have mixed.

    Attributes
    ----------
    chains, draws, tune, target_accept
        As in `Engine`.
    most_draws : int, optional
        Draws of each chain at most, of one posterior: after ``draws`` it goes on by hundreds until R-hat and ESS pass.
        By default it makes ``draws``.
    """

    most_draws: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.most_draws is not None and self.most_draws < self.draws:
            raise UsageError(f"most_draws={self.most_draws} must be at least draws={self.draws}")


@dataclass(frozen=True, kw_only=True)
class Nuts(Chains):
    """The No-U-Turn sampler of NumPyro, started at the mode with the curvature there as its first metric.

    A run with divergent transitions is repeated once at a target acceptance rate of 0.99; the manifest of the
    fit then has ``repeated_after_divergences``.

    Attributes
    ----------
    chains, draws, tune, target_accept, most_draws
        As in `Chains`.
    max_tree_depth : int
        Doublings of a trajectory at most.

    Examples
    --------
    >>> Nuts(draws=500).target_accept
    0.95
    """

    name: ClassVar[str] = "nuts"

    max_tree_depth: int = DEPTH

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.max_tree_depth < 1:
            raise UsageError(f"max_tree_depth={self.max_tree_depth} must be at least 1")

    def run(self, job: Job) -> Drawn:
        """Draws from one posterior; both runs have one key."""
        from bayesjudge.inference.engines import nuts

        drawn = with_care(self, job, lambda engine, _, report: nuts.run_alone(job, engine, report))
        own = {} if self.max_tree_depth == DEPTH else {"max_tree_depth": self.max_tree_depth}
        return drawn._replace(facts={**drawn.facts, "draws": drawn.flat.shape[1], **own})

    def draw_many(
        self, target: Density, arrays: Arrays, key: Any, *, many: Sets, report: Report | None = None
    ) -> Draws:
        """Draws from many posteriors of one shape."""
        from bayesjudge.inference.engines import nuts

        return nuts.run_nuts(target, arrays, key, self, many=many, report=report)


@dataclass(frozen=True, kw_only=True)
class Hmc(Chains):
    """Hamiltonian Monte Carlo whose chains all take one number of steps, after whitening by the curvature.

    Faster than NUTS where a model has many well-determined parameters, and where many posteriors run side by
    side. Divergent transitions are treated as by `Nuts`.
    Where a model has units that are independent given what they share (`bayesjudge.model.HasMarginal`), `fit`
    integrates their own effects out and draws them afterwards, with a target acceptance of .95 or more; the manifest of
    the fit then has ``integrated`` and ``integration_error``.

    Attributes
    ----------
    chains, draws, tune, target_accept, most_draws
        As in `Chains`.

    Examples
    --------
    >>> Hmc(draws=500).target_accept
    0.9
    """

    name: ClassVar[str] = "hmc"

    target_accept: float = 0.9

    def run(self, job: Job) -> Drawn:
        """Draws from one posterior."""
        from bayesjudge.inference.engines import hmc

        drawn = hmc.run_integrated(job, self)
        if drawn is None:
            drawn = with_care(self, job, lambda engine, seed, report: hmc.run_alone(job, engine, seed, report))
        return drawn._replace(facts={**drawn.facts, "draws": drawn.flat.shape[1]})

    def draw_many(
        self, target: Density, arrays: Arrays, key: Any, *, many: Sets, report: Report | None = None
    ) -> Draws:
        """Draws from many posteriors of one shape."""
        from bayesjudge.inference.engines import hmc

        return hmc.run_hmc(target, arrays, key, self, many=many, report=report)


@dataclass(frozen=True, kw_only=True)
class Laplace(SideBySide):
    """Laplace approximation, widened and skewed until importance weights are even, then resampled.

    Where Pareto's k̂ of one posterior is above 0.7, `Nuts` runs instead, and `fit` warns; of many posteriors
    (`fit_many`) the gate of each states its k̂.

    Attributes
    ----------
    chains, draws
        Together the number of draws: ``chains * draws``.
    tune, target_accept
        Of NUTS, where that is run instead.
    """

    name: ClassVar[str] = "laplace"

    def run(self, job: Job) -> Drawn:
        """Draws from one posterior."""
        from bayesjudge.inference.engines import laplace

        drawn = laplace.run_laplace(job.target, job.arrays, job.key, draws=self.chains * self.draws)
        k, ess = float(drawn.pareto_k), float(drawn.ess)
        if not k <= MOST_PARETO_K:
            again = Nuts(**asdict(self)).run(job)
            again.facts.update(engine="nuts after laplace", laplace_pareto_k=k)
            return again
        flat, stats = self._in_chains(drawn, ())
        return Drawn(flat, stats, {"engine": self.name, "laplace_pareto_k": k, "importance_ess": ess})

    def draw_many(
        self, target: Density, arrays: Arrays, key: Any, *, many: Sets, report: Report | None = None
    ) -> Draws:
        """Draws from many posteriors of one shape; too short to report progress."""
        from bayesjudge.inference.engines import laplace

        del report
        drawn = laplace.run_laplace(target, arrays, key, draws=self.chains * self.draws, many=many)
        flat, stats = self._in_chains(drawn, (many.number,))
        return Draws(flat=flat, stats=stats)

    def _in_chains(self, drawn: Any, sets: tuple[int, ...]) -> tuple[Any, dict[str, Any]]:
        shape = (*sets, self.chains, self.draws)
        figures = {"pareto_k": drawn.pareto_k, "importance_ess": drawn.ess}
        stats = {name: np.broadcast_to(np.asarray(v)[..., None, None], shape) for name, v in figures.items()}
        return np.asarray(drawn.flat).reshape(*shape, -1), stats


@dataclass(frozen=True, kw_only=True)
class PyMC(Engine):
    """A model as written in PyMC.

    Attributes
    ----------
    chains, draws, tune, target_accept
        As in `Engine`.
    sampler : {"numpyro", "pymc"}
        NumPyro's NUTS on PyMC's compiled density, or PyMC's own NUTS.

    Raises
    ------
    UsageError
        No sampler of that name.

    Examples
    --------
    >>> PyMC(sampler="pymc", draws=500).target_accept
    0.95
    """

    name: ClassVar[str] = "pymc"

    sampler: Sampler = "numpyro"

    def __post_init__(self) -> None:
        super().__post_init__()
        require_choice("sampler", self.sampler, get_args(Sampler))

    def run(self, job: Job) -> Drawn:
        """Draws from one posterior.

        Raises
        ------
        EngineError
            PyMC is not installed.
        """
        from bayesjudge.inference.engines import pymc

        return pymc.run_pymc(job, self)
