"""Every slot of every model: another prior changes both densities alike, the method's name, and what is stored."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import twins

from bayesjudge.datasets.small import KIND_OF_MODEL, small_table
from bayesjudge.inference import Laplace, fit, fit_many, load_fit
from bayesjudge.inference.programs.density import density
from bayesjudge.model import GenerativeModel, find_model, with_parameters
from bayesjudge.models.conditional_panel import ConditionalPanel
from bayesjudge.models.judge_error import JudgeError

#: For a slot of each support, a prior of another family.
OTHER = {"any number": "StudentT(4, 0.3, 1.5)", "above 0": "LogNormal(-0.5, 0.7)", "between 0 and 1": "Beta(16, 4)"}
VARIANTS: dict[str, list[GenerativeModel]] = {
    "judge_error": [JudgeError(pooling="shared"), JudgeError(pooling="specific")],
    "conditional_panel": [ConditionalPanel(pooling="specific")],
}


def cases() -> list[Any]:
    models = [model for name in KIND_OF_MODEL for model in (find_model(name)(), *VARIANTS.get(name, []))]
    slots = [(model, slot) for model in models if isinstance(model, GenerativeModel) for slot in model.priors]
    return [pytest.param(model, slot, id=f"{model.label}-{slot}") for model, slot in slots]


@pytest.mark.parametrize(("model", "slot"), cases())
def test_another_prior_changes_both_densities_alike(model: GenerativeModel, slot: str) -> None:
    data = model.prepare(small_table(KIND_OF_MODEL[model.name]))
    default, other = model.priors[slot].default, model.with_priors({slot: OTHER[model.priors[slot].default.support]})
    points = twins.random_points(other, data, points=5, scale=0.7)
    ours = twins.numpyro_log_densities(other, data, points)[0]
    np.testing.assert_allclose(ours, twins.pymc_log_densities(other, data, points), rtol=1e-10, atol=1e-10)
    assert np.abs(ours - twins.numpyro_log_densities(model, data, points)[0]).min() > 1e-6
    assert f"{slot}~{other.chosen_priors[slot]}" in other.label
    assert other.with_priors({slot: default}) == model


@pytest.mark.parametrize(("model", "slot"), cases())
def test_a_second_prior_of_a_family_needs_no_second_program(model: GenerativeModel, slot: str) -> None:
    wide = model.with_priors({slot: model.priors[slot].default.widened(2.0)})
    plain = model.prepare(small_table(KIND_OF_MODEL[model.name]))
    data, other = (with_parameters(one, plain) for one in (model, wide))
    assert density(model, data) is density(wide, other)
    at = np.linspace(-0.5, 0.7, density(model, data).size)
    one, two = (float(density(model, part).potential(at, part.arrays)) for part in (data, other))
    alone = [float(density(part, plain).potential(at, plain.arrays)) for part in (model, wide)]
    assert one != two
    np.testing.assert_allclose([one, two], alone, rtol=1e-12)


def test_a_fit_is_stored_with_its_priors(tmp_path: Path) -> None:
    log, model = small_table("verdicts"), JudgeError(pooling="shared").with_priors(sensitivity="160/200")
    made = fit(model, log, engine=Laplace(draws=200, chains=2))
    again = load_fit(made.save(tmp_path / "fit.nc"))
    assert again.model == model
    assert again.model.label == "bayes:judge_error[shared, sensitivity~Beta(161, 41)]"
    assert made.manifest["options"]["given"] == [["sensitivity", {"family": "Beta", "parameters": [161.0, 41.0]}]]
    assert made.manifest["data"] == fit(JudgeError(pooling="shared"), log, engine=Laplace(draws=200)).manifest["data"]
    assert not [name for name in made.tree["constant_data"] if str(name).startswith("prior:")]


def test_a_study_of_the_judge_narrows_what_is_said_of_it() -> None:
    log = small_table("verdicts")
    model = JudgeError(pooling="shared")
    wide, known = (
        fit_many(one, [log], engine="laplace").posterior(0)["mu_sensitivity"]
        for one in (model, model.with_priors(sensitivity="1600/2000"))
    )
    assert float(known.std()) < 0.5 * float(wide.std())
    assert float(known.mean()) == pytest.approx(np.log(4), abs=0.1)
