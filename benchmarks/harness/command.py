"""The options every benchmark takes."""

from __future__ import annotations

import argparse
from pathlib import Path

__all__ = ["parser"]


def parser(description: str | None) -> argparse.ArgumentParser:
    """Parser with ``--quick``, ``--out`` and ``--seed``; scripts add their own sizes.

    Examples
    --------
    >>> parser("A benchmark.").parse_args(["--quick"]).quick
    True
    """
    options = argparse.ArgumentParser(description=(description or "").split("\n\n", 1)[0])
    options.add_argument("--quick", action="store_true", help="about a minute: smaller numbers, same steps")
    options.add_argument("--out", type=Path, metavar="FILE", help="also write the results as JSON")
    options.add_argument("--seed", type=int, default=1, help="equal seeds give equal data and draws")
    return options
