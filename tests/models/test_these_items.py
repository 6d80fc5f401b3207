"""Accuracy on exactly these items: labels where known, draws given the verdicts elsewhere."""

from __future__ import annotations

from typing import Any

import error_budget
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from scipy import stats
from scipy.special import logit

from bayesjudge.counts import VerdictCounts, count_verdicts
from bayesjudge.datasets import simulate_verdicts
from bayesjudge.inference import Hmc, fit_many
from bayesjudge.inference.programs import accelerator
from bayesjudge.inference.programs.density import density
from bayesjudge.inference.tree import posterior_dataset
from bayesjudge.models.judge_error import JudgeError
from bayesjudge.tables import Verdicts

MODELS = [JudgeError(pooling="shared"), JudgeError()]


@pytest.fixture(autouse=True)
def _float64() -> None:
    accelerator.prepare()


def log_of(*, labelled: int, items: int = 200, models: int = 2, seed: int = 3) -> tuple[VerdictCounts, pd.Series]:
    """Counts of a log with some items labelled, and the accuracies on its items, labels known or not."""
    names = tuple("abc"[:models])
    log = simulate_verdicts(
        seed=seed, models=names, accuracy=np.linspace(0.7, 0.6, models), youden=0.6, labelled=items, unlabelled=0
    )
    frame = log.verdicts.frame
    truth = frame.groupby("model")["label"].mean().astype(float)
    known = pd.factorize(frame["item"])[0] < labelled
    few = frame.assign(label=frame["label"].astype(float).where(known))
    return count_verdicts(Verdicts.from_frame(few)), truth


def accuracies(one: Any, *, prob: float = 0.95) -> pd.DataFrame:
    return one.where(estimand="accuracy (these items)").frame.set_index("unit")


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.label)
@pytest.mark.parametrize("models", [2, 3])
def test_labels_of_everything_leave_nothing_to_guess(model: Any, models: int) -> None:
    counts, truth = log_of(labelled=200, models=models)
    data = model.prepare(counts)
    target = density(model, data)
    # Whatever the posterior is.
    flat = np.random.default_rng(0).normal(size=(2, 50, target.size))
    posterior = posterior_dataset(target, data, flat)
    draws = model.accuracy(posterior, data, population="items")
    np.testing.assert_allclose(draws.std(("chain", "draw")), 0, atol=1e-12)
    np.testing.assert_allclose(draws.mean(("chain", "draw")), truth[list(draws["system"].values)], rtol=1e-12)
    rows = model.estimates(posterior, data, population="items").frame
    assert {"accuracy (these items)", "difference (these items)", "youden"} <= set(rows["estimand"])
    assert "accuracy" not in set(rows["estimand"])


def constant(values: dict[str, Any], draws: int = 4000) -> xr.Dataset:
    """A posterior that is sure of its parameters."""
    return xr.Dataset(
        {
            name: (("chain", "draw", *dims), np.broadcast_to(value, (1, draws, *np.shape(value))))
            for name, (dims, value) in values.items()
        }
    )


def test_known_parameters_give_bayes_theorem() -> None:
    counts, _ = log_of(labelled=0)
    model, data = JudgeError(pooling="shared"), None
    data = model.prepare(counts)
    theta, q1, q0 = np.array([0.7, 0.6]), 0.9, 0.7
    posterior = constant(
        {
            "theta": (("system",), theta),
            "mu_sensitivity": (("judge",), [logit(q1)]),
            "mu_specificity": (("judge",), [logit(q0)]),
        }
    )
    draws = model.accuracy(posterior, data, population="items")
    yes = theta * q1 / (theta * q1 + (1 - theta) * (1 - q0))
    no = theta * (1 - q1) / (theta * (1 - q1) + (1 - theta) * q0)
    by_model = pd.DataFrame({"m": counts.answers.model, "v": counts.answers.positives[:, 0], "n": counts.answers.n})
    n = by_model.pivot_table(index="m", columns="v", values="n", aggfunc="sum").to_numpy()
    mean = (n[:, 0] * no + n[:, 1] * yes) / n.sum(1)
    variance = (n[:, 0] * no * (1 - no) + n[:, 1] * yes * (1 - yes)) / n.sum(1) ** 2
    # 4,000 draws: means and variances of every model.
    most = error_budget.standard_errors(2 * len(mean))
    assert np.all(np.abs(draws.mean(("chain", "draw")) - mean) < most * np.sqrt(variance / 4000))
    np.testing.assert_allclose(draws.var(("chain", "draw")), variance, rtol=most * np.sqrt(2 / 4000))


def test_answers_to_one_item_are_right_and_wrong_together() -> None:
    """Labels that go together among the labelled items do so, as far as verdicts leave it open, elsewhere."""
    rng, names = np.random.default_rng(1), ("a", "b")
    right = rng.random(2000) < 0.6
    same = np.where(rng.random(2000) < 0.8, right, rng.random(2000) < 0.6)
    label = np.column_stack([right, same]).astype(float)
    item, model = (axis.ravel() for axis in np.indices(label.shape))
    shown = np.where(item < 1000, label.ravel(), np.nan)
    frame = pd.DataFrame(
        {"item": item, "model": np.array(names)[model], "label": shown, "verdict": rng.integers(0, 2, item.size)}
    )
    judge = JudgeError(pooling="shared")
    data = judge.prepare(Verdicts.from_frame(frame))
    posterior = constant(
        {
            "theta": (("system",), [0.6, 0.6]),
            "mu_sensitivity": (("judge",), [0.0]),
            "mu_specificity": (("judge",), [0.0]),
        }
    )
    draws = judge.accuracy(posterior, data, population="items").to_numpy()[0]
    # The verdicts are coins, so the labels' own correlation is what is left; 1,000 items know it to .02.
    correlation = np.corrcoef(label[:1000].T)[0, 1]
    assert np.corrcoef(draws.T)[0, 1] == pytest.approx(correlation, abs=0.05)
    assert correlation == pytest.approx(0.8, abs=0.05)


@pytest.mark.slow
@pytest.mark.parametrize(("model", "models", "sets"), [(MODELS[0], 2, 50), (MODELS[1], 2, 50), (MODELS[1], 3, 15)])
def test_intervals_hold_the_accuracy_on_these_items(model: Any, models: int, sets: int) -> None:
    """Of sets × models intervals at 95 %, as many hold as the exact binomial bound at 1e-3 asks for."""
    logs = [log_of(labelled=60, models=models, seed=seed) for seed in range(sets)]
    fits = fit_many(model, [counts for counts, _ in logs], engine=Hmc(chains=2, draws=250, tune=250), seed=1)
    hits, narrower = 0, []
    for k, (_, truth) in enumerate(logs):
        rows, usual = (
            model.estimates(fits.posterior(k), fits.data[k], population=population)
            for population in ("items", "superpopulation")
        )
        found = accuracies(rows)
        hits += int(sum(row["lower"] <= truth[unit] <= row["upper"] for unit, row in found.iterrows()))
        wide = usual.where(estimand="accuracy").frame.set_index("unit")
        narrower.append((found["upper"] - found["lower"]).mean() / (wide["upper"] - wide["lower"]).mean())
    assert hits >= stats.binom.ppf(error_budget.level(), sets * models, 0.95)
    assert np.mean(narrower) < 1
