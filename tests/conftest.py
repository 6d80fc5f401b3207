"""Real data beside the checkout, and one Hypothesis profile for every test."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from hypothesis import settings

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
