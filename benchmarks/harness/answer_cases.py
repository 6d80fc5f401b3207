"""The cases of `answers.py`: all questions on simulated and real logs, all densities, all baselines."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import bayesjudge as bj
from bayesjudge.counts.panel import panel_votes
from bayesjudge.counts.scores import count_scores
from bayesjudge.counts.trials import count_trials
from bayesjudge.datasets import (
    BattleDesign,
    simulate_battles,
    simulate_pairs,
    simulate_scores,
    simulate_trials,
    simulate_verdicts,
)
from bayesjudge.datasets.small import KIND_OF_MODEL, small_table
from bayesjudge.estimates import Estimates
from harness.real_slices import DATA, arena, graded, pairs, scores, trials, triviaqa

__all__ = ["cases"]

#: Terminal widths at which an answer is printed.
WIDTHS = (80, 120)
QUICK: Mapping[str, Any] = {"engine": "laplace", "draws": 200, "bootstrap": 200}
SHORT: Mapping[str, Any] = {"draws": 100, "tune": 100, "chains": 2, "bootstrap": 100}
AUDIT: Mapping[str, Any] = {"engine": "laplace", "draws": 200}


def cases(data: Path = DATA) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Name of each case and what computes its JSON-ready value; real logs only where there are any."""
    yield from _questions()
    if data.is_dir():
        yield from _real_questions(data)
    for name in KIND_OF_MODEL:
        yield f"density-{name}", partial(_density, name)
    yield from _baselines(data)


def _questions() -> Iterator[tuple[str, Callable[[], Any]]]:
    two, four = ("a", "b"), ("a", "b", "c", "d")
    log = partial(simulate_verdicts, seed=3, labelled=60, unlabelled=90, youden=0.5)
    yield "accuracy-two", _answer(bj.accuracy, lambda: log(models=two, accuracy=(0.7, 0.6)).verdicts, **QUICK)
    yield (
        "accuracy-four",
        _answer(bj.accuracy, lambda: log(models=four, accuracy=(0.7, 0.6, 0.65, 0.5)).verdicts, **QUICK),
    )
    yield (
        "accuracy-nuts",
        _answer(bj.accuracy, lambda: log(models=two, accuracy=(0.7, 0.6)).verdicts, engine="nuts", **SHORT),
    )
    world = BattleDesign(battles=300, graded=True, both_orders=True)
    battles = partial(simulate_battles, seed=2, design=world)
    yield "elo-scores", _answer(bj.elo, lambda: battles().battles, **QUICK)
    yield "elo-hmc", _answer(bj.elo, lambda: battles().battles, engine="hmc", **SHORT)
    yield (
        "reliability-trials",
        _answer(bj.reliability, lambda: simulate_trials(seed=4, items=12, trials=4).trials, **QUICK),
    )
    yield (
        "reliability-scores",
        _answer(bj.reliability, lambda: simulate_scores(seed=4, responses=12, trials=3).scores, **QUICK),
    )
    made = partial(simulate_pairs, seed=5, n=60, verified=50, dimensions=4)
    yield "audit-simulated", _answer(bj.audit, lambda: made().pairs, **AUDIT)


def _real_questions(data: Path) -> Iterator[tuple[str, Callable[[], Any]]]:
    few = partial(triviaqa, data, models=4, items=400, labelled=40)
    yield "accuracy-triviaqa", _answer(bj.accuracy, lambda: few(judges=1), **QUICK)
    yield "accuracy-triviaqa-judges", _answer(bj.accuracy, lambda: few(judges=3), **QUICK)
    votes = partial(_first_battles, data, 1000)
    yield "elo-arena", _answer(bj.elo, votes, **QUICK)
    yield "elo-held-out", _answer(bj.elo, votes, held_out="vicuna-13b", **QUICK)
    yield "reliability-real-trials", _answer(bj.reliability, lambda: trials(data, items=12), **QUICK)
    yield "reliability-real-scores", _answer(bj.reliability, lambda: scores(data, responses=12), **QUICK)
    yield "audit-llmbar", _answer(bj.audit, lambda: pairs(data, verified=200), **AUDIT)


def _first_battles(data: Path, number: int) -> Any:
    """The first votes of the arena, with one judge's verdicts on the same battles."""
    table = arena(data, models=20, judges=("claude-3-opus-20240229",))
    return type(table).from_frame(table.frame.iloc[:number].reset_index(drop=True))


def _answer(question: Callable[..., Any], table: Callable[[], Any], **options: Any) -> Callable[[], Any]:
    def found() -> Any:
        from bayesjudge.report import render_page

        answer = question(table(), seed=1, **options)
        page = _Words()
        page.feed(render_page(answer.page()))
        terminal = {str(width): _terminal(answer, width) for width in WIDTHS}
        found = answer.to_dict()
        found["manifest"]["settings"].pop("date")
        return {"answer": found, "page": page.words, "terminal": terminal}

    return found


def _terminal(answer: Any, width: int) -> list[str]:
    from rich.console import Console

    from bayesjudge.report.terminal import show_answer

    text = io.StringIO()
    show_answer(answer, console=Console(file=text, width=width, color_system=None))
    show_answer(answer, every=True, console=Console(file=text, width=width, color_system=None))
    return text.getvalue().splitlines()


class _Words(HTMLParser):
    """Text of a page with its drawings; the manifest (``pre``) is in the answer already."""

    def __init__(self) -> None:
        super().__init__()
        self.words: list[str] = []
        self._skipped = 0

    def handle_starttag(self, tag: str, attrs: Any) -> None:  # noqa: ARG002 the base class passes it
        self._skipped += tag in {"script", "style", "pre"}

    def handle_endtag(self, tag: str) -> None:
        self._skipped -= tag in {"script", "style", "pre"}

    def handle_data(self, data: str) -> None:
        if data.strip() and not self._skipped:
            self.words.append(" ".join(data.split()))


def _density(name: str, points: int = 20) -> Any:
    """Log densities of a model at random unconstrained points, with NumPyro and with PyMC."""
    import twins

    model = bj.find_model(name)()
    data = model.prepare(small_table(KIND_OF_MODEL[name]))
    at = twins.random_points(model, data, points=points)
    with_jacobian, without = twins.numpyro_log_densities(model, data, at)
    theirs = twins.pymc_log_densities(model, data, at)
    return {"numpyro": with_jacobian.tolist(), "constrained": without.tolist(), "pymc": theirs.tolist()}


def _baselines(data: Path) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Every baseline's rows on tables of three kinds: simulated, simulated with holes, real."""
    tables: dict[str, Callable[[str], Any]] = {"small": small_table, "holes": _with_holes}
    if data.is_dir():
        tables["real"] = partial(_real, data)
    for kind, make in tables.items():
        yield f"baselines-{kind}-verdicts", partial(_of_verdicts, make)
        yield f"baselines-{kind}-panel", partial(_of_panel, make)
        yield f"baselines-{kind}-battles", partial(_of_battles, make)
        yield f"baselines-{kind}-repeats", partial(_of_repeats, make)
        yield f"baselines-{kind}-pairs", partial(_of_pairs, make)


def _with_holes(kind: str) -> Any:
    """A small table without one row in seven."""
    table = small_table(kind)
    keep = np.arange(len(table)) % 7 > 0
    if kind == "pairs":
        return table.take(keep)
    return type(table).from_frame(table.frame[keep].reset_index(drop=True))


def _real(data: Path, kind: str) -> Any:
    made: dict[str, Callable[[], Any]] = {
        "verdicts": lambda: triviaqa(data, models=4, judges=1, items=400, labelled=40),
        "panel": lambda: triviaqa(data, models=3, judges=3, items=100, labelled=40),
        "judged battles": lambda: _first_battles(data, 1000),
        "graded battles": lambda: graded(data),
        "trials": lambda: trials(data, items=12),
        "scores": lambda: scores(data, responses=12),
        "pairs": lambda: pairs(data, verified=200),
    }
    return made[kind]()


def _of_verdicts(make: Callable[[str], Any]) -> Any:
    from bayesjudge.baselines import accuracy_baselines, judge_quality

    counts = bj.count_verdicts(make("verdicts"))
    judge, options = counts.judges[0], {"bootstrap": 200, "seed": 1}
    rows = {
        population: accuracy_baselines(counts, judge, population=population, **options)
        for population in ("superpopulation", "items")
    }
    return _records(**rows, quality=judge_quality(counts, judge, **options))


def _of_panel(make: Callable[[str], Any]) -> Any:
    from bayesjudge.baselines import panel

    votes, methods = panel_votes(make("panel")), [*panel.PANEL_METHODS, *panel.LABEL_FREE_METHODS]
    rows = panel.panel_baselines(votes, methods=methods, bootstrap=100, seed=1)
    errors, choice = panel.error_correlations(votes), panel.choose_judge(votes, bootstrap=100, seed=1)
    return _records(rows=rows, errors=errors, drop_one=panel.drop_one(votes), choice=choice)


def _of_battles(make: Callable[[str], Any]) -> Any:
    """By verdicts, and by scores where a judge gives them."""
    by_verdicts = _elo(make("judged battles"), "hard-elo")
    return {"verdicts": by_verdicts, "scores": _elo(make("graded battles"), "soft-elo")}


def _elo(battles: Any, method: Any) -> Any:
    from bayesjudge.baselines.elo import conformal, elo_baselines, held_out, judge_diagnostics

    counts = bj.count_battles(battles)
    judge = counts.judges[0]
    found = _records(
        rows=elo_baselines(counts, bootstrap=100, seed=1),
        diagnostics=judge_diagnostics(counts, judge, bootstrap=100, seed=1),
    )
    if len(counts.models) < 4:  # leaving one out needs four
        return found
    held = held_out(counts, judge, method=method)
    return {**found, "held_out": _plain(held), "conformal": _plain(conformal(held, seed=1))}


def _of_repeats(make: Callable[[str], Any]) -> Any:
    from bayesjudge.baselines.reliability import score_baselines, trial_baselines

    trial = trial_baselines(count_trials(make("trials")), bootstrap=200, seed=1)
    score = score_baselines(count_scores(make("scores")), bootstrap=200, seed=1)
    return {"trials": _plain(trial), "scores": _plain(score)}


def _of_pairs(make: Callable[[str], Any]) -> Any:
    from bayesjudge.baselines import audit

    table = make("pairs")
    methods = (
        audit.flip_nothing,
        audit.nearest_neighbours,
        partial(audit.flip_random, seed=1),
        audit.centroid,
        audit.partial_ot,
    )
    return {found.method: _plain(found) for found in (method(table) for method in methods)}


def _records(**rows: Any) -> dict[str, Any]:
    return {name: _plain(part) for name, part in rows.items()}


def _plain(value: Any) -> Any:
    """Frozen results, tables and arrays as JSON-ready values."""
    if isinstance(value, Estimates):
        return value.to_records()
    if isinstance(value, pd.DataFrame):
        return Estimates.records_of(value)
    if hasattr(value, "__dataclass_fields__"):
        return {name: _plain(getattr(value, name)) for name in value.__dataclass_fields__}
    if isinstance(value, Mapping):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    return [_plain(part) for part in value] if isinstance(value, list | tuple) else value
