"""The command line: one question a command, results on standard output, progress on standard error."""

from __future__ import annotations

import io
import sys
from typing import Annotated, Any

import typer

from bayesjudge.cli.about import doctor, models
from bayesjudge.cli.accuracy import accuracy, demo
from bayesjudge.cli.audit import audit
from bayesjudge.cli.calibration import calibrate
from bayesjudge.cli.coverage import cover
from bayesjudge.cli.elo import elo
from bayesjudge.cli.inspect import inspect
from bayesjudge.cli.reliability import reliability
from bayesjudge.cli.simulate import simulate

__all__ = ["app", "main"]

app = typer.Typer(
    name="bayesjudge", no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False,
    help="What LLM-judge verdicts are worth: Bayesian and frequentist intervals side by side.",
)  # fmt: skip
for command in (inspect, accuracy, elo, audit, reliability, demo, models, doctor):
    app.command()(command)
simulate.command("sbc")(calibrate)
simulate.command("coverage")(cover)
app.add_typer(simulate, name="simulate")


@app.callback(invoke_without_command=True)
def _root(*, version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False) -> None:
    if version:
        from bayesjudge.version import __version__

        typer.echo(f"bayesjudge {__version__}")
        raise typer.Exit


def main(argv: list[str] | None = None) -> Any:
    """Entry point of the ``bayesjudge`` command."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A name that the terminal cannot show is no reason to lose the answer.
            stream.reconfigure(errors="replace")
    return app(argv)
