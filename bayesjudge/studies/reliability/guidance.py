"""What to make of a reliability answer: warnings, the paper's reporting checklist, and what to ask again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import pandas as pd

from bayesjudge.report.comparison import ChecklistItem
from bayesjudge.studies.common.checks import check_warnings, effect_warnings, fallback_warnings, turned_warnings
from bayesjudge.studies.reliability.parts import Pairwise, Pointwise
from bayesjudge.studies.reliability.tables import Chosen

if TYPE_CHECKING:
    type Compared = Pairwise | Chosen


#: Flip rate above which the paper calls an item uncertain (section 6.4).
HIGH_FLIP = 0.20
#: Trials of the paper's minimum and standard tiers.
MINIMUM, STANDARD = 10, 20


def warnings_of(pair: Compared | None, point: Pointwise | None, checks: Mapping[str, pd.DataFrame]) -> list[str]:
    """What a reader must know before the numbers, most serious first."""
    found: list[str] = []
    for part in (pair, point):
        if part is not None:
            found += fallback_warnings({fit.model.label: fit for fit in part.fits})
            of = "responses" if part is point else "items"
            found += [text for fit in part.fits for text in effect_warnings(fit.manifest, of=of)]
            found += [*part.counts.warnings, *part.baseline.warnings]
    found += [*_turned(pair), *_one_order(pair), *_once(pair)] if pair is not None else []
    if point is not None and point.unfitted:
        found.append(point.unfitted)
    if point is not None and point.baseline.gaps.empty:
        several = len(point.counts.responses)
        why = f"{several} responses (responses= chooses two)" if several > 1 else "one response of each item"
        found.append(f"no gap between scores of two responses: the scores have {why}")
    found += check_warnings(checks)
    return list(dict.fromkeys(found))


def _turned(pair: Compared) -> list[str]:
    """Judges whose verdicts turn with the order on most items, as letters of places do when taken for responses'."""
    if isinstance(pair, Chosen):
        return []
    items = pair.baseline.items
    both = items[items["position_effect"].notna() & (items["first"] + items["second"] > 0)]
    found: list[str] = []
    for judge, effects in both.groupby("judge", sort=False)["position_effect"]:
        turned = int((effects.abs() > 0.5).sum())
        found += turned_warnings(str(judge), turned, len(effects), what="items", ours="outcome")
    return found


def _one_order(pair: Compared) -> list[str]:
    """Judges that saw each item in one order, or arrangement, alone."""
    if isinstance(pair, Chosen):
        judges = list(dict.fromkeys(one.judge for one in pair.choices if one.data.one_arrangement))
        shown, others = "arrangement", "other arrangements"
    else:
        shown, others = "order", "the other order"
        counts = pair.counts
        orders = {name: {*counts.order[counts.judge == j].tolist()} - {0} for j, name in enumerate(counts.judges)}
        items = pair.baseline.items
        both = set(items["judge"][items["position_effect"].notna()])
        judges = [judge for judge, known in orders.items() if known and judge not in both]
    if not judges:
        return []
    who = judges[0] if len(judges) == 1 else f"{len(judges)} judges"
    more = "several arrangements" if isinstance(pair, Chosen) else "both orders"
    text = (
        f"each item was shown to {who} in one {shown} alone: flip rates are of that {shown}, {others} may add to them"
    )
    return [f"{text}; show some items in {more}"]


def _once(pair: Compared) -> list[str]:
    """Judges that were never asked the same again."""
    counts = pair.counts
    trials = counts.n.sum(axis=1)
    judges = [name for j, name in enumerate(counts.judges) if trials[counts.judge == j].max() == 1]
    if not judges:
        return []
    who = judges[0] if len(judges) == 1 else f"{len(judges)} judges"
    if isinstance(pair, Chosen):
        text = (
            f"no arrangement was repeated by {who}: such repeats are taken to be independent given its probabilities; "
            "a judge that repeats itself flips less than these figures say"
        )
    else:
        text = (
            f"no comparison of {who} was repeated in the same order and condition: how often such repeats differ "
            "rests on the prior (repeat_correlation), and intervals are as wide as that; repeat some of them"
        )
    return [text]


def checklist(
    pair: Compared | None, point: Pointwise | None, checks: Mapping[str, pd.DataFrame]
) -> tuple[ChecklistItem, ...]:
    """Section 6.4 of "The Coin-Flip Judge", filled from the data."""
    return (
        *(_trials(pair) if pair is not None else ()),
        _modes(pair, point),
        _panel(pair, point),
        *(_uncertain(checks["items"]) if pair is not None else ()),
        *(_categories(pair) if pair is not None else ()),
        _protocol(pair, point),
    )


def _trials(pair: Compared) -> tuple[ChecklistItem, ...]:
    trials = pair.baseline.items["trials"]
    middle = float(trials.median())
    status = "yes" if trials.min() >= STANDARD else "warn" if middle >= MINIMUM else "no"
    asked = f"{trials.min()} to {trials.max()}" if trials.min() < trials.max() else str(trials.min())
    text = f"{asked} trials of an item (median {middle:g}); the tiers of “The Coin-Flip Judge” are 10, 20 and 50."
    return (("Repeated trials", status, text), _order(pair))


def _order(pair: Compared) -> ChecklistItem:
    recorded = pair.counts.recorded if isinstance(pair, Chosen) else pair.counts.order != 0
    known = float(pair.counts.n[recorded].sum() / pair.counts.n.sum())
    if not isinstance(pair, Chosen) and pair.counts.single:
        return "Order of presentation", "yes", "Verdicts are of one answer each, of which none is shown first."
    if not known:
        text = "Not recorded: position bias cannot be distinguished from preference, and is not estimated."
        return "Order of presentation", "no", text
    if isinstance(pair, Chosen):
        fewest = min(int((one.data.n.sum(2) > 0).sum(1).min()) for one in pair.choices)
        text = f"Recorded for {known:.0%} of the trials; fewest arrangements of an item: {fewest}."
        return "Order of presentation", "yes" if known == 1 and fewest > 1 else "warn", text
    both = float(pair.baseline.items["position_effect"].notna().mean())
    text = f"Recorded for {known:.0%} of the trials; {both:.0%} of the items were shown in both orders."
    return "Order of presentation", "yes" if both == 1 else "warn", text


def _modes(pair: Compared | None, point: Pointwise | None) -> ChecklistItem:
    if pair is not None and point is not None:
        return "Comparisons and scores", "yes", "Both are reported, with the gap between them."
    have, lack = ("comparisons", "scores") if pair is not None else ("scores", "comparisons")
    text = f"Only {have}: without {lack}, decisive verdicts between nearly equal responses cannot be detected."
    return "Comparisons and scores", "warn", text


def _panel(pair: Compared | None, point: Pointwise | None) -> ChecklistItem:
    judges = {judge for part in (pair, point) if part is not None for judge in part.counts.judges}
    if len(judges) < 2:
        return "Panel of judges", "warn", "One judge: how much depends on the judge cannot be estimated."
    each = "agreement beyond chance is reported for each pair"
    every = "agreement of their mean scores is reported over all of them (α, ICC between judges)"
    return "Panel of judges", "yes", f"{len(judges)} judges; {every if pair is None else each}."


def _uncertain(items: pd.DataFrame) -> tuple[ChecklistItem, ...]:
    high = items[items["flip_rate"] > HIGH_FLIP].sort_values("flip_rate", ascending=False, kind="stable")
    shown = ", ".join(dict.fromkeys(high["item"].astype(str)))
    shown = shown if len(shown) <= 80 else shown[:77] + "..."
    text = f"{len(high)} of {len(items)} judge–item pairs flip in more than {HIGH_FLIP:.0%} of trials"
    return (("Uncertain items", "warn" if len(high) else "yes", f"{text}: {shown}." if len(high) else f"{text}."),)


def _categories(pair: Compared) -> tuple[ChecklistItem, ...]:
    if not pair.counts.categories:
        return (("Categories", "warn", "No categories are in the table: stability by kind of task is not estimated."),)
    names = pair.counts.categories
    return (("Categories", "yes", f"Flip rates are shown for {len(names)} categories."),)


def _protocol(pair: Compared | None, point: Pointwise | None) -> ChecklistItem:
    conditions = {str(c) for part in (pair, point) if part is not None for c in part.counts.conditions}
    if len(conditions) > 1:
        text = f"{len(conditions)} combinations of prompt and temperature were tried."
        return "Prompt and temperature", "yes", text
    text = f"One condition ({next(iter(conditions))}): what prompt and temperature change is not known."
    return "Prompt and temperature", "warn", text
