"""Effects of independent items integrated out, and drawn given the rest: compared with brute force."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import error_budget
import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest

from bayesjudge.inference import Hmc, fit
from bayesjudge.inference.engines.base import Job
from bayesjudge.inference.engines.hmc import run_integrated
from bayesjudge.inference.programs import accelerator
from bayesjudge.inference.programs.density import Density, density
from bayesjudge.inference.programs.integrated import Integrated, completed, integrated
from bayesjudge.model import Data, with_parameters
from bayesjudge.models.repeated_trials import RepeatedTrials
from bayesjudge.tables import Trials

MODEL = RepeatedTrials()
#: Trials of items 1 to 3: the first two are equal, and the last one has only ever been won by b.
WON = {"i1": ("ab", "aab", "x"), "i2": ("ab", "aab", "x"), "i3": ("bb", "b", "y")}


def log() -> Trials:
    """One judge, three items of two categories, both orders, several trials in each."""
    rows = [
        {"item": item, "judge": "j", "outcome": outcome, "order": order, "category": category}
        for item, (first, second, category) in WON.items()
        for order, outcomes in (("ab", first), ("ba", second))
        for outcome in outcomes
    ]
    return Trials.from_frame(pd.DataFrame(rows))


def parts(trials: Trials) -> tuple[Integrated, Density, Data, Any]:
    """The integral, the density of everything, its data, and the arrays of the integral."""
    accelerator.prepare()
    data = with_parameters(MODEL, MODEL.prepare(trials))
    distinct = MODEL.distinct(data)
    assert distinct is not None
    return integrated(MODEL, distinct), density(MODEL, data), data, accelerator.to_device(distinct.data.arrays)


def at(posterior: Integrated, seed: int) -> Any:
    return 0.7 * np.random.default_rng(seed).standard_normal(posterior.target.size)


def whole(posterior: Integrated, full: Density, point: Any, effects: Any) -> Any:
    """A point of everything from what is shared and the items' effects (3,)."""
    places, names = full.unravel(np.arange(full.size)), posterior.target.unravel(np.arange(posterior.target.size))
    shared = [(np.ravel(places[name]), point[np.ravel(where)]) for name, where in names.items()]
    own = (places[posterior.distinct.site], effects)
    where, values = (jnp.concatenate(part) for part in zip(*shared, own, strict=True))
    return values[jnp.argsort(where)]


@pytest.mark.parametrize("seed", range(3))
def test_the_integral_is_that_of_brute_force_with_equal_items_counted_once(seed: int) -> None:
    posterior, full, data, arrays = parts(log())
    assert sorted(np.asarray(posterior.distinct.data["copies"])) == [*[0] * 6, 1, 2]
    point, axis = at(posterior, seed), jnp.linspace(-12, 12, 121)
    # Given what they share the items are independent: the integral of each, the others being at 0.
    origin = -full.potential(whole(posterior, full, point, np.zeros(3)), data.arrays)

    def mass(item: int) -> Any:
        def value(z: Any) -> Any:
            return -full.potential(whole(posterior, full, point, z * np.eye(3)[item]), data.arrays)

        return jax.nn.logsumexp(jax.vmap(value)(axis)) + np.log(axis[1] - axis[0]) - origin

    expected = origin + sum(mass(item) for item in range(3))
    assert -posterior.target.potential(point, arrays) == pytest.approx(float(expected), abs=1e-5)


def test_effects_are_drawn_from_their_density_given_the_rest() -> None:
    posterior, full, data, arrays = parts(log())
    point, times = at(posterior, 5), 4000
    drawn = np.broadcast_to(point, (1, times, len(point)))
    known = np.full((1, times), -float(posterior.target.potential(point, arrays)))
    found, error = completed(posterior, full, (drawn, known), arrays, np.random.default_rng(1))
    assert error < 1e-4
    places, axis = full.unravel(np.arange(full.size)), np.linspace(-10, 10, 2001)
    for name, where in posterior.target.unravel(np.arange(posterior.target.size)).items():
        np.testing.assert_array_equal(found[0][:, np.ravel(places[name])], drawn[0][:, np.ravel(where)])
    effects = found[0][:, places["item_preference"]]
    for item in range(3):
        values = axis[:, None] * np.eye(3)[item]
        logs = jax.vmap(lambda z: -full.potential(whole(posterior, full, point, z), data.arrays))(values)
        weight = np.exp(np.asarray(logs) - np.max(logs))
        weight /= weight.sum()
        mean, spread = weight @ axis, np.sqrt(weight @ axis**2 - (weight @ axis) ** 2)
        z = (effects[:, item].mean() - mean) / (spread / np.sqrt(times))
        assert abs(z) < error_budget.standard_errors(6)
        below = (effects[:, item] < mean).mean(), weight[axis < mean].sum()
        assert abs(below[0] - below[1]) < error_budget.standard_errors(6) * 0.5 / np.sqrt(times)
        assert len(np.unique(effects[:, item])) == times  # from no lattice


@pytest.mark.parametrize("change", [{"judge": "k"}, {"prompt": "again"}], ids=["a second judge", "a second prompt"])
def test_items_that_others_share_are_not_integrated_out(change: dict[str, str]) -> None:
    frame = log().frame.assign(prompt="once")
    data = MODEL.prepare(Trials.from_frame(pd.concat([frame, frame.assign(**change)])))
    assert MODEL.distinct(data) is None
    assert MODEL.distinct(MODEL.prepare(log())) is not None


def test_with_ties_items_have_two_effects_and_are_sampled() -> None:
    tied = pd.concat([log().frame, log().frame.head(1).assign(outcome="tie", trial="9")])
    assert MODEL.distinct(MODEL.prepare(Trials.from_frame(tied))) is None


def test_a_lattice_that_is_too_large_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    data = with_parameters(MODEL, MODEL.prepare(log()))
    job, engine = Job(model=MODEL, data=data), Hmc(chains=2, draws=20, tune=20)
    assert run_integrated(job, engine) is not None
    monkeypatch.setattr("bayesjudge.inference.engines.hmc.MOST_CELLS", 10)
    assert run_integrated(job, engine) is None


def test_an_integral_that_is_known_badly_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    data = with_parameters(MODEL, MODEL.prepare(log()))
    monkeypatch.setattr("bayesjudge.inference.engines.hmc.MOST_ERROR", 0.0)
    assert run_integrated(Job(model=MODEL, data=data), Hmc(chains=2, draws=20, tune=20)) is None


@pytest.mark.slow
def test_a_thousand_items_pass_the_gate_and_recover_what_was_so() -> None:
    rng = np.random.default_rng(3)
    items, runs, rho = 1000, 5, 0.3
    p = 1 / (1 + np.exp(-rng.normal(1, 3, items)))
    pi = rng.beta(p * (1 - rho) / rho, (1 - p) * (1 - rho) / rho)
    wins = rng.random((runs, items)) < pi
    frame = pd.DataFrame(
        {"item": np.tile(np.arange(items), runs), "judge": "j", "outcome": np.where(wins, "a", "b").ravel()}
    )
    trials = replace(Trials.from_frame(frame.assign(item=frame["item"].astype(str))), single=True)
    found = fit(MODEL, trials, engine=Hmc(draws=500, tune=300, most_draws=1500), seed=1)
    assert found.gate.passed, found.gate
    assert found.manifest["integrated"] == "item_preference"
    rows = found.estimates().frame.set_index("estimand")
    truth = np.minimum(pi, 1 - pi).mean()
    assert rows.loc["flip_rate", "lower"] < truth < rows.loc["flip_rate", "upper"]
    # Sampled with their thousand effects they had R-hat 1.02 and 233 effective draws after 2,100 draws of each chain.
    assert rows.loc["flip_rate", "upper"] - rows.loc["flip_rate", "lower"] < 0.03
