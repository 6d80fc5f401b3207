"""The audit question: whether people agree with each verified pair's verdict, and what is known of every pair.

A pair is looked at from the response that its verdicts chose. Where the verdicts of two orders disagree, ``vote`` is 0
and features are those of either response: ``agree`` then says that people chose this one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from bayesjudge.adapters.views.view import Values, View, by_entry
from bayesjudge.model import Data
from bayesjudge.models.verdict_agreement import VerdictAgreement
from bayesjudge.readers import read_pairs
from bayesjudge.tables import Pairs

_OF_VERIFIED = {"agree": (), "vote": (), "features": ("feature",), "category": ()}
ARRAYS: Mapping[str, tuple[str, ...]] = {
    **{name: ("row", *axes) for name, axes in _OF_VERIFIED.items()},
    **{f"{name}_other": ("other", *axes) for name, axes in _OF_VERIFIED.items() if name != "agree"},
}
#: What `verdict_agreement` calls an array.
_THEIRS = {"agree": "agreements", "features": "x", "features_other": "x_other"}
#: Features without a statistic: one direction means nothing by itself, categories have their own.
_UNSHOWN = ("direction ", "category: ")


def _made(table: Pairs) -> Data:
    known = VerdictAgreement().prepare(table)
    (judge,) = table.frame["judge"].unique()
    units = {"unverified": len(known["vote_other"]), str(judge): len(known["vote"])}
    return Data(
        arrays={name: known[_THEIRS.get(name, name)] for name in ARRAYS},
        dims=ARRAYS,
        coords={
            "row": known.coords["pair"],
            "other": known.coords["other"],
            "feature": known.coords["feature"],
            "category_name": known.coords["category_name"],
            "judge": (str(judge),),
        },
        observed="agree",
        units=units,
    )


def _resampled(data: Data, replicates: int, rng: np.random.Generator) -> Values:
    """Whole pairs: what people said of them, and which they are."""
    agree = np.asarray(data["agree"])
    row = rng.integers(len(agree), size=(replicates, len(agree)))
    return {"agree": agree[row], "row": row}


def _shown(name: str, observed: Values, data: Data) -> dict[str, Any]:
    """Share of verdicts agreed with: of all, by category, and where a feature is above its median, minus elsewhere."""
    if name != "agree":
        return by_entry(name, observed, data)
    row = np.asarray(observed.get("row", np.arange(data.size("row"))))
    vote, category, features = (np.asarray(data[array]) for array in ("vote", "category", "features"))
    # Of two verdicts that disagree one is right, whichever it is.
    agreed = 0.5 + vote[row] * (np.asarray(observed[name]) - 0.5)
    found = {"agree": agreed.mean(-1)}
    names = data.coords["category_name"]
    found |= {f"agree | {kind}": _mean(agreed, category[row] == k) for k, kind in enumerate(names) if len(names) > 1}
    for k, feature in enumerate(data.coords["feature"]):
        high = features[:, k] > np.median(features[:, k])
        if high.any() and not str(feature).startswith(_UNSHOWN):
            found[f"agree | {feature}, high − low"] = _mean(agreed, high[row]) - _mean(agreed, ~high[row])
    return found


def _mean(values: Any, chosen: Any) -> Any:
    """Means of some entries along the last axis, NaN of none."""
    count = np.broadcast_to(chosen, values.shape).sum(-1)
    return np.where(chosen, values, 0.0).sum(-1) / np.where(count > 0, count, np.nan)


PAIRS = View(
    question="audit",
    kinds=(Pairs,),
    read=read_pairs,
    made=_made,
    arrays=ARRAYS,
    estimands={"trust": "other", "agreement": ""},
    needed=("trust", "agreement"),
    resampled=_resampled,
    shown=_shown,
)
