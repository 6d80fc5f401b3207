"""Flip rates of infinitely many trials by maximum likelihood: closed forms, coverage, worlds that are not its own."""

from __future__ import annotations

from collections.abc import Callable

import error_budget
import numpy as np
import pytest
from numpy.typing import NDArray

from bayesjudge.baselines.reliability.dirichlet import item_dirichlet

type Array = NDArray[np.float64]


def trials(p: Array, each: int, rng: np.random.Generator) -> NDArray[np.int64]:
    return np.asarray(rng.multinomial(each, p), dtype=np.int64)


def two(a: Array) -> Array:
    return np.column_stack([a, 1 - a, np.zeros(len(a))])


def test_uniform_probabilities_flip_a_quarter_of_the_time() -> None:
    """E min(p, 1 − p) of a uniform p is ¼, whatever the number of trials; 1 − max/N is far below for few."""
    rng = np.random.default_rng(0)
    n = trials(two(rng.random(20_000)), 3, rng)
    found = item_dirichlet(n, prob=0.95)
    assert found is not None
    assert found.flip_rate()[0] == pytest.approx(0.25, abs=0.005)
    assert (1 - n.max(1) / 3).mean() < 0.18
    # One trial is wrong as often as it flips; three of a uniform p, one in six.
    assert found.error(1)[0] == pytest.approx(found.flip_rate()[0])
    assert found.error(3)[0] == pytest.approx(0.1875, abs=0.005)


@pytest.mark.parametrize(
    ("n", "rate"), [([[6, 0, 0], [0, 6, 0]] * 40, 0.0), ([[3, 3, 0]] * 80, 0.5), ([[0, 0, 6], [6, 0, 0]] * 40, 0.0)]
)
def test_items_that_agree_or_never_do_reach_the_ends(n: list[list[int]], rate: float) -> None:
    found = item_dirichlet(np.array(n), prob=0.95)
    assert found is not None
    point, lower, upper = found.flip_rate()
    assert point == pytest.approx(rate, abs=1e-9)
    assert lower <= rate <= upper
    assert upper - lower < 0.1


def test_single_trials_say_nothing() -> None:
    assert item_dirichlet(np.array([[1, 0, 0], [0, 1, 0]]), prob=0.95) is None


def test_names_order_of_rows_and_weights_of_one_half_twice_change_nothing() -> None:
    rng = np.random.default_rng(1)
    n = trials(rng.dirichlet([0.5, 0.5, 0.2], size=60), 5, rng)
    first = item_dirichlet(n, prob=0.9)
    swapped = item_dirichlet(rng.permutation(n[:, [1, 0, 2]]), prob=0.9)
    halves = item_dirichlet(np.concatenate([n, n]), weight=np.full(120, 0.5), prob=0.9)
    assert first is not None
    assert swapped is not None
    assert halves is not None
    np.testing.assert_allclose(swapped.flip_rate(), first.flip_rate(), atol=1e-6)
    np.testing.assert_allclose(halves.flip_rate(), first.flip_rate(), atol=1e-6)


#: How items' probabilities are drawn: the model's own world, one with ties, and two that are not its own.
SCENARIOS: dict[str, Callable[[np.random.Generator, int], Array]] = {
    "beta": lambda rng, items: two(rng.beta(0.3, 0.3, items)),
    "ties": lambda rng, items: rng.dirichlet([0.4, 0.4, 0.15], items),
    "logistic normal": lambda rng, items: two(1 / (1 + np.exp(-3 * rng.normal(size=items)))),
    "off centre": lambda rng, items: two(1 / (1 + np.exp(-0.7 - 2 * rng.normal(size=items)))),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SCENARIOS)
def test_intervals_cover_the_rate_of_trials_without_end(name: str) -> None:
    draw, rng = SCENARIOS[name], np.random.default_rng(7)
    truth = float((1 - draw(np.random.default_rng(8), 200_000).max(1)).mean())
    hits, observed = [], []
    for _ in range(100):
        n = trials(draw(rng, 60), 5, rng)
        found = item_dirichlet(n, prob=0.95)
        assert found is not None
        _, lower, upper = found.flip_rate()
        hits.append(lower <= truth <= upper)
        observed.append(float((1 - n.max(1) / 5).mean()))
    low, _ = error_budget.binomial_bounds(100, 0.95, len(SCENARIOS))
    assert np.mean(hits) >= low
    # The observed rate of five trials is too low in every one of them.
    assert np.mean(observed) < truth


def test_certain_and_even_items_together_are_where_it_fails() -> None:
    """A world that one beta does not fit: seven items of ten are certain, the others near even (the card says so)."""
    rng = np.random.default_rng(9)

    def draw(items: int) -> Array:
        certain, even = rng.random(items) < 0.7, rng.uniform(0.3, 0.7, items)
        return two(np.where(certain, (rng.random(items) < 0.5).astype(float), even))

    truth = float((1 - draw(200_000).max(1)).mean())
    rates, observed = [], []
    for _ in range(60):
        n = trials(draw(150), 10, rng)
        found = item_dirichlet(n, prob=0.95)
        assert found is not None
        rates.append(found.flip_rate()[0])
        observed.append(float((1 - n.max(1) / 10).mean()))
    assert np.mean(rates) < truth - 0.02
    assert abs(np.mean(observed) - truth) < abs(np.mean(rates) - truth)
