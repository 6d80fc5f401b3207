"""The attack protocol: the same pairs judged again after one response was dressed up (PUAudit, section 5.2).

An attack changes how a response looks and not what it says, so what people prefer stays. The audit learns
from verified pairs as they were and never sees an attacked one verified.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesjudge.baselines.audit.evidence import Audit, consistency
from bayesjudge.errors import UsageError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bayesjudge.tables import Pairs


def consistency_by_attack(
    pairs: Pairs, audit: Callable[[Pairs], Audit], *, held_out: NDArray[np.bool_], prob: float = 0.95
) -> list[dict[str, Any]]:
    """Consistency of the judge and of an audit after every attack, over all and by category.

    pairs: Of one judge, with rows of attack ``"none"`` and of others.

    Returns: Rows for `Estimates`: methods ``judge`` and the audit's, estimands named with the attack in brackets.
    """
    frame = pairs.frame
    items = set(frame.loc[held_out, "item"])
    tested = frame["item"].isin(list(items)).to_numpy(dtype=bool)
    plain = (frame["attack"] == "none").to_numpy(dtype=bool)
    anchors = np.flatnonzero(plain & pairs.verified & ~tested)
    if not len(anchors):
        raise UsageError("no verified pair without attack is left to learn from: hold fewer items out")
    rows: list[dict[str, Any]] = []
    for attack in dict.fromkeys(frame["attack"]):
        hit = np.flatnonzero((frame["attack"] == attack).to_numpy(dtype=bool) & tested & pairs.verified)
        if not len(hit):
            raise UsageError(f"no held-out pair after attack {attack!r} is verified, so nothing can be scored")
        joined = pairs.take(np.concatenate([anchors, hit]))
        # To the method they are one table: which of its rows were attacked is what it must not know.
        joined = replace(joined, frame=joined.frame.assign(attack="none"))
        target = np.arange(len(joined)) >= len(anchors)
        found = audit(joined.hide(target))
        flipped, agrees = found.flipped(len(joined))[target], joined.agrees[target]
        mine = joined.frame[target]
        types = mine["category"].fillna("(none)").to_numpy()
        for method, flips in (("judge", np.zeros_like(flipped)), (found.method, flipped)):
            rows += [
                {**row, "estimand": f"{row['estimand']} ({attack})"}
                for row in consistency(
                    agrees, flips, method=method, prob=prob, category=types, pair=mine["item"].to_numpy()
                )
                if method != "judge" or row["estimand"] == "consistency"
            ]
    return rows
