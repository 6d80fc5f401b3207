"""Options that `inspect` and the commands of simulations share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bayesjudge.cli.panels import READING

File = Annotated[str, typer.Argument(help="Log: CSV, TSV, JSONL, Parquet, a glob, FILE.duckdb::TABLE, or - for stdin.")]
Column = Annotated[
    list[str] | None,
    typer.Option(
        help="Where one of our columns is in your file: OURS=YOURS, for instance verdict=score.",
        rich_help_panel=READING,
    ),
]
Where = Annotated[
    list[str] | None,
    typer.Option(
        help="Only rows where your column = value (or != < <= > >=, in quotes); may be repeated.",
        rich_help_panel=READING,
    ),
]
Blocks = Annotated[
    Path | None,
    typer.Option("--out", help="Folder for blocks (a killed run continues there), tables (Parquet), figures (SVG)."),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of tables.")]
Prob = Annotated[float, typer.Option(help="Probability of the intervals.")]
Seed = Annotated[int, typer.Option(min=0, max=2**32 - 2, help="Equal seeds give equal results.")]
Chains = Annotated[int, typer.Option(help="Chains of each posterior.")]
Draws = Annotated[int, typer.Option(help="Posterior draws of each chain, after as many to warm up.")]
Strict = Annotated[bool, typer.Option(help="Exit with 3 when a gate fails: convergence, or labels that look selected.")]
Quiet = Annotated[bool, typer.Option(help="No progress bars.")]
