"""The same programs on an accelerator: densities and draws against the CPU, ESS and posteriors a second.

Needs JAX, NumPyro, pandas, SciPy, xarray and rich only. ``--reduced`` (and ``--quick``) is the size for a
machine without an accelerator: the same steps, with the CPU in the role of the device. A full run takes under
ten minutes on one data-centre GPU.

Draws cannot be equal bit by bit: two devices round differently, and a Markov chain amplifies that. So log
densities and gradients are compared at fixed points, and posterior means in Monte Carlo standard errors.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any

import jax
import numpy as np
from harness.command import parser
from harness.machine import machine
from harness.results import holds, report, show
from numpyro.diagnostics import effective_sample_size, split_gelman_rubin

from bayesjudge.datasets import VerdictDesign, simulate_counts
from bayesjudge.inference import Hmc, Nuts, fit_many
from bayesjudge.inference.engines.nuts import run_nuts
from bayesjudge.inference.programs import accelerator
from bayesjudge.inference.programs.density import Density, density
from bayesjudge.inference.programs.stacks import stack
from bayesjudge.model import Data
from bayesjudge.models.judge_error import JudgeError

#: Relative difference allowed between devices in float64: a few hundred additions in another order lose
#: four of sixteen digits at most.
MOST_DIFFERENCE = 1e-10
#: Standard errors allowed between the means of two independent samplers: 5 is a chance of 6e-7 for each.
MOST_Z = 5.0
#: Posteriors whose accuracies are computed together.
AT_ONCE = 1000


def main() -> None:
    """Check and time everything on the default device."""
    options = _options()
    accelerator.prepare()
    facts, start = machine(), time.perf_counter()
    # Compiling is most of the time, so a reduced run takes the model that has the fewest parameters.
    model = JudgeError(pooling="shared" if options.reduced else "partial")
    counts = simulate_counts(datasets=options.posteriors, seed=options.seed)
    densities = [compare_density(model, counts[0], options)]
    show(densities, "log density and gradient, device against CPU")
    chains = [compare_chains(model, counts[0], options)]
    show(chains, f"NUTS on {facts['device']}")
    many = [compare_many(model, counts, options)]
    show(many, f"fit_many on {facts['device']}")
    seconds = time.perf_counter() - start
    claims = [*must_hold(densities, chains, many), holds("seconds in all", seconds, most=600)]
    report("gpu", options, facts, must_hold=claims, densities=densities, nuts=chains, fit_many=many, seconds=seconds)


def _options() -> argparse.Namespace:
    options = parser(__doc__)
    options.add_argument("--reduced", action="store_true", help="the size for a CPU, under a minute")
    options.add_argument("--posteriors", type=int, default=10_000, help="posteriors in one program")
    options.add_argument("--chains", type=int, default=64, help="chains of the single NUTS fits")
    options.add_argument("--draws", type=int, default=500, help="draws, and warm-up draws, of every chain")
    options.add_argument("--checked", type=int, default=50, help="posteriors sampled again on the CPU")
    found = options.parse_args()
    found.reduced = found.reduced or found.quick
    if found.reduced:
        # As many checked as sampled: another number would be another program to compile.
        found.posteriors, found.chains, found.draws, found.checked = 20, 4, 100, 20
    return found


def on_cpu() -> AbstractContextManager[Any]:
    """Context in which JAX computes on the CPU; where that is the device, nothing changes."""
    cpu = jax.devices("cpu")[0]
    return nullcontext() if jax.devices()[0] == cpu else jax.default_device(cpu)


def compare_density(model: Any, counts: Any, options: argparse.Namespace) -> dict[str, Any]:
    """Largest relative difference of potentials and gradients at 256 random points."""
    data = model.prepare(counts)
    target = density(model, data)
    points = np.random.default_rng(options.seed).normal(size=(256, target.size))

    def values() -> tuple[Any, Any]:
        program = jax.jit(jax.vmap(jax.value_and_grad(target.potential), in_axes=(0, None)))
        return jax.tree.map(np.asarray, program(points, accelerator.to_device(data.arrays)))

    there = values()
    with on_cpu():
        here = values()
    value, slope = (_relative(a, b) for a, b in zip(there, here, strict=True))
    return {"model": model.label, "parameters": target.size, "points": len(points), "density": value, "gradient": slope}


def _relative(there: Any, here: Any) -> float:
    """Largest difference, in units of the larger of 1 and the number itself."""
    return float((np.abs(there - here) / np.maximum(1.0, np.abs(here))).max())


def compare_chains(model: Any, counts: Any, options: argparse.Namespace) -> dict[str, Any]:
    """One NUTS fit with many chains, timed warm, and its means against four chains on the CPU."""
    data = model.prepare(counts)
    target = density(model, data)
    settings = Nuts(chains=options.chains, draws=options.draws, tune=options.draws, target_accept=0.9)
    first, _ = _nuts(target, data, settings, seed=options.seed)
    took, flat = _nuts(target, data, settings, seed=options.seed + 1)
    with on_cpu():
        four = replace(settings, chains=4)
        cpu_took, cpu_flat = _nuts(target, data, four, seed=options.seed + 2)
    (there,), (here,) = _accuracies(model, [data], [flat]), _accuracies(model, [data], [cpu_flat])
    ess = effective_sample_size(there).min()
    return {
        "model": model.label,
        "chains": options.chains,
        "first_seconds": first,
        "seconds": took,
        "ess": float(ess),
        "ess_per_second": float(ess / took),
        "rhat": float(split_gelman_rubin(there).max()),
        "cpu_seconds_with_compilation": cpu_took,
        "largest_z": float(np.abs(_z(there, here)).max()),
    }


def _nuts(target: Density, data: Data, settings: Nuts, *, seed: int) -> tuple[float, Any]:
    start = time.perf_counter()
    drawn = run_nuts(target, accelerator.to_device(data.arrays), jax.random.key(seed), settings)
    return time.perf_counter() - start, drawn.flat


def compare_many(model: Any, counts: list[Any], options: argparse.Namespace) -> dict[str, Any]:
    """All posteriors in one program, timed warm; the first few again on the CPU; coverage of the truth."""
    data = [model.prepare(one) for one in counts]
    engine = Hmc(draws=options.draws, tune=options.draws)
    seconds = []
    for seed in (options.seed, options.seed + 1):
        start = time.perf_counter()
        fits = fit_many(model, data, seed=seed, progress=True, engine=engine)
        seconds.append(time.perf_counter() - start)
    there = _accuracies(model, data, fits.flat)
    checked = data[: options.checked]
    with on_cpu():
        again = fit_many(model, checked, seed=options.seed + 2, engine=engine)
    here = _accuracies(model, checked, again.flat)
    z = np.array([_z(a, b) for a, b in zip(there[: len(here)], here, strict=True)])
    ess = np.array([effective_sample_size(one).min() for one in there])
    rhat = np.array([split_gelman_rubin(one).max() for one in there])
    diverged = np.mean([bool(stats["diverging"].any()) for stats in fits.stats])
    return {
        "model": model.label,
        "posteriors": len(data),
        "first_seconds": seconds[0],
        "seconds": seconds[1],
        "posteriors_per_second": len(data) / seconds[1],
        "ess_per_second": float(ess.sum() / seconds[1]),
        "median_ess": float(np.median(ess)),
        "rhat_above_1.01": float(np.mean(rhat > 1.01)),
        "with_divergences": float(diverged),
        "coverage": _coverage(there),
        "checked": len(checked),
        "largest_z": float(np.abs(z).max()),
    }


def _accuracies(model: Any, data: list[Data], draws: Sequence[Any]) -> list[Any]:
    """Accuracies (chains, draws, models) of every data set's flat draws, worked out on the host.

    They are the sampler's own: what `shared_items.adjust` makes of them is the same on every device.
    """
    stacked, found = stack(data), []
    constrain = density(model, stacked.first).constrain
    over_draws = jax.vmap(jax.vmap(constrain, in_axes=(0, None)), in_axes=(0, None))
    program = jax.jit(jax.vmap(over_draws, in_axes=(0, stacked.part(np.arange(len(data)))[0].axes)))
    for first in range(0, len(data), AT_ONCE):
        flat = np.stack(draws[first : first + AT_ONCE])
        _, arrays = stacked.part(np.arange(first, first + len(flat)))
        with on_cpu():
            found += list(np.asarray(program(flat, accelerator.to_device(arrays))["theta"]))
    return found


def _z(there: Any, here: Any) -> Any:
    """Differences of two samplers' means in Monte Carlo standard errors, (models,)."""
    error = sum(draws.var(axis=(0, 1)) / effective_sample_size(draws) for draws in (there, here))
    return (there.mean(axis=(0, 1)) - here.mean(axis=(0, 1))) / np.sqrt(error)


def _coverage(posteriors: list[Any]) -> float:
    """Share of 95 % intervals that hold the true accuracy."""
    low, high = np.quantile(np.array(posteriors), [0.025, 0.975], axis=(1, 2))
    truth = VerdictDesign().theta
    return float(((low <= truth) & (truth <= high)).mean())


def must_hold(
    densities: list[dict[str, Any]], chains: list[dict[str, Any]], many: list[dict[str, Any]]
) -> list[Mapping[str, Any]]:
    """Issue 2, point 11: densities and draws agree with the CPU's."""
    claims: list[Mapping[str, Any]] = []
    for row in densities:
        most = max(row["density"], row["gradient"])
        claims.append(holds(f"difference of {row['model']}'s density", most, most=MOST_DIFFERENCE))
    for name, rows in (("NUTS", chains), ("fit_many", many)):
        for row in rows:
            claim = f"standard errors between {name} means, {row['model']}"
            claims.append(holds(claim, row["largest_z"], most=MOST_Z))
    return claims


if __name__ == "__main__":
    main()
