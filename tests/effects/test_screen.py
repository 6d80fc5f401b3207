"""The screen of columns: finds what moves a judge's errors, and nothing in columns that were shuffled."""

from __future__ import annotations

import error_budget
import numpy as np
import pandas as pd
import pytest
from scipy import stats

from bayesjudge.counts.labelled_answers import ANSWER, labelled_answers
from bayesjudge.effects.screen import screen
from bayesjudge.tables import Verdicts

NUMBERS, CATEGORIES = ["length", "words"], ["topic", "tool"]


def log(seed: int, *, items: int = 150, systems: int = 2, slope: float = 0.0, shift: float = 0.0) -> pd.DataFrame:
    """Items with ability and length in common to all systems; half the items labelled."""
    rng = np.random.default_rng(seed)
    item, system = np.repeat(np.arange(items), systems), np.tile(np.arange(systems), items)
    length, hard = rng.normal(size=items)[item], rng.normal(size=items)[item]
    topic = rng.integers(0, 6, items)[item]
    label = rng.random(len(item)) < 1 / (1 + np.exp(-(0.8 + hard)))
    towards = slope * length + shift * (topic == 0) + 0.7 * rng.normal(size=items)[item]
    verdict = rng.random(len(item)) < 1 / (1 + np.exp(-(np.where(label, 1.6, -1.2) + towards)))
    words = np.round(100 * np.exp(rng.normal(size=len(item))))
    known = pd.Series(label.astype(int), dtype="Int8").where(item % 2 == 0)
    named = {"item": item, "model": np.array(list("abcde"))[system], "verdict": verdict * 1, "label": known}
    columns = {"length": length, "words": words, "topic": topic.astype(str), "tool": rng.choice(list("xyz"), len(item))}
    return pd.DataFrame({**named, **columns})


def screened(frame: pd.DataFrame) -> pd.DataFrame:
    # Columns are as they come: only what is needed of validation.
    answers = labelled_answers(Verdicts(frame.astype({"item": str}).assign(judge="judge", run="1")))
    return screen(answers, [name for name in answers if name not in ANSWER]).set_index("column")


@pytest.mark.parametrize(("effect", "column"), [({"slope": 1.0}, "length"), ({"shift": 3.0}, "topic")])
def test_what_moves_errors_comes_first(effect: dict[str, float], column: str) -> None:
    found = screened(log(1, items=400, **effect))
    assert found.index[0] == column
    assert found["holm"].iloc[0] < 1e-3
    assert (found["holm"].iloc[1:] > 1e-3).all()


def test_numbers_that_are_names_have_no_order() -> None:
    """Questions 1 to 20 had a slope."""
    frame = log(1, items=400, shift=3.0).replace({"topic": {"0": "2", "2": "0"}})
    answers = labelled_answers(Verdicts(frame.astype({"item": str}).assign(judge="judge", run="1")))
    number, names = (screen(answers, ["topic"], names=one).iloc[0] for one in ([], ["topic"]))
    assert pd.isna(number["levels"])
    assert names["levels"] == 6
    assert names["z"] > 4 > number["z"]


def test_a_number_moves_both_rates_towards_its_verdict() -> None:
    row = screened(log(2, items=400, slope=1.0)).loc["length"]
    assert row["sensitivity"] > 0 > row["specificity"]


@pytest.mark.slow
def test_columns_of_no_effect_are_rarely_found() -> None:
    """Answers of one item share what the judge thinks of it, and half the columns are the item's."""
    runs = 120
    alarms = sum((screened(log(seed))["holm"] < 0.05).any() for seed in range(runs))
    assert alarms / runs <= error_budget.binomial_bounds(runs, 0.05)[1]


def test_one_system_and_a_number_is_rao_s_score_test() -> None:
    """Two independent classes, each with its own U²/I: a textbook chi-squared on two degrees of freedom."""
    frame = log(3, items=2_000, systems=1)
    found = screened(frame).loc["words"]
    value = 0.0
    for _, part in frame.dropna(subset="label").groupby("label"):
        x, v = (part[name] - part[name].mean() for name in ("words", "verdict"))
        value += float((x @ v) ** 2 / (v.var() * x @ x))
    # Rounding to an eighth of a standard deviation, values cut at four of them, and V for I change it somewhat.
    assert found["z"] == pytest.approx(stats.norm.isf(stats.chi2.sf(value, 2) / 2), abs=0.35)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("constant", lambda _: 1),
        ("text", lambda frame: [f"a sentence, number {k}" for k in range(len(frame))]),
        ("score", lambda frame: frame["verdict"] + 0.3 * frame["length"].rank(pct=True)),
        ("in words", lambda frame: frame["verdict"].map({1: "good", 0: "bad"})),
        ("in words too", lambda frame: frame["label"].map({1: "right", 0: "wrong"})),
        ("grade", lambda frame: 2 * frame["label"] + frame.index % 2),
        ("grade in words", lambda frame: [f"grade {2 * y + k % 2}" for k, y in enumerate(frame["label"].fillna(0))]),
        ("right", lambda frame: (frame["verdict"] == frame["label"]).map({True: "yes", False: "no"})),
        ("distance", lambda frame: (frame["verdict"] - frame["label"]).abs() + 0.3 * frame["length"].rank(pct=True)),
        ("lists", lambda frame: [[k % 3] for k in range(len(frame))]),
        ("infinite", lambda frame: [np.inf if k % 2 else 1.0 for k in range(len(frame))]),
        ("empty", lambda _: None),
    ],
)
def test_columns_that_say_nothing_of_errors_are_left_out(name, values) -> None:
    frame = log(4)
    found = screened(frame.assign(**{name: values(frame)}))
    assert sorted(found.index) == sorted([*NUMBERS, *CATEGORIES])


def test_numbers_written_as_text_and_gaps_are_numbers() -> None:
    frame = log(5, slope=1.0)
    texts = frame["length"].map("{:.6f}".format).where(frame.index % 7 > 0)
    assert screened(frame.assign(length=texts)).loc["length", ["levels", "z"]].isna().tolist() == [True, False]


def test_a_column_of_single_runs_is_left_out_and_runs_are_averaged() -> None:
    frame = log(6)
    runs = pd.concat([frame.assign(run=k, seconds=frame["length"] + k) for k in (1, 2)])
    answers = labelled_answers(Verdicts.from_frame(runs))
    assert "seconds" not in answers
    assert len(answers) == len(frame.dropna(subset="label"))


def test_an_ibis_table_has_the_same_answers() -> None:
    table = Verdicts.from_frame(log(7))
    mine, theirs = labelled_answers(table), labelled_answers(table.to_ibis())
    pd.testing.assert_frame_equal(mine[sorted(mine)], theirs[sorted(mine)], check_dtype=False)
    without = labelled_answers(table.to_ibis().drop("label"))
    assert screen(without, []).empty
    nameless = labelled_answers(table.to_ibis().drop("judge"))
    pd.testing.assert_frame_equal(mine[sorted(mine)], nameless[sorted(mine)], check_dtype=False)
