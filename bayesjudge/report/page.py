"""What a page holds, as plain values; any question of the package fills the same page."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from bayesjudge.errors import UsageError

#: What an item of the checklist may be, with the word shown for it.
STATUSES = {"yes": "yes", "warn": "caution", "no": "no"}

#: Item, status (``yes``, ``warn`` or ``no``), and what the data say of it.
type ChecklistItem = tuple[str, str, str]


@dataclass(frozen=True)
class Interval:
    """A cell: an estimate with its interval, and where that comes from draws its probability and their number."""

    point: float
    lower: float
    upper: float
    prob: float = math.nan
    ess: float = math.nan


#: Columns of estimates that make an `Interval`.
INTERVAL = ("point", "lower", "upper", "prob", "ess")


@dataclass(frozen=True)
class Number:
    """A cell: a number to sort by, and what is shown of it in which format."""

    value: float
    shown: float
    spec: str


@dataclass(frozen=True)
class Chance:
    """A cell: a probability from so many effective draws, written by `bayesjudge.text.chance`."""

    p: float
    draws: float = math.inf


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A drawing.

    Parameters
    ----------
    caption : str
        What it shows and how to read it.
    svg : str
        From `bayesjudge.plots.to_svg`.
    alt : str
        What a reader who cannot see it should know: what is drawn, and the main finding.
    folded : bool
        Whether it opens on a click.
    """

    caption: str
    svg: str
    alt: str
    folded: bool = False


@dataclass(frozen=True, eq=False, kw_only=True)
class Table:
    """A table of values.

    Parameters
    ----------
    caption : str
        What it holds.
    frame : pandas.DataFrame
        Columns as they are shown, of texts, numbers, `Interval`, `Number` and `Chance`; the index is not shown.
    number_format : str or mapping of str to str
        Format of floating-point numbers, for all columns or by column (others get ``".3f"``).
    folded : bool, optional
        Whether it opens on a click; by default when it is long.
    shown : int, optional
        Columns that are shown before a click; by default all.
    """

    caption: str
    frame: pd.DataFrame
    shown: int | None = None
    number_format: str | Mapping[str, str] = ".3f"
    folded: bool | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class Section:
    """A heading with warnings, paragraphs, figures and tables, in that order; folded, it opens on a click."""

    title: str
    warnings: Sequence[str] = ()
    text: Sequence[str] = ()
    figures: Sequence[Figure] = ()
    tables: Sequence[Table] = ()
    folded: bool = False


@dataclass(frozen=True, kw_only=True)
class Citation:
    """What a methods section says of an answer, in paragraphs, and its references."""

    text: Sequence[str]
    references: Sequence[str] = ()


@dataclass(frozen=True, eq=False, kw_only=True)
class Page:
    """A report.

    Parameters
    ----------
    title, question : str
        Of which data it is, and the question it answers.
    facts : sequence of str
        What there is to say of the data, below the title.
    headline : sequence of str
        The answer, in sentences.
    table, figure : Table, Figure, optional
        What the answer rests on, on the first screen.
    warnings : sequence of str
        What a reader must know of the answer, most serious first; those about other numbers are in sections.
    gate_reasons : sequence of str
        Why the draws must not be read as the posterior, where that is so.
    doubtful : bool
        Whether Bayesian figures are greyed.
    sections : sequence of Section
        The body.
    checklist : sequence of (item, status, text)
        Status is ``yes``, ``warn`` or ``no``.
    manifest : mapping
        How it was computed: settings, versions, seeds.
    citation : Citation, optional
        How to cite the answer.
    stored : str
        JSON of the answer, which the page carries along; empty for none.

    Raises
    ------
    UsageError
        A checklist status that is not one of the three.

    Examples
    --------
    >>> Page(title="A report", question="Which model is best?", headline=["It is a."]).doubtful
    False
    """

    title: str
    question: str
    facts: Sequence[str] = ()
    headline: Sequence[str] = ()
    table: Table | None = None
    figure: Figure | None = None
    warnings: Sequence[str] = ()
    gate_reasons: Sequence[str] = ()
    doubtful: bool = False
    sections: Sequence[Section] = ()
    checklist: Sequence[ChecklistItem] = ()
    manifest: Mapping[str, Any] = field(default_factory=dict)
    citation: Citation | None = None
    stored: str = ""

    def __post_init__(self) -> None:
        wrong = [status for _, status, _ in self.checklist if status not in STATUSES]
        if wrong:
            raise UsageError(f"checklist status {wrong[0]!r} is not one of {list(STATUSES)}")
