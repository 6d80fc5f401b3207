"""Models and baselines that another package might register; posteriors of the models are known exactly.

They are written against the `Model` protocol alone, so what works for them works for anyone's model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bayesjudge.baseline import Baseline
from bayesjudge.estimates import Estimates
from bayesjudge.estimates.posterior import differences, summary_rows
from bayesjudge.model import Data
from bayesjudge.models.bradley_terry import BradleyTerry
from bayesjudge.models.repeated_trials import RepeatedTrials
from bayesjudge.models.verdict_agreement import VerdictAgreement


@dataclass(frozen=True, kw_only=True)
class Coin:
    """Heads of coin c among n_c tosses: ``Binomial(n_c, p_c)``, ``p_c ~ Beta(a, b)``.

    The posterior is ``Beta(a + heads, b + tails)``. These are no counts of exchangeable observations: one
    coin can be left out, not one toss.
    """

    prior: tuple[float, float] = (1.0, 1.0)

    @property
    def name(self) -> str:
        return "coin"

    @property
    def label(self) -> str:
        return "bayes:coin"

    def prepare(self, table: Sequence[tuple[int, int]]) -> Data:
        heads, tosses = np.array(table, dtype=np.int64).T
        dims = {"heads": ("coin",), "tosses": ("coin",)}
        coords = {"coin": tuple(f"c{k}" for k in range(len(heads)))}
        return Data(arrays={"heads": heads, "tosses": tosses}, dims=dims, coords=coords, observed="heads")

    def numpyro(self, data: Data) -> None:
        import numpyro
        from numpyro import distributions as dist

        with numpyro.plate("coin", data.size("coin"), dim=-1):
            p = numpyro.sample("p", dist.Beta(*self.prior))
            numpyro.sample("heads", dist.Binomial(data["tosses"], p), obs=data.arrays.get("heads"))

    def pymc(self, data: Data) -> Any:
        import pymc as pm

        with pm.Model(coords={"coin": list(data.coords["coin"])}) as model:
            p = pm.Beta("p", *map(np.float64, self.prior), dims="coin")
            pm.Binomial("heads", n=data["tosses"], p=p, observed=data["heads"], dims="coin")
        return model

    def estimates(self, posterior: Any, data: Data, *, prob: float = 0.95) -> Estimates:
        rows = summary_rows(posterior["p"], estimand="bias", method=self.label, prob=prob, n=data.units)
        return Estimates.from_rows(rows)

    @property
    def statistics(self) -> Mapping[str, Any]:
        def shares(heads: Any, data: Data) -> dict[str, Any]:
            return {coin: heads[..., k] / data["tosses"][k] for k, coin in enumerate(data.coords["coin"])}

        return {"share of heads": shares}

    def simulate(self, key: Any, data: Data) -> Mapping[str, Any]:
        return prior_draw(self, key, data)


@dataclass(frozen=True, kw_only=True)
class Urn:
    """Balls drawn from urns: colours of urn s are ``Multinomial(total_s, π)``, ``π ~ Dirichlet(a, ...)``.

    All urns have one π. The posterior is ``Dirichlet(a + n)``, n the counts of each colour over urns. These
    are counts of exchangeable observations: one ball can be left out, and an urn's balls can be resampled.
    """

    concentration: float = 1.0

    @property
    def name(self) -> str:
        return "urn"

    @property
    def label(self) -> str:
        return f"bayes:urn[{self.concentration:g}]"

    def prepare(self, table: Sequence[Sequence[int]]) -> Data:
        counts = np.array(table, dtype=np.int64)
        urns, colours = counts.shape
        arrays = {
            "n": counts.ravel(),
            "colour": np.tile(np.arange(colours), urns),
            "stratum": np.repeat(np.arange(urns), colours),
            "total": counts.sum(1),
        }
        return Data(
            arrays=arrays,
            dims={name: ("strata",) if name == "total" else ("cell",) for name in arrays},
            coords={"cell": tuple(range(counts.size)), "strata": tuple(range(urns))},
            observed="n",
            weights="n",
            facts={"colours": colours},
        )

    def numpyro(self, data: Data) -> None:
        import jax.numpy as jnp
        import numpyro
        from numpyro import distributions as dist

        from bayesjudge.models.common.pattern_counts import PatternCounts

        pi = numpyro.sample("pi", dist.Dirichlet(jnp.full(data.facts["colours"], self.concentration)))
        with numpyro.plate("cell", data.size("cell"), dim=-1):
            cells = PatternCounts(jnp.log(pi)[data["colour"]], data["stratum"], data["total"])
            numpyro.sample("n", cells, obs=data.arrays.get("n"))

    def pymc(self, data: Data) -> Any:
        import pymc as pm
        import pytensor.tensor as pt

        with pm.Model() as model:
            pi = pm.Dirichlet("pi", np.full(data.facts["colours"], np.float64(self.concentration)))
            pm.Potential("n", (data["n"].astype(float) * pt.log(pi)[data["colour"]]).sum())
        return model

    def estimates(self, posterior: Any, data: Data, *, prob: float = 0.95) -> Estimates:
        rows = summary_rows(posterior["pi"], estimand="share", method=self.label, prob=prob, n=data.units)
        return Estimates.from_rows(rows)

    @property
    def statistics(self) -> Mapping[str, Any]:
        def share(n: Any, data: Data) -> dict[str, Any]:
            return {"all urns": (n * (data["colour"] == 0)).sum(-1) / n.sum(-1)}

        return {"share of the first colour": share}

    def simulate(self, key: Any, data: Data) -> Mapping[str, Any]:
        return prior_draw(self, key, data)


@dataclass(frozen=True, kw_only=True)
class Scales(Coin):
    """Heads of each coin, and its weight next to them: two kinds of observation of one unknown.

    ``weight_c ~ Normal(p_c, error)`` in addition to `Coin`'s heads, so the posterior density of p_c is
    ``Beta(a + heads, b + tails) × Normal(weight; p, error)``, known up to a sum over a grid.
    """

    error: float = 0.05

    @property
    def name(self) -> str:
        return "scales"

    @property
    def label(self) -> str:
        return "bayes:scales"

    def prepare(self, table: Sequence[tuple[int, int, float]]) -> Data:  # type: ignore[override] # a weight more
        data = super().prepare([(heads, tosses) for heads, tosses, _ in table])
        arrays = {**data.arrays, "weight": np.array([weight for *_, weight in table])}
        dims = {**data.dims, "weight": ("coin",)}
        return Data(arrays=arrays, dims=dims, coords=data.coords, observed="heads", also_observed=("weight",))

    def numpyro(self, data: Data) -> None:
        import numpyro
        from numpyro import distributions as dist

        with numpyro.plate("coin", data.size("coin"), dim=-1):
            p = numpyro.sample("p", dist.Beta(*self.prior))
            numpyro.sample("heads", dist.Binomial(data["tosses"], p), obs=data.arrays.get("heads"))
            numpyro.sample("weight", dist.Normal(p, self.error), obs=data.arrays.get("weight"))

    @property
    def statistics(self) -> Mapping[str, Any]:
        def gap(seen: Any, data: Data) -> dict[str, Any]:
            shares = seen["heads"] / data["tosses"]
            return {"largest": abs(seen["weight"] - shares).max(-1)}

        return {"weight against share of heads": gap}


@dataclass(frozen=True, kw_only=True)
class LabelledAlone(Coin):
    """Right answers among the labelled ones of each model, for the accuracy question: a `Coin` a model."""

    @property
    def name(self) -> str:
        return "labelled_alone"

    @property
    def label(self) -> str:
        return "bayes:labelled_alone"

    def prepare(self, table: Any) -> Data:
        answers = table.answers
        right, known = (
            np.bincount(answers.model, weights=answers.n * keep, minlength=len(table.models)).astype(int)
            for keep in (answers.label == 1, answers.label >= 0)
        )
        data = super().prepare(list(zip(right, known, strict=True)))
        return replace(data, coords={"coin": table.models})

    def accuracy(self, posterior: Any, data: Data, **_: Any) -> Any:  # noqa: ARG002  # part of the protocol
        return posterior["p"].rename(coin="system")

    def estimates(self, posterior: Any, data: Data, *, prob: float = 0.95) -> Estimates:
        draws, fixed = self.accuracy(posterior, data), {"method": self.label, "prob": prob}
        rows = summary_rows(draws, estimand="accuracy", **fixed)
        pairs = summary_rows(differences(draws, "system"), estimand="difference", signed=True, **fixed)
        return Estimates.from_rows([*rows, *pairs])


class OtherElo(BradleyTerry):
    """Leaderboard of another package."""

    @property
    def label(self) -> str:
        return "bayes:other_elo"


class OtherTrials(RepeatedTrials):
    """Repeatability by another package."""

    @property
    def label(self) -> str:
        return "bayes:other_trials"


class OtherAgreement(VerdictAgreement):
    """Trust by another package."""

    @property
    def label(self) -> str:
        return "bayes:other_agreement"


def _half(question: Any, estimand: str, unit: str) -> Baseline:
    def rows(counts: Any, *, options: Any) -> Estimates:
        row = {"estimand": estimand, "unit": unit, "method": "half", "point": 0.5, "lower": 0.0, "upper": 1.0}
        return Estimates.from_rows([{**row, "prob": options.prob}])

    return Baseline(name="half", question=question, estimates=rows)


#: One baseline a question, all of one name.
HALF = {
    "accuracy": _half("accuracy", "accuracy", "a"),
    "elo": _half("elo", "elo", "m0"),
    "reliability": _half("reliability", "flip_rate", "x"),
    "audit": _half("audit", "consistency", "all"),
}
accuracy_half, elo_half, reliability_half, audit_half = HALF.values()


def prior_draw(model: Any, key: Any, data: Data) -> Mapping[str, Any]:
    """Every sampled site of the model run without its observations."""
    import numpyro

    blank = data.with_arrays({name: a for name, a in data.arrays.items() if name not in data.observations})
    sites = numpyro.handlers.trace(numpyro.handlers.seed(model.numpyro, key)).get_trace(blank)
    return {name: site["value"] for name, site in sites.items() if site["type"] == "sample"}
