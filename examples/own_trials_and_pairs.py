"""Models of your own for reliability and audit, next to ours: ``python examples/own_trials_and_pairs.py``.

``flip_rate`` along ``judge`` is what the reliability question reports, ``trust`` along ``other`` what the audit says of
every unverified verdict. ``bayesjudge.data(log)`` shows the arrays.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpyro
from numpyro import distributions as dist

from bayesjudge import audit, reliability
from bayesjudge.datasets import simulate_pairs, simulate_trials


def steady(data: Any) -> None:
    """What a judge says of an item are draws from shares of that item's own; the judge is more or less sure."""
    with numpyro.plate("judge", data.size("judge")):
        spread = numpyro.sample("spread", dist.Gamma(2.0, 2.0))
        with numpyro.plate("item", data.size("item")):
            p = numpyro.sample("p", dist.Dirichlet(spread[:, None] * jnp.ones(3)))
            outcomes = dist.Multinomial(data["n"], probs=p, total_count_max=data.facts["most_trials"])
            numpyro.sample("outcomes", outcomes, obs=data["outcomes"])
    numpyro.deterministic("flip_rate", (1 - p.max(-1)).mean(0))


def logistic(data: Any) -> None:
    """Whether people agree, regressed on what is known of a pair; all effects of one prior."""
    base = numpyro.sample("base", dist.Normal(0, 1.5))
    with numpyro.plate("feature", data.size("feature")):
        effect = numpyro.sample("effect", dist.Normal(0, 0.5))
    with numpyro.plate("row", data.size("row")):
        logits = base * data["vote"] + data["features"] @ effect
        numpyro.sample("agree", dist.Bernoulli(logits=logits), obs=data["agree"])
    numpyro.deterministic("trust", jax.nn.sigmoid(base * data["vote_other"] + data["features_other"] @ effect))


def main() -> None:
    """Answer both questions with them."""
    trials = simulate_trials(seed=1, items=20, trials=8).trials
    answer = reliability(trials, models=["default", steady], draws=500, tune=500)
    print(answer.estimates.where(estimand="flip_rate").frame[["unit", "method", "point", "lower", "upper"]].round(3))
    pairs = simulate_pairs(seed=1, n=150, verified=100, dimensions=2).pairs
    answer = audit(pairs, models=["default", logistic], draws=500, tune=500)
    print(answer.checks["trust"][["item", "trust", "trust[bayes:logistic]"]].head().round(3))


if __name__ == "__main__":
    main()
