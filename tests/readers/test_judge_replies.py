"""Judges' replies: tolerant of prose, strict about numbers, failures counted."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayesjudge.readers.judge_replies import CRITERIA, judge_prompt, parse_reply

A = dict.fromkeys(CRITERIA, 8)
B = dict.fromkeys(CRITERIA, 6.5)
BODY = json.dumps({"A": A, "B": B, "preference": "A"})


@pytest.mark.parametrize(
    "text",
    [
        BODY,
        f"```json\n{BODY}\n```",
        f"```JSON\n{BODY}\n```\nA is better since {{it}} is.",
        f"``` \n{BODY}```",
        f"Let me think {{really}}.\n{BODY}\nDone.",
        json.dumps({"scores": {"A": A, "B": B}, "winner": "A"}),
        json.dumps({"Completion A": A, "completion_b": B, "verdict": "[[A]]"}),
        f"```json\n{BODY}\n```\n```json\n{BODY}\n```",
    ],
)
def test_scores_are_found_wherever_they_stand(text: str) -> None:
    reply = parse_reply(text)
    assert (reply.failure, reply.gap, reply.preference) == ("", 1.5, 1.0)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"clarity": "8"}, "no number"),
        ({"clarity": 11}, "outside 1 to 10"),
        ({"clarity": 0}, "outside"),
        ({"clarity": True}, "no number"),
        ({"clarity": None}, "no number"),
    ],
)
def test_numbers_are_not_mended(change: dict[str, object], reason: str) -> None:
    reply = parse_reply(json.dumps({"A": A | change, "B": B}))
    assert reason in reply.failure
    assert np.isnan(reply.gap)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "no JSON"),
        ("A: 8, B: 7", "no JSON"),
        (json.dumps({"A": A}), "both answers"),
        (BODY[:-30], "both answers"),
        (json.dumps({"A": A, "B": {"clarity": 3}}), "no score for adherence"),
        (BODY + json.dumps({"A": B, "B": A}), "several different"),
        (BODY.replace('"clarity": 8', '"clarity": NaN'), "no number"),
        (BODY.replace('"clarity": 8', '"clarity": 8, "clarity": 2'), "no number"),
    ],
)
def test_replies_that_say_too_little_or_too_much_fail(text: str, reason: str) -> None:
    assert reason in parse_reply(text).failure


@given(st.text(max_size=200))
def test_no_text_breaks_the_parser(text: str) -> None:
    reply = parse_reply(text)
    assert reply.failure or reply.scores_a


def test_the_prompt_puts_texts_in_as_they_are() -> None:
    system, user = judge_prompt(instruction="{answer_b}", answer_a="{", answer_b="B's answer")
    assert user.count("B's answer") == 1
    assert all(name in system for name in CRITERIA)
    # An example copied without thought is not a judgment.
    assert "outside" in parse_reply(system).failure
