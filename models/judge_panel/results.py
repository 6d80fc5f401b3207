"""What a posterior of `judge_panel` says: accuracies and differences on both populations, judges' weights.

The panel's verdict on an answer is 1 where the posterior mean of P(right) is above ½. Each draw of the
posterior says how often that verdict, and every judge's own, agree with the label: with the label itself
where a person gave one, with its probability elsewhere. All of it comes from the draws adjusted for what
answers to one item share (population.py).
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayesjudge.counts.panel import PanelVotes
from bayesjudge.errors import UsageError
from bayesjudge.estimates import Population
from bayesjudge.estimates.posterior import EVERYWHERE, accuracy_quantities, quantity
from bayesjudge.model import Data, Statistic
from bayesjudge.models.judge_panel.data import half_votes
from bayesjudge.models.judge_panel.likelihood import row_logits
from bayesjudge.models.judge_panel.population import accuracy_draws, adjusted, marked_logits, over_answers, thin

#: Labelled answers below which the labels have hardly been heard.
FEW_LABELS = 10


def quantities(posterior: xr.Dataset, data: Data, *, populations: Sequence[Population]) -> dict[str, xr.DataArray]:
    """Accuracies and differences on each population, overall and by group, then every judge's weight."""
    everywhere = _of_labels(data)
    notes = _of_models(everywhere, data)
    found, accuracies = adjusted(posterior, data), dict[Any, xr.DataArray]()
    labels = _labels_by_model(data)
    for population in populations:
        theta, by_group = accuracy_draws(found, data, population=population)
        if by_group.sizes["group"]:
            theta = xr.concat([theta.expand_dims(group=[EVERYWHERE]), by_group], dim="group")
        accuracies |= accuracy_quantities(theta, n=data.units, population=population, note=notes, labels=labels)
    votes = {judge: data.units[f"votes:{judge}"] for judge in data.coords["judge"]}
    silent = {
        judge: "; ".join([*everywhere, *([] if n else ["it never voted: this is the prior"])])
        for judge, n in votes.items()
    }
    effects = {"effect": quantity(effects_of(found, data), signed=True)} if data.facts["changes"] else {}
    return {**accuracies, **effects, "judge weight": quantity(judge_weights(found), n=votes, note=silent, signed=True)}


def effects_of(found: xr.Dataset, data: Data) -> xr.DataArray:
    """Average change of P(right | votes) when a number is one standard deviation higher, dims ``chain, draw, of``."""
    values = over_answers(_changes, thin(found, data), data)
    names = [f"label given votes, +1 sd of {number}" for number in data.facts["changes"]]
    return xr.DataArray(values, dims=("chain", "draw", "of"), coords={"of": names})


def _changes(sites: Any, arrays: Any, key: Any, facts: Any) -> Any:  # noqa: ARG001 what over_draws calls
    eta, weight = row_logits(sites, arrays, "cell"), arrays["cell_n"]
    shifts = [arrays[f"change_{k}"] @ sites["effect"] for k in range(1, len(facts["changes"]) + 1)]
    changes = [jax.nn.sigmoid(eta + shift[arrays["cell_kind"]]) - jax.nn.sigmoid(eta) for shift in shifts]
    return jnp.stack([(weight * change).sum() / weight.sum() for change in changes])


def judge_weights(found: xr.Dataset) -> xr.DataArray:
    """Draws of β_j: by how many logits a yes of judge j rather than a no moves the answer, the others fixed.

    ``found`` holds draws of `adjusted`; a judge with a weight for each model gets their mean. Dims ``chain,
    draw, judge``. A judge whose votes others repeat shares their weight, so a small weight says redundant or
    uninformative, not which of the two.
    """
    weight = found["weight"]
    return weight.mean("system") if "system" in weight.dims else weight


def _labels_by_model(data: Data) -> dict[str, tuple[float, float]]:
    """How many labels say wrong, and right, of each model; of several people's marks, none is certain."""
    if data.facts["annotators"]:
        return {}
    label, system = np.asarray(data["label"]), np.asarray(data["kind_system"])[np.asarray(data["answer_kind"])]
    known = np.asarray(data["answer_n"]) > 0
    return {
        str(model): (float((mine & (label == 0)).sum()), float((mine & (label == 1)).sum()))
        for k, model in enumerate(data.coords["system"])
        for mine in [known & (system == k)]
    }


def _of_labels(data: Data) -> list[str]:
    """Warnings about the labels that concern every row."""
    labels = np.asarray(data["label"])[np.asarray(data["answer_n"]) > 0]
    if not len(labels):
        return ["no human label: this is what the prior makes of the votes"]
    if len(labels) < FEW_LABELS:
        return [f"only {len(labels)} labelled answers"]
    return [f"all {len(labels)} labels are {labels[0]}"] if labels.min() == labels.max() else []


def _of_models(everywhere: list[str], data: Data) -> dict[str, str]:
    """Warnings about the labels for each model and each pair."""
    models = data.coords["system"]
    any_label = (np.asarray(data["answer_n"]) > 0).any()
    bare = {model for model in models if any_label and not data.units[f"labelled:{model}"]}
    units: dict[str, tuple[Any, ...]] = {str(model): (model,) for model in models}
    units |= {f"{a} − {b}": (a, b) for a, b in itertools.combinations(models, 2)}
    carried = {
        model: f"no label on {model}: what other models' labels show of the judges is carried over"
        for model in sorted(bare)
    }
    return {
        unit: "; ".join([*everywhere, *(carried[model] for model in carried if model in names)])
        for unit, names in units.items()
    }


#: Name of the panel's verdict among the judges.
PANEL = "panel"
#: Draws, about, that the panel's own verdict is the mean of.
_FOR_MEAN = 200


def agreement(posterior: xr.Dataset, data: Data) -> xr.DataArray:
    """Draws of the share of all answers on which the panel, and each judge, agree with the label.

    Dims ``chain, draw, judge``; the first judge is `PANEL`, whose verdict on an answer is by the votes alone, also
    where a person said what is right: with the label it would agree with everybody where all is labelled. A judge is
    scored on the answers it voted on (one without votes has NaN); a mean vote of exactly ½ is no verdict. With graded
    votes a judge says 1 above the middle of its own scores.
    """
    found = thin(adjusted(posterior, data), data)
    some = found.isel(draw=slice(None, None, max(found.sizes["chain"] * found.sizes["draw"] // _FOR_MEAN, 1)))
    mean = over_answers(_by_votes, some, data).mean(axis=(0, 1))
    verdict = np.column_stack([np.where(mean > 0.5, 1.0, -1.0), np.sign(half_votes(data, "cell"))])
    values = over_answers(_agreement, found, data, verdict=verdict)
    names = [PANEL, *data.coords["judge"]]
    return xr.DataArray(values, dims=("chain", "draw", "judge"), coords={"judge": names})


def _by_votes(sites: Any, arrays: Any, key: Any, facts: Any) -> Any:  # noqa: ARG001 what over_draws calls
    """P(right) of every row given its votes."""
    return jax.nn.sigmoid(row_logits(sites, arrays, "cell"))


def _right(sites: Any, arrays: Any, key: Any, facts: Any) -> Any:
    """The same, 0 or 1 where a person said so."""
    label, given = arrays["cell_label"], _by_votes(sites, arrays, key, facts)
    return given if facts["annotators"] else jnp.where(label >= 0, label, given)


def _agreement(sites: Any, arrays: Any, key: Any, facts: Any) -> Any:
    """Share of each column's verdicts (1, −1, or 0 for none) that agree with the label, (1 + J,)."""
    right, verdict = _right(sites, arrays, key, facts)[:, None], arrays["verdict"]
    weight = arrays["cell_n"][:, None] * jnp.abs(verdict)
    agrees = jnp.where(verdict > 0, right, 1 - right)
    return (weight * agrees).sum(0) / weight.sum(0)


def answer_probabilities(
    posterior: xr.Dataset, data: Data, votes: PanelVotes, *, draws: int = 400, seed: int = 0
) -> NDArray[np.float64]:
    """About so many draws (D, I, M) of ``P(y = 1)``, NaN where a model did not answer.

    `UsageError` where answers were merged to patterns, so that there are no single items.
    """
    if not data.facts["items"]:
        raise UsageError(
            f"{len(votes.items)} items were merged to patterns of votes; plan on some "
            f"thousands of them, for instance a random sample"
        )
    every = posterior.sizes["chain"] * posterior.sizes["draw"]
    some = adjusted(posterior, data, seed=seed).isel(draw=slice(None, None, max(every // draws, 1)))
    found = over_answers(_probabilities, some, data)
    rows = found.reshape(-1, found.shape[-1])
    whole = np.full((len(rows), len(votes.items), len(votes.models)), np.nan)
    system = np.asarray(data["kind_system"])[np.asarray(data["cell_kind"])]
    # In double precision the last bit may lie outside.
    whole[:, np.asarray(data["cell_item"]), system] = np.clip(rows, 0.0, 1.0)
    return whole


def _probabilities(sites: Any, arrays: Any, key: Any, facts: Any) -> Any:  # noqa: ARG001 what over_draws calls
    return jax.nn.sigmoid(marked_logits(sites, arrays))


# Nothing here looks at what the labels of one item share: the likelihood leaves that out on purpose, and the
# adjustment puts it back.

#: Bounds of the share of a panel that says yes, for labels by how the panel voted.
_PARTS = {"mostly no": (-np.inf, -1 / 6), "divided": (-1 / 6, 1 / 6), "mostly yes": (1 / 6, np.inf)}


def _rows(data: Data) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Model, and whether it counts, of every row of the labelled answers."""
    return np.asarray(data["kind_system"])[np.asarray(data["answer_kind"])], np.asarray(data["answer_n"]) > 0


def _by_model(label: Any, data: Data) -> dict[str, Any]:
    model, counted = _rows(data)
    return _means(label, {name: counted & (model == m) for m, name in enumerate(data.coords["system"])})


def _means(value: Any, chosen: Mapping[Any, NDArray[np.bool_]]) -> dict[str, Any]:
    """Mean over the rows chosen under each name, where there are any."""
    return {str(name): np.asarray(value)[..., rows].mean(axis=-1) for name, rows in chosen.items() if rows.any()}


def _label_agreement(label: Any, data: Data) -> dict[str, Any]:
    """Share of labelled answers on which each judge agrees with the label."""
    votes, (_, counted) = half_votes(data, "answer"), _rows(data)
    found: dict[str, Any] = {}
    for j, judge in enumerate(data.coords["judge"]):
        found |= _means(label == (votes[:, j] > 0), {judge: counted & (votes[:, j] != 0)})
    return found


def _by_vote(label: Any, data: Data) -> dict[str, Any]:
    """Mean label where the panel mostly said no, was divided, mostly said yes."""
    votes, (_, counted) = half_votes(data, "answer"), _rows(data)
    mean = votes.sum(axis=-1) / np.maximum((votes != 0).sum(axis=-1), 1)
    return _means(label, {name: counted & (mean >= low) & (mean < high) for name, (low, high) in _PARTS.items()})


def _of_label(statistic: Statistic) -> Statistic:
    """The same of the annotators' majority (a tie is not right), where several marked."""

    def of_marks(sample: Any, data: Data) -> Any:
        if data.observed == "label":
            return statistic(sample, data)
        given = np.asarray(data["mark_given"])
        return statistic((2 * (np.asarray(sample) * given).sum(axis=-1) > given.sum(axis=-1)).astype(int), data)

    return of_marks


def _differ(sample: Any, data: Data) -> dict[str, Any]:
    """Share of the answers with several marks whose marks differ."""
    if data.observed == "label":
        return {}
    given = np.asarray(data["mark_given"])
    several, yes = given.sum(axis=-1) > 1, (np.asarray(sample) * given).sum(axis=-1)
    return _means((yes > 0) & (yes < given.sum(axis=-1)), {"annotators": several})


STATISTICS: Mapping[str, Statistic] = {
    "labels: right, by model": _of_label(_by_model),
    "labels: right, by vote of the panel": _of_label(_by_vote),
    "labels: agreement with a judge": _of_label(_label_agreement),
    "marks: annotators differ": _differ,
}
