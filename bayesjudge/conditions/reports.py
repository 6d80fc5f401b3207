"""What became of conditions, as continuous integration reads it: JUnit, GitHub annotations, a Markdown page."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from xml.etree import ElementTree as ET

from bayesjudge.conditions.decision import Outcome, probable, shown
from bayesjudge.estimates import Estimates
from bayesjudge.estimates.table import method_words
from bayesjudge.text import rounded, visible

#: Lines that a Markdown page has at most; summaries of jobs are read at a glance.
MOST_LINES = 60


def junit(question: str, outcomes: Sequence[Outcome], *, at: datetime) -> str:
    """One test case a condition: a failure where it fails the run, an error where a name is unknown.

    An undecided condition that passes is skipped. Elements and attributes are those that the schemas of Ant and
    Jenkins require, in their order.
    """
    kinds = [_kind(one) for one in outcomes]
    counted = {name: str(kinds.count(kind)) for kind, name in _COUNTED.items()}
    sizes = {"tests": str(len(outcomes)), **counted}
    root = ET.Element("testsuites", {"name": "bayesjudge", **sizes, "time": "0"})
    made = {"name": f"bayesjudge {question}", "timestamp": f"{at:%Y-%m-%dT%H:%M:%S}", "hostname": "localhost"}
    suite = ET.SubElement(root, "testsuite", made | sizes | {"time": "0"})
    ET.SubElement(suite, "properties")
    for one, kind in zip(outcomes, kinds, strict=True):
        named = {"classname": f"bayesjudge.{question}", "name": visible(one.condition), "time": "0"}
        case = ET.SubElement(suite, "testcase", named)
        if kind == "skipped":
            ET.SubElement(case, kind, {"message": visible(one.line)})
        elif kind:
            ET.SubElement(case, kind, {"message": visible(one.line), "type": one.result}).text = visible(one.figures)
    for name in ("system-out", "system-err"):
        ET.SubElement(suite, name).text = visible("\n".join(one.line for one in outcomes)) if name[-1] == "t" else ""
    ET.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


_COUNTED = {"failure": "failures", "error": "errors", "skipped": "skipped"}


def _kind(one: Outcome) -> str:
    """The element that a test case holds; none where it passed."""
    if one.fails:
        return "failure"
    return {"unknown": "error", "undecided": "skipped"}.get(one.result, "")


def workflow_commands(outcomes: Sequence[Outcome], *, gate: Sequence[str] = ()) -> list[str]:
    """Workflow commands of GitHub, one line each: errors fail the run, warnings are undecided, notices passed."""
    levels = {"failure": "error", "error": "error", "skipped": "warning", "": "notice"}
    said = [(levels[_kind(one)], one.condition, one.line) for one in outcomes]
    said += [("warning", "gate failed", reason) for reason in gate]
    return [f"::{level} title={_escaped(title, ':,')}::{_escaped(text)}" for level, title, text in said]


def _escaped(text: str, also: str = "") -> str:
    """Text of a workflow command, in which ``%`` and ends of lines are escaped, and in properties ``:`` and ``,``."""
    for mark in f"%\r\n{also}":
        text = text.replace(mark, f"%{ord(mark):02X}")
    return visible(text)


def markdown(
    title: str, outcomes: Sequence[Outcome], rows: Sequence[Mapping[str, str]], *, gate: Sequence[str] = ()
) -> str:
    r"""A page of at most `MOST_LINES` lines: what failed first, then one table."""
    marks = {"failure": "❌", "error": "❌", "skipped": "⚠️", "": "✅"}
    said = [f"- ⚠️ gate failed: {_plain(reason)}" for reason in gate]
    said += [f"- {marks[_kind(one)]} {_plain(one.line)}" for one in sorted(outcomes, key=_urgency)]
    lines = [f"### bayesjudge: {_plain(title)}", "", *_first(said, MOST_LINES // 2, "- and {} more")]
    if rows:
        lines += [""] * bool(said) + [_line(rows[0]), "|" + " --- |" * len(rows[0])]
        lines += _first([_line(row.values()) for row in rows], MOST_LINES - len(lines), "| and {} more |")
    return "\n".join(lines) + "\n"


def _urgency(one: Outcome) -> int:
    return ("failure", "error", "skipped", "").index(_kind(one))


def _first(lines: Sequence[str], most: int, rest: str) -> list[str]:
    """So many lines at most, the last of which says how many are left out."""
    if len(lines) <= most:
        return list(lines)
    return [*lines[: most - 1], rest.format(len(lines) - most + 1)]


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(map(_plain, cells))} |"


def _plain(text: str) -> str:
    """Text in which no character is Markdown or HTML, on one line."""
    shown = visible(text).replace("\n", " ").replace("&", "&amp;")
    return re.sub(r"[\\`*_\[\]<>|~$]", r"\\\g<0>", shown)


def table_of(rows: Estimates, *, converged: bool) -> list[dict[str, str]]:
    """Rows of a Markdown table: every unit, by the method that answers."""
    return [
        {
            "estimand": row["estimand"],
            "of": f"{row['unit']} by {row['judge']}" if row["judge"] else row["unit"],
            "estimate": shown(point, spec),
            "interval": f"{shown(lower, spec)} to {shown(upper, spec)}",
            "P(> 0)": "" if math.isnan(row["p_positive"]) else probable(row["p_positive"]).removeprefix("= "),
            "by": method_words(row["method"]),
        }
        for row in rows.answering(converged=converged).frame.to_dict("records")
        for point, lower, upper, spec in [rounded(row)]
    ]
