"""The command line: one question a command, results on standard output, progress on standard error."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from bayesjudge.cli.about import doctor, models, show
from bayesjudge.cli.calibration import calibrate
from bayesjudge.cli.coverage import cover
from bayesjudge.cli.files import BattleFile, DemoLog, PairFile, RepeatFile, RunFiles, VerdictFile
from bayesjudge.cli.inspect import inspect
from bayesjudge.cli.judge import judge
from bayesjudge.cli.next import next_
from bayesjudge.cli.questions import command
from bayesjudge.cli.simulate import simulate
from bayesjudge.options import AccuracyOptions, AuditOptions, CompareOptions, EloOptions, ReliabilityOptions

__all__ = ["app", "main"]

app = typer.Typer(
    name="bayesjudge",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="What LLM-judge verdicts are worth: Bayesian and frequentist intervals side by side.",
)
app.command()(inspect)
app.command("accuracy")(command("accuracy", VerdictFile, AccuracyOptions))
app.command("elo")(command("elo", BattleFile, EloOptions))
app.command("audit")(command("audit", PairFile, AuditOptions))
app.command("reliability")(command("reliability", RepeatFile, ReliabilityOptions))
app.command("compare")(command("compare", RunFiles, CompareOptions))
app.command("demo")(command("accuracy", DemoLog, AccuracyOptions, seed=20, html=Path("bayesjudge-demo.html")))
app.command()(judge)
app.command()(show)
app.command()(models)
app.command()(doctor)
simulate.command("sbc")(calibrate)
simulate.command("coverage")(cover)
app.add_typer(next_, name="next")
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
