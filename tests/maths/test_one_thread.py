"""Questions and fits use one thread for linear algebra and put back what there was."""

from __future__ import annotations

import sys

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from bayesjudge.datasets import simulate_counts
from bayesjudge.inference import Laplace, fit
from bayesjudge.inference.gate import gate_of
from bayesjudge.models.judge_error import JudgeError


def _threads() -> set[int]:
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


def test_a_fit_uses_one_thread_and_puts_back_what_there_was(monkeypatch: pytest.MonkeyPatch) -> None:
    during = []

    def noting(*given: object, **named: object) -> object:
        during.append(_threads())
        return gate_of(*given, **named)  # type: ignore[arg-type]  # passed on as they are

    monkeypatch.setattr(sys.modules["bayesjudge.inference.fit"], "gate_of", noting)
    with threadpool_limits(limits=2, user_api="blas"):
        (counts,) = simulate_counts(datasets=1, seed=1)
        fit(JudgeError(pooling="shared"), counts, engine=Laplace(draws=100))
        assert during == [{1}]
        assert _threads() == {2}
