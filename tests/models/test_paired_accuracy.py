"""`paired_accuracy`: exact limits, symmetries, total probability, replicated items, and what it reports."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import error_budget
import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import pytest
from scipy import stats
from scipy.special import expit

from bayesjudge.counts import VerdictCounts, count_verdicts
from bayesjudge.datasets import simulate_counts, simulate_verdicts
from bayesjudge.errors import UsageError
from bayesjudge.inference.many import fit_many
from bayesjudge.inference.programs import accelerator
from bayesjudge.inference.programs.density import density
from bayesjudge.inference.tree import posterior_dataset
from bayesjudge.model import Data
from bayesjudge.models.common.verdict_channel import ChannelPrior
from bayesjudge.models.judge_error import JudgeError
from bayesjudge.models.paired_accuracy import PairedAccuracy
from bayesjudge.models.paired_accuracy.likelihood import log_joint_cells
from bayesjudge.models.paired_accuracy.results import answer_features, pattern_margins, summed_margins
from bayesjudge.tables import Verdicts

Counter = Callable[..., VerdictCounts]


@pytest.fixture(autouse=True)
def _float64() -> None:
    accelerator.prepare()


def _point(model: PairedAccuracy, data: Data, seed: int) -> dict[str, Any]:
    target = density(model, data)
    flat = np.random.default_rng(seed).normal(size=target.size)
    return dict(target.constrain(jnp.asarray(flat), accelerator.to_device(data.arrays)))


def _observed(model: PairedAccuracy, data: Data, values: dict[str, Any]) -> Any:
    """The likelihood's distribution with the latent values fixed."""
    seeded = numpyro.handlers.seed(numpyro.handlers.substitute(model.numpyro, values), 0)
    return numpyro.handlers.trace(seeded).get_trace(data.with_arrays(accelerator.to_device(data.arrays)))[
        "n"
    ]["fn"]


def _log_p(model: PairedAccuracy, data: Data, values: dict[str, Any]) -> Any:
    return np.asarray(jax.jit(lambda v: _observed(model, data, v).log_p)(values))


def _every_pattern(models: int, runs: int, labelled: int) -> tuple[Any, Any]:
    """Labels and positives of every outcome of items whose first ``labelled`` answers are labelled."""
    label = itertools.product(*[(0, 1) if m < labelled else (-1,) for m in range(models)])
    rows = list(itertools.product(label, itertools.product(range(runs + 1), repeat=models)))
    return np.array([y for y, _ in rows]), np.array([k for _, k in rows])


def test_the_sticks_make_a_flat_dirichlet() -> None:
    sticks = np.random.default_rng(0).uniform(0.05, 0.95, size=(50, 3))
    log_density = stats.beta.logpdf(sticks, 1, [3, 2, 1]).sum(1)
    # π is triangular in the sticks: the Jacobian is the product of what was left before each break.
    log_jacobian = 2 * np.log1p(-sticks[:, 0]) + np.log1p(-sticks[:, 1])
    np.testing.assert_allclose(log_density - log_jacobian, np.log(6), rtol=1e-12)
    pi = np.exp(np.array([log_joint_cells(jnp.asarray(stick)) for stick in sticks]))
    np.testing.assert_allclose(pi.sum((1, 2)), 1, rtol=1e-12)
    np.testing.assert_allclose(pi[:, 1, 1], sticks[:, 0], rtol=1e-12)


@pytest.mark.parametrize("labelled", [0, 1, 2])
@pytest.mark.parametrize("labels", ["random", "enriched"])
@pytest.mark.parametrize(("models", "clustered"), [(2, False), (2, True), (3, False)])
def test_outcomes_of_a_stratum_have_total_probability_one(
    item_counts: Counter, models: int, clustered: bool, labels: Any, labelled: int
) -> None:
    label, positives = _every_pattern(models, 2, labelled)
    cluster = np.zeros(len(label), dtype=np.int64) if clustered else None
    model = PairedAccuracy(labels=labels)
    data = model.prepare(item_counts(label, positives, runs=2, cluster=cluster))
    log_p = _log_p(model, data, _point(model, data, 1))
    if data.facts["form"] == "items":
        # These densities are of one order of the runs; the sum is over their number of orders.
        log_p = log_p[: len(label)]
    chosen = np.unique(label, axis=0) if labels == "enriched" else np.zeros((1, 1))
    assert np.exp(log_p).sum() == pytest.approx(len(chosen), rel=1e-10)


@pytest.mark.parametrize(("models", "clustered"), [(2, False), (2, True), (3, False)])
def test_an_answer_never_given_leaves_the_margin(item_counts: Counter, models: int, clustered: bool) -> None:
    """P(rest of the item) is the sum over what the missing answer could have shown."""
    shown = np.array([[1, 0, 1], [1, 0, 1], [1, 1, 1]])[:, :models]
    label = np.full_like(shown, -1)
    label[:, 0] = 1
    runs = np.ones_like(shown)
    runs[0, 1] = 0
    cluster = np.zeros(3, dtype=np.int64) if clustered else None
    model = PairedAccuracy()
    data = model.prepare(item_counts(label, shown, runs=runs, cluster=cluster))
    p = np.exp(_log_p(model, data, _point(model, data, 5)))
    rows = [tuple(zip(label[k], runs[k], shown[k], strict=True)) for k in range(3)]
    found = [p[_patterns(data).index(row)] for row in rows]
    assert found[0] == pytest.approx(found[1] + found[2], rel=1e-12)


def _patterns(data: Data) -> list[Any]:
    """(label, runs, positives) of each model, by pattern."""
    columns = [data[name][data["cell"]] for name in ("cell_label", "cell_runs", "cell_positives")]
    return [tuple(zip(*row, strict=True)) for row in zip(*columns, strict=True)]


def test_a_perfect_judge_leaves_the_dirichlet(item_counts: Counter) -> None:
    """At J = 1 the cells are counted, so the likelihood is Π π^n and π | n is Dirichlet(1 + n)."""
    verdict = np.array([[1, 1], [1, 0], [0, 1], [0, 0]])
    n = np.array([20, 9, 4, 7])
    model = PairedAccuracy(pooling="shared", channel=ChannelPrior(mean=14.0, scale=1e-3))
    data = model.prepare(item_counts(np.full_like(verdict, -1), verdict, n=n))
    pi = np.random.default_rng(3).dirichlet(np.full(4, 8.0), size=20)
    ours = []
    for p in pi:
        stick = jnp.array([p[0], p[1] / (1 - p[0]), p[2] / (1 - p[0] - p[1])])
        fixed = {
            "stick": stick,
            "mu_sensitivity": jnp.full((1, 1), 14.0),
            "mu_specificity": jnp.full((1, 1), 14.0),
        }
        ours.append(float(np.asarray(data["n"]) @ _log_p(model, data, fixed)))
    exact = stats.dirichlet.logpdf(pi.T, 1 + n)
    # σ(14) = 1 − 8e-7 over 40 items whose cells have probability 1e-3 or more.
    np.testing.assert_allclose(np.array(ours) - ours[0], exact - exact[0], atol=1e-2)


@pytest.mark.parametrize("models", [2, 3])
def test_swapping_models_swaps_the_likelihood(models: int) -> None:
    """With a and b renamed the likelihood at the renamed point is the same: differences change sign."""
    world = {"models": tuple("abc"[:models]), "accuracy": (0.7, 0.6, 0.5)[:models], "youden": 0.5}
    counts = simulate_counts(datasets=1, seed=4, labelled=20, unlabelled=30, **world)[0]
    items, order = counts.items["judge"], [1, 0, 2][:models]
    columns = {name: getattr(items, name)[:, order] for name in ("label", "runs", "positives")}
    swapped = replace(counts, items={"judge": replace(items, **columns)})
    model = PairedAccuracy()
    one, other = model.prepare(counts), model.prepare(swapped)
    values = _point(model, one, 8)
    mirrored = {
        name: v[..., jnp.array(order)] if v.shape[-1:] == (models,) else v for name, v in values.items()
    }
    if models == 2:
        both, first, second = values["stick"]
        pi = jnp.array([both, (1 - both) * first, (1 - both) * (1 - first) * second])
        mirrored["stick"] = jnp.array([pi[0], pi[2] / (1 - pi[0]), pi[1] / (1 - pi[0] - pi[2])])
    first_total = float(np.sum(_observed(model, one, values).log_prob(jnp.asarray(one["n"]))))
    second_total = float(np.sum(_observed(model, other, mirrored).log_prob(jnp.asarray(other["n"]))))
    # The same terms in another order.
    assert first_total == pytest.approx(second_total, rel=1e-12)


@pytest.mark.parametrize("labels", ["random", "enriched"])
@pytest.mark.parametrize("clustered", [False, True])
def test_replicated_items_have_the_moments_of_the_model(
    item_counts: Counter, labels: Any, clustered: bool
) -> None:
    """Mean pattern counts are N p_r when all patterns are listed, and margins agree with the patterns."""
    label, positives = _every_pattern(3, 1, 2)
    items = 5 * len(label)
    cluster = np.repeat([0, 1], len(label) // 2) if clustered else None
    model = PairedAccuracy(labels=labels)
    data = model.prepare(item_counts(label, positives, cluster=cluster, n=5))
    values = _point(model, data, 2)
    seen = _observed(model, data, values)
    draws = np.asarray(jax.jit(lambda key: seen.sample(key, (600,)))(jax.random.key(3)))
    margins = data.facts["margins"]
    patterns, p = draws[:, margins:], np.exp(np.asarray(seen.log_p))
    if not clustered:
        kinds = (
            np.unique(label, axis=0, return_inverse=True)[1]
            if labels == "enriched"
            else np.zeros(len(label), int)
        )
        cell_label = data["cell_label"][data["cell"]]
        kinds = (
            np.unique(cell_label, axis=0, return_inverse=True)[1].reshape(-1)
            if labels == "enriched"
            else kinds
        )
        total = np.bincount(kinds, weights=np.full(len(kinds), 5.0))[kinds]
        error = np.sqrt(total * p * (1 - p) / 600)
        most = error_budget.standard_errors(len(p))
        assert np.all(np.abs(patterns.mean(0) - total * p) < most * error + 1e-9)
        assert np.all(patterns.sum(1) == items)
        features = answer_features(
            *(data[name][data["cell"]] for name in ("cell_label", "cell_runs", "cell_positives"))
        )
        np.testing.assert_allclose(draws[:, :margins], patterns @ pattern_margins(features), atol=1e-9)
    rate = model.statistics["labelled: correct"](draws, data)["m0"]
    spread = rate.std()
    assert (spread == 0) == (labels == "enriched")


def test_margins_are_the_same_summed_or_weighted() -> None:
    rng = np.random.default_rng(0)
    label, runs = rng.integers(-1, 2, (40, 4)), rng.integers(0, 4, (40, 4))
    features = answer_features(label, runs, rng.integers(0, runs + 1))
    weight = rng.integers(1, 6, 40).astype(float)
    np.testing.assert_allclose(summed_margins(features, weight), weight @ pattern_margins(features))


@pytest.mark.parametrize("models", [2, 3])
def test_statistics_are_the_shares_a_user_would_count(models: int) -> None:
    world = {"models": tuple("abc"[:models]), "accuracy": (0.7, 0.6, 0.5)[:models], "youden": 0.5}
    frame = simulate_verdicts(seed=5, labelled=30, unlabelled=30, **world).verdicts.frame
    model = PairedAccuracy()
    data = model.prepare(Verdicts.from_frame(frame))
    seen = {name: statistic(np.asarray(data["n"]), data) for name, statistic in model.statistics.items()}
    verdict = frame.pivot_table(index="item", columns="model", values="verdict")
    label = (
        frame.dropna(subset="label")
        .astype({"label": float})
        .pivot_table(index="item", columns="model", values="label")
    )
    assert seen["verdict rate"]["a"] == pytest.approx(verdict["a"].mean())
    assert seen["verdicts: disagreement"]["a & b"] == pytest.approx((verdict["a"] != verdict["b"]).mean())
    only_b = ((verdict["a"] == 0) & (verdict["b"] == 1)).mean()
    assert seen["verdicts: only the second correct"]["a & b"] == pytest.approx(only_b)
    assert seen["labelled: both correct"]["a & b"] == pytest.approx((label["a"] * label["b"]).mean())
    caught = (label["b"] == 0) & (verdict["b"].loc[label.index] == 1)
    assert seen["labelled: wrong, judged correct"]["b"] == pytest.approx(caught.mean())


@pytest.mark.parametrize("models", [2, 3])
def test_estimates_hold_every_quantity_with_its_items(models: int) -> None:
    names = tuple("abc"[:models])
    log = simulate_verdicts(seed=6, models=names, accuracy=0.6, youden=0.5, labelled=20, unlabelled=20)
    frame = log.verdicts.frame.query("not (model == 'b' and item == 'item-01')")
    model = PairedAccuracy()
    data = model.prepare(Verdicts.from_frame(frame))
    target = density(model, data)
    posterior = posterior_dataset(target, data, np.random.default_rng(0).normal(size=(2, 40, target.size)))
    table = model.estimates(posterior, data).frame
    assert set(table["estimand"]) == {
        "accuracy",
        "difference",
        "sensitivity",
        "specificity",
        "youden",
        "delta_youden",
    }
    rows = table.set_index(["estimand", "unit"])
    assert rows.loc[("difference", "a − b"), "n"] == 39
    assert rows.loc[("accuracy", "a"), "n"] == 40
    assert 0 <= rows.loc[("difference", "a − b"), "p_positive"] <= 1
    assert (table[table["estimand"].isin(["sensitivity", "delta_youden"])]["judge"] == "judge").all()
    theta = model.accuracy(posterior, data)
    assert theta.dims == ("chain", "draw", "model")
    difference = float((theta.sel(model="a") - theta.sel(model="b")).mean())
    assert rows.loc[("difference", "a − b"), "point"] == pytest.approx(difference)


@pytest.mark.parametrize("clustered", [False, True])
def test_quality_is_that_of_an_item_drawn_at_random(item_counts: Counter, clustered: bool) -> None:
    """Sensitivity and specificity of many models against items simulated one by one."""
    label, positives = _every_pattern(3, 1, 1)
    model = PairedAccuracy(pooling="specific")
    cluster = np.repeat([0, 1], len(label) // 2) if clustered else None
    data = model.prepare(item_counts(label, positives, cluster=cluster))
    target = density(model, data)
    flat = 0.7 * np.random.default_rng(5).normal(size=(1, 8, target.size))
    posterior = posterior_dataset(target, data, flat)
    same = posterior.isel(draw=[0] * 8)
    table = model.estimates(same, data).frame.set_index(["estimand", "unit"])["point"]
    one, (u, t) = posterior.isel(chain=0, draw=0), np.random.default_rng(6).normal(size=(2, 200_000))
    spread = float(one["leniency_spread"]) if clustered else 0.0
    right = expit(float(one["alpha"][1]) + float(one["item_spread"]) * u)
    shift = np.outer(one["item_leniency"], u) + spread * t
    yes = expit(float(one["logit_sensitivity"][0, 1]) + shift[1])
    no = expit(float(one["logit_specificity"][0, 1]) - shift[0])
    # Means over 200,000 items of numbers in [0, 1]: four standard errors are at most .0045; ratios double it.
    assert table["accuracy", "m1"] == pytest.approx(right.mean(), abs=0.0045)
    assert table["sensitivity", "m1"] == pytest.approx((right * yes).mean() / right.mean(), abs=0.009)
    assert table["specificity", "m1"] == pytest.approx(
        ((1 - right) * no).mean() / (1 - right).mean(), abs=0.009
    )


def test_data_twice_is_weight_two(item_counts: Counter) -> None:
    label, positives = _every_pattern(3, 1, 1)
    model = PairedAccuracy()
    one, two = (model.prepare(item_counts(label, positives, n=n)) for n in (3, 6))
    values = _point(model, one, 4)
    totals = [
        float(_observed(model, data, values).log_prob(jnp.asarray(data["n"])).sum()) for data in (one, two)
    ]
    assert totals[1] == pytest.approx(2 * totals[0], rel=1e-12)


def test_groups_are_merged_and_row_order_does_not_matter() -> None:
    frame = simulate_verdicts(seed=3, labelled=20, unlabelled=30).verdicts.frame
    grouped = frame.assign(subject=frame["item"].str[-1]).sample(frac=1, random_state=2)
    model = PairedAccuracy()
    one = model.prepare(Verdicts.from_frame(frame))
    other = model.prepare(
        count_verdicts(Verdicts.from_frame(grouped.reset_index(drop=True)), group="subject")
    )
    assert all(np.array_equal(one[name], other[name]) for name in one.arrays)


SPARSE = {
    "no labels": ([[-1, -1]] * 3, [[1, 1], [0, 1], [0, 0]]),
    "one class labelled": ([[1, 1], [-1, -1]], [[1, 0], [0, 1]]),
    "every verdict 1": ([[1, 0], [-1, -1]], [[1, 1], [1, 1]]),
    "one item": ([[-1, -1]], [[1, 0]]),
    "three models": ([[1, -1, -1], [-1, -1, -1]], [[1, 1, 1], [1, 1, 1]]),
}


@pytest.mark.parametrize("labels", ["random", "enriched"])
@pytest.mark.parametrize("table", SPARSE.values(), ids=SPARSE)
def test_sparse_tables_keep_density_and_gradient_finite(
    item_counts: Counter, table: Any, labels: Any
) -> None:
    model = PairedAccuracy(labels=labels)
    data = model.prepare(item_counts(*table, n=20))
    target, arrays = density(model, data), accelerator.to_device(data.arrays)
    points = np.random.default_rng(0).normal(scale=4, size=(200, target.size))
    value, slope = jax.jit(jax.vmap(jax.value_and_grad(target.potential), in_axes=(0, None)))(points, arrays)
    assert np.all(np.isfinite(value))
    assert np.all(np.isfinite(slope))


def test_one_judge_and_two_models_are_asked_for(item_counts: Counter) -> None:
    panel = simulate_counts(datasets=1, seed=0, labelled=5, unlabelled=5, judges=("j", "k"))[0]
    with pytest.raises(UsageError, match=r"counts\.for_judge"):
        PairedAccuracy().prepare(panel)
    assert PairedAccuracy().prepare(panel.for_judge("k")).coords["judge"] == ("k",)
    with pytest.raises(UsageError, match="judge_error"):
        PairedAccuracy().prepare(item_counts([[1]], [[1]]))


def test_wrong_options_say_what_is_allowed() -> None:
    with pytest.raises(UsageError, match="item_spread must be above 0"):
        PairedAccuracy(item_spread=0.0)
    with pytest.raises(UsageError, match="item_leniency must be above 0"):
        PairedAccuracy(item_leniency=-1.0)
    with pytest.raises(UsageError, match="partial"):
        PairedAccuracy(pooling="none")  # type: ignore[arg-type]


def test_two_hundred_runs_are_too_many_to_list() -> None:
    log = simulate_counts(datasets=1, seed=0, labelled=4, unlabelled=4, runs=200)[0]
    with pytest.raises(UsageError, match="use fewer"):
        PairedAccuracy().prepare(log)


@pytest.mark.slow
def test_the_paired_interval_covers_and_is_narrower_than_the_unpaired_one() -> None:
    """At J = .6, n_L = 200, n_U = 800 a prototype's 95 % interval of Δ was .125 wide, PPI++'s .134."""
    tables = simulate_counts(datasets=100, seed=11, youden=0.6)
    width, covered = {}, {}
    for model in (PairedAccuracy(), JudgeError()):
        fits = fit_many(model, tables, chains=2, draws=300, tune=300, seed=1)
        rows = [e.where(estimand="difference").frame.iloc[0] for e in fits.estimates()]
        width[model.name] = np.mean([row["upper"] - row["lower"] for row in rows])
        covered[model.name] = sum(row["lower"] < 0.07 < row["upper"] for row in rows)
    # The mean of 100 widths varies by about .0011; two numbers are compared with bounds.
    assert width["paired_accuracy"] == pytest.approx(0.125, abs=0.0011 * error_budget.standard_errors(2))
    assert width["paired_accuracy"] < width["judge_error"]
    assert covered["paired_accuracy"] >= stats.binom.ppf(error_budget.level(2), 100, 0.95)
