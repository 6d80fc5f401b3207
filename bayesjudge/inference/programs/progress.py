"""Progress bars on standard error, for anything that takes more than a moment."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from threading import Lock

from bayesjudge.text import visible

#: Called with what is done and what there is in all.
type Report = Callable[[int, int], None]


@contextmanager
def bar(title: str) -> Iterator[Report]:
    """A bar that the block moves by calling ``report(done, total)``."""
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    console = Console(stderr=True)
    # Where nothing can move, Rich leaves an empty line for every bar.
    still = not (console.is_terminal or console.is_jupyter)
    with Progress(*columns, console=console, transient=True, disable=still) as progress:
        task = progress.add_task(escape(visible(title)), total=None)

        def report(done: int, total: int) -> None:
            progress.update(task, completed=done, total=total)

        yield report


def blocks(iterations: int, size: int) -> list[int]:
    """Lengths of the blocks between two reports: ``size`` each, and what is left."""
    return [min(size, iterations - done) for done in range(0, iterations, size)]


def shared(report: Report | None, parts: int) -> list[Report | None]:
    """A report for each of several equal parts, which may run at the same time, in threads."""
    if report is None:
        return [None] * parts
    counts, one_at_a_time = [0] * parts, Lock()

    def advance(part: int, done: int, total: int) -> None:
        with one_at_a_time:
            counts[part] = done
            report(sum(counts), parts * total)

    return [partial(advance, part) for part in range(parts)]
