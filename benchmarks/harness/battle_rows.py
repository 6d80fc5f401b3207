"""A log of battles too long to make at leisure: Parquet, written block by block."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from rich.console import Console
from rich.progress import track

__all__ = ["write_battles"]

#: Battles in one block; a block takes some 100 MB while it is made.
BLOCK = 500_000


def write_battles(path: Path, *, battles: int, models: int, judged_every: int, seed: int) -> None:
    """Write battles with human votes, every so many of them with a judge's verdict in one order.

    Strengths are N(0, .7) in logits; one vote in seven is a tie. The judge says what another person would.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng, writer = np.random.default_rng(seed), None
    theta = rng.normal(0, 0.7, models)
    for start in track(range(0, battles, BLOCK), "writing battles", console=Console(stderr=True), transient=True):
        size = min(BLOCK, battles - start)
        table = pa.Table.from_pandas(_block(start, size, theta, judged_every, rng), preserve_index=False)
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table)
    if writer is not None:
        writer.close()


def _block(start: int, size: int, theta: np.ndarray, judged_every: int, rng: np.random.Generator) -> pd.DataFrame:
    names = np.array([f"model-{k:03d}" for k in range(len(theta))], dtype=object)
    a = rng.integers(len(theta), size=size)
    b = (a + rng.integers(1, len(theta), size=size)) % len(theta)
    item = np.arange(start, start + size)
    chance = 1 / (1 + np.exp(theta[b] - theta[a]))
    outcome = [np.where(rng.random(size) < 1 / 7, 0.5, rng.random(size) < chance) for _ in range(2)]
    verdict = np.where(item % judged_every == 0, outcome[1], np.nan)
    return pd.DataFrame(
        {
            "item": item,
            "model_a": names[a],
            "model_b": names[b],
            "human": outcome[0],
            "judge": "judge",
            "verdict": verdict,
            "order": "ab",
        }
    )
