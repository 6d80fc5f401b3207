"""Options that commands share, in one place so that they read the same everywhere."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = [
    "Blocks", "Bootstrap", "Chains", "Cluster", "Column", "Compare", "Draws", "Engine", "Every", "File",
    "Gold", "Group", "Html", "Json", "Judge", "Labels", "Out", "Panel", "Pooling", "Population", "Prob",
    "Quiet", "Seed", "Strict", "Where",
]  # fmt: skip

File = Annotated[
    str, typer.Argument(help="Log: CSV, TSV, JSONL, Parquet, a glob, FILE.duckdb::TABLE, or - for stdin.")
]
Column = Annotated[list[str] | None, typer.Option(help="Our column = yours, for instance verdict=score.")]
Gold = Annotated[str | None, typer.Option(help="Second file with human labels by item (and model).")]
Judge = Annotated[list[str] | None, typer.Option(help="Only this judge; may be given more than once.")]
Group = Annotated[str | None, typer.Option(help="Column that splits the items, for instance subject.")]
Cluster = Annotated[list[str] | None, typer.Option(help="Column of items that belong together.")]
Pooling = Annotated[str, typer.Option(help="partial, shared or specific: how alike the judge's errors are.")]
_LABELS = (
    "How answers were chosen for labelling: random (evenly; tested), chosen-by-verdict (by the judge's "
    "verdicts and nothing else; they are weighed), or enriched (each by its own label and nothing else: "
    "wrong where items were chosen by how hard they are). Known unequal chances: a column label_probability."
)
Labels = Annotated[str, typer.Option(help=_LABELS)]
Population = Annotated[
    str, typer.Option(help="superpopulation: accuracy on questions like these; items: on exactly these.")
]
Panel = Annotated[
    bool | None,
    typer.Option("--panel/--no-panel", help="All judges together; by default for two judges or more."),
]
Out = Annotated[
    Path | None, typer.Option(help="Folder for tables (CSV), answer (JSON), page (HTML) and fits (NetCDF).")
]
Blocks = Annotated[
    Path | None,
    typer.Option(
        "--out", help="Folder for blocks (a killed run goes on there), tables (Parquet), figures (SVG)."
    ),
]
Html = Annotated[Path | None, typer.Option(help="Write the report as one self-contained page.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of tables.")]
Every = Annotated[bool, typer.Option("--all", help="Print every method, not the main ones.")]
Prob = Annotated[float, typer.Option(help="Probability of the intervals.")]
Seed = Annotated[int, typer.Option(min=0, max=2**32 - 2, help="Equal seeds give equal results.")]
Engine = Annotated[str, typer.Option(help="nuts, hmc, laplace or pymc.")]
Chains = Annotated[int, typer.Option(help="Chains of each posterior.")]
Draws = Annotated[int, typer.Option(help="Posterior draws of each chain, after as many to warm up.")]
Bootstrap = Annotated[int, typer.Option(help="Bootstrap replicates; 0 leaves the bootstrap out.")]
Compare = Annotated[
    bool | None,
    typer.Option("--compare/--no-compare", help="Compare the poolings; by default for a single judge."),
]
Strict = Annotated[
    bool, typer.Option(help="Exit with 3 when a gate fails: convergence, or labels that look chosen.")
]
Quiet = Annotated[bool, typer.Option(help="No progress bars.")]
Where = Annotated[
    list[str] | None,
    typer.Option(help="Only rows where your column = value, for instance prompt=short; may be given again."),
]
