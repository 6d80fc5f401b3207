"""A judge on loopback: an OpenAI-compatible endpoint that prefers the longer answer, and misbehaves on request."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from bayesjudge.readers.judge_replies import CRITERIA

#: What a request is answered with: status, headers, body; None closes the connection without a word.
type Answer = tuple[int, dict[str, str], bytes] | None


@dataclass(eq=False)
class Stub:
    """What the stub was asked, and how it answers: ``trouble`` takes the user's text and how often it came."""

    trouble: Callable[[str, int], Answer | str] = lambda _, __: "fine"
    delay: float = 0.0
    asked: Counter[str] = field(default_factory=Counter)
    keys: set[str | None] = field(default_factory=set)
    lock: threading.Lock = field(default_factory=threading.Lock)
    url: str = ""

    @property
    def calls(self) -> int:
        return self.asked.total()

    def answer(self, body: dict[str, Any], key: str | None) -> Answer:
        text = body["messages"][-1]["content"]
        with self.lock:
            self.asked[text] += 1
            self.keys.add(key)
            times = self.asked[text]
        time.sleep(self.delay)
        found = self.trouble(text, times)
        return (200, {}, json.dumps(completion(text)).encode()) if found == "fine" else found  # type: ignore[return-value]


def completion(text: str, **changed: Any) -> dict[str, Any]:
    """A whole reply to a prompt of the rubric: the longer answer is better, and what comes first scores .5 more."""
    first, second = text.partition("Answer A:")[2].partition("\n\nScore both")[0].split("Answer B:")
    a, b = len(first.strip()), len(second.strip())
    scores = [dict.fromkeys(CRITERIA, 8.5 if a > b else 6.5), dict.fromkeys(CRITERIA, 8 if b > a else 6)]
    said = {"A": scores[0], "B": scores[1], "preference": "tie" if a == b else "A" if a > b else "B"}
    choice = {"message": {"role": "assistant", "content": json.dumps(said)}, "finish_reason": "stop"}
    usage = {"prompt_tokens": 100, "completion_tokens": 40}
    return {"model": "stub-1", "choices": [choice], "usage": usage} | changed


@contextmanager
def stub_judge(stub: Stub) -> Iterator[Stub]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            found = stub.answer(body, self.headers["Authorization"])
            if found is None:
                self.close_connection = True
                return
            status, headers, content = found
            self.send_response(status)
            for name, value in ({"Content-Length": str(len(content))} | headers).items():
                self.send_header(name, value)
            self.end_headers()
            try:
                self.wfile.write(content)
            except BrokenPipeError:  # the caller did not wait for a slow reply, or was killed
                self.close_connection = True

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.handle_error = lambda *_: None  # type: ignore[method-assign] # a killed caller is no error here
    stub.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield stub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
