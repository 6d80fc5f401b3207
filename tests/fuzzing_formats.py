"""Damaged files of every tool: keys removed, types changed, nested, cut, bytes changed; each is read or refused."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from format_fixtures import FIXTURES, Fixture, packed
from fuzzing import BYTE_DAMAGE, KINDS, Kind, Outcome, Rng, outcome_of

from bayesjudge.readers.inspection import Inspection, inspect_source

__all__ = ["damaged_file", "read_damaged"]

VALUES: tuple[Any, ...] = (
    None,
    True,
    0,
    -1,
    1.5,
    10**400,
    float("nan"),
    float("inf"),
    "",
    "C",
    "yes",
    "é\u0000",
    "{",
    "[1",
    '{"a": [1]}',
    "x" * 300,
    [],
    [[]],
    [None, {}],
    {},
    {"value": {"a": [1]}},
    [1, "x"],
    {"score": {}, "value": []},
)


def _none(_: Rng) -> pd.DataFrame:
    return pd.DataFrame()


def _inspected(path: Path) -> Inspection:
    """Every question at once, and the page of it."""
    found = inspect_source(path)
    json.loads(found.to_json())
    return found


READERS = (*(KINDS[name] for name in ("verdicts", "battles", "repeats", "pairs")), Kind(frame=_none, read=_inspected))


def _nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = {"a": value}
    return value


def _broken(value: Any, rng: Rng) -> Any:
    """The value with something in it, at any depth, removed or replaced."""
    if isinstance(value, dict) and value and rng.random() < 0.85:
        key = list(value)[int(rng.integers(len(value)))]
        if rng.random() < 0.2:
            return {name: one for name, one in value.items() if name != key}
        return {**value, key: _broken(value[key], rng)}
    if isinstance(value, list) and value and rng.random() < 0.85:
        place = int(rng.integers(len(value)))
        return [*value[:place], _broken(value[place], rng), *value[place + 1 :]]
    return _nested(int(rng.choice([60, 1000]))) if rng.random() < 0.02 else VALUES[int(rng.integers(len(VALUES)))]


def _content(fixture: Fixture, rng: Rng) -> bytes:
    value = copy.deepcopy(fixture.content)
    if isinstance(value, pd.DataFrame):
        cells = value.astype(object).to_numpy(copy=True)
        for _ in range(int(rng.integers(1, 4))):
            one = VALUES[int(rng.integers(len(VALUES)))]
            cells[int(rng.integers(cells.shape[0])), int(rng.integers(cells.shape[1]))] = str(one)
        return pd.DataFrame(cells, columns=value.columns).to_csv(index=False).encode()
    for _ in range(int(rng.integers(1, 4))):
        value = _broken(value, rng)
    if fixture.name.endswith(".eval"):
        return packed(value if isinstance(value, dict) else {"summaries.json": value})
    if fixture.name.endswith(".jsonl") and isinstance(value, list):
        return "\n".join(map(json.dumps, value)).encode()
    return json.dumps(value).encode()


def damaged_file(seed: int) -> tuple[str, bytes]:
    """Name and bytes of one damaged file."""
    rng = np.random.default_rng([seed, 29])
    fixture = FIXTURES[list(FIXTURES)[int(rng.integers(len(FIXTURES)))]]
    content = _content(fixture, rng)
    if rng.random() < 0.3 and content:
        content = BYTE_DAMAGE[str(rng.choice(list(BYTE_DAMAGE)))](content, rng)
    return fixture.name, content


def read_damaged(seed: int, folder: Path) -> Outcome:
    """What one question's reader makes of it."""
    name, content = damaged_file(seed)
    path = folder / name
    path.write_bytes(content)
    return outcome_of(READERS[seed % len(READERS)], path, None)
