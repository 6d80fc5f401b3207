"""Checks of one judge's fits, as tables."""

from __future__ import annotations

import pandas as pd

from bayesjudge.checks import compare
from bayesjudge.studies.accuracy.fits import JudgeFits
from bayesjudge.studies.common.checks import check_fits

__all__ = ["check_judge"]


def check_judge(fits: JudgeFits) -> dict[str, pd.DataFrame]:
    """Tables ``predictive``, ``comparison``, ``sensitivity`` and ``convergence``, in this order.

    Every table has columns ``judge`` and, but for the comparison, ``method``. The comparison is there when
    other poolings were fitted.
    """
    tables = check_fits(fits.headline.values(), fits.everything.values())
    compared = {"comparison": compare(fits.poolings).frame} if fits.alternatives else {}
    ordered = {"predictive": tables.pop("predictive"), **compared, **tables}
    return {name: table.assign(judge=fits.judge) for name, table in ordered.items()}
