"""Draws by estimand become rows once; the base class of models; what a question says that a model lacks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import xarray as xr
from scipy.stats import norm

from bayesjudge.errors import UsageError
from bayesjudge.estimates.posterior import EVERYWHERE, accuracy_quantities, estimates_of, headline, quantity
from bayesjudge.model import Data, GenerativeModel, GivesTrust, Model, find_model, lacks

RNG = np.random.default_rng(1)


def _draws(**coords: list[str]) -> xr.DataArray:
    values = RNG.uniform(0.2, 0.8, size=(2, 50, *map(len, coords.values())))
    return xr.DataArray(values, dims=("chain", "draw", *coords), coords=coords)


def _rows(**quantities: xr.DataArray) -> Any:
    return estimates_of(quantities, method="bayes:x", prob=0.9).frame


def test_rows_come_by_group_then_by_judge_then_by_quantity() -> None:
    groups = [EVERYWHERE, "law"]
    rates = _draws(group=groups, judge=["j", "k"], model=["a"])
    found = _rows(accuracy=_draws(group=groups, model=["a"]), sensitivity=rates, youden=rates)
    first = [("accuracy", ""), ("sensitivity", "j"), ("youden", "j"), ("sensitivity", "k"), ("youden", "k")]
    keys = list(found[["group", "estimand", "judge"]].itertuples(index=False, name=None))
    assert keys == [(group, *key) for group in groups for key in first]


def test_a_judge_alone_is_the_unit_and_a_single_group_has_no_name() -> None:
    found = _rows(beta=_draws(judge=["j", "k"], group=["all"]))
    assert list(found["unit"]) == ["j", "k"]
    assert set(found["judge"]) == set(found["group"]) == {""}


def test_numbers_and_notes_are_those_of_the_unit_within_its_group() -> None:
    theta = _draws(group=[EVERYWHERE, "law"], model=["a", "b"])
    theta[..., 1, 1] = np.nan  # b has no answer to a question of law
    found = _rows(accuracy=quantity(theta, n={"a": 9, "b": 8, "a | law": 3}, note={"b": "few labels"}))
    assert list(zip(found["unit"], found["n"], found["note"], strict=True)) == [
        ("a", 9.0, ""),
        ("b", 8.0, "few labels"),
        ("a", 3.0, ""),
    ]


def test_a_limit_reaches_what_it_must_unless_all_draws_are_alike() -> None:
    rate = _draws(model=["a", "b"])
    rate[..., 1] = 0.5
    found = _rows(sensitivity=quantity(rate, reach=dict.fromkeys(("a", "b"), (np.inf, 1.0))))
    assert found["upper"].tolist() == [1.0, 0.5]
    assert found["lower"].iloc[0] == pytest.approx(np.quantile(rate[..., 0], 0.05), rel=1e-12)


def test_an_accuracy_without_a_wrong_label_reaches_one_if_it_nearly_does() -> None:
    """θ ~ Beta(21, 1) after 20 right labels; Beta(40, 10) where verdicts without labels say that some are wrong."""
    near, far = RNG.beta(21, 1, size=(2, 2000)), RNG.beta(40, 10, size=(2, 2000))
    theta = xr.DataArray(
        np.stack([near, far, near, 1 - near], axis=-1),
        dims=("chain", "draw", "system"),
        coords={"system": ["near", "far", "one wrong", "none right"]},
    )
    labels = {"near": (0, 20), "far": (0, 5), "one wrong": (1, 19), "none right": (20, 0)}
    found = _rows(**accuracy_quantities(theta, n={}, labels=labels))
    rows = found[found["estimand"] == "accuracy"].set_index("unit")
    assert rows.loc["near", "upper"] == 1.0
    assert rows.loc["near", "lower"] == pytest.approx(np.quantile(near, 0.05), rel=1e-12)
    assert rows.loc["far", "upper"] == pytest.approx(np.quantile(far, 0.95), rel=1e-12)
    assert rows.loc["one wrong", "upper"] == pytest.approx(np.quantile(near, 0.95), rel=1e-12)
    assert rows.loc["none right", "lower"] == 0.0


def test_a_margin_is_the_half_width_of_a_normal_interval() -> None:
    spread = _draws(judge=["j"])
    found = _rows(score_margin=quantity(spread, margin=True))
    assert found["point"].iloc[0] == pytest.approx(norm.ppf(0.95) * float(spread.mean()))


def test_the_headline_is_what_is_marked_over_all_items() -> None:
    theta, share = _draws(group=[EVERYWHERE, "law"], system=["a"]), _draws(unit=["all", "code"])
    marked = {
        "accuracy": quantity(theta, headline=True),
        "consistency": quantity(share, headline=["all"]),
        "spread": quantity(share),
    }
    found = headline(marked)
    assert {name: draws.dims[2:] for name, draws in found.items()} == {
        "accuracy": ("system",),
        "consistency": ("unit",),
    }
    assert found["consistency"]["unit"].to_numpy().tolist() == ["all"]
    assert list(headline({"spread": share})) == ["spread"]


@dataclass(frozen=True, kw_only=True)
class CoinOfOnes(GenerativeModel):
    """The least that a model needs."""

    kind: str = "fair"
    by_group: bool = False
    prior_scale: float = 1.0

    def prepare(self, table: Any) -> Data:
        return Data(arrays={"n": np.asarray(table)}, dims={"n": ("toss",)}, coords={"toss": (0,)}, observed="n")

    def numpyro(self, data: Data) -> None:
        import numpyro
        from numpyro import distributions as dist

        p = numpyro.sample("p", dist.Beta(self.prior_scale, 1.0))
        numpyro.sample("n", dist.Bernoulli(p), obs=data.arrays.get("n"))

    def quantities(self, posterior: xr.Dataset, data: Data) -> dict[str, xr.DataArray]:
        return {"bias": quantity(posterior["p"], n={"bias": len(data["n"])})}


def test_a_model_of_three_methods_has_name_label_rows_and_checks() -> None:
    model = CoinOfOnes()
    assert isinstance(model, Model)
    assert (model.name, model.label) == ("coin_of_ones", "bayes:coin_of_ones")
    assert CoinOfOnes(kind="bent", by_group=True).label == "bayes:coin_of_ones[bent,group]"
    data = model.prepare([1])
    found = model.estimates(xr.Dataset({"p": _draws()}), data, prob=0.9).frame
    assert found[["estimand", "unit", "n"]].to_numpy().tolist() == [["bias", "bias", 1.0]]
    import jax

    assert set(model.simulate(jax.random.key(0), data)) == {"p", "n"}
    with pytest.raises(UsageError, match=r"has no PyMC model: use engine='nuts'"):
        model.pymc(data)
    with pytest.raises(UsageError, match="prior_scale must be above 0, got -1"):
        CoinOfOnes(prior_scale=-1)


def test_what_a_model_lacks_is_said_with_one_that_has_it() -> None:
    text = "bayes:judge_elo has no method trust, which this question needs; verdict_agreement has it"
    assert str(lacks(find_model("judge_elo")(), GivesTrust)) == text
