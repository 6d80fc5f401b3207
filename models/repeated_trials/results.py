"""What a posterior of `repeated_trials` says of every judge: flip rates, bias, budgets, layers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from bayesjudge.estimates import Estimates
from bayesjudge.estimates.posterior import summary_rows
from bayesjudge.maths.majority import swap_risk
from bayesjudge.model import Data
from bayesjudge.models.repeated_trials.layers import LAYERS, layer_shares
from bayesjudge.models.repeated_trials.verdict_draws import VerdictDraws, verdict_draws

if TYPE_CHECKING:
    import xarray as xr

    from bayesjudge.models.repeated_trials import RepeatedTrials

__all__ = ["GAPS", "TARGETS", "TIERS", "UNIDENTIFIED", "estimates", "headline", "quantile_rows"]

#: Numbers of trials whose noise budget is given: one, and the paper's three tiers (section 6.4).
TIERS = (1, 10, 20, 50)
#: Probabilities of the right majority that minimum numbers of trials are given for.
TARGETS = (0.90, 0.95)
#: True gaps of two adjacent models, as a share of the questions, whose risk of swapping ranks is given.
GAPS = (0.01, 0.05, 0.10)
UNIDENTIFIED = "the order of presentation was not recorded: position bias is not identified"
ONE_ORDER = "one order only: position bias cannot be told from preference, and rests on the prior"


def estimates(model: RepeatedTrials, posterior: xr.Dataset, data: Data, *, prob: float) -> Estimates:
    """Rows by judge (``unit``) and condition (``group``, empty where there is one), then of all judges."""
    draws = verdict_draws(model, posterior, data)
    common = {"method": model.label, "prob": prob}
    rows = [row for part in draws.parts() for row in _judge_rows(part, common)]
    rows += _position_rows(posterior, data, common) + _decisiveness_rows(posterior, data, common)
    return Estimates.from_rows(rows + _layer_rows(draws, data, common))


def headline(model: RepeatedTrials, posterior: xr.Dataset, data: Data) -> dict[str, xr.DataArray]:
    """Mean flip rate of every judge under its conditions, and γ where it is identified."""
    import xarray as xr

    draws = verdict_draws(model, posterior, data)
    parts = [
        draws.array(part.flip_rate.mean(-1)).expand_dims(judge=[" | ".join(filter(None, part.name))])
        for part in draws.parts()
    ]
    found = {"flip_rate": xr.concat(parts, dim="judge")}
    return found | ({"position": posterior["position"]} if "position" in posterior else {})


def quantile_rows(draws: Any, *, prob: float) -> dict[str, float]:
    """Median and equal-tailed interval of draws (chain, draw) that may be infinite."""
    low, middle, high = np.quantile(draws, [(1 - prob) / 2, 0.5, (1 + prob) / 2], method="inverted_cdf")
    return {"point": float(middle), "lower": float(low), "upper": float(high)}


def _judge_rows(part: VerdictDraws, common: dict[str, Any]) -> list[dict[str, Any]]:
    judge, group = part.name
    n, fixed = {judge: part.items}, {"judge": judge, "group": group}

    def row(estimand: str, values: Any, **more: Any) -> list[dict[str, Any]]:
        array = part.array(values).expand_dims(judge=[judge])
        return summary_rows(array, estimand=estimand, n=n, extra=fixed, **common, **more)

    rows = row("flip_rate", part.flip_rate.mean(-1)) + row("disagreement", part.disagreement.mean(-1))
    rows += row("tie_rate", part.q[..., 2].mean(-1))
    for trials in TIERS:
        rows += row(f"noise_budget[K={trials}]", part.items - part.match(trials).sum(-1))
    for gap in GAPS:
        rows += row(f"swap_risk[gap={gap:.0%}]", swap_risk(1 - part.match(1), gap=gap))
    for target in TARGETS:
        smallest = quantile_rows(part.minimum_trials(target), prob=common["prob"])
        rows.append({"estimand": f"minimum_trials[{target:.0%}]", "unit": judge, "n": part.items, **fixed,
                     **common, **smallest})  # fmt: skip
    if part.both_orders:
        rows += row("position_effect", part.position_effect.mean(-1), signed=True)
    return rows


def _position_rows(posterior: xr.Dataset, data: Data, common: dict[str, Any]) -> list[dict[str, Any]]:
    """γ of every judge, on the logit scale; its size alone where orders were not recorded."""
    notes = {
        judge: "" if both else ONE_ORDER
        for judge, both in zip(data.coords["judge"], data.facts["both_orders"], strict=True)
    }
    rows = []
    for site, dim in (("position", "ordered_judge"), ("position_size", "unordered_judge")):
        if site in posterior:
            found = summary_rows(posterior[site], estimand=f"{site}[logit]", n=data.units,
                                 signed=site == "position", **common)  # fmt: skip
            note = {**notes, **({} if site == "position" else dict.fromkeys(data.coords[dim], UNIDENTIFIED))}
            rows += [{**row, "judge": row["unit"], "note": note[row["unit"]]} for row in found]
    return rows


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
    for estimand, draws in by_judge.items():
        found = summary_rows(draws, estimand=estimand, n=data.units, **common)
        rows += [{**row, "judge": row["unit"]} for row in found]
    return rows


def _layer_rows(draws: VerdictDraws, data: Data, common: dict[str, Any]) -> list[dict[str, Any]]:
    """Share of each layer in the variance of an item's verdicts, over all judges and conditions."""
    shares, varied = layer_shares(draws)
    left = [name for name in LAYERS if not varied[name]]
    note = f"not varied or not recorded, so inside the other layers: {', '.join(left)}" if left else ""
    fixed = {**common, "n": {"all judges": data.size("item")}}
    rows = []
    for layer in LAYERS:
        if varied[layer]:
            share = draws.array(shares[layer]).expand_dims(unit=["all judges"])
            rows += summary_rows(share, estimand=f"variance_share[{layer}]", **fixed)
    return [{**row, "note": note} for row in rows]
