"""`repeated_trials`: exact limits, symmetries, what is not identified, recovery, calibration, coverage."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import error_budget
import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytensor
import pytensor.tensor as pt
import pytest
from pytensor.compile.mode import Mode
from scipy import stats

from bayesjudge.datasets.trials import SimulatedTrials, simulate_trials
from bayesjudge.errors import UsageError
from bayesjudge.inference import Hmc, fit, fit_many
from bayesjudge.inference.programs import accelerator
from bayesjudge.inference.programs.density import density
from bayesjudge.inference.tree import posterior_dataset
from bayesjudge.maths.majority import TRIALS, Contest, majority_probability, most_likely, swap_risk
from bayesjudge.model import Data
from bayesjudge.models.common.units import Guess, estimated_location
from bayesjudge.models.repeated_trials import RepeatedTrials
from bayesjudge.models.repeated_trials import likelihood as repeated_trials_density
from bayesjudge.models.repeated_trials.likelihood import Bent
from bayesjudge.models.repeated_trials.outcomes import (
    TrialOutcomes,
    jax_log_outcomes,
    pytensor_log_outcomes,
    pytensor_log_prob,
)
from bayesjudge.models.repeated_trials.results import LAYERS, layer_shares
from bayesjudge.models.repeated_trials.verdict_draws import item_weights, verdict_draws
from bayesjudge.simulation import Calibration, sbc
from bayesjudge.tables import Trials

MODEL = RepeatedTrials()
ONE = {"judges": ("heron",)}
PROMPTS, HEATS = ("base", "short"), ((0.0, 1.0), (1.0, 0.5))
DESIGNS: dict[str, dict[str, Any]] = {
    "one judge": ONE,
    "two judges": {},
    "order missing": {"orders": "missing"},
    "one order": {"orders": "ab", **ONE},
    "prompts and temperatures": {"prompts": PROMPTS, "temperatures": HEATS, "trials": 2},
    "single trials": {"trials": 1},
    "orders of one judge": {"prompts": PROMPTS, "trials": 2, "unordered": "heron"},
    "a prompt of its own": {"prompts": PROMPTS, "trials": 2, "nested": True},
    "unbalanced": {"prompts": PROMPTS, "trials": 2, "holes": True},
    "many trials": {"trials": 30, **ONE},
    "one answer each": {"orders": "missing", "single": True},
    "nothing tied": {"tie": -50.0, "prompts": PROMPTS, "trials": 2},
    "one order, nothing tied": {"tie": -50.0, "orders": "ab", **ONE},
    "order missing, nothing tied": {"tie": -50.0, "orders": "missing", "trials": 4},
}


@pytest.fixture(autouse=True)
def _float64() -> None:
    accelerator.prepare()


def _log(
    seed: int = 1,
    *,
    holes: bool = False,
    unordered: str = "",
    nested: bool = False,
    single: bool = False,
    **options: Any,
) -> SimulatedTrials:
    log = simulate_trials(seed=seed, **{"items": 6, "trials": 3, **options})
    if single:
        return replace(log, trials=replace(log.trials, single=True))
    if unordered:
        frame = log.trials.frame
        return replace(
            log,
            trials=Trials.from_frame(
                frame.assign(order=frame["order"].mask(frame["judge"] == unordered), trial=range(len(frame)))
            ),
        )
    if nested:
        frame = log.trials.frame
        prompt = np.where(frame["item"].str[-1].astype(int) % 2, *options["prompts"])
        return replace(log, trials=Trials.from_frame(frame[frame["prompt"] == prompt]))
    if not holes:
        return log
    # A third of the trials is missing, and one judge has not judged two items.
    frame = log.trials.frame
    kept = np.random.default_rng(0).random(len(frame)) > 1 / 3
    unjudged = (frame["judge"] == "heron") & frame["item"].isin(frame["item"].unique()[:2])
    return replace(log, trials=Trials.from_frame(frame[kept & ~unjudged]))


def _posterior(data: Data) -> Any:
    target = density(MODEL, data)
    return posterior_dataset(target, data, 0.5 * np.random.default_rng(0).normal(size=(2, 60, target.size)))


@pytest.mark.slow
@pytest.mark.parametrize("name", DESIGNS)
def test_the_same_density_in_both_languages(name: str, same_density: Callable[..., None]) -> None:
    same_density(MODEL, MODEL.prepare(_log(**DESIGNS[name]).trials), points=20)


def test_the_density_has_a_gradient_where_nothing_tied() -> None:
    """Without orders and ties every gradient was NaN, in PyMC with orders too: of a sum of two probabilities of 0."""
    eta, order, none = np.array([0.3, -2.0, 1.0]), np.array([1, -1, 0]), np.full(3, -np.inf)
    n = jnp.array([[2, 3, 0], [0, 4, 0], [5, 1, 0]])

    def log_prob(margin: Any) -> Any:
        log_p = jax_log_outcomes(margin, 0.5, none, order, any_unknown=True)
        return TrialOutcomes(log_p, jnp.full(3, 0.2), n.sum(1), most=6).log_prob(n)

    slopes = (log_prob(eta + 1e-6) - log_prob(eta - 1e-6)) / 2e-6
    np.testing.assert_allclose(jax.grad(lambda x: log_prob(x).sum())(eta), slopes, rtol=1e-6)
    with pytensor.config.change_flags(traceback__limit=0):
        margin = pt.vector("margin")
        log_p = pytensor_log_outcomes(margin, np.full(3, 0.5), none, order)
        theirs = pt.grad(pytensor_log_prob(np.asarray(n), log_p, pt.as_tensor(np.full(3, 0.2))).sum(), margin)
        np.testing.assert_allclose(
            theirs.eval({margin: eta}, mode=Mode(linker="py", optimizer=None)), slopes, rtol=1e-6
        )


@pytest.mark.parametrize(("tie", "some"), [(-50.0, False), (0.0, True)])
def test_ties_are_in_the_model_where_some_tied(tie: float, some: bool) -> None:
    data = MODEL.prepare(_log(tie=tie, trials=4).trials)
    posterior = _posterior(data)
    assert ("tie" in posterior) == ("tie_spread" in posterior) == some
    frame = MODEL.estimates(posterior, data).frame
    assert ("tie_rate" in set(frame["estimand"])) == some
    assert ("tie rate" in {name for name, of in MODEL.statistics.items() if of(data["n"], data)}) == some
    draws = verdict_draws(MODEL, posterior, data)
    assert (draws.pi[..., 2].max() > 1e-6) == some
    assert np.isfinite(draws.pi).all()


# Items like these


def test_means_over_items_are_of_items_like_these() -> None:
    """Dirichlet(1, ..., 1) weights give a mean of n fixed values the variance s²/(n + 1)."""
    data = MODEL.prepare(_log(items=24).trials)
    draws = verdict_draws(MODEL, _posterior(data), data)
    many = replace(draws, weight=item_weights((1, 8000, 24), "superpopulation"))
    part = next(many.parts())
    values = np.random.default_rng(3).gamma(1.0, size=part.items)
    found = part.mean(np.broadcast_to(values, (1, 8000, part.items)))
    assert found.mean() == pytest.approx(values.mean(), abs=4 * found.std() / 8000**0.5)
    assert found.std() == pytest.approx(values.std() / 25**0.5, rel=4 / (2 * 8000) ** 0.5)
    hard = values > np.median(values)
    among = part.mean(np.broadcast_to(values[hard], (1, 8000, 12)), hard)
    assert among.mean() == pytest.approx(values[hard].mean(), rel=0.01)


def test_estimates_are_about_exactly_these_items_where_asked() -> None:
    data = MODEL.prepare(_log(items=24, trials=30).trials)
    posterior = _posterior(data)
    there, these = (
        MODEL.estimates(posterior, data, population=name).frame.set_index(["estimand", "unit", "group"])
        for name in ("superpopulation", "items")
    )
    assert list(there.index) == list(these.index)
    width = (there["upper"] - there["lower"]) / (these["upper"] - these["lower"])
    assert (width.loc["flip_rate"] > 1.5).all()
    assert (width.loc["position_effect"] > 1.2).all()
    # Neither is about a mean over items.
    assert (width.loc[["position[logit]", "repeat_correlation"]] == 1.0).all()
    draws = verdict_draws(MODEL, posterior, data, population="items")
    for part in draws.parts():
        assert these.loc[("flip_rate", *part.name), "point"] == pytest.approx(part.flip_rate.mean())
        assert part.mean(part.flip_rate) == pytest.approx(part.flip_rate.mean(-1))


# The distribution of a cell


@pytest.mark.slow
@pytest.mark.parametrize("rho", [0.0, 1e-9, 0.3, 0.99])
def test_a_cell_is_dirichlet_multinomial(rho: float) -> None:
    p, n = np.array([0.5, 0.2, 0.3]), 5
    counts = np.array([c for c in itertools.product(range(n + 1), repeat=3) if sum(c) == n])
    cells = TrialOutcomes(jnp.log(jnp.tile(p[:, None], len(counts))), rho, jnp.full(len(counts), n), most=n)
    ways = stats.multinomial.logpmf(counts, n, p) - (counts * np.log(p)).sum(1)
    ours = np.asarray(cells.log_prob(jnp.asarray(counts))) + ways
    # At ρ = 1e-9 SciPy's log-gamma functions of 1e9 lose eight digits.
    exact = (
        stats.dirichlet_multinomial.logpmf(counts, p * (1 - rho) / rho, n)
        if rho
        else stats.multinomial.logpmf(counts, n, p)
    )
    np.testing.assert_allclose(ours, exact, atol=1e-5 if rho == 1e-9 else 1e-11)
    assert np.exp(ours).sum() == pytest.approx(1, abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("rho", [0.0, 0.4])
def test_drawn_counts_have_the_moments_of_a_cell(rho: float) -> None:
    p, n, draws = np.array([0.6, 0.1, 0.3]), 8, 20_000
    cell = TrialOutcomes(jnp.log(jnp.asarray(p))[:, None], rho, jnp.array([n]), most=n)
    variance = n * p * (1 - p) * (1 + (n - 1) * rho)
    on_host = jax.tree.map(lambda part: np.broadcast_to(np.asarray(part), (draws, *np.shape(part))), cell.source)
    for counts in (cell.sample(jax.random.key(0), (draws,)), on_host.drawn(np.random.default_rng(0))):
        drawn = np.asarray(counts)[:, 0]
        assert np.all(drawn.sum(1) == n)
        assert np.all(np.abs(drawn.mean(0) - n * p) < error_budget.standard_errors(6) * np.sqrt(variance / draws))
        # Variances of 20,000 draws are good to about 2 %.
        np.testing.assert_allclose(drawn.var(0), variance, rtol=0.1)


# Symmetries


def _values(data: Data, seed: int) -> dict[str, Any]:
    target = density(MODEL, data)
    flat = np.random.default_rng(seed).normal(size=target.size)
    return dict(target.constrain(jnp.asarray(flat), accelerator.to_device(data.arrays)))


def _at(data: Data, values: dict[str, Any]) -> float:
    target, arrays = density(MODEL, data), accelerator.to_device(data.arrays)
    return -float(target.potential(target.unconstrain(values, arrays), arrays))


def test_swapping_a_and_b_negates_the_preferences() -> None:
    data = MODEL.prepare(_log(prompts=PROMPTS).trials)
    counts = data["n"][:, [1, 0, 2]]
    mirrored = {name: -data[name] for name in ("order", "rough", "one_sided")}
    swapped = data.with_arrays({**data.arrays, "n": counts, "observed": counts, **mirrored})
    values = _values(data, 3)
    signed = ("item_preference", "disagreement", "prompt_effect", "preference_mean")
    turned = {name: -v if name in signed else v for name, v in values.items()}
    assert _at(data, values) == pytest.approx(_at(swapped, turned), abs=1e-9)


def test_relabelling_judges_permutes_the_density() -> None:
    frame = _log(position={"heron": 1.0, "otter": -1.0}).trials.frame
    renamed = frame.assign(judge=frame["judge"].map({"heron": "otter", "otter": "heron"}))
    data, turned = (MODEL.prepare(Trials.from_frame(part)) for part in (frame, renamed))
    values = _values(data, 4)
    by_judge = ("disagreement", "judge_decisiveness", "position", "repeat_correlation", "tie")
    flipped = {name: jnp.flip(v, 0) if name in by_judge else v for name, v in values.items()}
    assert _at(data, values) == pytest.approx(_at(turned, flipped), abs=1e-9)


def test_row_order_does_not_matter() -> None:
    frame = _log().trials.frame
    one, other = (MODEL.prepare(Trials.from_frame(f)) for f in (frame, frame.sample(frac=1, random_state=1)))
    assert one.signature == other.signature
    assert all(np.array_equal(one[name], other[name]) for name in one.arrays)


# Coordinates


def test_units_are_a_choice_of_coordinates_and_not_of_the_density() -> None:
    rng = np.random.default_rng(0)
    guess = Guess(information=rng.gamma(1, 3, 50), pull=rng.normal(0, 9, 50))
    for spread in (1e-6, 0.3, 4.0):
        units = guess.units(spread)
        # z ~ N(centre, width) makes x = shift + scale z normal with mean 0 and standard deviation s.
        np.testing.assert_allclose(units.effect(units.centre), 0.0, atol=1e-12 * spread * guess.pull.max())
        np.testing.assert_allclose(units.scale * units.width, spread, rtol=1e-12)


def test_a_good_guess_makes_a_standard_normal_of_the_posterior() -> None:
    information, location, spread = 2.0, 1.5, 0.7
    units = Guess(information=information, pull=information * location).units(spread)
    z = np.linspace(-8, 8, 2001)
    x = units.effect(z)
    log = stats.norm.logpdf(z, units.centre, units.width) - information * (x - location) ** 2 / 2
    weight = np.exp(log - log.max())
    weight /= weight.sum()
    assert weight @ z == pytest.approx(0, abs=1e-9)
    assert weight @ z**2 == pytest.approx(1, abs=1e-9)


def test_items_that_never_tied_are_guessed_below_all_that_did() -> None:
    """And the guess at t follows the judges' readiness to tie: what is known is their sum."""
    log = pd.DataFrame({"item": list("aabbcc"), "outcome": ["a", "tie", "a", "b", "tie", "tie"], "judge": "x"})
    data = MODEL.prepare(Trials.from_frame(log.assign(trial=[0, 1] * 3)))
    assert dict(zip(data.coords["item"], data["one_sided_tie"], strict=True)) == {"a": 0, "b": -1, "c": 1}
    shape = (1, 1)

    def location(nu: float) -> Any:
        cells = repeated_trials_density.Cells(*(jnp.full(shape, x) for x in (1.0, 0.0, nu, 0.0)))
        guess = repeated_trials_density._tying(cells, 3.0, data)
        return np.asarray(guess.pull / guess.information)

    some, never, always = location(-2.0)
    assert never < some < always
    assert location(-1.0)[0] == pytest.approx(some - 1.0, abs=1e-9)


@pytest.mark.slow
def test_what_the_counts_say_is_the_curvature_of_their_density() -> None:
    data = MODEL.prepare(_log(**ONE).trials)
    cells = repeated_trials_density.Cells(*(jnp.full((1, 1), x) for x in (0.8, 0.3, -1.0, 0.0)))
    at = jnp.linspace(-1.0, 1.0, data.size("item"))

    def log_density(inside: Any) -> Any:
        found = repeated_trials_density.likelihood(0.8 * inside, cells, data).log_prob(data["n"])
        return found.reshape(-1, data.size("item")).sum(0)

    guess = repeated_trials_density.scored(at, cells, data)
    slope = jax.grad(lambda m: log_density(m).sum())(at)
    np.testing.assert_allclose(guess.pull[0, 0], slope, atol=1e-10)
    # Expected and observed information differ where the third category makes them.
    curve = -jnp.diag(jax.hessian(lambda m: log_density(m).sum())(at))
    np.testing.assert_allclose(guess.information[0, 0], curve, atol=1e-10)


def test_items_on_which_all_trials_were_alike_may_be_far_off() -> None:
    frame = pd.DataFrame(
        {"item": ["a", "b", "both", "ties", "a"], "outcome": ["a", "b", "a", "tie", "tie"], "judge": "x", "trial": 0}
    )
    frame.loc[4, "trial"] = 1
    frame = pd.concat([frame, frame.iloc[[2]].assign(outcome="b", trial=1)])
    data = MODEL.prepare(Trials.from_frame(frame))
    assert dict(zip(data.coords["item"], data["one_sided"], strict=True)) == {"a": 1, "b": -1, "both": 0, "ties": 0}
    rough, sides = np.array([1.5, -1.5, 0.4]), np.array([1, -1, 0])
    far = estimated_location(rough, sides, 8.0)
    np.testing.assert_allclose(far, [np.hypot(1.5, 8.0), -np.hypot(1.5, 8.0), 0.4])
    np.testing.assert_allclose(estimated_location(rough, sides, 0.0), rough)


def test_bent_units_are_a_choice_of_coordinates_and_not_of_the_density() -> None:
    side = jnp.array([1.0, -1.0, 0.0])
    for wall, slope in ((0.1, 0.01), (-2.0, 0.3), (3.0, 0.999)):
        bent = Bent(0.3, 1.2, side, wall, slope)
        u = np.sinh(np.linspace(-9, 9, 20_001))
        mass = np.exp(bent.log_prob(u[:, None]))
        np.testing.assert_allclose(np.trapezoid(mass, u, axis=0), 1.0, rtol=1e-5)
        z = bent.unit(bent.sample(jax.random.key(0), (4000,)))
        assert (stats.kstest(np.asarray(z), stats.norm(0.3, 1.2).cdf).pvalue > 1e-4).all()


@pytest.mark.slow
def test_trajectories_do_not_break_on_a_judge_that_hardly_ever_wavers() -> None:
    # One verdict of 350 changed with the order, as a reward model's on JudgeBench: items differ by tens of logits, and
    # in units of that each has a wall. Without the bend trajectories had 63 steps, and 169 of 6,400 were rejected.
    first = np.repeat(["a", "b"], 175)
    log = pd.DataFrame({"item": [f"q{k}" for k in range(350)] * 2, "outcome": np.tile(first, 2)})
    log = log.assign(order=np.repeat(["ab", "ba"], 350), judge="heron", trial=1)
    log.loc[0, "outcome"] = "b"
    model = MODEL.with_priors(item_spread="LogNormal(0.7, 1)")
    found = fit(model, Trials.from_frame(log), engine=Hmc(chains=4, draws=300, tune=300), seed=0)
    sampled = found.made["sample_stats"].ds
    assert float(sampled["n_steps"].mean()) < 25
    assert float((sampled["acceptance_rate"] < 0.05).mean()) < 0.005
    assert found.estimates().where(estimand="flip_rate").frame["upper"].iloc[0] < 0.015


@pytest.mark.slow
def test_items_that_also_tied_do_not_grow_with_the_spread() -> None:
    # A win and a tie place an item where both are likely, however far apart items lie. Started as far off as all
    # wins may be, its unit moved with log σ_item (r of .8), and that is what made σ_item of MT-bench mix slowly.
    log = simulate_trials(seed=2, items=150, trials=1, tie_spread=3.0, item_spread=8.0, position=0.2, **ONE)
    found = fit(MODEL, log.trials, engine=Hmc(draws=500, tune=300, target_accept=0.8), seed=1)
    both = (found.data["one_sided"] != 0) & (found.data["one_sided_tie"] == 0)
    assert both.sum() >= 10
    unit = found.posterior["item_preference"].to_numpy().reshape(-1, len(both))[:, both]
    spread = np.log(found.posterior["item_spread"].to_numpy().ravel())
    assert abs(stats.pearsonr((unit**2).sum(1), spread)[0]) < 0.4


# Position under several prompts


def _two_prompts() -> Data:
    """One judge drawn to the first response under one prompt and to the second under the other."""
    parts = [
        _log(seed, position=gamma, items=30, **ONE).trials.frame.assign(prompt=prompt)
        for seed, prompt, gamma in ((1, "base", 1.5), (2, "short", -1.5))
    ]
    return MODEL.prepare(Trials.from_frame(pd.concat(parts)))


@pytest.mark.slow
def test_position_bias_is_that_of_the_prompt() -> None:
    data = _two_prompts()
    found = fit_many(MODEL, [data], seed=0, **CHAINS).estimates()[0]
    rows = found.where(estimand="position_effect").frame.set_index("group")
    assert rows.loc["base", "lower"] > 0 > rows.loc["short", "upper"]
    # Of what a judge does under every prompt, two opposite prompts say nothing.
    both = found.where(estimand="position[logit]").frame.iloc[0]
    assert both["lower"] < 0 < both["upper"]


def test_position_gaps_are_counted_by_prompt() -> None:
    data = _two_prompts()
    found = MODEL.statistics["position gap by prompt"](data["n"], data)
    assert found["heron | base"] > 0.1 > -0.1 > found["heron | short"]
    assert abs(MODEL.statistics["position gap"](data["n"], data)["heron"]) < 0.1
    assert MODEL.statistics["position gap by prompt"](_one()["n"], _one()) == {}


def _one() -> Data:
    return MODEL.prepare(_log(**ONE).trials)


def test_judges_without_orders_do_not_shift() -> None:
    data = MODEL.prepare(_log(unordered="heron", prompts=PROMPTS).trials)
    assert density(MODEL, data).dims["position_by_prompt"] == ("prompt", "ordered_judge")
    assert data.coords["ordered_judge"] == ("otter",)
    unordered = MODEL.prepare(_log(orders="missing", prompts=PROMPTS).trials)
    assert "position_by_prompt" not in density(MODEL, unordered).dims


def test_effects_that_no_item_tells_from_its_own_are_left_out() -> None:
    crossed = MODEL.prepare(_log(prompts=PROMPTS).trials)
    assert {"prompt_effect", "prompt_spread", "disagreement"} <= set(density(MODEL, crossed).dims)
    data = MODEL.prepare(_log(prompts=PROMPTS, nested=True).trials)
    assert data.coords["prompt"] == PROMPTS
    assert not {"prompt_effect", "prompt_spread"} & set(density(MODEL, data).dims)
    assert {"position_by_prompt", "disagreement"} <= set(density(MODEL, data).dims)
    shares = MODEL.estimates(_posterior(data), data).where(estimand="variance_share[stochastic]").frame
    assert shares["note"].str.contains("protocol").all()


# Ties


def test_items_tie_for_everybody_where_something_tied() -> None:
    frame = _log(tie=1.0).trials.frame
    assert (frame["outcome"] == "tie").any()
    with_ties, without = (MODEL.prepare(Trials.from_frame(part)) for part in (frame, frame[frame["outcome"] != "tie"]))
    assert {"tie_spread", "tie_effect"} <= set(density(MODEL, with_ties).dims)
    assert not {"tie_spread", "tie_effect"} & set(density(MODEL, without).dims)
    assert "ties in both orders" in MODEL.statistics
    counts = np.zeros_like(with_ties["n"])
    counts[:, 2] = with_ties["total"]
    assert set(MODEL.statistics["ties in both orders"](counts, with_ties).values()) == {1.0}


# What is not identified is said


def test_position_without_orders_is_said_to_be_unidentified() -> None:
    data = MODEL.prepare(_log(orders="missing").trials)
    table = MODEL.estimates(_posterior(data), data)
    assert not len(table.where(estimand=["position[logit]", "position_effect"]))
    notes = table.where(estimand="position_size[logit]").frame["note"]
    assert len(notes) == 2
    assert notes.str.contains("not identified").all()
    shares = table.where(estimand="variance_share[stochastic]").frame
    assert shares["note"].str.contains("position").all()
    assert not len(table.where(estimand="variance_share[position]"))


def test_verdicts_on_one_answer_each_have_no_position() -> None:
    data = MODEL.prepare(_log(**DESIGNS["one answer each"]).trials)
    posterior = _posterior(data)
    assert not {"position", "position_size"} & {*posterior}
    table = MODEL.estimates(posterior, data)
    assert not table.frame["estimand"].str.contains("position|same order").any()
    assert not table.frame["note"].str.contains("position").any()
    assert table.where(estimand="flip_rate").frame["point"].between(0, 2 / 3).all()


def test_an_order_that_never_varies_is_said_to_tell_nothing() -> None:
    data = MODEL.prepare(_log(orders="ab").trials)
    table = MODEL.estimates(_posterior(data), data)
    assert table.where(estimand="position[logit]").frame["note"].str.contains("one order only").all()
    for estimand in ("flip_rate", "minimum_trials[95%]"):
        assert table.where(estimand=estimand).frame["note"].str.contains("in one order: of that one").all()
    both = MODEL.prepare(_log(orders="both").trials)
    assert (MODEL.estimates(_posterior(both), both).where(estimand="flip_rate").frame["note"] == "").all()


@pytest.mark.parametrize(("trials", "once"), [(1, True), (2, False)])
def test_a_judge_that_never_repeated_a_comparison_is_said_to_rest_on_the_prior(trials: int, once: bool) -> None:
    data = MODEL.prepare(_log(trials=trials).trials)
    table = MODEL.estimates(_posterior(data), data)
    for estimand in ("repeat_correlation", "flip_rate[same order]"):
        notes = table.where(estimand=estimand).frame["note"]
        assert len(notes) == 2
        assert (notes.str.contains("rests on the prior") == once).all()
    assert not table.where(estimand="flip_rate").frame["note"].any()


@pytest.mark.parametrize("rho", [0.1, 0.9])
def test_single_trials_say_nothing_of_their_correlation(rho: float) -> None:
    p, counts = jnp.array([[0.5], [0.2], [0.3]]), jnp.eye(3, dtype=int)
    cells = TrialOutcomes(jnp.log(jnp.tile(p, 3)), rho, jnp.ones(3, dtype=int), most=1)
    np.testing.assert_allclose(cells.log_prob(counts), np.log(p[:, 0]), atol=1e-12)


def test_the_density_without_orders_is_even_in_the_position_bias() -> None:
    data = MODEL.prepare(_log(orders="missing", **ONE).trials)
    assert data.coords["unordered_judge"] == ("heron",)
    assert "position" not in density(MODEL, data).dims


def test_the_reference_temperature_has_most_trials() -> None:
    frame = _log(temperatures=HEATS).trials.frame
    few = frame[(frame["temperature"] == 1.0) | (frame["item"] == frame["item"].iloc[0])]
    data = MODEL.prepare(Trials.from_frame(few))
    assert data.coords["reference_temperature"] == ("T = 1",)
    assert data.coords["other_temperature"] == ("T = 0",)


def test_wrong_priors_are_refused() -> None:
    with pytest.raises(UsageError, match="item_spread"):
        RepeatedTrials().with_priors(item_spread="Gamma(2, 0)")


# Posterior quantities


@pytest.mark.parametrize("trials", [1, 2, 5, 12, 51])
def test_majorities_are_those_of_the_multinomial(trials: int) -> None:
    p = np.random.default_rng(trials).dirichlet([1, 1, 0.3], size=40)
    counts = np.array([(a, b, trials - a - b) for a in range(trials + 1) for b in range(trials + 1 - a)])
    chance = stats.multinomial.pmf(counts[None], trials, p[:, None])
    top = counts == counts.max(1, keepdims=True)
    exact = np.einsum("ic,ck->ik", chance, top / top.sum(1, keepdims=True))
    ours = np.stack([majority_probability(p, np.full(40, k), trials=trials) for k in range(3)], axis=1)
    # Linear interpolation between the nodes of the table.
    np.testing.assert_allclose(ours, exact, atol=1e-4)
    assert most_likely(p).tolist() == p.argmax(1).tolist()


def test_risk_of_swapping_ranks() -> None:
    error = np.full(200, 0.1)
    rng = np.random.default_rng(0)
    wins = np.arange(200) < 20  # questions that the first model alone wins
    flips = rng.random((2, 20_000, 200)) < error
    gap = ((wins ^ flips[0]).astype(int) - flips[1].astype(int)).sum(1)
    # The normal approximation ignores that gaps are whole numbers.
    exact = (gap < 0).mean() + (gap == 0).mean() / 2
    assert float(swap_risk(error, gap=0.1)) == pytest.approx(exact, abs=0.01)
    assert float(swap_risk(np.zeros(3), gap=0.1)) == 0
    assert float(swap_risk(error, gap=0.0)) == 0.5


def test_layers_share_the_whole_variance() -> None:
    data = MODEL.prepare(_log(prompts=PROMPTS).trials)
    shares, varied = layer_shares(verdict_draws(MODEL, _posterior(data), data))
    assert all(varied[layer] for layer in LAYERS)
    np.testing.assert_allclose(sum(shares.values()), 1.0)
    assert all(np.all(share >= 0) for share in shares.values())


def test_a_judge_that_follows_the_order_alone_has_one_layer() -> None:
    data = MODEL.prepare(_log(**ONE, trials=3).trials)
    first = data["order"] == 1
    n = np.where(first[:, None], [3, 0, 0], [0, 3, 0])
    data = data.with_arrays({**data.arrays, "n": n})
    draws = verdict_draws(MODEL, _posterior(data), data)
    certain = np.broadcast_to(np.where(first[:, None], [1.0, 0, 0], [0, 1.0, 0]), draws.pi.shape)
    shares, varied = layer_shares(replace(draws, pi=certain))
    assert float(shares["position"].min()) == 1.0
    assert not varied["judge"]


def test_a_judge_that_repeats_itself_gets_no_number_of_repeats() -> None:
    sides = [(f"q{k}", order, int(order == "ab"), int(order == "ba")) for k in range(8) for order in ("ab", "ba")]
    frame = pd.DataFrame(sides, columns=["item", "order", "n_a", "n_b"])
    data = MODEL.prepare(Trials.from_frame(frame.assign(judge="heron", n_a=5 * frame["n_a"], n_b=5 * frame["n_b"])))
    table = MODEL.estimates(_posterior(data), data)
    needed = table.where(estimand=["minimum_trials[90%]", "minimum_trials[95%]"]).frame
    assert needed["point"].isna().all()
    assert needed["note"].str.contains("what varies is the arrangement").all()
    observed = table.where(estimand="flip_rate[N=10]").frame.iloc[0]
    assert observed["lower"] <= 0.5 <= observed["upper"] + 0.1


def test_each_number_of_trials_is_looked_up_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Estimates, items, curves and minimum numbers of one judge share one pass over the numbers of trials."""
    data = MODEL.prepare(_log(**ONE).trials)
    asked: list[int] = []
    won = Contest.won

    def counted(self: Contest, trials: int) -> Any:
        asked.append(trials)
        return won(self, trials)

    monkeypatch.setattr(Contest, "won", counted)
    results = MODEL.results(_posterior(data), data)
    once = len(asked)
    assert once == len({*TRIALS, 50})
    results.estimates(prob=0.9), results.items(prob=0.9), results.minimum(prob=0.9)
    results.curves(prob=0.9, observed=False)
    assert len(asked) - once <= 3  # the risk of swapping ranks, at one trial


def test_items_curves_and_minimum_trials_fit_together() -> None:
    data = MODEL.prepare(_log().trials)
    posterior = _posterior(data)
    items, curves = MODEL.items(posterior, data), MODEL.curves(posterior, data)
    assert len(items) == 12
    assert items["flip_rate"].between(items["flip_rate_lower"], items["flip_rate_upper"]).all()
    whole = curves[(curves["stratum"] == "all") & (curves["reference"] == "true")]
    table = MODEL.estimates(posterior, data)
    flip = table.where(estimand="flip_rate").frame.set_index("unit")["point"]
    once = whole[whole["trials"] == 1].set_index("judge")["point"]
    np.testing.assert_allclose(1 - once, flip[once.index], atol=1e-9)
    odd = whole[whole["trials"] % 2 == 1]
    assert all((part["point"].diff().dropna() > -1e-3).all() for _, part in odd.groupby("judge"))
    minimum = MODEL.minimum(posterior, data)
    assert set(minimum["target"]) == {0.9, 0.95}
    assert (minimum["lower"] <= minimum["point"]).all()


# Recovery, calibration, coverage: one judge on eight items in both orders, and one compiled program


@pytest.fixture(scope="module")
def small() -> Data:
    return MODEL.prepare(simulate_trials(seed=3, items=8, trials=5, **ONE).trials)


#: Simulated data sets; of each, chains that the ranks and intervals can be read from.
SETS, CHAINS = 100, {"engine": Hmc(chains=2, draws=100, tune=200), "repeat": False}


def _calibrated(small: Data) -> Calibration:
    return sbc(MODEL, small, replicates=SETS, ranked=31, seed=2, **CHAINS)


@pytest.mark.slow
def test_the_posterior_is_calibrated(small: Data) -> None:
    found = _calibrated(small)
    assert found.frame["adjusted"].min() > error_budget.level(), found.summary
    assert found.unreliable <= SETS // 10


@pytest.mark.slow
def test_orders_the_wrong_way_round_are_found(small: Data, monkeypatch: pytest.MonkeyPatch) -> None:
    truthful = RepeatedTrials.simulate

    def simulate(self: RepeatedTrials, key: Any, data: Data) -> dict[str, Any]:
        mirrored = data.with_arrays({**data.arrays, "order": -data["order"]})
        return dict(truthful(self, key, mirrored))

    monkeypatch.setattr(RepeatedTrials, "simulate", simulate)
    found = _calibrated(small).frame.set_index("quantity")["adjusted"]
    assert found["position[heron]"] < error_budget.level()


@pytest.mark.slow
def test_position_bias_flip_rates_and_curves_cover_the_truth(small: Data) -> None:
    """Judges drawn to the first response or to the second: .8-intervals hold the truth as often."""
    logs = [
        simulate_trials(seed=seed, items=8, trials=5, position=(1.2, -0.6)[seed % 2], **ONE) for seed in range(SETS)
    ]
    fits = fit_many(MODEL, [_in_units_of(small, log) for log in logs], seed=3, **CHAINS)
    hits = pd.DataFrame([_held(fits.posterior(k), fits.data[k], log.truth) for k, log in enumerate(logs)])
    # A hundred intervals of .8 of each: neither too few nor too many.
    low, high = error_budget.binomial_bounds(SETS, 0.8, hits.shape[1])
    assert hits.mean().between(low, high).all(), hits.mean()


def _in_units_of(design: Data, log: SimulatedTrials) -> Data:
    """The log's counts in the design's coordinates, so that all logs share its program."""
    data = MODEL.prepare(log.trials)
    assert all(np.array_equal(data[name], design[name]) for name in ("order", "item", "total"))
    return design.with_arrays({**design.arrays, "n": data["n"]})


def _held(posterior: Any, data: Data, truth: Mapping[tuple[str, str], float]) -> dict[str, bool]:
    """Whether the truth is between the posterior's deciles, by estimand."""
    draws = verdict_draws(MODEL, posterior, data, population="items")
    found = {
        "flip_rate": draws.flip_rate.mean(-1),
        "flip_rate[same order]": draws.same_order_flip_rate,
        "position[logit]": posterior["position"].to_numpy(),
        "position_effect": draws.position_effect,
        "match[K=1]": draws.match(1).mean(-1),
        "match[K=5]": draws.match(5).mean(-1),
        "noise_budget[K=10]": draws.items - draws.match(10).sum(-1),
    }
    ends = {name: np.quantile(values, [0.1, 0.9]) for name, values in found.items()}
    return {name: bool(low <= truth[name, "heron"] <= high) for name, (low, high) in ends.items()}
