"""LMArena's votes: people compare two models' answers."""

from __future__ import annotations

from collections.abc import Iterator

from bayesjudge.readers.aliases import VERDICT_ALIASES, VOTERS
from bayesjudge.readers.format import File, Format, Record, Row
from bayesjudge.readers.values import at, canonical, mapping, number, scalars, text

_ONE_HOT = ("winner_model_a", "winner_model_b", "winner_tie")
#: Who voted, in tables that others write in these columns.
_VOTERS = tuple(name for name in VOTERS if name not in VERDICT_ALIASES["judge"][0])
_COLUMNS = (
    "id",
    "question_id",
    "battle_id",
    "item",
    "item_id",
    "row_id",
    "model_a",
    "model_b",
    "winner*",
    "language",
    "judge",
    "conv_metadata",
    "category_tag",
    "dedup_tag",
    "evaluation_session_id",
    "turn",
    "tstamp",
    "timestamp",
    "is_code",
    "evaluation_order",
    "length_a",
    "length_b",
    "len_a",
    "len_b",
    "prompt_id",
    "anony",
    *_VOTERS,
)
#: Columns beside which the winner is a judge's, or somebody's that they name: no LMArena table has them.
_WITHOUT = frozenset(
    {
        "judge",
        *VERDICT_ALIASES["judge"][0],
        "human",
        "human_label",
        "human_preference",
        "label",
        "verdict",
        "extent",
        "score_a",
        "prob_a",
        "order",
        "run",
        "trial",
    }
)


def _rows(record: Record, file: File) -> Iterator[Row]:
    file.note(
        "every winner counts as a person's vote, since the columns are LMArena's; if an LLM judged: --set judge=NAME"
    )
    winner = record.get("winner")
    if winner is None and _ONE_HOT[0] in record:
        winner = _marked([number(record.get(name)) for name in _ONE_HOT])
    row: Row = {name: value for name, value in scalars(record).items() if name not in _NOT_KEPT}
    named = next((name for name in _IDS if text(record.get(name))), "prompt")
    item = canonical(record.get(named)) if named == "prompt" else text(record[named])
    if item is not None and "item" not in file.taken:
        file.note(f"column {named!r} was read as item")
    row |= {"item": item, "human": winner}
    voter = next((found for name in _VOTERS if (found := text(record.get(name)))), None)
    row.setdefault("annotator", voter)
    row |= {f"length_{side}": length for side in "ab" if (length := _tokens(record, side)) is not None}
    yield {**_flat(record, "category_tag"), **_flat(record, "dedup_tag"), **row}


def _marked(marks: list[float | None]) -> str | None:
    """The one outcome that is marked; a row that marks none or several is for the table to refuse."""
    if marks == [None] * 3:
        return None
    one = sorted(mark or 0.0 for mark in marks) == [0, 0, 1]
    return ("model_a", "model_b", "tie")[marks.index(1.0)] if one else f"not exactly one of {', '.join(_ONE_HOT)}"


#: What a battle is on, the first that a record has: a number of the row may stand next to the question's.
_IDS = ("item", "question_id", "id", "battle_id", "item_id", "row_id")
#: Texts, and what becomes the vote.
_NOT_KEPT = frozenset({"prompt", "response_a", "response_b", "conversation_a", "conversation_b", "winner", *_ONE_HOT})


def _tokens(record: Record, side: str) -> float | None:
    counted = at(record, f"conv_metadata.sum_assistant_{side}_tokens")
    named = record.get(f"length_{side}", record.get(f"len_{side}"))
    return number(counted if named is None else named)


def _flat(record: Record, name: str) -> Row:
    """``category_tag.math_v0.1.math``: tags lie some levels deep."""
    found: Row = {}
    for key, value in mapping(record.get(name)).items():
        inner = {f"{name}.{key}.{tag}": deep for tag, deep in mapping(value).items()}
        found |= inner or {f"{name}.{key}": value}
    return scalars(found)


def _format(name: str, title: str, *marks: str) -> Format:
    return Format(
        name=name,
        title=title,
        rows=_rows,
        marks=frozenset({"model_a", "model_b", *marks}),
        source="columns of the data sets lmarena-ai/arena-human-preference-55k, -100k and -140k",
        without=_WITHOUT,
        columns=_COLUMNS,
        people="every vote",
        identity="question_id, else id",
    )


FORMATS = (
    _format("lmarena", "LMArena votes", "winner"),
    _format("lmarena-kaggle", "LMArena votes, one column an outcome", *_ONE_HOT),
)
