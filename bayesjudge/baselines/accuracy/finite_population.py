r"""Accuracy on exactly these items: what is left to learn once some of them carry labels.

``population="superpopulation"`` asks for the accuracy on questions like these, ``population="items"`` for the
mean label of these N items, of which a random ``n_L = fN`` are labelled. There, the labelled items have no
error, and every estimator's error is a contrast of labelled and unlabelled items. With the regression
estimators' ``θ̂ = ȳ_L + λ(v̄_U − v̄_L)`` and ``θ = fȳ_L + (1 − f)ȳ_U``,

.. math:: θ̂ - θ = (1-f)(\bar r_L - \bar r_U), \qquad r = y - bv, \quad b = λ/(1-f),

so that under random labelling ``Var = (1 − f)² S_r² (1/n_L + 1/n_U) = (1 − f) S_r²/n_L`` (Cochran 1977,
*Sampling Techniques*, eq. 7.2 for labels alone, b = 0, and §7.3 for a fixed b). PPI++'s λ* is ``(1 − f)``
times the regression slope, which minimises this variance too, and the EIF has ``b = β̂`` by construction:
neither estimate moves, only its interval. Between models with labelled sets L_a, L_b among items A_a, A_b,

.. math:: Cov = S_{ab}\left[\frac{|L_a∩L_b|}{n_a n_b} - \frac{|L_a∩A_b|}{n_a N_b}
    - \frac{|A_a∩L_b|}{N_a n_b} + \frac{|A_a∩A_b|}{N_a N_b}\right],

which is ``(1 − f) S_ab/n_L`` where both have the same. S is taken from the labelled items; where no item is
labelled for both, the bound ``√(S_aa S_bb)`` that makes a difference widest stands in. With clusters,
``(1 − f)`` multiplies the cluster-robust variance: exact where clusters are labelled whole, on the safe side
where they mix, for then labelled and unlabelled means err together.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from bayesjudge.baselines.common.moments import Array, Evidence, ratio
from bayesjudge.baselines.common.variance import covariance

__all__ = ["Finite", "labelled_share", "residual_covariance"]

#: A correction factor below this is a difference of equal fractions.
_ROUNDING = 1e-12


@dataclass(frozen=True, kw_only=True)
class Finite:
    """How a family estimates the accuracy on exactly these items.

    Parameters
    ----------
    point : callable
        Evidence → estimates (M,), NaN where undefined.
    covariance : callable
        ``(evidence, ddof)`` → covariance (M, M) of the errors.
    verdicts_only : bool
        Whether the family takes the judge for the truth, so that no label enters.
    """

    point: Callable[[Evidence], Array]
    covariance: Callable[[Evidence, int], Array]
    verdicts_only: bool = False


def labelled_share(evidence: Evidence) -> Array:
    """Share ``f`` (M,) of each model's items that carry a label; 0 for a model without items."""
    moments = evidence.plain
    return np.asarray(np.nan_to_num(ratio(moments.labelled, moments.total))[0])


def residual_covariance(residual: Array, evidence: Evidence) -> Array:
    """Covariance (M, M) of ``(1 − f)(r̄_L − r̄_U)`` from the influences (R, M) of the labelled means r̄_L.

    Parameters
    ----------
    residual : array (R, M)
        ``(r − r̄_L)·mean_scale`` on labelled items, 0 elsewhere.
    evidence : Evidence
        Which items are labelled for which model.

    Returns
    -------
    array (M, M)
        Exactly 0 in the rows and columns of models whose items are all labelled.
    """
    cov = covariance(residual, evidence)
    overlap, contrast = _contrast(evidence)
    factor = ratio(contrast, overlap)
    factor = np.where(np.abs(factor) < _ROUNDING, 0.0, factor)
    # Exact zeros stay exact where a single label leaves its variance unknown.
    known = np.where(factor == 0, 0.0, factor * np.where(factor == 0, 0.0, cov))
    spread = np.sqrt(np.diag(cov) * evidence.plain.labelled[0])
    return np.where(overlap > 0, known, -np.abs(contrast) * np.outer(spread, spread))


def _contrast(evidence: Evidence) -> tuple[Array, Array]:
    """``|L_a∩L_b|/(n_a n_b)`` and the whole bracket (M, M); 0 for models without labels."""
    labelled, seen = evidence.labelled, evidence.labelled + evidence.unlabelled
    n, size = evidence.plain.labelled[0], evidence.plain.total[0]
    weighted = evidence.n[:, None] * labelled
    overlap = np.nan_to_num(ratio(weighted.T @ labelled, np.outer(n, n)))
    across = np.nan_to_num(ratio(weighted.T @ seen, np.outer(n, size)))
    joint = np.nan_to_num(ratio((evidence.n[:, None] * seen).T @ seen, np.outer(size, size)))
    has_labels = np.outer(n > 0, n > 0)
    return overlap, np.where(has_labels, overlap - across - across.T + joint, 0.0)
