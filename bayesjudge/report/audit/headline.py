"""The audit's answer in sentences: flip so many verdicts, or none, and what people are expected to agree with."""

from __future__ import annotations

from bayesjudge.report.comparison import Comparison
from bayesjudge.report.lead import PER_CENT, interval_words, point_words, refusal

#: Reason for which rows are left out.
PEOPLES_TIE = "tie by people"


def headline(answer: Comparison) -> list[str]:
    """What to do, and how far people agree before and after."""
    if not answer.gate.passed:
        return [*_measured(answer), *_ties(answer), refusal(answer)]
    if answer.settings["verified"] == "all":
        measured = f"People agree with {_share(answer, 'verified', 'as they are', prob=True)}."
        return [guard_sentence(answer), measured, *_ties(answer)]
    shares = [_share(answer, "unverified", "as they are", prob=True)]
    after = answer.estimates.where(estimand="consistency (flipped)", unit="unverified")
    if len(after) and answer.checks["trust"]["flip"].any():
        shares.append(_share(answer, "unverified", "after the flips", estimand="consistency (flipped)"))
    return [guard_sentence(answer), f"People are expected to agree with {', and '.join(shares)}.", *_ties(answer)]


def _ties(answer: Comparison) -> list[str]:
    """Of which pairs the shares are, where people called some ties."""
    ties = answer.dropped.get(PEOPLES_TIE, 0)
    if not ties:
        return []
    rows = f"{ties} row{'s' * (ties > 1)} that people call {'ties' if ties > 1 else 'a tie'}"
    return [f"Shares are of pairs of which people prefer one: {rows} {'are' if ties > 1 else 'is'} left out."]


def guard_sentence(answer: Comparison) -> str:
    """Flip so many, or flip nothing, because."""
    reason, trust = str(answer.settings["guard"]), answer.checks["trust"]
    if answer.settings["verified"] == "all":
        return f"Every pair is verified, so no verdict is reversed. On other pairs like these, {reason}."
    flips = int(trust["flip"].sum())
    return f"{reason[:1].upper()}{reason[1:]}. {flips} of {len(trust)} unverified verdicts are reversed."


def _share(answer: Comparison, unit: str, when: str, *, estimand: str = "consistency", prob: bool = False) -> str:
    row = answer.estimates.where(estimand=estimand, unit=unit).frame.iloc[0]
    interval = interval_words(row, PER_CENT, prob=answer.settings["prob"] if prob else None)
    return f"{point_words(row, PER_CENT)} of the {unit} verdicts {when} ({interval})"


def _measured(answer: Comparison) -> list[str]:
    """Agreement on the verified pairs, which needs no posterior."""
    rows = answer.estimates.where(estimand="consistency (held out)", method="judge", group="").frame
    if rows.empty:
        return []
    row = rows.iloc[0]
    interval = interval_words(row, PER_CENT, prob=answer.settings["prob"])
    return [f"Reverse nothing: people agree with {point_words(row, PER_CENT)} of the verified verdicts ({interval})."]
