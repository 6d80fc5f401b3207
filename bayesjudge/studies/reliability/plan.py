"""Which items to ask again, and how often: a budget of trials spent where majorities are most often wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from bayesjudge.planning.trials import allocate

if TYPE_CHECKING:
    from bayesjudge.inference import Fit
    from bayesjudge.studies.reliability.options import ReliabilityOptions

__all__ = ["plan_frame", "plan_sentences"]

#: Posterior draws that a plan rests on.
DRAWS = 100
_COLUMNS = ["judge", "group", "item", "trials", "extra", "wrong", "wrong_after", "wrong_uniform"]


def plan_frame(fit: Fit, options: ReliabilityOptions) -> pd.DataFrame:
    """Further trials of every item of every judge and condition, each with a budget of its own.

    Returns
    -------
    pandas.DataFrame
        ``judge, group, item, trials`` (made), ``extra`` (to make), ``wrong`` and ``wrong_after`` (probability
        that the majority is wrong, without and with them) and ``wrong_uniform`` (the judge's expected number
        of wrong majorities had the same trials been spread evenly).
    """
    from bayesjudge.models.repeated_trials.verdict_draws import verdict_draws

    names = np.array(fit.data.coords["item"], dtype=object)
    found = []
    for part in verdict_draws(fit.model, fit.posterior, fit.data).parts():
        draws = part.q.reshape(-1, *part.q.shape[2:])
        kept = np.unique(np.linspace(0, len(draws) - 1, min(DRAWS, len(draws))).astype(int))
        plan = allocate(draws[kept], budget=options.budget_of(part.items), counts=part.seen)
        found.append(pd.DataFrame({
            "judge": part.name[0], "group": part.name[1], "item": names[part.units[:, 1]],
            "trials": part.seen.sum(axis=1), "extra": plan.extra, "wrong": plan.before,
            "wrong_after": plan.after, "wrong_uniform": plan.uniform,
        }))  # fmt: skip
    return pd.concat(found, ignore_index=True) if found else pd.DataFrame(columns=_COLUMNS)


def plan_sentences(plan: pd.DataFrame, *, most: int = 3) -> list[str]:
    """What to ask again, a sentence a judge and condition."""
    sentences = []
    for (judge, group), rows in plan.groupby(["judge", "group"], sort=False):
        asked = rows[rows["extra"] > 0].sort_values("extra", ascending=False, kind="stable")
        who = f"{judge} ({group})" if group else str(judge)
        now, then = rows["wrong"].sum(), rows["wrong_after"].sum()
        if asked.empty:
            sentences.append(f"{who}: {_expected(now)} of {len(rows)} majorities are expected to be wrong, "
                             "and no further trial within the budget changes that.")  # fmt: skip
            continue
        shown = ", ".join(f"{item} ({extra} more)" for item, extra in
                          zip(asked["item"][:most], asked["extra"][:most], strict=True))  # fmt: skip
        more = len(asked) - most
        rest = f" and {more} other{'s' * (more > 1)}" if more > 0 else ""
        spent = f"{int(rows['extra'].sum())} more trials on {len(asked)} of {len(rows)} items"
        gain = f"bring the expected wrong majorities from {_expected(now)} to {_expected(then)}"
        even = f"spread evenly they would leave {_expected(rows['wrong_uniform'].iloc[0])}"
        sentences.append(f"{who}: {spent}, {shown}{rest}, {gain}; {even}.")
    return sentences


def _expected(number: float) -> str:
    """An expected number, with two decimals where one would make it nothing."""
    return f"{number:.1f}" if number >= 1 else f"{number:.2f}"
