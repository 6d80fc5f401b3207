"""A stored answer as a page, a screen and JSON; any `Page` of plain values as one HTML file."""

from bayesjudge.report.comparison import Comparison, json_schema
from bayesjudge.report.page import Chance, ChecklistItem, Citation, Figure, Interval, Page, Section, Table
from bayesjudge.report.stored import load_answer
from bayesjudge.report.tables import comparison_table, estimates_table
from bayesjudge.report.writing import render_page, write_page

__all__ = [
    "Chance",
    "ChecklistItem",
    "Citation",
    "Comparison",
    "Figure",
    "Interval",
    "Page",
    "Section",
    "Table",
    "comparison_table",
    "estimates_table",
    "json_schema",
    "load_answer",
    "render_page",
    "write_page",
]
