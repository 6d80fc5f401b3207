"""A log of verdicts too long to make at leisure: Parquet, written block by block."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from rich.console import Console
from rich.progress import track

__all__ = ["write_rows"]

MODELS, JUDGES = 5, 2
#: Items in one block; a block of rows takes some 20 MB.
BLOCK = 20_000
#: One item in this many carries human labels.
LABELLED_EVERY = 200


def write_rows(path: Path, *, rows: int, seed: int) -> int:
    """Write about ``rows`` verdicts of two judges on five models; returns how many.

    The accuracies are .9, .8 … .5, both judges have Youden's J of .7, and every 200th item is labelled.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    items, rng, writer = max(rows // (MODELS * JUDGES), 1), np.random.default_rng(seed), None
    for start in track(range(0, items, BLOCK), "writing rows", console=Console(stderr=True), transient=True):
        block = _block(np.arange(start, min(start + BLOCK, items)), rng)
        table = pa.Table.from_pandas(block, preserve_index=False)
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table)
    if writer is not None:
        writer.close()
    return items * MODELS * JUDGES


def _block(items: np.ndarray, rng: np.random.Generator) -> pd.DataFrame:
    truth = rng.random((len(items), MODELS)) < np.linspace(0.9, 0.5, MODELS)
    right = rng.random((len(items), MODELS, JUDGES)) < 0.85
    verdict = np.where(right, truth[:, :, None], ~truth[:, :, None]).astype(np.int8)
    i, m, j = (axis.ravel() for axis in np.indices(verdict.shape))
    label = pd.Series(truth[i, m].astype(np.int8), dtype="Int8").mask(items[i] % LABELLED_EVERY != 0)
    return pd.DataFrame(
        {
            "item": pd.Series(items[i]).map("q{:08d}".format),
            "model": np.array([f"model-{k}" for k in range(MODELS)], dtype=object)[m],
            "judge": np.array([f"judge-{k}" for k in range(JUDGES)], dtype=object)[j],
            "verdict": verdict.ravel(),
            "label": label,
        }
    )
