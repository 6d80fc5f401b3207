"""``bayesjudge simulate coverage``: how often every method's intervals hold a truth that is known."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bayesjudge.cli.options import Blocks, Json, Prob, Quiet, Seed, Strict
from bayesjudge.cli.running import plain_messages

if TYPE_CHECKING:
    from bayesjudge.checks import Coverage

__all__ = ["cover"]

_SHOWN = ("n", "bias", "rmse", "coverage", "coverage_lower", "coverage_upper", "width", "interval_score",
          "wrong_sign")  # fmt: skip


def cover(
    *,
    question: Annotated[str, typer.Argument(help="accuracy, panel, elo, reliability or audit.")],
    datasets: Annotated[int, typer.Option(help="Simulated data sets in each cell of the sweep.")] = 100,
    block: Annotated[int, typer.Option(help="Data sets that are fitted, and kept, at a time.")] = 50,
    baselines: Annotated[bool, typer.Option(help="Also the frequentist methods.")] = True,
    out: Blocks = None,
    prob: Prob = 0.95,
    seed: Seed = 0,
    as_json: Json = False,
    strict: Strict = False,
    quiet: Quiet = False,
) -> None:  # fmt: skip
    """Bias, coverage, width and wrong calls of every method on simulated data, cell by cell of a sweep."""
    with plain_messages():
        from bayesjudge.checks import coverage
        from bayesjudge.studies.output import require_writable
        from bayesjudge.studies.sweeps import sweep_of

        sweep = sweep_of(question)
        if out is not None:
            require_writable(out)
        found = coverage(
            sweep.cells, models=sweep.models(), baselines=sweep.baselines if baselines else None,
            estimands=sweep.estimands, datasets=datasets, block=block, prob=prob, seed=seed,
            folder=None if out is None else out / "blocks", progress=not quiet, **sweep.sampling,
        )  # fmt: skip
        if out is not None:
            found.save(out)
            _draw(found, out)
        _tell(found, question, as_json=as_json)
        if strict and len(found.outside):
            raise typer.Exit(3)


def _draw(found: Coverage, folder: Path) -> None:
    from bayesjudge.plots import coverage_curves, to_svg
    from bayesjudge.studies.output import write_text

    write_text(folder / "coverage.svg", to_svg(coverage_curves(found.frame)))


def _tell(found: Coverage, question: str, *, as_json: bool) -> None:
    from bayesjudge.estimates import Estimates

    if as_json:
        answer = {"question": question, "outside": len(found.outside),
                  "coverage": Estimates.records_of(found.frame)}  # fmt: skip
        typer.echo(json.dumps(answer, ensure_ascii=False, allow_nan=False))
        return
    from rich.console import Console
    from rich.markup import escape

    from bayesjudge.studies.screens import empty_table, figure

    screen = Console(width=None if Console().is_terminal else 160)
    for (swept, estimand), rows in found.frame.groupby(["swept", "estimand"], sort=False):
        table = empty_table(f"{estimand}, by {swept}", [str(swept), "method"],
                            [name.replace("_", " ") for name in _SHOWN])  # fmt: skip
        for row in rows.to_dict("records"):
            cells = ["" if row[name] != row[name] else figure(row[name]) for name in _SHOWN]
            table.add_row(f"{row['value']:g}", escape(str(row["method"])), *cells)
        screen.print(table)
    screen.print(f"{len(found.outside)} of the Bayesian rows have exact bounds that leave the nominal "
                 "probability out", highlight=False)  # fmt: skip
