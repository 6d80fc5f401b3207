"""Files of an answer: its schema, safe names, and writing whole or not at all."""

from __future__ import annotations

import json
import os
import re
import tempfile
from importlib import resources
from pathlib import Path
from typing import Any

from bayesjudge.errors import UsageError

__all__ = ["file_name", "json_schema", "require_writable", "write_text"]


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


def require_writable(folder: Path) -> None:
    """Refuse a folder that nothing can be written into, by writing into it, or where it would be made.

    Raises
    ------
    UsageError
        Not a folder, or not writable.
    """
    nearest = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    if not nearest.is_dir():
        raise UsageError(f"{str(nearest)!r} is a file, so nothing can be written into it; name a folder")
    try:
        with tempfile.TemporaryFile(dir=nearest):
            pass
    except OSError as error:
        raise UsageError(
            f"cannot write into {str(nearest)!r}: {error.strerror}; name another folder"
        ) from error


def write_text(path: Path, text: str) -> Path:
    """Write a text file through a temporary one in the same folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, suffix=".part")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        Path(temporary).chmod(0o644)
        Path(temporary).replace(path)
    finally:
        Path(temporary).unlink(missing_ok=True)
    return path


def file_name(name: str) -> str:
    """A name reduced to letters, digits and dashes, so that no model or judge name can leave the folder."""
    return re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-")[:60] or "unnamed"
