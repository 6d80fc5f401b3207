"""What a Python file of the user's has under a name."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

from bayesjudge.errors import UsageError, did_you_mean


def names_file(text: Any) -> bool:
    """Whether a text is ``file.py:name``, or a NetCDF file."""
    return isinstance(text, str) and (".py:" in text or text.endswith(".nc"))


def from_file(text: Any, *, what: str) -> Any:
    """The object of ``file.py:name``, whose file is run; what is no text is returned as it is."""
    if not isinstance(text, str):
        return text
    path, _, name = text.rpartition(":")
    if not path:
        raise UsageError(
            f"{what} {text!r}: write file.py:name, or give the object; the questions take registered names"
        )
    if not Path(path).is_file():
        raise UsageError(f"{what} {text!r}: no file {path!r}; write file.py:name")
    try:
        found = runpy.run_path(path)
    except Exception as error:
        raise UsageError(f"{what} {text!r}: {raised(error)}") from error
    if name not in found:
        functions = [
            key for key, value in found.items() if callable(value) and getattr(value, "__module__", "") == "<run_path>"
        ]
        raise UsageError(f"{path!r} has no {name!r}{did_you_mean(name, functions)}")
    return found[name]


def raised(error: Exception) -> str:
    """What code of the user's raised, in one line."""
    return f"{type(error).__name__}: {str(error).strip().partition('\n')[0]}"
