"""`pointwise_scores`: exact densities, symmetries, analysis of variance, recovery, calibration."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import error_budget
import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
from scipy import stats

from bayesjudge.baselines.reliability import score_baselines
from bayesjudge.counts.scores import count_scores
from bayesjudge.datasets.scores import simulate_scores
from bayesjudge.errors import UsageError
from bayesjudge.inference import Hmc, Laplace, fit, fit_many
from bayesjudge.inference.programs import accelerator
from bayesjudge.inference.programs.density import density
from bayesjudge.model import Data
from bayesjudge.models.pointwise_scores import PointwiseScores
from bayesjudge.models.pointwise_scores.data import EXCESS, JUDGES_ERROR
from bayesjudge.models.pointwise_scores.likelihood import CellMeans, ScaledChiSquares, jax_lean, jax_log_levels
from bayesjudge.models.pointwise_scores.results import components
from bayesjudge.simulation import sbc
from bayesjudge.tables import Scores

GAUSSIAN, ORDINAL = PointwiseScores(), PointwiseScores(likelihood="ordinal")
ONE = {"judges": ("heron",)}
DESIGNS: dict[str, dict[str, Any]] = {
    "one judge": ONE,
    "two judges": {},
    "missing scores": {"missing": 0.3},
    "two trials": {"trials": 2, **ONE},
}


@pytest.fixture(autouse=True)
def _float64() -> None:
    accelerator.prepare()


def _log(seed: int = 1, **options: Any) -> Scores:
    return simulate_scores(seed=seed, **{"responses": 10, "trials": 4, **options}).scores


@pytest.mark.parametrize("name", DESIGNS)
def test_the_same_density_in_both_languages(name: str, same_density: Callable[..., None]) -> None:
    same_density(GAUSSIAN, GAUSSIAN.prepare(_log(**DESIGNS[name])), points=20)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["one judge", "two judges"])
def test_the_same_density_of_levels_in_both_languages(name: str, same_density: Callable[..., None]) -> None:
    same_density(ORDINAL, ORDINAL.prepare(_log(**DESIGNS[name], rounded=True)), points=20)


def test_what_levels_say_is_the_slope_and_the_mean_curvature_of_their_density() -> None:
    margin, cuts, scale = jnp.linspace(-4.0, 4.0, 9), jnp.array([-2.0, -0.5, 1.0, 1.3]), jnp.full(9, 0.7)
    p, lean = jax_lean(margin, cuts, scale)
    np.testing.assert_allclose(p, jnp.exp(jax_log_levels(margin, cuts, scale)), atol=1e-14)
    np.testing.assert_allclose(p.sum(0), 1.0, atol=1e-14)
    for level in range(5):
        slope = jax.grad(lambda at, k=level: jax_log_levels(at, cuts, scale)[k].sum())(margin)
        np.testing.assert_allclose(lean[level], slope, atol=1e-10)
    # The slope of a log density has mean 0, and its variance is the information.
    np.testing.assert_allclose((p * lean).sum(0), 0.0, atol=1e-14)


def test_scores_that_always_repeat_leave_every_statistic_defined() -> None:
    frame = pd.DataFrame({"item": np.repeat(["p", "q", "r"], 3), "judge": "j", "trial": [0, 1, 2] * 3})
    data = GAUSSIAN.prepare(Scores.from_frame(frame.assign(score=np.repeat([1.0, 4.0, 2.0], 3))))
    observed = {name: np.asarray(data[name])[None] for name in data.observations}
    found = {name: statistic(observed, data) for name, statistic in GAUSSIAN.statistics.items()}
    assert found["trials against noise"]["j"] == 1.0
    assert all(np.isfinite(value).all() for values in found.values() for value in values.values())


def test_equal_scores_of_what_two_judges_scored_have_no_correlation() -> None:
    """Rounding left some spread of equal scores, which were divided by it, or by 0."""
    items = [*"pqrstuv"]
    rows = [("j", item, trial, 5.0 - (item == "v")) for item in items for trial in (0, 1)]
    rows += [
        ("k", item, trial, score) for item, score in zip(items, (5, 2, 5, 3, 2.2), strict=False) for trial in (0, 1)
    ]
    data = GAUSSIAN.prepare(Scores.from_frame(pd.DataFrame(rows, columns=["judge", "item", "trial", "score"])))
    (found,) = GAUSSIAN.statistics["correlation of judges"]({"mean": np.asarray(data["mean"])[None]}, data).values()
    assert np.isnan(found).all()


def test_moments_have_the_density_of_the_scores() -> None:
    """Means and squares are sufficient: the density differs from that of the scores by a constant alone."""
    y = np.random.default_rng(0).normal(5, 2, size=(6, 3))
    n, freedom = jnp.full((6, 1), 3), jnp.array([12])
    squares = ((y - y.mean(1, keepdims=True)) ** 2).sum()
    ours, exact = [], []
    for centre, shared, noise in ((5.0, 1.0, 2.0), (4.0, 2.5, 0.7), (6.0, 0.1, 1.3)):
        cells = CellMeans(jnp.array([centre]), jnp.array([shared]), jnp.zeros(1), jnp.array([noise]), n)
        within = ScaledChiSquares(jnp.array([noise**2]), freedom)
        ours.append(
            float(cells.log_prob(jnp.asarray(y.mean(1, keepdims=True))).sum())
            + float(within.log_prob(jnp.array([squares])).sum())
        )
        covariance = shared**2 + noise**2 * np.eye(3)
        exact.append(stats.multivariate_normal.logpdf(y, np.full(3, centre), covariance).sum())
    np.testing.assert_allclose(np.diff(ours), np.diff(exact), atol=1e-10)


def test_drawn_moments_have_the_right_moments() -> None:
    n = jnp.array([[2, 4]])
    cells = CellMeans(jnp.array([1.0, 2.0]), jnp.array([1.5, 0.5]), jnp.array([0.5, 0.2]), jnp.array([1.0, 2.0]), n)
    drawn = np.asarray(cells.sample(jax.random.key(0), (40_000,)))[:, 0]
    want = np.outer([1.5, 0.5], [1.5, 0.5]) + np.diag([0.25 + 0.5, 0.04 + 1.0])
    # Covariances of 40,000 draws are good to about 1.5 %.
    np.testing.assert_allclose(np.cov(drawn.T), want, rtol=0.06)


def _at(model: PointwiseScores, data: Data, values: dict[str, Any]) -> float:
    target, arrays = density(model, data), accelerator.to_device(data.arrays)
    return -float(target.potential(target.unconstrain(values, arrays), arrays))


def test_relabelling_judges_permutes_the_density() -> None:
    data = GAUSSIAN.prepare(_log())
    target = density(GAUSSIAN, data)
    values = dict(target.constrain(jnp.asarray(np.random.default_rng(1).normal(size=target.size)), data.arrays))
    turned = data.with_arrays(
        {
            name: np.flip(a, data.dims[name].index("block")) if "block" in data.dims[name] else a
            for name, a in data.arrays.items()
        }
    )
    flipped = {name: jnp.flip(v) if v.shape == (2,) else v for name, v in values.items()}
    assert _at(GAUSSIAN, data, values) == pytest.approx(_at(GAUSSIAN, turned, flipped), abs=1e-9)


def test_other_units_of_the_scores_change_no_reliability() -> None:
    frame = _log(**ONE).frame
    one, other = (GAUSSIAN.prepare(Scores.from_frame(f)) for f in (frame, frame.assign(score=10 * frame["score"] - 3)))
    # One at a time, so that both get the same random numbers.
    found = [fit_many(GAUSSIAN, (data,), engine="laplace", seed=1).estimates()[0] for data in (one, other)]
    icc, shifted = (table.where(estimand="icc").frame["point"][0] for table in found)
    assert icc == pytest.approx(shifted, abs=1e-6)


def test_the_icc_agrees_with_analysis_of_variance() -> None:
    """With 300 responses the prior hardly matters: posterior mean and ANOVA estimate agree closely."""
    log = simulate_scores(seed=2, responses=300, trials=4, **ONE)
    (table,) = fit_many(GAUSSIAN, [log.scores], engine=Laplace()).estimates()
    # A tenth of the ICC's standard error of .018 here, and the prior's pull.
    assert table.where(estimand="icc").frame["point"][0] == pytest.approx(_icc_of_anova(log.scores), abs=0.004)


def _icc_of_anova(scores: Scores) -> float:
    """ICC(2,1) of Shrout & Fleiss (1979), trials as raters."""
    y = scores.frame.pivot_table(index="item", columns="trial", values="score").to_numpy()
    n, k = y.shape
    rows, columns = (k * y.mean(1).var(ddof=1), n * y.mean(0).var(ddof=1))
    error = ((y - y.mean(1, keepdims=True) - y.mean(0) + y.mean()) ** 2).sum() / ((n - 1) * (k - 1))
    return float((rows - error) / (rows + (k - 1) * error + k * (columns - error) / n))


def test_single_scores_are_refused() -> None:
    with pytest.raises(UsageError, match="scored twice"):
        GAUSSIAN.prepare(_log(trials=1))
    with pytest.raises(UsageError, match="ordinal"):
        ORDINAL.prepare(_log())
    with pytest.raises(UsageError, match="gaussian"):
        PointwiseScores(likelihood="normal")  # type: ignore[arg-type]  # what a user may do


# Recovery and calibration: two judges on thirty responses, and one compiled program


@pytest.fixture(scope="module")
def small() -> Data:
    return GAUSSIAN.prepare(_log(seed=3, responses=30))


#: Simulated data sets; of each, chains that the ranks and intervals can be read from.
SETS, CHAINS = 100, {"engine": Hmc(chains=2, draws=100, tune=200), "repeat": False}
#: The prior's scales of the four layers, in units of the scores' own spread.
LAYERS = {"response_spread": 1.0, "interaction_spread": 0.5, "trial_spread": 0.25, "noise": 1.0}


@pytest.mark.slow
def test_layers_of_variance_and_reliabilities_cover_the_truth(small: Data) -> None:
    """Responses, responses within a judge, trials, noise, drawn as the prior draws them; and ICCs."""
    truths = _truths(float(small["scale"][0]))
    logs = [simulate_scores(seed=k, responses=30, trials=4, **truth) for k, truth in enumerate(truths)]
    fits = fit_many(GAUSSIAN, [_in_units_of(small, log.scores) for log in logs], seed=1, **CHAINS)
    hits = pd.DataFrame(
        [
            {**_layers_held(fits.posterior(k), truth), **_shares_held(fits.posterior(k), fits.data[k], log.truth)}
            for k, (truth, log) in enumerate(zip(truths, logs, strict=True))
        ]
    )
    # Two judges of one log are counted as one, the least favourable: neither too few nor too many.
    low, high = error_budget.binomial_bounds(SETS, 0.8, hits.shape[1])
    assert hits.mean().between(low, high).all(), hits.mean()


def _truths(unit: float) -> list[dict[str, Any]]:
    """Spreads as the prior draws them."""
    rng, judges = np.random.default_rng(7), ("heron", "otter")
    found: list[dict[str, Any]] = []
    for _ in range(SETS):
        drawn = {name: abs(rng.normal(0, size * unit)) for name, size in LAYERS.items()}
        noise = {judge: abs(rng.normal(0, unit)) for judge in judges}
        found.append({**drawn, "judges": judges, "noise": noise})
    return found


def _in_units_of(design: Data, scores: Scores) -> Data:
    """The log's moments on the design, so that all logs share its program."""
    data = GAUSSIAN.prepare(scores)
    assert all(np.array_equal(data[name], design[name]) for name in ("n", "freedom", "complete"))
    return design.with_arrays({**design.arrays, "mean": data["mean"], "squares": data["squares"]})


def _layers_held(posterior: Any, truth: Mapping[str, Any]) -> dict[str, float]:
    """Share of judges whose spread is between the posterior's deciles."""
    found = {}
    for name in LAYERS:
        low, high = posterior[name].quantile([0.1, 0.9], dim=("chain", "draw")).to_numpy()
        true = np.array(list(truth[name].values())) if name == "noise" else truth[name]
        found[name] = float(np.mean((low <= true) & (true <= high)))
    return found


def _shares_held(posterior: Any, data: Data, truth: Mapping[tuple[str, str], float]) -> dict[str, float]:
    found = GAUSSIAN.estimates(posterior, data, prob=0.8).with_truth(truth).frame.dropna(subset="truth")
    held = (found["lower"] <= found["truth"]) & (found["truth"] <= found["upper"])
    return held.groupby(found["estimand"]).mean().to_dict()


@pytest.mark.slow
def test_the_posterior_is_calibrated_and_a_wrong_one_is_found(small: Data, monkeypatch: pytest.MonkeyPatch) -> None:
    options: dict[str, Any] = {"replicates": SETS, "ranked": 31, "seed": 5, **CHAINS}
    right = sbc(GAUSSIAN, small, **options)
    assert right.frame["adjusted"].min() > error_budget.level(), right.summary
    truthful = PointwiseScores.simulate

    def simulate(self: PointwiseScores, key: Any, data: Data) -> dict[str, Any]:
        sites = dict(truthful(self, key, data))
        return {**sites, "squares": 2 * sites["squares"]}

    monkeypatch.setattr(PointwiseScores, "simulate", simulate)
    assert sbc(GAUSSIAN, small, **options).frame["adjusted"].min() < error_budget.level()


@pytest.mark.slow
def test_levels_have_nearly_the_reliability_of_numbers() -> None:
    log = simulate_scores(seed=6, responses=40, trials=5, rounded=True, **ONE).scores
    found = fit_many(ORDINAL, [log], engine="laplace")
    assert found.gate(0).passed, found.gate(0).reasons
    level = float(components(found.posterior(0), found.data[0])["icc"].mean())
    # Half of the ICC's standard error of .06 here, and the prior's pull.
    assert level == pytest.approx(_icc_of_anova(log), abs=0.03)


# Scores that are not normal


def _unlike(seed: int, *, freedom: float, items: int = 150) -> Scores:
    """Four scores of responses of which, with few degrees of freedom, a few lie far off and a few are noisy."""
    rng = np.random.default_rng(seed)
    spread = rng.standard_t(2 * freedom + 3, size=(items, 1)) / np.sqrt((2 * freedom + 3) / (2 * freedom + 1))
    noise = np.sqrt(0.3 * rng.chisquare(freedom, size=(items, 1)) / freedom) * rng.normal(size=(items, 4))
    frame = pd.DataFrame(spread + noise).melt(ignore_index=False, var_name="trial", value_name="score")
    return Scores.from_frame(frame.rename_axis("item").reset_index().assign(judge="j"))


@pytest.mark.parametrize("freedom", [1.0, 400.0])
def test_draws_of_the_icc_vary_as_the_jackknife_does(freedom: float) -> None:
    log = _unlike(2, freedom=freedom)
    data = GAUSSIAN.prepare(log)
    of_icc, of_noise, of_mean = np.asarray(data[EXCESS])[0]
    assert (of_icc > 1.2) == (of_noise > 1.4) == (freedom == 1.0)
    assert of_mean == pytest.approx(1.0, abs=0.01)  # of responses that are an item each
    baseline = score_baselines(count_scores(log), bootstrap=0).estimates.where(estimand="icc").frame.set_index("method")
    made = fit(GAUSSIAN, log, engine=Laplace(draws=2000), seed=0)
    row = made.estimates().where(estimand="icc").frame.iloc[0]
    jackknife = baseline.loc["jackknife"]
    assert row["point"] == pytest.approx(jackknife["point"], abs=0.01)
    assert row["upper"] - row["lower"] == pytest.approx(jackknife["upper"] - jackknife["lower"], rel=0.15)
    # What is drawn from the model is normal, and is not stretched.
    again = GAUSSIAN.replicated(data, {"mean": np.asarray(data["mean"])})
    assert (np.asarray(again[EXCESS]) == 1).all()
    prior = made.posterior.isel(draw=slice(50))
    plain, before = components(prior, data)["icc"], GAUSSIAN.before_data(prior, data)["icc"]
    np.testing.assert_allclose(before.transpose("chain", "draw", "block"), plain.transpose("chain", "draw", "block"))


@pytest.mark.slow
def test_intervals_of_the_icc_hold_where_scores_are_not_normal() -> None:
    """Of responses whose noise differs, .77 of the normal model's own intervals did."""
    logs = [_unlike(100 + k, freedom=1.0) for k in range(60)]
    fits = fit_many(GAUSSIAN, logs, engine=Hmc(draws=200, tune=300), seed=1)
    truth = 1 / 1.3
    found = [one.where(estimand=("icc", "score_sd")).frame.set_index("estimand") for one in fits.estimates()]
    held = np.mean([row.loc["icc", "lower"] <= truth <= row.loc["icc", "upper"] for row in found])
    noise = np.mean([row.loc["score_sd", "lower"] <= 0.3**0.5 <= row.loc["score_sd", "upper"] for row in found])
    normal = [components(fits.posterior(k), fits.data[k])["icc"] for k in range(len(logs))]
    ends = [np.quantile(draws, [0.025, 0.975]) for draws in normal]
    assert np.mean([low <= truth <= high for low, high in ends]) < 0.85
    # Of 60 intervals of .95, .86 is three standard errors below.
    assert held > 0.86
    assert noise > 0.86


def _alike(seed: int, *, items: int = 150, responses: int = 5) -> Scores:
    """Two judges' three scores of responses, of which those of one item are alike, more so by one of the judges."""
    rng = np.random.default_rng(seed)
    size = (items, responses, 1, 1)
    of_item, of_response = rng.standard_t(4, size=(items, 1, 1, 1)), rng.normal(size=size)
    own = rng.normal(0, 0.6, size=(items, responses, 2, 1)) + np.array([0.0, 0.5])[:, None] * of_item
    scores = of_item + of_response + own + rng.normal(0, 0.7, size=(items, responses, 2, 3))
    named = pd.MultiIndex.from_product(
        [map(str, range(n)) for n in scores.shape], names=["item", "response", "judge", "trial"]
    )
    return Scores.from_frame(pd.Series(scores.ravel(), index=named, name="score").reset_index())


def _between_judges(frame: pd.DataFrame) -> float:
    """Log odds of the ICC of single scores by different judges, by moments."""
    table: dict[str, Any] = {"index": ["item", "response"], "columns": "judge", "values": "score", "observed": True}
    mean, noise = (frame.pivot_table(aggfunc=of, **table) for of in ("mean", "var"))
    covariance = np.cov(mean.to_numpy().T, ddof=0)
    total = (np.diag(covariance) + noise.mean() * (1 - 1 / 3)).mean() + mean.mean().var(ddof=1)
    ratio = covariance[0, 1] / total
    return float(np.log(ratio / (1 - ratio)))


def test_means_and_the_icc_between_judges_vary_as_items_do() -> None:
    """Next to the jackknife, which leaves out an item at a time."""
    log = _alike(3)
    data, frame = GAUSSIAN.prepare(log), log.frame
    items = frame["item"].unique()
    left = [frame[frame["item"] != item] for item in items]
    found = np.array([_between_judges(one) for one in left])
    error = np.sqrt((len(items) - 1) * found.var())
    # To first order, which is 2.7 % less than the jackknife here, and 6 % with 40 items.
    assert data[JUDGES_ERROR][0] == pytest.approx(error, rel=0.04)
    means = np.array([one.groupby("judge", observed=True)["score"].mean() for one in left])
    errors = np.sqrt((len(items) - 1) * means.var(axis=0))
    made = fit(GAUSSIAN, log, engine=Laplace(draws=2000), seed=0)
    rows = made.estimates().frame
    width = (rows["upper"] - rows["lower"]) / (2 * 1.96)
    # Widths of 8,000 draws are known to 1.1 %: three standard errors, and what the prior takes.
    np.testing.assert_allclose(width[rows["estimand"] == "mean_score"], errors, rtol=0.04)
    both = rows[rows["estimand"] == "icc[judges]"].iloc[0]
    odds = np.log([both[end] / (1 - both[end]) for end in ("lower", "upper")])
    # The same, and what is to first order above.
    assert np.diff(odds)[0] / (2 * 1.96) == pytest.approx(error, rel=0.08)
    # As the density has them, they vary by less than two thirds of it.
    plain = components(made.posterior, data)
    assert (plain["mean"].std(("chain", "draw")) < 0.67 * errors).all()
    again = GAUSSIAN.replicated(data, {})
    assert again[JUDGES_ERROR][0] == 0
