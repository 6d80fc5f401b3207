"""The family-wise error budget of all statistical tests: every level in the suite is taken from here.

A test that compares a random number with a bound is wrong now and then although the code is right. The whole
suite may fail so with probability `SUITE`, shared equally by at most `TESTS` tests (Bonferroni, so valid
however they depend on each other); a test that compares many numbers shares its part among them. Seeds are
fixed, so a suite that has passed passes again; the budget is what makes a pass with new seeds, or a new
version of a library that draws other numbers, a near certainty. `benchmarks/seeds.py` tries it: with the
variable `OFFSET` in the environment every seed of the run is another one.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from math import isfinite
from statistics import NormalDist
from typing import Any

__all__ = [
    "OFFSET",
    "SUITE",
    "TEST",
    "TESTS",
    "agrees",
    "binomial_bounds",
    "level",
    "move_seeds",
    "shares_below",
    "standard_errors",
    "statistical_tests",
]

#: Probability that any statistical test fails although nothing is wrong.
SUITE = 0.02
#: Statistical tests that share it.
TESTS = 200
#: Probability of a false alarm of one test.
TEST = SUITE / TESTS
#: Environment variable that moves all seeds.
OFFSET = "BAYESJUDGE_SEED_OFFSET"


def level(comparisons: int = 1) -> float:
    """Level of each of so many comparisons within one test.

    Examples
    --------
    >>> level(10)
    1e-05
    """
    assert comparisons >= 1
    return TEST / comparisons


def standard_errors(comparisons: int = 1) -> float:
    """How many standard errors an estimate may be off, both ways, in each of so many comparisons.

    Examples
    --------
    >>> round(standard_errors(), 2), round(standard_errors(20), 2)
    (3.89, 4.56)
    """
    return NormalDist().inv_cdf(1 - level(comparisons) / 2)


def binomial_bounds(n: int, p: float, comparisons: int = 1) -> tuple[float, float]:
    """Shares of n trials of probability p between which the observed share must lie (both included).

    Exact: the probability beyond either bound is at most half of the level.

    Examples
    --------
    >>> binomial_bounds(100, 0.95)
    (0.85, 1.0)
    """
    from scipy.stats import binom

    tail = level(comparisons) / 2
    low, high = float(binom.ppf(tail, n, p)), float(binom.isf(tail, n, p))
    assert isfinite(low)
    assert isfinite(high)
    return low / n, high / n


def agrees(estimate: Any, truth: Any, error: Any) -> None:
    """Assert that Monte Carlo estimates are within their standard errors of the truth, all together."""
    import numpy as np

    error = np.asarray(error)
    assert np.all(np.isfinite(error))
    assert np.all(error > 0)
    z = np.abs(np.asarray(estimate) - np.asarray(truth)) / error
    # Standard errors that are themselves estimated (MCSE from an ESS) are a few per cent off.
    most = 1.05 * standard_errors(z.size)
    assert np.all(z < most), f"off by {z.max():.1f} standard errors ({most:.1f} allowed): {estimate}, {truth}"


def shares_below(draws: Any, law: Any, probs: Sequence[float]) -> tuple[Any, Any, Any]:
    """Shares of draws (units, chains, draws) below exact quantiles, what they should be, and standard errors.

    The standard error of a share needs the ESS alone; that of a quantile the density there as well, and an
    estimate of that from the draws was once less than half of the right one.
    """
    import numpy as np
    from arviz_stats.base import array_stats

    found = []
    for prob in probs:
        below = (draws <= law.ppf(prob)[:, None, None]).astype(float)
        ess = np.asarray(array_stats.ess(below, method="mean", chain_axis=1, draw_axis=2))
        found.append((below.mean((1, 2)), np.full(len(ess), prob), np.sqrt(prob * (1 - prob) / ess)))
    shares, wanted, error = np.concatenate(found, axis=1)
    return shares, wanted, error


def move_seeds(offset: int) -> None:
    """Let every generator that is made from a number be made from another one, for the rest of the process.

    All random results of this package, of its models and of its tests come from these two functions.
    """
    import jax
    import numpy as np

    generator, key = np.random.default_rng, jax.random.key

    def moved_generator(seed: Any = None) -> np.random.Generator:
        if isinstance(seed, int | np.integer):
            return generator([int(seed), offset])
        return generator([*seed, offset] if isinstance(seed, list | tuple) else seed)

    def moved_key(seed: Any, **options: Any) -> Any:
        return key(seed + offset, **options)

    np.random.default_rng, jax.random.key = moved_generator, moved_key  # type: ignore[assignment]


def statistical_tests(source: str) -> list[str]:
    """Names of the tests of a module that take a bound from here, themselves or by a name of the module.

    Examples
    --------
    >>> source = '''
    ... TAIL = error_budget.level() / 2
    ... def test_share(): assert share() > TAIL
    ... def test_mean(agree): agree(1, 1, 0.1)
    ... def test_name(): assert name() == "x"
    ... '''
    >>> statistical_tests(source)
    ['test_share', 'test_mean']
    """
    tree = ast.parse(source)
    bound = {"error_budget", "agree"}
    while True:
        found = {name for node in tree.body if _uses(node, bound) for name in _defined(node)}
        if found <= bound:
            break
        bound |= found
    tests = [name for node in tree.body for name in _defined(node) if name.startswith("test_")]
    return [name for name in tests if name in bound]


def _uses(node: ast.stmt, names: set[str]) -> bool:
    used = {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
    asked = {part.arg for part in ast.walk(node) if isinstance(part, ast.arg)}
    return not names.isdisjoint(used | asked)


def _defined(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.FunctionDef):
        return [node.name]
    targets = node.targets if isinstance(node, ast.Assign) else []
    return [target.id for target in targets if isinstance(target, ast.Name)]
