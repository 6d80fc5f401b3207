"""Simulated choices among several options by judges who are drawn to slots, with known truth (METHODS 2.3)."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayesjudge.datasets.verdicts import Seed
from bayesjudge.errors import UsageError
from bayesjudge.tables import Trials

type Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False, kw_only=True)
class SimulatedChoices:
    """A simulated log, with ``truth`` by ``(estimand, judge)`` where trials of an arrangement do not correlate."""

    trials: Trials
    truth: dict[tuple[str, str], float]


def simulate_choices(
    *,
    seed: Seed,
    items: int = 40,
    slots: dict[str, tuple[float, ...]] | tuple[float, ...] = (0.6, 0.0, -0.6),
    arrangements: int = 3,
    trials: int = 1,
    spread: float = 1.4,
    advantage: float = 1.0,
    correlation: float = 0.0,
    tie: float = -np.inf,
) -> SimulatedChoices:
    """Simulate one log of best-of-K judging.

    Parameters
    ----------
    seed : int, SeedSequence or Generator
        Equal seeds give equal logs.
    items, arrangements, trials : int
        Items, arrangements of each (drawn without replacement, equal for every judge), and trials of each of these.
    slots : dict of str to tuple of float, or tuple of float
        What each slot adds in logits, of each judge or of one; as many as there are options.
    spread, advantage : float
        Standard deviation of preferences, and what being right adds to them; option ``0`` is right.
    correlation, tie : float
        Correlation of trials of one arrangement, and readiness ν to tie.
    """
    judges = slots if isinstance(slots, dict) else {"heron": slots}
    size = len(next(iter(judges.values())))
    if size < 2 or {len(effects) for effects in judges.values()} != {size} or not 0 <= correlation < 1:
        raise UsageError("slots needs as many effects of every judge, two or more, and correlation lies in [0, 1)")
    rng, orders = np.random.default_rng(seed), np.array(list(itertools.permutations(range(size))))
    if not 1 <= arrangements <= len(orders):
        raise UsageError(f"arrangements={arrangements} must lie between 1 and {len(orders)}")
    shown = np.stack([rng.permutation(len(orders))[:arrangements] for _ in range(items)])
    rows: list[dict[str, Any]] = []
    truth: dict[tuple[str, str], float] = {}
    for judge, effects in judges.items():
        v = spread * rng.standard_normal((items, size))
        v[:, 0] += advantage
        every = _probabilities(v, np.asarray(effects) - np.mean(effects), orders, tie)
        truth |= {(name, judge): value for name, value in _truth(every, orders, effects).items()}
        for item, order in itertools.product(range(items), range(arrangements)):
            p, labels = every[item, shown[item, order]], orders[shown[item, order]]
            drawn = rng.dirichlet(np.maximum(p * (1 / correlation - 1), 1e-9)) if correlation else p
            for code in rng.choice(size + 1, size=trials, p=drawn / drawn.sum()):
                outcome = "tie" if code == size else str(code)
                said = {"item": f"item-{item}", "judge": judge, "outcome": outcome, "truth": "0"}
                rows.append({**said, "order": ",".join(map(str, labels)), "trial": len(rows)})
    return SimulatedChoices(trials=Trials.from_frame(pd.DataFrame(rows)), truth=truth)


def _probabilities(v: Array, effects: Array, orders: NDArray[np.int64], tie: float) -> Array:
    """P of each option and of a tie (I, P, K + 1) where slot s shows option ``orders[p, s]``."""
    slot = np.argsort(orders, axis=1)
    own = (v - v.mean(axis=1, keepdims=True))[:, None] + effects[slot]
    weight = np.concatenate([np.exp(own), np.full((*own.shape[:2], 1), np.exp(tie))], axis=2)
    return np.asarray(weight / weight.sum(axis=2, keepdims=True))


def _truth(every: Array, orders: NDArray[np.int64], effects: tuple[float, ...]) -> dict[str, float]:
    q, size = every.mean(axis=1), orders.shape[1]
    disagreement, within = 1 - (q**2).sum(1), 1 - (every**2).sum(2).mean(1)
    found: dict[str, Any] = {
        "flip_rate": 1 - q.max(1).mean(),
        "disagreement": disagreement.mean(),
        "disagreement_share[slot]": 1 - within.mean() / disagreement.mean(),
        "accuracy": q[:, 0].mean(),
    }
    for k in range(size):
        found[f"slot_effect[{k + 1}]"] = effects[k] - float(np.mean(effects))
        found[f"slot_share[{k + 1}]"] = np.mean([every[:, p, order[k]] for p, order in enumerate(orders)])
        found[f"accuracy[slot {k + 1}]"] = every[:, orders[:, k] == 0, 0].mean()
    return {name: float(value) for name, value in found.items()}
