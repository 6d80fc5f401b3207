"""From counts of battles to what `judge_elo` sees: votes, verdicts and score gaps side by side.

A taste that its data pin down is best sampled as it is, one that they leave open in units of its spread
(Papaspiliopoulos, Roberts & Sköld 2007). Which is the case is read off the raw strengths before sampling.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayesjudge.errors import UsageError
from bayesjudge.maths.bradley_terry import solve_strengths
from bayesjudge.model import Data
from bayesjudge.models.common.battle_rows import human_rows, judged_rows, standardised
from bayesjudge.models.common.davidson import OUTCOMES
from bayesjudge.models.common.elo_results import sizes
from bayesjudge.models.common.units import information
from bayesjudge.models.judge_elo.battle_links import PEOPLE, link_battles

if TYPE_CHECKING:
    from bayesjudge.counts.battles.counts import BattleCounts
    from bayesjudge.counts.battles.patterns import PairCounts

__all__ = ["prepare", "taste_powers"]

type Arrays = dict[str, Any]
#: What a row of a judge's battles says of each battle; the effects of a judge are columns of x.
EFFECTS = ("shown first", "longer", "same family")


def prepare(
    counts: BattleCounts, *, graded: bool, length: bool, families: Mapping[str, str], linked: bool = False
) -> Data:
    """Patterns of votes and verdicts and battles with gaps, each with its judge and its effects.

    ``linked`` counts the verdicts, and the votes on the same battles, by their joint outcomes instead.
    """
    votes = human_rows(counts)
    if not votes.n.sum() or not counts.judges:
        missing = "people's votes" if counts.judges else "judges' verdicts or scores"
        raise UsageError(f"judge_elo links judges to people and the table has no {missing}; use "
                         "bradley_terry for people or one judge alone")  # fmt: skip
    scoring = tuple(judge for judge in counts.judges if graded and _gives_scores(counts, judge))
    stating = tuple(judge for judge in counts.judges if judge not in scoring)
    verdicts, scores = _verdicts(counts, stating, length=length), _scores(counts, scoring, length=length)
    parts = [part for part in (("verdict", stating, verdicts), ("score", scoring, scores)) if part[1]]
    effects = _effects(parts, counts, families=families, length=length)
    joint, rest = link_battles(counts, votes, length=length) if linked else ({}, votes)
    arrays = rest.arrays("vote_") | verdicts | scores | joint
    arrays |= {"taste_power": taste_powers(counts), "information": information(votes.n, len(counts.models))}
    if linked:
        del arrays["verdict_n"]
    pairs = tuple(f"{a} & {b}" for a, b in itertools.combinations(counts.judges, 2))
    dims = {name: _axes(name) for name in arrays}
    observed = tuple(name for name in ("linked_n", "vote_n", "verdict_n", "score") if name in arrays)
    return Data(
        arrays=arrays, dims=dims,
        coords={"model": counts.models, "judge": counts.judges, "judge_pair": pairs, "effect": effects,
                "verdict_judge": stating, "score_judge": scoring, "outcome": OUTCOMES,
                **_links(arrays, counts.judges),
                **{dim: tuple(range(len(arrays[name]))) for name, dim in _LENGTHS.items() if name in arrays}},
        observed=observed[0], weights=observed[0], also_observed=observed[1:],
        ragged=tuple(dim for name, dim in _LENGTHS.items() if name in arrays),
        facts={"verdicts": _codes(stating, counts.judges), "graded": _codes(scoring, counts.judges)},
        units=sizes(votes, counts.models),
    )  # fmt: skip


_LENGTHS = {"vote_total": "vote_pattern", "verdict_total": "verdict_pattern", "score": "score_battle",
            "linked_total": "linked_battle"}  # fmt: skip


def _links(arrays: Arrays, judges: tuple[str, ...]) -> dict[str, tuple[Any, ...]]:
    if "linked_n" not in arrays:
        return {}
    return {"rater": (PEOPLE, *judges), "joint_outcome": tuple(range(arrays["linked_n"].shape[1]))}


def _axes(name: str) -> tuple[str, ...]:
    kind = name.split("_", maxsplit=1)[0]
    if name == "information":
        return ()
    if name in {"score_scale", "taste_power"}:
        return ("score_judge",) if name == "score_scale" else ("judge",)
    if kind == "linked":
        last = {"linked_n": ("joint_outcome",), "linked_place": ("rater",), "linked_seen": ("rater",)}
        return ("linked_battle", *last.get(name, ()))
    rows = {"vote": "vote_pattern", "verdict": "verdict_pattern", "score": "score_battle"}[kind]
    return (rows, *(("outcome",) if name.endswith("_n") else ("effect",) if name.endswith("_x") else ()))


def _codes(judges: tuple[str, ...], every: tuple[str, ...]) -> tuple[int, ...]:
    return tuple(every.index(judge) for judge in judges)


def _gives_scores(counts: BattleCounts, judge: str) -> bool:
    rows = counts.judged.keep(counts.judged.judge == counts.code("judge", judge))
    known = np.isfinite(rows.gap)
    if known.any() and not known.all():
        n = int(rows.n[~known].sum())
        raise UsageError(f"judge {judge!r} gave no score in {n} of {int(rows.n.sum())} battles; use "
                         "scores='verdicts', which takes its verdicts in all of them")  # fmt: skip
    return bool(known.any())


def _verdicts(counts: BattleCounts, judges: tuple[str, ...], *, length: bool) -> Arrays:
    """Counts by pattern of every judge who states verdicts, one after the other."""
    if not judges:
        return {}
    rows = [judged_rows(counts, judge, order=True, length=length) for judge in judges]
    parts = [{**one.arrays("verdict_"), "verdict_length": one.length} for one in rows]
    found = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    return {**found, "verdict_judge": np.repeat(np.arange(len(judges)), [len(one) for one in rows])}


def _scores(counts: BattleCounts, judges: tuple[str, ...], *, length: bool) -> Arrays:
    """Every battle of the judges who score, gaps in standard deviations of the judge's own."""
    if not judges:
        return {}
    code = {counts.code("judge", judge): k for k, judge in enumerate(judges)}
    rows = counts.judged.keep(np.isin(counts.judged.judge, list(code)))
    rows = rows.keep(np.repeat(np.arange(len(rows)), rows.n))
    judge = np.array([code[one] for one in rows.judge.tolist()])
    scale = np.array([np.sqrt(np.mean(rows.gap[judge == k] ** 2)) for k in range(len(judges))])
    if not np.all(scale > 0):
        raise UsageError(f"judge {judges[int(np.argmin(scale))]!r} scored every battle even; leave it out")
    return {
        "score_first": rows.first, "score_second": rows.second, "score_order": rows.order.astype(float),
        "score_length": np.nan_to_num(rows.length) if length else np.zeros(len(rows)), "score_judge": judge,
        "score_seen": np.ones(len(rows), dtype=np.int64), "score": rows.gap / scale[judge],
        "score_scale": scale,
    }  # fmt: skip


def _effects(
    parts: list[tuple[str, tuple[str, ...], Arrays]], counts: BattleCounts, *, families: Mapping[str, str],
    length: bool,
) -> tuple[str, ...]:  # fmt: skip
    """Write the columns of x into the arrays, and tell their names."""
    columns = [_columns(part, counts, families) for part in parts]
    used = tuple(name for name in EFFECTS if any(np.any(found[name]) for found in columns))
    if families and "same family" not in used:
        raise UsageError(f"families={dict(families)} put none of the judges {list(counts.judges)} into one "
                         f"family with a model of {list(counts.models)[:5]}")  # fmt: skip
    if length:
        every = np.concatenate([found["longer"] for found in columns])
        lengths = standardised(every, np.ones(len(every), dtype=np.int64), of="judged battles")
        for found, own in zip(columns, np.split(lengths, [len(columns[0]["longer"])]), strict=False):
            found["longer"] = own
    for (kind, _, arrays), found in zip(parts, columns, strict=True):
        rows = len(arrays[f"{kind}_first"])
        arrays[f"{kind}_x"] = np.column_stack([np.zeros((rows, 0)), *(found[name] for name in used)])
        del arrays[f"{kind}_length"]
    return used


def _columns(
    part: tuple[str, tuple[str, ...], Arrays], counts: BattleCounts, families: Mapping[str, str]
) -> dict[str, NDArray[np.float64]]:
    """What each effect sees in the rows of one kind; all 0 where nothing is known."""
    kind, judges, arrays = part
    family = np.array([families.get(name, "") for name in counts.models])
    own = np.array([families.get(judge, "") for judge in judges])[arrays[f"{kind}_judge"]]
    first, second = ((family[arrays[f"{kind}_{side}"]] == own) & (own != "") for side in ("first", "second"))
    return {"shown first": arrays[f"{kind}_order"], "longer": arrays[f"{kind}_length"],
            "same family": first.astype(float) - second.astype(float)}  # fmt: skip


#: Variance of tastes and noise together over noise alone, past which tastes stand out. On the arena battles
#: (ratios 2.3 to 4.9) half-way units were better: one judge, ESS of the spread 1,337 against 482 of 2,800
#: draws in 10 against 14 leapfrog steps. Where a judge has hardly any taste of its own (MT-bench, ratio 0.1)
#: they were far worse: 17 against 230 of 1,200.
STANDS_OUT = 2.0
#: Half-way between units of the spread (0) and tastes as they are (1). At 1 the density has a spike at
#: spread 0 that a search for the mode runs into.
HALF_WAY = 0.5
#: Voted models below which the ratio says little.
LEAST_MODELS = 8


def taste_powers(counts: BattleCounts) -> NDArray[np.float64]:
    """Power p of each judge's spread s, (J,): tastes are sampled in units of s^(1 − p).

    Examples
    --------
    >>> from bayesjudge.counts.battles.counts import count_battles
    >>> from bayesjudge.datasets import BattleDesign, simulate_battles
    >>> strengths = tuple(np.linspace(-1, 1, 12).tolist())
    >>> worlds = [BattleDesign(strengths=strengths, battles=6000, taste=taste) for taste in (0.02, 0.5)]
    >>> [taste_powers(count_battles(simulate_battles(seed=1, design=world).battles)).tolist()
    ...  for world in worlds]
    [[0.0], [0.5]]
    """
    people, votes = _raw_strengths(counts.human_pairs(), len(counts.models))
    ratios = [_ratio(people, votes, *_raw_strengths(counts.judge_pairs(judge), len(counts.models)))
              for judge in counts.judges]  # fmt: skip
    return np.array([HALF_WAY if ratio > STANDS_OUT else 0.0 for ratio in ratios])


def _raw_strengths(pairs: PairCounts, models: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Strengths with ties as half a win, and battles of each model."""
    total = pairs.n.sum(axis=1)
    wins = pairs.n[:, 0] + pairs.n[:, 1] / 2
    battles = [np.bincount(side, weights=total, minlength=models) for side in (pairs.first, pairs.second)]
    return solve_strengths(pairs.first, pairs.second, total, wins, models)[0], battles[0] + battles[1]


def _ratio(people: NDArray[Any], votes: NDArray[Any], judged: NDArray[Any], battles: NDArray[Any]) -> float:
    """Mean square of what a line from people's to the judge's strengths leaves, over its sampling variance.

    A battle tells at most 1/4 of a unit of information on a difference, so 4/n is the least variance.
    """
    both = (votes > 0) & (battles > 0)
    if both.sum() < LEAST_MODELS:
        return 0.0
    x, y = people[both] - people[both].mean(), judged[both] - judged[both].mean()
    slope = (x @ y) / max(float(x @ x), 1e-12)
    variance = 4 / battles[both] + slope**2 * 4 / votes[both]
    return float(((y - slope * x) ** 2 / variance).sum() / (both.sum() - 2))
