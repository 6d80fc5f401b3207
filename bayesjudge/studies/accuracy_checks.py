"""Checks of one judge's fits, as tables."""

from __future__ import annotations

import pandas as pd

from bayesjudge.checks import compare, convergence, predictive_check, prior_sensitivity
from bayesjudge.inference import Fit
from bayesjudge.studies.accuracy_fits import JudgeFits

__all__ = ["check_judge"]


def check_judge(fits: JudgeFits) -> dict[str, pd.DataFrame]:
    """Tables ``predictive``, ``comparison``, ``sensitivity`` and ``convergence``, in this order.

    Every table has columns ``judge`` and, but for the comparison, ``method``. The comparison is there when
    other poolings were fitted.
    """
    headline = fits.headline.values()
    tables = {
        "predictive": _stacked({one: predictive_check(one).frame for one in headline}),
        "comparison": compare(fits.poolings).frame if fits.alternatives else None,
        "sensitivity": _stacked({one: prior_sensitivity(one).frame for one in headline}),
        "convergence": _stacked({one: convergence(one).frame for one in fits.everything.values()}),
    }
    return {name: table.assign(judge=fits.judge) for name, table in tables.items() if table is not None}


def _stacked(frames: dict[Fit, pd.DataFrame]) -> pd.DataFrame:
    named = [frame.assign(method=one.model.label) for one, frame in frames.items()]
    return pd.concat(named, ignore_index=True)
