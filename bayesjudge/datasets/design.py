"""What a simulated log of verdicts looks like, before chance enters: names, accuracies, error rates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from itertools import permutations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayesjudge.errors import UsageError

#: The value of every estimand in a simulated world, by ``(estimand, unit)``.
Truth = dict[tuple[str, str], float]


@dataclass(frozen=True, kw_only=True, eq=False)
class VerdictDesign:
    """A world of M models and J judges in which every error rate is known.

    Parameters
    ----------
    models : sequence of str
        Names of the M models.
    accuracy : array_like (M,)
        True accuracy ``θ = P(y=1)`` of each model over all items like these; one number serves all.
    youden : array_like, broadcast to (J, M)
        Youden's ``J`` of each judge on each model; sensitivity and specificity are both ``(1 + J) / 2``.
    sensitivity, specificity : array_like, broadcast to (J, M), optional
        ``q1 = P(v=1|y=1)`` and ``q0 = P(v=0|y=0)``; each takes the place of what `youden` says.
    labelled, unlabelled : int
        Items with and without human labels. A labelled item is labelled for every model.
    runs : int
        Verdicts of each judge on each answer.
    repeatability : float
        Correlation of two runs of a judge on one answer, given its label: 1, every run says the same;
        0, runs are independent. Runs given the label are beta-binomial.
    item_correlation : float
        Correlation between models of an item's latent difficulty (tetrachoric correlation of the labels).
    judges : sequence of str
        Names of the J judges.
    judge_correlation : float
        Latent correlation of the judges' verdicts on one answer given its label; needs one run.
    cluster_size : int
        Items in each cluster (several questions on one document); labels cover whole clusters.
    cluster_correlation : float
        Correlation of the difficulties of two items of one cluster.
    label_shift : float
        How much easier the labelled items are, in standard deviations of the latent difficulty. Other than 0,
        the labels are enriched: they tell of the judge's errors, not of the accuracy.

    Raises
    ------
    UsageError
        An option outside its range, or arrays that do not fit the names.
    """

    models: Sequence[str] = ("a", "b")
    accuracy: ArrayLike = (0.72, 0.65)
    youden: ArrayLike = (0.6, 0.5)
    sensitivity: ArrayLike | None = None
    specificity: ArrayLike | None = None
    labelled: int = 200
    unlabelled: int = 800
    runs: int = 1
    repeatability: float = 0.8
    item_correlation: float = 0.5
    judges: Sequence[str] = ("judge",)
    judge_correlation: float = 0.0
    cluster_size: int = 1
    cluster_correlation: float = 0.5
    label_shift: float = 0.0

    @classmethod
    def from_options(cls, options: dict[str, Any]) -> VerdictDesign:
        """Build a design from keywords, naming those allowed when one is not."""
        allowed = [field.name for field in fields(cls)]
        unknown = sorted(set(options) - set(allowed))
        if unknown:
            raise UsageError(f"unknown options {unknown}; a verdict design has {allowed}")
        return cls(**options)

    def __post_init__(self) -> None:
        _require_names("models", self.models)
        _require_names("judges", self.judges)
        for name, low in (("labelled", 0), ("unlabelled", 0), ("items", 1), ("runs", 1), ("cluster_size", 1)):
            _require_between(name, getattr(self, name), low, np.inf)
        for name in ("repeatability", "item_correlation", "judge_correlation", "cluster_correlation"):
            _require_between(name, getattr(self, name), 0, 1)
        _require_between("label_shift", self.label_shift, -10, 10)
        if self.runs > 1 and self.judge_correlation > 0:
            raise UsageError("judge_correlation needs runs=1; set it to 0 to simulate repeated runs")
        for name, rates in (("accuracy", self.theta), ("sensitivity", self.q1), ("specificity", self.q0)):
            _require_between(name, rates, 0, 1)

    @property
    def items(self) -> int:
        """Number of items, labelled and not."""
        return self.labelled + self.unlabelled

    @property
    def clusters(self) -> NDArray[np.int64]:
        """Cluster of each item, shape (items,); labelled items fill the first clusters."""
        first = np.arange(self.labelled) // self.cluster_size
        rest = np.arange(self.unlabelled) // self.cluster_size + (first[-1] + 1 if self.labelled else 0)
        return np.concatenate([first, rest]).astype(np.int64)

    @property
    def theta(self) -> NDArray[np.float64]:
        """True accuracies, shape (M,)."""
        return _shaped("accuracy", self.accuracy, (len(self.models),))

    @property
    def q1(self) -> NDArray[np.float64]:
        """Sensitivities, shape (J, M)."""
        return self._rates("sensitivity", self.sensitivity)

    @property
    def q0(self) -> NDArray[np.float64]:
        """Specificities, shape (J, M)."""
        return self._rates("specificity", self.specificity)

    def _rates(self, name: str, given: ArrayLike | None) -> NDArray[np.float64]:
        shape = (len(self.judges), len(self.models))
        if given is not None:
            return _shaped(name, given, shape)
        return (1 + _shaped("youden", self.youden, shape)) / 2

    def truth(self, judge: str | None = None) -> Truth:
        """Superpopulation truth by ``(estimand, unit)``, with every pair in both orders.

        Parameters
        ----------
        judge : str, optional
            Whose sensitivity, specificity and Youden's J to include; may be left out when there is only
            one judge. Without it, several judges leave accuracies and differences only.
        """
        truth = by_model("accuracy", "difference", self.models, self.theta)
        if judge is None and len(self.judges) > 1:
            return truth
        if judge is not None and judge not in self.judges:
            raise UsageError(f"no judge {judge!r}; this design has {list(self.judges)}")
        j = list(self.judges).index(judge) if judge is not None else 0
        q1, q0 = self.q1[j], self.q0[j]
        truth |= by_model("sensitivity", "delta_sensitivity", self.models, q1)
        truth |= by_model("specificity", "delta_specificity", self.models, q0)
        return truth | by_model("youden", "delta_youden", self.models, q1 + q0 - 1)


def by_model(single: str, paired: str, models: Sequence[str], values: NDArray[np.float64]) -> Truth:
    """One number of each model, and its difference for every pair in both orders."""
    named = dict(zip(models, values.tolist(), strict=True))
    alone = {(single, model): value for model, value in named.items()}
    return alone | {(paired, f"{a} − {b}"): named[a] - named[b] for a, b in permutations(models, 2)}


def _require_between(name: str, values: ArrayLike, low: float, high: float) -> None:
    found = np.asarray(values, dtype=float)
    if not np.all((found >= low) & (found <= high)):
        allowed = f"at least {low}" if high == np.inf else f"between {low} and {high}"
        raise UsageError(f"{name} is {found.tolist()}; it must be {allowed}")


def _require_names(name: str, names: Sequence[str]) -> None:
    if isinstance(names, str) or not names or len(set(names)) < len(names):
        raise UsageError(f"{name} is {names!r}; give a sequence of different names, such as ('a', 'b')")


def _shaped(name: str, values: ArrayLike, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Broadcast to the names' shape; NumPy's own rule, said in the user's words when it does not fit."""
    array = np.asarray(values, dtype=float)
    try:
        return np.broadcast_to(array, shape)
    except ValueError as error:
        wanted = " × ".join(map(str, shape))
        raise UsageError(f"{name} has shape {array.shape}; give one number, or {wanted} of them") from error
