"""The formats that are read, one file a tool; each has ``FORMATS``, a tuple of `Format`.

Each format's ``source`` names the public description (documentation, or files of the tool's repository) that
its layout was taken from. That is where a layout comes from, not what it was tried on: fixtures of the tests
are written from these descriptions, and no format has been verified against files of its tool's current
release. Where a file of a newer release lacks a key, the message names it.

Another package adds its own under the entry point group ``bayesjudge.readers``: the name of a `Format`, or of
a tuple of them.
"""

from __future__ import annotations

import pkgutil
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points

from bayesjudge.readers.format import Format

__all__ = ["known_formats"]


@cache
def known_formats() -> tuple[Format, ...]:
    """Every format, in order of name.

    Examples
    --------
    >>> "promptfoo" in {tool.name for tool in known_formats()}
    True
    """
    ours = [
        tool for module in pkgutil.iter_modules(__path__) for tool in import_module(f"{__name__}.{module.name}").FORMATS
    ]
    loaded = [point.load() for point in entry_points(group="bayesjudge.readers")]
    theirs = [tool for found in loaded for tool in ([found] if isinstance(found, Format) else found)]
    return tuple(sorted([*ours, *theirs], key=lambda tool: tool.name))
