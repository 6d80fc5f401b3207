"""Worlds whose truth is known, for the questions of this package: what is swept, who answers, what is judged.

Accuracy has the two sweeps of the simulation study of METHODS 1.10, two models of accuracy .72 and .65: the
judge's mean Youden's J with a difference of .1 between the models, and that difference at a mean of .4. The
other questions sweep what a user can buy more of: labels, battles, trials, verified pairs. Where truths that
are fixed may be far from what a prior expects there is a second sweep, in which they are drawn: leagues of
one spread or another, question types of one or another, and parameters of the default model's own prior,
where its intervals must hold what they say, neither less nor more.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from bayesjudge.adapters.baseline import taken_as_baseline
from bayesjudge.baseline import QuestionName, chosen_baselines
from bayesjudge.baselines import accuracy_baselines
from bayesjudge.baselines.common.intervals import clopper_pearson
from bayesjudge.baselines.elo import elo_baselines, temperature
from bayesjudge.baselines.panel import panel_baselines
from bayesjudge.baselines.reliability import score_baselines, trial_baselines
from bayesjudge.errors import UsageError
from bayesjudge.estimates import POPULATIONS, Estimates
from bayesjudge.inference import Hmc
from bayesjudge.model import Data, Model, find_model
from bayesjudge.options import AccuracyOptions, EloOptions, QuestionOptions, ReliabilityOptions
from bayesjudge.simulation import Cell, prior_cell
from bayesjudge.simulation.sweeps import prior_worlds, worlds

#: Small steps: with two models the spread of the judge's errors is a funnel, see benchmarks/simulation.py.
_CAREFUL = {"engine": Hmc(draws=500, tune=500, target_accept=0.99)}
#: What the commands draw: after 500 some parameter has an R-hat above 1.01 in two fits of five.
_AS_COMMANDS = {"engine": Hmc()}


@dataclass(frozen=True, eq=False, kw_only=True)
class Sweep:
    """One question's worlds and who answers it there.

    fixed, of_prior: Worlds whose truths are fixed, and those whose parameters come from the prior of the default model.
    models: ``() -> tuple`` of generative models, the default one first.
    baselines: ``(table, prob=, seed=) -> Estimates``.
    estimands: What is judged; None is everything whose truth is known.
    sampling: Options of `fit_many`.
    """

    fixed: tuple[Cell, ...] = ()
    of_prior: tuple[Cell, ...] = ()
    models: Callable[[], tuple[Any, ...]]
    baselines: Callable[..., Estimates] | None
    estimands: tuple[str, ...] | None
    sampling: Mapping[str, Any] = field(default_factory=dict)

    @property
    def cells(self) -> tuple[Cell, ...]:
        """All worlds, in the order of what is swept."""
        return self.fixed + self.of_prior

    @property
    def from_prior(self) -> tuple[str, ...]:
        """What is swept over truths from the prior."""
        return tuple(dict.fromkeys(cell.swept for cell in self.of_prior))


def sweep_of(question: str) -> Sweep:
    """The sweep of a question."""
    if question not in SWEEPS:
        raise UsageError(f"there is no sweep for {question!r}; there are {', '.join(SWEEPS)}")
    return SWEEPS[question]


#: Options whose values a baseline of others may ask for, by sweep.
_OPTIONS: Mapping[str, tuple[QuestionName, type[QuestionOptions]]] = {
    "accuracy": ("accuracy", AccuracyOptions),
    "elo": ("elo", EloOptions),
    "judge-elo": ("elo", EloOptions),
    "soft-elo": ("elo", EloOptions),
    "reliability": ("reliability", ReliabilityOptions),
    "scores": ("reliability", ReliabilityOptions),
}


def with_baselines(question: str, chosen: Sequence[Any]) -> Sweep:
    """The sweep of a question with these frequentist methods only: its own by name, others as a question takes them."""
    sweep = sweep_of(question)
    own = sweep.baselines
    if question not in _OPTIONS or own is None:
        raise UsageError(f"--baseline is for the sweeps {', '.join(_OPTIONS)}, not {question}")
    name, options = _OPTIONS[question]
    table, _ = sweep.cells[0].simulate(0)
    known = sorted(set(own(table, prob=0.95, seed=0).frame["method"]))
    methods, others = chosen_baselines([taken_as_baseline(one, name) for one in chosen], question=name, own=known)

    def estimates(counts: Any, *, prob: float, seed: int) -> Estimates:
        asked = options(prob=prob, seed=seed, bootstrap=1000)
        rows = [own(counts, prob=prob, seed=seed).where(method=methods)] if methods else []
        return Estimates.concat([*rows, *(one.estimates(counts, options=asked) for one in others)])

    return replace(sweep, baselines=estimates)


def prior_sweep(model: Model, data: Data) -> Sweep:
    """One cell: truths from the prior of a model, on the design of ``data``; nobody else answers there."""
    cell = prior_cell(model, data)
    return Sweep(of_prior=(cell,), models=lambda: (model,), baselines=None, estimands=None)


def _cells(swept: str, values: tuple[float, ...], simulate: Callable[[float, int], worlds.World]) -> tuple[Cell, ...]:
    return tuple(Cell(swept=swept, value=value, simulate=partial(simulate, value)) for value in values)


def _models(*names: str) -> Callable[[], tuple[Model, ...]]:
    """Registered models with their default options, the default one first."""
    return lambda: tuple(find_model(name)() for name in names)


def _panel(votes: Any, *, prob: float, seed: int) -> Estimates:
    """All methods for several judges, of both populations."""
    return Estimates.concat(
        [panel_baselines(votes, prob=prob, seed=seed, bootstrap=0, population=population) for population in POPULATIONS]
    )


def _elo(counts: Any, *, prob: float, seed: int) -> Estimates:
    """Hard-Elo by people's votes."""
    # By a judge's verdicts it is another quantity: what that judge prefers.
    return elo_baselines(counts, prob=prob, seed=seed, bootstrap=1000).where(judge="")


def _soft_elo(counts: Any, *, prob: float, seed: int) -> Estimates:
    """Soft-Elo by a judge's scores, and its temperature."""
    # Asked for by name it is refused where a log's temperature is not above 0; so it has no row there.
    elo = elo_baselines(counts, prob=prob, seed=seed, bootstrap=1000).where(method="soft-elo")
    return Estimates.concat([elo, temperature(counts, "j0", prob=prob, seed=seed)])


def _trials(counts: Any, *, prob: float, seed: int) -> Estimates:
    """Plug-in figures with bootstrap intervals."""
    return trial_baselines(counts, prob=prob, seed=seed, bootstrap=1000).estimates


def _scores(counts: Any, *, prob: float, seed: int) -> Estimates:
    """Analysis of variance."""
    return score_baselines(counts, prob=prob, seed=seed).estimates


def _verified_share(pairs: Any, *, prob: float, **_: int) -> Estimates:
    """What the verified pairs say of the others if verdicts are all alike: their share, Clopper–Pearson."""
    category = pairs.frame["category"].to_numpy()
    parts = {"unverified": pairs.verified, **{one: pairs.verified & (category == one) for one in np.unique(category)}}
    rows = []
    for name, mine in parts.items():
        agreed, verified = int(pairs.agrees[mine].sum()), int(mine.sum())
        low, high = clopper_pearson(agreed, verified, prob=prob)
        point = agreed / verified if verified else np.nan
        fixed = {"estimand": "consistency", "unit": name, "method": "verified share", "prob": prob, "n": verified}
        rows.append({**fixed, "point": point, "lower": low, "upper": high})
    return Estimates.from_rows(rows)


SWEEPS: Mapping[str, Sweep] = {
    "accuracy": Sweep(
        fixed=(
            *_cells("mean Youden's J", tuple(k / 10 for k in range(1, 10)), worlds.by_mean),
            *_cells("difference of J", tuple(k / 10 for k in range(6)), worlds.by_gap),
        ),
        of_prior=_cells(
            "labelled items of 300, models and judge drawn from the prior", (40, 150), prior_worlds.accuracy
        ),
        models=_models("judge_error"),
        baselines=partial(accuracy_baselines, judge="judge", bootstrap=1000),
        estimands=("difference", "accuracy"),
        sampling=_CAREFUL,
    ),
    "panel": Sweep(
        fixed=_cells("labelled items", (20, 40, 100), worlds.panel),
        of_prior=_cells("labelled items, labels drawn from the prior", (20, 100), prior_worlds.panel),
        models=_models("judge_panel"),
        baselines=_panel,
        estimands=("difference", "accuracy", "difference (these items)", "accuracy (these items)"),
    ),
    "elo": Sweep(
        fixed=(
            *_cells("battles", (100, 300, 1000), worlds.votes),
            *_cells("spread of drawn strengths, 100 battles", (0.1, 0.3, 0.6, 1, 2), worlds.leagues),
        ),
        of_prior=_cells("battles, models drawn from the prior", (100, 1000), prior_worlds.league),
        models=_models("bradley_terry"),
        baselines=_elo,
        estimands=("difference", "elo"),
    ),
    "judge-elo": Sweep(
        of_prior=_cells(
            "battles, a third of them voted on, models and a judge drawn from the prior",
            (100, 300, 1000, 3000),
            prior_worlds.judged,
        ),
        models=_models("judge_elo"),
        baselines=_elo,
        estimands=("difference", "elo", "deviation", "effect"),
    ),
    "soft-elo": Sweep(
        fixed=_cells("battles, a third of them voted on", (100, 300, 1000), worlds.graded),
        of_prior=_cells("battles, a judge's temperature drawn from the prior", (100, 300, 1000), prior_worlds.graded),
        models=_models("judge_temperature"),
        baselines=_soft_elo,
        estimands=("beta", "elo"),
    ),
    "reliability": Sweep(
        fixed=_cells("trials of an item in each order", (3, 5, 10), worlds.trials),
        of_prior=_cells(
            "trials of an item in each order, two judges drawn from the prior", (3, 10), prior_worlds.trials
        ),
        models=_models("repeated_trials"),
        baselines=_trials,
        estimands=None,
        sampling=_AS_COMMANDS,
    ),
    "scores": Sweep(
        fixed=_cells("trials, two judges of 30 responses", (2, 5, 10), worlds.scores),
        models=_models("pointwise_scores"),
        baselines=_scores,
        estimands=("icc", "within_share", "score_sd", "mean_score", "icc[judges]"),
    ),
    "audit": Sweep(
        fixed=(
            *_cells("verified pairs of 300", (30, 60, 120), worlds.pairs),
            *_cells("spread of drawn effects of question types, 60 verified pairs", (0.1, 0.3, 0.6, 1), worlds.types),
        ),
        of_prior=_cells("verified pairs of 300, effects drawn from the prior", (30, 120), prior_worlds.audit),
        models=_models("verdict_agreement"),
        baselines=_verified_share,
        estimands=("consistency",),
    ),
}
