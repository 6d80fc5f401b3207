"""The verdict channel of `paired_accuracy` on single answers, and the likelihood of two models, in JAX.

One model's answer shows one of few cells (label, runs, verdicts of 1). Its probability is worked out
once for each cell, and patterns of two models look theirs up.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax.numpy as jnp
from jax.scipy.special import logsumexp

from bayesjudge.model import Data
from bayesjudge.models.common.verdict_runs import jax_runs_log_prob

__all__ = [
    "Cells",
    "Channel",
    "every_cell",
    "label_mask",
    "log_joint_cells",
    "log_verdicts",
    "observed_cells",
    "says_yes",
    "two_model_log_prob",
]

_COLUMNS = ("cell_label", "cell_runs", "cell_positives", "cell_log_ways")


class Channel(NamedTuple):
    """Logits of sensitivity and specificity (1, M), ρ (1,) or 0, and each cluster's leniency (clusters,)."""

    logit_1: Any
    logit_0: Any
    rho: Any
    leniency: Any


class Cells(NamedTuple):
    """Cells whose probability is wanted: each place's cluster, then arrays (places or 1, M or 1, cells)."""

    cluster: Any
    label: Any
    runs: Any
    positives: Any
    log_ways: Any


def every_cell(data: Data) -> Cells:
    """All cells for every model; a place is a cluster."""
    return Cells(jnp.arange(max(data.facts["clusters"], 1)), *(data[name][None, None] for name in _COLUMNS))


def observed_cells(data: Data) -> Cells:
    """The one cell that each model shows; a place is an observed pattern."""
    return Cells(data["cluster_of"], *(data[name][data["cell"]][..., None] for name in _COLUMNS))


def log_verdicts(channel: Channel, cells: Cells, most_runs: int) -> Any:
    """Log P(verdicts | y), (2, places, M, cells), y = 0 first; minus infinity where the label is not y."""
    runs = jax_runs_log_prob(
        says_yes(channel, cells)[..., None], channel.rho, cells.runs, cells.positives, most_runs
    )
    return runs + cells.log_ways + label_mask(cells.label)


def says_yes(channel: Channel, cells: Cells) -> Any:
    """Logit of P(v = 1 | y), (2, places, M), y = 0 first."""
    lenient = channel.leniency[cells.cluster][:, None]
    return jnp.stack([lenient - channel.logit_0, lenient + channel.logit_1])


def label_mask(label: Any) -> Any:
    """0 where a label allows y, minus infinity where it does not, (2, ...), y = 0 first."""
    return jnp.where(jnp.stack([label == 1, label == 0]), -jnp.inf, 0.0)


def log_joint_cells(stick: Any) -> Any:
    """Log P(y_a, y_b), [y_a, y_b], from the sticks broken off for both, only the first, only the second."""
    kept, left = jnp.log(stick), jnp.cumsum(jnp.log1p(-stick))
    return jnp.array([[left[2], left[1] + kept[2]], [left[0] + kept[1], kept[0]]])


def two_model_log_prob(log_pi: Any, channel: Channel, data: Data, *, enriched: bool) -> Any:
    """Log probability of every pattern of two models, given its labels where those were chosen."""
    log_v = log_verdicts(channel, every_cell(data), data.facts["most_runs"])[:, 0]
    first, second = data["cell"].T
    joint = _over_labels(log_pi, log_v[:, 0, first], log_v[:, 1, second])
    if not enriched:
        return joint
    mask = label_mask(data["cell_label"])
    return joint - _over_labels(log_pi, mask[:, first], mask[:, second])


def _over_labels(log_pi: Any, first: Any, second: Any) -> Any:
    return logsumexp(log_pi[:, :, None] + first[:, None] + second[None, :], axis=(0, 1))
