"""The self-contained page: a `Page` of plain values, written as one HTML file."""

from bayesjudge.report.page import Chance, ChecklistItem, Figure, Interval, Page, Section, Table
from bayesjudge.report.tables import comparison_table, estimates_table
from bayesjudge.report.writing import render_page, write_page

__all__ = [
    "Chance",
    "ChecklistItem",
    "Figure",
    "Interval",
    "Page",
    "Section",
    "Table",
    "comparison_table",
    "estimates_table",
    "render_page",
    "write_page",
]
