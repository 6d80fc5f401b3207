"""What the convergence checks decided of the draws behind estimates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Gate:
    """Verdict of the convergence checks (Vehtari et al. 2021; Betancourt 2016 for E-BFMI).

    Attributes
    ----------
    passed : bool
        Whether every figure is within its bound.
    reasons : tuple of str
        One sentence for each figure that is not.
    figures : mapping of str to float
        ``rhat`` (largest), ``ess`` (smallest of bulk and tail), ``divergences``, ``ebfmi`` (smallest), or
        ``pareto_k`` for importance-sampled draws.
    """

    passed: bool
    reasons: tuple[str, ...]
    figures: Mapping[str, float]

    def __str__(self) -> str:
        return "gate passed" if self.passed else f"gate failed: {'; '.join(self.reasons)}"

    @property
    def note(self) -> str:
        """Empty when passed; otherwise what every estimate must carry."""
        return "" if self.passed else "not converged: " + "; ".join(self.reasons)
