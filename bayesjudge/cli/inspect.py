"""``bayesjudge inspect``: what a file is, and which questions it can answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from bayesjudge.cli.options import Column, File, Json, Where
from bayesjudge.cli.reading import Format, Gold, Items, Label, Put, Threshold, Verdict, Wide, reading
from bayesjudge.cli.running import mapping, plain_messages

if TYPE_CHECKING:
    from bayesjudge.readers.inspection import Inspection


#: Names that one line lists; the page is for people, at most 25 lines long.
MOST_NAMED = 4
#: Characters of a sentence.
MOST_SAID = 240


def inspect(
    *,
    file: File,
    column: Column = None,
    where: Where = None,
    file_format: Format = None,
    verdict: Verdict = None,
    label: Label = None,
    threshold: Threshold = None,
    put: Put = None,
    items: Items = None,
    gold: Gold = None,
    wide: Wide = None,
    as_json: Json = False,
) -> None:
    """What a file or folder is, and which command answers which question; nothing is fitted.

    Example: bayesjudge inspect logs/ --where prompt=short
    """
    with plain_messages():
        from bayesjudge.readers.inspection import inspect_source

        said = reading(file_format=file_format, where=where, put=put, items=items)
        said |= {"verdict": verdict, "label": label, "threshold": threshold, "wide": wide}
        found = inspect_source(file, columns=mapping(column, "--column", "verdict=score"), gold=gold or (), **said)
        typer.echo(found.to_json() if as_json else "\n".join(_lines(found)))
    if not found.usable:
        raise typer.Exit(2)


def _lines(found: Inspection) -> list[str]:
    lost = sum(found.dropped.values())
    used = f"{found.records} records read" + (f", {lost} not usable" if lost else "")
    lines = [f"{found.title}: {used}, {found.rows} rows"]
    lines += [f"  {n:<10}  {reason}" for reason, n in list(found.dropped.items())[:MOST_NAMED]]
    lines += [f"  {name:<10}  {text}" for name, text in _contents(found) if text]
    for question, answer in found.questions.items():
        refused = f"lacks {'; '.join(answer.lacks)}" if answer.lacks else answer.why
        said = f"yes: {answer.why}" if answer.possible else f"no: {refused}"
        lines += [
            f"{question:<12}{_short(said, MOST_SAID)}",
            *(f"{'':<12}{one}" for one in answer.commands[:MOST_NAMED]),
        ]
    return [*lines[: 24 - min(3, len(found.notes))], *(f"note: {_short(note, MOST_SAID)}" for note in found.notes[:3])]


def _contents(found: Inspection) -> list[tuple[str, str]]:
    several = len(found.models) > 1 and found.items and found.questions["accuracy"].commands
    all_of_them = "both models" if len(found.models) == 2 else f"all {len(found.models)} models"
    paired = f"; {found.shared or 'none'} answered by {all_of_them}" if several else ""
    if several and not found.shared:
        paired += ": differences are unpaired"
    marked = f"{found.labels} rows" + (f" by {_few(found.annotators)}" if found.annotators else "")
    return [
        ("item", f"{found.items or 'none yet'} ({found.identity}){paired}"),
        ("model", _few(found.models)),
        ("judge", _few(found.judges)),
        ("criterion", _few(found.criteria)),
        ("label", marked if found.labels else f"none (people's: {found.people})"),
    ]


def _few(names: list[str]) -> str:
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return ", ".join(map(_short, names[:MOST_NAMED])) + more


def _short(text: str, most: int = 120) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
