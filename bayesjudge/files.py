"""Files are written whole or not at all: made in memory, put into a temporary file, renamed."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from bayesjudge.errors import UsageError
from bayesjudge.text import FORMULA, GUARD, visible

if TYPE_CHECKING:
    import pandas as pd


#: A file that is still to be written: where, and how.
type Job = tuple[Path, Callable[[Path], object]]


def write_whole(path: str | os.PathLike[str], write: Callable[[BinaryIO], object]) -> Path:
    """Write a file through a temporary one in its folder, which is made where there is none.

    path: Where to. A link is followed; what is not a regular file, such as ``/dev/stdout``, is written to as it is.
    """
    found = Path(path)
    target = Path(os.path.realpath(found))
    if target.exists() and not target.is_file() and not target.is_dir():
        with target.open("wb") as file:
            write(file)
        return found
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=target.parent, suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            write(file)
        Path(temporary).chmod(0o644)
        Path(temporary).replace(target)
    finally:
        Path(temporary).unlink(missing_ok=True)
    return found


def write_text(path: str | os.PathLike[str], text: str) -> Path:
    """Write UTF-8 text, whole or not at all."""
    return write_whole(path, lambda file: file.write(text.encode()))


def csv_text(frame: pd.DataFrame) -> str:
    r"""A table as CSV in which no text acts: control characters are written out, formulas get a ``'``.

    Our readers take the ``'`` off again. Numbers stay as they are.
    """
    texts = {str(name): frame[name].map(_guarded) for name in frame if frame[name].dtype.kind not in "biufcmM"}
    text: str = frame.assign(**texts).rename(columns=_guarded).to_csv(index=False)
    return text


def _guarded(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    shown = visible(value)
    return GUARD + shown if re.match(FORMULA, shown) else shown


def try_each(jobs: Sequence[Job]) -> list[str]:
    """Write one file after the other, and say which could not be written, one line for each reason.

    Examples
    --------
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     jobs = [(Path(folder, "a"), lambda path: write_text(path, "text"))]
    ...     try_each(jobs), Path(folder, "a").read_text()
    ([], 'text')
    """
    failed: dict[str, list[str]] = {}
    for path, write in jobs:
        try:
            write(path)
        except (OSError, UsageError) as error:
            reason = error.strerror if isinstance(error, OSError) else None
            failed.setdefault(reason or str(error), []).append(repr(str(path)))
    return [
        f"cannot write {paths[0]}{f' and {len(paths) - 1} more files' * (len(paths) > 1)}: {reason}"
        for reason, paths in failed.items()
    ]


def require_writable(folder: Path) -> None:
    """Refuse a folder that nothing can be written into, by writing into it, or where it would be made."""
    nearest = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    if not nearest.is_dir():
        raise UsageError(f"{str(nearest)!r} is a file, so nothing can be written into it; name a folder")
    try:
        with tempfile.TemporaryFile(dir=nearest):
            pass
    except OSError as error:
        raise UsageError(f"cannot write into {str(nearest)!r}: {error.strerror}; name another folder") from error


def file_name(name: str) -> str:
    """A name reduced to letters, digits and dashes, so that no model or judge name can leave the folder."""
    return re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-")[:60] or "unnamed"
