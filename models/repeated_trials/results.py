"""What a posterior of `repeated_trials` says of every judge: flip rates, bias, budgets, layers.

Their columns are those of the frequentist tables (`bayesjudge.baselines.reliability`), so that the two can
be put side by side.

A verdict on item i is worth 1 for a, 0 for b, ½ for a tie. For a judge, a condition, an order and a trial
drawn at random among those that the item was asked under, the law of total variance splits the variance of
its worth::

    Var = E Var(trial | judge, condition, order)        stochastic
        + E Var(order | judge, condition)               position
        + E Var(condition | judge)                      protocol
        + Var(judge)                                    judge identity

each as the variance of conditional means. Shares are of the sum over items of these four; how items differ is
not noise and is no part of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from bayesjudge.counts.arrays import sums_within
from bayesjudge.effects import Formula
from bayesjudge.estimates import Estimates
from bayesjudge.estimates.posterior import summary_rows
from bayesjudge.maths.majority import NEVER_DIFFER, TRIALS, of_orders_shown, swap_risk, trials_label
from bayesjudge.model import Data
from bayesjudge.models.repeated_trials.added_results import category_parts, effect_rows
from bayesjudge.models.repeated_trials.data import CLUSTER
from bayesjudge.models.repeated_trials.majorities import ALL, TARGETS, TIERS, Majorities, majorities
from bayesjudge.models.repeated_trials.verdict_draws import VerdictDraws, verdict_draws
from bayesjudge.tables.words import OUTCOMES

if TYPE_CHECKING:
    import xarray as xr

    from bayesjudge.estimates import Population
    from bayesjudge.models.repeated_trials import RepeatedTrials


#: True gaps of two adjacent models, as a share of the questions, whose risk of swapping ranks is given.
GAPS = (0.01, 0.05, 0.10)
UNIDENTIFIED = "the order of presentation was not recorded: position bias is not identified"
ONE_ORDER = "one order only: position bias cannot be distinguished from preference, and rests on the prior"
ONCE = "no comparison was repeated in one order: how often such repeats differ rests on the prior"


@dataclass(frozen=True, eq=False, kw_only=True)
class TrialResults:
    """One posterior's answers, which share its draws and what majorities of K trials would say."""

    label: str
    formulas: tuple[Formula, ...]
    posterior: xr.Dataset
    draws: VerdictDraws
    majorities: list[Majorities]

    @property
    def data(self) -> Data:
        """What was fitted."""
        return self.draws.data

    def estimates(self, *, prob: float) -> Estimates:
        """Rows by judge (``unit``) and condition (``group``, empty where there is one), then of all judges."""
        common = {"method": self.label, "prob": prob}
        rows = [row for one in self.majorities for row in _judge_rows(one, common)]
        rows += _position_rows(self.posterior, self.draws, common)
        rows += _decisiveness_rows(self.posterior, self.data, common)
        rows += effect_rows(self.formulas, self.posterior, self.data, common)
        return Estimates.from_rows(rows + _layer_rows(self.draws, self.data, common))

    def items(self, *, prob: float) -> pd.DataFrame:
        """One row a judge, condition and item.

        Returns: ``judge, group, item, category, trials``; ``flip_rate, flip_rate_lower, flip_rate_upper`` in the
            long run; ``majority`` (most probably) and ``p_majority``, how probably; for each of `TARGETS`
            ``minimum_trials_90`` with its interval (∞ where more than the largest number tried); ``stratum``.
        """
        return pd.concat([_items(one, self.data, prob) for one in self.majorities], ignore_index=True)

    def curves(self, *, prob: float, observed: bool = True) -> pd.DataFrame:
        """P(the majority of K trials is the right one), mean over items, by judge, condition and stratum.

        Returns: ``judge, group, stratum, reference, trials, point, lower, upper, items``. The reference ``true`` is the
            judge's majority in the long run; ``observed``, where asked for, the majority of the trials that were
            made, met by the majority of K further ones.
        """
        return pd.DataFrame([row for one in self.majorities for row in _curve(one, prob, observed)])

    def minimum(self, *, prob: float) -> pd.DataFrame:
        """Smallest number of trials whose mean probability of the true majority reaches a target.

        Returns: ``judge, group, stratum, target, point, lower, upper``: posterior median and interval, ∞ where no
            number up to the largest tried will do.
        """
        return pd.DataFrame(
            [
                {
                    **_key(one.part, stratum),
                    "target": target,
                    **quantile_rows(one.minimum_trials(target, stratum), prob=prob),
                }
                for one in self.majorities
                for stratum in one.strata
                for target in TARGETS
            ]
        )


def trial_results(
    model: RepeatedTrials, posterior: xr.Dataset, data: Data, *, population: Population = "superpopulation"
) -> TrialResults:
    """Draw verdict distributions once and look every number of trials up once."""
    draws = verdict_draws(model, posterior, data, population=population)
    return TrialResults(
        label=model.label, formulas=model.added(), posterior=posterior, draws=draws, majorities=majorities(draws)
    )


def headline(model: RepeatedTrials, posterior: xr.Dataset, data: Data) -> dict[str, xr.DataArray]:
    """Mean flip rate of every judge under its conditions, and γ where it is identified."""
    import xarray as xr

    draws = verdict_draws(model, posterior, data)
    parts = [
        draws.array(part.mean(part.flip_rate)).expand_dims(judge=[" | ".join(filter(None, part.name))])
        for part in draws.parts()
    ]
    found = {"flip_rate": xr.concat(parts, dim="judge")}
    return found | ({"position": posterior["position"]} if "position" in posterior else {})


def quantile_rows(draws: Any, *, prob: float) -> dict[str, float]:
    """Median and equal-tailed interval of draws (chain, draw) that may be infinite."""
    low, middle, high = np.quantile(draws, [(1 - prob) / 2, 0.5, (1 + prob) / 2], method="inverted_cdf")
    return {"point": float(middle), "lower": float(low), "upper": float(high)}


def _judge_rows(one: Majorities, common: dict[str, Any]) -> list[dict[str, Any]]:
    part = one.part
    judge, group = part.name
    fixed = {"judge": judge, "group": group}

    def row(estimand: str, values: Any, *, of: VerdictDraws = part, **more: Any) -> list[dict[str, Any]]:
        array = part.array(values).expand_dims(judge=[judge])
        return summary_rows(array, estimand=estimand, n={judge: of.items}, extra=fixed, **common, **more)

    trials = part.observed.sum(1)
    flips = part.shared_mean(part.flip_rate, part.observed_flips)
    rows = [{**found, "note": _of_orders(part)} for found in row("flip_rate", flips)]
    rows += row(f"flip_rate[{trials_label(trials)}]", part.replicated_flip_rate)
    if part.ordered:
        once = {} if part.repeated else {"note": ONCE}
        same = row("flip_rate[same order]", part.same_order_flip_rate)
        rows += [{**found, **once} for found in same]
    rows += row("disagreement", part.shared_mean(part.disagreement, part.observed_disagreement))
    ties = part.shared_mean(part.q[..., 2], part.observed[:, 2] / trials)
    rows += row("tie_rate", ties) if part.data.facts["ties"] else []
    for tier in TIERS:
        rows += row(f"noise_budget[K={tier}]", part.items * (1 - one.match[ALL, tier]))
    error, weight = 1 - part.match(1), part.weight[..., part.units[:, 1]]
    error *= ((1 - one.match[ALL, 1]) / np.maximum(part.mean(error), 1e-300))[..., None]
    for gap in GAPS:
        rows += row(f"swap_risk[gap={gap:.0%}]", swap_risk(error, gap=gap, weight=weight))
    for target in TARGETS:
        smallest: dict[str, Any] = {**quantile_rows(one.minimum_trials(target), prob=common["prob"])}
        smallest["note"] = _of_orders(part)
        if part.repeats_itself:
            smallest = {**dict.fromkeys(("point", "lower", "upper"), np.nan), "note": NEVER_DIFFER}
        rows.append(
            {"estimand": f"minimum_trials[{target:.0%}]", "unit": judge, "n": part.items, **fixed, **common, **smallest}
        )
    if part.both_orders:
        rows += row("position_effect", part.position_effect, signed=True)
    for category, some in category_parts(part):
        rows += row(f"flip_rate[{category}]", some.mean(some.flip_rate), of=some)
        if some.both_orders:
            rows += row(f"position_effect[{category}]", some.position_effect, of=some, signed=True)
    return rows


def _of_orders(part: VerdictDraws) -> str:
    """Of which orders a rate is, where it is not of both; empty where none is known."""
    return of_orders_shown(part.in_both, part.items) if part.ordered else ""


def _position_rows(posterior: xr.Dataset, draws: VerdictDraws, common: dict[str, Any]) -> list[dict[str, Any]]:
    """γ of every judge, on the logit scale; its size alone where orders were not recorded."""
    data = draws.data
    notes = {
        judge: "" if both else ONE_ORDER
        for judge, both in zip(data.coords["judge"], data.facts["both_orders"], strict=True)
    }
    rows = []
    for site, dim in (("position", "ordered_judge"), ("position_size", "unordered_judge")):
        if site in posterior:
            values = _as_clusters_leave_it(posterior[site], draws) if site == "position" else posterior[site]
            found = summary_rows(values, estimand=f"{site}[logit]", n=data.units, signed=site == "position", **common)
            note = {**notes, **({} if site == "position" else dict.fromkeys(data.coords[dim], UNIDENTIFIED))}
            rows += [{**row, "judge": row["unit"], "note": note[row["unit"]]} for row in found]
    return rows


def _as_clusters_leave_it(position: xr.DataArray, draws: VerdictDraws) -> xr.DataArray:
    """γ (chain, draw, ordered_judge) as far from its mean as the root of the design effect of each judge's items."""
    if CLUSTER not in draws.data.arrays:
        return position
    code = {judge: j for j, judge in enumerate(draws.data.coords["judge"])}
    judges = [code[judge] for judge in position["ordered_judge"].to_numpy().tolist()]
    times = np.sqrt([draws.where(draws.units[:, 0] == j).position_design for j in judges])
    centre = position.mean(("chain", "draw"))
    return centre + (position - centre) * position["ordered_judge"].copy(data=times)


def _decisiveness_rows(posterior: xr.Dataset, data: Data, common: dict[str, Any]) -> list[dict[str, Any]]:
    """κ of temperatures against the reference and of judges against their mean; correlation of trials."""
    import xarray as xr

    rows: list[dict[str, Any]] = []
    if "decisiveness" in posterior:
        (base,) = data.coords["reference_temperature"]
        kappa = xr.DataArray(np.exp(posterior["decisiveness"]))
        found = summary_rows(kappa, estimand="decisiveness", **common)
        rows += [{**row, "unit": f"{row['unit']} / {base}", "n": data.size("item")} for row in found]
    by_judge = {}
    if "judge_decisiveness" in posterior:
        log = posterior["judge_decisiveness"]
        by_judge["judge_decisiveness"] = xr.DataArray(np.exp(log - log.mean("judge")))
    if "repeat_correlation" in posterior:
        by_judge["repeat_correlation"] = posterior["repeat_correlation"]
    repeated = np.bincount(data["judge"], weights=np.asarray(data["total"]) > 1) > 0
    once = {judge: "" if several else ONCE for judge, several in zip(data.coords["judge"], repeated, strict=True)}
    for estimand, draws in by_judge.items():
        found = summary_rows(draws, estimand=estimand, n=data.units, **common)
        notes = once if estimand == "repeat_correlation" else {}
        rows += [{**row, "judge": row["unit"], "note": notes.get(row["unit"], "")} for row in found]
    return rows


def _layer_rows(draws: VerdictDraws, data: Data, common: dict[str, Any]) -> list[dict[str, Any]]:
    """Share of each layer in the variance of an item's verdicts, over all judges and conditions."""
    shares, varied = layer_shares(draws)
    shown = data.size("ordered_judge") + data.size("unordered_judge")
    left = [name for name in LAYERS if not varied[name] and (name != "position" or shown)]
    note = f"not varied or not recorded, so inside the other layers: {', '.join(left)}" if left else ""
    fixed = {**common, "n": {"all judges": data.size("item")}}
    rows = []
    for layer in LAYERS:
        if varied[layer]:
            share = draws.array(shares[layer]).expand_dims(unit=["all judges"])
            rows += summary_rows(share, estimand=f"variance_share[{layer}]", **fixed)
    return [{**row, "note": note} for row in rows]


def _key(part: VerdictDraws, stratum: str) -> dict[str, str]:
    return {"judge": part.name[0], "group": part.name[1], "stratum": stratum}


def _curve(one: Majorities, prob: float, observed: bool) -> Iterator[dict[str, Any]]:
    of_trials = {trials: one.part.match_observed(trials) for trials in TRIALS} if observed else {}
    for stratum, mask in one.strata.items():
        key = {**_key(one.part, stratum), "items": int(mask.sum())}
        for trials in TRIALS:
            yield {**key, "reference": "true", "trials": trials, **_mean_row(one.match[stratum, trials], prob)}
        for trials, match in of_trials.items():
            yield {
                **key,
                "reference": "observed",
                "trials": trials,
                **_mean_row(one.part.mean(match[..., mask], mask), prob),
            }


def _items(one: Majorities, data: Data, prob: float) -> pd.DataFrame:
    part, tails = one.part, [(1 - prob) / 2, (1 + prob) / 2]
    item = part.units[:, 1]
    low, high = np.quantile(part.flip_rate, tails, axis=(0, 1))
    names = np.array(data.coords["category"], dtype=object)
    won = np.stack([(part.q.argmax(-1) == code).mean((0, 1)) for code in range(3)], axis=-1)
    columns: dict[str, Any] = {
        "judge": part.name[0],
        "group": part.name[1],
        "item": np.array(data.coords["item"], dtype=object)[item],
        "flip_rate": part.flip_rate.mean((0, 1)),
        "category": names[np.asarray(data["category_of"])[item]] if len(names) else None,
        "trials": part.observed.sum(-1),
        "flip_rate_lower": low,
        "flip_rate_upper": high,
        "majority": np.array(OUTCOMES, dtype=object)[won.argmax(-1)],
        "p_majority": won.max(-1),
    }
    for target, values in one.smallest.items():
        ends = np.quantile(values, [tails[0], 0.5, tails[1]], axis=(0, 1), method="inverted_cdf")
        name = f"minimum_trials_{target * 100:g}"
        columns |= dict(zip((f"{name}_lower", name, f"{name}_upper"), ends, strict=True))
    return pd.DataFrame(columns).assign(stratum=one.stratum.astype(object))


def _mean_row(values: Any, prob: float) -> dict[str, float]:
    low, high = np.quantile(values, [(1 - prob) / 2, (1 + prob) / 2])
    return {"point": float(np.mean(values)), "lower": float(low), "upper": float(high)}


LAYERS = ("stochastic", "position", "protocol", "judge")


def layer_shares(draws: VerdictDraws) -> tuple[dict[str, Any], dict[str, bool]]:
    """Share of each layer, (chain, draw), and whether the layer was varied at all.

    Returns: shares: They sum to 1.; varied: Whether some item was asked in both orders, under several conditions, by
        several judges.
    """
    codes = draws.units[draws.unit]
    first = draws.pi[..., 0] + draws.pi[..., 2] / 2
    square = draws.pi[..., 0] + draws.pi[..., 2] / 4
    mean, keys = first, np.column_stack([codes[:, 1], codes[:, 0], codes[:, 2], draws.order])
    spread, varied = {"stochastic": (square - first**2, keys)}, {"stochastic": True}
    for layer, width in (("position", 3), ("protocol", 2), ("judge", 1)):
        upper, place = np.unique(keys[:, :width], axis=0, return_inverse=True)
        place = place.reshape(-1)
        mean, variance = _moments(mean, place, len(upper))
        spread = {name: _up(values, at, width) for name, (values, at) in spread.items()}
        spread[layer] = (variance, upper)
        varied[layer] = bool((np.bincount(place) > 1).any())
        keys = upper
    sums = {name: (values * draws.weight[..., at[:, 0]]).sum(-1) for name, (values, at) in spread.items()}
    total = sum(sums.values())
    return {name: values / np.where(total > 0, total, 1.0) for name, values in sums.items()}, varied


def _moments(values: Any, place: Any, groups: int) -> tuple[Any, Any]:
    """Mean and population variance within groups along the last axis."""
    mean, square = (_mean(part, place, groups) for part in (values, values**2))
    return mean, np.maximum(square - mean**2, 0.0)


def _mean(values: Any, place: Any, groups: int) -> Any:
    total = sums_within(np.moveaxis(values, -1, 0), place, groups)
    return np.moveaxis(total / np.bincount(place, minlength=groups).reshape(-1, *[1] * (values.ndim - 1)), 0, -1)


def _up(values: Any, keys: Any, width: int) -> tuple[Any, Any]:
    """Means over the groups that share the first ``width`` codes."""
    upper, place = np.unique(keys[:, :width], axis=0, return_inverse=True)
    return _mean(values, place.reshape(-1), len(upper)), upper
