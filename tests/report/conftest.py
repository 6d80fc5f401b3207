"""One answer to each question, made once: as quick as a fit can be, so that some gates fail."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pandas as pd
import pytest

import bayesjudge as bj
from bayesjudge.datasets import BattleDesign, simulate_battles, simulate_pairs, simulate_trials, simulate_verdicts
from bayesjudge.estimates import Estimates
from bayesjudge.report import Comparison

QUICK: dict[str, Any] = {"engine": "laplace", "draws": 100, "bootstrap": 50}


@functools.cache
def _answer(question: str) -> Comparison:
    if question == "accuracy":
        table = simulate_verdicts(seed=3, labelled=60, unlabelled=90).verdicts
        return bj.accuracy(table, pooling="shared", compare=False, **QUICK)
    if question == "accuracy of many":
        names = tuple(f"some-model-of-{k}b-chat" for k in range(12))
        table = simulate_verdicts(
            seed=3, models=names, accuracy=(0.6,) * 12, youden=(0.6,) * 12, labelled=0, unlabelled=40
        ).verdicts
        # Without labels the posterior is the prior's ridge, of which Laplace's approximation warns and falls back.
        return bj.accuracy(table, compare=False, engine="nuts", draws=100, bootstrap=50)
    if question in {"reliability of many", "accuracy by many"}:
        return _by_nine(_answer(question.partition(" ")[0]))
    if question == "elo":
        log = simulate_battles(seed=1, design=BattleDesign(strengths=(0.5, 0.0, -0.5), battles=200, judges=1))
        return bj.elo(log.battles, engine="laplace", draws=100)
    if question == "reliability":
        # Laplace's rounds of importance sampling take longer here, where spreads are uncertain.
        return bj.reliability(simulate_trials(seed=4, items=8, trials=3).trials, **{**QUICK, "engine": "hmc"})
    return bj.audit(simulate_pairs(seed=1, n=60, verified=40, dimensions=2).pairs, engine="laplace", draws=100)


def _by_nine(one: Comparison) -> Comparison:
    """The answer as if nine judges of long names had given that of the first, who are the units of reliability."""
    names = [f"claude-3-judge-2024022{k}" for k in range(9)]
    named = ("judge", "unit") if one.question == "reliability" else ("judge",)

    def many(frame: pd.DataFrame) -> pd.DataFrame:
        mine = frame[frame["judge"] == frame["judge"].iloc[0]] if len(frame) else frame
        return pd.concat([mine.assign(**dict.fromkeys(named, name)) for name in names], ignore_index=True)

    return replace(
        one,
        estimates=Estimates(many(one.estimates.frame)),
        diagnostics=Estimates(many(one.diagnostics.frame)),
        ranks=many(one.ranks) if len(one.ranks) else one.ranks,
        checks={},
        settings={**one.settings, "judges": names},
    )


@pytest.fixture
def answer_to() -> Callable[[str], Comparison]:
    """The answer to a question by its name."""
    return _answer
