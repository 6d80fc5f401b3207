"""The stored answer inside its page, and rows of long tables: compressed JSON in elements that do nothing."""

from __future__ import annotations

import base64
import re
import zlib

#: Id of the element.
ELEMENT = "stored-answer"
#: Bytes of an answer that a page may unfold into, so that a small file cannot fill the memory.
MOST_BYTES = 2**30
_FOUND = re.compile(rf'<script [^>]*\bid="{ELEMENT}"[^>]*>\s*([A-Za-z0-9+/=\s]*?)\s*</script>')


def packed(text: str) -> str:
    """Text as zlib and base64, which holds nothing that HTML obeys.

    Examples
    --------
    >>> unpacked(f'<script type="text/plain" id="{ELEMENT}">{packed("{}")}</script>')
    '{}'
    """
    return base64.b64encode(zlib.compress(text.encode("utf-8"))).decode("ascii")


def unpacked(page: str) -> str:
    """The JSON of the answer inside a page; ValueError where there is none, or it is damaged."""
    found = _FOUND.search(page)
    if found is None:
        raise ValueError("this page holds no stored answer: it is not from bayesjudge, or from an older version")
    unfold = zlib.decompressobj()
    try:
        text = unfold.decompress(base64.b64decode(found[1], validate=False), MOST_BYTES)
    except (zlib.error, ValueError) as error:
        raise ValueError(f"the answer stored in this page is damaged: {error}") from error
    if not unfold.eof:
        raise ValueError("the answer stored in this page is cut off, or larger than 1 GiB")
    return text.decode("utf-8")
