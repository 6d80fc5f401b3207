"""Clustered errors of Elo and of judges' figures: another package, by hand, and what must not matter."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm

from bayesjudge.baselines.elo import elo_baselines, fit_human, judge_diagnostics, temperature
from bayesjudge.baselines.elo.leaderboard import cluster_effects
from bayesjudge.counts.battles.counts import BattleCounts, count_battles
from bayesjudge.estimates import Estimates
from bayesjudge.maths.bradley_terry import PER_LOGIT
from bayesjudge.studies.elo.guidance import elo_warnings
from bayesjudge.tables import Battles


def log(*, prompts: int = 30, spread: float = 0.0, seed: int = 0) -> pd.DataFrame:
    """Each prompt meets all pairs of five models twice; strengths vary over prompts by ``spread`` logits."""
    rng = np.random.default_rng(seed)
    theta = np.linspace(0.8, -0.8, 5) + rng.normal(0, spread, (prompts, 5))
    prompt, a, b = (part.reshape(-1) for part in np.meshgrid(np.arange(prompts), np.arange(5), np.arange(5)))
    met = a != b
    prompt, a, b = prompt[met], a[met], b[met]
    human = (rng.random(len(a)) < 1 / (1 + np.exp(theta[prompt, b] - theta[prompt, a]))).astype(float)
    gap = np.round(2 * (theta[prompt, a] - theta[prompt, b]) + rng.normal(0, 1.5, len(a)), 1)
    lengths = rng.integers(9, size=(2, len(a)))
    return pd.DataFrame(
        {
            "item": np.arange(len(a)),
            "prompt": prompt,
            "model_a": a,
            "model_b": b,
            "human": human,
            "judge": "j",
            "score_gap": gap,
            "order": "ab",
            "length_a": lengths[0],
            "length_b": lengths[1],
        }
    )


def counted(frame: pd.DataFrame, **options: Any) -> BattleCounts:
    return count_battles(Battles.from_frame(frame), **options)


def test_clustered_errors_are_those_of_statsmodels() -> None:
    """GLM without an intercept, errors by group; its small-sample factor is left out and G/(G − 1) put on."""
    frame = log(spread=0.5)
    design = np.eye(5)[frame["model_a"]] - np.eye(5)[frame["model_b"]]
    fitted = sm.GLM(frame["human"], design[:, 1:], family=sm.families.Binomial()).fit(
        cov_type="cluster", cov_kwds={"groups": frame["prompt"], "use_correction": False}
    )
    theirs = np.asarray(fitted.cov_params()) * PER_LOGIT**2 * 30 / 29
    found = fit_human(counted(frame), ridge=1e-9)
    contrast = np.hstack([-np.ones((4, 1)), np.eye(4)])
    np.testing.assert_allclose(contrast @ found.covariance @ contrast.T, theirs, rtol=1e-5)
    assert found.df == 29


def test_a_model_whose_battles_are_on_one_prompt_is_as_uncertain_as_they_leave_it() -> None:
    """Its score of that prompt is 0 after the fit, so that its error was .47 where battles leave 73.

    Differences of other models, of which the prompt holds little, keep theirs.
    """
    frame, rng = log(), np.random.default_rng(1)
    one = frame.iloc[:20].assign(
        item=len(frame) + np.arange(20),
        prompt=0,
        model_a=5,
        model_b=np.arange(20) % 5,
        human=rng.integers(2, size=20).astype(float),
    )
    without = fit_human(counted(frame))
    both = counted(pd.concat([frame, one])), counted(pd.concat([frame, one]), cluster="none")
    clustered, independent = (fit_human(counts) for counts in both)
    assert clustered.error[5] > 0.9 * independent.error[5]
    contrast = np.hstack([-np.ones((4, 1)), np.eye(4)])
    differences = [np.diag(contrast @ cov[:5, :5] @ contrast.T) for cov in (clustered.covariance, without.covariance)]
    # Twenty battles more than 600.
    np.testing.assert_allclose(*differences, rtol=0.2)


@pytest.mark.slow
def test_copies_of_battles_on_one_prompt_are_no_evidence() -> None:
    """Every battle twice: nothing changes where copies keep their prompt, else variances halve."""
    frame = log(spread=0.5)
    twice = pd.concat([frame, frame.assign(item=frame["item"] + len(frame))])
    for cluster, ratio in ((None, 1.0), ("none", np.sqrt(0.5))):
        one, two = (elo_baselines(counted(each, cluster=cluster), judges=[]).frame for each in (frame, twice))
        widths = [each["upper"] - each["lower"] for each in (one, two)]
        # The penalty of .01 weighs half as much next to twice the battles.
        np.testing.assert_allclose(two["point"], one["point"], atol=0.05)
        np.testing.assert_allclose(widths[1], ratio * widths[0], rtol=1e-3)


def test_design_effects_tell_prompts_that_matter() -> None:
    """Effects of 150 Elo on 60 prompts are found; where there are none the interval reaches 0."""
    for elo in (0.0, 150.0):
        found = cluster_effects(counted(log(prompts=60, spread=elo / PER_LOGIT, seed=2))).where(judge="")
        effects = found.where(estimand="design_effect").frame["point"]
        spread = found.where(estimand="cluster_spread").frame.iloc[0]
        assert spread["lower"] <= elo <= spread["upper"]
        # 20 battles a prompt, 8 of a model: effects of 150 Elo make its variance more than twice as large.
        assert (effects.median() > 1.8) == (elo > 0)


def test_what_few_prompts_show_of_their_effects_may_be_far_too_small() -> None:
    """Variances that are estimated too small have small errors: their limits are further above than below."""
    found = cluster_effects(counted(log(prompts=30, spread=1.0, seed=5))).where(judge="", estimand="cluster_spread")
    row = found.frame.iloc[0]
    below, above = (abs(row[end] ** 2 - row["point"] ** 2) for end in ("lower", "upper"))
    assert row["lower"] > 0
    # A limit that is .83 of the variance below is exp(.83) − 1 = 1.29 of it above.
    assert above > 1.15 * below


def test_clusters_of_single_battles_have_no_design_effect() -> None:
    assert not len(cluster_effects(counted(log(prompts=20), cluster="item")))
    assert not len(cluster_effects(counted(log(prompts=20), cluster="none")))


def test_few_clusters_are_noted() -> None:
    notes = elo_baselines(counted(log(prompts=8)), judges=[]).frame["note"]
    assert set(notes) == {"from 8 clusters (prompt): below 20 an interval is rough"}
    frame = log(prompts=30)
    rare = frame[~(frame[["model_a", "model_b"]].eq(4).any(axis=1) & (frame["prompt"] > 5))]
    noted = elo_baselines(counted(rare), judges=[]).where(estimand="elo").frame.set_index("unit")["note"]
    assert noted["4"] == "from 6 clusters (prompt) with 4: below 10 an interval is rough"
    assert noted["0"] == ""


def test_one_cluster_leaves_every_interval_open() -> None:
    frame = log(prompts=1).query("model_a < model_b").assign(item="i")
    found = elo_baselines(counted(frame), judges=[]).frame
    assert np.isinf(found[["lower", "upper"]]).all().all()


def test_resampled_clusters_agree_with_the_sandwich() -> None:
    """400 resamples know a standard error to 4 %; 30 clusters leave some more between the two."""
    counts = counted(log(spread=0.5))
    np.testing.assert_allclose(fit_human(counts, bootstrap=400, seed=1).error, fit_human(counts).error, rtol=0.2)
    limits = [temperature(counts, "j", bootstrap=size).frame.iloc[0] for size in (0, 400)]
    widths = [row["upper"] - row["lower"] for row in limits]
    assert widths[0] == pytest.approx(widths[1], rel=0.25)


@pytest.mark.slow
def test_two_columns_add_what_each_shares() -> None:
    """Voters who are drawn at random share nothing: clustering by them as well changes little."""
    frame = log(spread=0.7, seed=3).assign(voter=np.random.default_rng(4).integers(50, size=600).astype(str))
    alone, both = (fit_human(counted(frame, cluster=cluster)) for cluster in ("prompt", ["prompt", "voter"]))
    np.testing.assert_allclose(both.error, alone.error, rtol=0.15)


def every_row(counts: BattleCounts) -> pd.DataFrame:
    """All that baselines and diagnostics print, rows in an order that names do not decide."""
    parts = [elo_baselines(counts), cluster_effects(counts)]
    parts += [judge_diagnostics(counts, judge, bootstrap=100, families={}) for judge in counts.judges]
    return Estimates.concat(parts).frame


def mtbench(folder: Path) -> pd.DataFrame:
    folder = folder / "pairwise_mtbench_human"
    items = pd.read_parquet(folder / "mtbench_items.parquet")
    votes = pd.read_parquet(folder / "mtbench_human_votes.parquet").rename(columns={"human_id": "voter"})
    judged = pd.read_parquet(folder / "mtbench_judgments.parquet")
    judged = judged[judged["run"] == 0].drop(columns=["model_a", "model_b"])
    judged["order"] = judged["order"].where(judged["order"] != "none")
    columns = ["item_id", "question_id", "model_a", "model_b", "len_a", "len_b"]
    frame = pd.concat([votes, judged]).merge(items[columns], on="item_id")
    frame = frame.assign(verdict=frame["verdict"].replace({"a": 1.0, "b": 0.0, "tie": 0.5}).astype(float))
    return frame.rename(columns={"item_id": "item", "len_a": "length_a", "len_b": "length_b"})


def arena(folder: Path) -> pd.DataFrame:
    frame = pd.read_parquet(folder / "pairwise_chatbot_arena_ppr" / "chatbot_arena_ppr.parquet").iloc[:3000]
    judges = ["gpt-4-0125-preview", "claude-3-opus-20240229", "gpt-3.5-turbo"]
    keep = ["battle_id", "prompt_id", "model_a", "model_b", "human"]
    code = {"a": 1.0, "tie": 0.5, "b": 0.0}
    frame = frame.assign(**{name: frame[name].astype(object).map(code) for name in judges})
    long = pd.concat([frame[keep].assign(judge=judge, verdict=frame[judge]) for judge in judges])
    return long.rename(columns={"battle_id": "item"})


def renamed(frame: pd.DataFrame) -> pd.DataFrame:
    """Other names of models, judges, items, prompts and voters, a and b exchanged on every third item."""
    models = sorted({*frame["model_a"], *frame["model_b"]})
    names = {name: f"m{(5 * k + 2) % len(models):02d}{k}" for k, name in enumerate(models)}
    found = frame.assign(**{side: frame[side].map(names) for side in ("model_a", "model_b")})
    for column in {"judge", "question_id", "prompt_id", "item", "voter"} & set(frame.columns):
        codes = {name: f"n{(7 * k) % 9973:04d}{k}" for k, name in enumerate(frame[column].dropna().unique())}
        found[column] = found[column].map(codes)
    swap = pd.factorize(frame["item"])[0] % 3 == 0
    pairs = [(f"{name}_a", f"{name}_b") for name in ("model", "length", "score") if f"{name}_a" in frame]
    turned = found.rename(columns={**dict(pairs), **{b: a for a, b in pairs}})[found.columns]
    turned = turned.assign(**{name: 1 - found[name] for name in ("human", "verdict") if name in frame})
    if "order" in frame:
        turned["order"] = found["order"].map({"ab": "ba", "ba": "ab"})
    return pd.DataFrame({name: np.where(swap, turned[name], found[name]) for name in found})


@pytest.mark.slow
@pytest.mark.parametrize("read", [mtbench, arena])
def test_no_printed_digit_depends_on_names_or_sides(read: Any, shared_data: Path) -> None:
    frame = read(shared_data)
    rows = [every_row(counted(one)) for one in (frame, renamed(frame))]
    figures = ["point", "lower", "upper"]
    tables = []
    for one in rows:
        # A difference is named by who comes first, and so has either sign.
        turn = (one["estimand"] == "difference") & (one["point"] < 0)
        flipped = -one.loc[turn, ["point", "upper", "lower"]].to_numpy()
        one.loc[turn, figures] = flipped
        ordered = one.sort_values(["estimand", "method", "n", *figures])
        tables.append(ordered[["estimand", "method", "n", *figures]].reset_index(drop=True))
    pd.testing.assert_frame_equal(tables[0], tables[1], rtol=1e-9, atol=1e-7)


@pytest.mark.slow
def test_scores_in_other_units_change_beta_alone() -> None:
    frame = log(spread=0.5)
    counts = [counted(frame.assign(score_gap=scale * frame["score_gap"])) for scale in (1.0, 10.0)]
    one, ten = (judge_diagnostics(each, "j", bootstrap=100) for each in counts)
    figures, beta = ["point", "lower", "upper"], one.frame["estimand"] == "beta"
    assert one.frame["estimand"].tolist() == ten.frame["estimand"].tolist()
    np.testing.assert_allclose(one.frame.loc[~beta, figures], ten.frame.loc[~beta, figures], rtol=1e-6)
    np.testing.assert_allclose(one.frame.loc[beta, figures], 10 * ten.frame.loc[beta, figures], rtol=1e-6)
    nothing = {
        "predictive": pd.DataFrame({"flagged": [False]}),
        "sensitivity": pd.DataFrame({"prior_sensitive": [False]}),
    }
    messages = [
        elo_warnings(each, Estimates.from_rows([]), rows, nothing, {})
        for each, rows in zip(counts, (one, ten), strict=True)
    ]
    assert messages[0] == messages[1]


def test_the_stated_verdict_is_the_label_and_scores_decide_only_without_one() -> None:
    frame = pd.DataFrame(
        {
            "item": range(4),
            "model_a": "x",
            "model_b": "y",
            "verdict": [0.5, 0, None, 1],
            "score_gap": [2.0, 1.0, -1.0, 0.0],
        }
    )
    rows = counted(frame).judged
    found = dict(zip(rows.gap.tolist(), rows.label.tolist(), strict=True))
    assert found == {2.0: 0.5, 1.0: 0.0, -1.0: 0.0, 0.0: 1.0}


def test_shares_of_clustered_battles_are_worth_fewer() -> None:
    """A judge that is right on whole prompts: 30 prompts of 20 battles are worth 30 of them, not 600."""
    frame = log()
    right = frame["prompt"] % 3 > 0
    judged = frame.drop(columns="score_gap").assign(verdict=frame["human"].where(right, 1 - frame["human"]))
    clustered, alone = (
        judge_diagnostics(counted(judged, cluster=cluster), "j").where(estimand="agreement").frame.iloc[0]
        for cluster in (None, "none")
    )
    ratio = (clustered["upper"] - clustered["lower"]) / (alone["upper"] - alone["lower"])
    assert clustered["point"] == alone["point"] == pytest.approx(2 / 3)
    assert ratio == pytest.approx(np.sqrt(20), rel=0.1)
