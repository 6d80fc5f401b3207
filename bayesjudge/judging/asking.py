"""Asking: several calls at a time, each tried again where that may help, every reply written at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from threading import Event, Lock
from typing import Any

from bayesjudge.errors import UsageError
from bayesjudge.judging.endpoint import Endpoint, Response, one_line, read_completion
from bayesjudge.judging.log import Log, Waiting, lines_of
from bayesjudge.judging.requests import Asking, Request
from bayesjudge.readers.json_records import JsonRecords
from bayesjudge.readers.sources import find_sources
from bayesjudge.readers.values import at, number

#: Calls made for one request at most; and requests without a reply, one after the other, that stop everything.
ATTEMPTS, MOST_IN_A_ROW = 8, 10
#: Seconds before the second call, where the endpoint names none; doubled before each further one.
PAUSE, LONGEST_PAUSE = 1.0, 60.0


@dataclass(eq=False, kw_only=True)
class Tally:
    """What asking came to: calls made, replies, tokens, and requests that failed by reason."""

    calls: int = 0
    replies: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    failures: Counter[str] = field(default_factory=Counter)

    def add(self, response: Response, failure: str) -> None:
        """Count a response, which failed for that reason where there is one."""
        self.replies += response.text is not None
        self.tokens_in += int(number(response.facts.get("tokens_in")) or 0)
        self.tokens_out += int(number(response.facts.get("tokens_out")) or 0)
        self.failures.update([failure] if failure else [])


def ask_all(
    waiting: Waiting,
    asking: Asking,
    endpoint: Endpoint,
    log: Log,
    *,
    concurrency: int,
    max_calls: int | None,
    report: Callable[[], None],
) -> Tally:
    """Ask for every reply that is missing, and write each into the log as it comes.

    Stopped by an error or by Ctrl-C, it waits for the calls under way, whose replies are paid for.
    """
    run = _Run(waiting=waiting, asking=asking, endpoint=endpoint, log=log, max_calls=max_calls, report=report)
    with ThreadPoolExecutor(concurrency) as pool:
        try:
            for worker in as_completed([pool.submit(run.work) for _ in range(concurrency)]):
                worker.result()
        finally:
            run.stopped.set()
    return run.tally


def take_batch(path: str, waiting: Waiting, asking: Asking, log: Log) -> tuple[Tally, int]:
    """Write what a batch came to into the log, and count lines about requests that are not waited for."""
    tally, others, left = Tally(), 0, dict(waiting)
    for source in find_sources(path):
        for line in JsonRecords(source):
            requests = left.pop(str(line.get("custom_id")), None)
            if requests is None:
                others += 1
                continue
            response = _of_batch(line)
            lines = lines_of(asking, requests, response)
            log.write(lines)
            tally.add(response, lines[0]["failure"])
    return tally, others


def _of_batch(line: Mapping[str, Any]) -> Response:
    if at(line, "response.status_code") == 200:
        return read_completion(at(line, "response.body"))
    status = at(line, "response.status_code")
    why = at(line, "error.message") or at(line, "response.body.error.message")
    why = why or (f"status {status}" if status else "the batch holds none")
    return Response(failure=f"no reply: {one_line(str(why))}")


@dataclass(eq=False, kw_only=True)
class _Run:
    """What the workers share."""

    waiting: Waiting
    asking: Asking
    endpoint: Endpoint
    log: Log
    max_calls: int | None
    report: Callable[[], None]
    tally: Tally = field(default_factory=Tally)
    stopped: Event = field(default_factory=Event)
    lock: Lock = field(default_factory=Lock)
    heard: bool = False
    in_a_row: int = 0

    def __post_init__(self) -> None:
        self.left: Iterator[Sequence[Request]] = iter(self.waiting.values())

    def work(self) -> None:
        """Take requests, one after the other, until none is left or all is stopped."""
        try:
            while (requests := self._next()) is not None:
                response = self._answer(self.asking.body(requests[0]))
                if response is None:
                    return
                self._write(requests, response)
        except BaseException:
            self.stopped.set()
            raise

    def _next(self) -> Sequence[Request] | None:
        with self.lock:
            return None if self.stopped.is_set() else next(self.left, None)

    def _answer(self, body: Mapping[str, Any]) -> Response | None:
        """The response to a request; None where no further call may be made."""
        response = None
        for attempt in range(ATTEMPTS):
            if attempt and response is not None:
                wait = min(PAUSE * 2 ** (attempt - 1), LONGEST_PAUSE) if response.pause is None else response.pause
                self.stopped.wait(wait)
            if not self._may_call():
                return None
            response = self.endpoint.post(body)
            self.heard |= response.reached
            if not self.heard:
                raise UsageError(f"cannot reach {self.endpoint.address} ({response.failure}); check --base-url")
            if not response.again:
                break
        return response

    def _may_call(self) -> bool:
        with self.lock:
            if self.stopped.is_set() or self.tally.calls == self.max_calls:
                return False
            self.tally.calls += 1
            return True

    def _write(self, requests: Sequence[Request], response: Response) -> None:
        lines = lines_of(self.asking, requests, response)
        with self.lock:
            self.log.write(lines)
            self.tally.add(response, lines[0]["failure"])
            self.report()
            self.in_a_row = 0 if response.text is not None else self.in_a_row + 1
            if self.in_a_row >= MOST_IN_A_ROW:
                raise UsageError(
                    f"stopped: {self.in_a_row} requests in a row had no reply, the last one: {response.failure}; "
                    "replies written so far remain, and the same command requests the others"
                )
