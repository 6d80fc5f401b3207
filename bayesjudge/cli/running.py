"""What every command does around its question: plain messages, places to write to, delivery, exit codes."""

from __future__ import annotations

import io
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from bayesjudge.errors import EngineError, InputError, UsageError
from bayesjudge.text import visible

if TYPE_CHECKING:
    from bayesjudge.studies import Comparison


def mapping(pairs: list[str] | None, option: str, example: str) -> dict[str, str]:
    """Read options such as ``--column ours=theirs``."""
    return {name: values[-1] for name, values in choices(pairs, option, example, both=True).items()}


def choices(pairs: list[str] | None, option: str, example: str, *, both: bool = False) -> dict[str, list[str]]:
    """Read options such as ``--where prompt=short``; a column given twice may have either value.

    With ``both``, neither side of the equals sign may be empty.
    """
    found: dict[str, list[str]] = {}
    for pair in pairs or []:
        name, equals, value = pair.partition("=")
        if not (name and equals) or (both and not value):
            kinds = "two names" if both else "a column and a value"
            raise UsageError(f"{option} {pair!r}: write {kinds} with = between, as in {option} {example}")
        found.setdefault(name, []).append(value)
    return found


def require_targets(out: Path | None, html: Path | None) -> None:
    """Refuse places that the answer cannot be written to, before minutes of sampling."""
    from bayesjudge.files import require_writable

    if out is not None:
        require_writable(out)
    if html is not None:
        require_no_folder(html, "--html ")
        if not html.absolute().parent.is_dir():
            raise UsageError(f"--html {str(html)!r}: there is no folder {str(html.parent)!r}; make it first")
        require_writable(html.absolute().parent)


def require_no_folder(file: Path, option: str) -> None:
    """Refuse a folder where a file is to be written."""
    if file.is_dir():
        raise UsageError(f"{option}{str(file)!r} is a folder; name a file in it")


@contextmanager
def plain_messages() -> Iterator[None]:
    """A user's mistake ends in one clear message and exit code 2; warnings are a line each."""
    try:
        with warnings.catch_warnings():
            # A fall-back to another engine is never kept back, whatever Python was told about warnings.
            warnings.simplefilter("always", UserWarning)
            warnings.showwarning = _show_warning  # type: ignore[assignment] # takes less than it is given
            yield
    except (InputError, UsageError, EngineError) as error:
        say(str(error))
        raise typer.Exit(2) from error
    except OSError as error:
        say(f"cannot write or read: {error}")
        raise typer.Exit(2) from error


def _show_warning(message: Warning | str, *_: Any) -> None:
    say(f"warning: {message}")


def say(message: str) -> None:
    """A message on standard error."""
    typer.echo(f"bayesjudge: {visible(message)}", err=True)


def deliver(answer: Comparison, *, out: Path | None, html: Path | None, as_json: bool, every: bool) -> None:
    """Show the answer, then write tables, fits and pages one by one: what fails costs nothing but itself."""
    from bayesjudge.files import try_each

    failures = _show(answer, as_json=as_json, every=every)
    jobs = answer.writers(out) if out else []
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
    """Tell of a failed gate where the tables have not, and exit with 3 when that was asked for."""
    if as_json:  # the tables have told of it already
        for reason in answer.gate.reasons:
            say(f"gate failed: {reason}")
    if strict and not answer.gate.passed:
        raise typer.Exit(3)
