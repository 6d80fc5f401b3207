"""``bayesjudge show``, ``models`` and ``doctor``: what is here."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bayesjudge.cli.options import Json
from bayesjudge.cli.running import deliver, plain_messages, require_targets
from bayesjudge.errors import UsageError


def show(
    answer: Annotated[Path, typer.Argument(help="Folder of --out, a page of --html, or what --json printed.")],
    html: Annotated[Path | None, typer.Option(help="Write the report as one self-contained page.")] = None,
    as_json: Json = False,
    every: Annotated[bool, typer.Option("--all", help="Print every method, not the main ones.")] = False,
) -> None:
    """A stored answer again, on the screen, as a page or as JSON: nothing is fitted."""
    with plain_messages():
        from bayesjudge.report import load_answer

        require_targets(None, html=html)
        found = load_answer(answer)
        try:
            deliver(found, out=None, html=html, as_json=as_json, every=every)
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            raise UsageError(
                f"{str(answer)!r} is not an answer as this version stores it ({error!r}): answer the question again"
            ) from error


def models() -> None:
    """Every registered generative model, with what it is for."""
    with plain_messages():
        from bayesjudge.model import find_model, model_names

        for name in model_names():
            described = (find_model(name).__doc__ or "").strip().partition("\n")[0]
            typer.echo(f"{name:20} {described}")


def doctor() -> None:
    """Versions, devices, what is missing and how to install it."""
    from bayesjudge.cli.doctor import examine

    findings = examine()
    for finding in findings:
        fix = f"   -> {finding.fix}" if finding.fix else ""
        typer.echo(f"{'ok     ' if finding.ok else 'MISSING'} {finding.what:24} {finding.found}{fix}")
    if not all(finding.ok for finding in findings):
        raise typer.Exit(2)
