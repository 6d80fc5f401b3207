"""Judges whose every verdict people checked: LLMBar, PandaLM and MT-Bench, as tables of pairs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from bayesjudge.readers import read_pairs
from bayesjudge.tables import Pairs

__all__ = ["settings"]

#: Judges of LLMBar with the Metrics-Reference prompt on all 1,200 items.
REFERENCE = ("GPT-4", "ChatGPT", "LLaMA2", "PaLM2")
MTBENCH_JUDGE = "gpt-4-0613-pairwise"


def settings(data: Path) -> Iterator[tuple[str, Pairs]]:
    """Name and pairs of every setting; only pairs with a human preference and a decision of the judge."""
    yield from _llmbar(data)
    yield from _pandalm(data)
    yield from _mtbench(data)


def _llmbar(data: Path) -> Iterator[tuple[str, Pairs]]:
    judged = pd.read_parquet(data / "pairwise_llmbar" / "llmbar_judgments.parquet")
    items = pd.read_parquet(data / "pairwise_llmbar" / "llmbar_items.parquet")
    for prompt, judges in (("Vanilla", sorted(judged["judge"].unique())), ("Metrics_Reference", REFERENCE)):
        for judge in judges:
            mine = judged[(judged["judge"] == judge) & (judged["prompt"] == prompt)]
            # Both orders parsed: two verdicts each.
            whole = mine.groupby("item_id")["verdict"].transform("count") == 2
            rows = mine[whole][["item_id", "judge", "verdict", "order"]]
            yield f"llmbar {judge} {prompt}", _read(rows.merge(items, on="item_id"), data, "llmbar")


def _pandalm(data: Path) -> Iterator[tuple[str, Pairs]]:
    judged = pd.read_parquet(data / "pairwise_pandalm" / "pandalm_judgments.parquet")
    items = pd.read_parquet(data / "pairwise_pandalm" / "pandalm_items.parquet")
    for judge in sorted(judged["judge"].unique()):
        mine = judged[(judged["judge"] == judge) & judged["verdict"].notna()]
        rows = mine[["item_id", "judge", "verdict", "order"]].merge(items, on="item_id")
        yield f"pandalm {judge}", _read(rows.rename(columns={"prompt_id": "question"}), data, "pandalm")


def _mtbench(data: Path) -> Iterator[tuple[str, Pairs]]:
    judged = pd.read_parquet(data / "pairwise_mtbench_human" / "mtbench_judgments.parquet")
    items = pd.read_parquet(data / "pairwise_mtbench_human" / "mtbench_items.parquet")
    mine = judged[(judged["judge"] == MTBENCH_JUDGE) & (judged["run"] == 0)]
    rows = mine[["item_id", "judge", "verdict", "order"]].merge(items, on="item_id")
    yield "mtbench gpt-4 pairwise", _read(rows.rename(columns={"question_id": "question"}), data, "mtbench")


def _read(frame: pd.DataFrame, data: Path, embeddings: str) -> Pairs:
    kept = [
        "item_id",
        "judge",
        "verdict",
        "order",
        "human",
        "len_a",
        "len_b",
        "question",
        "category",
        "subset",
        "model_a",
        "model_b",
    ]
    pairs = read_pairs(
        frame[[name for name in kept if name in frame]], embeddings=data / "embeddings" / f"{embeddings}.npz"
    )
    return pairs.take(pairs.verified)
