"""Simulated logs of verdicts whose truth is known: one table to look at, or counts by the thousand.

Labels: item i is answered right by model m when ``√r u_i + √(1−r) e_im < Φ⁻¹(θ_m)``, so each accuracy is
exactly ``θ_m`` and two models' labels correlate through the item. Verdicts: sensitivity and specificity
given the label; repeated runs are beta-binomial. The simulation of "Bias and Uncertainty in LLM-as-a-Judge
Estimation", section 5, with the extensions a real log needs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import ndtri

from bayesjudge.counts import AnswerPatterns, ItemPatterns, VerdictCounts
from bayesjudge.datasets.design import Truth, VerdictDesign, by_model
from bayesjudge.tables import Verdicts

type Ints = NDArray[np.int64]
type Bools = NDArray[np.bool_]
type Seed = int | np.random.SeedSequence | np.random.Generator
#: Code of a missing label in counts, as `count_verdicts` writes it.
_UNLABELLED = -1


@dataclass(frozen=True, eq=False, kw_only=True)
class Simulated:
    """A simulated log and the world it came from.

    Attributes
    ----------
    verdicts : Verdicts
        The log, as a user would have it.
    design : VerdictDesign
        The world: true accuracies, sensitivities and specificities.
    truth : dict
        By ``(estimand, unit)``, as `Estimates.with_truth` takes it: that of the superpopulation, and of
        exactly these items.
    """

    verdicts: Verdicts
    design: VerdictDesign
    truth: Truth


def simulate_verdicts(*, seed: Seed, **options: Any) -> Simulated:
    """Simulate one log of verdicts with known truth.

    Parameters
    ----------
    seed : int, SeedSequence or Generator
        Equal seeds give equal logs.
    **options
        The fields of `VerdictDesign`; by default two models of accuracy .72 and .65, Youden's J .6 and .5,
        200 labelled and 800 unlabelled items, one run of one judge.

    Raises
    ------
    UsageError
        An option that is unknown or outside its range.

    Examples
    --------
    >>> log = simulate_verdicts(seed=0, labelled=50, unlabelled=150)
    >>> len(log.verdicts), round(log.truth["difference", "a − b"], 2)
    (400, 0.07)
    """
    design = VerdictDesign.from_options(options)
    label, verdict = draw(design, np.random.default_rng(seed))
    here = by_model("accuracy (these items)", "difference (these items)", design.models, label.mean(axis=0))
    verdicts = Verdicts.from_frame(_frame(design, label, verdict))
    return Simulated(verdicts=verdicts, design=design, truth=design.truth() | here)


def simulate_counts(*, datasets: int, seed: Seed, **options: Any) -> list[VerdictCounts]:
    """Simulate many logs as the counts that `count_verdicts` would make of them, about a millisecond each.

    Data set k equals ``simulate_verdicts(seed=rng.spawn(datasets)[k], ...)`` counted, where ``rng`` is the
    Generator made from `seed`; clusters, where there are any, are kept.

    Parameters
    ----------
    datasets : int
        Number of logs.
    seed : int, SeedSequence or Generator
        Equal seeds give equal counts.
    **options
        The fields of `VerdictDesign`.

    Returns
    -------
    list of VerdictCounts

    Raises
    ------
    UsageError
        An option that is unknown or outside its range.
    """
    design = VerdictDesign.from_options(options)
    return [_count(design, *draw(design, rng)) for rng in np.random.default_rng(seed).spawn(datasets)]


def demo_verdicts(*, seed: Seed = 20) -> Simulated:
    """Simulate the log that `bayesjudge demo` shows: a judge who is too kind to one model.

    Four models answered 1,200 questions, 150 of them labelled. The judge passes most wrong answers of
    ``heron-mini`` (specificity .35 against .70 to .82 for the others), so by raw verdicts the second-worst
    model looks best, and calibrating on another model's labels does not mend it.
    """
    return simulate_verdicts(
        seed=seed,
        models=("heron-large", "heron-mini", "lynx-2", "otter-8b"),
        accuracy=(0.70, 0.62, 0.55, 0.76),
        sensitivity=(0.90, 0.92, 0.85, 0.86),
        specificity=(0.75, 0.35, 0.70, 0.82),
        labelled=150,
        unlabelled=1050,
    )


def _frame(design: VerdictDesign, label: Bools, verdict: Bools) -> pd.DataFrame:
    i, m, j, k = (axis.ravel() for axis in np.indices(verdict.shape))
    width = len(str(design.items))
    items = np.array([f"item-{n:0{width}d}" for n in range(1, design.items + 1)], dtype=object)
    shown = pd.Series(_shown(design, label)[i, m], dtype="Int8")
    frame = pd.DataFrame(
        {
            "item": items[i],
            "model": np.array(design.models, dtype=object)[m],
            "judge": np.array(design.judges, dtype=object)[j],
            "run": (k + 1).astype(str),
            "verdict": verdict.ravel().astype(np.int8),
            "label": shown.mask(shown == _UNLABELLED),
        }
    )
    if design.cluster_size == 1:
        return frame
    return frame.assign(cluster=[f"cluster-{code:0{width}d}" for code in design.clusters[i]])


def _shown(design: VerdictDesign, label: Bools) -> Ints:
    """Labels as the user sees them, -1 where nobody labelled the item."""
    labelled = np.arange(design.items) < design.labelled
    return np.where(labelled[:, None], label, _UNLABELLED)


def _count(design: VerdictDesign, label: Bools, verdict: Bools) -> VerdictCounts:
    by_model, by_judge = np.argsort(np.array(design.models)), np.argsort(np.array(design.judges))
    shown = _shown(design, label)[:, by_model]
    positives = verdict.sum(axis=-1, dtype=np.int64)[:, by_model][:, :, by_judge]
    clusters = design.clusters if design.cluster_size > 1 else np.zeros(design.items, dtype=np.int64)
    judges = tuple(sorted(design.judges))
    return VerdictCounts(
        models=tuple(sorted(design.models)),
        judges=judges,
        groups=("all",),
        clusters=int(clusters[-1]) + 1 if design.cluster_size > 1 else 0,
        answers=_answer_patterns(clusters, shown, positives, design.runs),
        items={name: _item_patterns(clusters, shown, positives[:, :, j], design.runs) for j, name in enumerate(judges)},
    )


def _answer_patterns(clusters: Ints, label: Ints, positives: Ints, runs: int) -> AnswerPatterns:
    items, models = label.shape
    model = np.tile(np.arange(models), items)
    rows = np.column_stack([model, np.repeat(clusters, models), label.ravel(), positives.reshape(items * models, -1)])
    codes, n = np.unique(rows, axis=0, return_counts=True)
    key = {"model": codes[:, 0], "group": np.zeros_like(n), "cluster": codes[:, 1], "label": codes[:, 2]}
    return AnswerPatterns(**key, runs=np.full_like(codes[:, 3:], runs), positives=codes[:, 3:], n=n)


def _item_patterns(clusters: Ints, label: Ints, positives: Ints, runs: int) -> ItemPatterns:
    pairs = np.stack([positives, label], axis=-1).reshape(len(label), -1)
    codes, n = np.unique(np.column_stack([clusters, pairs]), axis=0, return_counts=True)
    positives, label = codes[:, 1::2], codes[:, 2::2]
    key = {"group": np.zeros_like(n), "cluster": codes[:, 0], "label": label}
    return ItemPatterns(**key, runs=np.full_like(label, runs), positives=positives, n=n)


def draw(design: VerdictDesign, rng: np.random.Generator) -> tuple[Bools, Bools]:
    """Labels of all answers, shown or not, (items, M), and verdicts of each run, (items, M, J, runs)."""
    label = _labels(design, rng)
    return label, _verdicts(design, label, rng)


def _labels(design: VerdictDesign, rng: np.random.Generator) -> Bools:
    clusters = design.clusters
    share = design.cluster_correlation if design.cluster_size > 1 else 0.0
    shared = rng.standard_normal(clusters[-1] + 1)[clusters]
    difficulty = np.sqrt(share) * shared + np.sqrt(1 - share) * rng.standard_normal(design.items)
    r = design.item_correlation
    own = rng.standard_normal((design.items, len(design.models)))
    latent = np.sqrt(r) * difficulty[:, None] + np.sqrt(1 - r) * own
    shift = np.where(np.arange(design.items) < design.labelled, design.label_shift, 0.0)
    right: Bools = latent < ndtri(design.theta) + shift[:, None]
    return right


def _verdicts(design: VerdictDesign, label: Bools, rng: np.random.Generator) -> Bools:
    """Draw all runs given the labels.

    Pólya's urn: run k is a fresh draw with probability ``(1−ρ)/(1−ρ+ρ(k−1))`` and else repeats one of the
    earlier runs at random. That is the beta-binomial with mean q and correlation ρ, without a Beta draw.
    """
    q = np.where(label[:, :, None], design.q1.T, 1 - design.q0.T)
    rho = design.repeatability
    runs = [_first_run(design, q, rng)]
    for k in range(1, design.runs):
        fresh = rng.random(q.shape) * (1 - rho + rho * k) < 1 - rho
        earlier = np.take_along_axis(np.stack(runs), rng.integers(k, size=q.shape)[None], axis=0)[0]
        runs.append(np.where(fresh, rng.random(q.shape) < q, earlier))
    return np.stack(runs, axis=-1)


def _first_run(design: VerdictDesign, q: NDArray[np.float64], rng: np.random.Generator) -> Bools:
    s = design.judge_correlation
    if s == 0:
        return rng.random(q.shape) < q
    shared = rng.standard_normal(q.shape[:2])[..., None]
    says_yes: Bools = np.sqrt(s) * shared + np.sqrt(1 - s) * rng.standard_normal(q.shape) < ndtri(q)
    return says_yes
