"""Progress bars on standard error, for anything that takes more than a moment."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["Report", "bar", "within"]

#: Called with what is done and what there is in all.
type Report = Callable[[int, int], None]


@contextmanager
def bar(title: str) -> Iterator[Report]:
    """A bar that the block moves by calling ``report(done, total)``.

    Examples
    --------
    >>> with bar("sampling") as report:
    ...     report(1, 2)
    """
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(title, total=None)

        def report(done: int, total: int) -> None:
            progress.update(task, completed=done, total=total)

        yield report


def within(report: Report, part: int, parts: int) -> Report:
    """The report of one of several equal parts.

    Examples
    --------
    >>> within(lambda done, total: print(done, "of", total), 1, 3)(50, 100)
    150 of 300
    """
    return lambda done, total: report(part * total + done, parts * total)
