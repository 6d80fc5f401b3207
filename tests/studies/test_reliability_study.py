"""The reliability question from table to page, on simulated comparisons and scores whose truth is known."""

from __future__ import annotations

import io
import json
import sys
import warnings
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jsonschema
import numpy as np
import pandas as pd
import pytest
from rich.console import Console
from rich.table import Table
from statsmodels.stats.inter_rater import cohens_kappa
from typer.testing import CliRunner

import bayesjudge as bj
from bayesjudge import cli
from bayesjudge.baselines.reliability import trial_baselines
from bayesjudge.counts.scores import count_scores
from bayesjudge.counts.trials import count_trials
from bayesjudge.estimates import Estimates
from bayesjudge.options import ReliabilityOptions
from bayesjudge.readers import read_repeats, read_trials
from bayesjudge.report import json_schema
from bayesjudge.report.reliability.headline import headline, plan_sentences
from bayesjudge.report.reliability.terminal import reliability_screen
from bayesjudge.report.terminal import show_answer
from bayesjudge.studies.reliability import reliability
from bayesjudge.studies.reliability.guidance import _one_order
from bayesjudge.studies.reliability.tables import arranged

#: Of the simulated judges: P(first wins) − P(second wins) where no response is better.
FIRST = {"x": 0.0, "y": 0.4}


def comparisons(items: int = 16, trials: int = 8) -> pd.DataFrame:
    """Two judges, both orders, two categories: judge y leans to the response shown first."""
    rng = np.random.default_rng(3)
    better = rng.uniform(-0.9, 0.9, size=items)
    rows = []
    for judge, lean in FIRST.items():
        for item, gap in enumerate(better):
            for order, sign in (("ab", 1), ("ba", -1)):
                p = np.clip(0.5 + gap / 2 + sign * lean / 2, 0.02, 0.98)
                a = rng.binomial(trials, p)
                rows.append((f"q{item}", judge, order, "math" if item % 2 else "code", a, trials - a))
    return pd.DataFrame(rows, columns=["item", "judge", "order", "category", "n_a", "n_b"])


def scores(items: int = 16) -> pd.DataFrame:
    rng = np.random.default_rng(4)
    rows = []
    for judge in FIRST:
        for item in range(items):
            for response in "ab":
                drawn = np.clip(rng.integers(4, 9) + rng.integers(-1, 2, size=4), 1, 10)
                rows += [(f"q{item}", judge, response, trial, score) for trial, score in enumerate(drawn)]
    return pd.DataFrame(rows, columns=["item", "judge", "response", "trial", "score"])


@pytest.fixture(scope="module")
def answer() -> bj.Comparison:
    return reliability(comparisons(), scores(), draws=300, chains=2, bootstrap=500)


def rows_of(found: Estimates, **where: Any) -> pd.DataFrame:
    return found.where(**where).frame


@pytest.mark.slow
def test_both_methods_stand_side_by_side(answer: bj.Comparison) -> None:
    for judge in FIRST:
        both = rows_of(answer.estimates, estimand="flip_rate", unit=judge)
        assert both["method"].tolist() == ["bayes:repeated_trials", "beta-binomial"]
        assert both["lower"].max() < both["upper"].min()
        # The observed rate of 16 trials is within what the model predicts for them.
        again, observed = rows_of(answer.estimates, estimand="flip_rate[N=16]", unit=judge).to_dict("records")
        assert observed["method"] == "bootstrap"
        assert again["lower"] <= observed["point"] <= again["upper"]
        both = rows_of(answer.estimates, estimand="icc", unit=judge)
        assert both["method"].tolist() == ["bayes:pointwise_scores[gaussian]", "anova", "jackknife"]
        assert both["lower"].max() < both["upper"].min()
    assert {"score_margin", "score_gap"} <= set(answer.estimates.frame["estimand"])
    assert answer.question == "reliability"


@pytest.mark.slow
def test_position_bias_is_recovered(answer: bj.Comparison) -> None:
    for judge, lean in FIRST.items():
        row = rows_of(answer.diagnostics, estimand="position_effect", unit=judge).iloc[0]
        assert row["method"] == "bayes:repeated_trials"
        # Clipping at the ends takes a little off the lean of .4; the interval has room for that.
        assert row["lower"] - 0.03 < lean < row["upper"] + 0.06


@pytest.mark.slow
def test_the_answer_has_its_tables(answer: bj.Comparison) -> None:
    expected = {"items", "curves", "minimum", "tiers", "plan", "tests", "gaps", "score_variance"}
    assert expected <= set(answer.checks)
    assert set(answer.checks["curves"]["method"]) == {"bayes:repeated_trials", "exact"}
    assert len(answer.checks["items"]) == 32
    assert answer.checks["gaps"]["flip_rate"].notna().all()
    plan = answer.checks["plan"]
    assert (plan.groupby("judge")["extra"].sum() <= 5 * 16).all()
    assert (plan["wrong_after"] <= plan["wrong"] + 1e-9).all()


@pytest.mark.slow
def test_the_answer_obeys_the_schema(answer: bj.Comparison) -> None:
    jsonschema.validate(json.loads(answer.to_json()), json_schema())


@pytest.mark.slow
def test_the_page_and_the_screen_hold_the_answer(
    answer: bj.Comparison, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = answer.to_html(tmp_path / "page.html").read_text(encoding="utf-8")
    for title in ("Stability", "Position", "How many trials", "Where to ask again", "Scores", "Judges and layers"):
        assert f">{title}<" in page
    show_answer(answer)
    shown = capsys.readouterr().out
    assert "Flip rate" in shown
    assert "ICC of one score" in shown
    assert "jackknife" in shown
    # A plan by a posterior that did not converge is not shown, whichever these few draws are.
    for passed in (True, False):
        show_answer(replace(answer, gate=replace(answer.gate, passed=passed)))
        assert ("Where to ask again" in capsys.readouterr().out) == passed
    show_answer(answer, every=True)
    assert "minimum trials[95%]" in capsys.readouterr().out.lower().replace("\n", "")


@pytest.mark.slow
@pytest.mark.parametrize("width", [60, 80, 110, 200])
def test_every_judge_is_named_however_narrow_the_screen(answer: bj.Comparison, width: int) -> None:
    """Columns of figures are left out, the last first, rather than the names or a part of a figure."""
    tables = [one for one in reliability_screen(answer, width) if isinstance(one, Table)]
    console = Console(width=width, file=io.StringIO(), record=True)
    console.print(tables[0])
    lines = console.export_text().splitlines()
    assert [line.split()[0] for line in lines if "[" in line] == list(FIRST)
    assert max(map(len, lines)) <= width
    assert ("observed" in "".join(lines)) is (width == 200)
    assert "…" not in "".join(lines)


@pytest.mark.slow
def test_checklist_says_what_the_data_allow(answer: bj.Comparison) -> None:
    status = {item: state for item, state, _ in answer.checklist}
    assert status["Repeated trials"] == "warn"
    assert status["Order of presentation"] == "yes"
    assert status["Comparisons and scores"] == "yes"
    assert status["Panel of judges"] == "yes"
    assert status["Prompt and temperature"] == "warn"


@pytest.mark.slow
def test_a_judge_that_never_repeated_a_comparison_is_named() -> None:
    frame = comparisons(items=6)
    x, first = frame["judge"] == "x", (frame["n_a"] > frame["n_b"]).astype(int)
    once = frame.assign(n_a=frame["n_a"].mask(x, first), n_b=frame["n_b"].mask(x, 1 - first))
    found = reliability(once, draws=100, chains=2, bootstrap=100).warnings
    assert any(text.startswith("no comparison of x was repeated in the same order") for text in found)


@pytest.mark.slow
def test_letters_that_turn_with_the_order_are_asked_about(tmp_path: Path) -> None:
    """A consistent judge of 30 pairs, whose letters are of places, was given as flipping half of the time."""
    said_in = [("tie", "tie"), ("A", "B"), ("B", "A")]
    rows = [(f"q{k}", *cell) for k in range(30) for cell in zip(("ab", "ba"), said_in[k % 3], strict=True)]
    frame = pd.DataFrame(rows, columns=["item", "order", "said"])
    path = tmp_path / "log.csv"
    frame.assign(judge="x").to_csv(path, index=False)
    options: Any = {"draws": 100, "chains": 2, "bootstrap": 100}
    taken, _ = read_repeats(path, columns={"outcome": "said"})
    (said,) = [text for text in reliability(taken, **options).warnings if "verdicts turn with the order" in text]
    assert said.startswith("x: verdicts turn with the order on 20 of 20 items judged in both orders")
    assert "--wide shown:order=COLUMN in place of --column outcome=COLUMN" in said
    apart = frame.pivot_table(index="item", columns="order", values="said", aggfunc="first").reset_index()
    both, _ = read_repeats(apart, wide="verdict:order=ab,ba")
    (said,) = [text for text in reliability(both, **options).warnings if "verdicts turn with the order" in text]
    assert said.endswith("or shown in place of verdict in --wide verdict:order=ONE,TWO")
    both, _ = read_repeats(apart, wide="shown:order=ab,ba")
    assert not [text for text in reliability(both, **options).warnings if "turn with the order" in text]
    places, _ = read_repeats(path, wide="shown:order=said")
    assert not [text for text in reliability(places, **options).warnings if "turn with the order" in text]


@pytest.mark.slow
def test_where_one_order_was_shown_nothing_is_said_of_both() -> None:
    frame = comparisons(items=8, trials=6)
    shown = frame[(frame["judge"] == "x") & (frame["order"] == "ab")]
    found = reliability(shown, draws=600, bootstrap=100)
    (said,) = [text for text in found.warnings if text.startswith("each item was shown to x in one order alone")]
    assert "flip rates are of that order" in said
    first = headline(found)
    assert "lie outside the majority in the one order that was shown" in first[0]
    assert "both orders" not in " ".join(first)
    assert any("To find an item's majority in the one order that was shown" in text for text in first)
    both = reliability(frame[frame["judge"] == "x"], draws=100, chains=2, bootstrap=100)
    assert "over both orders" in " ".join(headline(both))
    assert not [text for text in both.warnings if "one order alone" in text]
    # A judge whose verdicts are alike in both orders has an effect of 0, and was shown both.
    alike = pd.concat([frame.assign(order=order, n_a=6, n_b=0) for order in ("ab", "ba")])
    for shown, said in ((alike, False), (alike[alike["order"] == "ab"], True)):
        counts = count_trials(bj.Trials.from_frame(shown.drop_duplicates(["item", "judge", "order"])))
        pair: Any = SimpleNamespace(counts=counts, baseline=trial_baselines(counts, bootstrap=0))
        assert bool(_one_order(pair)) is said


@pytest.mark.slow
def test_agreement_on_single_answers_is_the_textbooks_kappa() -> None:
    """Two judges that pass 1 answer of 10, now and then the same one: passing and failing are not exchangeable."""
    rng = np.random.default_rng(1)
    said = {judge: np.repeat(rng.random(200) < 0.1, 2) * 1 for judge in "xy"}
    item, trial = np.repeat(np.arange(200), 2), np.tile([0, 1], 200)
    frame = pd.concat(
        [pd.DataFrame({"item": item, "judge": judge, "trial": trial, "verdict": v}) for judge, v in said.items()]
    )
    found = reliability(frame, draws=100, chains=2, bootstrap=200)
    row = found.diagnostics.where(estimand="kappa").frame.iloc[0]
    assert row["point"] == pytest.approx(cohens_kappa(pd.crosstab(said["x"], said["y"]).to_numpy()).kappa)
    assert row["point"] < 0.3
    assert row["note"] == ""
    assert not [text for text in found.warnings if "order of presentation" in text]
    assert ("Order of presentation", "yes") in {one[:2] for one in found.checklist}
    assert any("verdicts are 0 and 1" in text for text in found.warnings)


@pytest.mark.slow
def test_the_command_says_what_is_not_identified_without_an_order(tmp_path: Path) -> None:
    log, frame = tmp_path / "log.csv", comparisons(items=6, trials=4)
    frame[frame["judge"] == "x"].drop(columns=["judge", "order", "category"]).to_csv(log, index=False)
    done = CliRunner().invoke(
        cli.app, ["reliability", str(log), "--json", "--draws", "100", "--chains", "2", "--bootstrap", "100", "--quiet"]
    )
    assert done.exit_code == 0, done.output
    assert any("not identified" in text for text in json.loads(done.stdout)["warnings"])


@pytest.mark.slow
def test_the_command_gives_the_same_answer_and_writes_a_page(answer: bj.Comparison, tmp_path: Path) -> None:
    compared, scored, page = (tmp_path / name for name in ("log.csv", "scores.csv", "page.html"))
    comparisons().to_csv(compared, index=False)
    scores().to_csv(scored, index=False)
    done = CliRunner().invoke(
        cli.app,
        [
            "reliability",
            str(compared),
            "--scores",
            str(scored),
            "--json",
            "--html",
            str(page),
            "--draws",
            "300",
            "--chains",
            "2",
            "--bootstrap",
            "500",
            "--quiet",
            "--strict",
        ],
    )
    # Three hundred draws cannot pass the gate: --strict says so, and the answer is printed all the same.
    assert not answer.gate.passed
    assert done.exit_code == 3, done.output
    found = json.loads(done.stdout)
    jsonschema.validate(found, json_schema())
    here = json.loads(answer.to_json())["estimates"]
    # A note says what to type, which differs between the two.
    assert [{**row, "note": ""} for row in found["estimates"]] == [{**row, "note": ""} for row in here]
    assert all("--draws " in reason and "draws=" not in reason for reason in found["gate"]["reasons"])
    assert found["manifest"]["settings"]["command"].startswith("bayesjudge reliability ")
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")


def test_one_table_may_hold_verdicts_and_scores() -> None:
    frame = pd.DataFrame({"item": ["p", "q"], "winner": ["a", "tie"], "score_a": [8, 7], "score_b": [6, 7]})
    trials, found = read_repeats(frame)
    assert trials is not None
    assert found is not None
    assert trials.frame["outcome"].tolist() == ["a", "tie"]
    assert sorted(found.frame["score"]) == [6.0, 7.0, 7.0, 8.0]
    only, none = read_repeats(frame[["item", "winner"]])
    assert only is not None
    assert none is None


def test_two_tables_share_one_mapping() -> None:
    compared = pd.DataFrame({"q": ["p"], "won": ["b"]})
    scored = pd.DataFrame({"q": ["p"], "stars": [3]})
    trials, found = read_repeats(compared, scores=scored, columns={"item": "q", "outcome": "won", "score": "stars"})
    assert trials is not None
    assert found is not None
    assert (trials.frame["outcome"].tolist(), found.frame["score"].tolist()) == (["b"], [3.0])


def test_a_table_of_neither_is_refused() -> None:
    with pytest.raises(bj.InputError, match="neither outcomes nor scores"):
        read_repeats(pd.DataFrame({"item": ["p"], "length": [3]}))
    with pytest.raises(bj.UsageError, match="trials= "):
        reliability()


def test_comparisons_must_be_repeated() -> None:
    once = pd.DataFrame({"item": ["p", "q", "p"], "judge": ["x", "x", "y"], "winner": ["a", "b", "a"]})
    with pytest.raises(bj.InputError, match="no item that one judge judged twice"):
        reliability(once)


def test_many_cells_are_said_to_take_long(monkeypatch: pytest.MonkeyPatch) -> None:
    study = sys.modules["bayesjudge.studies.reliability.study"]
    monkeypatch.setattr(study, "MANY_CELLS", 1)
    monkeypatch.setattr(study, "run_fits", lambda *_, **__: pytest.fail("sampled before it said so"))
    rows = comparisons(items=2)
    # Without ties effects are integrated out, which takes as long for many items as for few.
    with warnings.catch_warnings(record=True) as given, pytest.raises(pytest.fail.Exception):
        reliability(rows)
    assert not any("hours" in str(one.message) for one in given)
    tied = rows.assign(n_tie=(rows.index == 0).astype(int))
    with pytest.warns(UserWarning, match="cells take from minutes to hours"), pytest.raises(pytest.fail.Exception):
        reliability(tied)


def test_items_judged_once_are_left_out_where_they_would_take_long(monkeypatch: pytest.MonkeyPatch) -> None:
    once = pd.DataFrame({"item": [f"p{k}" for k in range(9)], "judge": "x", "order": "ab", "n_a": 1, "n_b": 0})
    counts = count_trials(read_trials(pd.concat([comparisons(items=3), once])))
    assert counts.grid == 2 * 12 * 2  # judges, items, orders
    kept = counts.repeated()
    assert kept.items == ("q0", "q1", "q2")
    assert kept.dropped == {"item that each judge judged once": 9}
    assert kept.repeated() is kept
    study = sys.modules["bayesjudge.studies.reliability.study"]
    monkeypatch.setattr(study, "MANY_CELLS", 47)
    monkeypatch.setattr(study, "pairwise_job", lambda compared, _: pytest.fail(f"{len(compared.items)} items"))
    with pytest.raises(pytest.fail.Exception, match="3 items"):
        reliability(counts)


def test_scores_alone_must_be_repeated() -> None:
    once = scores(items=3).drop_duplicates(["item", "judge", "response"])
    with pytest.raises(bj.UsageError, match="scored twice") as caught:
        reliability(scores=once)
    assert "--column trial=prompt" not in str(caught.value)
    # Where each prompt gave one score, prompts may be the repetitions.
    prompts = pd.concat([once.assign(prompt=name, run=0) for name in ("short", "long")])
    with pytest.raises(bj.UsageError, match=r"scored twice.*, or, .* --column trial=prompt"):
        reliability(scores=prompts)
    with pytest.raises(bj.UsageError, match="is not one of gaussian"):
        reliability(comparisons(items=2), likelihood="poisson")  # type: ignore[arg-type]  # what a user may do


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"judges": ["z"]}, "no judge 'z'"),
        ({"judges": []}, "no judge selected"),
        ({"budget": -1}, "budget"),
        ({"draws": 1}, "draws"),
    ],
)
def test_options_are_refused_before_any_sampling(options: dict[str, Any], said: str) -> None:
    with pytest.raises(bj.UsageError, match=said):
        reliability(comparisons(items=2), **options)


def test_judges_can_be_chosen_in_both_counts() -> None:
    trials = count_trials(bj.Trials.from_frame(comparisons(items=3))).for_judges(["y"])
    assert trials.judges == ("y",)
    assert len(trials.items) == 3
    assert trials.n.sum() == 3 * 2 * 8
    found = count_scores(bj.Scores.from_frame(scores(items=3)))
    alone = found.for_judges(["y"])
    assert alone.judges == ("y",)
    assert alone.cells.mean.tolist() == found.cells.mean[found.cells.judge == 1].tolist()
    assert set(alone.crossed.judge) == {0}


def test_estimates_are_arranged_by_kind_with_bayesian_rows_first() -> None:
    names = ("kappa", "icc", "flip_rate", "entropy")
    rows = [{"estimand": name, "method": method} for method in ("bootstrap", "bayes:m") for name in names]
    first, second = arranged(Estimates.from_rows(rows))
    assert first.frame["estimand"].tolist() == ["flip_rate", "flip_rate", "entropy", "entropy", "icc", "icc"]
    assert first.frame["method"].tolist()[:2] == ["bayes:m", "bootstrap"]
    assert second.frame["estimand"].unique().tolist() == ["kappa"]


def test_a_plan_is_a_sentence() -> None:
    plan = pd.DataFrame(
        {
            "judge": "x",
            "group": "",
            "item": ["p", "q"],
            "trials": 5,
            "extra": [0, 7],
            "wrong": [0.1, 0.4],
            "wrong_after": [0.1, 0.2],
            "wrong_uniform": 0.36,
        }
    )
    (sentence,) = plan_sentences(plan)
    assert sentence == (
        "x: 7 more trials on 1 of 2 items bring the expected wrong majorities from 0.50 to 0.30; "
        "spread evenly they would leave 0.36."
    )
    (nothing,) = plan_sentences(plan.assign(extra=0))
    assert "no further trial" in nothing


def test_the_budget_is_five_an_item_unless_given() -> None:
    assert ReliabilityOptions().budget_of(7) == 35
    assert ReliabilityOptions(budget=4).budget_of(7) == 4


def _twice_on_an_item(pairs: int = 60) -> tuple[pd.DataFrame, pd.DataFrame]:
    """One pair of models an item, in both orders; and a second pair that says exactly the same."""
    rng = np.random.default_rng(6)
    gap = rng.normal(scale=1.5, size=pairs)
    rows = [
        {"item": f"q{i}", "model_a": "m", "model_b": "n", "order": order, "trial": t, "outcome": "ba"[int(won)]}
        for i in range(pairs)
        for order, sign in (("ab", 1), ("ba", -1))
        for t, won in enumerate(rng.random(3) < 1 / (1 + np.exp(-gap[i] - sign * 0.5)))
    ]
    once = pd.DataFrame(rows)
    return once, pd.concat([once, once.assign(model_a="p", model_b="r")], ignore_index=True)


@pytest.mark.slow
def test_the_same_said_of_two_pairs_of_an_item_leaves_intervals_as_wide() -> None:
    once, twice = _twice_on_an_item()
    found = {}
    for name, frame, cluster in (("once", once, None), ("twice", twice, None), ("alone", twice, "none")):
        answer = reliability(frame, cluster=cluster, bootstrap=4000, seed=1)
        rows = pd.concat([answer.estimates.frame, answer.diagnostics.frame])
        found[name] = (rows["upper"] - rows["lower"]).set_axis(rows["method"] + " " + rows["estimand"])
        assert answer.settings["data"].get("clusters") == (60 if name == "twice" else None)
    for row in (
        "bayes:repeated_trials position_effect",
        "bayes:repeated_trials position[logit]",
        "bootstrap position_effect",
        "bootstrap disagreement",
    ):
        # Some 400 effective draws know the width of an interval to 5 %.
        assert found["twice"][row] == pytest.approx(found["once"][row], rel=0.12), row
        assert found["alone"][row] == pytest.approx(found["once"][row] / np.sqrt(2), rel=0.12), row
    # The likelihood ratio of two equal halves is that of one at twice the threshold, times 60/59 for 60 clusters.
    assert found["twice"]["beta-binomial flip_rate"] == pytest.approx(
        found["once"]["beta-binomial flip_rate"], rel=0.01
    )
    # Less is known of flips in the long run than the trials show, so that not all of the width is of the items.
    for row in ("flip_rate", "flip_rate[same order]", "noise_budget[K=10]", "swap_risk[gap=5%]"):
        name = f"bayes:repeated_trials {row}"
        assert found["twice"][name] > 1.15 * found["alone"][name], row
    budget = found["twice"]["bayes:repeated_trials noise_budget[K=1]"]
    assert budget == pytest.approx(120 * found["twice"]["bayes:repeated_trials flip_rate"])


def test_items_go_together_by_a_column_and_what_has_none_is_refused() -> None:
    frame = comparisons().assign(book=lambda table: table["item"].str[1:].astype(int) // 4)
    counts = count_trials(read_trials(frame), cluster="book")
    assert counts.cluster is not None
    assert len(set(counts.cluster.tolist())) == 4
    assert count_trials(read_trials(frame)).cluster is None
    one = counts.for_items(["q0", "q1", "q9"])
    assert one.cluster is not None
    assert len(set(one.cluster.tolist())) == 2
    by_book, by_item = (
        trial_baselines(part, bootstrap=2000).estimates.where(estimand="kappa").frame.iloc[0]
        for part in (counts, count_trials(read_trials(frame)))
    )
    assert by_book["point"] == by_item["point"]
    assert by_book["lower"] != by_item["lower"]
    with pytest.raises(bj.UsageError, match="no column 'boook'"):
        reliability(frame, cluster="boook")
    with pytest.raises(bj.UsageError, match="has one value"):
        reliability(frame.assign(book=1), cluster="book")
    with pytest.raises(bj.InputError, match="one value for each item, to be what items are drawn by"):
        reliability(frame.assign(book=range(len(frame))), cluster="book")
    with pytest.raises(bj.UsageError, match="responses of one item go together already"):
        reliability(bj.Scores.from_frame(scores()), cluster="book")
    with pytest.raises(bj.UsageError, match=r"count_trials\(trials, cluster=\.\.\.\)"):
        reliability(counts, cluster="book")


@pytest.mark.slow
def test_a_judge_without_a_repeat_says_nothing_of_what_clusters_share() -> None:
    _, twice = _twice_on_an_item(pairs=12)
    frame = pd.concat(
        [twice.assign(judge="x"), twice[twice["trial"] + (twice["order"] == "ba") == 0].assign(judge="y")]
    )
    # A mean of no observed value is a warning, and an error here.
    rows = reliability(frame, engine="laplace", bootstrap=50).estimates.where(estimand="disagreement", judge="y").frame
    assert np.isfinite(rows.loc[rows["method"] == "bayes:repeated_trials", ["lower", "upper"]].to_numpy()).all()
