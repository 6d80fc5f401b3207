"""Whether items look as if they were labelled at random: a permutation test, exact whatever models share.

If labelling was even, the rows of the label matrix (which models of an item carry a label) could as well
have been given to other items. Rows are permuted between items that the same models answered, and within
clusters where there are any, so whatever answers of one item have in common stays as it is. The statistic
is the largest of

    |z| of the mean verdict of labelled items,  |z| of their disagreement 4 v̄(1 − v̄),  .85 max_m |z| of
    one model's verdicts where its own answer is labelled,

each z by the mean and standard deviation over the permutations. The test is exact; the factor .85 keeps
many models from drowning the two statistics that selection usually shows in.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayesjudge.baselines.common.moments import Array, ratio
from bayesjudge.counts import VerdictCounts

PERMUTATIONS = 999
#: Items of a log past which unlabelled ones are thinned at random: the test stays exact.
MOST_ITEMS = 10_000
#: Weight of a single model's statistic.
_SINGLE = 0.85
#: Permutations whose sums are taken in one matrix product.
_TOGETHER = 100


@dataclass(frozen=True, kw_only=True)
class EvenLabelling:
    """Result of the test for one judge's verdicts.

    p: Permutation p value; NaN where every answered item, or none, is labelled.
    labelled, unlabelled: Mean verdict of items with a label and without.
    disagreement_labelled, disagreement_unlabelled: Mean of 4 v̄(1 − v̄) over the same.
    z: The statistic.
    strongest: ``"mean verdict"``, ``"disagreement"``, or the name of a model.
    """

    p: float
    labelled: float
    unlabelled: float
    disagreement_labelled: float
    disagreement_unlabelled: float
    z: float
    strongest: str


def even_labelling(
    counts: VerdictCounts, judge: str, *, permutations: int = PERMUTATIONS, seed: int = 0
) -> EvenLabelling:
    """Test that labels were given to items irrespective of a judge's verdicts on them."""
    rng = np.random.default_rng(seed)
    label, verdict, stratum = _items(counts, judge, rng)
    mean = np.nanmean(verdict, axis=1)
    features = np.column_stack([mean, 4 * mean * (1 - mean)])
    any_label = label.any(axis=1)
    means = [
        float(column[rows].mean()) if rows.any() else np.nan
        for column in features.T
        for rows in (any_label, ~any_label)
    ]
    known = dict(zip(_MEANS, means, strict=True))
    if np.isnan(means).any():
        return EvenLabelling(p=np.nan, z=np.nan, strongest="", **known)
    verdicts = np.nan_to_num(verdict)
    observed = _sums(np.arange(len(label))[None], label, features, verdicts)
    drawn = np.concatenate(
        [
            _sums(_permuted(stratum, min(_TOGETHER, permutations - k), rng), label, features, verdicts)
            for k in range(0, permutations, _TOGETHER)
        ]
    )
    every = np.concatenate([observed, drawn])
    spread = every.std(axis=0)
    z = np.abs(every - every.mean(axis=0)) / np.where(spread > 1e-12, spread, np.inf)
    z[:, 2:] *= _SINGLE
    statistic = z.max(axis=1)
    p = float(np.mean(statistic >= statistic[0] - 1e-9))
    names = ("mean verdict", "disagreement", *counts.models)
    return EvenLabelling(p=p, z=float(statistic[0]), strongest=names[int(z[0].argmax())], **known)


_MEANS = ("labelled", "unlabelled", "disagreement_labelled", "disagreement_unlabelled")


def _items(
    counts: VerdictCounts, judge: str, rng: np.random.Generator
) -> tuple[NDArray[np.bool_], Array, NDArray[np.int64]]:
    """Labelled or not, and mean verdict or NaN where there is no answer (items, models); stratum of items."""
    patterns = counts.items[judge]
    labelled, n = ((patterns.label >= 0) & (patterns.runs > 0)).any(axis=1), patterns.n
    room = MOST_ITEMS - int(n[labelled].sum())
    rest = np.where(labelled, 0, n)
    if rest.sum() > max(room, 1):
        n = np.where(labelled, n, rng.multivariate_hypergeometric(rest, max(room, 1), method="marginals"))
    each = np.repeat(np.arange(len(n)), n)
    runs = patterns.runs[each]
    verdict = ratio(patterns.positives[each], runs)
    cluster = patterns.cluster[each] if counts.clusters else np.zeros(len(each), dtype=np.int64)
    answered = np.column_stack([runs > 0, cluster])
    _, stratum = np.unique(answered, axis=0, return_inverse=True)
    return (patterns.label[each] >= 0) & (runs > 0), verdict, stratum.reshape(-1)


def _permuted(stratum: NDArray[np.int64], number: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Permutations (number, items) of items within strata."""
    order = np.argsort(stratum, kind="stable")
    keys = rng.random((number, len(stratum)))
    drawn = np.empty((number, len(stratum)), dtype=np.int64)
    drawn[:, order] = np.lexsort((keys, np.broadcast_to(stratum, keys.shape)), axis=-1)
    return drawn


def _sums(place: NDArray[np.int64], label: NDArray[np.bool_], features: Array, verdicts: Array) -> Array:
    """Sums over items of features where any label falls, and of each model's verdicts where its own does."""
    given = label[place]
    about_items = given.any(axis=-1).astype(float) @ features
    about_models = np.einsum("kim,im->km", given.astype(float), verdicts)
    return np.concatenate([about_items, about_models], axis=1)
