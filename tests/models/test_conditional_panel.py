"""`conditional_panel`: right where judges err independently, and told apart where they do not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import error_budget
import jax
import numpy as np
import pandas as pd
import pytest

from bayesjudge.checks import predictive_check
from bayesjudge.counts.panel import PanelVotes, panel_votes
from bayesjudge.inference import Laplace, fit
from bayesjudge.inference.programs import accelerator
from bayesjudge.model import Data
from bayesjudge.models.conditional_panel import ConditionalPanel
from bayesjudge.tables import Verdicts

CO_ERRORS = "labelled: both judges wrong"


@pytest.fixture(autouse=True)
def _float64() -> None:
    accelerator.prepare()


def _small(pooling: str = "partial", runs: int = 1) -> tuple[ConditionalPanel, Data]:
    rng = np.random.default_rng(0)
    votes = rng.integers(0, runs + 1, (12, 2, 3)) / runs
    gone = rng.random(votes.shape) < 0.2
    annotations = np.zeros((12, 2), np.int64)
    annotations[:5] = 1
    panel = PanelVotes(
        models=("a", "b"),
        judges=("j", "k", "l"),
        groups=("all",),
        items=tuple(map(str, range(12))),
        votes=np.where(gone, np.nan, votes),
        runs=np.where(gone, 0, runs),
        annotations=annotations,
        label=np.where(annotations > 0, rng.integers(0, 2, (12, 2)), np.nan),
        group=np.zeros(12, np.int64),
        cluster=np.arange(12),
    )
    model = ConditionalPanel(pooling=pooling)  # type: ignore[arg-type]  # parametrised by name
    return model, model.prepare(panel)


@pytest.mark.parametrize(("pooling", "runs"), [("partial", 1), ("shared", 3), ("specific", 1)])
def test_the_same_density_in_both_languages(pooling: str, runs: int, same_density: Callable[..., None]) -> None:
    same_density(*_small(pooling, runs), points=25)


def test_replicates_are_drawn_from_the_density() -> None:
    """Frequencies of responses of one unlabelled answer against their probabilities, all 2³ of them."""
    import jax.numpy as jnp

    from bayesjudge.models.conditional_panel.likelihood import PanelResponses

    data = _small()[1]
    arrays = {
        **data.arrays,
        "runs": np.ones((1, 3), int),
        "model_of": np.array([1]),
        "known": np.array([0]),
        "real": np.array([1]),
    }
    rng = np.random.default_rng(1)
    theta, logits = jnp.array([0.3, 0.8]), rng.normal(size=(2, 3, 2))
    seen = PanelResponses(theta, jnp.asarray(logits[0]), jnp.asarray(logits[1]), data.with_arrays(arrays))
    drawn = np.asarray(seen.sample(jax.random.key(0), (20_000,)))[:, 0]
    codes = np.bincount(drawn[:, 1:] @ np.array([1, 2, 4]), minlength=8)
    every = np.array([[[0, *(code >> k & 1 for k in range(3))]] for code in range(8)])
    p = np.exp([float(seen.log_prob(jnp.asarray(value))[0]) for value in every])
    assert p.sum() == pytest.approx(1.0)
    most = error_budget.standard_errors(len(p))
    assert (np.abs(codes - 20_000 * p) < most * np.sqrt(20_000 * p * (1 - p))).all()


def _independent(votes: PanelVotes, seed: int) -> PanelVotes:
    """The same design with votes that depend on the label alone, at each judge's own rates."""
    rng = np.random.default_rng(seed)
    label = np.where(np.isfinite(votes.label), votes.label, 0.0)
    yes = [np.nanmean(np.where(votes.label[..., None] == y, votes.votes, np.nan), axis=(0, 1)) for y in (0, 1)]
    drawn = rng.random(votes.votes.shape) < np.where(label[..., None] == 1, yes[1], yes[0])
    return replace(votes, votes=np.where(votes.runs > 0, drawn, np.nan))


def _flagged(votes: PanelVotes) -> pd.Series:
    result = fit(ConditionalPanel(pooling="shared"), votes, engine=Laplace(chains=2, draws=150), seed=2)
    found = predictive_check(result).frame
    return found.loc[found["statistic"] == CO_ERRORS, "flagged"]


@pytest.mark.slow
def test_the_co_errors_of_real_judges_are_flagged_and_those_of_independent_ones_are_not(triviaqa: pd.DataFrame) -> None:
    # Five of the nine models are enough to see it, and cheaper.
    some = triviaqa[triviaqa["model"].isin(sorted(triviaqa["model"].unique())[:5])]
    votes = panel_votes(Verdicts.from_frame(some))
    keep = np.random.default_rng(0).permutation(400)[:40]
    shown = votes.with_labels_of(np.isin(np.arange(400), keep))
    real = _flagged(shown)
    assert len(real) == 36
    assert real.mean() > 0.25
    independent = _flagged(_independent(votes, seed=3).with_labels_of(np.isin(np.arange(400), keep)))
    # Tail probabilities below .01 are at most about 1 in 100 under the right model: 2 of 36 has chance 5 %.
    assert independent.sum() <= 2
