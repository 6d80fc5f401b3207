"""Truths of simulated trials against what so many trials do, and the law of total variance."""

from __future__ import annotations

import error_budget
import numpy as np
import pytest
from scipy.stats import chi2_contingency

from bayesjudge.counts.trials import count_trials
from bayesjudge.datasets import simulate_trials
from bayesjudge.datasets.trials import layer_truth, trial_truth


@pytest.fixture
def pi() -> np.ndarray:
    """Two judges, three conditions, six items, two orders."""
    return np.random.default_rng(4).dirichlet([1.0, 0.7, 0.4], size=(2, 3, 6, 2))


def test_shares_follow_from_the_law_of_total_variance(pi: np.ndarray) -> None:
    shares = layer_truth(pi)
    assert list(shares) == [f"variance_share[{name}]" for name in ("stochastic", "position", "protocol", "judge")]
    assert sum(shares.values()) == pytest.approx(1.0)
    worth = pi @ [1.0, 0.0, 0.5]
    of_judges = worth.mean(axis=(1, 3)).var(axis=0).sum()
    second = (pi @ [1.0, 0.0, 0.25]).mean(axis=(0, 1, 3))
    everything = (second - worth.mean(axis=(0, 1, 3)) ** 2).sum()
    assert shares["variance_share[judge]"] == pytest.approx(of_judges / everything)


def test_layers_that_do_not_vary_have_no_share(pi: np.ndarray) -> None:
    assert list(layer_truth(pi[:1, :1, :, :1])) == ["variance_share[stochastic]"]


def test_so_many_trials_do_what_is_true_of_them(pi: np.ndarray) -> None:
    own, rng, times = pi[0, 0], np.random.default_rng(5), 20_000
    truth, q = trial_truth(own), own.mean(axis=1)
    top, found = q.argmax(axis=1), {}
    for trials in (3, 10):
        n = rng.multinomial(trials, q, size=(times, len(q)))
        # Shared first places are broken at random.
        won = (n + rng.uniform(0, 0.5, n.shape)).argmax(axis=2) == top
        found[f"match[K={trials}]"] = won.mean(axis=1)
        found[f"noise_budget[K={trials}]"] = (~won).sum(axis=1)
    pair = [(rng.random((times, len(q), 1)) > q.cumsum(axis=1)).sum(axis=2) for _ in range(2)]
    found |= {
        "disagreement": (pair[0] != pair[1]).mean(axis=1),
        "tie_rate": (pair[0] == 2).mean(axis=1),
        "flip_rate": (pair[0] != top).mean(axis=1),
    }
    for name, drawn in found.items():
        error = drawn.std() / np.sqrt(times)
        # The table of majorities is linear between its nodes: off by less than 1e-4 an item.
        assert abs(drawn.mean() - truth[name]) < error_budget.standard_errors(7) * error + 6e-4, name


def test_the_smallest_number_is_the_first_that_reaches_its_target(pi: np.ndarray) -> None:
    truth = trial_truth(np.array([[[0.85, 0.15, 0.0]]]))
    # Binomial sums: 3 trials are right with probability .939, 5 with .973.
    assert (truth["minimum_trials[90%]"], truth["minimum_trials[95%]"]) == (3, 5)
    assert trial_truth(np.array([[[0.5, 0.5, 0.0]]]))["minimum_trials[90%]"] == np.inf


def test_items_that_tie_for_everybody() -> None:
    """With a spread of ties items differ in how often they tie more than chance makes them."""

    def ties(**options: float) -> np.ndarray:
        log = simulate_trials(
            seed=1,
            items=300,
            trials=50,
            judges=("heron",),
            correlation=0.0,
            tie=0.0,
            item_spread=0.0,
            position=0.0,
            **options,
        )
        return count_trials(log.trials).n[:, 2]

    def alike(counts: np.ndarray) -> float:
        return float(chi2_contingency(np.column_stack([counts, 50 - counts])).pvalue)

    assert alike(ties()) > error_budget.level(2)
    assert alike(ties(tie_spread=1.5)) < error_budget.level(2)
    np.testing.assert_array_equal(ties(tie_spread=0.0), ties())


def test_trials_that_all_say_the_same() -> None:
    """At a correlation of nearly 1 a cell's verdicts are one outcome, as likely as in its first trial."""
    log = simulate_trials(
        seed=3, items=2000, trials=4, judges=("heron",), correlation=0.9999, item_spread=0.0, position=0.0
    )
    n = count_trials(log.trials).n
    # In the urn of a Dirichlet-multinomial the k-th trial after the first is fresh with chance α/(α + k).
    alpha = (1 - 0.9999) / 0.9999
    differ = sum(alpha / (alpha + k) for k in (1, 2, 3))
    assert (n.max(axis=1) == 4).mean() >= error_budget.binomial_bounds(len(n), 1 - differ, comparisons=2)[0]
    # One preference for all items: e^0 : e^0 : e^-2, and 2 orders of each.
    tied, share = (n[:, 2] == 4).mean(), np.exp(-2) / (2 + np.exp(-2))
    low, high = error_budget.binomial_bounds(len(n), share, comparisons=2)
    assert low <= tied <= high
