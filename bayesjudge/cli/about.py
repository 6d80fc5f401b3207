"""``bayesjudge models`` and ``bayesjudge doctor``: what is here."""

from __future__ import annotations

import typer

from bayesjudge.cli.running import plain_messages


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
