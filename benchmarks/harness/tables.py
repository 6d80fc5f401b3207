"""Results as Markdown tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["cell", "picked", "table"]


def table(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """A Markdown table."""
    lines = [f"| {' | '.join(names)} |", f"|{'---|' * len(names)}"]
    return "\n".join([*lines, *(f"| {' | '.join(cell(value) for value in row)} |" for row in rows)])


def picked(rows: Sequence[Mapping[str, Any]], names: Sequence[str]) -> str:
    """A Markdown table of some columns."""
    return table(names, [[row.get(name) for name in names] for row in rows])


def cell(value: Any) -> str:
    """A value as a table shows it."""
    if isinstance(value, float):
        return f"{value:.4g}"
    # A bar ends a cell.
    return "" if value is None else str(value).replace("|", "\\|")
