"""The permutation test of even labelling: its level whatever models share, and its power."""

from __future__ import annotations

import error_budget
import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from scipy.special import expit
from scipy.stats import binom

from bayesjudge.baselines.accuracy.selection import even_labelling
from bayesjudge.counts import VerdictCounts, count_verdicts
from bayesjudge.tables import Verdicts

MODELS, ITEMS = 6, 150


def log_of(rng: np.random.Generator, *, document: bool = False) -> tuple[pd.DataFrame, NDArray[np.float64]]:
    """Fully labelled answers whose labels and verdicts go together by item; mean verdict of each item."""
    ease = rng.normal(size=(ITEMS // 5, 1)).repeat(5, axis=0) if document else rng.normal(size=(ITEMS, 1))
    label = rng.random((ITEMS, MODELS)) < expit(0.5 + 2 * ease)
    verdict = np.where(rng.random((ITEMS, 1)) < 0.2, ~label, label)
    item, model = (axis.ravel() for axis in np.indices(label.shape))
    frame = pd.DataFrame({"item": item, "model": np.array(list("abcdef"))[model], "document": item // 5})
    frame = frame.assign(verdict=verdict.ravel().astype(int), label=label.ravel().astype(float))
    return frame, verdict.mean(axis=1)


def labelled(frame: pd.DataFrame, items: NDArray[np.int64], *, cluster: str | None = None) -> VerdictCounts:
    few = frame.assign(label=frame["label"].where(frame["item"].isin(items)))
    return count_verdicts(Verdicts.from_frame(few), cluster=cluster)


def test_even_labelling_is_rejected_as_often_as_the_level_says() -> None:
    rng, found = np.random.default_rng(1), []
    for seed in range(80):
        frame, _ = log_of(rng)
        counts = labelled(frame, rng.choice(ITEMS, 30, replace=False))
        found.append(even_labelling(counts, "judge", permutations=99, seed=seed).p)
    low, high = error_budget.binomial_bounds(80, 0.1)
    assert low <= np.mean(np.array(found) <= 0.1) <= high


@pytest.mark.parametrize("rule", ["hard", "easy", "the judge disagrees"])
def test_labels_chosen_by_verdicts_are_noticed(rule: str) -> None:
    rng, found = np.random.default_rng(2), []
    for seed in range(12):
        frame, mean = log_of(rng)
        weight = {"hard": np.exp(-2.5 * mean), "easy": np.exp(2.5 * mean),
                  "the judge disagrees": 0.08 + 4 * mean * (1 - mean)}[rule]  # fmt: skip
        counts = labelled(frame, rng.choice(ITEMS, 40, replace=False, p=weight / weight.sum()))
        found.append(even_labelling(counts, "judge", permutations=199, seed=seed).p)
    # At least .7 of 12, but for chance.
    assert np.sum(np.array(found) <= 0.05) >= binom.ppf(error_budget.level(3), 12, 0.7)


def test_whole_documents_do_not_look_like_selection() -> None:
    """Items of a document are alike; labelling whole documents at random is even once clusters are known."""
    rng, blind, informed = np.random.default_rng(3), [], []
    for seed in range(15):
        frame, _ = log_of(rng, document=True)
        chosen = rng.choice(ITEMS // 5, 8, replace=False)
        items = np.flatnonzero(np.isin(np.arange(ITEMS) // 5, chosen))
        for cluster, into in ((None, blind), ("document", informed)):
            counts = labelled(frame, items, cluster=cluster)
            into.append(even_labelling(counts, "judge", permutations=99, seed=seed).p)
    assert np.sum(np.array(blind) <= 0.05) > np.nansum(np.array(informed) <= 0.05)


def test_without_two_kinds_of_items_there_is_no_test() -> None:
    frame, _ = log_of(np.random.default_rng(4))
    for items in (np.arange(ITEMS), np.array([], dtype=np.int64)):
        assert np.isnan(even_labelling(labelled(frame, items), "judge").p)


def test_equal_seeds_give_equal_results_and_names_do_not_matter() -> None:
    frame, _ = log_of(np.random.default_rng(5))
    counts = labelled(frame, np.arange(30))
    one, same = (even_labelling(counts, "judge", seed=7) for _ in range(2))
    assert one == same
    other = labelled(
        frame.assign(item="q" + frame["item"].astype(str)), np.array([f"q{k}" for k in range(30)])
    )
    assert even_labelling(other, "judge", seed=7).labelled == pytest.approx(one.labelled)
