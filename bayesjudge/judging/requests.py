"""What a judge is asked: every comparison in the orders and as often as required, each request named by its content."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from bayesjudge.errors import InputError, Problem, UsageError, require_choice
from bayesjudge.readers.aliases import BATTLE_ALIASES
from bayesjudge.readers.column_names import recognise
from bayesjudge.readers.filters import Where
from bayesjudge.readers.format import Record
from bayesjudge.readers.judge_replies import judge_prompt, prompt_criteria
from bayesjudge.readers.parts import read_parts
from bayesjudge.readers.reading import Reading
from bayesjudge.readers.recognition import TABLE
from bayesjudge.readers.rows import frame_records
from bayesjudge.readers.values import canonical, scalars, text
from bayesjudge.tables.columns import name_columns, require_columns

#: Our names for the texts of a comparison.
TEXTS = ("instruction", "answer_a", "answer_b")
#: Orders in which the two answers are shown, by what is asked for.
ORDERS = {"ab": ("ab",), "ba": ("ba",), "both": ("ab", "ba")}

_ITEMS, _WORDS = BATTLE_ALIASES["item"], ("response", "completion", "output", "text")
_ALIASES: Mapping[str, tuple[Sequence[str], Sequence[str]]] = {
    # The instruction is a text here, and names the item only where nothing else does.
    "item": (_ITEMS[0], [name for name in _ITEMS[1] if name != "instruction"]),
    **{name: BATTLE_ALIASES[name] for name in ("model_a", "model_b", "human")},
    "instruction": (["prompt", "question", "question_text", "query"], ["input", "user_input"]),
    "answer_a": (["answer_1", *(f"{word}_{end}" for word in _WORDS for end in "a1")], []),
    "answer_b": (["answer_2", *(f"{word}_{end}" for word in _WORDS for end in "b2")], []),
}


@dataclass(frozen=True, kw_only=True)
class Request:
    """One request: the SHA-256 of what is sent, the comparison's place, the order shown, the how-many-eth time."""

    key: str
    place: int
    order: str
    trial: int


@dataclass(frozen=True, eq=False, kw_only=True)
class Asking:
    """Comparisons with ``item, model_a, model_b`` and their texts, and how a judge is asked about each.

    ``prompt`` is the prompt's name and ``template`` its text; ``parameters`` go into the body of every request.
    """

    pairs: Sequence[Record]
    model: str
    prompt: str
    template: str
    orders: str = "both"
    trials: int = 1
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        require_choice("orders", self.orders, ORDERS)
        if self.trials < 1:
            raise UsageError(f"trials must be 1 or more, not {self.trials}")
        if taken := {"model", "messages", "n", "stream"} & self.parameters.keys():
            raise UsageError(f"parameter {min(taken)!r} cannot be chosen: a request asks one model for one reply")
        self.criteria  # noqa: B018 - a prompt that shows no form of the reply is refused before anything is asked

    @cached_property
    def criteria(self) -> tuple[str, ...]:
        """What the prompt wants scores for."""
        return prompt_criteria(self.template)

    def __iter__(self) -> Iterator[Request]:
        """Every request; comparisons that are equal in names and texts are one."""
        found = {self.name(one): one for one in self._all()}
        return iter(found.values())

    def name(self, one: Request) -> tuple[str, ...]:
        """What tells a request from others with the same key, which share its reply."""
        pair = self.pairs[one.place]
        return (one.key, str(pair["item"]), str(pair["model_a"]), str(pair["model_b"]), one.order)

    def body(self, one: Request) -> dict[str, Any]:
        """The request in the form of OpenAI's chat completions."""
        messages = self._messages(self.pairs[one.place], one.order)
        return {"model": self.model, "messages": messages, **self.parameters}

    def batch_line(self, one: Request) -> bytes:
        """The request as a line of OpenAI's batch format."""
        line = {"custom_id": one.key, "method": "POST", "url": "/v1/chat/completions", "body": self.body(one)}
        return json.dumps(line).encode() + b"\n"

    def _all(self) -> Iterator[Request]:
        for place, pair in enumerate(self.pairs):
            for order in ORDERS[self.orders]:
                messages = self._messages(pair, order)
                for trial in range(1, self.trials + 1):
                    content = json.dumps([self.model, messages, dict(self.parameters), trial], sort_keys=True)
                    key = hashlib.sha256(content.encode()).hexdigest()
                    yield Request(key=key, place=place, order=order, trial=trial)

    def _messages(self, pair: Record, order: str) -> list[dict[str, str]]:
        first, second = (pair[f"answer_{side}"] for side in order)
        texts = {"instruction": pair["instruction"], "answer_a": first, "answer_b": second}
        system, user = judge_prompt(**texts, prompt=self.template)
        said = [{"role": "system", "content": system}, {"role": "user", "content": user}]
        return said if system else said[1:]


def read_comparisons(
    source: Any, *, columns: Mapping[str, str] | None = None, where: Where = None
) -> tuple[list[Record], tuple[str, ...]]:
    """Comparisons of a table with their texts, and what was assumed or left out."""
    pairs: list[Record] = []
    notes: tuple[str, ...] = ()
    for part in read_parts(source, Reading(format=TABLE, where=where)):
        mapping, doubts = recognise(map(str, part.frame.columns), columns, aliases=_ALIASES)
        named, moved = name_columns(part.frame, mapping, names=tuple(_ALIASES))
        if missing := require_columns(named.columns, TEXTS, where=part.name):
            raise InputError(missing)
        found = [pair for record in frame_records(named) if (pair := _comparison(record)) is not None]
        if not found:
            raise InputError([_no_texts(part.name)])
        lost = len(named) - len(found)
        left = f"{lost} of {len(named)} rows of {part.name} lack the instruction or an answer and are ignored"
        notes += doubts + moved + ((left,) if lost else ())
        pairs += found
    return pairs, notes


def _comparison(record: Record) -> Record | None:
    """Names, texts and scalars of one row; None where a text is missing."""
    texts = {name: value if isinstance(value := record[name], str) else text(value) for name in TEXTS}
    if not all(texts.values()):
        return None
    known = scalars({name: value for name, value in record.items() if name not in TEXTS})
    item = text(record.get("item")) or canonical(texts["instruction"])
    models = {f"model_{side}": text(record.get(f"model_{side}")) or f"answer {side}" for side in "ab"}
    return {**known, "item": item, **models, **texts}


def _no_texts(name: str) -> Problem:
    return Problem(
        column="(table)",
        found=f"no row of {name} with an instruction and two answers",
        allowed=f"text in {', '.join(TEXTS)}",
        fix="Name the columns of the texts: --column answer_a=your_column.",
    )
