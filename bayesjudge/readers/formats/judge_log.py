"""The log of ``bayesjudge judge``: one line a reply, its outcome in the frame of the table's a and b."""

from __future__ import annotations

from collections.abc import Iterator

from bayesjudge.readers.format import File, Format, Record, Row
from bayesjudge.readers.values import number, scalars, text

_DONE = ("reply", "failure", "sha256", "finish", "refusal", "tokens_in", "tokens_out")


def _rows(record: Record, _: File) -> Iterator[Row]:
    """A reply that states no preference prefers the answer that it scores higher."""
    failure = text(record.get("failure"))
    if failure:
        # What follows the colon differs from line to line.
        yield {"error": failure.partition(":")[0]}
        return
    row = scalars({name: value for name, value in record.items() if name not in _DONE})
    a, b = number(record.get("score_a")), number(record.get("score_b"))
    if record.get("verdict") is None and a is not None and b is not None:
        row["verdict"] = 0.5 if a == b else float(a > b)
    yield row


FORMATS = (
    Format(
        name="judge-log",
        title="log of bayesjudge judge",
        rows=_rows,
        people="a column human of the table that was judged",
        identity="the table's item, else its instruction",
        source="bayesjudge/judging/log.py",
        marks=frozenset({"sha256", "judge", "template", "order", "trial", "failure", "reply"}),
    ),
)
