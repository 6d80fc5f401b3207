"""`pointwise_scores`: exact densities, symmetries, analysis of variance, recovery, calibration."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from bayesjudge.checks import coverage_table, sbc
from bayesjudge.datasets.scores import simulate_scores
from bayesjudge.errors import UsageError
from bayesjudge.inference import accelerator, fit, fit_many
from bayesjudge.inference.density import density
from bayesjudge.model import Data
from bayesjudge.models.pointwise_scores import PointwiseScores
from bayesjudge.models.pointwise_scores_results import components
from bayesjudge.models.score_levels import jax_lean, jax_log_levels
from bayesjudge.models.score_moments import CellMeans, ScaledChiSquares
from bayesjudge.tables import Scores

GAUSSIAN, ORDINAL = PointwiseScores(), PointwiseScores(likelihood="ordinal")
ONE = {"judges": ("heron",)}
DESIGNS: dict[str, dict[str, Any]] = {
    "one judge": ONE, "two judges": {}, "missing scores": {"missing": 0.3},
    "two trials": {"trials": 2, **ONE},
}  # fmt: skip


@pytest.fixture(autouse=True)
def _float64() -> None:
    accelerator.prepare()


def _log(seed: int = 1, **options: Any) -> Scores:
    return simulate_scores(seed=seed, **{"responses": 10, "trials": 4, **options}).scores


@pytest.mark.parametrize("name", DESIGNS)
def test_the_same_density_in_both_languages(name: str, same_density: Callable[..., None]) -> None:
    same_density(GAUSSIAN, GAUSSIAN.prepare(_log(**DESIGNS[name])), points=20)


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


def test_moments_have_the_density_of_the_scores() -> None:
    """Means and squares are sufficient: the density differs from that of the scores by a constant alone."""
    y = np.random.default_rng(0).normal(5, 2, size=(6, 3))
    n, freedom = jnp.full((6, 1), 3), jnp.array([12])
    squares = ((y - y.mean(1, keepdims=True)) ** 2).sum()
    ours, exact = [], []
    for centre, shared, noise in ((5.0, 1.0, 2.0), (4.0, 2.5, 0.7), (6.0, 0.1, 1.3)):
        cells = CellMeans(jnp.array([centre]), jnp.array([shared]), jnp.zeros(1), jnp.array([noise]), n)
        within = ScaledChiSquares(jnp.array([noise**2]), freedom)
        ours.append(float(cells.log_prob(jnp.asarray(y.mean(1, keepdims=True))).sum())
                    + float(within.log_prob(jnp.array([squares])).sum()))  # fmt: skip
        covariance = shared**2 + noise**2 * np.eye(3)
        exact.append(stats.multivariate_normal.logpdf(y, np.full(3, centre), covariance).sum())
    np.testing.assert_allclose(np.diff(ours), np.diff(exact), atol=1e-10)


def test_drawn_moments_have_the_right_moments() -> None:
    n = jnp.array([[2, 4]])
    cells = CellMeans(
        jnp.array([1.0, 2.0]), jnp.array([1.5, 0.5]), jnp.array([0.5, 0.2]), jnp.array([1.0, 2.0]), n
    )
    drawn = np.asarray(cells.sample(jax.random.key(0), (40_000,)))[:, 0]
    want = np.outer([1.5, 0.5], [1.5, 0.5]) + np.diag([0.25 + 0.5, 0.04 + 1.0])
    # Covariances of 40,000 draws are good to about 1.5 %.
    np.testing.assert_allclose(np.cov(drawn.T), want, rtol=0.06)


def _at(model: PointwiseScores, data: Data, values: dict[str, Any]) -> float:
    target = density(model, data)
    return -float(target.potential(target.unconstrain(values), accelerator.to_device(data.arrays)))


def test_relabelling_judges_permutes_the_density() -> None:
    data = GAUSSIAN.prepare(_log())
    target = density(GAUSSIAN, data)
    values = dict(
        target.constrain(jnp.asarray(np.random.default_rng(1).normal(size=target.size)), data.arrays)
    )
    turned = data.with_arrays({
        name: np.flip(a, data.dims[name].index("block")) if "block" in data.dims[name] else a
        for name, a in data.arrays.items()
    })  # fmt: skip
    flipped = {name: jnp.flip(v) if v.shape == (2,) else v for name, v in values.items()}
    assert _at(GAUSSIAN, data, values) == pytest.approx(_at(GAUSSIAN, turned, flipped), abs=1e-9)


def test_other_units_of_the_scores_change_no_reliability() -> None:
    frame = _log(**ONE).frame
    one, other = (
        GAUSSIAN.prepare(Scores.from_frame(f)) for f in (frame, frame.assign(score=10 * frame["score"] - 3))
    )
    found = [fit(GAUSSIAN, data, engine="laplace", draws=500).estimates() for data in (one, other)]
    icc, shifted = (table.where(estimand="icc").frame["point"][0] for table in found)
    assert icc == pytest.approx(shifted, abs=1e-6)


def test_the_icc_agrees_with_analysis_of_variance() -> None:
    """With 300 responses the prior hardly matters: posterior mean and ANOVA estimate agree closely."""
    log = simulate_scores(seed=2, responses=300, trials=4, **ONE)
    y = log.scores.frame.pivot_table(index="item", columns="trial", values="score").to_numpy()
    n, k = y.shape
    rows, columns = (k * y.mean(1).var(ddof=1), n * y.mean(0).var(ddof=1))
    error = ((y - y.mean(1, keepdims=True) - y.mean(0) + y.mean()) ** 2).sum() / ((n - 1) * (k - 1))
    anova = (rows - error) / (rows + (k - 1) * error + k * (columns - error) / n)
    table = fit(GAUSSIAN, log.scores, engine="laplace", draws=1000).estimates()
    # A tenth of the ICC's standard error of .018 here, and the prior's pull.
    assert table.where(estimand="icc").frame["point"][0] == pytest.approx(anova, abs=0.004)


def test_single_scores_are_refused() -> None:
    with pytest.raises(UsageError, match="scored twice"):
        GAUSSIAN.prepare(_log(trials=1))
    with pytest.raises(UsageError, match="ordinal"):
        ORDINAL.prepare(_log())
    with pytest.raises(UsageError, match="gaussian"):
        PointwiseScores(likelihood="normal")  # type: ignore[arg-type]  # what a user may do


@pytest.mark.slow
def test_shares_of_variance_are_recovered() -> None:
    log = simulate_scores(seed=4, responses=150, trials=6, noise={"heron": 0.5, "otter": 1.2})
    found = fit(GAUSSIAN, log.scores, draws=500, tune=500)
    table = found.estimates(prob=0.999).with_truth(log.truth).frame.dropna(subset="truth")
    assert len(table) == 6
    assert ((table["lower"] <= table["truth"]) & (table["truth"] <= table["upper"])).all()


@pytest.mark.slow
def test_the_four_layers_of_variance_cover_the_truth() -> None:
    """Responses, responses within a judge, trials, noise: spreads drawn as the prior draws them."""
    rng, unit, n = np.random.default_rng(7), 2.0, 40
    scale = {"response_spread": 1.0, "interaction_spread": 0.5, "trial_spread": 0.25, "noise": 1.0}
    # No spread below a tenth: scores that are all alike are refused.
    drawn = {name: np.abs(rng.normal(0, size * unit, n)) + 0.1 for name, size in scale.items()}
    truths = [{name: float(values[k]) for name, values in drawn.items()} for k in range(n)]
    logs = [simulate_scores(seed=k, responses=30, trials=4, **truth) for k, truth in enumerate(truths)]
    fits = fit_many(GAUSSIAN, [log.scores for log in logs], chains=2, draws=200, tune=300, seed=1)
    for name in scale:
        inside = []
        for k, truth in enumerate(truths):
            low, high = fits.posterior(k)[name].quantile([0.1, 0.9], dim=("chain", "draw")).to_numpy()
            inside += np.ravel((low <= truth[name]) & (truth[name] <= high)).tolist()
        # Two judges of one log are counted as one, the least favourable: exact bounds of 40 intervals of .8,
        # family-wise 1 % over four layers.
        bounds = stats.binom.ppf([0.00125, 0.99875], n, 0.8) / n
        assert bounds[0] <= np.mean(inside) <= bounds[1], name


@pytest.mark.slow
def test_levels_have_nearly_the_reliability_of_numbers() -> None:
    log = simulate_scores(seed=6, responses=40, trials=5, rounded=True, **ONE)
    number = fit(GAUSSIAN, log.scores, engine="laplace", draws=500)
    level = fit(ORDINAL, log.scores, chains=2, draws=250, tune=300, target_accept=0.8)
    one, other = (float(components(f.posterior, f.data)["icc"].mean()) for f in (number, level))
    # Rounding to whole numbers adds a twelfth to the noise's variance, in both.
    assert one == pytest.approx(other, abs=0.03)


@pytest.mark.slow
def test_the_posterior_is_calibrated_and_a_wrong_one_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    data = GAUSSIAN.prepare(_log(seed=3, responses=12, trials=3, **ONE))
    assert sbc(GAUSSIAN, data, replicates=100, chains=2, draws=150, tune=200, seed=5).passed
    truthful = PointwiseScores.simulate

    def simulate(self: PointwiseScores, key: Any, data: Data) -> dict[str, Any]:
        sites = dict(truthful(self, key, data))
        return {**sites, "squares": 2 * sites["squares"]}

    monkeypatch.setattr(PointwiseScores, "simulate", simulate)
    assert not sbc(GAUSSIAN, data, replicates=100, chains=2, draws=150, tune=200, seed=5).passed


@pytest.mark.slow
def test_the_icc_covers_the_truth() -> None:
    logs = [simulate_scores(seed=seed, responses=30, trials=4, **ONE) for seed in range(100)]
    fits = fit_many(GAUSSIAN, [log.scores for log in logs], chains=2, draws=200, tune=200)
    found = coverage_table(list(fits.estimates(prob=0.8)), logs[0].truth, prob=0.998)
    icc = found[found["estimand"] == "icc"].iloc[0]
    # Exact bounds of 100 intervals of .8: neither too few nor too many.
    assert icc["coverage_lower"] <= 0.8 <= icc["coverage_upper"]
