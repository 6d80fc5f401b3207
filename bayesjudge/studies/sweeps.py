"""Worlds whose truth is known, for the questions of this package: what is swept, who answers, what is judged.

Accuracy has the two sweeps of the simulation study of METHODS 1.10, two models of accuracy .72 and .65: the
judge's mean Youden's J with a difference of .1 between the models, and that difference at a mean of .4. The
other questions sweep what a user can buy more of: labels, battles, trials, verified pairs. Elo has two
sweeps: a league of six fixed strengths after more and more battles, and leagues drawn anew for each log from
populations of one spread or another, after few.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesjudge.checks import Cell, prior_cell
from bayesjudge.errors import UsageError
from bayesjudge.estimates import POPULATIONS, Estimates, Truth

if TYPE_CHECKING:
    from bayesjudge.model import Data, Model

__all__ = ["SWEEPS", "Sweep", "prior_sweep", "sweep_of"]

type _World = tuple[Any, Truth]

#: Small steps: with two models the spread of the judge's errors is a funnel, see benchmarks/simulation.py.
_CAREFUL = {"draws": 500, "tune": 500, "target_accept": 0.99}


@dataclass(frozen=True, eq=False, kw_only=True)
class Sweep:
    """One question's worlds and who answers it there.

    Attributes
    ----------
    cells : tuple of Cell
        Worlds, in the order of what is swept.
    models : callable
        ``() -> tuple`` of generative models, the default one first.
    baselines : callable or None
        ``(table, prob=, seed=) -> Estimates``.
    estimands : tuple of str or None
        What is judged; None is everything whose truth is known.
    sampling : mapping
        Options of `fit_many`.
    """

    cells: tuple[Cell, ...]
    models: Callable[[], tuple[Any, ...]]
    baselines: Callable[..., Estimates] | None
    estimands: tuple[str, ...] | None
    sampling: Mapping[str, Any] = field(default_factory=dict)


def sweep_of(question: str) -> Sweep:
    """The sweep of a question.

    Raises
    ------
    UsageError
        A question without one.

    Examples
    --------
    >>> sorted({cell.swept for cell in sweep_of("accuracy").cells})
    ['difference of J', "mean Youden's J"]
    """
    if question not in SWEEPS:
        raise UsageError(f"there is no sweep for {question!r}; there are {', '.join(SWEEPS)}")
    return SWEEPS[question]


def prior_sweep(model: Model, data: Data) -> Sweep:
    """One cell: truths from the prior of a model, on the design of ``data``; nobody else answers there.

    Examples
    --------
    >>> from bayesjudge.datasets.small import small_table
    >>> from bayesjudge.models.bradley_terry import BradleyTerry
    >>> model = BradleyTerry()
    >>> prior_sweep(model, model.prepare(small_table("battles"))).cells[0].swept
    'truths from the prior of bayes:bradley_terry[human]'
    """
    return Sweep(cells=(prior_cell(model, data),), models=lambda: (model,), baselines=None, estimands=None)


def _cells(
    swept: str, values: tuple[float, ...], simulate: Callable[[float, int], _World]
) -> tuple[Cell, ...]:
    return tuple(Cell(swept=swept, value=value, simulate=partial(simulate, value)) for value in values)


# Accuracy, one judge


def _judged(mean: float, gap: float, seed: int) -> _World:
    from bayesjudge.datasets import VerdictDesign, simulate_counts

    world: dict[str, Any] = {"youden": (mean + gap / 2, mean - gap / 2)}
    (counts,) = simulate_counts(datasets=1, seed=seed, **world)
    return counts, VerdictDesign.from_options(world).truth()


def _by_mean(value: float, seed: int) -> _World:
    return _judged(value, 0.1, seed)


def _by_gap(value: float, seed: int) -> _World:
    return _judged(0.4, value, seed)


def _accuracy_models() -> tuple[Any, ...]:
    from bayesjudge.models.judge_error import JudgeError
    from bayesjudge.models.paired_accuracy import PairedAccuracy

    return PairedAccuracy(), JudgeError()


def _accuracy_baselines(counts: Any, *, prob: float, seed: int) -> Estimates:
    from bayesjudge.baselines import accuracy_baselines

    return accuracy_baselines(counts, "judge", bootstrap=1000, prob=prob, seed=seed)


# Accuracy, a panel of judges


def _panel(value: float, seed: int) -> _World:
    from bayesjudge.datasets import simulate_verdicts
    from bayesjudge.panel_counts import panel_votes

    judges = ("heron", "otter", "tern")
    log = simulate_verdicts(seed=seed, judges=judges, judge_correlation=0.4, labelled=int(value),
                            unlabelled=300 - int(value))  # fmt: skip
    return panel_votes(log.verdicts), log.truth


def _panel_models() -> tuple[Any, ...]:
    from bayesjudge.models.judge_panel import JudgePanel

    return (JudgePanel(),)


def _panel_baselines(votes: Any, *, prob: float, seed: int) -> Estimates:
    from bayesjudge.baselines.panel import panel_baselines

    return Estimates.concat([panel_baselines(votes, prob=prob, seed=seed, bootstrap=0, population=population)
                             for population in POPULATIONS])  # fmt: skip


# Elo, people's votes


def _votes(value: float, seed: int) -> _World:
    from bayesjudge.datasets import BattleDesign

    # Which model has which strength is dealt anew for each log: pooled intervals promise their coverage on
    # average over the models of a league, not for the one that is best.
    dealt = np.random.default_rng([seed, 1]).permutation(BattleDesign().strengths)
    return _league(dealt, int(value), seed)


def _leagues(value: float, seed: int) -> _World:
    """One league of many: six models whose strengths come from a population of that spread."""
    return _league(np.random.default_rng([seed, 2]).normal(0, value, 6), 100, seed)


def _league(strengths: Any, battles: int, seed: int) -> _World:
    from bayesjudge.battle_counts import count_battles
    from bayesjudge.datasets import BattleDesign, simulate_battles

    design = BattleDesign(strengths=tuple(strengths.tolist()), battles=battles, judges=0)
    return count_battles(simulate_battles(seed=seed, design=design).battles), design.truth


def _elo_models() -> tuple[Any, ...]:
    from bayesjudge.models.bradley_terry import BradleyTerry

    return (BradleyTerry(),)


def _elo_baselines(counts: Any, *, prob: float, seed: int) -> Estimates:
    from bayesjudge.baselines.elo import elo_baselines

    return elo_baselines(counts, prob=prob, seed=seed, bootstrap=1000)


# Elo, a judge's scores


def _graded(value: float, seed: int) -> _World:
    """Battles of which people voted on a third, and a judge with tastes of its own scored all."""
    from bayesjudge.battle_counts import count_battles
    from bayesjudge.datasets import BattleDesign, simulate_battles, soft_truth

    dealt = np.random.default_rng([seed, 1]).permutation(BattleDesign().strengths)
    design = BattleDesign(strengths=tuple(dealt.tolist()), battles=int(value), voted=1 / 3, graded=True)
    log = simulate_battles(seed=seed, design=design)
    return count_battles(log.battles), soft_truth(log)


def _graded_models() -> tuple[Any, ...]:
    from bayesjudge.models.judge_temperature import JudgeTemperature

    return (JudgeTemperature(),)


def _graded_baselines(counts: Any, *, prob: float, seed: int) -> Estimates:
    from bayesjudge.baselines.elo import elo_baselines, temperature

    # Asked for by name it is refused where a log's temperature is not above 0; so it has no row there.
    elo = elo_baselines(counts, prob=prob, seed=seed, bootstrap=1000).where(method="soft-elo")
    return Estimates.concat([elo, temperature(counts, "j0", prob=prob, seed=seed)])


# Repeated trials


def _trials(value: float, seed: int) -> _World:
    from bayesjudge.datasets import simulate_trials
    from bayesjudge.trial_counts import count_trials

    log = simulate_trials(seed=seed, items=15, trials=int(value), judges=("heron",))
    return count_trials(log.trials), log.truth


def _trials_of_many(value: float, seed: int) -> _World:
    """Two judges whose parameters come from the prior of `repeated_trials`, as its card has it."""
    from bayesjudge.datasets import simulate_trials
    from bayesjudge.trial_counts import count_trials

    rng, judges = np.random.default_rng([seed, 3]), ("heron", "otter")
    log_kappa = rng.normal(0, 0.5, 2)

    def each(values: Any) -> dict[str, float]:
        return dict(zip(judges, values.tolist(), strict=True))

    log = simulate_trials(
        seed=seed, items=15, trials=int(value), judges=judges, preference=rng.normal(),
        item_spread=rng.gamma(2, 1), judge_spread=rng.gamma(2, 0.5), tie_spread=rng.gamma(2, 0.5),
        position=each(rng.normal(size=2)), decisiveness=each(np.exp(log_kappa - log_kappa.mean())),
        tie=each(rng.normal(-2, 2, 2)), correlation=each(rng.uniform(size=2)),
    )  # fmt: skip
    return count_trials(log.trials), log.truth


def _trial_models() -> tuple[Any, ...]:
    from bayesjudge.models.repeated_trials import RepeatedTrials

    return (RepeatedTrials(),)


def _trial_baselines(counts: Any, *, prob: float, seed: int) -> Estimates:
    from bayesjudge.baselines.reliability import trial_baselines

    return trial_baselines(counts, prob=prob, seed=seed, bootstrap=1000).estimates


# Repeated scores


def _scores(value: float, seed: int) -> _World:
    from bayesjudge.datasets import simulate_scores
    from bayesjudge.score_counts import count_scores

    log = simulate_scores(seed=seed, responses=30, trials=int(value), trial_spread=0.2,
                          noise={"heron": 0.6, "otter": 1.2})  # fmt: skip
    return count_scores(log.scores), log.truth


def _score_models() -> tuple[Any, ...]:
    from bayesjudge.models.pointwise_scores import PointwiseScores

    return (PointwiseScores(),)


def _score_baselines(counts: Any, *, prob: float, seed: int) -> Estimates:
    from bayesjudge.baselines.reliability import score_baselines

    return score_baselines(counts, prob=prob, seed=seed).estimates


# Single verdicts


def _pairs(value: float, seed: int) -> _World:
    # Which question type has which effect is dealt anew, as strengths are to the models of a league.
    dealt = np.random.default_rng([seed, 5]).permutation([0.8, 0.0, -0.8])
    return _audited(seed, verified=int(value), categories=dealt.tolist())


def _types(value: float, seed: int) -> _World:
    """Question types of many: three whose effects come from a population of that spread."""
    drawn = np.random.default_rng([seed, 4]).normal(0, value, 3)
    return _audited(seed, verified=60, categories=drawn.tolist())


def _audited(seed: int, **world: Any) -> _World:
    from bayesjudge.datasets import simulate_pairs

    made = simulate_pairs(seed=seed, n=300, dimensions=4, **world)
    hidden, category = ~made.pairs.verified, made.pairs.frame["category"].to_numpy()
    parts = {"unverified": hidden, **{name: hidden & (category == name) for name in np.unique(category)}}
    return made.pairs, {("consistency", name): float(made.probability[mine].mean())
                        for name, mine in parts.items()}  # fmt: skip


def _audit_models() -> tuple[Any, ...]:
    from bayesjudge.models.verdict_agreement import VerdictAgreement

    return (VerdictAgreement(),)


def _verified_share(pairs: Any, *, prob: float, **_: int) -> Estimates:
    """What the verified pairs say of the others if verdicts are all alike: their share, Clopper–Pearson."""
    from bayesjudge.baselines.intervals import clopper_pearson

    category = pairs.frame["category"].to_numpy()
    parts = {"unverified": pairs.verified,
             **{name: pairs.verified & (category == name) for name in np.unique(category)}}  # fmt: skip
    rows = []
    for name, mine in parts.items():
        agreed, seen = int(pairs.agrees[mine].sum()), int(mine.sum())
        low, high = clopper_pearson(agreed, seen, prob=prob)
        rows.append({"estimand": "consistency", "unit": name, "method": "verified share",
                     "point": agreed / seen if seen else np.nan, "lower": low, "upper": high, "prob": prob,
                     "n": seen})  # fmt: skip
    return Estimates.from_rows(rows)


SWEEPS: Mapping[str, Sweep] = {
    "accuracy": Sweep(
        cells=(*_cells("mean Youden's J", tuple(k / 10 for k in range(1, 10)), _by_mean),
               *_cells("difference of J", tuple(k / 10 for k in range(6)), _by_gap)),
        models=_accuracy_models, baselines=_accuracy_baselines, estimands=("difference", "accuracy"),
        sampling=_CAREFUL,
    ),
    "panel": Sweep(
        cells=_cells("labelled items", (20, 40, 100), _panel), models=_panel_models,
        baselines=_panel_baselines,
        estimands=("difference", "accuracy", "difference (these items)", "accuracy (these items)"),
    ),
    "elo": Sweep(
        cells=(*_cells("battles", (100, 300, 1000), _votes),
               *_cells("spread of drawn strengths, 100 battles", (0.1, 0.3, 0.6, 1, 2), _leagues)),
        models=_elo_models, baselines=_elo_baselines, estimands=("difference", "elo"),
    ),
    "soft-elo": Sweep(
        cells=_cells("battles, a third of them voted on", (100, 300, 1000), _graded), models=_graded_models,
        baselines=_graded_baselines, estimands=("beta", "elo"),
    ),
    "reliability": Sweep(
        cells=(*_cells("trials of an item in each order", (3, 5, 10), _trials),
               *_cells("trials of an item in each order, two judges drawn from the prior", (3, 10),
                       _trials_of_many)),
        models=_trial_models, baselines=_trial_baselines, estimands=None,
    ),
    "scores": Sweep(
        cells=_cells("trials, two judges of 30 responses", (2, 5, 10), _scores), models=_score_models,
        baselines=_score_baselines,
        estimands=("icc", "within_share", "score_sd", "mean_score", "icc[judges]"),
    ),
    "audit": Sweep(
        cells=(*_cells("verified pairs of 300", (30, 60, 120), _pairs),
               *_cells("spread of drawn effects of question types, 60 verified pairs", (0.1, 0.3, 0.6, 1),
                       _types)),
        models=_audit_models, baselines=_verified_share, estimands=("consistency",),
    ),
}  # fmt: skip
