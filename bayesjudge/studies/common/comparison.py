"""`Comparison`: the answer to a question, Bayesian and frequentist side by side, with what to make of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from bayesjudge.conditions.decision import Outcome
from bayesjudge.estimates import Estimates
from bayesjudge.files import csv_text, file_name, try_each, write_text
from bayesjudge.inference.gate import Gate
from bayesjudge.studies.common.runs import run_rows
from bayesjudge.text import json_visible
from bayesjudge.version import __version__

if TYPE_CHECKING:
    from os import PathLike

    from matplotlib.figure import Figure
    from rich.table import Table

    from bayesjudge.inference import Fit
    from bayesjudge.report import Page


#: Item, status (``yes``, ``warn`` or ``no``), and what the data say of it.
type ChecklistItem = tuple[str, str, str]


@dataclass(frozen=True, eq=False, kw_only=True)
class Comparison:
    """The answer to one question.

    Attributes
    ----------
    question : str
        Which of the questions: ``accuracy``, ``elo``, ``reliability``.
    estimates : Estimates
        The estimands, Bayesian rows first.
    diagnostics : Estimates
        The judges' quality.
    fits : mapping of str to Fit
        Every posterior behind the answer, by readable name.
    checks : mapping of str to pandas.DataFrame
        ``predictive``, ``comparison`` (leave-one-out), ``sensitivity``, ``convergence``, and tables of the
        question's own.
    warnings : tuple of str
        What a reader must know before the numbers.
    checklist : tuple of (item, status, text)
        The reporting checklist, filled from the data.
    gate : Gate
        Of the fits behind the estimates together.
    dropped : mapping of str to int
        Rows that could not be used, by reason.
    settings : mapping
        The options of the study.
    source : sequence of mapping
        The files that its tables were read from: name, size, SHA-256, format, records and rows.
    page_of, screen_of : callable
        How the study lays its answer out as a page, and as tables (or lines) on a terminal of some width.
    ranks : pandas.DataFrame
        Posterior probability of each rank: columns ``judge, model, p_best, rank_1, rank_2, ...``; empty
        where the question ranks nothing.
    held_out : mapping of str to mapping
        Where something was held out: by method, its error and coverage.
    conditions : tuple of Outcome
        What became of the conditions under which the run is to fail.
    """

    question: str
    estimates: Estimates
    diagnostics: Estimates
    fits: Mapping[str, Fit]
    checks: Mapping[str, pd.DataFrame]
    warnings: tuple[str, ...]
    gate: Gate
    page_of: Callable[[Comparison], Page]
    screen_of: Callable[[Comparison, int], Sequence[Table | str]]
    checklist: tuple[ChecklistItem, ...] = ()
    ranks: pd.DataFrame = field(default_factory=lambda: pd.DataFrame(columns=["judge", "model", "p_best"]))
    held_out: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    dropped: Mapping[str, int] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    source: Sequence[Mapping[str, Any]] = ()
    conditions: tuple[Outcome, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The answer as JSON-ready values; its schema is `studies.json_schema`."""
        checks = {name: Estimates.records_of(frame) for name, frame in self.checks.items()}
        held_out = {
            method: Estimates.records_of(pd.DataFrame([figures]))[0] for method, figures in self.held_out.items()
        }
        conditions = Estimates.records_of(pd.DataFrame([asdict(one) for one in self.conditions]))
        return {
            "bayesjudge": __version__,
            "question": self.question,
            "estimates": self.estimates.to_records(),
            "diagnostics": self.diagnostics.to_records(),
            "checks": {
                **checks,
                "ranks": Estimates.records_of(self.ranks),
                "checklist": [list(item) for item in self.checklist],
            },
            "warnings": list(self.warnings),
            "gate": {"passed": self.gate.passed, "reasons": list(self.gate.reasons)},
            **({"held_out": held_out} if held_out else {}),
            **({"conditions": conditions} if conditions else {}),
            "dropped": dict(self.dropped),
            "manifest": self.manifest,
        }

    def to_json(self) -> str:
        """`to_dict` as text."""
        return json_visible(json.dumps(self.to_dict(), ensure_ascii=False, allow_nan=False))

    @property
    def manifest(self) -> dict[str, Any]:
        """Settings of the study, its files, and manifest of every fit."""
        fits = {name: fit.manifest for name, fit in self.fits.items()}
        return {"settings": dict(self.settings), "source": [dict(one) for one in self.source], "fits": fits}

    def plot(self, estimand: str = "accuracy") -> Figure:
        """Forest plot of one estimand, every method."""
        from bayesjudge.plots import forest

        return forest(self.estimates, estimand=estimand)

    def page(self) -> Page:
        """The report, not yet written."""
        return self.page_of(self)

    def to_html(self, path: str | PathLike[str]) -> Path:
        """Write the self-contained page; returns its path."""
        from bayesjudge.report import write_page

        return write_page(self.page(), path)

    def to_markdown(self) -> str:
        """Conditions and one table, at most 60 lines, for the summary of a job in continuous integration."""
        from bayesjudge.conditions import reports

        rows = reports.table_of(self.estimates, converged=self.gate.passed)
        rows = run_rows(self) if "runs" in self.checks else rows
        return reports.markdown(self.question, self.conditions, rows, gate=self.gate.reasons)

    def save(self, folder: str | PathLike[str]) -> Path:
        """Write every fit (NetCDF), the tables (CSV) and the answer (JSON) into a folder; returns it.

        Raises
        ------
        OSError
            Some could not be written, and why; all others were.
        """
        if failures := try_each(self.writers(folder)):
            raise OSError("; ".join(failures))
        return Path(folder)

    def writers(self, folder: str | PathLike[str]) -> list[tuple[Path, Callable[[Path], object]]]:
        """The files of `save`, each with the function that writes it: tables, the answer, then fits."""
        target = Path(folder)
        tables = {"estimates": self.estimates.frame, "diagnostics": self.diagnostics.frame, "ranks": self.ranks}
        tables |= {f"check_{file_name(name)}": frame for name, frame in self.checks.items()}
        return [
            *((target / f"{name}.csv", partial(_write_csv, frame)) for name, frame in tables.items()),
            (target / "answer.json", lambda path: write_text(path, self.to_json())),
            *(
                (target / f"fit_{k}_{file_name(name)}.nc", fit.save)
                for k, (name, fit) in enumerate(self.fits.items(), start=1)
            ),
        ]


def _write_csv(frame: pd.DataFrame, path: Path) -> Path:
    return write_text(path, csv_text(frame))


def json_schema() -> dict[str, Any]:
    """JSON Schema of ``--json`` and `Comparison.to_dict`.

    Examples
    --------
    >>> sorted(json_schema()["required"])[:3]
    ['bayesjudge', 'checks', 'diagnostics']
    """
    text = resources.files("bayesjudge.studies").joinpath("answer.schema.json").read_text(encoding="utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema
