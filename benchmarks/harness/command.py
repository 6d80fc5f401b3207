"""The options every benchmark takes."""

from __future__ import annotations

import argparse
from argparse import Namespace
from collections.abc import Callable, Sequence
from pathlib import Path

__all__ = ["each_model", "parser"]


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


def each_model(
    description: str | None,
    count: str,
    results: Path,
    run: Callable[[str, Namespace], None],
    *,
    more: Sequence[str] = (),
) -> Namespace:
    """Run a study of simulated data on every registered model asked for, one after another.

    Parameters
    ----------
    description : str or None
        What the script does.
    count : str
        What its data sets are called: the option ``--count`` says how many.
    results : Path
        Folder of one result a model, unless ``--out`` names a file or the run is a quick one.
    run : callable
        ``(model's name, options)``; the options have ``model``, ``out`` and how many.
    more : sequence of str
        Names of further models of the study.

    Returns
    -------
    Namespace
        The options as given.
    """
    from bayesjudge.datasets.small import KIND_OF_MODEL

    options = parser(description)
    every = [*KIND_OF_MODEL, *more]
    options.add_argument("--model", action="append", choices=every, help="default: every one")
    options.add_argument(f"--{count}", type=int, help="default: 1000, quick: 40")
    options.add_argument("--folder", type=Path, help=f"keep blocks of {count} here, and go on from them")
    given = options.parse_args()
    names: Sequence[str] = given.model or (["bradley_terry"] if given.quick else every)
    size = getattr(given, count) or (40 if given.quick else 1000)
    for name in names:
        out = given.out if len(names) == 1 and given.out else None
        kept = None if given.quick and out is None else out or results / f"{name}.json"
        run(name, Namespace(**{**vars(given), "model": name, "out": kept, count: size}))
    return given
