"""Audits without a model: transport held to its theorem, its exact solver, and what it must beat."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayesjudge.baselines.audit import (
    auc,
    break_even_auc,
    centroid,
    consistency,
    flip_nothing,
    flip_random,
    nearest_neighbours,
    partial_ot,
)
from bayesjudge.baselines.audit.partial_ot import LargeProblemWarning, transport_scores
from bayesjudge.baselines.audit.sensitivity import (
    ATTACKS,
    attack_prompt,
    consistency_by_attack,
    over_share,
    over_verified,
)
from bayesjudge.baselines.audit.transport import denoise, entropic_masses, exact_masses
from bayesjudge.errors import InputError, UsageError
from bayesjudge.tables import Pairs


def cones(*, right: int, wrong: int, verified: int, seed: int = 0, d: int = 64) -> Pairs:
    """The theorem's separable case: what people confirm lies in a cone, what they reject opposite to it."""
    rng = np.random.default_rng(seed)
    agrees = np.concatenate([np.ones(verified + right), np.zeros(wrong)])
    z = 0.3 * rng.normal(size=(len(agrees), d)) / np.sqrt(d)
    z[:, 0] += np.where(agrees == 1, 1.0, -0.2)
    human = np.where(agrees == 1, "a", "b").astype(object)
    human[verified:] = None
    frame = pd.DataFrame({"item": np.arange(len(z)), "judge_prefers": "a", "human_prefers": human})
    return Pairs.from_frame(frame, a=z, b=np.zeros_like(z))


def spheres(p: int, u: int, *, d: int = 8, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(p + u, d)) + np.eye(d)[0]
    z /= np.linalg.norm(z, axis=1, keepdims=True)
    return z[:p], z[p:]


# Transport


@settings(max_examples=25, deadline=None)
@given(p=st.integers(1, 30), u=st.integers(1, 40), share=st.floats(0.05, 1.0), seed=st.integers(0, 99))
def test_mass_is_the_share_and_scores_are_shares(p: int, u: int, share: float, seed: int) -> None:
    source, target = spheres(p, u, seed=seed)
    mass = exact_masses(source, target, share=share)
    assert mass.sum() == pytest.approx(share, abs=1e-9)
    scores = transport_scores(source, target, share=share, solver="exact")
    assert ((scores >= 0) & (scores <= 1)).all()


def test_the_solver_finds_what_pots_own_partial_transport_finds() -> None:
    import ot

    source, target = spheres(23, 31)
    plan = ot.partial.partial_wasserstein(np.full(23, 1 / 23), np.full(31, 1 / 31), 1 - source @ target.T, m=0.7)
    mass = exact_masses(source, target, share=0.7)
    # Costs of random points are distinct, so the solution is unique; both are exact to rounding.
    np.testing.assert_allclose(mass, plan.sum(axis=0), atol=1e-12)


def test_flips_are_the_share_left_within_the_vertices_rounding() -> None:
    for share in (0.55, 0.7, 0.85, 0.93):
        source, target = spheres(40, 200)
        scores = transport_scores(source, target, share=share)
        # At a vertex at most p + 1 scores lie between 0 and 1, worth less than a flip each.
        between = ((scores > 1e-9) & (scores < 1 - 1e-9)).sum()
        assert between <= 41
        assert abs((scores < 0.5).sum() - (1 - share) * 200) <= between / 2 + 1


def test_the_separable_case_is_recovered_exactly() -> None:
    pairs = cones(right=70, wrong=30, verified=40)
    found = partial_ot(pairs, share=0.7)
    np.testing.assert_array_equal(found.flips, np.arange(100) >= 70)
    assert found.figures["share"] == 0.7


@pytest.mark.parametrize("method", [partial_ot, centroid, flip_random, nearest_neighbours, flip_nothing])
def test_row_order_is_irrelevant(method: Any) -> None:
    pairs = cones(right=30, wrong=12, verified=20)
    order = np.random.default_rng(3).permutation(len(pairs))
    one, other = method(pairs), method(pairs.take(order))
    of_item = dict(zip(pairs.frame["item"].to_numpy()[one.rows], one.scores, strict=True))
    again = pairs.take(order).frame["item"].to_numpy()[other.rows]
    # The same vertex, reached by other pivots; cosines of single-precision vectors.
    np.testing.assert_allclose(other.scores, [of_item[item] for item in again], atol=1e-6)


@pytest.mark.parametrize(("p", "u"), [(60, 80), (300, 500)])
def test_entropic_tends_to_exact(p: int, u: int) -> None:
    source, target = spheres(p, u, d=32)
    exact = exact_masses(source, target, share=0.8) * u
    errors = []
    for epsilon in (0.05, 0.005, 0.001):
        mass = entropic_masses(source, target, share=0.8, epsilon=epsilon)
        assert mass.sum() == pytest.approx(0.8, abs=1e-9)
        errors.append(float(np.abs(mass * u - exact).mean()))
    assert errors == sorted(errors, reverse=True)
    # .98 is what large tables need; at 80 targets one decision is .0125.
    agreement = ((entropic_masses(source, target, share=0.8, epsilon=0.001) * u < 0.5) == (exact < 0.5)).mean()
    assert agreement >= 0.98 - 1 / u


@pytest.mark.slow
def test_entropic_flips_what_exact_flips_at_three_thousand() -> None:
    source, target = spheres(3000, 3000, d=128)
    exact = exact_masses(source, target, share=0.8) < 0.5 / 3000
    entropic = entropic_masses(source, target, share=0.8, epsilon=0.001) < 0.5 / 3000
    assert (exact == entropic).mean() >= 0.98


def test_blocks_that_are_made_again_give_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    from bayesjudge.baselines.audit import transport as entropic

    source, target = spheres(90, 70)
    kept = entropic_masses(source, target, share=0.6, epsilon=0.02)
    monkeypatch.setattr(entropic, "MOST_KEPT", 0)
    monkeypatch.setattr(entropic, "BLOCK", 32)
    made = entropic_masses(source, target, share=0.6, epsilon=0.02)
    # Single precision, other order of summation.
    np.testing.assert_allclose(made, kept, atol=2e-5)


def test_all_mass_reaches_every_target() -> None:
    source, target = spheres(5, 7)
    for masses in (exact_masses, entropic_masses):
        np.testing.assert_allclose(masses(source, target, share=1.0), np.full(7, 1 / 7), atol=1e-12)


def test_a_problem_that_will_not_fit_is_warned_of(monkeypatch: pytest.MonkeyPatch) -> None:
    import importlib

    module = importlib.import_module("bayesjudge.baselines.audit.partial_ot")
    monkeypatch.setattr(module, "free_memory", lambda: 1000)
    with pytest.warns(LargeProblemWarning, match="GB are free: use solver='entropic'"):
        partial_ot(cones(right=10, wrong=3, verified=5), share=0.7, solver="exact")


def test_progress_is_told_to_the_end() -> None:
    seen: list[tuple[int, int]] = []
    partial_ot(cones(right=10, wrong=3, verified=5), share=0.7, report=lambda *at: seen.append(at))
    assert seen[-1] == (3, 3)


# Denoising


def test_denoising_keeps_shares_within_each_category() -> None:
    rng = np.random.default_rng(0)
    chosen, z, category = rng.normal(size=(30, 4)), rng.normal(size=(30, 4)), np.repeat([0, 1, 2], [20, 9, 1])
    kept = denoise(chosen, z, category, keep=(0.5, 0.4))
    # 20 → 10 → 4, 9 → 5 → 2, and the single one stays.
    assert [int(kept[category == code].sum()) for code in range(3)] == [4, 2, 1]


def test_denoising_drops_the_outlier_of_each_stage() -> None:
    chosen = np.array([[1.0, 0], [1, 0.1], [1, -0.1], [-1, 0]])
    z = np.array([[0.0, 1], [0.1, 1], [0, -1], [0, 1]])
    assert denoise(chosen, z, np.zeros(4, int), keep=(0.75, 0.66)).tolist() == [True, True, False, False]


# What cannot be done


@pytest.mark.parametrize(
    ("pairs", "said"),
    [
        (cones(right=3, wrong=2, verified=2).hide(np.ones(7, bool)), "no verified pair"),
        (cones(right=0, wrong=0, verified=4), "no unverified pair"),
        (replace(cones(right=3, wrong=2, verified=2), a=np.zeros((7, 0))), "no embeddings"),
    ],
)
def test_tables_that_cannot_be_audited_are_refused(pairs: Pairs, said: str) -> None:
    for method in (lambda p: partial_ot(p, share=0.8), lambda p: centroid(p, share=0.8), nearest_neighbours):
        with pytest.raises(InputError, match=said):
            method(pairs)
    if said == "no verified pair":
        with pytest.raises(InputError, match=said):
            flip_random(pairs)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"share": 0.0}, "share=0.0"),
        ({"share": 1.1}, "share=1.1"),
        ({"solver": "fast"}, "exact, entropic"),
        ({"threshold": 2.0}, "threshold"),
        ({"keep": (0.0, 1.0)}, "keep"),
        ({"anchors": "x"}, "anchors='x'"),
        ({"share": 0.5, "solver": "entropic", "epsilon": 1e-9}, "epsilon"),
    ],
)
def test_options_out_of_range_are_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        partial_ot(cones(right=5, wrong=3, verified=4), **options)


def test_anchors_are_what_people_chose_whether_the_judge_did_or_not() -> None:
    agreed = cones(right=20, wrong=10, verified=10)
    # The judge chose the other response of every verified pair: people's direction is the same.
    turned = agreed.frame["judge_prefers"].where(~agreed.verified, "b")
    denied = Pairs(agreed.frame.assign(judge_prefers=turned), agreed.a, agreed.b, agreed.prompt)
    found = partial_ot(denied, share=2 / 3)
    np.testing.assert_array_equal(found.flips, partial_ot(agreed, share=2 / 3).flips)
    np.testing.assert_array_equal(found.flips, np.arange(30) >= 20)
    with pytest.raises(InputError, match="no verified pair that people agree with"):
        partial_ot(denied, share=2 / 3, anchors="agreements")


def test_the_share_is_measured_on_every_verified_pair_once() -> None:
    pairs = cones(right=20, wrong=10, verified=10)
    human = np.where(np.arange(40) < 6, "a", np.where(np.arange(40) < 10, "b", None))
    once = Pairs(pairs.frame.assign(human_prefers=human), pairs.a, pairs.b, pairs.prompt)
    assert partial_ot(once).figures["share"] == pytest.approx(0.6)
    # The first ten again in the other order, five of them with the other choice: .5 each.
    again = once.frame[:10].assign(order="ba", judge_prefers=["b"] * 5 + ["a"] * 5)
    both = Pairs(
        pd.concat([once.frame, again], ignore_index=True),
        np.concatenate([once.a, once.a[:10]]),
        np.concatenate([once.b, once.b[:10]]),
        once.prompt,
    )
    # Two verdicts that disagree are worth ½: (5 · .5 + 1 + 0 · 4) / 10.
    found = partial_ot(both)
    assert found.figures["share"] == pytest.approx(0.35)
    assert found.figures["anchors"] == partial_ot(once).figures["anchors"]


def test_a_pair_counts_once_and_one_of_two_verdicts_that_disagree_is_right() -> None:
    agrees, pair = np.array([1, 1, 1, 0, 0, 0]), list("xxyyzz")
    flips = np.array([0, 0, 0, 1, 1, 1], dtype=bool)
    rows = {row["estimand"]: row for row in consistency(agrees, flips, method="m", pair=pair)}
    assert rows["consistency"]["point"] == 1
    assert rows["gain"]["point"] == pytest.approx((0 + 0.5 + 1) / 3)
    assert rows["gain"]["n"] == 3
    # Nothing but verdicts that disagree: ½ by definition, with nothing left to learn.
    known = consistency(np.array([1, 0, 0, 1]), np.zeros(4, bool), method="m", pair=list("xxyy"))[0]
    assert known["lower"] == pytest.approx(0.5, abs=1e-5)
    assert known["upper"] == pytest.approx(0.5, abs=1e-5)


def test_pairs_without_a_direction_are_never_flipped() -> None:
    pairs = cones(right=20, wrong=10, verified=10)
    a = pairs.a.copy()
    a[[0, 12]] = 0
    flat = Pairs(pairs.frame, a, pairs.b, pairs.prompt)
    for found in (partial_ot(flat, share=0.5), centroid(flat, share=0.5), nearest_neighbours(flat)):
        assert np.isnan(found.scores[2])
        assert not found.flips[2]


def test_one_category_at_a_time_may_hold_a_single_pair() -> None:
    pairs = cones(right=10, wrong=4, verified=6)
    types = pairs.frame.assign(category=["x"] * 5 + ["y"] + ["z"] * 14)
    assert partial_ot(Pairs(types, pairs.a, pairs.b, pairs.prompt), share=0.7).figures["anchors"] == 6


# What it must beat


def test_trivial_methods_flip_what_they_say() -> None:
    pairs = cones(right=70, wrong=30, verified=40)
    assert not flip_nothing(pairs).flips.any()
    assert flip_random(pairs, share=0.7).flips.sum() == 30
    np.testing.assert_array_equal(centroid(pairs, share=0.7).flips, np.arange(100) >= 70)
    again = flip_random(pairs, share=0.7)
    np.testing.assert_array_equal(again.flips, flip_random(pairs, share=0.7).flips)


def test_neighbours_vote() -> None:
    pairs = cones(right=20, wrong=20, verified=10)
    shown = pairs.frame["human_prefers"].copy()
    shown[40:] = "b"  # ten of the wrong ones, verified too
    both = Pairs(pairs.frame.assign(human_prefers=shown), pairs.a, pairs.b, pairs.prompt)
    np.testing.assert_array_equal(nearest_neighbours(both, neighbours=5).flips, np.arange(30) >= 20)


# Ranking, consistency, sensitivity, attacks


@pytest.mark.parametrize(("share", "want"), [(0.7, 0.71), (0.8, 0.79), (0.85, 0.83), (0.9, 0.87)])
def test_break_even_auc_as_in_the_methods(share: float, want: float) -> None:
    assert break_even_auc(share) == pytest.approx(want, abs=0.005)


def test_at_the_break_even_auc_flipping_changes_nothing() -> None:
    from statistics import NormalDist

    distance = np.sqrt(2) * NormalDist().inv_cdf(break_even_auc(0.8))
    rng = np.random.default_rng(0)
    agrees = rng.random(400_000) < 0.8
    scores = rng.normal(size=400_000) + distance * agrees
    lowest = scores < np.quantile(scores, 0.2)
    # 80,000 flips: the standard error of the precision is .0018.
    assert 1 - agrees[lowest].mean() == pytest.approx(0.5, abs=0.009)
    assert auc(scores, agrees) == pytest.approx(break_even_auc(0.8), abs=0.005)


def test_auc_counts_ties_half_and_needs_both_classes() -> None:
    assert auc(np.zeros(4), np.array([0, 1, 0, 1])) == 0.5
    assert np.isnan(auc(np.zeros(2), np.ones(2)))


def test_consistency_by_category_adds_up() -> None:
    rng = np.random.default_rng(0)
    agrees, flips, types = rng.random(60) < 0.7, rng.random(60) < 0.2, np.repeat(["x", "y"], 30)
    rows = pd.DataFrame(consistency(agrees, flips, method="m", category=types))
    gains = rows[rows["estimand"] == "gain"].set_index("unit")["point"]
    assert gains["all"] == pytest.approx(gains[["x", "y"]].mean())
    assert (rows["lower"] <= rows["point"]).all()
    assert (rows["point"] <= rows["upper"]).all()


def test_sensitivity_tables() -> None:
    pairs = cones(right=70, wrong=30, verified=40)
    human = np.where(np.arange(140) < 110, "a", "b")
    full = Pairs(pairs.frame.assign(human_prefers=human), pairs.a, pairs.b, pairs.prompt)
    held = np.arange(140) >= 40
    shares = over_share(full, held, shares=(0.5, 0.7, 0.9))
    np.testing.assert_allclose(shares["before"], 0.7)
    np.testing.assert_allclose(shares["flips"], [0.5, 0.3, 0.1], atol=0.011)
    np.testing.assert_allclose(shares["gain"], [0.1, 0.3, 0.1], atol=0.021)
    fractions = over_verified(full, held, fractions=(0.1, 1.0), audit=lambda p: partial_ot(p, share=0.7))
    assert fractions["verified"].tolist() == [4, 40]
    np.testing.assert_allclose(fractions["after"], 1.0)
    with pytest.raises(UsageError, match="held_out must mark"):
        over_share(pairs, held)


def test_attacked_pairs_are_audited_by_what_was_learned_without_attack() -> None:
    pairs = cones(right=30, wrong=0, verified=20)
    human = np.full(50, "a")
    frame = pairs.frame.assign(human_prefers=human, category=np.repeat(["x", "y"], 25))
    hit = frame.assign(attack="length", judge_prefers=np.where(np.arange(50) % 2, "a", "b"))
    both = Pairs(
        pd.concat([frame, hit], ignore_index=True),
        np.tile(pairs.a, (2, 1)),
        np.tile(pairs.b, (2, 1)),
        np.tile(pairs.prompt, (2, 1)),
    )
    held = np.tile(np.arange(50) >= 20, 2)
    rows = pd.DataFrame(consistency_by_attack(both, lambda p: partial_ot(p, share=0.5), held_out=held))
    at = rows[rows["unit"] == "all"].set_index(["estimand", "method"])["point"]
    assert at["consistency (none)", "judge"] == 1
    assert at["consistency (length)", "judge"] == 0.5
    assert at["consistency (length)", "partial-ot"] == 1
    assert set(rows["unit"]) == {"all", "x", "y"}


def test_attack_prompts_hold_what_they_are_about() -> None:
    for attack in ATTACKS:
        text = attack_prompt(attack, prompt="Why {so}?", answer="{because}")
        assert "Why {so}?" in text
        assert "{because}" in text
    with pytest.raises(UsageError, match="length, sentiment, distraction"):
        attack_prompt("flattery", prompt="", answer="")


def test_scores_of_other_folds_are_not_compared() -> None:
    """A fold's score is the share of the others that agree, which knows nothing: pooled it ranks wrongly."""
    rng = np.random.default_rng(0)
    agrees, fold = rng.random(400) < 0.7, np.arange(400) % 10
    score = np.array([agrees[fold != k].mean() for k in range(10)])[fold]
    assert auc(score, agrees) < 0.5
    assert auc(score, agrees, fold) == 0.5
    # Within each fold it is the mean over its pairs, each weighed alike.
    better = score + 0.3 * agrees + rng.normal(size=400) / 5
    won = [
        (better[i] > better[j]) + 0.5 * (better[i] == better[j])
        for k in range(10)
        for i in np.flatnonzero((fold == k) & agrees)
        for j in np.flatnonzero((fold == k) & ~agrees)
    ]
    assert auc(better, agrees, fold) == pytest.approx(np.mean(won))
