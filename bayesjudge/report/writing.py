"""A `Page` to one HTML file that needs nothing else: no script, no network, no second file."""

from __future__ import annotations

import base64
import functools
import hashlib
import json
import os
import re
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from markupsafe import Markup

from bayesjudge.files import write_text
from bayesjudge.report.cells import Grid, grid_of
from bayesjudge.report.embedding import ELEMENT, packed
from bayesjudge.report.page import STATUSES, Page
from bayesjudge.text import visible

if TYPE_CHECKING:
    from jinja2 import Environment


#: Rows of a folded table that are written as they are; those of a longer one are packed until it is opened.
MOST_ROWS = 200
#: Fits whose manifests are printed on paper, and reasons of a failed gate.
MOST_FITS, MOST_REASONS = 2, 4
#: Blanks at which no line may break.
_WHOLE = re.compile(r"(?<=[<>]) (?=\.\d)|(?<=\d) (?=%)")


def write_page(page: Page, path: str | os.PathLike[str]) -> Path:
    """Write the page, whole or not at all; returns its path.

    Examples
    --------
    >>> import tempfile
    >>> page = Page(title="A report", question="Which model is best?")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_page(page, Path(folder) / "report.html").read_text()[:15]
    '<!doctype html>'
    """
    return write_text(path, render_page(page))


def render_page(page: Page) -> str:
    """The page as HTML text; every word of the user's is escaped by the template, and nothing in it acts.

    Examples
    --------
    >>> "<script>alert" in render_page(Page(title="<script>alert(1)</script>", question=""))
    False
    """
    script = _file("sort.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    template = _environment().get_template("page.html")
    html: str = template.render(
        page=page,
        statuses=STATUSES,
        stored=packed(page.stored) if page.stored else "",
        element=ELEMENT,
        most_rows=MOST_ROWS,
        most_reasons=MOST_REASONS,
        manifests=_manifests(page.manifest),
        style=Markup(_file("page.css")),  # noqa: S704 - a file of ours
        script=Markup(script),  # noqa: S704 - a file of ours
        digest=digest,
    )
    return html


def render_excerpt(page: Page) -> str:
    """The answer of a page with its table and warnings, for a notebook: no script; light and dark colours."""
    html: str = _environment().get_template("excerpt.html").render(page=page)
    return html


def _manifests(manifest: Mapping[str, Any]) -> list[str]:
    """How it was computed as text, with the first fits; then the further ones, which paper goes without."""
    fits = list(manifest.get("fits", {}).items())
    first = {**manifest, **({"fits": dict(fits[:MOST_FITS])} if fits else {})}
    return [_indented(first), *([_indented(dict(fits[MOST_FITS:]))] if fits[MOST_FITS:] else [])]


def _indented(value: object) -> str:
    """JSON with a line an entry, but lists of numbers and names on one."""
    text = json.dumps(value, indent=2, default=_plain, ensure_ascii=False)
    return re.sub(r"\[\s+([^\[\]{}\"]+?)\s+\]", lambda found: f"[{re.sub(r'\s+', ' ', found[1])}]", text)


@functools.cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    made = Environment(
        loader=PackageLoader("bayesjudge", "report"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_visible,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals |= {"grid_of": grid_of, "drawing": _drawing, "packed_rows": _packed_rows}
    return made


def _visible(value: object) -> object:
    """Text from outside as it may be shown, bounds and percentages unbroken; markup of ours, and all else, as it is."""
    if not isinstance(value, str) or isinstance(value, Markup):
        return value
    shown = visible(value)
    # A page has tens of thousands of cells, and few of them a bound or a percentage.
    return _WHOLE.sub("\u00a0", shown) if " %" in shown or " ." in shown else shown


def _drawing(svg: str, alt: str, name: str) -> Markup:
    from bayesjudge.report.drawing import inline_svg  # colours are those of figures, which take long to import

    return Markup(inline_svg(svg, name=name, alt=visible(alt)))  # noqa: S704 - rebuilt from parsed XML, without scripts


def _packed_rows(grid: Grid) -> str:
    """Kinds of rows, and texts and values of their cells by column, as the page's script unfolds them."""
    columns = list(zip(*(row.cells for row in grid.rows), strict=True))
    found = {
        "kinds": [row.kind for row in grid.rows],
        "texts": [_all_visible([cell.text for cell in column]) for column in columns],
        "values": [[cell.value for cell in column] for column in columns],
    }
    return packed(json.dumps(found))


def _all_visible(texts: list[str]) -> list[object]:
    """Texts of a column, most of which come again and again."""
    known = {text: _visible(text) for text in set(texts)}
    return [known[text] for text in texts]


def _file(name: str) -> str:
    return resources.files("bayesjudge.report").joinpath(name).read_text(encoding="utf-8")


def _plain(value: object) -> object:
    """Numbers of arrays as numbers; anything else as its text."""
    return value.tolist() if isinstance(value, (np.generic, np.ndarray)) else str(value)
