"""The log of a judge's replies, which is the cache: one line a reply, and nothing that is there is asked again."""

from __future__ import annotations

import fcntl
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from bayesjudge.errors import UsageError
from bayesjudge.judging.endpoint import FACTS, Response
from bayesjudge.judging.requests import TEXTS, Asking, Request
from bayesjudge.readers.format import Record
from bayesjudge.readers.judge_replies import Reply, parse_reply

#: What names a line, as `Asking.name` names a request.
NAMED = ("sha256", "item", "model_a", "model_b", "order")

#: How every line begins; a last line that is not whole and begins otherwise is somebody else's.
_START = b'{"sha256": "'
#: Columns of the table that are not kept: texts, and those that have the name of something that the log says itself.
_OURS = frozenset({*TEXTS, *FACTS, "sha256"})

#: Requests by what is sent.
type Waiting = Mapping[str, Sequence[Request]]


@dataclass(frozen=True, eq=False, kw_only=True)
class Log:
    """A log that this process alone has open; ``lost`` is what a damaged last line held, in bytes."""

    path: Path
    file: BinaryIO
    lost: int = 0

    def records(self) -> Iterator[Record]:
        """Every line that is there; refuses one that is none of ours."""
        self.file.seek(0)
        for number, line in enumerate(self.file, start=1):
            record = _record(line)
            if record is None:
                raise UsageError(
                    f"line {number} of {str(self.path)!r} is no line of a judge's log; name another file with --out, "
                    "or take the line out"
                )
            yield record

    def write(self, records: Sequence[Record]) -> None:
        """Append lines, each whole before anything else happens."""
        self.file.write(b"".join(json.dumps(record).encode() + b"\n" for record in records))
        self.file.flush()


@contextmanager
def open_log(path: Path) -> Iterator[Log]:
    """The log at this place, made where there is none; what a killed run left of a line is dropped."""
    with path.open("ab+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise UsageError(
                f"another run writes to {str(path)!r}; wait for it, or name another file with --out"
            ) from error
        yield Log(path=path, file=file, lost=_mend(file))


def unanswered(asking: Asking, log: Log | None) -> Waiting:
    """Requests without a reply in the log, by what is sent; a reply there to an equal request is written for them."""
    waiting: dict[str, dict[tuple[str, ...], Request]] = {}
    for one in asking:
        waiting.setdefault(one.key, {})[asking.name(one)] = one
    replies: dict[str, Record] = {}
    for record in log.records() if log else ():
        named = waiting.get(record["sha256"])
        if named is not None and record["reply"] is not None:
            named.pop(tuple(str(record[name]) for name in NAMED), None)
            replies[record["sha256"]] = record if named else {}
    for key, record in replies.items():
        facts = {name: record[name] for name in FACTS if name in record}
        equal = lines_of(asking, waiting.pop(key).values(), Response(text=record.get("reply"), facts=facts))
        if log and equal:
            log.write(equal)
    return {key: tuple(named.values()) for key, named in waiting.items()}


def lines_of(asking: Asking, requests: Iterable[Request], response: Response) -> list[Record]:
    """What the log says of equal requests and the one response to them.

    Outcome and scores are those of the table's a and b, whichever was shown first.
    """
    reply = parse_reply(response.text or "", criteria=asking.criteria)
    failure = response.failure or _failure(reply, response.facts)
    return [
        {
            "sha256": one.key,
            **{name: value for name, value in asking.pairs[one.place].items() if name not in _OURS},
            "judge": asking.model,
            "template": asking.prompt,
            "order": one.order,
            "trial": one.trial,
            **_outcome(reply, turned=one.order == "ba"),
            "failure": failure,
            "reply": response.text,
            **response.facts,
        }
        for one in requests
    ]


def _failure(reply: Reply, facts: Record) -> str:
    if not reply.failure:
        return ""
    if "refusal" in facts:
        return "the model refused"
    return f"cut off: {reply.failure}" if facts.get("finish") == "length" else reply.failure


def _outcome(reply: Reply, *, turned: bool) -> dict[str, float | None]:
    means = [sum(scores.values()) / len(scores) if scores else None for scores in (reply.scores_a, reply.scores_b)]
    first, second = reversed(means) if turned else means
    preference = reply.preference
    verdict = 1.0 - preference if turned and preference is not None else preference
    return {"verdict": verdict, "score_a": first, "score_b": second}


def _record(line: bytes) -> Record | None:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    known = isinstance(found, dict) and {*NAMED, "reply"} <= found.keys()
    return found if known and isinstance(found["reply"], str | None) else None


def _mend(file: BinaryIO) -> int:
    """Cut a last line that is not whole, and give its length; a whole one gets its line end."""
    file.seek(0)
    end, line = 0, b"\n"
    for line in file:
        end += len(line)
    if line.endswith(b"\n") or not line.startswith(_START[: len(line)]):
        return 0
    if _record(line) is not None:
        file.write(b"\n")
        return 0
    file.truncate(end - len(line))
    return len(line)
