"""Whether density and simulator belong together, without a sampler: moments of the score.

For parameters z (unconstrained) and data y drawn together from a model, and its log density l(z, y)::

    E[∂_i l] = 0        E[f(z_i) ∂_i l + f'(z_i)] = 0        E[(∂_i l)² + ∂_ii l] = 0

for smooth, bounded f, by integration by parts over z (Stein's identity; the first and last are Bartlett's).
A dropped Jacobian, a flipped sign or a prior of another scale break one of the first two, data counted twice
break the last. It takes one gradient and its derivative along one direction a replicate, where calibration
takes a posterior, so thousands of replicates cost seconds; but it says nothing of the engine.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayesjudge.maths.each_draw import each_draw
from bayesjudge.model import Data, Model
from bayesjudge.simulation.calibration.replicates import Simulator, World

#: Replicates computed together at most.
TOGETHER = 250
#: Half the step of a difference of gradients, whose error is of order step²: over all models and 1,000 replicates it
#: moves no moment by more than 5e-5 of its standard error.
STEP = 1e-4


def score_check(model: Model, data: Data, *, replicates: int = 2000, seed: int = 0) -> pd.DataFrame:
    """Moments of the score of a model over its own simulator.

    Parameters
    ----------
    model : Model
        Any model of the protocol.
    data : Data
        The design.
    replicates : int
        Simulated data sets.
    seed : int
        Equal seeds give equal results.

    Returns
    -------
    pandas.DataFrame
        As `score_moments` has it, one row an unconstrained parameter.
    """
    from bayesjudge.inference.programs.density import density

    world = Simulator(model=model, data=data).world(replicates, seed=seed)
    target = density(model, data)
    return moments_of(score_program(lambda z, arrays: -target.potential(z, arrays)), world, data, seed=seed)


def score_program(log_density: Callable[[Any, Mapping[str, Any]], Any]) -> Callable[..., Any]:
    """Compiled ``(points (R, d), directions (R, d), observed {name: (R, ...)}, shared) -> scores, curvatures``.

    The second are the products of the Hessian of ``log_density(z, arrays)`` with the directions, by central
    differences: with the derivative of a gradient a model as large as `repeated_trials` takes more than twice as long.
    """

    def every(points: Any, directions: Any, observed: Mapping[str, Any], shared: Mapping[str, Any]) -> Any:
        def along(row: Any) -> Any:
            z, v, mine = row
            slope = jax.vmap(jax.grad(lambda at: log_density(at, {**shared, **mine})))
            at, above, below = slope(jnp.stack([z, z + STEP * v, z - STEP * v]))
            return at, (above - below) / (2 * STEP)

        return each_draw(along, (points, directions, observed), most=TOGETHER)

    return jax.jit(every)


def moments_of(program: Callable[..., Any], world: World, data: Data, *, seed: int) -> pd.DataFrame:
    """The moments over simulated replicates, by a `score_program`; its other arrays are those of ``data``."""
    from bayesjudge.inference.programs import accelerator

    accelerator.prepare()
    shared = accelerator.to_device({k: a for k, a in data.arrays.items() if k not in data.observations})
    observed = {name: np.stack([one[name] for one in world.datasets]) for name in data.observations}
    # Signs: E[v_i (Hv)_i] is the i-th entry of the diagonal of H (Hutchinson 1990).
    signs = np.random.default_rng(seed).choice(np.array([-1.0, 1.0]), size=world.points.shape)
    score, turned = (np.asarray(part, dtype=float) for part in program(world.points, signs, observed, shared))
    return score_moments(world.points, score, signs * turned)


def score_moments(
    points: NDArray[np.float64], scores: NDArray[np.float64], curvature: NDArray[np.float64]
) -> pd.DataFrame:
    """The three identities, in standard errors.

    Returns: ``z_mean``, ``z_slope`` and ``z_curvature``: means of ``∂l``, of ``f ∂l + f'`` with ``f = tanh`` of the
        standardised parameter, and of ``(∂l)² + ∂∂l``, each over its standard error; 0 where density and simulator
        belong together.
    """
    unit = points.std(axis=0, ddof=1)
    f = np.tanh((points - points.mean(axis=0)) / unit)
    slopes = f * scores + (1 - f**2) / unit
    return pd.DataFrame(
        {"z_mean": _in_errors(scores), "z_slope": _in_errors(slopes), "z_curvature": _in_errors(scores**2 + curvature)}
    )


def _in_errors(values: NDArray[np.float64]) -> NDArray[np.float64]:
    error = values.std(axis=0, ddof=1) / np.sqrt(len(values))
    found: NDArray[np.float64] = values.mean(axis=0) / error
    return found
