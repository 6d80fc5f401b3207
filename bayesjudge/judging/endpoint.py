"""One request to an OpenAI-compatible endpoint, and what came of it.

A judge needs one POST and its reply, so the standard library does it: no client to install, and the tests run
everywhere. Proxies and certificates are those of the environment, as `urllib` finds them.
"""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from http.client import HTTPException
from typing import Any

from bayesjudge.errors import UsageError
from bayesjudge.readers.values import at, listing, number

#: Statuses that concern one request alone; and, with all from 500 on, those that pass by themselves.
_THIS_ONE, _PASSING = {400, 413, 422}, {408, 409, 425, 429}
#: Bytes of a reply that are read, characters of an error message that are kept, seconds waited at most.
_MOST_BYTES, _MOST_SAID, _LONGEST_PAUSE = 1 << 24, 300, 60.0
#: What is kept of a reply with its text, and where it stands in an endpoint's answer and its first choice.
FACTS = {
    "served": "answer.model",
    "finish": "choice.finish_reason",
    "refusal": "choice.message.refusal",
    "tokens_in": "answer.usage.prompt_tokens",
    "tokens_out": "answer.usage.completion_tokens",
}


@dataclass(frozen=True, kw_only=True)
class Response:
    """What came of one call: the judge's text, or why there is none and whether the same call may succeed later.

    ``pause`` is the time in seconds that the endpoint asks for, ``reached`` whether it answered at all, ``facts``
    those of `FACTS` that it gives.
    """

    text: str | None = None
    failure: str = ""
    again: bool = False
    pause: float | None = None
    reached: bool = True
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Endpoint:
    """Where requests go: its URL up to the version, its key, and the seconds without a byte that a call may take.

    The key is sent with every call and written nowhere.
    """

    url: str
    secret: str | None = field(default=None, repr=False)
    timeout: float = 300.0

    def __post_init__(self) -> None:
        if not self.url.startswith(("http://", "https://")):
            raise UsageError(
                f"base URL {self.url!r}: write it with http:// or https://, as in http://localhost:8000/v1"
            )
        if self.secret and not (self.secret.isascii() and self.secret.isprintable()):
            raise UsageError("the environment variable OPENAI_API_KEY holds characters that no key has; set it again")
        if not self.timeout > 0:
            raise UsageError(f"timeout must be above 0 seconds, not {self.timeout}")

    @property
    def address(self) -> str:
        """Of the one path that is used."""
        return f"{self.url.rstrip('/')}/chat/completions"

    def post(self, body: Mapping[str, Any]) -> Response:
        """One call."""
        headers = {"Content-Type": "application/json", "User-Agent": "bayesjudge"}
        headers |= {"Authorization": f"Bearer {self.secret}"} if self.secret else {}
        call = urllib.request.Request(self.address, json.dumps(body).encode(), headers)  # noqa: S310 - http or https, see above
        try:
            with self._opener.open(call, timeout=self.timeout) as found:
                return read_completion(json.loads(found.read(_MOST_BYTES)))
        except urllib.error.HTTPError as error:
            with error:
                return self._refused(error)
        except (ValueError, RecursionError):
            return Response(failure="no reply: not JSON", again=True)
        except (OSError, HTTPException) as error:
            unreached = isinstance(error, urllib.error.URLError)
            reason = getattr(error, "reason", None) or error
            return Response(failure=f"no reply: {one_line(str(reason))}", again=True, reached=not unreached)

    @cached_property
    def _opener(self) -> urllib.request.OpenerDirector:
        return urllib.request.build_opener(_NoRedirect)

    def _refused(self, error: urllib.error.HTTPError) -> Response:
        why = f"HTTP {error.code} {error.reason}{self._explained(error)}"
        again = error.code in _PASSING or error.code >= 500
        if not again and error.code not in _THIS_ONE:
            raise UsageError(
                f"{self.address} refuses every request ({why}); check --base-url and --model, and that the "
                "environment variable OPENAI_API_KEY holds the endpoint's key"
            )
        wait = number(error.headers.get("Retry-After"))
        pause = None if wait is None else min(max(wait, 0.0), _LONGEST_PAUSE)
        return Response(failure=f"no reply: {why}", again=again, pause=pause)

    def _explained(self, error: urllib.error.HTTPError) -> str:
        """What the endpoint said of an error, without the key, which some repeat."""
        try:
            said = error.read(_MOST_BYTES).decode("utf-8", "replace")
        except (OSError, HTTPException):
            return ""
        try:
            found = json.loads(said)
        except (ValueError, RecursionError):
            found = None
        why = str(at(found, "error.message") or at(found, "message") or at(found, "error") or said)
        why = one_line(why.replace(self.secret, "***") if self.secret else why)
        return f": {why}" if why else ""


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Requests go where the user said: elsewhere, the key would go with them."""

    def redirect_request(self, *_: Any) -> None:
        return None


def read_completion(body: Any) -> Response:
    """What an endpoint's answer says; also that of a line of a batch's results."""
    choice = next(iter(listing(at(body, "choices"))), None)
    if at(choice, "message") is None:
        return Response(failure="no reply: an answer without choices", again=True)
    content, whole = at(choice, "message.content"), {"answer": body, "choice": choice}
    found = {name: at(whole, path) for name, path in FACTS.items()}
    facts = {name: _whole(value) for name, value in found.items() if isinstance(value, str | int)}
    return Response(text=_whole(content) if isinstance(content, str) else "", facts=facts)


def _whole[T](value: T) -> T | str:
    """Text without halves of surrogate pairs, which a cut reply may end in and which no reader takes."""
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value


def one_line(said: str) -> str:
    """The beginning of a message on one line."""
    return " ".join(_whole(said).split())[:_MOST_SAID]
