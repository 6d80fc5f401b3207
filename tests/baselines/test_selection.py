"""The permutation test of even labelling: its level whatever models share, and its power."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import error_budget
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import expit
from scipy.stats import binom

from bayesjudge.baselines.accuracy.selection import even_labelling
from bayesjudge.counts import VerdictCounts

MODELS, ITEMS = 6, 150


#: Builder of counts from arrays (items, models).
type Counts = Callable[..., VerdictCounts]


class Log(NamedTuple):
    """Labels and verdicts (items, models) that go together by item."""

    label: NDArray[np.bool_]
    verdict: NDArray[np.bool_]


def log_of(rng: np.random.Generator, *, document: bool = False) -> Log:
    ease = rng.normal(size=(ITEMS // 5, 1)).repeat(5, axis=0) if document else rng.normal(size=(ITEMS, 1))
    label = rng.random((ITEMS, MODELS)) < expit(0.5 + 2 * ease)
    return Log(label, np.where(rng.random((ITEMS, 1)) < 0.2, ~label, label))


def labelled(counts: Counts, log: Log, items: NDArray[np.int64], *, documents: bool = False) -> VerdictCounts:
    known = np.isin(np.arange(ITEMS), items)[:, None]
    cluster = np.arange(ITEMS) // 5 if documents else None
    return counts(np.where(known, log.label, -1), log.verdict.astype(np.int64), cluster=cluster)


def test_even_labelling_is_rejected_as_often_as_the_level_says(item_counts: Counts) -> None:
    rng, found = np.random.default_rng(1), []
    for seed in range(200):
        counts = labelled(item_counts, log_of(rng), rng.choice(ITEMS, 30, replace=False))
        found.append(even_labelling(counts, "judge", permutations=99, seed=seed).p)
    low, high = error_budget.binomial_bounds(200, 0.1)
    assert low <= np.mean(np.array(found) <= 0.1) <= high


@pytest.mark.parametrize("rule", ["hard", "easy", "the judge disagrees"])
def test_labels_chosen_by_verdicts_are_noticed(item_counts: Counts, rule: str) -> None:
    rng, found = np.random.default_rng(2), []
    for seed in range(12):
        log = log_of(rng)
        mean = log.verdict.mean(axis=1)
        weight = {
            "hard": np.exp(-2.5 * mean),
            "easy": np.exp(2.5 * mean),
            "the judge disagrees": 0.08 + 4 * mean * (1 - mean),
        }[rule]
        counts = labelled(item_counts, log, rng.choice(ITEMS, 40, replace=False, p=weight / weight.sum()))
        found.append(even_labelling(counts, "judge", permutations=199, seed=seed).p)
    # At least .7 of 12, but for chance.
    assert np.sum(np.array(found) <= 0.05) >= binom.ppf(error_budget.level(3), 12, 0.7)


def test_whole_documents_do_not_look_like_selection(item_counts: Counts) -> None:
    """Items of a document are alike; labelling whole documents at random is even once clusters are known."""
    rng, blind, informed = np.random.default_rng(3), [], []
    for seed in range(15):
        log = log_of(rng, document=True)
        chosen = rng.choice(ITEMS // 5, 8, replace=False)
        items = np.flatnonzero(np.isin(np.arange(ITEMS) // 5, chosen))
        for documents, into in ((False, blind), (True, informed)):
            counts = labelled(item_counts, log, items, documents=documents)
            into.append(even_labelling(counts, "judge", permutations=99, seed=seed).p)
    assert np.sum(np.array(blind) <= 0.05) > np.nansum(np.array(informed) <= 0.05)


def test_without_two_kinds_of_items_there_is_no_test(item_counts: Counts) -> None:
    log = log_of(np.random.default_rng(4))
    for items in (np.arange(ITEMS), np.array([], dtype=np.int64)):
        assert np.isnan(even_labelling(labelled(item_counts, log, items), "judge").p)


def test_equal_seeds_give_equal_results_and_the_order_of_items_does_not_matter(item_counts: Counts) -> None:
    log = log_of(np.random.default_rng(5))
    counts = labelled(item_counts, log, np.arange(30))
    one, same = (even_labelling(counts, "judge", seed=7) for _ in range(2))
    assert one == same
    turned = Log(log.label[::-1], log.verdict[::-1])
    other = labelled(item_counts, turned, np.arange(ITEMS - 30, ITEMS))
    assert even_labelling(other, "judge", seed=7).labelled == pytest.approx(one.labelled)
