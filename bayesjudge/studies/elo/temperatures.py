"""What score gaps are worth: judges' temperatures, and soft Elo that knows them only so well."""

from __future__ import annotations

import numpy as np

from bayesjudge.counts.battles.counts import BattleCounts
from bayesjudge.models.judge_temperature import JudgeTemperature

__all__ = ["temperature_models"]


def temperature_models(counts: BattleCounts) -> list[tuple[str, JudgeTemperature]]:
    """`judge_temperature` where a judge's gaps stand beside people's votes, by group where there are some.

    Parameters
    ----------
    counts : BattleCounts

    Returns
    -------
    list of (str, JudgeTemperature)
        One fit on people's scale, or none: β is learned from votes that are no ties beside gaps that are not
        0.

    Examples
    --------
    >>> from bayesjudge.counts.battles.counts import count_battles
    >>> from bayesjudge.datasets import BattleDesign, simulate_battles
    >>> worlds = [BattleDesign(battles=100, graded=graded) for graded in (True, False)]
    >>> [len(temperature_models(count_battles(simulate_battles(seed=1, design=world).battles)))
    ...  for world in worlds]
    [1, 0]
    """
    rows = counts.judged
    told = np.isfinite(rows.gap) & (rows.gap != 0) & (rows.votes[:, [0, 2]].sum(axis=1) > 0)
    even = [judge for judge in np.unique(rows.judge[np.isfinite(rows.gap)])
            if not np.any(rows.gap[(rows.judge == judge) & np.isfinite(rows.gap)])]  # fmt: skip
    # The model refuses a judge that scores every battle even, and β says nothing of it.
    if not told.any() or even:
        return []
    return [("", JudgeTemperature(by_group=len(counts.groups) > 1))]
