"""From counts to what `judge_error` sees: every possible pattern of an answer, and how often it occurred."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np

from bayesjudge.counts import VerdictCounts
from bayesjudge.errors import UsageError
from bayesjudge.model import Data
from bayesjudge.models.common.verdict_channel import log_choose

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["prepare"]

#: Most outcomes of one stratum that are listed; past this the judges are too many for a joint channel.
MOST_OUTCOMES = 4096


def prepare(counts: VerdictCounts, *, labels: str) -> Data:
    """Enumerate the outcomes of each stratum and look their counts up.

    A stratum is one unit (a model, or a model within a group) in one cluster with one pattern of runs,
    labelled or not; with enriched labels the label is part of the stratum, since it was chosen.
    """
    answers = counts.answers
    unit, names = _units(counts)
    stratum_of = np.column_stack([unit, answers.cluster, answers.label >= 0, answers.runs])
    if labels == "enriched":
        stratum_of = np.column_stack([stratum_of, answers.label])
    strata, index = np.unique(stratum_of, axis=0, return_inverse=True)
    index = index.reshape(-1)
    rows = [_outcomes(stratum, len(counts.judges), labels) for stratum in strata]
    lengths = [len(row) for row in rows]
    patterns = np.concatenate(rows)
    stratum = np.repeat(np.arange(len(strata)), lengths)
    runs = strata[stratum, 3 : 3 + len(counts.judges)]
    kinds, outcome = np.unique(
        np.stack([runs, patterns[:, 1:]], axis=-1).reshape(-1, 2), axis=0, return_inverse=True
    )
    n = _look_up(patterns, stratum, np.column_stack([answers.label, answers.positives]), index, answers.n)
    arrays = {
        "unit": strata[stratum, 0], "cluster": strata[stratum, 1], "label": patterns[:, 0],
        "runs": runs, "positives": patterns[:, 1:], "n": n, "stratum": stratum,
        "outcome": outcome.reshape(runs.shape), "outcome_runs": kinds[:, 0], "outcome_positives": kinds[:, 1],
        "total": np.bincount(stratum, weights=n, minlength=len(strata)).astype(np.int64),
        "log_ways": log_choose(runs, patterns[:, 1:]).sum(axis=1),
        "share": _shares(counts, unit, len(names)),
    }  # fmt: skip
    dim = "model" if len(counts.groups) == 1 else "model_group"
    wide = dict.fromkeys(("runs", "positives", "outcome"), ("pattern", "judge"))
    axes = (
        wide
        | dict.fromkeys(("outcome_runs", "outcome_positives"), ("kind",))
        | {"total": ("strata",), "share": (dim,)}
    )
    return Data(
        arrays=arrays,
        dims={name: axes.get(name, ("pattern",)) for name in arrays},
        coords={dim: names, "model": counts.models, "group": counts.groups, "judge": counts.judges,
                "pattern": tuple(range(len(patterns))), "strata": tuple(range(len(strata))),
                "kind": tuple(range(len(kinds))), "cluster": tuple(range(max(counts.clusters, 1)))},
        observed="n", weights="n", ragged=("pattern", "strata", "kind"),
        facts={"unit": dim, "most_runs": int(runs.max()), "clusters": counts.clusters},
        units=_sizes(counts, unit, names),
    )  # fmt: skip


def _units(counts: VerdictCounts) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    if len(counts.groups) == 1:
        return counts.answers.model, counts.models
    names = tuple(f"{model} | {group}" for model in counts.models for group in counts.groups)
    return counts.answers.model * len(counts.groups) + counts.answers.group, names


def _sizes(counts: VerdictCounts, unit: NDArray[np.int64], names: tuple[str, ...]) -> dict[str, int]:
    """Answers behind each unit, behind each model, and labelled answers of both (key ``labelled:...``)."""
    n, labelled = counts.answers.n, counts.answers.n * (counts.answers.label >= 0)
    sizes: dict[str, int] = {}
    for codes, labels in ((unit, names), (counts.answers.model, counts.models)):
        for prefix, weight in (("", n), ("labelled:", labelled)):
            totals = np.bincount(codes, weights=weight, minlength=len(labels))
            sizes |= {prefix + name: int(total) for name, total in zip(labels, totals, strict=True)}
    return sizes | _shared_items(counts)


def _shared_items(counts: VerdictCounts) -> dict[str, int]:
    """Items that both models of a pair answered, by the judge who saw most of them (key ``a − b``)."""
    both = np.zeros((len(counts.models),) * 2)
    for items in counts.items.values():
        seen = (items.runs > 0).astype(float)
        both = np.maximum(both, (seen * items.n[:, None]).T @ seen)
    pairs = itertools.combinations(range(len(counts.models)), 2)
    return {f"{counts.models[a]} − {counts.models[b]}": int(both[a, b]) for a, b in pairs}


def _shares(counts: VerdictCounts, unit: NDArray[np.int64], units: int) -> NDArray[np.float64]:
    """Share of its model's answers that falls in each unit: the weights of an overall accuracy."""
    size = np.bincount(unit, weights=counts.answers.n, minlength=units)
    model = np.repeat(np.arange(len(counts.models)), units // len(counts.models))
    share: NDArray[np.float64] = size / np.maximum(np.bincount(model, weights=size)[model], 1)
    return share


def _outcomes(stratum: NDArray[np.int64], judges: int, labels: str) -> NDArray[np.int64]:
    """All (label, positives of each judge) that answers of this stratum can show."""
    labelled, runs = bool(stratum[2]), stratum[3 : 3 + judges]
    seen = [int(stratum[-1])] if labels == "enriched" and labelled else [0, 1] if labelled else [-1]
    if len(seen) * np.prod(runs + 1.0) > MOST_OUTCOMES:
        raise UsageError(
            f"{judges} judges with up to {int(runs.max())} runs give over {MOST_OUTCOMES} joint outcomes; "
            "fit one judge at a time (counts.for_judge) or fewer judges"
        )
    return np.array(list(itertools.product(seen, *(range(int(k) + 1) for k in runs))), dtype=np.int64)


def _look_up(
    patterns: NDArray[np.int64], stratum: NDArray[np.int64], observed: NDArray[np.int64],
    index: NDArray[np.int64], n: NDArray[np.int64],
) -> NDArray[np.int64]:  # fmt: skip
    """Observed counts in the order of the enumerated patterns; patterns never seen count 0."""
    keys = np.concatenate([np.column_stack([stratum, patterns]), np.column_stack([index, observed])])
    _, code = np.unique(keys, axis=0, return_inverse=True)
    code = code.reshape(-1)
    totals = np.bincount(code[len(patterns) :], weights=n, minlength=code.max() + 1)
    return totals[code[: len(patterns)]].astype(np.int64)
