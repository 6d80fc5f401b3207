"""An SVG drawing made ready to stand in a page: inert, named for screen readers, in the page's colours."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

from bayesjudge.errors import UsageError
from bayesjudge.plots.palette import NAMED

_SVG, _XLINK = "{http://www.w3.org/2000/svg}", "{http://www.w3.org/1999/xlink}"
#: A style sheet inside a drawing would style the whole page; the page has the one rule that is needed.
_UNWANTED = {"script", "foreignObject", "metadata", "iframe", "a", "animate", "set", "style"}
_COLOUR = re.compile(r"#[0-9a-fA-F]{6}\b")


def inline_svg(svg: str, *, name: str, alt: str) -> str:
    """Rewrite a drawing for the inside of an HTML page."""
    if "<!ENTITY" in svg:
        raise UsageError("a figure's SVG must not declare entities; make it with bayesjudge.plots.to_svg")
    try:
        root = ET.fromstring(svg)  # noqa: S314 - entities are refused above, and expat limits the rest
    except ET.ParseError as error:
        raise UsageError(
            f"a figure's SVG is not well-formed ({error}); make it with bayesjudge.plots.to_svg"
        ) from error
    if root.tag != f"{_SVG}svg":
        raise UsageError(f"a figure must be an <svg> element, not {root.tag!r}; make it with bayesjudge.plots.to_svg")
    _remove(root)
    for element in root.iter():
        element.tag = element.tag.removeprefix(_SVG)
        element.attrib = {key: value for pair in element.attrib.items() for key, value in _attribute(*pair, name)}
    _describe(root, alt)
    return ET.tostring(root, encoding="unicode", short_empty_elements=False)


def _remove(parent: ET.Element) -> None:
    """Drop what is not drawing: scripts, links, and elements of other vocabularies."""
    for child in list(parent):
        known = isinstance(child.tag, str) and child.tag.startswith(_SVG)
        if not known or child.tag.removeprefix(_SVG) in _UNWANTED:
            parent.remove(child)
        else:
            _remove(child)


def _attribute(key: str, value: str, name: str) -> list[tuple[str, str]]:
    """An attribute as it may stay, or nothing."""
    key = "href" if key == f"{_XLINK}href" else key
    if key.startswith(("on", "{")) or (key == "href" and not value.startswith("#")):
        return []
    if key == "id":
        return [(key, f"{name}-{value}")]
    if key == "href":
        return [(key, f"#{name}-{value[1:]}")]
    if "url(" in value:
        value = re.sub(r"url\((?!#)[^)]*\)", "none", value)
        value = re.sub(r"url\(#([^)]*)\)", rf"url(#{name}-\1)", value)
    return [(key, _COLOUR.sub(_variable, value) if key == "style" else value)]


def _variable(found: re.Match[str]) -> str:
    colour = found.group().lower()
    return f"var(--figure-{NAMED[colour]})" if colour in NAMED else colour


def _describe(root: ET.Element, alt: str) -> None:
    """Name for screen readers, and a size that shrinks with the page."""
    width = root.attrib.pop("width", "")
    root.attrib.pop("height", None)
    root.attrib |= {"role": "img", "class": "drawing", "aria-label": alt}
    if re.fullmatch(r"[0-9.]+(pt|px)?", width):
        root.attrib["style"] = f"width: {width}; min-width: min({width}, 42rem)"
