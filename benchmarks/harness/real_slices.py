"""Slices of the real tables, one for each model, small enough that a posterior takes seconds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from bayesjudge.readers import read_pairs, read_scores, read_trials
from bayesjudge.tables import Battles, Pairs, Scores, Trials, Verdicts

__all__ = ["DATA", "SLICES", "arena", "graded", "pairs", "real_slice", "scores", "trials", "triviaqa"]

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"


def real_slice(model: str, folder: Path = DATA) -> Any:
    """The real table that a model is compared on; the same rows in whatever order the file has them."""
    return SLICES[model](folder)


def triviaqa(folder: Path, *, models: int, judges: int, items: int, labelled: int) -> Verdicts:
    """The first models, judges and answered items by name; labels of the first items alone."""
    frame = pd.read_parquet(folder / "binary_triviaqa_judges" / "triviaqa_judges.parquet")
    keep = (frame["version"] == "V1") & (frame["judge_type"] == "llm") & ~frame["suspect"]
    rows = frame[keep].rename(columns={"item_id": "item"}).astype({"item": str, "model": str, "judge": str})
    for column, number in (("model", models), ("judge", judges), ("item", items)):
        rows = rows[rows[column].isin(sorted(rows[column].unique())[:number])]
    seen = set(sorted(rows["item"].unique())[:labelled])
    rows = rows.assign(label=rows["label"].where(rows["item"].isin(seen)))
    columns = ["item", "model", "judge", "verdict", "label"]
    return Verdicts.from_frame(rows.sort_values(columns[:3])[columns].reset_index(drop=True))


def arena(folder: Path, *, models: int, judges: tuple[str, ...]) -> Battles:
    """Battles among the first models by name, with their human votes and those judges' verdicts."""
    wide = pd.read_parquet(folder / "pairwise_chatbot_arena_ppr" / "chatbot_arena_ppr.parquet")
    wide = wide.astype({"model_a": str, "model_b": str})
    names = sorted(set(wide["model_a"]) | set(wide["model_b"]))[:models]
    wide = wide[wide["model_a"].isin(names) & wide["model_b"].isin(names)].sort_values("battle_id")
    common = wide[["battle_id", "model_a", "model_b", "human"]].rename(columns={"battle_id": "item"})
    if not judges:
        return Battles.from_frame(common.reset_index(drop=True))
    code = {"a": 1.0, "tie": 0.5, "b": 0.0}
    parts = [common.assign(judge=judge, verdict=wide[judge].astype(str).map(code), order="ab") for judge in judges]
    return Battles.from_frame(pd.concat(parts, ignore_index=True))


def graded(folder: Path) -> Battles:
    """GPT-4's grades of both MT-Bench answers of the first turn, and what people preferred."""
    place = folder / "pairwise_mtbench_human"
    judged = pd.read_parquet(place / "mtbench_judgments.parquet")
    judged = judged[judged["template"].isin(["single-v1", "single-math-v1"])]
    votes = pd.read_parquet(place / "mtbench_items.parquet")[["item_id", "human"]]
    rows = judged.merge(votes, on="item_id").rename(columns={"item_id": "item"}).sort_values("item")
    columns = ["item", "model_a", "model_b", "judge", "score_a", "score_b", "human"]
    return Battles.from_frame(rows[columns].astype({"judge": str}).reset_index(drop=True))


def scores(folder: Path, *, responses: int) -> Scores:
    """Eight scores of the first responses by GPT-5.4-nano and Claude Haiku 4.5, the plain prompt."""
    frame = pd.read_parquet(folder / "repeated_rewardbench2_composo" / "rewardbench2_composo_scores.parquet")
    warm = frame["temperature"].isna() | (frame["temperature"] == 1.0)
    judges = frame["judge"].isin(["gpt-5.4-nano", "claude-haiku-4.5"])
    rows = frame[warm & judges & (frame["prompt"] == "base") & (frame["response"] == 0)]
    first = sorted(rows["item_id"].astype(str).unique())[:responses]
    rows = rows[rows["item_id"].astype(str).isin(first)].drop(columns=["temperature", "subset", "label"])
    return read_scores(rows.sort_values(["item_id", "judge"]).reset_index(drop=True))


def trials(folder: Path, *, items: int) -> Trials:
    """Three runs in both orders by two judges, of the first comparisons."""
    frame = pd.read_parquet(folder / "repeated_position_bias" / "position_bias_repetitions.parquet")
    frame = frame.astype({"judge": str, "item_id": str})
    judges = frame["judge"].isin(["claude-3-haiku-20240307", "gpt-3.5-turbo-1106"])
    rows = frame[judges & frame["item_id"].isin(sorted(frame["item_id"].unique())[:items])]
    names = {"item_id": "item", "verdict": "outcome", "run": "trial"}
    columns = ["item", "judge", "trial", "order", "outcome"]
    rows = rows.rename(columns=names)[columns].sort_values(columns[:4]).reset_index(drop=True)
    return read_trials(rows)


def pairs(folder: Path, *, verified: int) -> Pairs:
    """GPT-4's plain verdicts on LLMBar; what people prefer is kept of the first pairs."""
    place = folder / "pairwise_llmbar"
    pairs = read_pairs(
        place / "llmbar_judgments.parquet",
        items=place / "llmbar_items.parquet",
        embeddings=folder / "embeddings" / "llmbar.npz",
        where={"prompt": "Vanilla", "judge": "GPT-4"},
    )
    hidden = pairs.frame["item"].rank(method="first").to_numpy() > verified
    return pairs.hide(hidden)


SLICES: Mapping[str, Callable[[Path], Any]] = {
    "bradley_terry": partial(arena, models=3, judges=()),
    "conditional_panel": partial(triviaqa, models=2, judges=2, items=120, labelled=40),
    "judge_elo": partial(arena, models=3, judges=("claude-3-opus-20240229", "gpt-3.5-turbo")),
    "judge_error": partial(triviaqa, models=2, judges=1, items=400, labelled=100),
    "judge_panel": partial(triviaqa, models=2, judges=2, items=30, labelled=20),
    "judge_temperature": graded,
    "pointwise_scores": partial(scores, responses=12),
    "repeated_trials": partial(trials, items=8),
    "verdict_agreement": partial(pairs, verified=200),
}
