"""Hamiltonian Monte Carlo for many posteriors in lock step.

NUTS lets every chain choose its own number of leapfrog steps, so chains side by side in one program all
wait for the longest trajectory, and carry the bookkeeping of the tree through every step. Here each
posterior is first whitened by its own curvature, and all chains of the posteriors in one program then take
the same, randomly jittered number of steps, as Hoffman, Radul & Sountsov (2021, "An
adaptive-MCMC scheme for setting trajectory lengths in HMC") argue for hardware that works in lanes. Step
size (dual averaging, Hoffman & Gelman 2014) and metric (from the chains' draws and gradients) are adapted for
each posterior, pooled over its chains.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from operator import itemgetter
from typing import Any, NamedTuple

import jax
import numpy as np

from bayesjudge.inference.engines.base import ASKED, Drawn, Draws, Engine, Job, mixed, with_care
from bayesjudge.inference.engines.lock_step import LEAPFROG, THREE, Made, Noise, State, Step, program
from bayesjudge.inference.engines.metric import DENSE_UP_TO, Corner, metric
from bayesjudge.inference.engines.options import Hmc
from bayesjudge.inference.engines.starts import EXACT_UP_TO, MODE_UP_TO, place_chains
from bayesjudge.inference.programs.at_points import AtPoints, beside, slopes, stream
from bayesjudge.inference.programs.density import Arrays, Density, Sets, density
from bayesjudge.inference.programs.integrated import Posterior, completed, largest_error
from bayesjudge.inference.programs.progress import Report, blocks
from bayesjudge.inference.programs.stacks import placed, stack
from bayesjudge.model import HasMarginal, Marginal

#: Mean integration time in whitened units. A Gaussian decorrelates best at π/2; on the hierarchical
#: posteriors here (31 parameters, TriviaQA, 16 posteriors) 3 raised the smallest ESS from 81 to 264 of 2,000
#: draws for 2.3 times the gradients; 5 raised it to 396 for 4.2 times.
TRAJECTORY = 3.0
#: The same of a large posterior, in which a matrix whitens what items share: of 1,903 parameters (nine judges, 168
#: items) smallest ESS a gradient was .07 to .09 with 3 and with scales alone, .11 to .12 with 2.2 and with 1.5.
WITH_CORNER = 2.2
#: Most gradients of a mean trajectory; a posterior that would need more is flagged by its gate.
MOST_STEPS = 64
#: Step of a gradient to begin with.
FIRST_STEP = 0.3
#: Iterations between two reports of progress, of small posteriors and of large ones.
BLOCK, LARGE_BLOCK = 100, 20
#: Posteriors of one program past which another is compiled for points. On an H100 it takes 3.4 s, and a fit of 100 to
#: 400 small posteriors then takes about half the time: 3 ms less for each.
MANY = 1000
#: Energy error past which a trajectory counts as divergent, as in Stan and NumPyro.
DIVERGENT = 1000.0
#: Of a posterior whose units' effects are integrated out: error of its log density past which they are sampled after
#: all, and the target acceptance, at least. What is left is a curved ridge (spread of items, correlation of trials): of
#: 3,000 items the curvature changes tenfold along it, and some runs at .9 diverged and were made again at .99.
MOST_ERROR, RIDGE = 0.1, 0.95
#: Unknowns below which effects are sampled all the same, with two programs less to compile. Of 304 (one judge) sampling
#: took 24 CPU s and integrating 17, of 415 (three judges) 9 and 17; of 1,015 (250 items that judges agree on) sampling
#: failed its gate after 103 CPU s, and integrating passed in 29.
SMALL = 300
#: A lot that no trajectory is accepted by.
_NEVER = 2.0
#: Random numbers of each data set. The lengths of trajectories, which all share, are drawn from the first.
type Streams = Sequence[np.random.Generator]
#: Draws (sets, chains, iterations, d) and their statistics.
type Block = tuple[Any, dict[str, Any]]


def run_alone(job: Job, options: Hmc, seed: int, report: Report | None) -> Draws:
    """Sample one posterior."""
    sets, arrays = stack([job.data]).part(np.zeros(1, dtype=int))
    key = jax.random.split(jax.random.key(seed), 1)
    most = options.most_draws or options.draws
    return run_hmc(
        job.target,
        placed(arrays, sets, None),
        key,
        options,
        many=sets,
        report=report,
        mixed=lambda drawn: mixed(job, drawn.alone),
        most=most,
    ).alone


@dataclass(frozen=True, eq=False, kw_only=True)
class _Shared(Job):
    """What units share."""

    marginal: Marginal

    @property
    def target(self) -> Density:
        """The density with their own effects integrated out."""
        return density(self.marginal, self.data)


def run_integrated(job: Job, options: Hmc) -> Drawn | None:
    """Sample what units share, then each unit's effects given that; None where that cannot be done well."""
    large = job.target.size >= SMALL
    found = job.model.marginal(job.data) if large and isinstance(job.model, HasMarginal) else None
    if found is None:
        return None
    marginal, data = found
    of = _Shared(model=job.model, data=data, seed=job.seed, progress=job.progress, marginal=marginal)
    options = replace(options, target_accept=max(options.target_accept, RIDGE))
    drawn = with_care(options, of, lambda engine, seed, report: run_alone(of, engine, seed, report))
    shared = Posterior(target=of.target, data=data, arrays=of.arrays)
    whole = Posterior(target=job.target, data=job.data, arrays=job.arrays)
    rng = stream(job.key, 1)
    if (error := largest_error(shared, drawn.flat, drawn.stats["lp"], rng)) > MOST_ERROR:
        return None
    flat = completed(marginal, shared, whole, drawn.flat, rng)
    return Drawn(flat, drawn.stats, {**drawn.facts, "integrated": True, "integration_error": error})


def run_hmc(
    target: Density,
    arrays: Arrays,
    key: Any,
    options: Engine,
    *,
    many: Sets,
    report: Report | None = None,
    mixed: Callable[[Draws], bool] = lambda _: True,
    most: int = 0,
) -> Draws:
    """Sample many posteriors at once; arguments as in `run_nuts`.

    mixed: Asked once the draws of the options are made, and after every block from then on until ``most`` are.
    """
    run, rngs = Run(target, arrays, options, many), [stream(one) for one in key]
    tell = partial(_tell, report, options.tune + options.draws)
    state, done = run.warmed(rngs, tell)
    kept: list[Any] = []
    for number, size in enumerate(blocks(max(options.draws, most), run.block)):
        made = number * run.block
        if made >= options.draws and made % ASKED == 0 and mixed(Draws.joined(kept)):
            break
        state, block, _ = run.advanced(state, rngs, run.lengths(state, size, rngs[0]))
        kept.append(block)
        done = tell(done + size, state)
    return Draws.joined(kept)


def run_from(target: Density, arrays: Arrays, key: Any, options: Engine, *, many: Sets, points: Any) -> Draws:
    """Chains that all start at a given point of each posterior, with a kernel tuned without looking at it.

    The trajectories have one length, a quarter turn of a Gaussian: the kernel is then one and the same
    reversible kernel at every iteration, so chains from one point may be read forwards or backwards.
    """
    run, rngs = Run(target, arrays, options, many), [stream(one) for one in key]
    state, _ = run.warmed(rngs, lambda done, _: done)
    z = np.repeat(np.asarray(points)[:, None], options.chains, axis=1)
    value, slope = run.slopes()(z)
    state = state._replace(**beside({"z": z, "value": value, "slope": slope}, arrays))
    steps = run.mean_steps(state, TRAJECTORY / 2)
    kept = []
    for size in blocks(options.draws, run.block):
        state, block, _ = run.advanced(state, rngs, np.full(size, len(run.stages) * steps))
        kept.append(block)
    return Draws.joined(kept)


class Run(NamedTuple):
    """Chains of many posteriors, run block by block."""

    target: Density
    arrays: Arrays
    options: Engine
    many: Sets

    @property
    def block(self) -> int:
        """Iterations of the program: few of a large posterior, since the random numbers of all are made at once."""
        return BLOCK if self.target.size <= MODE_UP_TO else LARGE_BLOCK

    @property
    def stages(self) -> Any:
        """The integrator's: three where there are many dimensions, of which leapfrog's energy error grows faster."""
        return LEAPFROG if self.target.size <= DENSE_UP_TO else THREE

    def lengths(self, state: State, size: int, rng: np.random.Generator) -> Any:
        """Stages of each iteration: whole steps, uniform from 1 to twice the mean that the median posterior needs."""
        turn = WITH_CORNER if isinstance(state.root, Corner) else TRAJECTORY
        return len(self.stages) * rng.integers(1, 2 * self.mean_steps(state, turn), size=size)

    def mean_steps(self, state: State, trajectory: float) -> int:
        """Steps of a trajectory of this length, 2 or more."""
        steps = round(trajectory / float(np.median(np.exp(state.step.log_average))))
        return int(np.clip(steps, 2, MOST_STEPS // len(self.stages)))

    def units(self, roots: Any) -> Any:
        """Roots with a leading axis of data sets; of a large posterior with a matrix for what items share."""
        where = self.target.shared
        if roots.ndim == 3 or not 0 < len(where) <= DENSE_UP_TO:
            return roots
        scale = np.array(roots)
        scale[:, where] = 1.0
        matrix = roots[:, where, None] * np.eye(len(where))
        return Corner(np.broadcast_to(where, matrix.shape[:2]), matrix, scale)

    def warmed(self, rngs: Streams, tell: Callable[[int, State], int]) -> tuple[State, int]:
        """State after warm-up, and the iterations done."""
        chains = place_chains(self.target, self.arrays, rngs, self.options.chains, self.many, at=self.slopes())
        start = State.start(chains, self.units(chains.root), FIRST_STEP * len(self.stages))
        state, done = beside(start, self.arrays), 0
        for share, renewed in ((0.2, True), (0.4, True), (0.4, False)):
            window = []
            for size in blocks(max(round(self.options.tune * share), 1), self.block):
                lengths = self.lengths(state, size, rngs[0])
                state, (flat, _), slopes = self.advanced(state, rngs, lengths, learning=size)
                window.append((flat, slopes))
                done = tell(done + size, state)
            points = [np.concatenate(part, axis=-2) for part in zip(*window, strict=True)]
            state = beside(_renewed(state, points if renewed else None), self.arrays)
        return state, done

    def advanced(self, state: State, rngs: Streams, lengths: Any, *, learning: int = 0) -> tuple[State, Block, Any]:
        """A block of iterations and the draws' gradients; those of no steps make blocks of every size one program."""
        shape = (self.block, self.options.chains)
        drawn = [(rng.standard_normal((*shape, self.target.size)), rng.random(shape)) for rng in rngs]
        noise = Noise(*(np.stack(part) for part in zip(*drawn, strict=True)))
        state, made = self.moved(state, noise, self.stages, lengths, learning)
        return state, _drawn(made, lengths), np.asarray(made.gradient)[:, : len(lengths)].swapaxes(1, 2)

    def moved(self, state: State, noise: Noise, stages: Any, lengths: Any, learning: int) -> tuple[State, Made]:
        """The compiled block."""
        padded, accept = np.pad(lengths, (0, self.block - len(lengths))), self.options.target_accept
        found: tuple[State, Made] = program(self.target, self.many)(
            state, self.arrays, beside(noise, self.arrays), stages, padded, learning, accept
        )
        return found

    def slopes(self) -> AtPoints:
        """Minus the log density and its gradient, by the program that samples: another takes a second to compile.

        A straight step of length 1 from the origin, in units of its own, ends where its momentum points to. Of a very
        large posterior, of many large ones, whose modes are searched for one after another and one point at a time, or
        of very many, as on an accelerator, a block of all would be computed for each point.
        """
        if self.many.number > MANY or self.target.size > (EXACT_UP_TO if self.many.number == 1 else MODE_UP_TO):
            return slopes(self.target.potential, self.arrays, self.many)
        number, chains, size = self.many.number, self.options.chains, self.target.size
        units = np.eye(size) if size <= DENSE_UP_TO else np.ones(size)
        nowhere, zeros = np.zeros((number, chains, size)), np.zeros((number, chains))
        root = self.units(np.broadcast_to(units, (number, *units.shape)))
        origin = beside(State(nowhere, zeros, nowhere, root, Step.fresh(zeros[:, 0])), self.arrays)
        straight = np.tile([0.0, 1.0, 0.0], (len(self.stages), 1))
        room, never = self.block * chains, np.full((number, self.block, chains), _NEVER)

        def at_most(points: Any) -> tuple[Any, Any]:
            given = points.shape[1]
            momentum = np.pad(points, ((0, 0), (0, room - given), (0, 0))).reshape(number, self.block, chains, size)
            _, made = self.moved(origin, Noise(momentum, never), straight, np.ones(-(-given // chains), dtype=int), 0)
            value, slope = np.array(made.end).reshape(number, room), np.array(made.slope).reshape(number, room, size)
            return value[:, :given], slope[:, :given]

        def in_blocks(points: Any) -> tuple[Any, Any]:
            parts = zip(*(at_most(points[:, k : k + room]) for k in range(0, points.shape[1], room)), strict=True)
            value, slope = (np.concatenate(part, axis=1) for part in parts)
            nothing = ~np.isfinite(points).all(-1)
            value[nothing], slope[nothing] = np.nan, np.nan
            return value, slope

        return in_blocks


def _drawn(made: Made, lengths: Any) -> Block:
    """What a block made, without what it was padded with."""
    z, value, energy, change = (np.asarray(part)[:, : len(lengths)].swapaxes(1, 2) for part in made[:4])
    stats = {
        "lp": -value,
        "energy": energy,
        "diverging": change > DIVERGENT,
        "acceptance_rate": np.exp(-np.maximum(change, 0.0)),
        "n_steps": np.broadcast_to(lengths, change.shape),
    }
    return z, stats


def _tell(report: Report | None, total: int, done: int, state: State) -> int:
    if report is not None:
        jax.block_until_ready(state.z)
        report(min(done, total), total)
    return done


def _renewed(state: State, points: Any) -> State:
    """Fix the step size; with draws and gradients (sets, chains, iterations, d) whiten by them, and tune it anew."""
    log_size = np.asarray(state.step.log_average)
    if points is None:
        return state._replace(step=state.step._replace(log_size=log_size))
    roots = jax.tree.map(np.asarray, state.root)
    rows = [part.reshape(len(part), -1, part.shape[-1]) for part in points]
    renewed = [metric(jax.tree.map(itemgetter(k), roots), *of) for k, of in enumerate(zip(*rows, strict=True))]
    root = jax.tree.map(lambda *parts: np.stack(parts), *renewed)
    return state._replace(root=root, step=Step.fresh(log_size))
