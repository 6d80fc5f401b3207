"""What a judge model replied: scores by criterion for both answers, as JSON somewhere in its text.

The rubric is that of the Soft-Elo paper (appendix A): six criteria from 1 to 10 for each of two answers.
Judges wrap the JSON in a fence, put prose around it, or forget the fence; all of that is read. Numbers are
not mended: a reply with a score that is missing, no number or off the scale fails, with the reason.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import pandas as pd

from bayesjudge.errors import UsageError
from bayesjudge.tables.words import OUTCOMES, code_outcome

#: The rubric, in the order of the paper.
CRITERIA = ("adherence", "helpfulness", "factuality", "completeness", "clarity", "fluency")
LOWEST, HIGHEST = 1.0, 10.0

_FENCE = re.compile(r"```[ \t]*(?:json)?[ \t]*\n?(.*?)```", re.DOTALL | re.IGNORECASE)
_NAMES = {
    "a": ("a", "completion_a", "answer_a", "response_a", "model_a", "assistant_a", "scores_a"),
    "b": ("b", "completion_b", "answer_b", "response_b", "model_b", "assistant_b", "scores_b"),
}
_PREFERENCE = ("preference", "overall_preference", "preferred", "winner", "verdict")


@dataclass(frozen=True, kw_only=True)
class Reply:
    """One reply read.

    scores_a, scores_b: Score of each criterion for the answer shown as A and the one shown as B; empty where it failed.
    preference: 1 the judge says that A is better, 0 that B is, .5 neither; None where it does not say.
    failure: Why the reply cannot be used; empty where it can.
    """

    scores_a: Mapping[str, float]
    scores_b: Mapping[str, float]
    preference: float | None = None
    failure: str = ""

    @property
    def gap(self) -> float:
        """Mean score of A minus mean score of B; NaN where the reply failed or has no scores."""
        if self.failure or not self.scores_a:
            return float("nan")
        return sum(self.scores_a[name] - self.scores_b[name] for name in self.scores_a) / len(self.scores_a)


def parse_reply(text: str, *, criteria: Iterable[str] = CRITERIA) -> Reply:
    """Read one reply.

    criteria: Criteria that both answers must have, each from 1 to 10; others are ignored. Without any, the reply must
        state a preference.
    """
    names = tuple(criteria)
    objects = list(_objects(text))
    if not objects:
        return _failed("no JSON object")
    chosen = [value for value in objects if _has_both(value) or (not names and _preference(value) is not None)]
    if not chosen:
        return _failed("JSON without scores for both answers" if names else "JSON without a preference")
    if len(chosen) > 1 and any(value != chosen[0] for value in chosen[1:]):
        return _failed("several different JSON objects with scores")
    sides = [_scores(_side(chosen[0], side), names) for side in "ab"]
    wrong = [side for side in sides if isinstance(side, str)]
    if wrong:
        return _failed(wrong[0])
    a, b = (side for side in sides if not isinstance(side, str))
    return Reply(scores_a=a, scores_b=b, preference=_preference(chosen[0]))


#: What represents the three texts in a prompt.
PLACES: tuple[str, ...] = ("{instruction}", "{answer_a}", "{answer_b}")


@cache
def rubric() -> str:
    """The prompt of this package: six criteria and a preference, see `CRITERIA`."""
    return (files("bayesjudge.readers") / "judge_prompt.md").read_text(encoding="utf-8")


def judge_prompt(*, instruction: str, answer_a: str, answer_b: str, prompt: str | None = None) -> tuple[str, str]:
    """System and user prompt that ask a judge for the JSON that `parse_reply` reads.

    The three texts are put in as they are; braces in them mean nothing. Of a prompt that is given instead of
    `rubric`, what stands before the first line ``---`` is the system prompt; without such a line there is none.
    """
    system, line, user = (prompt or rubric()).partition("\n---\n")
    given = {PLACES[0]: instruction, PLACES[1]: answer_a, PLACES[2]: answer_b}
    # All at once: an answer may itself hold the words "{answer_b}".
    filled = re.sub("|".join(map(re.escape, given)), lambda found: given[found[0]], user if line else system)
    return (system.strip() if line else ""), filled.strip()


def prompt_criteria(prompt: str) -> tuple[str, ...]:
    """The criteria of the JSON that a prompt shows as the form of a reply; none where it asks for a preference alone.

    Examples
    --------
    >>> prompt_criteria(rubric()) == CRITERIA
    True
    >>> prompt_criteria('{instruction} {answer_a} {answer_b} Reply with {"preference": "A, B or tie"}')
    ()
    """
    if lost := [place for place in PLACES if place not in prompt]:
        raise UsageError(f"the prompt has no {' and no '.join(lost)}; write each where that text is to stand")
    shown = list(_objects(prompt))
    for value in shown:
        a, b = _side(value, "a"), _side(value, "b")
        if a is not None and b is not None:
            return tuple(str(name).strip().casefold() for name in a if name in b)
    if any(str(key).casefold() in _PREFERENCE for value in shown for key in value):
        return ()
    raise UsageError(
        'the prompt shows no form of the reply; write it as JSON: {"A": {"clarity": 0}, "B": {"clarity": 0}, '
        '"preference": "A, B or tie"}, or {"preference": "A, B or tie"} alone'
    )


def _objects(text: str) -> Iterator[dict[str, Any]]:
    """Every JSON object of the fenced parts or, where they hold none, of the whole text."""
    fenced = [value for part in _FENCE.findall(text) for value in _scan(part)]
    yield from fenced or _scan(text)


def _scan(text: str) -> Iterator[dict[str, Any]]:
    decoder = json.JSONDecoder(parse_constant=lambda name: name, object_pairs_hook=_once)
    place = text.find("{")
    while place >= 0:
        try:
            value, end = decoder.raw_decode(text, place)
        except (ValueError, RecursionError):
            end = place + 1
        else:
            if isinstance(value, dict):
                yield value
        place = text.find("{", end)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Keys given twice are no scores, since nobody knows which one was meant."""
    found = dict(pairs)
    repeated = {key for key, _ in pairs if [name for name, _ in pairs].count(key) > 1}
    return found | dict.fromkeys(repeated, "given twice")


def _has_both(value: Mapping[str, Any]) -> bool:
    return _side(value, "a") is not None and _side(value, "b") is not None


def _side(value: Mapping[str, Any], side: str) -> Mapping[str, Any] | None:
    """One answer's scores, at the top or under ``scores``."""
    inner = value.get("scores")
    for level in (value, inner if isinstance(inner, Mapping) else {}):
        for key, scores in level.items():
            if "_".join(str(key).casefold().split()) in _NAMES[side] and isinstance(scores, Mapping):
                return scores
    return None


def _scores(scores: Mapping[str, Any] | None, criteria: tuple[str, ...]) -> dict[str, float] | str:
    """Scores of the criteria, or why they cannot be used."""
    folded = {str(key).strip().casefold(): value for key, value in (scores or {}).items()}
    missing = [name for name in criteria if name not in folded]
    if missing:
        return f"no score for {missing[0]}"
    for name in criteria:
        value = folded[name]
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return f"a score for {name} that is no number"
        if not LOWEST <= value <= HIGHEST:
            return f"a score for {name} outside {LOWEST:g} to {HIGHEST:g}"
    return {name: float(folded[name]) for name in criteria}


def _preference(value: Mapping[str, Any]) -> float | None:
    for key, said in value.items():
        if str(key).casefold() in _PREFERENCE and isinstance(said, str):
            code = int(code_outcome(pd.Series([said]))[0])
            return {"a": 1.0, "b": 0.0, "tie": 0.5}[OUTCOMES[code]] if code >= 0 else None
    return None


def _failed(reason: str) -> Reply:
    return Reply(scores_a={}, scores_b={}, failure=reason)
