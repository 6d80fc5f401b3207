"""A formula of battles, ``preference ~ 1 + length + (1|system:category)``: covariates, and strengths in groups.

``1``, or ``0 + system``, is what is always there: the models' own strengths.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from bayesjudge.effects.formula import FUNCTIONS, PREFERENCE, SYSTEM, Term, read_formula
from bayesjudge.errors import UsageError

_EXAMPLE = f"{PREFERENCE} ~ 1 + length + (1|{SYSTEM}:category)"


class BattleTerms(NamedTuple):
    """What a formula stands for: options ``covariates`` and ``by_group``, and the column of the groups."""

    covariates: tuple[str, ...] = ()
    group: str | None = None


def battle_terms(texts: Sequence[str]) -> BattleTerms:
    """The covariates and the group of a formula; nothing without one.

    Examples
    --------
    >>> battle_terms(["preference ~ 1 + length + (1|system:category)"])
    BattleTerms(covariates=('length',), group='category')
    """
    if not texts:
        return BattleTerms()
    if len(texts) > 1:
        raise UsageError(f"{len(texts)} formulas of {PREFERENCE}: give one")
    formula = read_formula(texts[0], rates=(PREFERENCE,), example=_EXAMPLE)
    named = [term for term in formula.common if term not in {Term(()), Term((SYSTEM,))}]
    grouped = [term for term in formula.grouped if not term.columns and len(term.groups) == 2 and SYSTEM in term.groups]
    called = [c for term in named for c in term.columns if c.startswith(tuple(f"{name}(" for name in FUNCTIONS))]
    odd = [term for term in named if len(term.columns) > 1] + [term for term in formula.grouped if term not in grouped]
    if odd or called or len(grouped) > 1:
        what = called[0] if called else odd[0].name if odd else grouped[1].name
        raise UsageError(
            f"formula '{formula}': battles take columns by which the answers differ, and one (1|{SYSTEM}:group) of "
            f"strengths in groups, not {what}"
        )
    groups = [name for term in grouped for name in term.groups if name != SYSTEM]
    return BattleTerms(tuple(term.columns[0] for term in named), groups[0] if groups else None)
