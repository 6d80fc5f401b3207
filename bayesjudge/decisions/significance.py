"""Frequentist tests for a decision: equivalence, non-inferiority, McNemar, paired bootstrap, Holm."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from bayesjudge.maths.holm import holm


def estimate_tests(difference: float, error: float, *, margin: float) -> dict[str, float]:
    """P-values of an estimate with its standard error, by the normal distribution.

    Returns: ``p_different`` (two-sided, of no difference), ``p_noninferior`` (of Δ ≤ −margin) and ``p_tost`` (two
    one-sided tests, Schuirmann 1987: of |Δ| ≥ margin).

    Examples
    --------
    >>> {name: round(p, 3) for name, p in estimate_tests(0.0, 0.01, margin=0.02).items()}
    {'p_different': 1.0, 'p_noninferior': 0.023, 'p_tost': 0.023}
    """
    from scipy.special import ndtr

    if not error > 0:
        return dict.fromkeys(("p_different", "p_noninferior", "p_tost"), np.nan)
    below, above = ndtr(-(difference + margin) / error), ndtr((difference - margin) / error)
    different = 2 * ndtr(-abs(difference) / error)
    return {"p_different": float(different), "p_noninferior": float(below), "p_tost": float(max(below, above))}


def paired_tests(first_only: int, second_only: int, n: int, *, bootstrap: int, seed: int) -> dict[str, float]:
    """P-values of no difference from n labelled items, on so many of which one system alone was right.

    Returns: ``p_mcnemar`` (exact, McNemar 1947) and ``p_bootstrap``, by resampling the n items.
    """
    from scipy.stats import binomtest

    apart = first_only + second_only
    found = {"p_mcnemar": float(binomtest(first_only, apart).pvalue) if apart else 1.0, "p_bootstrap": np.nan}
    if bootstrap and n:
        shares = np.array([first_only, second_only, n - apart]) / n
        drawn = np.random.default_rng(seed).multinomial(n, shares, size=bootstrap)
        gaps = drawn[:, 0] - drawn[:, 1]
        tail = min((gaps <= 0).sum(), (gaps >= 0).sum())
        found["p_bootstrap"] = float(min(2 * (tail + 1) / (bootstrap + 1), 1.0))
    return found


def adjusted(tests: Mapping[tuple[str, str], Mapping[str, float]]) -> dict[tuple[str, str], dict[str, float]]:
    """The same p-values of every pair, each test's adjusted for the number of pairs; what is undefined stays so."""
    names = dict.fromkeys(name for one in tests.values() for name in one)
    found: dict[tuple[str, str], dict[str, float]] = {pair: dict.fromkeys(names, np.nan) for pair in tests}
    for name in names:
        known = {pair: one[name] for pair, one in tests.items() if np.isfinite(one.get(name, np.nan))}
        for pair, p in zip(known, holm(np.array(list(known.values()))), strict=True):
            found[pair][name] = float(p)
    return found
