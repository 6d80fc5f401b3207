"""Rows in closed form: shown while posteriors are drawn, and all there is where these are not waited for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from rich.table import Table

from bayesjudge.estimates import Estimates
from bayesjudge.report.terminal import Screen, fitted_table, interval_columns, print_parts, standard_output, unit_name


class StoppedEarly(KeyboardInterrupt):
    """Ctrl-C while posteriors were drawn.

    rows: Accuracies, or what the question asks for, in closed form.
    prob: Of their intervals.
    """

    def __init__(self, rows: Estimates, *, prob: float, missing: str) -> None:
        super().__init__(f"stopped before {missing} had been drawn: only what has closed forms is there")
        self.rows, self.prob = rows, prob


@contextmanager
def closed_form_first(
    rows: Estimates, *, prob: float, missing: str, first: Sequence[str] = (), show: bool
) -> Iterator[None]:
    """Show the rows on a terminal's standard error while the block draws; Ctrl-C in it raises `StoppedEarly`.

    missing: What the block is to draw.
    first: Methods in the order in which they are shown, as far as the terminal is wide; then the others.
    """
    order = {method: place for place, method in enumerate(first)}
    place = rows.frame["method"].map(order).fillna(len(order)).to_numpy()
    ordered = Estimates(rows.frame.iloc[place.argsort(kind="stable")])
    if show and (screen := Screen(stderr=True)).is_terminal:
        print_parts(closed_form_tables(ordered, prob=prob, width=screen.width), screen)
    try:
        yield
    except KeyboardInterrupt as stop:
        raise StoppedEarly(ordered, prob=prob, missing=missing) from stop


def show_early(stop: StoppedEarly) -> None:
    """Print what there is on standard output."""
    screen = standard_output()
    print_parts(closed_form_tables(stop.rows, prob=stop.prob, width=screen.width), screen)


def closed_form_tables(rows: Estimates, *, prob: float, width: int) -> list[Table]:
    """One line a unit and one column a method, as many as fit; a table an estimand and judge."""
    found = []
    for (estimand, judge), mine in rows.frame.groupby(["estimand", "judge"], sort=False):
        by_judge = f" by judge {judge}" if judge else ""
        names = [unit_name(unit, group) for unit, group in zip(mine["unit"], mine["group"], strict=True)]
        title = f"{str(estimand).capitalize()}{by_judge} in closed form, {100 * prob:g} % intervals"
        units = sorted(dict.fromkeys(names))
        of_methods = interval_columns(mine.assign(name=names), "name", "method", units)
        table, _ = fitted_table(title, of_methods, width, names={"unit": units})
        found.append(table)
    return found
