"""A second opinion on calibration: the rank of the truth within a chain that starts at it.

Draw parameters from the prior and data from the model; the parameters are then a draw from the posterior.
Let a chain of a reversible kernel run from them, k states backwards and L − 1 − k forwards, with k uniform.
Where the kernel leaves the posterior invariant, the chain looks the same from each of its states, so the
rank of the true one among all L is uniform, exactly, however slowly the chain mixes and however short it is
(Gandy & Scott 2020, "Unit testing for MCMC and other Monte Carlo methods", in the spirit of Geweke 2004).
SBC asks whether the draws are of the posterior; this asks whether density, gradient and simulator belong
together, and needs no warm-up that has converged.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bayesjudge.simulation.calibration.uniformity import ranks_among

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bayesjudge.simulation.calibration.replicates import Simulator, World

__all__ = ["exact_ranks"]


def exact_ranks(
    simulator: Simulator, world: World, *, length: int, chains: int, draws: int, tune: int, seed: int
) -> NDArray[np.int64]:
    """Ranks (replicates, quantities) from 0 to ``length − 1``; ties are broken at random.

    Parameters
    ----------
    simulator : Simulator
        Of the model and its quantities.
    world : World
        Its replicates.
    length : int
        States of each chain, the truth among them; at most ``draws + 1``.
    chains, draws, tune : int
        Of the sampler, which takes programs from `fit_many` where these are equal; two chains are read.
    seed : int
        Equal seeds give equal ranks.
    """
    from bayesjudge.inference.batches import Batch, chains_from
    from bayesjudge.inference.engines.nuts import NutsOptions

    options = NutsOptions(chains=chains, draws=draws, tune=tune, target_accept=0.9)
    job = Batch(model=simulator.model, data=world.datasets, engine="hmc", options=options, seed=seed,
                repeat=False, mesh=None)  # fmt: skip
    run = chains_from(job, world.points)
    rng = np.random.default_rng(seed)
    before = rng.integers(0, length, size=len(run))
    states = np.stack([np.concatenate([one[0, :k], one[1, : length - 1 - k]])
                       for one, k in zip(run, before, strict=True)])  # fmt: skip
    found = simulator.rank(world, states)
    return ranks_among(found.true[..., None], found.drawn, rng).T
