"""The formulas of a `judge_error`, those that a pooling stands for among them, and the priors of their terms.

    logit rate_c = x_cᵀ b + Σ_g s_g z_g[c],    z ~ N(0, 1)

for accuracy, sensitivity and specificity over cells c: answers of one system with one value of every column.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping

from bayesjudge.effects import LABEL, RATES, Formula, Term, read_formula
from bayesjudge.effects.formula import SYSTEM
from bayesjudge.errors import UsageError
from bayesjudge.models.common.effect_terms import Coefficients
from bayesjudge.models.common.verdict_channel import FLAT, Pooling, channel_slots
from bayesjudge.priors import Slot

_OF_POOLING = {"partial": f"1 + (1|{SYSTEM})", "shared": "1", "specific": f"0 + {SYSTEM}"}
_NAMED = f"{', '.join(RATES[:-1])} and {RATES[-1]}"
_EFFECT = Slot(
    "Normal(0, 1)", "logits per sd", "length moves real judges by .36 to 1.25 logits per sd where it moves them"
)
_SPREAD = Slot(
    "HalfNormal(1)", "logits", "error rates of real topics differ by a logit or more, and a spread of 0 stays possible"
)
_OF_ACCURACY = Slot("HalfNormal(1)", "logits", "differences between systems may be the same in every group")
_OF_GROUPS = Slot(
    "LogNormal(0, 0.5)",
    "logits",
    "flat priors of groups would pull the total to ½, and a spread near 0 unlike groups to the others",
)


@functools.cache
def formulas_of(given: tuple[str, ...], pooling: Pooling) -> tuple[Formula, ...]:
    """The formula of every rate, in the order of `RATES`; what is not given is what the pooling stands for."""
    found = {"accuracy": read_formula(f"accuracy ~ 0 + {SYSTEM}")}
    found |= {rate: read_formula(f"{rate} ~ {_OF_POOLING[pooling]}") for rate in RATES[1:]}
    read = [read_formula(text) for text in given]
    rates = [formula.rate for formula in read]
    if LABEL in rates:
        raise UsageError(f"'{read[rates.index(LABEL)]}' is for judge_panel: judge_error takes formulas of {_NAMED}")
    if twice := [rate for rate in rates if rates.count(rate) > 1]:
        raise UsageError(f"two formulas of {twice[0]}: give one")
    found |= {formula.rate: formula for formula in read}
    return tuple(found[rate] for rate in RATES)


def by_group(group: str, pooling: Pooling, *, systems: int, given: tuple[str, ...] = ()) -> tuple[str, ...]:
    """Formulas in which all rates differ by group, and pool; those of rates that are ``given`` stay."""
    name = f"`{group}`"
    within = f" + (1|{SYSTEM}:{name})" if systems > 1 else ""
    more = {"accuracy": f" + (1|{name}){within}", "sensitivity": f" + (1|{name})", "specificity": f" + (1|{name})"}
    there = {read_formula(text).rate for text in given}
    plain = formulas_of((), pooling)
    added = (f"{f.rate} ~ {f.right}{more[f.rate]}" for f in plain if f.rate not in there)
    return (*given, *added)


def slot_of(formula: Formula, term: Term) -> str:
    """The slot of a term's coefficients, or of their spread where they pool."""
    if term.groups:
        pooled = "" if (term.columns, term.groups) == ((), (SYSTEM,)) else f"_{term.name}"
        return f"{formula.rate}_spread{pooled}"
    return formula.rate if term == formula.levels else f"{formula.rate}_{term.name}"


def coefficients_of(formula: Formula) -> Coefficients:
    """The names of a formula's coefficients."""
    single = any(not term.columns for term in formula.common)
    common, pooled = (tuple(slot_of(formula, t) for t in terms) for terms in (formula.common, formula.grouped))
    return Coefficients(of=formula.rate, common=common, pooled=pooled, level=formula.rate, single=single)


def slots(formulas: tuple[Formula, ...]) -> Mapping[str, Slot]:
    """Priors of all terms."""
    pooled = channel_slots("partial")
    found: dict[str, Slot] = {}
    for formula in formulas:
        for term in formula.common:
            name = slot_of(formula, term)
            levels = FLAT if name == "accuracy" else channel_slots("specific" if term.columns else "shared").get(name)
            found[name] = levels or _EFFECT
        for term in formula.grouped:
            name, of_groups = slot_of(formula, term), not term.columns and SYSTEM not in term.groups
            own = (_OF_GROUPS if of_groups else _OF_ACCURACY) if formula.rate == "accuracy" else _SPREAD
            found[name] = pooled.get(name, own)
    return found
