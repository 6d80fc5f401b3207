"""Sufficient statistics of the baselines: weighted sums over patterns, as one matrix product.

Every estimator here is a smooth function of eight sums per model, so the plain estimate (one row of
weights) and ten thousand bootstrap replicates (ten thousand rows) run the same code.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesjudge.counts import ItemPatterns

type Array = NDArray[np.float64]
type Codes = NDArray[np.intp]

#: A variance of numbers in [0, 1] below this is rounding error: with K runs and N items the smallest
#: real one is about 1/(K²N), which is 1e-11 for 100 runs of ten million items.
ROUNDING = 1e-13
#: Test items below which their mean verdict, where labels outnumber them, says less than that of all items does.
FEWEST_TESTS = 30


def ratio(numerator: NDArray[Any], denominator: NDArray[Any]) -> Array:
    """Quotient of each of the numerators, NaN where the denominator is zero (an undefined mean, not a warning)."""
    empty = np.full_like(numerator, np.nan, dtype=np.float64)
    return np.asarray(np.divide(numerator, denominator, out=empty, where=denominator != 0))


@dataclass(frozen=True, eq=False, kw_only=True)
class Moments:
    """The eight weighted sums of every estimator; arrays (B, M): B rows of weights, M models.

    labelled, unlabelled: Number of calibration items (label and verdict) and of test items (verdict only).
    positives: Calibration items with label 1.
    v_labelled, vv_labelled, v_unlabelled, vv_unlabelled: Sums of the items' mean verdict v and of v² over either set.
    vy: Sum of v over the calibration items with label 1.
    reference: Which model's labels serve all models under shared calibration; by default those of all together.
    repeated: Whether some item of the model was judged in more than one run.
    pooled: As in `Evidence`.
    weighted: Whether labels were drawn with unequal probabilities, so that those without are no sample either.
    """

    labelled: Array
    positives: Array
    v_labelled: Array
    vy: Array
    vv_labelled: Array
    unlabelled: Array
    v_unlabelled: Array
    vv_unlabelled: Array
    reference: int | None
    repeated: NDArray[np.bool_]
    pooled: NDArray[np.bool_]
    weighted: bool = False

    @cached_property
    def negatives(self) -> Array:
        """Calibration items with label 0."""
        return self.labelled - self.positives

    @cached_property
    def total(self) -> Array:
        """Items with a verdict."""
        return self.labelled + self.unlabelled

    @cached_property
    def mean_y(self) -> Array:
        """Accuracy among the calibration items."""
        return ratio(self.positives, self.labelled)

    @cached_property
    def mean_v_labelled(self) -> Array:
        """Verdict rate among the calibration items."""
        return ratio(self.v_labelled, self.labelled)

    @cached_property
    def mean_v_unlabelled(self) -> Array:
        """Verdict rate among the test items."""
        return ratio(self.v_unlabelled, self.unlabelled)

    @cached_property
    def mean_v(self) -> Array:
        """Verdict rate among all items."""
        return ratio(self.v_labelled + self.v_unlabelled, self.total)

    @cached_property
    def sensitivity(self) -> Array:
        """``q1``, the mean verdict where the label is 1."""
        return ratio(self.vy, self.positives)

    @cached_property
    def specificity(self) -> Array:
        """``q0``, one minus the mean verdict where the label is 0."""
        return 1.0 - ratio(self.v_labelled - self.vy, self.negatives)

    @cached_property
    def youden(self) -> Array:
        """Youden's index ``J = q0 + q1 − 1``."""
        return self.specificity + self.sensitivity - 1.0

    @cached_property
    def covariance(self) -> Array:
        """Covariance of label and verdict over the calibration items, divisor n_L."""
        return ratio(self.vy, self.labelled) - self.mean_y * self.mean_v_labelled

    @cached_property
    def variance_labelled(self) -> Array:
        """Variance of the verdict over the calibration items, divisor n_L; exactly 0 when constant."""
        variance = ratio(self.vv_labelled, self.labelled) - self.mean_v_labelled**2
        return np.where(variance < ROUNDING, 0.0, variance)

    @cached_property
    def variance_pooled(self) -> Array:
        """Variance of the verdict over all items, divisor n − 1; exactly 0 when constant."""
        squares = ratio(self.vv_labelled + self.vv_unlabelled, self.total)
        variance = squares - self.mean_v**2
        return ratio(np.where(variance < ROUNDING, 0.0, variance) * self.total, self.total - 1.0)


#: The sums of `Moments`, in the order of the features that they are of.
SUMS = ("labelled", "positives", "v_labelled", "vy", "vv_labelled", "unlabelled", "v_unlabelled", "vv_unlabelled")


@dataclass(frozen=True, eq=False, kw_only=True)
class Evidence:
    """The items of one judge as the estimators see them: R patterns, M models.

    An item is a calibration item for a model when it has a label and a verdict for it, and a test item
    when it has a verdict only. Repeated runs enter as the item's mean verdict ``v``, so the number of
    items, never of runs, sets every standard error (seed Appendix E.4).

    n: Items that show the pattern.
    cluster: Cluster codes ``0 … clusters − 1``.
    clusters: Number of clusters; 0 when every item stands alone.
    labelled, unlabelled: 1 where the item is a calibration (test) item of the model, else 0. Where labels were drawn
        with unequal probabilities, how many labels each represents, and one less that number: sums over labels are then
        weighted, sums over all items are not.
    y, v: Label and mean verdict; 0 where there is none.
    reference: Which model's labels serve all models under shared calibration; by default those of all together.
    repeated: Whether some item of the model was judged in more than one run.
    weighted: Whether labels were drawn with unequal probabilities.
    """

    n: Array
    cluster: NDArray[np.int64]
    clusters: int
    labelled: Array
    unlabelled: Array
    y: Array
    v: Array
    reference: int | None
    repeated: NDArray[np.bool_]
    weighted: bool = False

    @classmethod
    def from_patterns(
        cls, patterns: ItemPatterns, *, clustered: bool = False, reference: int | None = None
    ) -> Evidence:
        """Read one judge's patterns; by default the labels of all models calibrate each under sharing."""
        judged = patterns.runs > 0
        labelled, weight = judged & (patterns.label >= 0), patterns.label_weight
        names, cluster = np.unique(patterns.cluster, return_inverse=True)
        return cls(
            n=patterns.n.astype(float),
            cluster=cluster.reshape(-1).astype(np.int64),
            clusters=len(names) if clustered else 0,
            labelled=weight,
            unlabelled=judged - weight,
            y=np.where(labelled, patterns.label, 0).astype(float),
            v=np.where(judged, patterns.positives / np.maximum(patterns.runs, 1), 0.0),
            reference=reference,
            repeated=np.asarray((patterns.runs > 1).any(axis=0)),
            weighted=patterns.probability is not None,
        )

    @cached_property
    def _features(self) -> Array:
        labelled, unlabelled, y, v = self.labelled, self.unlabelled, self.y, self.v
        by_label = [labelled, labelled * y, labelled * v, labelled * y * v, labelled * v * v]
        return np.hstack([*by_label, unlabelled, unlabelled * v, unlabelled * v * v])

    @cached_property
    def pooled(self) -> NDArray[np.bool_]:
        """Models (M,) with fewer test items than labelled ones and than `FEWEST_TESTS`: the rate is of all."""
        return np.asarray(self.n @ self.unlabelled < np.minimum(self.n @ self.labelled, FEWEST_TESTS))

    def moments(self, weights: Array) -> Moments:
        """Moments for weights (B, R): how often each pattern's items count."""
        # The transposed product keeps each model's replicates contiguous, which the quantiles need.
        sums = self._features.T @ weights.T
        parts = {name: part.T for name, part in zip(SUMS, np.split(sums, len(SUMS)), strict=True)}
        return self._of(parts)

    def stacked_moments(self, weights: Iterable[Array]) -> Moments:
        """Moments for chunks of weights, joined along B."""
        parts = [self.moments(chunk) for chunk in weights]
        # Joined as transposes, again for contiguous replicates.
        joined = {name: np.hstack([getattr(part, name).T for part in parts]).T for name in SUMS}
        return self._of(joined)

    def _of(self, sums: Mapping[str, Array]) -> Moments:
        return Moments(
            **sums, reference=self.reference, repeated=self.repeated, pooled=self.pooled, weighted=self.weighted
        )

    @cached_property
    def plain(self) -> Moments:
        """Moments of the data as they are, B = 1."""
        return self.moments(self.n[None, :])
