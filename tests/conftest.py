"""Real data beside the checkout, and one Hypothesis profile for every test."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import settings

from bayesjudge.counts import AnswerPatterns, ItemPatterns, VerdictCounts

# Machines that run the tests are shared and compile JAX programs on first use: a clock says nothing here.
settings.register_profile("bayesjudge", deadline=None, derandomize=True)
settings.load_profile("bayesjudge")


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Folder with the real tables; skips where the checkout stands alone."""
    folder = Path(__file__).resolve().parents[2] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip(f"real data not found at {folder}")
    return folder


@pytest.fixture(scope="session")
def triviaqa(shared_data: Path) -> pd.DataFrame:
    """Nine models' TriviaQA answers, nine LLM judges and a human label: 31,825 rows. Treat as read-only."""
    frame = pd.read_parquet(shared_data / "binary_triviaqa_judges" / "triviaqa_judges.parquet")
    keep = (frame["version"] == "V1") & (frame["judge_type"] == "llm") & ~frame["suspect"]
    columns = ["item", "model", "judge", "verdict", "label"]
    chosen = frame[keep].rename(columns={"item_id": "item"})[columns].reset_index(drop=True)
    return chosen.astype({"item": str, "model": str, "judge": str})


@pytest.fixture(scope="session")
def item_counts() -> Callable[..., VerdictCounts]:
    """Builder of one judge's counts from arrays (items, models), without a trip through a table."""
    return _item_counts


def _item_counts(
    label: Any, positives: Any, *, runs: Any = 1, cluster: Any = None, group: Any = None, n: Any = 1
) -> VerdictCounts:
    label, positives = np.asarray(label), np.asarray(positives)
    items, models = label.shape
    zero, codes = np.zeros(items, dtype=np.int64), np.arange(models)
    patterns = ItemPatterns(
        group=zero if group is None else np.asarray(group),
        cluster=zero if cluster is None else np.asarray(cluster),
        label=label, runs=np.broadcast_to(runs, label.shape), positives=positives,
        n=np.broadcast_to(np.asarray(n), items),
    )  # fmt: skip
    empty = np.zeros((0, 1), dtype=np.int64)
    answers = AnswerPatterns(model=zero[:0], group=zero[:0], cluster=zero[:0], label=zero[:0],
                             runs=empty, positives=empty, n=zero[:0])  # fmt: skip
    return VerdictCounts(
        models=tuple(f"m{code}" for code in codes), judges=("judge",),
        groups=("all",) if group is None else tuple(f"g{code}" for code in np.unique(group)),
        clusters=0 if cluster is None else len(np.unique(cluster)),
        answers=answers, items={"judge": patterns},
    )  # fmt: skip
