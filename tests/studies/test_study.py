"""The accuracy study from table to answer: what it refuses, and what it says where little can be known.

Engine, pooling and shapes are the same throughout wherever they can be, so that few programs are compiled.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import error_budget
import jsonschema
import numpy as np
import pandas as pd
import pytest
import xarray as xr

import bayesjudge as bj
from bayesjudge.checks.predictive import FLAG_BELOW
from bayesjudge.counts import VerdictCounts, count_verdicts
from bayesjudge.datasets import simulate_verdicts
from bayesjudge.errors import EngineError, InputError, UsageError
from bayesjudge.estimates import Estimates
from bayesjudge.estimates.mixing import Gate
from bayesjudge.estimates.posterior import differences, summary_rows
from bayesjudge.options import AccuracyOptions
from bayesjudge.report import json_schema
from bayesjudge.report.accuracy.headline import headline
from bayesjudge.report.comparison import Comparison
from bayesjudge.report.lead import READ, shared_calibration
from bayesjudge.studies.accuracy.chosen import estimated_weights
from bayesjudge.studies.accuracy.fits import JudgeFits
from bayesjudge.studies.accuracy.guidance import fit_warnings, warnings_of
from bayesjudge.studies.accuracy.study import _even, _joint_gate
from bayesjudge.studies.common.conditions import with_conditions
from bayesjudge.studies.common.ranks import beats, rank_probabilities
from bayesjudge.tables import Verdicts

#: The cheapest answer: closed-form proposals, one pooling, short bootstrap and chains.
CHEAP: dict[str, Any] = {
    "engine": "laplace",
    "pooling": "shared",
    "draws": 300,
    "tune": 300,
    "bootstrap": 200,
    "compare": False,
}
KEYS = ["bayesjudge", "question", "estimates", "diagnostics", "checks", "warnings", "gate", "dropped", "manifest"]


def ask(verdicts: Any, **options: Any) -> Comparison:
    return bj.accuracy(verdicts, **(CHEAP | options))


@pytest.fixture(scope="module")
def log() -> pd.DataFrame:
    """Two models, one judge of J .6 and .5, 60 labelled and 90 unlabelled items."""
    return simulate_verdicts(seed=3, labelled=60, unlabelled=90).verdicts.frame


@pytest.fixture(scope="module")
def answer(log: pd.DataFrame) -> Comparison:
    return ask(log)


def valid(answer: Comparison) -> dict[str, Any]:
    """The answer as a reader of its JSON gets it, checked against the published schema."""
    found: dict[str, Any] = json.loads(answer.to_json())
    jsonschema.validate(found, json_schema())
    return found


def sane(answer: Comparison) -> Comparison:
    """Every posterior row is finite and ordered; every other undefined row says why."""
    valid(answer)
    frame = answer.estimates.frame
    bayes = frame[frame["method"].str.startswith("bayes:")]
    assert np.isfinite(bayes[["point", "lower", "upper"]].to_numpy()).all()
    assert (bayes["lower"] <= bayes["point"]).all()
    assert (bayes["point"] <= bayes["upper"]).all()
    assert (frame.loc[frame["point"].isna(), "note"] != "").all()
    return answer


# Options ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("option", "value", "allowed"),
    [
        ("prob", 0.0, "between 0 and 1"),
        ("prob", 1.0, "between 0 and 1"),
        ("prob", -0.5, "between 0 and 1"),
        ("prob", 95, "between 0 and 1"),
        ("prob", float("nan"), "between 0 and 1"),
        ("draws", 0, "at least 4"),
        ("draws", 2.5, "an integer"),
        ("draws", float("inf"), "an integer"),
        ("chains", 0, "at least 1"),
        ("tune", -1, "at least 0"),
        ("bootstrap", -1, "at least 0"),
        ("seed", -1, "at least 0"),
        ("seed", 2**32, "at most"),
        ("pooling", "pooled", "partial"),
        ("labels", "chosen", "enriched"),
        ("engine", "stan", "laplace"),
    ],
)
def test_an_impossible_option_is_refused_before_the_table_is_looked_at(option, value, allowed):
    with pytest.raises(UsageError, match=allowed) as caught:
        bj.accuracy(object(), **{option: value})
    assert str(value) in str(caught.value)


def test_a_truth_without_its_estimand_is_refused():
    with pytest.raises(UsageError, match=r"truth has the key 'a': write \(estimand, unit\)"):
        bj.accuracy(object(), truth={"a": 0.5})


@pytest.mark.slow
def test_an_engine_with_options_of_its_own_is_used_and_recorded(log):
    chosen = bj.Laplace(draws=320, tune=7, target_accept=0.9)
    found = bj.accuracy(log, engine=chosen, pooling="shared", bootstrap=0, compare=False)
    assert found.settings["engine"] == repr(chosen)
    assert (found.settings["draws"], found.settings["tune"]) == (320, 7)
    assert {one.manifest["draws"] for one in found.fits.values()} == {320}
    with pytest.raises(UsageError, match=r"draws=200 and an engine with draws=320: write Laplace\(draws=200\)"):
        bj.accuracy(log, engine=chosen, draws=200)


def test_pymc_is_missed_before_anything_is_counted(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(EngineError, match=r"pip install 'bayesjudge\[pymc\]'"):
        bj.accuracy(object(), engine="pymc")


@pytest.mark.parametrize("judges", [["nobody"], "nobody", []])
def test_judges_that_are_not_there_are_refused_by_name(log, judges):
    with pytest.raises(UsageError, match="the table has 'judge'"):
        ask(log, judges=judges)


@pytest.mark.parametrize("option", ["group", "cluster"])
def test_a_column_that_is_not_there_is_refused_by_name(log, option):
    with pytest.raises(UsageError, match="no column 'nowhere'"):
        ask(log, **{option: "nowhere"})


def test_counts_cannot_be_grouped_again(log):
    counts = count_verdicts(Verdicts.from_frame(log))
    with pytest.raises(UsageError, match="give group= and cluster= to count_verdicts"):
        ask(counts, group="subject")


def test_something_that_is_no_table_is_refused():
    with pytest.raises(UsageError, match="cannot read a table from an object of type object"):
        ask(object())


# The answer -------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_frame_a_table_and_its_counts_have_one_answer(log, answer):
    table = Verdicts.from_frame(log)
    texts = {ask(given).to_json() for given in (log, table, count_verdicts(table))}
    assert texts == {answer.to_json()}


@pytest.mark.slow
def test_another_seed_gives_another_answer_and_the_same_shape(log, answer):
    other = ask(log, seed=1)
    assert other.to_json() != answer.to_json()
    columns = ["estimand", "unit", "method", "judge", "group"]
    pd.testing.assert_frame_equal(other.estimates.frame[columns], answer.estimates.frame[columns])


def test_the_answer_follows_its_schema_in_a_stable_order(answer):
    found = valid(answer)
    assert list(found) == KEYS
    assert list(found["checks"]) == [
        "predictive",
        "sensitivity",
        "convergence",
        "mixing",
        "selection",
        "labelled_pairs",
        "ranks",
        "checklist",
    ]
    assert len(found["checks"]["checklist"]) == 7
    assert list(found["manifest"]) == ["settings", "source", "fits"]


def test_numbers_that_json_has_not_are_named(answer):
    first = answer.estimates.frame.iloc[[0]]
    odd = Estimates(pd.concat([first.assign(lower=-np.inf, upper=np.inf, point=np.nan)]))
    row = odd.to_records()[0]
    assert (row["point"], row["lower"], row["upper"]) == (None, "-Infinity", "Infinity")
    jsonschema.validate({**answer.to_dict(), "estimates": [row]}, json_schema())


def test_bayes_comes_first_and_every_method_answers_both_estimands(answer):
    frame = answer.estimates.frame
    accuracy = frame[frame["estimand"] == "accuracy"]
    assert accuracy["method"].str.startswith("bayes:").tolist()[:3] == [True, True, False]
    assert set(accuracy["method"]) == set(frame.loc[frame["estimand"] == "difference", "method"])


@pytest.mark.slow
def test_the_posterior_covers_the_simulated_truth(log):
    simulated = simulate_verdicts(seed=3, labelled=60, unlabelled=90)
    frame = ask(simulated.verdicts, truth=simulated.truth).estimates.frame
    bayes = frame[frame["method"].str.startswith("bayes:")]
    assert bayes["truth"].notna().all()
    # One data set: as many posterior standard deviations as a right posterior needs by the budget.
    spread = (bayes["upper"] - bayes["lower"]) / (2 * 1.96)
    assert (abs(bayes["point"] - bayes["truth"]) < error_budget.standard_errors(len(bayes)) * spread).all()


def test_an_answer_is_printed_in_a_line(answer):
    shown = repr(answer)
    assert shown.startswith(f"<Comparison: accuracy, {len(answer.estimates)} estimates by ")
    assert str(answer.gate) in shown
    assert "\n" not in shown


def test_rank_probabilities_sum_to_one(answer):
    ranks = answer.ranks[["rank_1", "rank_2"]]
    np.testing.assert_allclose(ranks.sum(axis=1), 1.0, atol=1e-12)
    np.testing.assert_allclose(ranks.sum(axis=0), 1.0, atol=1e-12)


def test_models_that_are_equal_in_a_draw_share_it():
    draws = xr.DataArray(
        [[[0.5, 0.5, 0.5], [0.5, 0.5, 0.2]]], dims=("chain", "draw", "system"), coords={"system": ["a", "b", "c"]}
    )
    ranks = rank_probabilities(draws).set_index("model")
    third, half = 1 / 3, 1 / 2
    expected = {name: [(third + half) / 2, (third + half) / 2, third / 2] for name in "ab"}
    expected["c"] = [third / 2, third / 2, (third + 1) / 2]
    for name, shares in expected.items():
        np.testing.assert_allclose(ranks.loc[name, ["rank_1", "rank_2", "rank_3"]].astype(float), shares)
    assert beats(draws).loc["a", "b"] == beats(draws).loc["b", "a"] == 0.5
    rows = summary_rows(differences(draws, "system"), estimand="difference", method="m", prob=0.9, signed=True)
    assert [row["p_positive"] for row in rows] == [0.5, 0.75, 0.75]


@pytest.mark.slow
def test_no_bootstrap_leaves_the_bootstrap_rows_out(log):
    assert not ask(log, bootstrap=0).diagnostics.frame["method"].str.contains("bootstrap").any()


@pytest.mark.slow
def test_interval_probability_is_carried_to_every_row(log):
    answer = ask(log, prob=0.5)
    assert set(answer.estimates.frame["prob"]) == set(answer.diagnostics.frame["prob"]) == {0.5}


# Where little can be known ----------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda log: log.assign(label=log["label"].where(log["label"].isna(), 1)), "labels of one class only"),
        (lambda log: log.assign(label=log["label"].where(log["label"].isna(), 0)), "labels of one class only"),
        (lambda log: log.assign(verdict=1), "no better than a coin"),
        (lambda log: log.assign(verdict=0), "no better than a coin"),
        (lambda log: log.assign(verdict=(1 - log["label"]).fillna(log["verdict"]).astype(int)), "wrong more often"),
    ],
    ids=["all labels 1", "all labels 0", "all verdicts 1", "all verdicts 0", "inverted judge"],
)
def test_degenerate_data_have_a_sane_and_warned_answer(log, change, said):
    answer = sane(ask(change(log)))
    assert any(said in text for text in answer.warnings)


@pytest.mark.slow
def test_a_perfect_judge_is_no_trouble(log):
    perfect = log.assign(verdict=log["label"].fillna(log["verdict"]).astype(int))
    answer = sane(ask(perfect))
    youden = answer.diagnostics.where(estimand="youden", method="bayes:judge_error[shared]").frame
    assert (youden["point"] > 0.9).all()


@pytest.mark.slow
def test_duplicate_rows_are_dropped_and_counted(log, answer):
    doubled = ask(pd.concat([log, log.iloc[:7]]))
    assert sum(doubled.dropped.values()) == 7
    assert valid(doubled)["dropped"] == dict(doubled.dropped)
    first = answer.estimates.where(method="naive").frame
    pd.testing.assert_frame_equal(doubled.estimates.where(method="naive").frame, first)


def test_an_answer_about_few_of_the_rows_says_so_first(answer):
    few = replace(answer, dropped={"missing item": 970}, warnings=("another",))
    said, *others = with_conditions(few, AccuracyOptions(), rows=30).warnings
    assert (said.split(":")[0], others) == ("970 of 1,000 rows could not be used", ["another"])
    assert READ not in said
    assert with_conditions(few, AccuracyOptions(), rows=970).warnings == ("another",)


@pytest.mark.slow
def test_missing_verdicts_are_dropped_and_counted(log):
    holes = log.assign(verdict=log["verdict"].astype(float).where(np.arange(len(log)) > 4))
    answer = sane(ask(holes))
    assert sum(answer.dropped.values()) == 5


@pytest.mark.slow
def test_words_are_read_as_verdicts_and_others_refused(log, answer):
    words = log.assign(verdict=log["verdict"].map({1: "correct", 0: "incorrect"}))
    assert ask(words).estimates.frame.equals(answer.estimates.frame)
    with pytest.raises(InputError, match="'perhaps'"):
        ask(log.assign(verdict="perhaps"))


def test_no_rows_is_an_error_that_says_so(log):
    with pytest.raises(InputError, match="a header without rows"):
        ask(log.iloc[:0])


# Warnings and checklist, without a fit ----------------------------------------------------------------


def counted(log: pd.DataFrame, **changes: Any) -> VerdictCounts:
    return count_verdicts(Verdicts.from_frame(log.assign(**changes)))


def warned(counts: VerdictCounts, *, labels: Any = "random", flagged: int = 0) -> list[str]:
    predictive = pd.DataFrame({"statistic": "rate", "unit": "a", "flagged": np.arange(200) < flagged})
    sensitivity = pd.DataFrame({"estimand": ["accuracy"], "unit": ["a"], "prior_sensitive": [False]})
    options = AccuracyOptions(labels=labels)
    selection = pd.concat([_even(counts.for_judge(judge), options) for judge in counts.judges])
    checks = {"predictive": predictive, "sensitivity": sensitivity, "selection": selection}
    none = Estimates.from_rows([])
    return warnings_of(counts, none, none, checks, list(counts.judges))


def test_ordinary_data_need_no_warning(log):
    assert warned(counted(log)) == []


def test_no_labels_is_the_one_thing_to_say(log):
    assert warned(counted(log, label=np.nan)) == [
        "no human labels: the judge's errors cannot be estimated, and every corrected accuracy is mostly prior"
    ]


def test_few_labels_are_counted_for_each_model(log):
    few = log["label"].where(log["item"].isin(log["item"].unique()[:12]))
    assert any("a (12), b (12)" in text for text in warned(counted(log, label=few)))


@pytest.mark.parametrize(("labels", "said"), [("random", True), ("chosen-by-verdict", False), ("enriched", False)])
def test_labels_chosen_by_verdict_are_noticed_unless_said_to_be(log, labels, said):
    chosen = pd.Series(np.where(log["verdict"] == 1, 1.0, np.nan), index=log.index)
    found = warned(counted(log, label=chosen), labels=labels)
    assert any("labels look chosen" in text for text in found) == said


def hard_labels(log: pd.DataFrame) -> pd.DataFrame:
    """Labels on the items of which the judge thinks least, and nowhere else."""
    mean = log.groupby("item")["verdict"].transform("mean")
    return log.assign(label=log["label"].fillna(log["verdict"]).where(mean < 1))


@pytest.mark.slow
def test_labels_that_look_chosen_fail_the_gate_and_show_what_it_would_take(log, tmp_path):
    answer = ask(hard_labels(log), pooling="partial", engine="hmc", draws=150, tune=150)
    assert not answer.gate.passed
    assert any("labels look chosen" in reason for reason in answer.gate.reasons)
    rows = answer.estimates.where(estimand="accuracy").frame
    assert rows["note"][rows["method"] == "bayes:judge_error[partial]"].str.contains("labels look chosen").all()
    assert "bayes:judge_error[partial,reweighted]" in set(rows["method"])
    tipping = answer.checks["tipping"]
    theta = tipping[(tipping["estimand"] == "accuracy") & (tipping["unit"] == "a")].set_index("odds")["point"]
    assert theta.sort_index().is_monotonic_increasing
    assert theta[1.0] == pytest.approx(rows["point"].iloc[0], abs=1e-9)
    gaps = tipping[tipping["estimand"] == "difference"]
    assert gaps["tips at"].dropna().ge(1).all()
    answer.to_html(tmp_path / "page.html")
    assert "If labels were chosen" in (tmp_path / "page.html").read_text()


@pytest.mark.parametrize("whole", [False, True])
def test_chosen_labels_are_weighed_by_how_likely_each_answer_was(item_counts, whole):
    """100 items a pair of verdicts, labelled exactly as often as said: as a whole by their mean, or by own verdict."""
    chance, by_mean = np.array([0.1, 0.5]), np.array([0.1, 0.2, 0.5])
    rows = []
    for pair in np.ndindex(2, 2):
        for given in np.ndindex(2, 2):
            own = [chance[v] if known else 1 - chance[v] for v, known in zip(pair, given, strict=True)]
            mean = by_mean[sum(pair)]
            share = {(1, 1): mean, (0, 0): 1 - mean}.get(given, 0) if whole else np.prod(own)
            rows.append((*pair, *given, round(100 * share)))
    table = np.array([row for row in rows if row[-1]])
    verdict, given = table[:, :2], table[:, 2:4] == 1
    found = estimated_weights(item_counts(np.where(given, 1, -1), verdict, n=table[:, 4])).items["judge"].probability
    expected = by_mean[verdict.sum(axis=1)][:, None] if whole else chance[verdict]
    # The ridge draws the odds a few per cent to the middle.
    np.testing.assert_allclose(found, np.where(given, expected, 0.0), atol=0.015)


@pytest.mark.slow
@pytest.mark.parametrize("how", ["said", "probabilities"])
def test_labels_whose_choice_is_known_are_not_tested(log, how):
    table, options = hard_labels(log), {}
    if how == "said":
        options["labels"] = "chosen-by-verdict"
    else:
        table = table.assign(label_probability=0.5)
    answer = ask(table, **options)
    assert answer.checks["selection"].empty
    assert not any("look chosen" in reason for reason in answer.gate.reasons)
    kind = {"said": "reweighted", "probabilities": "weighted"}[how]
    assert f"bayes:judge_error[shared,{kind}]" in set(answer.estimates.frame["method"])
    assert "aipw" in set(answer.estimates.frame["method"])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"labels": "enriched"}, "give one"),
        ({"labels": "chosen-by-verdict"}, "give one"),
        ({"population": "items"}, "drawn evenly"),
    ],
)
def test_a_column_and_an_option_that_say_two_things_are_refused_before_a_fit(log, options, said, monkeypatch):
    monkeypatch.setattr(sys.modules["bayesjudge.studies.accuracy.study"], "plan_judge", None)
    with pytest.raises(UsageError, match=said):
        ask(log.assign(label_probability=0.5), **options)


def test_several_judges_are_said_to_stand_alone():
    both = simulate_verdicts(seed=3, labelled=60, unlabelled=90, judges=("x", "y")).verdicts
    assert warned(count_verdicts(both))[0].startswith("2 judges: each is analysed on its own")


def test_labels_that_all_judges_share_are_warned_of_once():
    both = simulate_verdicts(seed=3, labelled=12, unlabelled=90, judges=("x", "y")).verdicts
    (few,) = [text for text in warned(count_verdicts(both)) if "labelled answers, so the prior" in text]
    assert few.startswith("fewer than 30 labelled answers")


def test_predictive_flags_that_chance_explains_are_no_warning(log):
    counts, expected = counted(log), int(FLAG_BELOW * 200)
    assert not any("predictive" in text for text in warned(counts, flagged=expected))
    assert any("predictive" in text for text in warned(counts, flagged=expected + 1))


def test_shared_calibration_is_not_called_defensible_without_labels():
    posterior = {"estimand": "delta_youden", "unit": "a − b", "method": "bayes:x", "lower": -1, "upper": 1, "point": 0}
    undefined = posterior | {"method": "wald", "point": np.nan}
    assert shared_calibration(Estimates.from_rows([posterior, undefined]))[0] is None
    defined = undefined | {"point": 0.1}
    assert shared_calibration(Estimates.from_rows([posterior, defined]))[0] is True


# Gates and fall-backs, by stand-ins -------------------------------------------------------------------


def stand_in(*, passed: bool = True, label: str = "main", **manifest: Any) -> Any:
    figures = {"rhat": 1.0 if passed else 2.0, "ess": 1000.0}
    gate = Gate(passed=passed, reasons=() if passed else ("R-hat is 2",), figures=figures)
    model = SimpleNamespace(label=label)
    return SimpleNamespace(gate=gate, model=model, manifest={"engine": "nuts", **manifest})


def fits_of(judge: str, headline: Any, *others: Any) -> JudgeFits:
    return JudgeFits(
        judge=judge, headline=headline, by_model=headline, alternatives={one.model.label: one for one in others}
    )


def gated(*fits: JudgeFits, reasons: tuple[str, ...] = ()) -> Gate:
    return _joint_gate([SimpleNamespace(fits=one, reasons=reasons) for one in fits])


def test_a_fit_that_is_only_compared_cannot_fail_the_gate_but_is_told_of():
    fits = fits_of("j", stand_in(), stand_in(passed=False, label="other"))
    assert gated(fits).passed
    assert fit_warnings([fits]) == [
        "other, judge j: the comparison of poolings rests on a fit that did not converge (R-hat is 2)"
    ]


def test_a_failed_headline_fit_fails_the_gate_by_name():
    gate = gated(*(fits_of(judge, stand_in(passed=judge != "k")) for judge in ("j", "k")))
    assert (gate.passed, gate.reasons, gate.figures["rhat"]) == (False, ("main, judge k: R-hat is 2",), 2.0)


def test_a_laplace_fit_that_fell_back_is_told_of():
    fits = fits_of("j", stand_in(engine="nuts after laplace", laplace_pareto_k=1.25))
    warned = "the Laplace approximation was not good enough (Pareto k 1.25), so NUTS was run instead"
    assert fit_warnings([fits]) == [f"main, judge j: {warned}"]


def test_what_speaks_against_a_converged_headline_fails_the_gate_too():
    gate = gated(fits_of("j", stand_in()), reasons=("ΔJ excludes 0",))
    assert (gate.passed, gate.reasons) == (False, ("main: ΔJ excludes 0",))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::bayesjudge.inference.LaplaceFallbackWarning")
def test_a_judge_that_is_useless_on_one_model_cannot_be_shared_without_a_word():
    """METHODS 1.5: q = (.5, .5) and (.95, .9), accuracies .75 and .70; sharing turns the difference round."""
    rng, rows = np.random.default_rng(1), []
    for model, accuracy, q1, q0 in (("x", 0.75, 0.5, 0.5), ("y", 0.70, 0.95, 0.9)):
        label = rng.random(600) < accuracy
        verdict = np.where(label, rng.random(600) < q1, rng.random(600) > q0)
        rows += [(item, model, int(verdict[item]), float(label[item]) if item < 150 else np.nan) for item in range(600)]
    frame = pd.DataFrame(rows, columns=["item", "model", "verdict", "label"])
    answer = bj.accuracy(frame, pooling="shared", engine="laplace", draws=500, bootstrap=0, compare=False)
    said = "One calibration for all would move the accuracy of"
    (moved,) = [text for text in answer.warnings if said in text]
    name, _, by = moved.rpartition(said)[2].strip(" .").rpartition(" by ")
    own = answer.estimates.where(estimand="accuracy", unit=name, method="bayes:judge_error[shared]").frame
    # On exactly these items no formula says it; a mean of nothing warned instead, an error in these tests.
    items = bj.accuracy(frame, engine="laplace", draws=100, bootstrap=0, compare=False, population="items")
    assert [text.split(":")[0] for text in items.warnings if said not in text and "Shared" in text] == [
        "Shared calibration is not defensible"
    ]
    # What an accuracy moves by leaves it between 0 and 1, but for the two decimals of the text.
    assert -0.005 <= own["point"].iloc[0] + float(by) <= 1.005
    shared, partial = (f"bayes:judge_error[{pooling}]" for pooling in ("shared", "partial"))
    difference = answer.estimates.where(estimand="difference", method=shared).frame.iloc[0]
    assert "Shared calibration is not defensible" in difference["note"]
    assert not answer.gate.passed
    assert ("Stability across models (ΔJ)", "warn") in {item[:2] for item in answer.checklist}
    # The posterior that may differ by model has the sign right.
    free = answer.fits[partial].estimates().where(estimand="difference").frame.iloc[0]
    assert difference["upper"] < 0 < free["point"]


# Shapes that need programs of their own ---------------------------------------------------------------


def subjects(log: pd.DataFrame) -> pd.Series:
    return pd.Series(np.where(pd.factorize(log["item"])[0] % 2 == 0, "law", "art"), index=log.index)


SHAPES: dict[str, Callable[[pd.DataFrame], tuple[pd.DataFrame, dict[str, Any]]]] = {
    "one item": lambda log: (log[log["item"] == log["item"].iloc[0]], {}),
    "one row, one chain": lambda log: (log.iloc[:1], {"chains": 1}),
    "one row, no label": lambda log: (log[log["label"].isna()].iloc[:1], {}),
    "everything labelled": lambda log: (log[log["label"].notna()], {}),
    "no labels": lambda log: (log.assign(label=np.nan), {}),
    "no labels, enriched": lambda log: (log.assign(label=np.nan), {"labels": "enriched"}),
    "enriched": lambda log: (log, {"labels": "enriched"}),
    "models on different items": lambda log: (log[(log["model"] == "a") == (subjects(log) == "law")], {}),
    "clusters": lambda log: (log.assign(doc=pd.factorize(log["item"])[0] // 5), {"cluster": "doc"}),
    "one cluster, partial pooling": lambda log: (log.assign(doc="d"), {"cluster": "doc", "pooling": "partial"}),
}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::bayesjudge.inference.LaplaceFallbackWarning")
@pytest.mark.parametrize("shape", list(SHAPES))
def test_every_shape_of_data_has_a_sane_answer(log, shape):
    frame, options = SHAPES[shape](log)
    sane(ask(frame, **options))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::bayesjudge.inference.LaplaceFallbackWarning")
@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"cluster": "doc"}, "they are for new values of 'doc' (20 here), each with its items."),
        ({}, "the items are a sample of them."),
    ],
)
def test_where_clusters_are_the_units_everyone_is_told(log, options, said):
    """The first lines and the checklist called items the sample where clusters were it."""
    items = pd.factorize(log["item"])[0]
    answer = ask(log.assign(doc=items % 20), **options)
    sentence = f"Intervals are about accuracy on questions like these: {said}"
    assert [line for line in headline(answer) if line.startswith("Intervals")] == [sentence]
    assert answer.checklist[0][2].startswith(sentence)
    assert list(answer.settings["clusters"].items()) == [(name, 20) for name in options.values()]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::bayesjudge.inference.LaplaceFallbackWarning")
def test_one_model_has_no_differences(log):
    answer = sane(ask(log[log["model"] == "a"], compare=True))
    assert set(answer.estimates.frame["estimand"]) == {"accuracy"}
    assert list(answer.fits) == ["bayes:judge_error[shared]"]
    assert answer.ranks["p_best"].tolist() == [1.0]
    assert answer.checklist[1][1] == "warn"


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::bayesjudge.inference.LaplaceFallbackWarning")
def test_groups_are_answered_beside_the_whole_and_quality_for_both(log):
    answer = sane(ask(log.assign(subject=subjects(log)), group="subject"))
    rows = answer.estimates.where(estimand="accuracy").frame
    bayes = rows[rows["method"].str.startswith("bayes:judge_error[shared,accuracy~0+system+(1|subject)")]
    assert set(bayes["group"]) == {"", "art", "law"}
    quality = answer.diagnostics.where(estimand="youden").frame
    assert set(quality.loc[quality["method"].str.startswith("bayes:"), "group"]) == {"", "art", "law"}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::bayesjudge.inference.LaplaceFallbackWarning")
def test_a_judge_answers_for_the_models_that_it_saw():
    both = simulate_verdicts(seed=3, labelled=60, unlabelled=90, judges=("x", "y")).verdicts.frame
    answer = sane(ask(both[~((both["judge"] == "y") & (both["model"] == "a"))]))
    seen = answer.estimates.where(estimand="accuracy", method="naive").frame
    assert sorted(zip(seen["judge"], seen["unit"], strict=True)) == [("x", "a"), ("x", "b"), ("y", "b")]
    assert list(answer.fits)[:2] == ["bayes:judge_panel", "bayes:judge_error[shared], judge x"]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::bayesjudge.inference.LaplaceFallbackWarning")
def test_poolings_are_compared_for_one_judge_and_leave_the_estimates_alone(log, answer):
    compared = ask(log, compare=True)
    assert len(compared.fits) == 3
    assert sorted(compared.checks["comparison"]["model"]) == [
        f"bayes:judge_error[{pooling}]" for pooling in ("partial", "shared", "specific")
    ]
    pd.testing.assert_frame_equal(compared.estimates.frame, answer.estimates.frame)


@pytest.mark.slow
def test_the_raw_rate_is_never_of_a_few_unlabelled_answers(log):
    """All labels but two: the rate of two verdicts is not the model's, that of all answers is; and that of 100."""
    full = log.assign(label=log["label"].fillna(log["verdict"]).astype(int))
    items = full["item"].drop_duplicates()
    for hidden, whose in ((items[:2], items), (items[:100], items[:100])):
        some = full.assign(label=full["label"].where(~full["item"].isin(hidden)))
        answer, rates = ask(some), full[full["item"].isin(whose)].groupby("model")["verdict"].mean()
        raw = answer.estimates.where(estimand="accuracy", method="naive").frame.set_index("unit")
        assert set(raw["n"]) == {len(whose)}
        assert raw["point"].to_dict() == pytest.approx(rates.to_dict())
        assert any(text.startswith("Raw rates") for text in headline(answer))
