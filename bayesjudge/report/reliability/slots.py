"""Slots on the page of a reliability answer: which of them a judge leans to, and what arrangements replace."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from bayesjudge.estimates import Estimates
from bayesjudge.report.comparison import Comparison
from bayesjudge.report.page import INTERVAL, Interval, Section, Table
from bayesjudge.report.reliability.columns import forest_where_it_fits
from bayesjudge.report.terminal import unit_name

#: Estimands of each slot, and of arrangements, by the headings of their columns.
_OF_SLOTS = {
    "share of choices": "slot_share[{}]",
    "effect in logits": "slot_effect[{}]",
    "accuracy there": "accuracy[slot {}]",
}
_OF_ARRANGEMENTS = {
    "disagreement due to slots": "disagreement_share[slot]",
    "repeats replaced": "repeats_replaced",
    "majority found, balanced": "majority_match[balanced]",
    "majority found, one arrangement": "majority_match[one arrangement]",
}


def slots_section(answer: Comparison) -> Section | None:
    """Shares and effects of slots, where choices were among three options or more."""
    rows = answer.diagnostics.frame
    slots = [name for name in dict.fromkeys(rows["estimand"]) if name.startswith("slot_share[")]
    if not slots:
        return None
    several = "repeats_replaced" in {*rows["estimand"], *answer.estimates.frame["estimand"]}
    of_all = [
        """P(slot) is how often the option in that slot is chosen when every item is shown in every arrangement: 1/K
        where slots do not matter. Disagreement due to slots is what remains of it when one arrangement is used.""",
        """K balanced arrangements (each option once in every slot) replace as many repeats of one arrangement as
        'repeats replaced' states; where that is infinite, no number of repeats does what they do.""",
    ]
    of_one = """P(slot) is how often the option in that slot was chosen in the one arrangement of each item that was
        shown. Options that are better on average and a slot that is preferred look the same where all items are
        shown in one order."""
    figures = [
        figure
        for name in slots
        for figure in forest_where_it_fits(answer.diagnostics, name, f"P(slot {name[11:-1]}) of each judge.")
    ]
    places = range(1, len(slots) + 1)
    tables = [
        _posterior_table(answer, "Every slot, posterior", dict.fromkeys(places, _OF_SLOTS)),
        *([_posterior_table(answer, "Slots and repeats, posterior", {None: _OF_ARRANGEMENTS})] if several else []),
    ]
    return Section(title="Slots", text=of_all if several else [of_one], figures=figures, tables=tables)


def _posterior_table(answer: Comparison, caption: str, kinds: Mapping[int | None, Mapping[str, str]]) -> Table:
    """A row a judge, condition and slot (None: one for all), a column an estimand by its heading."""
    frame = Estimates.concat([answer.estimates, answer.diagnostics]).frame
    rows = frame[frame["method"].str.startswith("bayes:")].to_dict("records")
    cells = {(row["unit"], row["group"], row["estimand"]): Interval(*(row[name] for name in INTERVAL)) for row in rows}
    units = dict.fromkeys((row["unit"], row["group"]) for row in rows if row["estimand"] == "slot_share[1]")
    found = [
        {
            "judge": unit_name(unit, group),
            **({} if slot is None else {"slot": slot}),
            **{
                heading: cells[unit, group, name.format(slot)]
                for heading, name in named.items()
                if (unit, group, name.format(slot)) in cells
            },
        }
        for unit, group in units
        for slot, named in kinds.items()
    ]
    return Table(caption=caption, frame=pd.DataFrame(found))
