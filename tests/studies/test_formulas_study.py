"""The accuracy question with formulas, groups that pool, and a stated mix."""

from __future__ import annotations

import itertools
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import bayesjudge as bj
from bayesjudge.counts import count_verdicts
from bayesjudge.datasets import simulate_verdicts
from bayesjudge.effects.columns import MOST_LEVELS
from bayesjudge.errors import UsageError
from bayesjudge.inference import Hmc, fit
from bayesjudge.models.judge_error import JudgeError, by_group
from bayesjudge.report.accuracy.headline import headline
from bayesjudge.report.terminal import show_answer
from bayesjudge.studies.accuracy.guidance import _columns
from bayesjudge.tables import Verdicts

CHEAP: dict[str, Any] = {
    "engine": "hmc",
    "chains": 2,
    "draws": 200,
    "tune": 200,
    "bootstrap": 0,
    "baselines": ["naive"],
}


LABEL = "bayes:judge_error[partial]"


def mine(data: Any) -> None:
    """A model of one's own."""
    import numpyro
    from numpyro import distributions as dist

    with numpyro.plate("system", data.size("system")):
        share = numpyro.sample("accuracy", dist.Beta(1, 1))
        numpyro.sample("positives", dist.Binomial(data["n"], share), obs=data["positives"])


def log() -> pd.DataFrame:
    frame = simulate_verdicts(seed=5, labelled=60, unlabelled=60).verdicts.frame
    topics = np.random.default_rng(2).choice(["law", "art"], frame["item"].nunique())
    named = dict(zip(frame["item"].unique(), topics, strict=True))
    return frame.assign(topic=frame["item"].map(named))


@pytest.mark.slow
def test_groups_pool_and_a_mix_can_be_stated() -> None:
    answer = bj.accuracy(log(), group="topic", shares={"topic": "law:1,art:0"}, **CHEAP)
    bayes = answer.estimates.where(estimand="accuracy").frame
    bayes = bayes[bayes["method"].str.startswith("bayes:")].set_index(["unit", "group"])
    assert "(1|topic)" in bayes["method"].iloc[0]
    assert set(bayes.loc["a"].index) == {"", "law", "art"}
    assert abs(bayes.loc[("a", ""), "point"] - bayes.loc[("a", "law"), "point"]) < 1e-9
    assert answer.settings["shares"] == {"topic": {"law": 1.0, "art": 0.0}}


@pytest.mark.slow
def test_a_column_inside_objects_is_named_by_its_path() -> None:
    """``metadata.topic`` was no column, though ``--where`` and ``--column`` take it."""
    frame = log().assign(document=log()["item"].str[-1])
    inside = frame[["topic", "document"]].to_dict("records")
    nested = frame.drop(columns=["topic", "document"]).assign(metadata=inside)
    cheap = {**CHEAP, "models": [mine]}
    one = bj.accuracy(frame, group="topic", cluster="document", **cheap)
    two = bj.accuracy(nested, group="metadata.topic", cluster="metadata.document", **cheap)
    assert set(one.estimates.frame["group"]) == {"", "law", "art"}
    pd.testing.assert_frame_equal(one.estimates.frame, two.estimates.frame)
    with pytest.raises(UsageError, match=r"no column 'metadata\.topics'"):
        bj.accuracy(nested, group="metadata.topics", **CHEAP)


@pytest.mark.slow
def test_an_effect_of_a_covariate_is_a_row_of_the_diagnostics() -> None:
    frame = log()
    frame["length"] = np.random.default_rng(1).choice([1.0, 2.0, 3.0], len(frame))
    frame.loc[frame.index[:3], "length"] = np.nan
    answer = bj.accuracy(frame, formula="sensitivity ~ 1 + length + (1|system)", **CHEAP)
    rows = answer.diagnostics.where(estimand="effect").frame
    assert rows["unit"].tolist() == ["sensitivity, +1 sd of length"]
    assert any("length, the judge: 3 answers have no value" in text for text in answer.warnings)
    assert "effect" in answer.to_json()


@pytest.mark.slow
def test_a_model_with_formulas_has_the_columns_that_it_names() -> None:
    text = "sensitivity ~ 1 + topic + (1|system)"
    given = [JudgeError(formulas=[text]), JudgeError(formulas=text)]  # type: ignore[arg-type]
    assert given == [JudgeError(formulas=(text,))] * 2
    answer = bj.accuracy(log(), models=["default", given[0]], **CHEAP)
    alone = bj.accuracy(log(), **CHEAP)
    ours, again = (one.estimates.where(estimand="accuracy", method=LABEL).frame["point"] for one in (answer, alone))
    np.testing.assert_array_equal(ours, again)
    assert answer.estimates.where(method=given[0].label).frame["unit"].nunique() == 3


@pytest.mark.slow
def test_a_model_of_trials_with_formulas_has_the_columns_that_it_names() -> None:
    """The log was counted without them, and the message was about `count_trials`."""
    frame = pd.DataFrame(itertools.product([f"i{k}" for k in range(12)], ["ab", "ba"], [1, 2]))
    frame.columns = pd.Index(["item", "order", "run"])
    rng = np.random.default_rng(2)
    frame = frame.assign(judge="j", outcome=rng.choice(["a", "b"], len(frame)), words=frame["item"].str[1:].astype(int))
    model = "repeated_trials[position ~ 1 + words]"
    answer = bj.reliability(frame, models=["default", model], draws=50, tune=50, chains=2, bootstrap=20)
    rows = answer.estimates.where(estimand="flip_rate").frame
    assert [name for name in rows["method"] if "words" in name] == ["bayes:repeated_trials[position~1+words]"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"formula": "sensitivity ~ 1 + lenght"}, "no column 'lenght'"),
        ({"formula": "sensitivity ~ 1 + open(x)"}, "not a column"),
        ({"shares": {"topic": "law:1"}}, "add group="),
        ({"shares": {"topic": "law"}, "group": "topic"}, "write levels with their shares"),
        ({"shares": {"topic": "law:.5,art:.6"}, "group": "topic"}, "sum to 1.1"),
        ({"shares": {"topic": "law:1"}, "group": "topic", "population": "items"}, "leave out population="),
        ({"shares": {"topic": "law:1,art:0"}, "group": "topic", "models": ["default", mine]}, "not by bayes:mine"),
        ({"formula": "sensitivity ~ 1 + item"}, "120 categories, .* for instance: write numbers"),
        ({"formula": "accuracy ~ 1"}, "one accuracy, .*: write 'accuracy ~ 0 [+] system'"),
        ({"formula": "accuracy ~ 1 + (1|topic)"}, r"write 'accuracy ~ 0 [+] system [+] \(1\|topic\)'"),
        ({"models": [JudgeError(formulas=("accuracy ~ topic",))]}, "write 'accuracy ~ 0 [+] system [+] topic'"),
        ({"formula": "accuracy ~ 1", "labels": "chosen-by-verdict"}, "leave one out"),
    ],
)
def test_what_cannot_be_used_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        bj.accuracy(log(), **CHEAP, **options)


@pytest.mark.slow
def test_one_system_needs_no_level_of_its_own() -> None:
    answer = bj.accuracy(log().query("model == 'a'"), formula="accuracy ~ 1 + (1|topic)", **CHEAP)
    assert answer.estimates.where(estimand="accuracy", unit="a").frame["point"].notna().all()


@pytest.mark.slow
def test_no_row_of_a_total_is_of_another_mix() -> None:
    answer = bj.accuracy(log(), group="topic", shares={"topic": "law:.9,art:.1"}, **CHEAP)
    rows = answer.estimates.frame
    assert set(rows.loc[rows["method"] == "naive", "group"]) == {"law", "art"}
    assert any("log's own mix" in text for text in answer.warnings)
    said = " ".join(headline(answer))
    assert "stated mix of questions like these: topic law 90%, art 10%" in said
    assert "Raw rates" not in said


def test_a_mix_of_several_judges_is_refused() -> None:
    two = pd.concat([log().assign(judge=judge) for judge in ("one", "two")], ignore_index=True)
    with pytest.raises(UsageError, match="not taken by all judges together \\(one, two\\)"):
        bj.accuracy(two, group="topic", shares={"topic": "law:.9,art:.1"}, **CHEAP)


@pytest.mark.slow
def test_the_screen_and_the_page_name_models_and_effects(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The formulas of a method are in its key; a heading with them would leave names no room."""
    numbers = np.random.default_rng(1).choice([1.0, 2.0, 3.0], len(log()))
    frame = log().assign(metadata=[{"length": one} for one in numbers])
    answer = bj.accuracy(frame, group="topic", formula="sensitivity ~ 1 + metadata.length", **CHEAP)
    show_answer(answer)
    shown = capsys.readouterr().out
    page = answer.to_html(tmp_path / "page.html").read_text(encoding="utf-8")
    for text in ("a in law", "(partial pooling, formulas)", "sensitivity, +1 sd of metadata.length"):
        assert text in shown
    assert "(1|topic)" not in shown
    assert "sensitivity, +1 sd of metadata.length" in page


@pytest.mark.slow
def test_numbers_of_a_file_are_numbers(tmp_path: Path) -> None:
    """A file's columns are read as text."""
    frame = log().assign(length=np.random.default_rng(1).choice([1.0, 2.0, 3.0], len(log())))
    frame.to_csv(tmp_path / "log.csv", index=False)
    found = [
        bj.accuracy(source, formula="sensitivity ~ 1 + length", **CHEAP).diagnostics.where(estimand="effect").frame
        for source in (frame, str(tmp_path / "log.csv"))
    ]
    assert len(found[0]) == 1
    pd.testing.assert_frame_equal(*found)


@pytest.mark.slow
def test_groups_without_rows_are_counted() -> None:
    many = log()
    size = MOST_LEVELS + 1
    many["topic"] = [f"t{code % size}" for code in many["item"].astype("category").cat.codes]
    answer = bj.accuracy(many, group="topic", **CHEAP | {"draws": 20, "tune": 20})
    assert any(f"topic, the judge: its {size} categories pool" in text for text in answer.warnings)


@pytest.mark.slow
def test_chosen_labels_tip_groups_too() -> None:
    frame = simulate_verdicts(seed=5, labelled=0, unlabelled=400).verdicts.frame
    rates = frame.groupby("item")["verdict"].transform("mean")
    chosen = (rates > 0.9) & (frame["item"].astype("category").cat.codes % 2 == 0)
    frame["label"] = frame["verdict"].where(chosen).astype("Int8")
    frame["topic"] = np.where(frame["item"].astype("category").cat.codes % 3 == 0, "law", "art")
    answer = bj.accuracy(frame, group="topic", **CHEAP)
    assert any("which group= and formula= leave out" in text for text in answer.warnings)
    assert {"accuracy", "difference"} == set(answer.checks["tipping"]["estimand"])
    assert not answer.estimates.frame["method"].str.contains("reweighted").any()


@pytest.mark.slow
def test_decisions_and_conditions_are_of_the_stated_mix() -> None:
    options: dict[str, Any] = {"group": "topic", "shares": {"topic": "law:.9,art:.1"}, "decide": "best"}
    # Of chains that fail the gate no decision is made: 500 draws failed it on one of two machines (R-hat 1.012).
    more = CHEAP | {"chains": 4, "draws": 1500, "tune": 500}
    answer = bj.accuracy(log(), fail_if=["accuracy(a) > .2"], **more, **options)
    assert answer.gate.passed
    gap = answer.estimates.where(estimand="difference", group="").frame.iloc[0]
    first, second = gap["unit"].split(" − ")
    made = answer.checks["decision"].set_index("system")
    compared, sign = (first, 1) if made.loc[first, "reference"] == second else (second, -1)
    assert sign * made.loc[compared, "difference"] == pytest.approx(gap["point"])
    assert made[["p_tost", "p_mcnemar", "p_bootstrap"]].isna().all(axis=None)  # they are of the log's own mix
    assert answer.conditions[0].result == "holds"
    assert answer.conditions[0].probability > 0.99


@pytest.mark.slow
def test_judges_together_say_that_they_take_a_formula_of_their_own(capsys: pytest.CaptureFixture[str]) -> None:
    frame = log().assign(length=np.random.default_rng(1).choice([1.0, 2.0, 3.0], len(log())))
    two = pd.concat([frame.assign(judge=judge) for judge in ("one", "two")], ignore_index=True)
    answer = bj.accuracy(two, formula="sensitivity ~ 1 + length", **CHEAP)
    assert any("all judges together take one of their own" in text for text in answer.warnings)
    show_answer(answer)
    assert "two: sensitivity, +1 sd of length" in capsys.readouterr().out


@pytest.mark.slow
def test_columns_are_tested_unless_they_are_in_the_model(tmp_path: Path) -> None:
    quick = CHEAP | {"engine": "laplace", "compare": False}
    frame = log()
    rng = np.random.default_rng(3)
    # The judge says 1 where an answer is long, whatever its label.
    frame["length"] = 2.0 * frame["verdict"] + rng.normal(size=len(frame))
    frame["colour"] = rng.choice(["red", "green"], len(frame))
    answer = bj.accuracy(frame, **quick)
    tested = answer.checks["columns"].set_index("column")
    assert next(iter(tested.index)) == "length"
    assert set(tested.index) == {"length", "colour", "topic"}
    # What people and judges say of the answers explains no errors.
    names = ("annotation_2", "final_label", "gpt4_score", "agreement", "llm_2")
    says = {name: rng.integers(0, 3, len(frame)) for name in names}
    tables = (bj.accuracy(one, **quick).checks["columns"] for one in (frame, frame.assign(**says)))
    pd.testing.assert_frame_equal(*tables)
    (said,) = (text for text in answer.warnings if "errors depend on" in text)
    assert "errors depend on length (z" in said
    assert "--formula 'sensitivity ~ 1 + length + (1|system)'" in said
    assert "Wherever labels were chosen by it" in said
    # Where every answer has a label, none was chosen.
    whole = bj.accuracy(frame[frame["label"].notna()], **quick)
    (said,) = (text for text in whole.warnings if "errors depend on" in text)
    assert "Wherever labels were chosen" not in said
    page = tmp_path / "page.html"
    answer.to_html(page)
    assert "score tests on labelled answers" in page.read_text(encoding="utf-8")
    formulas = [f"{rate} ~ 1 + length + (1|system)" for rate in ("sensitivity", "specificity")]
    again = bj.accuracy(frame, formula=formulas, **quick)
    assert set(again.checks["columns"]["column"]) == {"colour", "topic"}
    assert not [text for text in again.warnings if "errors depend on" in text]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["item", "questionId"])
def test_numbers_of_questions_are_categories(name: str) -> None:
    """``item (original)`` had a z of its number, and a slope was offered."""
    frame = log().assign(response=lambda rows: rows["item"])
    question = pd.factorize(frame["item"])[0] % 8
    verdict = frame["verdict"].where(question != 3, 1).where(question != 5, 0)
    # Columns of one name take another's place.
    frame = frame.drop(columns="item").assign(verdict=verdict, **{name: question})
    table = bj.read_verdicts(frame, columns={"item": "response"})
    answer = bj.accuracy(table, **CHEAP | {"engine": "laplace", "compare": False})
    shown = "item (original)" if name == "item" else name
    assert answer.checks["columns"].set_index("column").loc[shown, "levels"] == 8
    (said,) = (text for text in answer.warnings if "errors depend on" in text)
    assert said.endswith(f"to learn how, --group {shlex.quote(shown)}")


def test_of_categories_a_group_is_offered() -> None:
    """With '1 + (1|topic) + (1|system)' for accuracy no system could be good at one topic and bad at another."""
    tested = pd.DataFrame({"column": ["my topic"], "judge": ["x"], "levels": [4.0], "z": [9.0], "holm": [0.0]})
    (said,) = _columns(tested, 3, complete=True)
    assert said.endswith("To learn how, --group 'my topic'")


@pytest.mark.slow
def test_the_page_has_the_groups_whoever_gives_their_rows(tmp_path: Path) -> None:
    for name, options in (("ours", {}), ("naive", {"models": [mine], "baselines": ["naive"]})):
        answer = bj.accuracy(log(), group="topic", **CHEAP | options)
        page = answer.to_html(tmp_path / f"{name}.html").read_text(encoding="utf-8")
        assert "Accuracy in each group" in page
        assert "a in law" in page


@pytest.mark.slow
@pytest.mark.parametrize("formulas", [(), by_group("topic", "partial", systems=2)], ids=["plain", "groups"])
def test_of_exactly_these_items_the_number_of_right_answers_is_whole(formulas: tuple[str, ...]) -> None:
    counts = count_verdicts(Verdicts.from_frame(log()), columns=["topic"])
    model = JudgeError(formulas=formulas)
    one = fit(model, counts, engine=Hmc(chains=2, draws=50, tune=100), progress=False)
    answers = np.array([counts.answers.n[counts.answers.model == code].sum() for code in range(2)])
    number = model.accuracy(one.posterior, one.data, population="items").to_numpy() * answers
    np.testing.assert_allclose(number, np.rint(number), atol=1e-9)  # of some hundred answers: 1e-16 of each
    assert len(np.unique(np.rint(number[..., 0]))) > 1
