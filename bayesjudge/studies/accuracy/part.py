"""What one judge, or the panel of all, contributes to the accuracy answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

    from bayesjudge.estimates import Estimates
    from bayesjudge.studies.accuracy.fits import JudgeFits

__all__ = ["PANEL", "Part"]

#: What stands in the column ``judge`` for all judges together.
PANEL = "all judges"


@dataclass(frozen=True, eq=False, kw_only=True)
class Part:
    """Fits of one judge (or of all together) and every table made from them.

    Attributes
    ----------
    fits : JudgeFits
        The posteriors.
    bayes, baselines : Estimates
        Accuracies and differences.
    quality : Estimates
        The judge's, or the judges', quality.
    ranks : pandas.DataFrame
        Probability of each rank.
    checks : dict of str to pandas.DataFrame
        Tables of checks by name.
    """

    fits: JudgeFits
    bayes: Estimates
    baselines: Estimates
    quality: Estimates
    ranks: pd.DataFrame
    checks: dict[str, pd.DataFrame]
