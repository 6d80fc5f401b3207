"""Text must be UTF-8; where it is not, say where and what it looks like."""

from __future__ import annotations

import codecs

from bayesjudge.errors import InputError
from bayesjudge.readers.sources import Source, file_problem

__all__ = ["not_utf8", "require_text"]

_MARKS = {codecs.BOM_UTF32_LE: "UTF-32", codecs.BOM_UTF32_BE: "UTF-32", codecs.BOM_UTF16_LE: "UTF-16",
          codecs.BOM_UTF16_BE: "UTF-16"}  # fmt: skip
_SAVE = "Save it as UTF-8: iconv -f {} -t UTF-8 OLD > NEW, or 'CSV UTF-8' in a spreadsheet."


def require_text(source: Source) -> None:
    """Refuse what the first bytes already show not to be UTF-8 text.

    Raises
    ------
    InputError
        UTF-16 or UTF-32 (with or without its mark), or binary.
    """
    with source.open() as stream:
        start = stream.read(4096)
    for mark, name in _MARKS.items():
        if start.startswith(mark):
            raise InputError([file_problem(source.name, f"text in {name}", _SAVE.format(name))])
    if b"\0" in start:
        wide = start[1::2].count(0) * 4 > len(start) or start[::2].count(0) * 4 > len(start)
        found, fix = (
            ("text in UTF-16", _SAVE.format("UTF-16"))
            if wide
            else ("binary content", "Check the file's ending: is it another format?")
        )
        raise InputError([file_problem(source.name, found, fix)])


def not_utf8(source: Source) -> InputError | None:
    """The first byte that is not UTF-8, told by line and place; None where there is none."""
    with source.open() as stream:
        offset = 0
        for number, line in enumerate(stream, start=1):
            try:
                line.decode()
            except UnicodeDecodeError as error:
                found = f"byte 0x{line[error.start]:02x} at offset {offset + error.start} (line {number})"
                return InputError(
                    [
                        file_problem(
                            source.name,
                            f"{found}, which is not UTF-8",
                            "It looks like Latin-1 or Windows-1252. " + _SAVE.format("WINDOWS-1252"),
                        )
                    ]
                )
            offset += len(line)
    return None
