"""Long simulations in blocks that are kept as they are done: a killed run goes on where it stopped."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from bayesjudge.errors import UsageError
from bayesjudge.files import write_text, write_whole

_SETTINGS = "settings.json"


def kept_or_made(
    make: Callable[[int], pd.DataFrame], blocks: int, *, folder: Path | None, settings: Mapping[str, Any]
) -> pd.DataFrame:
    """Rows of all blocks: read where a file has them, made and kept where not.

    folder: Where blocks lie, one Parquet file each; None keeps nothing.
    """
    if folder is None:
        return pd.concat([make(number) for number in range(blocks)], ignore_index=True)
    _claim(folder, settings)
    parts = []
    for number in range(blocks):
        path = folder / f"block-{number:04d}.parquet"
        if not path.is_file():
            write_parquet(path, make(number))
        parts.append(pd.read_parquet(path))
    return pd.concat(parts, ignore_index=True)


def write_parquet(path: Path, frame: pd.DataFrame) -> Path:
    """Write a Parquet file, whole or not at all."""
    return write_whole(path, lambda file: frame.to_parquet(file, index=False))


def _claim(folder: Path, settings: Mapping[str, Any]) -> None:
    """Write down what the folder's blocks depend on, or compare with what was written."""
    folder.mkdir(parents=True, exist_ok=True)
    path, text = folder / _SETTINGS, json.dumps(settings, indent=1, sort_keys=True, ensure_ascii=False)
    if not path.is_file():
        write_text(path, text)
        return
    kept, asked = json.loads(path.read_text(encoding="utf-8")), json.loads(text)
    differ = [name for name in sorted(kept.keys() | asked.keys()) if kept.get(name) != asked.get(name)]
    if differ:
        changes = "; ".join(f"{name} was {kept.get(name)!r}, now {asked.get(name)!r}" for name in differ)
        raise UsageError(
            f"{str(folder)!r} keeps blocks of another run ({changes}); name another folder, or "
            "give the settings it was begun with"
        )
