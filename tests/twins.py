"""Log densities of a model in NumPyro and of its PyMC twin, at many points in one call each."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayesjudge.model import Data, Model

__all__ = ["edge_points", "numpyro_log_densities", "pymc_log_densities", "random_points"]


def random_points(model: Model, data: Data, *, points: int, scale: float = 1.5, seed: int = 7) -> Any:
    """Unconstrained points (points, d), normal."""
    from bayesjudge.inference.programs import accelerator
    from bayesjudge.inference.programs.density import density

    accelerator.prepare()
    return np.random.default_rng(seed).normal(scale=scale, size=(points, density(model, data).size))


def edge_points(model: Model, data: Data, *, points: int, far: float, seed: int = 8) -> Any:
    """Points whose bounded parameters lie near the edges of their support: e^±far, or σ(±far)."""
    from bayesjudge.inference.programs.density import density

    at = random_points(model, data, points=points, scale=1.0, seed=seed)
    target = density(model, data)
    constrained = target.constrain(at[0], data.arrays)
    plain = target.unravel(at[0])
    # Real parameters are their own unconstrained values: they have no edge.
    bounded = {
        name: np.full(
            np.shape(plain[name]), np.shape(value) != np.shape(plain[name]) or not np.array_equal(value, plain[name])
        )
        for name, value in constrained.items()
    }
    from jax.flatten_util import ravel_pytree

    on_edge = np.asarray(ravel_pytree({name: mask.astype(float) for name, mask in bounded.items()})[0]) > 0
    signs = np.random.default_rng(seed + 1).choice([-far, far], size=at.shape)
    return np.where(on_edge, signs, at)


def numpyro_log_densities(model: Model, data: Data, points: Any) -> tuple[Any, Any]:
    """With the Jacobian of the transforms (of unconstrained values) and without (of constrained ones)."""
    import jax
    from numpyro.infer.util import log_density

    from bayesjudge.inference.programs import accelerator
    from bayesjudge.inference.programs.density import density

    target, arrays = density(model, data), accelerator.to_device(data.arrays)

    def both(z: Any, given: Any) -> Any:
        values = target.constrain(z, given)
        seen = data.with_arrays(given)
        return -target.potential(z, given), log_density(model.numpyro, (seen,), {}, values)[0]

    found = jax.jit(jax.vmap(both, in_axes=(0, None)))(points, arrays)
    return np.asarray(found[0]), np.asarray(found[1])


def pymc_log_densities(model: Model, data: Data, points: Any, *, jacobian: bool = True) -> Any:
    """PyMC's density on the same flat vectors: sites in alphabetical order, as NumPyro's are raveled.

    The graph is turned into one over all points, so that Python runs through it once.
    """
    import pytensor
    import pytensor.tensor as pt
    from pytensor.compile.mode import Mode
    from pytensor.graph.replace import vectorize_graph

    # Where each node of a graph was made is looked up frame by frame, for a message that no test reads.
    with pytensor.config.change_flags(traceback__limit=0):
        twin = model.pymc(data)
        # Its own, so that a twin of other shapes is found.
        start = twin.initial_point()
        values = [twin.rvs_to_values[rv] for rv in sorted(twin.free_RVs, key=lambda rv: rv.name)]
        shapes = [np.shape(start[value.name]) for value in values]
        ends = np.cumsum([int(np.prod(shape)) for shape in shapes])
        assert ends[-1] == points.shape[1]
        many = [pt.tensor(value.name, shape=(None, *value.type.shape), dtype=value.dtype) for value in values]
        batched = vectorize_graph(twin.logp(jacobian=jacobian), dict(zip(values, many, strict=True)))
        # Plain NumPy kernels of the graph as it was written: nothing of JAX in the second opinion, no compiler to wait
        # for, and no rewriting, which took longer than all else.
        program = pytensor.function(many, batched, mode=Mode(linker="py", optimizer=None))
        parts = np.split(points, ends[:-1], axis=1)
        return program(*[p.reshape(len(points), *shape) for p, shape in zip(parts, shapes, strict=True)])
