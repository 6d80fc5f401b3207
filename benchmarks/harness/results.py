"""Tables on standard output, and JSON written whole or not at all."""

from __future__ import annotations

import json
import math
from argparse import Namespace
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bayesjudge.files import write_text
from harness.machine import line

__all__ = ["holds", "report", "show", "write"]


def holds(claim: str, value: float, *, least: float = -math.inf, most: float = math.inf) -> dict[str, Any]:
    """One thing that must hold, with what was found.

    Examples
    --------
    >>> holds("ratio of widths", 0.9, most=0.92)["holds"]
    True
    """
    return {"claim": claim, "value": value, "least": least, "most": most, "holds": bool(least <= value <= most)}


def report(
    benchmark: str,
    options: Namespace,
    facts: Mapping[str, Any],
    *,
    must_hold: Sequence[Mapping[str, Any]] = (),
    **parts: Any,
) -> None:
    """Print the machine and what must hold, and write everything when ``--out`` named a file.

    Parameters
    ----------
    benchmark : str
        Name of the script.
    options : Namespace
        Its options, kept as the result's settings.
    facts : mapping
        From `harness.machine.machine`.
    must_hold : sequence of mapping
        From `holds`.
    **parts
        Tables and numbers to keep.
    """
    print(f"machine: {line(facts)}")
    for claim in must_hold:
        verdict = "holds" if claim["holds"] else "FAILS"
        wanted = f"{claim['least']:.4g} to {claim['most']:.4g}"
        print(f"{verdict}: {claim['claim']}: {claim['value']:.4g} (wanted {wanted})")
    if options.out is not None:
        settings = {name: value for name, value in vars(options).items() if name not in {"out", "data"}}
        result = {"benchmark": benchmark, "settings": settings, "machine": facts, "must_hold": must_hold, **parts}
        write(options.out, result)
        print(f"written: {options.out}")


def show(rows: Sequence[Mapping[str, Any]], title: str, *, columns: Sequence[str] | None = None) -> None:
    """Print rows as a table, numbers to four digits."""
    from rich.box import SIMPLE
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    names = list(columns or rows[0])
    table = Table(title=title, title_justify="left", box=SIMPLE, pad_edge=False)
    for name in names:
        table.add_column(name, justify="left" if isinstance(rows[0].get(name), str) else "right", no_wrap=True)
    for row in rows:
        table.add_row(*(escape(_text(row.get(name))) for name in names))
    # A file or a pipe has no width of its own: wide enough that nothing is cut off.
    Console(width=None if Console().is_terminal else 240).print(table)


def write(path: Path, result: Mapping[str, Any]) -> None:
    """Write JSON, whole or not at all."""
    write_text(path, json.dumps(_plain(result), indent=1, allow_nan=False, ensure_ascii=False) + "\n")


def _text(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    return "" if value is None else str(value)


def _plain(value: Any) -> Any:
    """JSON has no NaN and no infinity: None and text instead; NumPy numbers become Python's."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    value = value.item() if hasattr(value, "item") else value
    return _number(value) if isinstance(value, float) else str(value) if isinstance(value, Path) else value


def _number(value: float) -> float | str | None:
    if math.isfinite(value):
        return float(f"{value:.6g}")
    return None if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
