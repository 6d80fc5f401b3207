"""MT-bench: pairs in both orders, single grades, and votes that name the person or the judge."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from bayesjudge.readers.format import File, Format, Record, Row
from bayesjudge.readers.values import listing, number, text

_SOURCE = "FastChat, fastchat/llm_judge: gen_judgment.py and common.py; data set lmsys/mt_bench_human_judgments"
#: Names that data sets give to people in a column called judge.
_PERSON = re.compile(r"(arena_user|expert|author|human|annotator)[_ -]?\w*")
_SIDES = {"model_1": "a", "model_2": "b", "tie": "tie"}


def _judge(value: Any) -> str | None:
    """``["gpt-4", "pair-v2"]`` is the judge ``gpt-4 pair-v2``."""
    return " ".join(map(str, listing(value))) or text(value)


def _item(record: Record) -> str | None:
    """Each turn of a question is an item of its own."""
    question, turn = text(record.get("question_id")), text(record.get("turn"))
    return question if turn is None or question is None else f"{question} turn {turn}"


def _shared(record: Record) -> Row:
    kept = {name: record[name] for name in ("turn", "category", "language", "tstamp") if name in record}
    # Some write the two names of a judge, the model's and the prompt's, under keys of their own.
    kept |= {"prompt": prompt} if (prompt := text(record.get("judge_prompt"))) else {}
    question, judge = text(record.get("question_id")), record.get("judge", record.get("judge_model"))
    return {**kept, "item": _item(record), "question_id": question, "judge": _judge(judge)}


def _pair(record: Record, _: File) -> Iterator[Row]:
    """Game 1 shows the first model first, game 2 the second; both winners are in the models' frame."""
    row = {**_shared(record), "model_a": record.get("model_1"), "model_b": record.get("model_2")}
    scores = [number(record.get(name)) for name in ("m1_score", "m2_score")]
    if None not in scores:
        # Both "games" were decided from the same two single grades.
        yield ({"error": "failed parse"} if -1 in scores else {**row, "score_a": scores[0], "score_b": scores[1]})
        return
    for name, order in (("g1_winner", "ab"), ("g2_winner", "ba")):
        winner = record.get(name)
        yield (
            {"error": "error"}
            if winner == "error"
            else {**row, "verdict": _SIDES.get(str(winner), winner), "order": order}
        )


def _single(record: Record, _: File) -> Iterator[Row]:
    score = number(record.get("score"))
    if score is None or score == -1:
        yield {"error": "failed parse"}
    else:
        yield {**_shared(record), "model": text(record.get("model")), "score": score}


def _vote(record: Record, _: File) -> Iterator[Row]:
    row = {**_shared(record), "model_a": record.get("model_a"), "model_b": record.get("model_b")}
    judge = row.pop("judge")
    if judge and _PERSON.fullmatch(judge.casefold()):
        yield {**row, "human": record.get("winner"), "annotator": judge}
    else:
        yield {**row, "verdict": record.get("winner"), "judge": judge}


_ITEM = "question_id, and turn"
FORMATS = (
    Format(
        name="mt-bench-pair",
        title="MT-bench pair judgments",
        source=_SOURCE,
        rows=_pair,
        identity=_ITEM,
        marks=frozenset({"question_id", "model_1", "model_2", "g1_winner", "g2_winner"}),
    ),
    Format(
        name="mt-bench-single",
        title="MT-bench single grades",
        source=_SOURCE,
        rows=_single,
        identity=_ITEM,
        marks=frozenset({"question_id", "model", "judge", "score", "turn"}),
    ),
    Format(
        name="mt-bench-votes",
        title="MT-bench or Chatbot Arena votes that name who voted",
        source=_SOURCE,
        rows=_vote,
        marks=frozenset({"question_id", "model_a", "model_b", "winner", "judge", "turn"}),
        people="a judge named expert_*, author_*, arena_user_*",
        identity=_ITEM,
        columns=("question_id", "model_a", "model_b", "winner", "judge", "turn", "category", "language", "tstamp"),
    ),
)
