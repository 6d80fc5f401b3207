"""Relevance judgements as TREC writes them: topic, iteration, document and grade, apart by spaces, without a header."""

from __future__ import annotations

import pandas as pd

from bayesjudge.readers.sources import Source, file_error
from bayesjudge.readers.tabular import not_utf8, require_text

#: Columns, which the file does not name.
COLUMNS = ("topic", "iteration", "document", "grade")
#: Columns of a run, which ranks documents.
_OF_A_RUN = 6


def read_qrels(source: Source) -> pd.DataFrame:
    """One row a judgement, cells as text."""
    require_text(source)
    try:
        with source.open() as stream:
            lines = {place: line.decode().split() for place, line in enumerate(stream, start=1) if line.strip()}
    except UnicodeDecodeError as error:
        raise (not_utf8(source) or error) from error
    rows, odd = list(lines.values()), [place for place, row in lines.items() if len(row) != len(COLUMNS)]
    if not odd:
        return pd.DataFrame(rows, columns=list(COLUMNS), dtype=object)
    if all(len(row) == _OF_A_RUN for row in rows):
        fix = "Name the file of judgements (qrels) of its documents."
        raise file_error(source.name, "a run, which ranks documents and judges none", fix)
    sizes = ", ".join(map(str, sorted({len(lines[place]) for place in odd})))
    found = f"lines of {sizes} words among judgements of {len(COLUMNS)} ({', '.join(COLUMNS)})"
    raise file_error(source.name, found, "Write one judgement a line.", rows=tuple(odd))
