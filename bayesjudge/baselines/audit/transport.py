"""Exact partial optimal transport by POT's network simplex, with one dummy point on each side.

Chapel, Alaya & Gasso (2020): a dummy row and column of cost 0 take the mass that is not transported; mass
between the two dummies is forbidden by its cost.

The same dummy row and column as in the exact solver turn the partial problem into an ordinary one, whose
entropic solution is found by alternating the two marginals (Cuturi 2013) on log potentials, while the
temperature falls from 1 to ε. As ε → 0 the solution tends to an exact one. The costs are held in single
precision where they fit, and made again from the vectors, block by block, where they do not.
"""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesjudge.errors import EngineError, UsageError

#: Peak memory of the exact solver for each cell of the cost matrix, measured at 3,000 and 5,000 points.
BYTES_A_CELL = 50
#: Pivots of the simplex before it gives up: 5,000 × 5,000 needs some 2 million.
MOST_PIVOTS = 50_000_000
_SWITCHES = (
    "POT_BACKEND_DISABLE_PYTORCH",
    "POT_BACKEND_DISABLE_JAX",
    "POT_BACKEND_DISABLE_TENSORFLOW",
    "POT_BACKEND_DISABLE_CUPY",
)


def exact_masses(source: NDArray[Any], target: NDArray[Any], *, share: float) -> NDArray[np.float64]:
    """Mass that each target receives (u,), summing to ``share``.

    source, target: Unit vectors; the cost of a cell is 1 minus their cosine, the weights are 1/p and 1/u.
    """
    p, u = len(source), len(target)
    # Written in place, since the matrix is what fills the memory.
    cost = np.zeros((p + 1, u + 1))
    np.subtract(1.0, source.astype(np.float64) @ target.astype(np.float64).T, out=cost[:p, :u])
    cost[p, u] = 2.0 * max(float(cost.max()), 1.0)
    rest = 1.0 - share
    plan, log = _solve(np.append(np.full(p, 1 / p), rest), np.append(np.full(u, 1 / u), rest), cost)
    if log["warning"] is not None:
        raise EngineError(f"exact optimal transport gave up: {log['warning']}; use solver='entropic'")
    mass: NDArray[np.float64] = plan[:p, :u].sum(axis=0)
    return mass


def _solve(a: NDArray[np.float64], b: NDArray[np.float64], cost: NDArray[np.float64]) -> tuple[Any, Any]:
    with _without_other_backends():
        import ot

    with warnings.catch_warnings():
        # What it has to say comes back in the log, where it is not lost.
        warnings.simplefilter("ignore")
        return ot.emd(a, b, cost, numItermax=MOST_PIVOTS, log=True)  # type: ignore[no-any-return]  # POT has no types


@contextmanager
def _without_other_backends() -> Iterator[None]:
    """POT imports every array library it can find, which doubles its footprint; NumPy is enough here."""
    before = {name: os.environ.get(name) for name in _SWITCHES}
    os.environ.update(dict.fromkeys(_SWITCHES, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


#: Rows in one block.
BLOCK = 512
#: Cells whose costs are kept (4 bytes each); larger problems make them again in every step.
MOST_KEPT = 400_000_000
#: The temperature is halved until it is ε, with so many steps at each, and more at the last.
STEPS, LAST_STEPS = 30, 300
#: Log weight of what must not be: exp of it is 0 in single precision, and differences of it stay finite.
NEVER = -1e30


def entropic_masses(
    source: NDArray[Any], target: NDArray[Any], *, share: float, epsilon: float = 0.002
) -> NDArray[np.float64]:
    """Mass that each target receives (u,), summing to ``share``.

    share: Transported mass s, below 1.
    """
    import jax

    if not 1e-4 <= epsilon <= 1:
        raise UsageError(f"epsilon={epsilon} must lie between 0.0001 and 1")
    if share >= 1:
        # Everything is transported: every target receives its whole weight.
        return np.full(len(target), 1 / len(target))
    program = jax.jit(_masses, static_argnums=2)
    mass = np.asarray(program(*_blocks(source, target), share, epsilon), dtype=np.float64)[: len(target)]
    return _exactly(np.clip(mass, 0.0, 1 / len(target)), share)


def _exactly(mass: NDArray[np.float64], share: float) -> NDArray[np.float64]:
    """The masses moved by single precision's rounding error so that they sum to the share, within bounds."""
    room = mass if mass.sum() > share else 1 / len(mass) - mass
    total = float(room.sum())
    return mass + (share - mass.sum()) * room / total if total > 0 else mass


def _blocks(source: NDArray[Any], target: NDArray[Any]) -> tuple[Any, Any, int]:
    """Vectors (blocks, BLOCK, d) of the sources, padded with zeros; targets; number of sources."""
    p, d = source.shape
    size = min(BLOCK, p)
    count = -(-p // size)
    padded = np.zeros((count * size, d), np.float32)
    padded[:p] = source
    return padded.reshape(count, size, d), np.asarray(target, np.float32), p


def _masses(source: Any, target: Any, p: int, share: Any, epsilon: Any) -> Any:
    """Sinkhorn over source blocks; potentials f of the sources and g of the targets, each with its dummy."""
    import jax
    import jax.numpy as jnp

    u, rest = target.shape[0], jnp.float32(1.0 - share)
    blocks, size = source.shape[:2]
    keep = blocks * size * u <= MOST_KEPT
    # A padded row has no weight, so it takes part in no sum over sources.
    log_a = jnp.where(jnp.arange(blocks * size) < p, -jnp.log(jnp.float32(p)), NEVER).reshape(blocks, size)
    log_b, log_rest = -jnp.log(jnp.float32(u)), jnp.log(rest)

    def cost_of(vectors: Any) -> Any:
        return 1.0 - vectors @ target.T

    held = jax.lax.map(cost_of, source) if keep else source

    def cost(block: Any) -> Any:
        return block if keep else cost_of(block)

    def sweep(state: Any, temperature: Any) -> Any:
        """Potentials f given g, then g given f; the dummies' cells cost nothing, their corner is barred."""
        _, g, g_dummy, _ = state

        def rows(block: Any) -> Any:
            inner = jax.nn.logsumexp((g[None] - cost(block)) / temperature, axis=1)
            return -temperature * jnp.logaddexp(inner, g_dummy / temperature)

        f = jax.lax.map(rows, held) + temperature * log_a
        f_dummy = temperature * (log_rest - jax.nn.logsumexp(g / temperature))

        def columns(carry: Any, pair: Any) -> Any:
            block, own = pair
            part = jax.nn.logsumexp((own[:, None] - cost(block)) / temperature, axis=0)
            return jnp.logaddexp(carry, part), None

        total, _ = jax.lax.scan(columns, jnp.full(u, NEVER, jnp.float32), (held, f))
        g = temperature * (log_b - jnp.logaddexp(total, f_dummy / temperature))
        g_dummy = temperature * (log_rest - jax.nn.logsumexp(f / temperature))
        return f, g, g_dummy, f_dummy

    zero = jnp.float32(0.0)
    start = (jnp.zeros((blocks, size), jnp.float32), jnp.zeros(u, jnp.float32), zero, zero)
    _, g, _, f_dummy = _annealed(sweep, start, epsilon)
    # The last step met the targets' weights exactly: what the dummy did not take was transported.
    return 1.0 / u - jnp.exp((f_dummy + g) / jnp.float32(epsilon))


def _annealed(sweep: Callable[[Any, Any], Any], state: Any, epsilon: Any) -> Any:
    """The state after sweeps at falling temperatures, most of them at the last."""
    import jax
    import jax.numpy as jnp

    def at_temperature(state: Any, temperature: Any) -> Any:
        return jax.lax.fori_loop(0, STEPS, lambda _, s: sweep(s, temperature), state), None

    falling = jnp.maximum(jnp.float32(0.5) ** jnp.arange(14), epsilon).astype(jnp.float32)
    state, _ = jax.lax.scan(at_temperature, state, falling)
    last = jnp.float32(epsilon)
    return jax.lax.fori_loop(0, LAST_STEPS, lambda _, s: sweep(s, last), state)


def denoise(
    chosen: NDArray[Any], z: NDArray[Any], category: NDArray[np.int64], *, keep: tuple[float, float]
) -> NDArray[np.bool_]:
    """Which positives to keep.

    Within each category, the share ``keep[0]`` whose chosen response lies nearest (by cosine) to the mean
    chosen response, then of those the share ``keep[1]`` whose direction lies nearest to the mean direction.

    keep: Shares ρ1 and ρ2, above 0 and not above 1; at least one positive a category stays.
    """
    if not all(0 < share <= 1 for share in keep):
        raise UsageError(f"keep={keep}: both shares must lie above 0 and not above 1")
    kept = np.zeros(len(z), dtype=bool)
    for code in np.unique(category):
        mine = np.flatnonzero(category == code)
        for vectors, share in ((chosen, keep[0]), (z, keep[1])):
            mine = mine[_nearest(vectors[mine], share)]
        kept[mine] = True
    return kept


def _nearest(vectors: NDArray[Any], share: float) -> NDArray[np.int64]:
    """Places, in order, of the share of vectors with the largest cosine to their mean."""
    vectors = vectors.astype(np.float64)
    length = np.maximum(np.linalg.norm(vectors, axis=1), 1e-300)
    cosine = vectors @ vectors.mean(axis=0) / length
    # Sums of the same numbers in another order differ in the last digits: equal cosines must stay equal.
    order = np.argsort(-np.round(cosine, 12), kind="stable")
    # A share of ten of .3 is three: rounding 3.0000000000000004 up would keep four.
    return np.sort(order[: max(math.ceil(round(share * len(vectors), 9)), 1)])
