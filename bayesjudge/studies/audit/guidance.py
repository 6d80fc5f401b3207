"""What a reader of an audit must know first, and what was and was not done: warnings and checklist."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from bayesjudge.baselines.audit import break_even_auc
from bayesjudge.baselines.audit.evidence import mean_by_pair
from bayesjudge.estimates import Estimates
from bayesjudge.report import ChecklistItem
from bayesjudge.studies.audit.guard import Guard
from bayesjudge.studies.common.checks import check_warnings
from bayesjudge.tables import Pairs

#: Verified pairs, AUC of the best feature and consistency at which an audit is worth its while (METHODS 3.2).
ENOUGH, GOOD_FEATURE, WORTH_BELOW = 150, 0.7, 0.75


def audit_warnings(
    pairs: Pairs, guard: Guard, *, diagnostics: Estimates, checks: Mapping[str, pd.DataFrame]
) -> list[str]:
    """Most serious first."""
    found = [*pairs.warnings, *_verified(pairs, guard)]
    found += _worth(pairs, guard, checks["features"])
    found += _transport(diagnostics, pairs)
    return found + check_warnings(checks)


def _verified(pairs: Pairs, guard: Guard) -> list[str]:
    verified, right = _verified_pairs(pairs), pairs.agrees[pairs.verified]
    found = []
    if verified < ENOUGH:
        found.append(f"only {verified} pairs are verified: at least {ENOUGH} are recommended")
    if len(set(right.tolist())) == 1:
        said = "agree with every" if right[0] else "disagree with every"
        found.append(f"people {said} verified verdict: right and wrong verdicts cannot be compared")
    lost = ~pairs.verified & ~pairs.frame["category"].isin(pairs.frame["category"][pairs.verified])
    if pairs.frame["category"].notna().any() and lost.any():
        count = pairs.frame["item"][lost].nunique()
        found.append(
            f"{count} unverified pairs are of categories without a verified pair: their trust depends on the "
            "other features"
        )
    if guard.folds.by_question:
        found.append(
            "most unverified pairs are about questions without a verified pair: all pairs of a question were held "
            f"out together ({guard.folds.questions} verified), and trust on new questions is less certain than its "
            "intervals imply"
        )
    return found


def _verified_pairs(pairs: Pairs) -> int:
    """Number of pairs that people chose between."""
    return int(pairs.frame["item"][pairs.verified].nunique())


def _measured_consistency(pairs: Pairs) -> float:
    """Share of verified verdicts that people agree with, a pair's verdicts counted as one."""
    item = pairs.frame["item"].to_numpy()[pairs.verified]
    return float(mean_by_pair(pairs.agrees[pairs.verified], item).mean())


def _worth(pairs: Pairs, guard: Guard, features: pd.DataFrame) -> list[str]:
    share, best = _measured_consistency(pairs), features["auc"].max()
    messages = []
    if share > WORTH_BELOW and not guard.open:
        messages.append(
            f"people agree with {100 * share:.0f} % of the verified verdicts; above {100 * WORTH_BELOW:.0f} %, "
            "reversing verdicts rarely improves agreement"
        )
    if best < GOOD_FEATURE:
        messages.append(
            f"no single feature separates right from wrong verdicts with an AUC of {GOOD_FEATURE} (best "
            f"{best:.3f}): expect trust near the base rate"
        )
    return messages


def _transport(diagnostics: Estimates, pairs: Pairs) -> list[str]:
    """What partial optimal transport would do, since it always flips."""
    rows = diagnostics.where(method="partial-ot", estimand="precision of flips").frame
    if rows.empty or not rows["point"].iloc[0] < 0.5:
        return []
    share = _measured_consistency(pairs)
    ranked = diagnostics.where(method="partial-ot", estimand="auc").frame
    right = f"{100 * rows['point'].iloc[0]:.0f} % of the held-out flips of optimal transport are right"
    ranked_as = f" (AUC {ranked['point'].iloc[0]:.2f})" if len(ranked) else ""
    needed = f"; it would need an AUC of {break_even_auc(share):.2f} to break even" if 0.5 < share < 1 else ""
    return [f"{right}{ranked_as}, so they reduce agreement{needed}: its flips are reported and not applied"]


def audit_checklist(
    pairs: Pairs, guard: Guard, features: pd.DataFrame, bins: pd.DataFrame
) -> tuple[ChecklistItem, ...]:
    """The conditions under which an audit can be believed, filled from the data."""
    verified, share = _verified_pairs(pairs), _measured_consistency(pairs)
    best = features["auc"].max()
    inside = float(((bins["lower"] <= bins["predicted"]) & (bins["predicted"] <= bins["upper"])).mean())
    checked = f"{guard.reason[:1].upper()}{guard.reason[1:]}."
    contain = f"{100 * inside:.0f} % of the bins' intervals contain the predicted share."
    about = contain if len(bins) else "Not measured."
    return (
        (
            "Enough pairs verified",
            "yes" if verified >= ENOUGH else "no",
            f"{verified} of {pairs.frame['item'].nunique()} pairs.",
        ),
        ("Room to gain", "yes" if share <= WORTH_BELOW else "warn", f"Consistency {share:.3f} when verified."),
        (
            "A feature that separates right from wrong",
            "yes" if best >= GOOD_FEATURE else "warn",
            f"Best AUC of a single feature: {best:.2f}.",
        ),
        ("Flips checked on pairs held out", "yes" if guard.open else "no", checked),
        ("Trust calibrated on pairs held out", "yes" if inside >= 0.8 else "warn", about),
    )
