"""``bayesjudge judge`` against a judge on loopback that is busy, breaks down, is slow, and is killed in between."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from stub_judge import Answer, Stub, completion, stub_judge
from typer.testing import CliRunner, Result

from bayesjudge.cli import app
from bayesjudge.errors import InputError
from bayesjudge.judging import asking as asking_module
from bayesjudge.readers import read_battles, read_pairs, read_repeats

SECRET = "sk-not-to-be-found-anywhere"  # noqa: S105 - no secret


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setattr(asking_module, "PAUSE", 0.01)


@pytest.fixture
def stub() -> Iterator[Stub]:
    with stub_judge(Stub()) as found:
        yield found


def comparisons(folder: Path, n: int = 6) -> Path:
    """Answers of three models: x is longest, and of every third pair people preferred the shorter one."""
    rows = [
        {
            "item": f"q{k}",
            "prompt": f"Question {k}?",
            "model_a": a,
            "model_b": b,
            "response_a": f"{k} " + "word " * lengths[a],
            "response_b": f"{k} " + "word " * lengths[b],
            "human": "b" if k % 3 == 0 else "a",
            "category": "long" if k % 2 else "short",
        }
        for k in range(n)
        for lengths in [{"x": 9, "y": 5, "z": 2}]
        for a, b in [(("x", "y"), ("y", "z"), ("x", "z"))[k % 3]]
    ]
    path = folder / "pairs.csv"
    pd.DataFrame(rows).to_csv(path, index=False)
    return path


def judge(*arguments: Any, answer: str = "") -> Result:
    given = [str(one) for one in arguments]
    result = CliRunner().invoke(app, ["judge", *given, "--model", "stub", "--quiet"], input=answer)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    assert SECRET not in result.output
    return result


def ask(stub: Stub, folder: Path, *options: Any, n: int = 6, log: str = "log.jsonl") -> Result:
    return judge(comparisons(folder, n), "--base-url", stub.url, "--out", folder / log, "--yes", *options)


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_every_comparison_is_asked_once_in_each_order(stub: Stub, tmp_path: Path) -> None:
    ran = ask(stub, tmp_path)
    assert ran.exit_code == 0, ran.stderr
    assert "12 replies in 12 calls, 1,200 tokens in and 480 out" in ran.stdout
    assert set(stub.asked.values()) == {1}
    found = lines(tmp_path / "log.jsonl")
    assert {(one["item"], one["order"]) for one in found} == {
        (f"q{k}", order) for k in range(6) for order in ("ab", "ba")
    }
    # Answer a of the table is the longer one, wherever it was shown; what is shown first scores .5 more.
    outcomes = {(one["order"], one["verdict"], one["score_a"], one["score_b"], one["failure"]) for one in found}
    assert outcomes == {("ab", 1.0, 8.5, 6.0, ""), ("ba", 1.0, 8.0, 6.5, "")}
    assert {one["served"] for one in found} == {"stub-1"}
    again = ask(stub, tmp_path)
    assert "Nothing to ask" in again.stdout
    assert stub.calls == 12
    assert lines(tmp_path / "log.jsonl") == found


def test_the_key_is_sent_and_written_nowhere(stub: Stub, tmp_path: Path) -> None:
    stub.trouble = lambda _, __: (400, {}, json.dumps({"error": {"message": f"bad key {SECRET}"}}).encode())
    assert ask(stub, tmp_path, n=2).exit_code == 0
    assert stub.keys == {f"Bearer {SECRET}"}
    assert "bad key ***" in (tmp_path / "log.jsonl").read_text()
    assert SECRET not in (tmp_path / "log.jsonl").read_text()


def test_trials_of_equal_requests_are_asked_apart(stub: Stub, tmp_path: Path) -> None:
    assert ask(stub, tmp_path, "--trials", 3, "--orders", "ab", n=4).exit_code == 0
    assert set(stub.asked.values()) == {3}
    assert [one["trial"] for one in lines(tmp_path / "log.jsonl")].count(3) == 4


def test_equal_requests_share_one_reply(stub: Stub, tmp_path: Path) -> None:
    """Two models gave the same answer: one call, a line for each comparison; also where the second came later."""
    frame = pd.DataFrame(
        {
            "item": "q",
            "instruction": "Say yes.",
            "model_a": "x",
            "model_b": ["y", "z"],
            "answer_a": "yes!",
            "answer_b": "y",
        }
    )
    path, log = tmp_path / "pairs.csv", tmp_path / "log.jsonl"
    options = (path, "--base-url", stub.url, "--out", log, "--yes", "--orders", "ab")
    frame.iloc[:1].to_csv(path, index=False)
    assert judge(*options).exit_code == 0
    frame.to_csv(path, index=False)
    assert judge(*options).exit_code == 0
    shared = lines(log)
    log.unlink()
    assert judge(*options).exit_code == 0
    assert stub.calls == 2
    assert lines(log) == shared
    assert [one["model_b"] for one in shared] == ["y", "z"]


def busy(share: float) -> Callable[[str, int], Answer | str]:
    def trouble(text: str, times: int) -> Answer | str:
        drawn = random.Random(f"{text} {times}").random()  # noqa: S311 - the same whatever the order of threads
        if drawn > share or times % 6 == 0:
            return "fine"
        return (429 if drawn < share / 2 else 500), {"Retry-After": "0"}, b"busy"

    return trouble


def run_alone(stub: Stub, folder: Path, log: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "bayesjudge", "judge", folder / "pairs.csv", "--model", "stub", "--quiet", "--yes"]
    options = ["--base-url", stub.url, "--out", log, "--orders", "ab"]
    return subprocess.Popen([*map(str, command), *map(str, options)], stdout=subprocess.PIPE, stderr=subprocess.PIPE)


@pytest.mark.slow
def test_a_run_that_is_killed_twice_goes_on(stub: Stub, tmp_path: Path) -> None:
    """1,000 requests, 30 % of the calls in vain: no request is asked again once its reply is in the log."""
    comparisons(tmp_path, 1000)
    stub.trouble = busy(0.3)
    log, written = tmp_path / "log.jsonl", set[str]()
    for enough in (200, 600):
        process = run_alone(stub, tmp_path, log)
        while not log.exists() or log.read_bytes().count(b"\n") < enough:
            assert process.poll() is None, process.communicate()
            time.sleep(0.005)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        time.sleep(0.05)  # for the calls that were under way
        written = {one["item"] for one in map(json.loads, log.read_bytes().split(b"\n")[:-1])}
        before = stub.asked.copy()
        assert enough <= len(written) < 1000
        log.write_bytes(log.read_bytes() + b'{"sha256": "a line that the kill cut')
    options = (tmp_path / "pairs.csv", "--base-url", stub.url, "--yes", "--orders", "ab", "--out")
    ran = judge(*options, log)
    assert ran.exit_code == 0, ran.stderr
    assert "was incomplete and is dropped (36 bytes)" in ran.stderr
    late = {text.partition("Question ")[2].partition("?")[0] for text in stub.asked - before}
    assert not {f"q{k}" for k in late} & written
    stub.trouble = busy(0)
    assert judge(*options, tmp_path / "whole.jsonl").exit_code == 0
    found, whole = (sorted(lines(path), key=lambda one: one["sha256"]) for path in (log, tmp_path / "whole.jsonl"))
    assert len(found) == 1000
    assert found == whole


def test_no_more_calls_than_allowed_repeated_ones_included(stub: Stub, tmp_path: Path) -> None:
    stub.trouble = busy(0.5)
    ran = ask(stub, tmp_path, "--max-calls", 10, n=30)
    assert ran.exit_code == 0
    assert stub.calls == 10
    assert len(lines(tmp_path / "log.jsonl")) < 10
    assert "the same command asks for them again" in ran.stderr


@pytest.mark.parametrize(
    "trouble",
    [
        pytest.param((200, {}, b'{"choices": [{"mess'), id="broken JSON"),
        pytest.param((200, {}, b'{"error": "overloaded"}'), id="no choices"),
        pytest.param((200, {"Content-Length": "5000"}, b'{"choices"'), id="truncated"),
        pytest.param(None, id="closed"),
        pytest.param((503, {}, b"<html>unavailable</html>"), id="503"),
    ],
)
def test_what_passes_by_itself_is_asked_again(trouble: Answer, stub: Stub, tmp_path: Path) -> None:
    stub.trouble = lambda _, times: trouble if times < 3 else "fine"
    assert ask(stub, tmp_path, n=3).exit_code == 0
    assert set(stub.asked.values()) == {3}
    assert {one["failure"] for one in lines(tmp_path / "log.jsonl")} == {""}


def test_a_slow_reply_is_asked_again(stub: Stub, tmp_path: Path) -> None:
    def slow_once(text: str, times: int) -> str:
        time.sleep(0.6 if times == 1 else 0)
        return "fine"

    stub.trouble = slow_once
    assert ask(stub, tmp_path, "--timeout", 0.3, "--orders", "ab", n=3).exit_code == 0
    assert set(stub.asked.values()) == {2}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("changed", "failure"),
    [
        ({"message": {"content": "I like A."}, "finish_reason": "stop"}, "no JSON object"),
        ({"message": {"content": '{"A": {"adherence": 8'}, "finish_reason": "length"}, "cut off: no JSON object"),
        ({"message": {"content": "I like \ud83d"}, "finish_reason": "length"}, "cut off: no JSON object"),
        ({"message": {"content": None, "refusal": "No."}, "finish_reason": "stop"}, "the model refused"),
    ],
)
def test_replies_that_cannot_be_used_are_kept_and_never_scored(
    changed: dict[str, Any], failure: str, stub: Stub, tmp_path: Path
) -> None:
    odd = json.dumps(completion("Answer A: x Answer B: y", choices=[changed])).encode()
    stub.trouble = lambda text, _: (200, {}, odd) if "Question 0?" in text else "fine"
    ran = ask(stub, tmp_path)
    assert f"2 cannot be used ({failure}: 2)" in ran.stdout
    failed = [one for one in lines(tmp_path / "log.jsonl") if one["failure"]]
    assert {(one["item"], one["verdict"], one["score_a"], one["failure"]) for one in failed} == {
        ("q0", None, None, failure)
    }
    battles = read_battles(tmp_path / "log.jsonl")
    assert battles.dropped == {failure.partition(":")[0]: 2}
    assert len(battles) == 10
    # It was a reply, and the judge would be asked the same again.
    assert "Nothing to ask" in ask(stub, tmp_path).stdout


def test_a_request_that_is_refused_by_itself_is_asked_by_the_next_run(stub: Stub, tmp_path: Path) -> None:
    stub.trouble = lambda text, times: (400, {}, b"too long") if "Question 1?" in text and times == 1 else "fine"
    first = ask(stub, tmp_path)
    assert "2 requests have no reply" in first.stderr
    assert "no reply: HTTP 400 Bad Request: too long" in (tmp_path / "log.jsonl").read_text()
    assert ask(stub, tmp_path).exit_code == 0
    assert read_battles(tmp_path / "log.jsonl").dropped == {"no reply": 2}
    assert len(read_battles(tmp_path / "log.jsonl")) == 12


@pytest.mark.parametrize(
    ("status", "said"), [(401, "OPENAI_API_KEY"), (404, "check --base-url and --model"), (302, "refuses every request")]
)
def test_an_endpoint_that_refuses_everything_stops_the_run(status: int, said: str, stub: Stub, tmp_path: Path) -> None:
    stub.trouble = lambda _, __: (status, {"Location": "http://127.0.0.1:9/elsewhere"}, b"no")
    ran = ask(stub, tmp_path, n=50)
    assert ran.exit_code == 2
    assert said in ran.stderr
    assert stub.calls <= 8


@pytest.mark.slow
def test_requests_that_fail_in_a_row_stop_the_run(stub: Stub, tmp_path: Path) -> None:
    stub.trouble = lambda _, __: (400, {}, b"unsupported parameter")
    ran = ask(stub, tmp_path, n=50)
    assert ran.exit_code == 2
    assert "10 requests in a row had no reply, the last one: no reply: HTTP 400" in ran.stderr
    assert stub.calls < 30


def test_an_endpoint_that_is_not_there_is_said_at_once(tmp_path: Path) -> None:
    ran = judge(comparisons(tmp_path), "--base-url", "http://127.0.0.1:9/v1", "--out", tmp_path / "log.jsonl", "--yes")
    assert ran.exit_code == 2
    assert "cannot reach http://127.0.0.1:9/v1/chat/completions" in ran.stderr


def test_the_cost_comes_before_the_first_call(stub: Stub, tmp_path: Path) -> None:
    options = (comparisons(tmp_path), "--base-url", stub.url, "--out", tmp_path / "log.jsonl", "--price", "1000,4000")
    declined = judge(*options, answer="n\n")
    assert declined.exit_code == 0
    assert "12 requests; 12 calls, about" in declined.stderr
    # 12 replies of 250 tokens at 4,000 a million are 12; the prompts come to about as many tokens each.
    assert " 3,000 out: 1" in declined.stderr
    assert "no request was sent" in declined.stderr
    unanswered = judge(*options)
    assert unanswered.exit_code == 2
    assert "--yes" in unanswered.stderr
    assert stub.calls == 0
    assert judge(*options, answer="y\n").exit_code == 0
    assert stub.calls == 12


def test_a_batch_is_written_and_its_results_are_taken_in(tmp_path: Path) -> None:
    path, batch, log = comparisons(tmp_path), tmp_path / "requests.jsonl", tmp_path / "log.jsonl"
    assert judge(path, "--batch", batch, "--parameter", "temperature=0").exit_code == 0
    requests = lines(batch)
    assert len(requests) == 12
    assert {(one["method"], one["url"], one["body"]["temperature"]) for one in requests} == {
        ("POST", "/v1/chat/completions", 0)
    }
    results = [
        {
            "custom_id": one["custom_id"],
            "response": {"status_code": 200, "body": completion(one["body"]["messages"][-1]["content"])},
            "error": None,
        }
        for one in requests
    ]
    results[0] |= {"response": None, "error": {"code": "batch_expired", "message": "too late"}}
    done = tmp_path / "results.jsonl"
    done.write_text("".join(json.dumps(one) + "\n" for one in [*results, {"custom_id": "another"}]))
    ran = judge(path, "--ingest", done, "--out", log, "--parameter", "temperature=0")
    assert ran.exit_code == 0
    assert "11 replies" in ran.stdout
    assert "1 results of" in ran.stderr
    assert "no reply: too late" in log.read_text()
    # What is left, and nothing else, is in the next batch; other parameters make other requests.
    assert judge(path, "--batch", batch, "--out", log, "--parameter", "temperature=0").exit_code == 0
    assert [one["custom_id"] for one in lines(batch)] == [requests[0]["custom_id"]]
    assert judge(path, "--batch", batch, "--out", log).exit_code == 0
    assert len(lines(batch)) == 12


def test_a_prompt_of_one_s_own(stub: Stub, tmp_path: Path) -> None:
    prompt = tmp_path / "brief.txt"
    prompt.write_text(
        '{instruction}\nAnswer A:{answer_a}\nAnswer B:{answer_b}\n\nScore both: {"preference": "A, B or tie"}'
    )
    assert ask(stub, tmp_path, "--prompt", prompt).exit_code == 0
    found = lines(tmp_path / "log.jsonl")
    assert {(one["template"], one["verdict"], one["score_a"]) for one in found} == {("brief", 1.0, None)}
    prompt.write_text("Which is better? {answer_a} {answer_b}")
    ran = ask(stub, tmp_path, "--prompt", prompt)
    assert ran.exit_code == 2
    assert "the prompt has no {instruction}" in ran.stderr


def test_a_reply_without_a_preference_prefers_what_it_scores_higher(stub: Stub, tmp_path: Path) -> None:
    choice = completion("Answer A: long Answer B: b")["choices"][0]["message"]
    silent = {"message": {"content": choice["content"].replace('"preference": "A"', '"preference": "?"')}}
    odd = json.dumps(completion("Answer A: x Answer B: y", choices=[silent])).encode()
    stub.trouble = lambda _, __: (200, {}, odd)
    assert ask(stub, tmp_path, n=1).exit_code == 0
    assert [one["verdict"] for one in lines(tmp_path / "log.jsonl")] == [None, None]
    frame = read_battles(tmp_path / "log.jsonl").frame
    assert dict(zip(frame["order"], frame["verdict"], strict=True)) == {"ab": 1.0, "ba": 0.0}


@pytest.mark.slow
def test_calls_under_way_are_waited_for_where_a_run_is_interrupted(stub: Stub, tmp_path: Path) -> None:
    stub.delay = 0.3
    comparisons(tmp_path, 100)
    log = tmp_path / "log.jsonl"
    process = run_alone(stub, tmp_path, log)
    while stub.calls < 12:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    process.communicate()
    assert process.returncode != 0
    assert 12 <= len(lines(log)) == stub.calls < 100


@pytest.mark.slow
def test_two_runs_cannot_write_one_log(stub: Stub, tmp_path: Path) -> None:
    stub.delay = 0.5
    comparisons(tmp_path, 2)
    log = tmp_path / "log.jsonl"
    first = run_alone(stub, tmp_path, log)
    while not stub.calls:
        time.sleep(0.01)
    second = ask(stub, tmp_path, n=2)
    assert second.exit_code == 2
    assert "another run writes to" in second.stderr
    first.communicate()
    assert first.returncode == 0


@pytest.mark.slow
def test_the_questions_read_the_log(stub: Stub, tmp_path: Path) -> None:
    assert ask(stub, tmp_path, "--trials", 2, n=12).exit_code == 0
    log = tmp_path / "log.jsonl"
    battles = read_battles(log)
    assert (len(battles), battles.frame["human"].notna().sum()) == (48, 48)
    assert battles.frame["verdict"].eq(1).all()
    assert set(battles.frame["judge"]) == {"stub"}
    trials, scores = read_repeats(log)
    assert trials is not None
    assert trials.frame.groupby(["item", "order"]).size().eq(2).all()
    assert scores is not None
    assert set(scores.frame["score"]) == {8.5, 8.0, 6.5, 6.0}
    assert len(scores.frame) == 2 * 48
    pairs = read_pairs(log, where={"trial": "1"})
    assert pairs.frame["human_prefers"].value_counts().to_dict() == {"a": 16, "b": 8}
    ran = CliRunner().invoke(app, ["inspect", str(log)])
    assert ran.exit_code == 0
    assert "log of bayesjudge judge: 48 records read" in ran.stdout


def in_doubt(text: str, times: int) -> Answer:
    """A judge who takes the other answer one time in four."""
    found = completion(text)
    if random.Random(f"{text} {times}").random() < 0.25:  # noqa: S311 - the same whatever the order of threads
        said = json.loads(found["choices"][0]["message"]["content"])
        turned = {"A": said["B"], "B": said["A"], "preference": {"A": "B", "B": "A"}[said["preference"]]}
        found["choices"][0]["message"]["content"] = json.dumps(turned)
    return 200, {}, json.dumps(found).encode()


@pytest.mark.slow
def test_the_questions_are_answered_from_the_log(stub: Stub, tmp_path: Path) -> None:
    stub.trouble = in_doubt
    assert ask(stub, tmp_path, "--trials", 3, n=30).exit_code == 0
    log = str(tmp_path / "log.jsonl")
    shown = {"elo": "Elo on the human scale", "reliability": "Flip rate", "audit": "Trust of every verdict"}
    for question, title in shown.items():
        chosen = ["--where", "trial=1"] if question == "audit" else []
        command = [sys.executable, "-m", "bayesjudge", question, log, *chosen, "--draws", "300", "--quiet"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert title in done.stdout
    with pytest.raises(InputError, match=r"--where trial=1; --where trial=2; --where trial=3"):
        read_pairs(log)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--out", "log.jsonl"), "name the endpoint"),
        (("--base-url", "http://127.0.0.1:9/v1"), "name the file of replies"),
        (("--base-url", "localhost:8000", "--out", "log.jsonl"), "write it with http://"),
        (("--batch", "requests.csv"), "end its name in .jsonl"),
        (("--batch", "a.jsonl", "--ingest", "b.jsonl"), "give one of them"),
        (("--batch", "a.jsonl", "--orders", "random"), "orders='random' is not one of ab, ba, both"),
        (("--batch", "a.jsonl", "--trials", "0"), "trials must be 1 or more"),
        (("--batch", "a.jsonl", "--parameter", "n=3"), "parameter 'n' cannot be chosen"),
        (("--batch", "a.jsonl", "--price", "cheap"), "--price 2.5,10"),
        (("--batch", "a.jsonl", "--prompt", "nowhere.txt"), "No such file"),
        (("--batch", "a.jsonl", "--column", "answer_a=nothing"), "nothing"),
    ],
)
def test_mistakes_end_in_one_message(
    options: tuple[str, ...], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = comparisons(tmp_path)
    monkeypatch.chdir(tmp_path)
    ran = judge(path, *options)
    assert ran.exit_code == 2
    assert said in ran.stderr
    assert not list(tmp_path.glob("*.jsonl"))


def test_a_file_that_is_no_log_is_not_written_to(stub: Stub, tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    for content in ('{"item": 1}\n', '{"item": 1}\n{"item": 2}'):
        log.write_text(content)
        ran = ask(stub, tmp_path)
        assert ran.exit_code == 2
        assert "line 1 of" in ran.stderr
        assert log.read_text() == content
    assert stub.calls == 0


def test_tables_without_the_texts_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "pairs.csv"
    pd.DataFrame({"item": [1], "answer_a": ["x"]}).to_csv(path, index=False)
    ran = judge(path, "--batch", tmp_path / "a.jsonl")
    assert ran.exit_code == 2
    assert "answer_b" in ran.stderr
    frame = pd.DataFrame({"prompt": ["Why?", None], "response_1": ["x", "y"], "response_2": ["y", "z"]})
    frame.to_csv(path, index=False)
    ran = judge(path, "--batch", tmp_path / "a.jsonl")
    assert ran.exit_code == 0
    assert "1 of 2 rows" in ran.stderr
    assert "2 requests" in ran.stdout


def test_no_empty_line_stands_for_a_bar_where_standard_error_is_a_file(stub: Stub, tmp_path: Path) -> None:
    options = ["--model", "m", "--base-url", stub.url, "--out", str(tmp_path / "log.jsonl"), "--yes"]
    ran = CliRunner().invoke(app, ["judge", str(comparisons(tmp_path)), *options])
    assert ran.exit_code == 0, ran.stderr
    assert [line[:23] for line in ran.stderr.split("\n")] == ["bayesjudge: 12 requests", ""]


@pytest.mark.slow
def test_nothing_heavy_is_imported(stub: Stub, tmp_path: Path) -> None:
    options = ["--model", "m", "--base-url", stub.url, "--out", str(tmp_path / "log.jsonl"), "--yes"]
    code = (
        "import sys\nfrom bayesjudge.cli import main\ntry:\n"
        f"    main({['judge', str(comparisons(tmp_path)), *options]!r})\nexcept SystemExit:\n    pass\n"
        "assert not {'jax', 'numpyro', 'matplotlib', 'openai'} & sys.modules.keys()"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, env=os.environ)
    assert stub.calls == 12
