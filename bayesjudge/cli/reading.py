"""Options that say how a file is to be read, the same for every command that reads one."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from bayesjudge.cli.panels import READING
from bayesjudge.cli.running import mapping

if TYPE_CHECKING:
    from bayesjudge.readers.reading import Choices


_read = partial(typer.Option, rich_help_panel=READING)

Format = Annotated[
    str | None, _read("--format", help="Read as this tool's format (bayesjudge inspect names it), or as table.")
]
Verdict = Annotated[
    str | None, _read(help="The judge's criterion, where there are several: NAME, or NAME=VALUE,... for yes.")
]
Label = Annotated[
    str | None,
    _read(
        help="What people marked, in --gold too: NAME, NAME=VALUE,... or 'NAME>=75'; 'human *': one column per person."
    ),
]
Gold = Annotated[
    list[str] | None,
    _read(help="Second file with human labels by item (and model); may be repeated.", metavar="<file>"),
]
Threshold = Annotated[str | None, _read(help="Which scores mean yes: 7, '>=7' or '<=2'.")]
Items = Annotated[str | None, _read(help="Second file, one row an item: columns that the log lacks.")]
Wide = Annotated[
    str | None, _read(help="A column for each model or judge: verdict:model, score:judge, ...", metavar="SHAPE")
]
Put = Annotated[
    list[str] | None,
    _read(
        "--set",
        help="Our column for all rows, OURS=VALUE; {file}, {folder}, {folder.2} (the one above), {file.1}, {file.2} "
        "(of A-vs-B), {COLUMN}, {COLUMN:0=tie,1=a}: a row's own.",
    ),
]


def reading(
    *,
    file_format: str | None = None,
    where: list[str] | None = None,
    put: list[str] | None = None,
    items: str | None = None,
) -> Choices:
    """The options as keywords of a reader."""
    values: Mapping[str, str] = mapping(put, "--set", "judge=gpt-4")
    return {"format": file_format, "where": where, "put": values, "items": items}
