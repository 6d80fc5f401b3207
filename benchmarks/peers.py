"""The same work by others, in the same run: ppi_py, NumPyro's own loop, PyMC.

Calls take turns, so that a busy machine slows all of them; ratios are medians over rounds. ESS is the smaller
of bulk and tail ESS (rank-normalised), the smallest over the models' accuracies.
"""

from __future__ import annotations

import os

os.environ["JAX_ENABLE_COMPILATION_CACHE"] = "false"

import argparse
import statistics
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from arviz_stats.base import array_stats
from harness.command import parser
from harness.machine import machine
from harness.results import holds, report, show
from harness.timing import ratio, seconds, take_turns

from bayesjudge.baselines import accuracy_baselines
from bayesjudge.counts import AnswerPatterns, ItemPatterns, VerdictCounts
from bayesjudge.datasets import simulate_counts
from bayesjudge.inference import Nuts
from bayesjudge.inference.engines.nuts import run_nuts
from bayesjudge.inference.programs import accelerator
from bayesjudge.inference.programs.density import density
from bayesjudge.models.judge_error import JudgeError

type Draws = np.ndarray
#: Seed to draws (chains, draws, quantities) and, where the sampler tells it, the seconds of sampling alone.
type Sampler = Callable[[int], tuple[Draws, float | None]]


def main() -> None:
    """Compare and print."""
    options = _options()
    facts = machine()
    intervals = interval_rows(options)
    samplers = [row for model, counts in problems(options) for row in sampler_rows(model, counts, options)]
    show(intervals, "the PPI++ interval of one model")
    show(samplers, "NUTS, 4 chains, warm")
    most = max(row["largest_difference"] for row in intervals)
    claims = [holds("largest difference from ppi_py's PPI++ limits", most, most=1e-10)]
    report("peers", options, facts, must_hold=claims, intervals=intervals, samplers=samplers)


def _options() -> argparse.Namespace:
    options = parser(__doc__)
    options.add_argument("--repeats", type=int, default=5, help="rounds of every comparison")
    options.add_argument("--draws", type=int, default=1000, help="draws, and warm-up draws, of each chain")
    options.add_argument("--without-pymc", action="store_true", help="leave PyMC out")
    found = options.parse_args()
    if found.quick:
        found.repeats, found.draws, found.without_pymc = 1, 300, True
    return found


def interval_rows(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Our PPI++ interval against ppi_py's on the same verdicts, three sizes."""
    import ppi_py

    rows = []
    for labelled, unlabelled in ((40, 360), (200, 800), (2_000, 100_000)):
        y, seen, unseen = _verdicts(labelled, unlabelled, seed=options.seed)
        counts = _counts(y, seen, unseen)
        found: dict[str, Any] = {}

        def ours(counts: VerdictCounts = counts, found: dict[str, Any] = found) -> None:
            found["ours"] = accuracy_baselines(counts, "judge", methods=["ppi++"], bootstrap=0).frame

        def theirs(arrays: Any = (y, seen, unseen), found: dict[str, Any] = found) -> None:
            found["theirs"] = ppi_py.ppi_mean_ci(*arrays, alpha=0.05)

        times = take_turns({"ours": ours, "ppi_py": theirs}, repeats=20 * options.repeats)
        limits = found["ours"].loc[0, ["lower", "upper"]].to_numpy(float)
        rows.append(
            {
                "items": f"{labelled:,} + {unlabelled:,}",
                "ours_ms": 1e3 * statistics.median(times["ours"]),
                "ppi_py_ms": 1e3 * statistics.median(times["ppi_py"]),
                "ours_over_ppi_py": ratio(times, "ours", "ppi_py"),
                "largest_difference": float(np.abs(limits - np.ravel(found["theirs"])).max()),
            }
        )
    return rows


def _verdicts(labelled: int, unlabelled: int, *, seed: int) -> tuple[Draws, Draws, Draws]:
    rng = np.random.default_rng(seed)
    truth = rng.random(labelled + unlabelled) < 0.7
    verdict = np.where(rng.random(len(truth)) < 0.85, truth, ~truth).astype(float)
    return truth[:labelled].astype(float), verdict[:labelled], verdict[labelled:]


def _counts(y: Draws, seen: Draws, unseen: Draws) -> VerdictCounts:
    """The same verdicts as counts of one model, which is what our baselines take."""
    rows = np.column_stack([np.append(y, np.full(len(unseen), -1)), np.append(seen, unseen)]).astype(np.int64)
    codes, n = np.unique(rows, axis=0, return_counts=True)
    zero, one = np.zeros(len(n), dtype=np.int64), np.ones((len(n), 1), dtype=np.int64)
    items = ItemPatterns(group=zero, cluster=zero, label=codes[:, :1], runs=one, positives=codes[:, 1:], n=n)
    answers = AnswerPatterns(
        model=zero, group=zero, cluster=zero, label=codes[:, 0], runs=one, positives=codes[:, 1:], n=n
    )
    return VerdictCounts(
        models=("m",), judges=("judge",), groups=("all",), clusters=0, answers=answers, items={"judge": items}
    )


def problems(options: argparse.Namespace) -> list[tuple[Any, VerdictCounts]]:
    """Nine models, and two; two alone when in a hurry."""
    nine: dict[str, Any] = {"models": tuple("abcdefghi"), "accuracy": np.linspace(0.55, 0.9, 9), "youden": 0.7}
    (panel,) = simulate_counts(datasets=1, seed=options.seed, labelled=40, unlabelled=360, **nine)
    (pair,) = simulate_counts(datasets=1, seed=options.seed)
    return [(JudgeError(), pair)] if options.quick else [(JudgeError(), panel), (JudgeError(), pair)]


def sampler_rows(model: Any, counts: VerdictCounts, options: argparse.Namespace) -> list[dict[str, Any]]:
    """ESS a second of our loop, NumPyro's and PyMC's, with the same draws, warm-up and target acceptance."""
    data = model.prepare(counts)
    samplers = {name: make(model, data, options.draws) for name, make in makers(options).items()}
    first = {name: seconds(partial(sample, options.seed)) for name, sample in samplers.items()}
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in samplers}
    for k in range(options.repeats):
        for name, sample in samplers.items():
            start = time.perf_counter()
            draws, alone = sample(options.seed + 1 + k)
            took = time.perf_counter() - start if alone is None else alone
            found[name].append((took, _least_ess(draws)))
    rates = {name: [ess / took for took, ess in pairs] for name, pairs in found.items()}
    return [
        {
            "problem": model.label,
            "sampler": name,
            "seconds": statistics.median(took for took, _ in pairs),
            "first_seconds": first[name],
            "ess": statistics.median(ess for _, ess in pairs),
            "ess_per_second": statistics.median(rates[name]),
            "ours_over_it": _median_ratio(rates["bayesjudge"], rates[name]),
        }
        for name, pairs in found.items()
    ]


def makers(options: argparse.Namespace) -> dict[str, Callable[..., Sampler]]:
    """The samplers. NumPyro and PyMC compile at every run, so each is also timed without that.

    One of each when in a hurry.
    """
    found: dict[str, Callable[..., Sampler]] = {
        "bayesjudge": _ours,
        "numpyro, compiled before": partial(_numpyro, jit=True),
    }
    if not options.quick:
        found["numpyro"] = _numpyro
        found["numpyro, compiled before, dense metric"] = partial(_numpyro, jit=True, dense=True)
    if not options.without_pymc:
        found |= {"pymc": _pymc, "pymc, sampling alone": partial(_pymc, alone=True)}
    return found


def _median_ratio(ours: list[float], theirs: list[float]) -> float:
    return statistics.median(a / b for a, b in zip(ours, theirs, strict=True))


def _least_ess(draws: Draws) -> float:
    """Smallest of bulk and tail ESS over quantities, draws (chains, draws, quantities)."""
    series, axes = np.moveaxis(draws, -1, 0), {"chain_axis": 1, "draw_axis": 2}
    bulk = array_stats.ess(series, method="bulk", **axes)
    return float(min(np.min(bulk), np.min(array_stats.ess(series, method="tail", prob=(0.05, 0.95), **axes))))


def _site(model: Any) -> str:
    return "theta" if model.name == "judge_error" else "stick"


def _ours(model: Any, data: Any, draws: int) -> Sampler:
    import jax

    target, options = density(model, data), Nuts(draws=draws, tune=draws, target_accept=0.9)
    constrain = jax.jit(jax.vmap(jax.vmap(target.constrain, in_axes=(0, None)), in_axes=(0, None)))

    def sample(seed: int) -> tuple[Draws, None]:
        arrays = accelerator.to_device(data.arrays)
        drawn = run_nuts(target, arrays, jax.random.key(seed), options)
        return np.asarray(constrain(drawn.flat, arrays)[_site(model)]), None

    return sample


def _numpyro(model: Any, data: Any, draws: int, *, jit: bool = False, dense: bool = False) -> Sampler:
    import jax
    from numpyro.infer import MCMC, NUTS

    kernel = NUTS(partial(model.numpyro, data), target_accept_prob=0.9, dense_mass=dense)
    run = MCMC(kernel, num_warmup=draws, num_samples=draws, num_chains=4, chain_method="vectorized", progress_bar=False)

    def whole(key: Any) -> Any:
        run.run(key)
        return run.get_samples(group_by_chain=True)[_site(model)]

    compiled = jax.jit(whole) if jit else whole
    return lambda seed: (np.asarray(compiled(jax.random.key(seed))), None)


def _pymc(model: Any, data: Any, draws: int, *, alone: bool = False) -> Sampler:
    import pymc as pm

    twin = model.pymc(data)

    def sample(seed: int) -> tuple[Draws, float | None]:
        with twin:
            tree = pm.sample(
                draws=draws,
                tune=draws,
                chains=4,
                cores=2,
                nuts={"target_accept": 0.9},
                random_seed=seed,
                progressbar=False,
                quiet=True,
                compute_convergence_checks=False,
            )
        posterior = tree["posterior"].dataset
        took = float(posterior.attrs["sampling_time"]) if alone else None
        return np.asarray(posterior[_site(model)].transpose("chain", "draw", ...)), took

    return sample


if __name__ == "__main__":
    main()
