"""Real panels with every label, panels with most labels hidden, and what is true of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayesjudge.counts.panel import PanelVotes, panel_votes
from bayesjudge.estimates import POPULATIONS, estimand_of
from bayesjudge.tables import Verdicts

__all__ = ["DATA", "TABLES", "drawn_again", "hidden", "read", "true_values"]

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
TABLES = ("triviaqa V1", "triviaqa V2", "trec")

type Key = dict[str, Any]


def read(folder: Path, name: str) -> PanelVotes:
    """Votes and all labels of one table."""
    if name == "trec":
        frame = pd.read_parquet(folder / "multijudge_trec_llmjudge" / "trec_llmjudge.parquet")
        rows = pd.DataFrame(
            {
                "item": frame["item_id"],
                "model": "passages",
                "judge": frame["judge"],
                "verdict": (frame["score"] >= 2).astype(int),
                "query": frame["qid"],
                "label": (frame["human"] >= 2).astype(int),
            }
        )
        return panel_votes(Verdicts.from_frame(rows), cluster="query")
    frame = pd.read_parquet(folder / "binary_triviaqa_judges" / "triviaqa_judges.parquet")
    keep = (frame["version"] == name[-2:]) & (frame["judge_type"] == "llm") & ~frame["suspect"]
    columns = ["item", "model", "judge", "verdict", "label"]
    return panel_votes(Verdicts.from_frame(frame[keep].rename(columns={"item_id": "item"})[columns]))


def true_values(votes: PanelVotes) -> dict[tuple[str, str], float]:
    """Human accuracy of every model over all its answers, and every difference, for both populations."""
    accuracy = dict(zip(votes.models, np.nanmean(votes.label, axis=0).tolist(), strict=True))
    truth: dict[tuple[str, str], float] = {}
    for population in POPULATIONS:
        truth |= {(estimand_of("accuracy", population), model): value for model, value in accuracy.items()}
        truth |= {
            (estimand_of("difference", population), f"{a} − {b}"): accuracy[a] - accuracy[b]
            for a in accuracy
            for b in accuracy
        }
    return truth


def hidden(votes: PanelVotes, *, splits: int, labels: Sequence[int], seed: int) -> list[tuple[Key, PanelVotes]]:
    """The votes with the labels of all but n_cal random items hidden."""
    rng, sets = np.random.default_rng(seed), []
    for split in range(splits):
        order = rng.permutation(len(votes.items))
        for n_cal in labels:
            keep = np.isin(np.arange(len(votes.items)), order[:n_cal])
            sets.append(({"n_cal": n_cal, "split": split}, votes.with_labels_of(keep)))
    return sets


def drawn_again(votes: PanelVotes, *, splits: int, labels: Sequence[int], seed: int) -> list[tuple[Key, PanelVotes]]:
    """`hidden`, each split of as many items drawn from the table with replacement.

    The table is then the superpopulation, and what is true of it is true of questions like the drawn ones.
    """
    rng, sets = np.random.default_rng(seed), []
    for split in range(splits):
        drawn = _items(votes, rng.integers(len(votes.items), size=len(votes.items)))
        found = hidden(drawn, splits=1, labels=labels, seed=int(rng.integers(2**31)))
        sets += [({**key, "split": split}, one) for key, one in found]
    return sets


def _items(votes: PanelVotes, chosen: NDArray[np.int64]) -> PanelVotes:
    """The chosen items, each a new one, without what clusters, scores and marks say of them."""
    names = ("votes", "runs", "label", "annotations", "group")
    arrays: dict[str, Any] = {name: getattr(votes, name)[chosen] for name in names}
    return replace(
        votes,
        **arrays,
        items=tuple(map(str, range(len(chosen)))),
        scores=None,
        marks=None,
        cluster=np.arange(len(chosen)),
    )
