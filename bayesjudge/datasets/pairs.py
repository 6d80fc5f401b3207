"""Pairs that a judge chose between, whose agreement with people is known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import expit

from bayesjudge.errors import UsageError
from bayesjudge.tables import Pairs

#: Question types.
_TYPES = ("facts", "reasoning", "writing")


@dataclass(frozen=True, eq=False, kw_only=True)
class SimulatedPairs:
    """Pairs and the truth about them.

    Attributes
    ----------
    pairs : Pairs
        Some verified.
    agrees : float array (n,)
        Whether people agree with each verdict (1, 0), verified or not.
    probability : float array (n,)
        Probability of that.
    """

    pairs: Pairs
    agrees: NDArray[np.float64]
    probability: NDArray[np.float64]


def simulate_pairs(
    *,
    seed: int,
    n: int = 600,
    verified: int = 200,
    dimensions: int = 24,
    intercept: float = 0.3,
    verbosity: float = -1.2,
    quality: float = 1.0,
    categories: Sequence[float] = (0.8, 0.0, -0.8),
    strengths: Sequence[float] = (),
    flips: float | None = None,
) -> SimulatedPairs:
    """Verdicts of a judge who likes long answers, in question types of unequal difficulty.

    The log odds that people agree with a verdict are ``intercept + category effect + verbosity·length gap +
    quality·direction``: the length gap is the log ratio of the chosen response's length to the other's, in
    standard deviations, and ``direction`` the embedding difference along one axis that only partly shows.

    Parameters
    ----------
    seed : int
        Equal seeds give equal pairs.
    n, verified : int
        Pairs, and how many of them, at random, people chose between, too.
    dimensions : int
        Of the embeddings.
    intercept, verbosity, quality : float
        Effects, in logits.
    categories : sequence of float
        Effects of question types, at most three of them, in logits.
    strengths : sequence of float
        People's log odds for models ``m0, m1, ...``, whose responses the pairs then are; by default the pairs
        name no models.
    flips : float, optional
        Share of the pairs on which the verdict changes with the order of presentation. Every pair is then
        judged in both orders and has two rows; where their verdicts differ, the intercept and the category
        have no part in the log odds. By default every pair has one row.

    Raises
    ------
    UsageError
        More verified pairs than pairs, or fewer than one; no question type or too many; a single model.
    """
    if not 1 <= verified <= n:
        raise UsageError(f"verified={verified} must lie between 1 and n={n}")
    if not 1 <= len(categories) <= len(_TYPES):
        raise UsageError(f"effects of {len(categories)} question types; give 1 to {len(_TYPES)}")
    if len(strengths) == 1:
        raise UsageError("strengths of one model; give two or more, or none")
    if flips is not None and not 0 <= flips <= 1:
        raise UsageError(f"flips={flips} must lie between 0 and 1")
    rng = np.random.default_rng(seed)
    category = rng.integers(len(categories), size=n)
    gap, signal = rng.normal(size=n), rng.normal(size=n)
    # From a stream of its own, so that worlds without it stay as they are.
    changes = np.random.default_rng([seed, 1]).permutation(n) < round(n * (flips or 0.0))
    base = intercept + np.asarray(categories)[category]
    logit = np.where(changes, 0.0, base) + verbosity * gap + quality * signal
    probability = expit(logit)
    agrees = (rng.random(n) < probability).astype(float)
    prefers_a = rng.random(n) < 0.5
    chosen, other = _embeddings(rng, signal, dimensions)
    shorter = np.exp(rng.normal(6.0, 0.3, n))
    lengths = np.stack([shorter * np.exp(np.maximum(0.5 * gap, 0)), shorter * np.exp(np.maximum(-0.5 * gap, 0))])
    human = np.where(prefers_a == (agrees == 1), "a", "b").astype(object)
    human[rng.permutation(n)[verified:]] = None
    frame = pd.DataFrame(
        {
            "item": [f"p{k:04d}" for k in range(n)],
            "category": np.array(_TYPES)[category],
            "judge_prefers": np.where(prefers_a, "a", "b"),
            "human_prefers": human,
            "length_a": np.round(np.where(prefers_a, *lengths)),
            "length_b": np.round(np.where(prefers_a, *lengths[::-1])),
        }
    )
    if len(strengths):
        frame = frame.assign(**_models(rng, np.asarray(strengths), prefers_a == (agrees == 1)))
    first = prefers_a[:, None]
    a, b = np.where(first, chosen, other), np.where(first, other, chosen)
    if flips is None:
        return SimulatedPairs(pairs=Pairs.from_frame(frame, a=a, b=b), agrees=agrees, probability=probability)
    again = frame.assign(order="ba", judge_prefers=np.where(prefers_a != changes, "a", "b"))
    both = pd.concat([frame.assign(order="ab"), again], ignore_index=True)
    pairs = Pairs.from_frame(both, a=np.tile(a, (2, 1)), b=np.tile(b, (2, 1)))
    other_way = (np.where(changes, 1 - values, values) for values in (agrees, probability))
    agrees, probability = (np.concatenate(two) for two in zip((agrees, probability), other_way, strict=True))
    return SimulatedPairs(pairs=pairs, agrees=agrees, probability=probability)


def _models(
    rng: np.random.Generator, strengths: NDArray[np.float64], people_prefer_a: NDArray[np.bool_]
) -> dict[str, NDArray[np.str_]]:
    """Names of the models of every pair, so that people prefer one with the log odds of its strength."""
    n, count = len(people_prefer_a), len(strengths)
    one = rng.integers(count, size=n)
    other = (one + rng.integers(1, count, size=n)) % count
    wins = rng.random(n) < expit(strengths[one] - strengths[other])
    first = np.where(wins == people_prefer_a, one, other)
    names = np.array([f"m{k}" for k in range(count)])
    return {"model_a": names[first], "model_b": names[one + other - first]}


def _embeddings(
    rng: np.random.Generator, signal: NDArray[np.float64], dimensions: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Embeddings of the chosen and of the other response, whose difference shows the signal on one axis."""
    topic = rng.normal(size=(len(signal), dimensions))
    difference = 0.3 * rng.normal(size=(len(signal), dimensions))
    difference[:, 0] = signal
    return topic + difference / 2, topic - difference / 2
