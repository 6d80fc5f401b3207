"""What every command does around its question: plain messages, places to write to, delivery, exit codes."""

from __future__ import annotations

import io
import os
import shlex
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from bayesjudge.errors import EngineError, InputError, UsageError
from bayesjudge.text import visible

if TYPE_CHECKING:
    from bayesjudge.files import Job
    from bayesjudge.report.comparison import Comparison


#: What a shell reports of a command that Ctrl-C ended.
INTERRUPTED = 130
#: The words that followed ``bayesjudge``; None where a test called a command.
TYPED: ContextVar[Sequence[str] | None] = ContextVar("TYPED", default=None)


def mapping(pairs: list[str] | None, option: str, example: str) -> dict[str, str]:
    """Read options such as ``--column ours=theirs``."""
    found = {}
    for pair in pairs or []:
        name, _, value = pair.partition("=")
        if not (name and value):
            file = " is a file, of which none is taken here" if Path(pair).is_file() else ""
            raise UsageError(f"{option} {pair!r}{file}: write two names with = between, as in {option} {example}")
        found[name] = value
    return found


def require_targets(out: Path | None, **files: Path | None) -> None:
    """Refuse places that the answer cannot be written to, before minutes of sampling."""
    from bayesjudge.files import require_writable

    if out is not None:
        require_writable(out)
    for option, file in files.items():
        if file is not None:
            require_no_folder(file, f"--{option} ")
            if not file.absolute().parent.is_dir():
                raise UsageError(f"--{option} {str(file)!r}: there is no folder {str(file.parent)!r}; make it first")
            require_writable(file.absolute().parent)


def require_no_folder(file: Path, option: str) -> None:
    """Refuse a folder where a file is to be written."""
    if file.is_dir():
        raise UsageError(f"{option}{str(file)!r} is a folder; name a file in it")


@contextmanager
def plain_messages() -> Iterator[None]:
    """A user's mistake ends in one clear message and exit code 2, Ctrl-C in 130; warnings are a line each."""
    try:
        with warnings.catch_warnings():
            # A fall-back to another engine is always shown, whatever Python's warning filters say.
            warnings.simplefilter("always", UserWarning)
            warnings.showwarning = _show_warning  # type: ignore[assignment] # takes less than it is given
            yield
    except (InputError, UsageError, EngineError) as error:
        say("\n  ".join([str(error), *_with_options(error)]))
        raise typer.Exit(2) from error
    except OSError as error:
        say(f"cannot write or read: {error}")
        raise typer.Exit(2) from error
    except KeyboardInterrupt as stop:
        say(str(stop) or "stopped")
        raise typer.Exit(INTERRUPTED) from stop


def _with_options(error: Exception) -> list[str]:
    """What was typed, completed by each of the options of which one helps; or what answers in place of it."""
    typed = TYPED.get()
    if typed is None or not isinstance(error, InputError | UsageError):
        return []
    if error.instead:
        return [f"{'or' if k else 'Ask instead:'} {command}" for k, command in enumerate(error.instead)]
    if not error.options:
        return []
    from bayesjudge.readers.reading import last_said

    commands = [last_said(f"bayesjudge {shlex.join(typed)} {option}") for option in error.options]
    return [f"{'or' if k else 'Type'} {command}" for k, command in enumerate(commands)]


def _show_warning(message: Warning | str, *_: Any) -> None:
    say(f"warning: {message}")


def say(message: str) -> None:
    """A message on standard error."""
    typer.echo(f"bayesjudge: {visible(message)}", err=True)


def ci_reports(answer: Comparison, *, junit: Path | None, markdown: Path | None, github: bool) -> list[Job]:
    """What continuous integration reads, each to be written; annotations go to standard error at once."""
    from bayesjudge.conditions import reports
    from bayesjudge.files import write_text

    jobs: list[Job] = []
    if junit is not None:
        xml = reports.junit(answer.question, answer.conditions, at=datetime.now(UTC))
        jobs.append((junit, partial(write_text, text=xml)))
    if markdown is not None:
        jobs.append((markdown, partial(write_text, text=answer.to_markdown())))
    if github:
        for line in reports.workflow_commands(answer.conditions, gate=answer.gate.reasons):
            typer.echo(line, err=True)
        if summary := os.environ.get("GITHUB_STEP_SUMMARY"):
            jobs.append((Path(summary), partial(_append, text=answer.to_markdown())))
    return jobs


def _append(path: Path, text: str) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.write(text)


def deliver(
    answer: Comparison, *, out: Path | None, html: Path | None, as_json: bool, every: bool, reports: Sequence[Job] = ()
) -> None:
    """Show the answer, then write tables, fits and pages one by one: what fails costs nothing but itself."""
    from bayesjudge.files import try_each

    failures = _show(answer, as_json=as_json, every=every)
    jobs = [*(answer.writers(out) if out else []), *reports]
    pages = [path for path in (html, out / "report.html" if out else None) if path is not None]
    failures += try_each([*jobs, *((path, partial(_write_page, answer, quiet=as_json)) for path in pages)])
    for failure in failures:
        say(failure)
    if failures:
        raise typer.Exit(2)


def _write_page(answer: Comparison, path: Path, *, quiet: bool) -> None:
    answer.to_html(path)
    typer.echo(visible(f"Report: {path.resolve()}"), err=quiet)


def _show(answer: Comparison, *, as_json: bool, every: bool) -> list[str]:
    """Print the answer; where standard output takes no more, say so."""
    from bayesjudge.report.terminal import show_answer

    try:
        _print_json(answer) if as_json else show_answer(answer, every=every)
        for one in answer.conditions:
            typer.echo(visible(f"condition {one.line}"), err=as_json)
        sys.stdout.flush()
    except OSError as error:
        # What is left in the buffer would fail again when Python ends, with a traceback.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return [f"cannot print the answer: {error.strerror}"]
    return []


def _print_json(answer: Comparison) -> None:
    """JSON is UTF-8, whatever the terminal is."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8")
    sys.stdout.write(answer.to_json() + "\n")


def finish(answer: Comparison, *, strict: bool, as_json: bool) -> None:
    """Tell of a failed gate where the tables have not; exit with 2, 3 or 4 where conditions or the gate ask for it."""
    if as_json:  # the tables have shown it already
        for reason in answer.gate.reasons:
            say(f"gate failed: {reason}")
    if unknown := [one for one in answer.conditions if one.result == "unknown"]:
        for one in unknown:
            say(f"condition {one.condition!r}: {one.figures}")
        raise typer.Exit(2)
    if strict and not answer.gate.passed:
        raise typer.Exit(3)
    if any(one.fails for one in answer.conditions):
        raise typer.Exit(4)
