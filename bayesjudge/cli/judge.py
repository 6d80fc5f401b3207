"""``bayesjudge judge``: ask a judge to compare answers, and keep every reply in a log that the questions read."""

from __future__ import annotations

import itertools
import json
import os
import shlex
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bayesjudge.cli.options import Column, Quiet, Where
from bayesjudge.cli.running import mapping, plain_messages, require_no_folder, say
from bayesjudge.errors import UsageError
from bayesjudge.text import visible

if TYPE_CHECKING:
    from bayesjudge.judging.asking import Tally
    from bayesjudge.judging.endpoint import Endpoint
    from bayesjudge.judging.log import Log, Waiting
    from bayesjudge.judging.requests import Asking


#: Tokens of a reply that no parameter limits, bytes of text that make a token, the parameters that limit a reply.
REPLY, BYTES, LIMITS = 250, 4, ("max_completion_tokens", "max_tokens")
RUBRIC = "rubric"


def judge(
    *,
    file: Annotated[
        str,
        typer.Argument(help="Comparisons: instruction, answer_a, answer_b; item, model_a, model_b, human where known."),
    ],
    model: Annotated[str, typer.Option(help="The judge, as its endpoint calls it.")],
    base_url: Annotated[
        str | None, typer.Option(help="OpenAI-compatible endpoint, for instance http://localhost:8000/v1.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="The log (.jsonl); requests that it answers are not sent again.")
    ] = None,
    orders: Annotated[str, typer.Option(help="Answer a shown first (ab), b (ba), or both orders (both).")] = "both",
    trials: Annotated[int, typer.Option(help="Times that each comparison is judged in each order.")] = 1,
    prompt: Annotated[
        str, typer.Option(help="rubric, or a text file with {instruction}, {answer_a}, {answer_b}.")
    ] = RUBRIC,
    parameter: Annotated[
        list[str] | None, typer.Option(help="What else is sent, for instance temperature=0; may be repeated.")
    ] = None,
    concurrency: Annotated[int, typer.Option(min=1, max=1000, help="Calls at a time.")] = 8,
    max_calls: Annotated[
        int | None, typer.Option(min=1, help="Make no more calls than these, repeated ones included.")
    ] = None,
    timeout: Annotated[float, typer.Option(help="Seconds without a byte after which a call has failed.")] = 300.0,
    price: Annotated[
        str | None, typer.Option(help="Of a million tokens in, and out: 2.5,10.", metavar="IN,OUT")
    ] = None,
    batch: Annotated[Path | None, typer.Option(help="Send nothing; write requests in OpenAI's batch format.")] = None,
    ingest: Annotated[str | None, typer.Option(help="Send nothing; take a batch's results into the log.")] = None,
    column: Column = None,
    where: Where = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask before the first call.")] = False,
    quiet: Quiet = False,
) -> None:
    """Ask a judge which of two answers is better, and keep its replies for elo, reliability and audit.

    The key is read from the environment variable OPENAI_API_KEY and written nowhere.

    Example: bayesjudge judge answers.csv --model gpt-4.1-mini --base-url https://api.openai.com/v1 --out replies.jsonl
    """
    with plain_messages():
        from bayesjudge.judging.endpoint import Endpoint
        from bayesjudge.judging.log import open_log, unanswered
        from bayesjudge.judging.requests import Asking, read_comparisons

        _require_places(base_url, out, batch, ingest)
        # What can be checked without the table is checked first.
        secret = os.environ.get("OPENAI_API_KEY", "").strip() or None
        endpoint = Endpoint(url=base_url, secret=secret, timeout=timeout) if base_url else None
        prices, sent, (name, template) = _prices(price), _parameters(parameter), _prompt(prompt)
        columns = mapping(column, "--column", "answer_a=output")
        pairs, notes = read_comparisons(file, columns=columns, where=where)
        for note in notes:
            say(note)
        asking = Asking(
            pairs=pairs, model=model, prompt=name, template=template, orders=orders, trials=trials, parameters=sent
        )
        with open_log(out) if out else nullcontext() as log:
            waiting = unanswered(asking, log)
            if log and log.lost:
                say(f"the last line of {out} was incomplete and is dropped ({log.lost} bytes)")
            if batch:
                _write_batch(batch, asking, waiting)
            elif log and ingest:
                _take(ingest, waiting, asking, log, prices)
            elif log and endpoint and not waiting:
                typer.echo(visible(f"Nothing to ask: {log.path} has a reply to every request"))
            elif log and endpoint:
                _say_cost(asking, waiting, prices, max_calls)
                if not yes:
                    _confirm()
                _ask(waiting, asking, endpoint, log, prices, concurrency=concurrency, max_calls=max_calls, quiet=quiet)


def _require_places(base_url: str | None, out: Path | None, batch: Path | None, ingest: str | None) -> None:
    if batch and ingest:
        raise UsageError("--batch writes requests and --ingest takes their results: give one of them")
    if out is None and not batch:
        raise UsageError("name the file of replies: --out log.jsonl")
    if not (base_url or batch or ingest):
        raise UsageError(
            "name the endpoint: --base-url http://localhost:8000/v1 for a server of your own, or "
            "--base-url https://api.openai.com/v1; or write the requests into a file: --batch requests.jsonl"
        )
    for option, path in (("--out ", out), ("--batch ", batch)):
        if path is not None:
            require_no_folder(path, option)
            if path.suffix != ".jsonl":
                raise UsageError(f"{option}{str(path)!r}: it is JSON Lines; end its name in .jsonl")


def _prompt(prompt: str) -> tuple[str, str]:
    """Name and text of a prompt."""
    from bayesjudge.readers.judge_replies import rubric

    if prompt == RUBRIC:
        return RUBRIC, rubric()
    try:
        return Path(prompt).stem, Path(prompt).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(f"--prompt {prompt!r} is not UTF-8 text; name a text file, or say {RUBRIC}") from error
    except OSError as error:
        raise UsageError(f"--prompt {prompt!r}: {error.strerror}; name a text file, or say {RUBRIC}") from error


def _parameters(given: list[str] | None) -> dict[str, Any]:
    """Values are JSON where they can be read as such, else text."""
    found: dict[str, Any] = {}
    for name, value in mapping(given, "--parameter", "temperature=0").items():
        try:
            found[name] = json.loads(value)
        except ValueError:
            found[name] = value
    return found


type _Prices = tuple[float, float] | None


def _prices(given: str | None) -> _Prices:
    if given is None:
        return None
    try:
        tokens_in, tokens_out = (float(part) for part in given.split(","))
    except ValueError as error:
        raise UsageError(f"--price {given!r}: write what a million tokens cost, in and out: --price 2.5,10") from error
    return tokens_in, tokens_out


def _say_cost(asking: Asking, waiting: Waiting, prices: _Prices, max_calls: int | None) -> None:
    """What is to come, before anything is asked."""
    texts = [said["content"] for one in waiting.values() for said in asking.body(one[0])["messages"]]
    share = min(len(waiting), max_calls or len(waiting)) / max(len(waiting), 1)
    limit = next((asking.parameters[name] for name in LIMITS if name in asking.parameters), None)
    tokens_in = share * sum(len(text.encode("utf-8", "replace")) for text in texts) / BYTES
    tokens_out = share * len(waiting) * (limit if isinstance(limit, int) else REPLY)
    say(f"{len(waiting):,} requests; {share * len(waiting):,.0f} calls, about {_cost(tokens_in, tokens_out, prices)}")


def _cost(tokens_in: float, tokens_out: float, prices: _Prices) -> str:
    said = f"{tokens_in:,.0f} tokens in and {tokens_out:,.0f} out"
    if prices is None:
        return f"{said} (--price IN,OUT adds the cost)"
    return f"{said}: {(prices[0] * tokens_in + prices[1] * tokens_out) / 1e6:,.2f} at that price"


def _confirm() -> None:
    try:
        agreed = typer.confirm("Send them?", err=True)
    except typer.Abort as error:
        raise UsageError("no request was sent; --yes sends without this question") from error
    if not agreed:
        say("no request was sent")
        raise typer.Exit


def _write_batch(path: Path, asking: Asking, waiting: Waiting) -> None:
    from bayesjudge.files import write_whole

    write_whole(path, lambda file: file.writelines(asking.batch_line(requests[0]) for requests in waiting.values()))
    typer.echo(visible(f"{len(waiting)} requests in {path}; take their results with --ingest FILE --out log.jsonl"))


def _take(path: str, waiting: Waiting, asking: Asking, log: Log, prices: _Prices) -> None:
    from bayesjudge.judging.asking import take_batch

    tally, others = take_batch(path, waiting, asking, log)
    if others:
        say(f"{others} results of {path} are about other requests, or duplicates, and are ignored")
    _tell(tally, waiting, log, prices)


def _ask(
    waiting: Waiting, asking: Asking, endpoint: Endpoint, log: Log, prices: _Prices, *, quiet: bool, **options: Any
) -> None:
    from bayesjudge.inference.programs.progress import bar
    from bayesjudge.judging.asking import ask_all

    with nullcontext() if quiet else bar("asking") as report:
        done = itertools.count(1)

        def advance() -> None:
            if report is not None:
                report(next(done), len(waiting))

        tally = ask_all(waiting, asking, endpoint, log, report=advance, **options)
    _tell(tally, waiting, log, prices)


def _tell(tally: Tally, waiting: Waiting, log: Log, prices: _Prices) -> None:
    failed = ", ".join(f"{reason}: {n}" for reason, n in tally.failures.most_common(5))
    said = f"{tally.replies} replies in {tally.calls} calls, {_cost(tally.tokens_in, tally.tokens_out, prices)}"
    typer.echo(visible(said + (f"; {tally.failures.total()} cannot be used ({failed})" if failed else "")))
    if left := len(waiting) - tally.replies:
        say(f"{left} requests have no reply; the same command asks for them again")
    typer.echo(visible(f"Log: {log.path}   (bayesjudge inspect {shlex.quote(str(log.path))})"))
