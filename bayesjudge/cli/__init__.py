"""The command line: one question a command, results on standard output, progress on standard error."""

from __future__ import annotations

import gc
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
from bayesjudge.cli.panels import Command
from bayesjudge.cli.questions import command
from bayesjudge.cli.running import TYPED, say
from bayesjudge.cli.simulate import simulate
from bayesjudge.options import AccuracyOptions, AuditOptions, CompareOptions, EloOptions, ReliabilityOptions

__all__ = ["app", "main"]

app = typer.Typer(
    name="bayesjudge",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="The information in LLM-judge verdicts: Bayesian and frequentist intervals side by side.",
)
#: Panels of the commands' list, in order.
ASK, COLLECT, STORED, ABOUT = "Questions", "Logs, labels and trials", "Answers", "This package"


def _add(name: str, function: Any, panel: str) -> None:
    app.command(name, cls=Command, rich_help_panel=panel)(function)


_add("accuracy", command("accuracy", VerdictFile, AccuracyOptions), ASK)
_add("elo", command("elo", BattleFile, EloOptions), ASK)
_add("audit", command("audit", PairFile, AuditOptions), ASK)
_add("reliability", command("reliability", RepeatFile, ReliabilityOptions), ASK)
_add("compare", command("compare", RunFiles, CompareOptions), ASK)
_add("demo", command("accuracy", DemoLog, AccuracyOptions, seed=20, html=Path("bayesjudge-demo.html")), ASK)
_add("inspect", inspect, COLLECT)
_add("judge", judge, COLLECT)
_add("show", show, STORED)
_add("models", models, ABOUT)
_add("doctor", doctor, ABOUT)
simulate.command("sbc", cls=Command)(calibrate)
simulate.command("coverage", cls=Command)(cover)
app.add_typer(next_, name="next", rich_help_panel=COLLECT)
app.add_typer(simulate, name="simulate", rich_help_panel=COLLECT)


@app.callback(invoke_without_command=True)
def _root(*, version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False) -> None:
    if version:
        from bayesjudge.version import __version__

        typer.echo(f"bayesjudge {__version__}")
        raise typer.Exit


def main(argv: list[str] | None = None) -> Any:
    """Run a command; it ends in ``SystemExit``."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A name that the terminal cannot show is no reason to lose the answer.
            stream.reconfigure(errors="replace")
    # A command ends before its garbage matters: to look for it after every 700 objects is a twelfth of its time.
    gc.set_threshold(50_000, 20, 20)
    token = TYPED.set(sys.argv[1:] if argv is None else argv)
    try:
        return app(argv)
    except OSError as error:  # of a help page or the version, on a full disk
        say(f"cannot write or read: {error}")
        sys.exit(2)
    finally:
        TYPED.reset(token)
