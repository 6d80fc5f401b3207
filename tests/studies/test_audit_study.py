"""The audit question from a table to tables, pages and exit codes: flips only where they gain."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import error_budget
import numpy as np
import pandas as pd
import pytest
from jsonschema import Draft202012Validator
from rich.console import Console

from bayesjudge.baselines.audit import flip_nothing, partial_ot
from bayesjudge.baselines.elo.leaderboard import fit_judge, judge_beta
from bayesjudge.counts.battles.counts import count_battles
from bayesjudge.datasets import simulate_pairs
from bayesjudge.errors import InputError, UsageError
from bayesjudge.estimates import Estimates
from bayesjudge.inference import Gate, Laplace, fit
from bayesjudge.models.bradley_terry import BradleyTerry
from bayesjudge.models.verdict_agreement import VerdictAgreement
from bayesjudge.models.verdict_agreement.block_logistic import fit_blocks
from bayesjudge.models.verdict_agreement.features import features
from bayesjudge.plots import consistency_dots, sensitivity_curves, trust_map, trust_scores
from bayesjudge.readers import read_battles, read_pairs
from bayesjudge.report import Comparison, json_schema
from bayesjudge.report.terminal import show_answer
from bayesjudge.studies.audit import audit
from bayesjudge.studies.audit.guard import closed_guard, fast_audit, guard_of, make_folds
from bayesjudge.studies.audit.guidance import audit_warnings
from bayesjudge.studies.audit.held_out import compare_methods
from bayesjudge.studies.audit.tables import battle_table
from bayesjudge.tables import Pairs

MADE = simulate_pairs(seed=1, n=120, verified=80, dimensions=2)
SMALL: dict[str, Any] = {"draws": 200, "tune": 200, "chains": 2}


@pytest.fixture(scope="module")
def answer() -> Comparison:
    """Also the example of the function's page, so that its programs are compiled once."""
    return audit(MADE.pairs, **SMALL)


def with_columns(pairs: Pairs, **columns: Any) -> Pairs:
    return replace(pairs, frame=pairs.frame.assign(**columns))


def screen_of(answer: Comparison, width: int = 120, *, every: bool = False) -> str:
    seen = io.StringIO()
    show_answer(answer, every=every, console=Console(width=width, file=seen))
    return seen.getvalue()


# The answer


def test_every_unverified_verdict_has_its_trust(answer: Comparison) -> None:
    trust = answer.checks["trust"]
    hidden = ~MADE.pairs.verified
    assert trust["item"].tolist() == MADE.pairs.frame["item"][hidden].tolist()
    assert trust["trust"].between(0, 1).all()
    assert (trust["lower"] <= trust["trust"]).all()
    assert (trust["trust"] <= trust["upper"]).all()
    first = trust["judge_prefers"] == "a"
    np.testing.assert_allclose(trust["prob_a"], np.where(first, trust["trust"], 1 - trust["trust"]))


def test_flips_follow_the_guard_and_turn_the_preference(answer: Comparison) -> None:
    trust = answer.checks["trust"]
    want = (trust["trust"] < 0.5) if answer.settings["open"] else trust["trust"] < 0
    assert trust["flip"].tolist() == want.tolist()
    turned = trust["judge_prefers"] != trust["corrected"]
    assert turned.tolist() == trust["flip"].tolist()


@pytest.mark.parametrize("pays", [True, False])
def test_little_room_is_a_warning_only_where_flips_do_not_pay(pays: bool) -> None:
    pairs = with_columns(MADE.pairs, human_prefers=MADE.pairs.frame["judge_prefers"])
    guard = replace(closed_guard(pairs, seed=0), open=pays)
    checks = {"features": pd.DataFrame({"auc": [0.9]})}
    said = audit_warnings(pairs, guard, diagnostics=Estimates.from_rows([]), checks=checks)
    assert any("reversing verdicts rarely improves" in text for text in said) is not pays


def test_methods_stand_side_by_side_on_pairs_they_did_not_see(answer: Comparison) -> None:
    rows = answer.estimates.where(group="").frame
    held = rows[rows["estimand"] == "consistency (held out)"].set_index("method")["point"]
    baselines = {"judge", "partial-ot", "centroid", "neighbours", "random"}
    assert set(held.index) == {"bayes:verdict_agreement[both]", *baselines}
    assert held["judge"] == pytest.approx(MADE.pairs.agrees[MADE.pairs.verified].mean())
    for method, figures in answer.held_out.items():
        assert figures["after"] - figures["before"] == pytest.approx(figures["gain"])
        assert figures["n"] == 80, method
    assert {"auc", "precision of flips", "effect"} <= set(answer.diagnostics.frame["estimand"])


@pytest.mark.slow
def test_without_features_nothing_is_ranked() -> None:
    """Every verdict has one trust: an AUC of 0, since folds without agreements expect less, was shown as found."""
    rng = np.random.default_rng(4)
    people = np.where(rng.random(60) < 0.8, "a", "b")
    frame = pd.DataFrame({"item": range(80), "judge_prefers": "a", "human_prefers": [*people, *[None] * 20]})
    answer = audit(Pairs.from_frame(frame), engine="laplace", draws=200)
    rows = answer.diagnostics.where(estimand="auc").frame
    assert "bayes:verdict_agreement[both]" not in set(rows["method"])
    assert answer.held_out["bayes:verdict_agreement[both]"]["auc"] == 0.5


def test_what_drives_trust_is_listed(answer: Comparison) -> None:
    drivers = answer.checks["features"].set_index("feature")
    # The simulated judge likes long answers, and people do not.
    assert drivers.loc["length gap", "effect"] < -0.3
    assert drivers["auc"].between(0.5, 1).all()


def test_the_answer_is_json_of_the_schema(answer: Comparison) -> None:
    found = json.loads(answer.to_json())
    Draft202012Validator(json_schema()).validate(found)
    assert found["question"] == "audit"
    assert len(found["checks"]["trust"]) == 40


def test_the_screen_says_what_to_do(answer: Comparison) -> None:
    text = screen_of(replace(answer, gate=Gate(passed=True, reasons=(), figures=answer.gate.figures)))
    said = " ".join(text.split())
    assert "unverified verdicts are reversed" in said
    # The answer is no warning, and comes before them all.
    assert said.index("unverified verdicts are reversed") < said.index("warning")
    assert str(answer.settings["guard"]) not in answer.warnings
    for part in ("held-out flips", "right flips", "What drives trust", "Least trusted", "By category"):
        assert part in text
    assert "effect" in screen_of(answer, every=True).casefold()
    assert max(map(len, screen_of(answer, 80).splitlines())) <= 80


@pytest.mark.slow
def test_shares_without_peoples_ties_are_said_to_be_so() -> None:
    table = simulate_pairs(seed=1, n=60, verified=40, dimensions=2).pairs
    tied = pd.DataFrame({"pair_id": ["x", "y"], "judge_prefers": "a", "human_prefers": "tie"})
    log = pd.concat([pd.DataFrame({"pair_id": range(60), "judge_prefers": "a", "human_prefers": "a"}), tied])
    answers = [audit(one, engine="laplace", draws=100) for one in (log, table)]
    said = [[text for text in one.page().headline if "people prefer one" in text] for one in answers]
    assert said == [["Shares are of pairs of which people prefer one: 2 rows that people call ties are left out."], []]


def test_the_page_escapes_and_holds_every_figure(answer: Comparison, tmp_path: Path) -> None:
    text = answer.to_html(tmp_path / "page.html").read_text(encoding="utf-8")
    assert text.count("<svg") >= 8
    for part in ("What each method gains", "Trust in single verdicts", "How the answer moves"):
        assert part in text


def test_an_answer_whose_methods_could_not_be_compared_has_a_page(answer: Comparison) -> None:
    judge_only = answer.estimates.where(estimand=["consistency", "consistency (held out)"], group="")
    undefined = answer.checks["features"].assign(auc=np.nan)
    few = replace(answer, estimates=judge_only, checks={**answer.checks, "features": undefined})
    assert next(section.title for section in few.page().sections) == "What each method gains"
    assert "undefined" in screen_of(few)


def test_a_long_table_is_cut_on_the_page_and_whole_in_the_folder(answer: Comparison) -> None:
    long = pd.concat([answer.checks["trust"]] * 30, ignore_index=True)
    page = replace(answer, checks={**answer.checks, "trust": long}).page()
    captions = [table.caption for section in page.sections for table in section.tables]
    assert "Trust, the first 1000 of 1200 rows" in captions


@pytest.mark.slow
def test_saved_tables_hold_the_trust(answer: Comparison, tmp_path: Path) -> None:
    folder = answer.save(tmp_path / "out")
    trust = pd.read_csv(folder / "check_trust.csv")
    np.testing.assert_allclose(trust["trust"], answer.checks["trust"]["trust"])
    # The pairs name no models, so that there is nothing to rank.
    assert not (folder / "check_battles.csv").exists()


# Downstream: corrected preferences as soft targets of an Elo


#: Four models, people's log odds for each; a judge who is misled by length.
STRENGTHS = (0.9, 0.3, -0.3, -0.9)


def test_decisions_feed_an_elo_as_soft_targets() -> None:
    pairs = simulate_pairs(seed=3, verbosity=-2.5, dimensions=2, strengths=STRENGTHS).pairs
    model = VerdictAgreement()
    guard = guard_of(pairs, model.prepare(pairs), model, seed=0)
    found = fast_audit(pairs, model)
    table = battle_table(pairs, pd.DataFrame({"trust": found.scores}), guard, model)
    battles = read_battles(table)
    # The gap that Soft-Elo takes is the log odds that people prefer a; they end at .001 and .999.
    prob = table["prob_a"].clip(0.001, 0.999)
    want = np.log(prob) - np.log1p(-prob)
    np.testing.assert_allclose(battles.frame["gap"], want, atol=1e-6)
    assert battles.frame["human"].notna().sum() == pairs.verified.sum()

    counts = count_battles(battles)
    # Held-out probabilities are calibrated, so that people's votes ask for a temperature near one: its
    # standard error is about .13 with 200 votes, and ±.4 is three of them.
    assert judge_beta(counts, "judge") == pytest.approx(1, abs=0.4)
    assert np.argsort(-fit_judge(counts, "judge", "soft-elo").elo).tolist() == [0, 1, 2, 3]

    # A quantile of one in two thousand needs draws beyond it.
    ranked = fit(BradleyTerry(judge="judge"), counts, engine=Laplace(draws=2500))
    shown = ranked.estimates(prob=0.999).where(estimand="elo").frame.set_index("unit")
    truth = 1500 + 400 / np.log(10) * np.array(STRENGTHS)
    shown = shown.loc[[f"m{k}" for k in range(4)]]
    assert ((shown["lower"] < truth) & (truth < shown["upper"])).all()


@pytest.mark.slow
def test_battles_of_a_log_with_ties_hold_every_vote() -> None:
    made = simulate_pairs(seed=3, verbosity=-2.5, dimensions=2, strengths=STRENGTHS).pairs
    log = made.frame.drop(columns=["gap", "flip"]).assign(embedding_a=list(made.a), embedding_b=list(made.b))
    voted = log.index[log["human_prefers"].notna()]
    log.loc[voted[:40], "human_prefers"] = "tie"
    log.loc[voted[30:60], "judge_prefers"] = "tie"
    log.loc[voted[60:65], "judge_prefers"] = None
    answer = audit(log, engine="laplace", draws=100)
    battles = answer.checks["battles"]
    votes = battles.set_index("item")["human"].dropna()
    pd.testing.assert_series_equal(
        votes.sort_index(), log.set_index("item")["human_prefers"].dropna().sort_index(), check_names=False
    )
    prob = battles.set_index("item")["prob_a"].reindex(log["item"])
    by_rows = prob.to_numpy()[voted]
    assert (by_rows[30:60] == 0.5).all()
    assert np.isnan(by_rows[60:65]).all()
    assert ((by_rows[:30] > 0) & (by_rows[:30] < 1)).all()
    assert len(set(by_rows[:30])) > 25
    assert len(read_battles(battles)) == len(log)
    (said,) = (text for text in answer.warnings if text.startswith("the table battles, for elo,"))
    assert "has 65 pairs more than the audit" in said
    assert f"{len(voted)} votes of people, 40 of them ties" in said


def test_battles_of_one_question_stay_together() -> None:
    pairs = simulate_pairs(seed=3, dimensions=2, strengths=STRENGTHS).pairs
    question = pd.Series(np.arange(len(pairs)) // 4).astype(str)
    pairs = replace(pairs, frame=pairs.frame.assign(question=question))
    model = VerdictAgreement()
    guard = guard_of(pairs, model.prepare(pairs), model, seed=0)
    trust = pd.DataFrame({"trust": fast_audit(pairs, model).scores})
    (clusters,) = count_battles(read_battles(battle_table(pairs, trust, guard, model))).clusters
    assert (clusters.column, clusters.count()) == ("prompt", question.nunique())
    places = replace(pairs, frame=pairs.frame.assign(model_a="answer A", model_b="answer B"))
    assert not len(battle_table(places, trust, guard, model))


@pytest.mark.slow
def test_what_sensitivity_could_not_be_had_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["bayesjudge.studies.audit.tables"], "MOST_AGAIN", 0)
    crowded = audit(MADE.pairs, **SMALL)
    messages = [text for text in crowded.warnings if text.startswith("no sensitivity to the share s")]
    assert len(messages) == 1
    assert messages[0].endswith("are too many to solve again")
    assert "share" not in crowded.checks
    assert "verified" in crowded.checks


@pytest.mark.slow
def test_equal_seeds_give_equal_answers(answer: Comparison) -> None:
    again = audit(MADE.pairs, **SMALL)
    pd.testing.assert_frame_equal(again.checks["trust"], answer.checks["trust"])
    pd.testing.assert_frame_equal(again.estimates.frame, answer.estimates.frame)


# The guard


def test_the_guard_opens_where_flips_gain_and_shuts_where_nothing_tells() -> None:
    model = VerdictAgreement()
    clear = simulate_pairs(seed=1, n=400, verified=200, verbosity=-3.0)
    found = fast_audit(clear.pairs, model)
    right = clear.agrees[found.rows]
    assert found.figures["open"]
    assert np.where(found.flips, 1 - right, right).mean() > right.mean() + 0.1
    noise = simulate_pairs(seed=2, n=400, verified=200, intercept=1.5, verbosity=0.0, quality=0.0)
    shut = fast_audit(noise.pairs, model)
    assert not shut.figures["open"]
    assert not shut.flips.any()
    assert shut.warnings[0].startswith("flip nothing, because")


def test_row_order_changes_no_decision() -> None:
    pairs = simulate_pairs(seed=1, n=300, verified=150).pairs
    order = np.random.default_rng(1).permutation(300)
    one, other = (fast_audit(part, VerdictAgreement()) for part in (pairs, pairs.take(order)))
    place = {row: k for k, row in enumerate(one.rows)}
    same = [place[order[row]] for row in other.rows]
    # EM stops when log odds move by less than 1e-3.
    np.testing.assert_allclose(other.scores, one.scores[same], atol=1e-3)
    assert other.figures["wins"] == one.figures["wins"]


def test_unguarded_flips_are_there_for_the_asking() -> None:
    found = fast_audit(MADE.pairs, VerdictAgreement(), guarded=False)
    np.testing.assert_array_equal(found.flips, found.scores < 0.5)


def test_whole_questions_are_held_out_where_the_others_are_unseen() -> None:
    pairs = simulate_pairs(seed=3, n=200, verified=100).pairs
    question = np.where(pairs.verified, np.arange(200) % 8, 100 + np.arange(200) % 20).astype(str)
    few = with_columns(pairs, question=question)
    split = make_folds(few, folds=4, seed=0)
    assert split.by_question
    known = split.fold >= 0
    for fold in range(split.number):
        inside = set(split.question[split.fold == fold])
        assert not inside & set(split.question[known & (split.fold != fold)])
    model = VerdictAgreement()
    guard = guard_of(few, model.prepare(few), model, seed=0)
    assert not guard.open
    assert "only 8 questions are verified" in guard.reason


def test_random_folds_where_questions_are_shared_or_single() -> None:
    pairs = simulate_pairs(seed=3, n=60, verified=30).pairs
    assert not make_folds(pairs, folds=5, seed=0).by_question
    shared = with_columns(pairs, question=np.resize(list("xyz"), 60))
    assert not make_folds(shared, folds=5, seed=0).by_question


def test_directions_are_as_many_as_verified_questions_can_teach() -> None:
    pairs = simulate_pairs(seed=1, n=400, verified=100, dimensions=24).pairs
    question = np.where(pairs.verified, np.cumsum(pairs.verified) % 30, 30 + np.arange(400) % 80)
    unseen = with_columns(pairs, question=question.astype(str))
    found = features(unseen)
    # 30 verified questions, one direction for ten.
    assert [name for name in found.names if name.startswith("direction")] == [f"direction {k}" for k in (1, 2, 3)]
    assert "3 of 32 directions" in found.warnings[0]
    seen = with_columns(pairs, question=(np.arange(400) % 30).astype(str))
    assert sum(name.startswith("direction") for name in features(seen).names) == 24


def test_the_fast_path_believes_the_data_on_average() -> None:
    # With many effects the mode's probabilities, averaged over its curvature, lie nearer ½ (.851 for .88).
    rng = np.random.default_rng(0)
    x = rng.normal(size=(100, 60))
    y = (rng.random(100) < 0.85).astype(float)
    found = fit_blocks(x, y, block=np.zeros(60, int), prior_scale=np.array([0.5]))
    # The intercept's expected score is 0: what is left is its prior's pull. Steps end at .001 in log odds.
    pull = found.mean[0] / (len(y) * 1.5**2)
    assert found.probability(x).mean() == pytest.approx(y.mean() - pull, abs=1e-3)


def test_pairs_with_one_embedding_are_never_flipped() -> None:
    clear = simulate_pairs(seed=1, n=400, verified=200, verbosity=-3.0).pairs
    same = replace(clear, b=clear.a.copy())
    found = fast_audit(same, VerdictAgreement())
    assert (found.scores < 0.5).any()
    assert not found.flips.any()


def test_the_fast_path_recovers_a_plain_logistic_regression() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(4000, 3))
    truth = np.array([1.0, -0.5, 0.0])
    y = (rng.random(4000) < 1 / (1 + np.exp(-(0.3 + x @ truth)))).astype(float)
    found = fit_blocks(x, y, block=np.array([0, 0, 1]), prior_scale=np.array([2.0, 2.0]))
    spread = np.sqrt(np.diag(found.covariance))
    # Shrinkage moves less than one standard error.
    most = 1 + error_budget.standard_errors(3)
    assert (np.abs(found.mean - [0.3, *truth]) < most * spread).all()
    assert found.scale[0] > 5 * found.scale[1]


# Edges


def test_a_method_that_a_fold_leaves_nothing_to_work_on_is_told_and_left_out() -> None:
    pairs = simulate_pairs(seed=1, n=40, verified=10, dimensions=2).pairs
    human = pairs.frame["judge_prefers"].map({"a": "b", "b": "a"}).where(pairs.verified)
    wrong = with_columns(pairs, human_prefers=human)

    model = VerdictAgreement()
    guard = guard_of(wrong, model.prepare(wrong), model, seed=0, folds=2)
    methods = {"partial-ot": partial(partial_ot, anchors="agreements"), "judge": flip_nothing}
    frame, messages = compare_methods(wrong, methods, guard, label="model")
    assert set(frame["method"]) == {"model", "judge"}
    assert messages[0].startswith("partial-ot left out of the comparison: no verified pair that people agree with")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"folds": 1}, "folds=1"),
        ({"share": 0.0}, "share=0.0"),
        ({"prob": 1.0}, "prob=1.0"),
        ({"engine": "magic"}, "engine='magic'"),
        ({"labels": "positives"}, "needs reviewed="),
        ({"judge": "nobody"}, "no judge 'nobody'"),
        ({"judge": ""}, "no judge ''"),
        ({"features": ("colour",)}, "no feature 'colour'"),
    ],
)
def test_options_that_cannot_be_are_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        audit(MADE.pairs, **options)


VERIFIED = simulate_pairs(seed=1, n=80, verified=80, dimensions=2, verbosity=-2.5, flips=0.3).pairs


@pytest.fixture(scope="module")
def wholly_verified() -> Comparison:
    return audit(VERIFIED, **SMALL)


def test_a_wholly_verified_log_is_answered_and_nothing_is_flipped(wholly_verified: Comparison) -> None:
    pairs = VERIFIED
    row = wholly_verified.estimates.where(estimand="consistency", unit="verified").frame.iloc[0]
    assert row["point"] == pytest.approx(pairs.agrees.mean())
    assert row["lower"] < row["point"] < row["upper"]
    assert row["n"] == 80
    trust = wholly_verified.checks["trust"]
    assert trust["item"].tolist() == pairs.frame["item"].tolist()
    assert trust["trust"].between(0, 1).all()
    assert (trust["lower"] <= trust["trust"]).all()
    assert (trust["trust"] <= trust["upper"]).all()
    assert not trust["flip"].any()
    # The guard says what it would do elsewhere, and its folds are the table of held-out pairs.
    assert wholly_verified.settings["open"]
    own = wholly_verified.held_out["bayes:verdict_agreement[both]"]
    held = wholly_verified.checks["held_out"]
    mine = held[held["method"] == "bayes:verdict_agreement[both]"]
    mine = mine.drop_duplicates(["item", "agrees"]).set_index(["item", "agrees"])["score"]
    np.testing.assert_array_equal(mine.loc[list(zip(trust["item"], pairs.agrees, strict=True))], trust["trust"])
    wins, all_flips = (
        float(text) for text in re.findall(r"([\d.]+) of ([\d.]+)", wholly_verified.settings["guard"])[0]
    )
    assert own["gain"] == pytest.approx((2 * wins - all_flips) / 80)
    assert {"effect", "auc"} <= set(wholly_verified.diagnostics.frame["estimand"])
    assert len(wholly_verified.checks["reliability"])
    assert {"share", "verified"} <= set(wholly_verified.checks)


@pytest.mark.slow
def test_a_wholly_verified_log_has_its_screen_and_page(wholly_verified: Comparison, tmp_path: Path) -> None:
    passed = replace(wholly_verified, gate=replace(wholly_verified.gate, passed=True, reasons=()))
    said = " ".join(screen_of(passed).split())
    assert "Every pair is verified, so no verdict is reversed. On other pairs like these, flipping pays:" in said
    assert "Consistency when verified" in said
    assert "unverified verdicts" not in said
    failed = replace(passed, gate=replace(passed.gate, passed=False, reasons=("R-hat is 2",)))
    assert "Reverse nothing: people agree with" in " ".join(screen_of(failed).split())
    text = passed.to_html(tmp_path / "page.html").read_text(encoding="utf-8")
    assert "of the verified verdicts as they are" in text


def test_nothing_verified_is_refused() -> None:
    with pytest.raises(InputError, match="no verified pair"):
        audit(MADE.pairs.hide(np.ones(120, dtype=bool)))


@pytest.mark.slow
def test_one_class_without_embeddings_is_a_warned_answer() -> None:
    frame = MADE.pairs.frame.drop(columns=["category"])
    same = frame["judge_prefers"].where(MADE.pairs.verified)
    answer = audit(Pairs.from_frame(frame.assign(human_prefers=same)), **SMALL)
    text = " ".join(answer.warnings)
    assert "people agree with every verified verdict" in text
    assert "no embeddings" in text
    assert not answer.checks["trust"]["flip"].any()
    assert "partial-ot" not in answer.held_out
    screen_of(answer)
    answer.page()


@pytest.mark.slow
def test_positives_alone_flip_nothing_and_say_so() -> None:
    human = MADE.pairs.frame["human_prefers"].where(MADE.pairs.agrees == 1)
    answer = audit(with_columns(MADE.pairs, human_prefers=human), labels="positives", reviewed=0.6, **SMALL)
    assert not answer.checks["trust"]["flip"].any()
    assert any("only agreements were recorded" in text for text in answer.warnings)
    assert not answer.held_out
    screen_of(answer)
    answer.page()


@pytest.mark.slow
def test_attacks_are_answered_by_kind(tmp_path: Path) -> None:
    pairs = simulate_pairs(seed=6, n=200, verified=150, dimensions=4).pairs
    plain = pairs.frame.assign(attack="none")
    hit = plain.assign(attack="length", judge_prefers=np.resize(["a", "b"], 200))
    both = Pairs.from_frame(
        pd.concat([plain, hit], ignore_index=True), a=np.tile(pairs.a, (2, 1)), b=np.tile(pairs.b, (2, 1))
    )
    answer = audit(both, **SMALL)
    kinds = set(answer.estimates.frame["estimand"])
    assert {"consistency (none)", "consistency (length)"} <= kinds
    assert "After each attack" in screen_of(answer)
    assert "Attacks" in answer.to_html(tmp_path / "page.html").read_text(encoding="utf-8")


# Figures that have nothing to draw


@pytest.mark.parametrize(
    "draw",
    [
        lambda: trust_scores(pd.DataFrame()),
        lambda: trust_map(pd.DataFrame({"trust": [0.5]})),
        lambda: sensitivity_curves(pd.DataFrame(), over="share", xlabel="s"),
        lambda: consistency_dots(pd.DataFrame({"estimand": ["x"]}), panels=["y"]),
    ],
)
def test_figures_say_that_there_is_nothing_to_draw(draw: Callable[[], object]) -> None:
    with pytest.raises(UsageError, match=r"there (are|is) no"):
        draw()


# The command


def test_simulated_pairs_can_be_read_back(tmp_path: Path) -> None:
    from bayesjudge.cli import main

    with pytest.raises(SystemExit) as left:
        main(["simulate", "pairs", str(tmp_path / "p.jsonl"), "--pairs", "30", "--verified", "10", "--seed", "1"])
    assert left.value.code == 0
    pairs = read_pairs(tmp_path / "p.jsonl")
    assert (len(pairs), int(pairs.verified.sum()), pairs.dimensions) == (30, 10, 24)


@pytest.mark.slow
def test_the_command_reads_a_table_and_its_embeddings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from bayesjudge.cli import main

    pairs = MADE.pairs
    pairs.frame.drop(columns=["gap"]).to_csv(tmp_path / "pairs.csv", index=False)
    np.savez(
        tmp_path / "e.npz", item_id=pairs.frame["item"].to_numpy(dtype=str), response_a=pairs.a, response_b=pairs.b
    )
    line = [
        "audit",
        str(tmp_path / "pairs.csv"),
        "--embeddings",
        str(tmp_path / "e.npz"),
        "--draws",
        "200",
        "--chains",
        "2",
        "--json",
        "--quiet",
        "--html",
        str(tmp_path / "page.html"),
    ]
    with pytest.raises(SystemExit) as left:
        main(line)
    assert left.value.code == 0
    found = json.loads(capsys.readouterr().out)
    assert len(found["checks"]["trust"]) == 40
    assert (tmp_path / "page.html").is_file()
    with pytest.raises(SystemExit) as refused:
        main(["audit", str(tmp_path / "pairs.csv"), "--embeddings", str(tmp_path / "no.npz")])
    assert refused.value.code == 2
    assert "no such file" in capsys.readouterr().err


@pytest.mark.slow
def test_the_benchmark_runs(shared_data: Path, tmp_path: Path) -> None:
    script = Path(__file__).resolve().parents[2] / "benchmarks" / "audit.py"
    small = ["--splits", "1", "--posteriors", "0", "--points", "200", "--settings", "llmbar ChatGPT Vanilla"]
    line = [sys.executable, str(script), *small, "--data", str(shared_data), "--out", str(tmp_path / "a.json")]
    subprocess.run(line, check=True, capture_output=True, cwd=script.parent)
    found = json.loads((tmp_path / "a.json").read_text())
    rows = {row["method"]: row for row in found["overall"] if row["design"] == "pairs"}
    # A judge right in less than half of the pairs: flips gain on any split.
    assert rows["bayes:verdict_agreement[both]"]["gain"] > 5
    assert rows["flip-nothing"]["gain"] == 0


@pytest.mark.slow
def test_a_judge_that_follows_the_order_alone_gives_nothing_to_reverse() -> None:
    """Rounding errors of P = ½ gave the label away: 30 of 30 held-out flips were right where labels were tossed."""
    labels = np.random.default_rng(0).choice(["a", "b"], 60)
    rows = [
        {"item": f"q{k}", "judge": "j", "order": order, "judge_prefers": first, "human_prefers": label}
        for k, label in enumerate(labels)
        for order, first in (("ab", "a"), ("ba", "b"))
    ]
    # Pairs judged in one order alone leave features, by which nothing is known either.
    for frame in (pd.DataFrame(rows), pd.DataFrame(rows).drop(index=range(0, 20, 2))):
        found = audit(Pairs.from_frame(frame), engine="laplace", draws=100)
        assert str(found.settings["guard"]).startswith("flip nothing")
        held = found.estimates.where(estimand="consistency (held out)").frame.set_index("method")["point"]
        assert held.filter(like="bayes:").iloc[0] < 0.6
