"""Simulated logs of repeated scores with known truth: crossed effects of responses, judges, trials."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayesjudge.datasets.verdicts import Seed
from bayesjudge.errors import UsageError
from bayesjudge.tables import Scores


@dataclass(frozen=True, kw_only=True)
class ScoreDesign:
    """A world of repeated scores.

    Parameters
    ----------
    responses, trials : int
        Responses, and trials of each judge on each.
    judges : tuple of str
    noise : dict of str to float, or float
        Standard deviation of a judge's scores of one response.
    mean, response_spread, interaction_spread, leniency_spread, trial_spread : float
        Mean score, and standard deviations of responses, responses within a judge, judges, and trials.
    rounded : bool
        Round to whole numbers and keep within 1 to 10; the truth is then that of the scores before it.
    missing : float
        Share of scores that are missing.
    """

    responses: int = 60
    trials: int = 5
    judges: tuple[str, ...] = ("heron", "otter")
    noise: dict[str, float] | float = 0.8
    mean: float = 6.0
    response_spread: float = 1.5
    interaction_spread: float = 0.6
    leniency_spread: float = 0.5
    trial_spread: float = 0.0
    rounded: bool = False
    missing: float = 0.0

    def __post_init__(self) -> None:
        if min(self.responses, self.trials, len(self.judges)) < 1:
            raise UsageError("responses, trials and judges must each be at least one")
        if not 0 <= self.missing < 1:
            raise UsageError(f"missing={self.missing} is a share: between 0 and 1")

    def noise_of(self, judge: str) -> float:
        """Noise of one judge."""
        return self.noise[judge] if isinstance(self.noise, dict) else self.noise


@dataclass(frozen=True, eq=False, kw_only=True)
class SimulatedScores:
    """A simulated log and the world it came from.

    Attributes
    ----------
    scores : Scores
        The log, as a user would have it.
    design : ScoreDesign
        The world.
    truth : dict
        By ``(estimand, unit)``: ``icc``, ``within_share``, ``score_sd`` and ``mean_score`` (over infinitely many
        responses, in these trials) of every judge, and of ``all judges``, where there are several,
        ``icc[judges]``: one score of a random one.
    """

    scores: Scores
    design: ScoreDesign
    truth: dict[tuple[str, str], float]


def simulate_scores(*, seed: Seed, **options: Any) -> SimulatedScores:
    """Simulate one log of repeated scores with known truth.

    Parameters
    ----------
    seed : int, SeedSequence or Generator
        Equal seeds give equal logs.
    **options
        The fields of `ScoreDesign`.

    Raises
    ------
    UsageError
        An option that is unknown or outside its range.
    """
    known = {entry.name for entry in fields(ScoreDesign)}
    if unknown := sorted(set(options) - known):
        raise UsageError(f"unknown option {unknown[0]!r}; there are {', '.join(sorted(known))}")
    design, rng = ScoreDesign(**options), np.random.default_rng(seed)
    shape = (design.responses, len(design.judges), design.trials)
    noise = np.array([design.noise_of(judge) for judge in design.judges])[:, None]
    own = design.interaction_spread if len(design.judges) > 1 else 0.0
    responses = design.response_spread * rng.standard_normal((shape[0], 1, 1))
    interaction = own * rng.standard_normal((*shape[:2], 1))
    leniency = design.leniency_spread * rng.standard_normal((shape[1], 1))
    days = design.trial_spread * rng.standard_normal(shape[1:])
    residual = noise * rng.standard_normal(shape)
    score = design.mean + responses + interaction + leniency + days + residual
    r, j, t = (axis.ravel() for axis in np.indices(shape))
    width = len(str(design.responses))
    kept = np.clip(np.round(score), 1, 10) if design.rounded else score
    items, judges = [f"item-{k + 1:0{width}d}" for k in r], np.array(design.judges, dtype=object)[j]
    frame = pd.DataFrame({"item": items, "judge": judges, "trial": t, "score": kept.ravel()})
    frame = frame[rng.random(score.size) >= design.missing]
    truth = _truth(design, own, leniency[:, 0] + days.mean(axis=1))
    return SimulatedScores(scores=Scores.from_frame(frame), design=design, truth=truth)


def _truth(design: ScoreDesign, own: float, shifts: NDArray[np.float64]) -> dict[tuple[str, str], float]:
    found, spreads = {}, []
    for judge, shift in zip(design.judges, shifts, strict=True):
        within = design.noise_of(judge) ** 2 + design.trial_spread**2
        between = design.response_spread**2 + own**2
        found["icc", judge] = between / (between + within)
        found["within_share", judge] = within / (between + within)
        found["score_sd", judge] = within**0.5
        found["mean_score", judge] = design.mean + float(shift)
        spreads.append(between + within)
    if len(spreads) > 1:
        total = np.mean(spreads) + shifts.var(ddof=1)
        found["icc[judges]", "all judges"] = float(design.response_spread**2 / total)
    return found
