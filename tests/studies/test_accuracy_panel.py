"""Several judges in the accuracy study: the panel first, each judge after it, on either population."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import jsonschema
import numpy as np
import pandas as pd
import pytest
from rich.console import Console

import bayesjudge as bj
from bayesjudge.counts import count_verdicts
from bayesjudge.datasets import simulate_verdicts
from bayesjudge.errors import UsageError
from bayesjudge.models.judge_panel import JudgePanel
from bayesjudge.options import AccuracyOptions
from bayesjudge.plots import error_correlation_matrix
from bayesjudge.report import json_schema
from bayesjudge.report.accuracy.headline import PANEL, headline
from bayesjudge.report.comparison import Comparison
from bayesjudge.studies.accuracy.guidance import warnings_of
from bayesjudge.studies.accuracy.study import _votes
from bayesjudge.tables import Verdicts

JUDGES = ("kind", "<b>strict</b>")
CHEAP: dict[str, Any] = {"engine": "laplace", "pooling": "shared", "draws": 300, "bootstrap": 100, "compare": False}


@pytest.fixture(scope="module")
def log() -> pd.DataFrame:
    """Two models and two judges on 120 items, 40 of them labelled."""
    return simulate_verdicts(seed=5, judges=JUDGES, youden=0.6, labelled=40, unlabelled=80).verdicts.frame


def rows_of(answer: Comparison, judge: str) -> pd.DataFrame:
    return answer.estimates.where(judge=judge).frame


def test_counts_have_no_votes_side_by_side(log: pd.DataFrame) -> None:
    counts = count_verdicts(Verdicts.from_frame(log))
    assert _votes(counts, counts, JUDGES, AccuracyOptions()) is None
    with pytest.raises(UsageError, match="give verdicts, not counts"):
        _votes(counts, counts, JUDGES, AccuracyOptions(panel=True))


def test_a_panel_needs_two_judges_and_a_label_unless_asked_for(log: pd.DataFrame) -> None:
    def judges_of(frame: pd.DataFrame, panel: bool | None) -> tuple[str, ...] | None:
        table = Verdicts.from_frame(frame)
        options = AccuracyOptions(panel=panel)
        votes = _votes(table, count_verdicts(table), sorted(set(frame["judge"])), options)
        return None if votes is None else votes.judges

    assert judges_of(log, None) == tuple(sorted(JUDGES))
    assert judges_of(log, False) is None
    assert judges_of(log.assign(label=np.nan), None) is None
    alone = log[log["judge"] == "kind"]
    assert judges_of(alone, None) is None
    assert judges_of(alone, True) == ("kind",)


def test_an_unknown_population_is_refused_before_anything_is_read() -> None:
    with pytest.raises(UsageError, match="superpopulation, items"):
        bj.accuracy("no such file.csv", population="everyone")  # type: ignore[arg-type]


def test_the_matrix_of_correlations_refuses_an_empty_table() -> None:
    with pytest.raises(UsageError, match="columns unit and point"):
        error_correlation_matrix(pd.DataFrame())


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::bayesjudge.inference.LaplaceFallbackWarning")
def test_of_one_model_no_judge_puts_it_first_and_a_message_comes_once(log: pd.DataFrame) -> None:
    table = replace(Verdicts.from_frame(log[log["model"] == "a"]), warnings=("of the table",))
    answer = bj.accuracy(table, **CHEAP)
    assert PANEL in set(answer.estimates.frame["judge"])
    assert answer.warnings.count("of the table") == 1
    assert "first" not in " ".join(headline(answer))


def test_a_warning_of_some_judges_names_them_in_one_line() -> None:
    """Of five real judges on ten models, the same three lines stood once for each of four of them."""
    frame = simulate_verdicts(seed=5, judges=("x", "y", "z"), youden=0.6, labelled=12, unlabelled=20).verdicts.frame
    missing = (frame["judge"] == "z") & (frame["item"] == frame.loc[frame["label"].notna(), "item"].iloc[0])
    counts = count_verdicts(Verdicts.from_frame(frame[~missing]))
    nothing = bj.Estimates.from_rows([])
    tested = {"selection": pd.DataFrame(columns=["judge"])}
    said = warnings_of(counts, nothing, nothing, tested, counts.judges, panel=True)
    few = [text for text in said if "fewer than 30" in text]
    assert [text.split(":")[0] for text in few] == ["judges x, y", "judge z"]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::bayesjudge.inference.LaplaceFallbackWarning")
def test_the_panel_comes_first_and_every_judge_after_it(log: pd.DataFrame) -> None:
    answer = bj.accuracy(log, population="items", **CHEAP)
    jsonschema.validate(json.loads(answer.to_json()), json_schema())
    assert list(dict.fromkeys(answer.estimates.frame["judge"])) == [PANEL, *sorted(JUDGES)]
    assert set(answer.estimates.frame["estimand"]) == {"accuracy (these items)", "difference (these items)"}
    panel = rows_of(answer, PANEL)
    assert {"bayes:judge_panel", "ppi++[best-judge]", "ppi++[multi-proxy]", "eif[panel-logit]"} <= set(panel["method"])
    assert answer.ranks["judge"].iloc[0] == PANEL
    assert set(answer.checks["judges"]["judge"]) == set(JUDGES)
    pairs = answer.diagnostics.where(estimand="error_correlation").frame
    assert pairs["unit"].tolist() == [" ~ ".join(sorted(JUDGES))]
    agreement = answer.diagnostics.where(estimand="agreement").frame
    assert agreement["unit"].tolist() == ["panel", *sorted(JUDGES)]
    beats = answer.diagnostics.where(estimand="panel beats best judge").frame["point"].iloc[0]
    assert 0 <= beats <= 1
    planned = answer.checks["next_labels"]
    labelled = set(log.loc[log["label"].notna(), "item"])
    assert not labelled & set(planned["item"])
    assert planned["label_probability"].between(0, 1).all()
    assert any("exactly these items" in text for _, _, text in answer.checklist)
    assert not any("analysed on its own" in text for text in answer.warnings)
    console = Console(width=120, record=True, quiet=True)
    for part in answer.screen(120):
        console.print(part)
    page = answer.page()
    assert "The panel of judges" in [section.title for section in page.sections]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::bayesjudge.inference.LaplaceFallbackWarning")
def test_names_of_judges_are_escaped_and_the_panel_can_be_left_out(log: pd.DataFrame, tmp_path: Any) -> None:
    answer = bj.accuracy(log, panel=False, **CHEAP)
    assert PANEL not in set(answer.estimates.frame["judge"])
    assert any("analysed on its own" in text for text in answer.warnings)
    with_panel = bj.accuracy(log, judges=["<b>strict</b>"], panel=True, **CHEAP)
    assert set(rows_of(with_panel, PANEL)["method"])
    assert "<b>strict" not in with_panel.to_html(tmp_path / "page.html").read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::bayesjudge.inference.LaplaceFallbackWarning")
def test_another_panel_answers_beside_the_own_or_in_its_place(log: pd.DataFrame) -> None:
    """Three people mark the labelled answers; one panel takes their majority, one their marks."""
    labelled = log[log["label"].notna()].drop_duplicates(["item", "model"])
    rng = np.random.default_rng(0)
    marks = pd.concat([labelled[["item", "model", "label"]].assign(annotator=name) for name in "pqr"])
    marks["label"] = np.where(rng.random(len(marks)) < 0.2, 1 - marks["label"], marks["label"])
    table = Verdicts.from_frame(log.drop(columns="label"), labels=marks)
    independent = "judge_panel[annotators=independent]"
    both = rows_of(bj.accuracy(table, models=["default", independent], **CHEAP), PANEL)
    accuracies = both[both["estimand"] == "accuracy"].groupby("method", sort=False)["unit"].nunique()
    assert accuracies.index[:2].tolist() == ["bayes:judge_panel", "bayes:judge_panel[independent]"]
    assert (accuracies == 2).all()
    alone = rows_of(bj.accuracy(table, models=[independent], **CHEAP), PANEL)
    assert "bayes:judge_panel[independent]" in set(alone["method"])
    assert "bayes:judge_panel" not in set(alone["method"])
    with pytest.raises(UsageError, match="two models have the label 'bayes:judge_panel'"):
        bj.accuracy(table, models=["default", JudgePanel()], **CHEAP)
