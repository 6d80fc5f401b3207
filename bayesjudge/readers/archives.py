"""Members of a zip archive, of which Inspect's logs are made.

They are compressed with Zstandard, which Python's ``zipfile`` reads from 3.14 on; Arrow reads it everywhere.
"""

from __future__ import annotations

import json
import zipfile
import zlib
from collections.abc import Iterator
from typing import Any, BinaryIO

import pyarrow as pa

from bayesjudge.errors import InputError
from bayesjudge.readers.json_records import most_bytes
from bayesjudge.readers.sources import Source, file_error

_ZSTANDARD = 93
_LOCAL_HEADER = 30


def archive_records(source: Source) -> tuple[dict[str, Any], Iterator[dict[str, Any]]]:
    """The header of a log in a zip archive, and the summaries of its samples; no other member is read."""
    with source.open() as stream:
        try:
            with zipfile.ZipFile(stream) as archive:
                members = {info.filename: info for info in archive.infolist()}
                names = (
                    ["summaries.json"]
                    if "summaries.json" in members
                    else sorted(name for name in members if name.startswith("_journal/summaries/"))
                )
                if not names:
                    raise _refused(source, "a zip archive that is no log of Inspect")
                start = "header.json" if "header.json" in members else "_journal/start.json"
                header = _json(stream, members[start], source) if start in members else {}
                lists = [_json(stream, members[name], source) for name in names]
        except (zipfile.BadZipFile, NotImplementedError, EOFError) as error:
            raise _refused(source, f"a damaged zip archive ({error})") from error
    records = [record for found in lists for record in (found if isinstance(found, list) else [found])]
    if not isinstance(header, dict) or not all(isinstance(record, dict) for record in records):
        raise _refused(source, "a log whose samples are no objects")
    return header, iter(records)


def _json(stream: BinaryIO, info: zipfile.ZipInfo, source: Source) -> Any:
    content = _content(stream, info, source)
    try:
        return json.loads(content)
    except (ValueError, RecursionError) as error:
        raise _refused(source, f"a member {info.filename!r} that is not JSON") from error


def _content(stream: BinaryIO, info: zipfile.ZipInfo, source: Source) -> bytes:
    most = most_bytes()
    if max(info.file_size, info.compress_size) > most:
        raise _refused(source, f"a member {info.filename!r} of more than {most:,} bytes")
    stream.seek(info.header_offset)
    local = stream.read(_LOCAL_HEADER)
    lengths = int.from_bytes(local[26:28], "little"), int.from_bytes(local[28:30], "little")
    stream.seek(info.header_offset + _LOCAL_HEADER + sum(lengths))
    packed = stream.read(info.compress_size)
    try:
        if info.compress_type == zipfile.ZIP_STORED:
            return packed
        if info.compress_type == zipfile.ZIP_DEFLATED:
            return zlib.decompressobj(-15).decompress(packed, info.file_size + 1)
        if info.compress_type == _ZSTANDARD:
            return bytes(pa.CompressedInputStream(pa.BufferReader(packed), "zstd").read(info.file_size + 1))
    except (OSError, zlib.error) as error:
        raise _refused(source, f"a damaged member {info.filename!r} ({error})") from error
    raise _refused(source, f"a member packed by method {info.compress_type}")


def _refused(source: Source, found: str) -> InputError:
    return file_error(source.name, found, "Write the log anew: inspect log convert --to json.")
