"""The Elo question from a log of battles to table, screen, page and files."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pandas as pd
import pytest
from rich.console import Console
from typer.testing import CliRunner

import bayesjudge as bj
from bayesjudge import cli
from bayesjudge.counts.battles.counts import count_battles
from bayesjudge.datasets import BattleDesign, simulate_battles
from bayesjudge.errors import UsageError
from bayesjudge.estimates import Estimates
from bayesjudge.maths.bradley_terry import PER_LOGIT
from bayesjudge.models.judge_elo import JudgeElo
from bayesjudge.options import EloOptions
from bayesjudge.report import Comparison, json_schema, render_page
from bayesjudge.report.elo.headline import about_intervals
from bayesjudge.report.terminal import show_answer
from bayesjudge.studies.elo.guidance import elo_warnings, order_warnings, place_warnings
from bayesjudge.studies.elo.held_out import ESTIMAND, predict_held_out, scores_of
from bayesjudge.tables import Battles

PEOPLE = BattleDesign(strengths=(0.8, 0.0, -0.8), battles=400, judges=0)
CHEAP: dict[str, Any] = {"draws": 300, "tune": 300, "bootstrap": 200}


@pytest.fixture(scope="module")
def people() -> Comparison:
    log = simulate_battles(seed=1, design=PEOPLE)
    return bj.elo(log.battles, truth=PEOPLE.truth, **CHEAP)


@pytest.mark.slow
def test_what_a_page_shows_of_many_judges_is_said_next_to_it() -> None:
    log = simulate_battles(seed=1, design=BattleDesign(strengths=(0.5, -0.5), battles=60, judges=4)).battles.frame
    answer = bj.elo(log.drop(columns="human"), engine="laplace", draws=600, bootstrap=50)
    page = answer.page()
    assert page.title == "Elo of 2 models by the verdicts of 4 judges"
    assert page.table is not None
    assert page.table.caption == "Elo, 95 % intervals, the first 3 of 4 judges; all are below"
    first = next(iter(answer.ranks["judge"]))
    assert page.table.frame.columns[1] == f"Bayesian (Bradley–Terry) by {first}"


def shown(answer: Comparison, **options: Any) -> str:
    console = Console(file=io.StringIO(), width=120)
    show_answer(answer, console=console, **options)
    return console.file.getvalue()  # type: ignore[attr-defined] # a StringIO, made above


def test_people_alone_get_both_intervals_beside_the_truth(people: Comparison) -> None:
    rows = people.estimates.where(estimand="elo").frame
    assert set(rows["method"]) == {"bayes:bradley_terry[human]", "hard-elo"}
    assert rows["truth"].notna().all()
    bayes, hard = (part["point"].to_numpy() for _, part in rows.groupby("method", sort=False))
    # One likelihood but for the tie model and a weak prior: a few points of Elo apart.
    np.testing.assert_allclose(bayes, hard, atol=15)


def test_models_are_ranked_best_first_and_who_beats_whom_adds_up(people: Comparison) -> None:
    assert people.ranks["model"].tolist() == ["m0", "m1", "m2"]
    beats = people.checks["beats"].set_index("model")[["m0", "m1", "m2"]]
    both = beats.to_numpy() + beats.to_numpy().T
    np.testing.assert_allclose(both[np.triu_indices(3, 1)], 1.0)


def test_the_answer_keeps_its_schema(people: Comparison) -> None:
    found = json.loads(people.to_json())
    jsonschema.validate(found, json_schema())
    assert found["question"] == "elo"
    assert "held_out" not in found


def test_the_screen_is_a_leaderboard(people: Comparison) -> None:
    text = shown(people)
    lines = [line.split()[0] for line in text.splitlines() if line.strip().startswith("m") and "[" in line]
    assert [name for name in lines if name != "model"] == ["m0", "m1", "m2"]
    assert text.index("leads with Elo") < text.index("on the human scale")
    assert "on the human scale" in text
    assert "P(best)" in text
    assert "difference" in shown(people, every=True).lower()


@pytest.mark.slow
def test_the_page_tells_the_same(people: Comparison) -> None:
    page = render_page(people.page())
    for words in ("Leaderboard", "Who beats whom", "m0 leads with Elo", "hard-elo"):
        assert words in page


@pytest.mark.slow
def test_every_table_and_posterior_is_written(people: Comparison, tmp_path: Path) -> None:
    folder = people.save(tmp_path / "out")
    names = {path.name for path in folder.iterdir()}
    assert {"estimates.csv", "ranks.csv", "check_beats.csv", "answer.json"} <= names
    assert bj.load_fit(next(folder.glob("*.nc"))).model.name == "bradley_terry"


def counted(**changes: Any) -> Any:
    design = BattleDesign(**{"strengths": (0.5, 0.0, -0.5), "battles": 200, **changes})
    return count_battles(simulate_battles(seed=2, design=design).battles)


@pytest.mark.slow
def test_a_covariate_is_told_on_the_screen_and_has_an_elo_of_its_own() -> None:
    frame = simulate_battles(seed=1, design=PEOPLE).battles.frame.drop(columns="gap")
    style = np.random.default_rng(1).integers(-2, 3, len(frame))
    battles = Battles.from_frame(frame.assign(style=style))
    answer = bj.elo(battles, covariates="style", engine="laplace", **CHEAP)
    assert "bayes:bradley_terry[human,style]" in set(answer.estimates.frame["method"])
    text = shown(answer)
    assert "Effects of the answers' differences" in text
    assert "logits for a difference of 1.4" in text


def test_a_judge_who_prefers_a_column_is_told_when_the_order_is_not_known() -> None:
    frame = simulate_battles(seed=1, design=BattleDesign(battles=200, position=2.0)).battles.frame
    frame = frame.drop(columns="gap")
    always = Battles.from_frame(frame.assign(verdict=1.0, order=pd.NA))
    (told,) = order_warnings(always)
    assert told.startswith("judge j0 prefers model_a in 100% of its verdicts")
    assert "order='ab'" in told
    assert order_warnings(always, judges=["another"]) == order_warnings(always, judges="another") == []
    assert order_warnings(always, judges=["j0"]) == [told]
    assert order_warnings(Battles.from_frame(frame)) == []
    # Against one baseline, which is model_a of each battle, that column's verdicts are the baseline's.
    baseline = frame.assign(model_a="baseline", model_b=frame["model_b"].radd("m"), verdict=1.0, order=pd.NA)
    assert order_warnings(Battles.from_frame(baseline)) == []


@pytest.mark.slow
def test_letters_of_places_taken_for_models_are_asked_about(tmp_path: Path) -> None:
    """A judge of 160 real pairs preferred x with probability .91, where with letters as places y led."""
    said_in = [("tie", "tie"), ("A", "B"), ("A", "B"), ("B", "A")]
    rows = [(f"q{k}", *cell) for k in range(40) for cell in zip(("ab", "ba"), said_in[k % 4], strict=True)]
    frame = pd.DataFrame(rows, columns=["item", "order", "says"]).assign(model_a="x", model_b="y", judge="heron")
    frame.to_csv(tmp_path / "log.csv", index=False)

    def said(**reading: Any) -> list[str]:
        warnings = bj.elo(bj.read_battles(tmp_path / "log.csv", **reading), engine="laplace", **CHEAP).warnings
        return [text for text in warnings if "turn with the order" in text]

    (warning,) = said(columns={"verdict": "says"})
    assert warning.startswith("judge heron: verdicts turn with the order on 30 of 30 battles judged in both orders")
    assert "--wide shown:order=COLUMN in place of --column verdict=COLUMN" in warning
    assert said(wide="shown:order=says") == []


@pytest.mark.slow
def test_people_who_prefer_a_place_are_said_where_models_were_not_equally_often_there() -> None:
    rng = np.random.default_rng(5)
    models = np.array([*"abcd"])

    def votes(lean: float, first: str) -> Battles:
        """Four equal models; the one called ``first`` is shown first in its battles."""
        pair = np.stack([rng.choice(models, 2, replace=False) for _ in range(3000)])
        pair = np.where((pair[:, 1] == first)[:, None], pair[:, ::-1], pair)
        wins = rng.random(3000) < 1 / (1 + np.exp(-lean))
        rows = {"model_a": pair[:, 0], "model_b": pair[:, 1], "order": "ab", "human": np.where(wins, "a", "b")}
        return Battles.from_frame(pd.DataFrame({"item": np.arange(3000).astype(str), **rows}))

    (said,) = place_warnings(count_battles(votes(0.4, "b")))
    # On two equal models the first wins .6; b, always shown there, gains .4 logits on the others, .3 on the mean.
    found = re.search(r"shown first \((\d+)%.*: b has (\d+) Elo fewer", said)
    assert found is not None
    assert int(found[1]) == pytest.approx(60, abs=2)
    assert int(found[2]) == pytest.approx(0.3 * PER_LOGIT, abs=15)
    assert place_warnings(count_battles(votes(0.4, "none"))) == []
    assert place_warnings(count_battles(votes(0.0, "b"))) == []


@pytest.mark.slow
def test_clusters_are_those_of_peoples_votes() -> None:
    """A verdict has no voter: it stands with its item, and no item is a voter."""
    both = simulate_battles(seed=2, design=BattleDesign(battles=120)).battles.frame.drop(columns=["voter", "gap"])
    votes = both.drop(columns=["verdict", "judge"]).dropna(subset="human")
    votes["voter"] = np.arange(len(votes)) % 9
    log = pd.concat([votes, both.drop(columns="human")])
    answer = bj.elo(log, cluster="voter", models=["bradley_terry"], engine="laplace", **CHEAP)
    assert answer.settings["clusters"] == {"voter": 9}
    assert "these battles have 9 voters" in about_intervals(answer)


def test_votes_that_cannot_be_hidden_are_named() -> None:
    options = EloOptions(**CHEAP)
    with pytest.raises(UsageError, match="needs both"):
        predict_held_out(counted(judges=0), ["all"], options)
    with pytest.raises(UsageError, match="no model 'x'"):
        predict_held_out(counted(), ["x"], options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"prob": 2}, "between 0 and 1"),
        ({"bootstrap": 1}, "no spread"),
        ({"setting": "both"}, "forward, as-in-paper"),
        ({"battle_effect": True}, "now always on"),
    ],
)
def test_options_are_looked_at_first(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        bj.elo("no-such-file.csv", **options)


def test_no_judge_and_no_votes_is_nothing_to_rank() -> None:
    with pytest.raises(UsageError, match="no judge selected"):
        bj.elo(counted(voted=0.0), judges=[])


def diagnostic(estimand: str, point: float, half: float = 0.01, **more: Any) -> dict[str, Any]:
    return {
        "estimand": estimand,
        "unit": "j0",
        "judge": "j0",
        "method": "x",
        "point": point,
        "lower": point - half,
        "upper": point + half,
        **more,
    }


def warned(rows: list[dict[str, Any]], counts: Any, *, estimates: list[dict[str, Any]] | None = None) -> list[str]:
    nothing = {
        "predictive": pd.DataFrame({"flagged": [False]}),
        "sensitivity": pd.DataFrame({"prior_sensitive": [False]}),
    }
    return elo_warnings(counts, Estimates.from_rows(estimates or []), Estimates.from_rows(rows), nothing, {})


@pytest.mark.slow
@pytest.mark.parametrize(
    ("row", "words"),
    [
        (diagnostic("beta", 0.13, note="low: an ordinary gap is worth little"), "low temperature"),
        (diagnostic("sign_conflict[tie]", 0.3, note="mean |gap| there 1"), "30% of verdicts with a score gap"),
        (diagnostic("first_preferred", 0.86), "shown first in 86%"),
        (diagnostic("slope", 0.28), "compresses the scale"),
        (diagnostic("slope", 1.6), "stretches the scale"),
        (diagnostic("gap_agreement_correlation", 0.02, note="flat: a gap says little"), "flat"),
    ],
)
def test_a_poor_judge_is_told(row: dict[str, Any], words: str) -> None:
    (found,) = warned([row], counted())
    assert words in found


def test_a_good_judge_is_not() -> None:
    rows = [diagnostic("beta", 0.4), diagnostic("first_preferred", 0.55), diagnostic("slope", 1.0)]
    assert warned(rows, counted()) == []


def test_without_votes_the_scale_is_the_judges() -> None:
    assert "own scale" in warned([], counted(voted=0.0))[0]


def by_prompt(pairs: Iterable[tuple[int, int]], *, seed: int) -> pd.DataFrame:
    """One person's votes on answers that have a quality each: along a chain, errors of neighbours cancel."""
    rng = np.random.default_rng(seed)
    quality = np.linspace(1.2, -1.2, 10) + rng.normal(0, 0.6, (100, 10))
    away = {(p, i, k): quality[p, i] - quality[p, k] for p in range(100) for i, k in pairs}
    rows = [
        (f"{p} {i} {k}", p, f"m{i}", f"m{k}", (np.sign(gap) * (abs(gap) > 0.7) + 1) / 2)
        for (p, i, k), gap in away.items()
    ]
    return pd.DataFrame(rows, columns=["item", "prompt", "model_a", "model_b", "human"])


#: What the name of a method says of strengths that do not pool.
_UNPOOLED = ", strength~LogNormal(7.46, 0.1)"


@pytest.mark.slow
@pytest.mark.parametrize("linked", ["in a chain", "all"])
def test_the_prior_draws_no_models_together(linked: str) -> None:
    """Along a chain independent votes would say far less of far models than Hard-Elo's clustered errors do."""
    pairs = [(i, k) for k in range(10) for i in range(k) if linked == "all" or k == i + 1]
    answer = bj.elo(by_prompt(pairs, seed=1), engine="laplace")
    assert not [text for text in answer.warnings if "few pairs link the models" in text]
    rows = answer.estimates.where(estimand="elo").frame
    width = (rows["upper"] - rows["lower"]).groupby([rows["method"].str.replace(_UNPOOLED, ""), rows["unit"]]).first()
    # Draws that are only widened are 1.45 times as wide on average along the chain.
    assert (width["bayes:bradley_terry[human]"] / width["hard-elo"]).between(0.8, 1.3).all()


@pytest.mark.slow
def test_strengths_that_few_pairs_link_do_not_pool() -> None:
    """Neighbours on the leaderboard differ by .27 logits, its ends by 3."""
    rng, strength = np.random.default_rng(3), np.linspace(1.5, -1.5, 12)
    won = rng.random((11, 40)) < 1 / (1 + np.exp(strength[1:] - strength[:-1]))[:, None]
    rows = [(f"{k} {n}", f"m{k}", f"m{k + 1}", float(won[k, n])) for k, n in np.ndindex(won.shape)]
    log = pd.DataFrame(rows, columns=["item", "model_a", "model_b", "human"])
    default = JudgeElo().priors["strength"].default
    for given, pools in (({}, False), *(({"priors": {"strength": prior}}, True) for prior in (str(default), default))):
        answer = bj.elo(log, engine="laplace", **given)
        elo = answer.estimates.where(estimand="elo").frame.query("method.str.startswith('bayes')").set_index("unit")
        truth = 1500 + PER_LOGIT * pd.Series(strength, [f"m{k}" for k in range(12)])[elo.index]
        inside = truth.between(elo["lower"], elo["upper"])
        assert inside.sum() <= 6 if pools else inside.all()
        assert any("compared in few pairs, as in a chain" in text for text in answer.warnings) is not pools


@pytest.mark.slow
@pytest.mark.parametrize("voted", [True, False])
def test_parts_that_never_met_have_a_leader_each(voted: bool) -> None:
    """c, which beats d nearly always, does not lead a, which it never met."""
    pairs = [("a", "b", 0.7), ("a", "e", 0.7), ("b", "e", 0.5), ("c", "d", 0.95)]
    rows = [(f"{a} {b} {k}", a, b, float(k < 40 * share)) for a, b, share in pairs for k in range(40)]
    log = pd.DataFrame(rows, columns=["item", "model_a", "model_b", "human" if voted else "verdict"])
    answer = bj.elo(log if voted else log.assign(judge="j"), engine="laplace")
    parts, led, *_ = answer.page().headline[0 if voted else 1 :]
    before = "The" if voted else "By j's verdicts alone, the"
    assert parts.startswith(f"{before} battles fall into 2 parts that never met: no battle says how models of two")
    assert led.startswith("a leads its part of 3 models with Elo ")
    assert "; c leads its part of 2 models with Elo " in led
    gaps = answer.estimates.where(estimand="difference").frame.query("method.str.startswith('bayes')").set_index("unit")
    width = gaps["upper"] - gaps["lower"]
    # Between parts the prior alone says how models compare: by the spread of strengths, of about a logit.
    assert width["a − c"] > 400
    assert width["a − b"] < 300
    assert answer.settings["parts"] == {"" if voted else "j": [["a", "b", "e"], ["c", "d"]]}


def test_models_that_the_prior_draws_together_are_named() -> None:
    row = {"estimand": "elo", "lower": 1500.0, "upper": 1600.0}
    hard = [row | {"unit": unit, "method": "hard-elo", "point": 1550.0} for unit in "ab"]
    bayes = [row | {"unit": unit, "method": "bayes:bradley_terry[human]", "point": 1590.0} for unit in "ab"]
    assert warned([], counted(), estimates=[*hard, *bayes]) == []
    (found,) = warned([], counted(), estimates=[*hard, bayes[0] | {"point": 1480.0}, bayes[1]])
    assert found.startswith("people: the Bayesian Elo of 1 of 2 models lies outside Hard-Elo's interval")
    assert "most for a, -70" in found


@pytest.mark.slow
@pytest.mark.parametrize(("judges", "said"), [(2, False), (3, True)])
def test_several_judges_of_few_models_are_warned_of(judges: int, said: bool) -> None:
    log = simulate_battles(
        seed=1, design=BattleDesign(strengths=(0.8, 0.4, 0.0, -0.4, -0.8), battles=150, judges=judges)
    )
    answer = bj.elo(log.battles, models=["judge_elo"], engine="laplace", draws=100, bootstrap=0)
    assert any(f"deviations of {judges} judges" in text for text in answer.warnings) is said


@pytest.mark.slow
@pytest.mark.parametrize(
    ("judges", "without", "first"), [(2, "", "judge_elo"), (3, "", "bradley_terry"), (3, "m4", "judge_elo")]
)
def test_of_few_models_and_several_judges_the_votes_answer_first(judges: int, without: str, first: str) -> None:
    """Five judges of six models (answers in Korean) covered .63; a model without votes has only the judges."""
    design = BattleDesign(strengths=(0.8, 0.4, 0.0, -0.4, -0.8), battles=150, judges=judges)
    frame = simulate_battles(seed=1, design=design).battles.frame
    frame["human"] = frame["human"].where((frame["model_a"] != without) & (frame["model_b"] != without))
    answer = bj.elo(Battles.from_frame(frame), engine="laplace", draws=100, bootstrap=0)
    methods = list(answer.estimates.where(estimand="elo").frame["method"])
    assert methods[0].startswith(f"bayes:{first}")
    assert {name.partition("[")[0] for name in methods} >= {"bayes:judge_elo", "bayes:bradley_terry"}
    assert any("and the votes alone answer first" in text for text in answer.warnings) is (first == "bradley_terry")


def test_models_without_votes_are_named() -> None:
    (found,) = warned([], counted(without_votes=("m2",)))
    assert found == "no human vote on m2: their Elo is predicted from the judges"


def test_scores_of_nothing_known_are_empty() -> None:
    row = {"estimand": ESTIMAND, "unit": "m", "method": "x", "point": 1.0, "lower": 0.0, "upper": 2.0}
    assert scores_of(Estimates.from_rows([row])) == {}


def run(*arguments: Any) -> Any:
    return CliRunner().invoke(cli.app, [str(argument) for argument in arguments])


def test_a_wrong_option_is_one_message(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    simulate_battles(seed=1, design=PEOPLE).battles.frame.to_csv(path, index=False)
    for arguments in (["--family", "gpt-4"], ["--held-out", "all"], ["--battle-effect"], ["--column", "a"]):
        result = run("elo", path, *arguments)
        assert result.exit_code == 2
        assert result.stderr.startswith("bayesjudge: ")
        assert "Traceback" not in result.stderr


@pytest.mark.slow
def test_a_star_has_its_leaderboard_and_the_reasons_for_what_is_undefined(tmp_path: Path) -> None:
    """One model in every battle: without its votes nothing links the others."""
    frame = simulate_battles(seed=2, design=BattleDesign(battles=600)).battles.frame
    path = tmp_path / "star.csv"
    frame[(frame["model_a"] == "m0") | (frame["model_b"] == "m0")].to_csv(path, index=False)
    result = run("elo", path, "--held-out", "all", "--quiet")
    assert result.exit_code == 0, result.stderr
    reason = "undefined for m0: not predicted: no figure by human votes: its battles are the only link"
    assert reason in " ".join(result.stdout.split())
    assert "has the mean of the other models at 1500" in " ".join(result.stdout.split())


@pytest.mark.slow
def test_people_and_judges_from_file_to_page(tmp_path: Path) -> None:
    strengths = tuple(np.linspace(1, -1, 8).tolist())
    design = BattleDesign(strengths=strengths, battles=2500, judges=1, slope=1.2, deviation=0.1, without_votes=("m7",))
    path = tmp_path / "log.csv"
    simulate_battles(seed=4, design=design).battles.frame.to_csv(path, index=False)
    page = tmp_path / "page.html"
    result = run(
        "elo",
        path,
        "--held-out",
        "m1",
        "--held-out",
        "m7",
        "--json",
        "--html",
        page,
        "--quiet",
        "--bootstrap",
        200,
        "--draws",
        400,
    )
    assert result.exit_code == 0, result.stderr
    found = json.loads(result.stdout)
    jsonschema.validate(found, json_schema())
    rows = pd.DataFrame(found["estimates"])
    hidden = rows[rows["estimand"] == "held_out_elo"]
    bayes = hidden[hidden["method"] == "bayes:judge_elo"].set_index("unit")
    assert set(bayes.index) == {"m1", "m7"}
    assert bayes.loc["m1", "lower"] <= bayes.loc["m1", "truth"] <= bayes.loc["m1", "upper"]
    assert "bayes:judge_elo" in found["held_out"]
    assert any("no human vote on m7" in text for text in found["warnings"])
    seen = rows[(rows["estimand"] == "elo") & (rows["method"] == "bayes:judge_elo")].set_index("unit")
    # The true Elo of eight models by 95 % intervals: fewer than five hits have probability 4e-5.
    assert sum(seen.loc[m, "lower"] <= design.truth["elo", m] <= seen.loc[m, "upper"] for m in design.models) >= 5
    assert "Models that only judges have evaluated" in page.read_text(encoding="utf-8")


@pytest.mark.slow
def test_a_group_of_battles_may_lie_inside_objects() -> None:
    frame = pd.DataFrame({"item": range(40), "model_a": "x", "model_b": "y", "human": [1, 0, 1, 1, 0] * 8})
    languages = ["en", "ko"] * 20
    nested = frame.assign(metadata=[{"lang": one} for one in languages])
    answers = (
        bj.elo(rows, group=name, cluster=name, draws=50, tune=50, chains=1, bootstrap=0)
        for rows, name in ((frame.assign(lang=languages), "lang"), (nested, "metadata.lang"))
    )
    one, two = (answer.estimates.where(method="hard-elo").frame for answer in answers)
    numbers = ["unit", "group", "point", "lower", "upper"]
    assert set(one["group"]) == {"", "en", "ko"}
    pd.testing.assert_frame_equal(one[numbers], two[numbers])


@pytest.mark.slow
def test_a_judge_without_battles_in_a_group_has_no_elo_there() -> None:
    frame = pd.DataFrame({"item": range(40), "model_a": "x", "model_b": "y", "lang": ["en", "ko"] * 20})
    frame = frame.assign(judge=["j", "k"] * 20, verdict=[1, 0, 1, 1, 0] * 8)
    answer = bj.elo(frame, group="lang", draws=50, tune=50, chains=1)
    rows = answer.estimates.where(estimand="elo", method="hard-elo").frame
    assert set(zip(rows["judge"], rows["group"], strict=True)) == {("j", ""), ("k", ""), ("j", "en"), ("k", "ko")}
