"""Kinds of answers: what the label's formula, or the groups of items, add to the level of a system.

    level of kind k of system m:  α_m + γ ℓ_m + x_k b + Σ_g s_g z_g[k]

The level of each system and the judges' votes are always there; groups of items are ``(1|group) + (1|system:group)``,
which is added to a formula that does not name their column.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayesjudge.counts.panel import PanelVotes
from bayesjudge.effects import LABEL, Formula, Term, design, read_formula
from bayesjudge.effects.cells import Cells, Groups, cells_of, changes_of, groups_of
from bayesjudge.effects.formula import SYSTEM, base_of
from bayesjudge.errors import UsageError
from bayesjudge.model import Data
from bayesjudge.models.common.effect_terms import Coefficients
from bayesjudge.priors import Slot

#: What is there without a formula.
_PLAIN = f"{LABEL} ~ 1"
#: Terms that the panel has anyway, with priors of its own.
_ALWAYS = (Term(()), Term((), (SYSTEM,)))


def label_formula(texts: tuple[str, ...]) -> Formula | None:
    """The formula of the label, none where none is given."""
    if not texts:
        return None
    found = [read_formula(text) for text in texts]
    if other := next((formula for formula in found if formula.rate != LABEL), None):
        raise UsageError(f"'{other}' is for judge_error: judge_panel takes one formula, of {LABEL}")
    if len(found) > 1:
        raise UsageError(f"two formulas of {LABEL}: give one")
    if Term((SYSTEM,)) in found[0].common:
        raise UsageError(f"'{found[0]}': systems have levels that pool in judge_panel: write 1 in place of {SYSTEM}")
    return found[0]


def slot_of(term: Term, *, group: str = "") -> str:
    """The slot of a term's coefficients, or of their spread where they pool.

    group: The column of the groups of items, whose spreads are called by what they are.

    Examples
    --------
    >>> slot_of(Term(("length",))), slot_of(Term(("length",), ("topic",)))
    ('label_length', 'label_spread_length_by_topic')
    >>> slot_of(Term((), ("system", "topic")), group="topic")
    'group_model_spread'
    """
    if not term.groups:
        return f"{LABEL}_{term.name}"
    if group and not term.columns and set(term.groups) <= {SYSTEM, group}:
        return "group_model_spread" if SYSTEM in term.groups else "group_spread"
    return f"{LABEL}_spread_{term.name}"


def coefficients_of(formula: Formula, *, group: str = "") -> Coefficients:
    """The names of a formula's coefficients but for those that are always there."""
    common, pooled = (
        tuple(slot_of(term, group=group) for term in terms if term not in _ALWAYS)
        for terms in (formula.common, formula.grouped)
    )
    return Coefficients(of=LABEL, common=common, pooled=pooled)


def coefficients_in(data: Data) -> Coefficients:
    """The same of the formula that the data were prepared for."""
    return coefficients_of(read_formula(data.facts["formula"]), group=data.facts["grouped_by"])


def slots(texts: tuple[str, ...], effect: Slot, spread: Slot, own_spread: Slot) -> Mapping[str, Slot]:
    """Priors of the terms: of common ones, of groupings, and of groupings by system; groups of items among them."""
    formula = label_formula(texts) or read_formula(_PLAIN)
    found = {slot_of(term): effect for term in formula.common}
    found |= {
        slot_of(term): own_spread if SYSTEM in term.groups or term.columns else spread for term in formula.grouped
    }
    named = coefficients_of(formula)
    mine = {name: found[name] for name in (*named.common, *named.pooled)}
    return {**mine, "group_spread": spread, "group_model_spread": own_spread}


@dataclass(frozen=True, eq=False, kw_only=True)
class Kinds:
    """Answers of one system with one value of every column.

    formula: In force: the one that is given, with the effects of groups of items.
    grouped_by: The column of these, where they were added to it; else empty.
    of: The kind of every answer (I, M), -1 where a system did not answer.
    cells, groups: The kinds, and the categories that they belong to.
    arrays, dims, coords: Their design, and how numbers change it.
    changes: Numbers of the formula that change it, in the order of the arrays ``change_...``.
    """

    formula: Formula
    grouped_by: str
    of: NDArray[np.int64]
    cells: Cells
    groups: Groups
    arrays: Mapping[str, Any]
    dims: Mapping[str, tuple[str, ...]]
    coords: Mapping[str, tuple[Any, ...]]
    changes: tuple[str, ...]


def kinds_of(votes: PanelVotes, texts: tuple[str, ...]) -> Kinds:
    """The kinds of a panel's answers under the formula that is given and the groups of items."""
    given, group = label_formula(texts) or read_formula(_PLAIN), votes.group_name if len(votes.groups) > 1 else ""
    added = "" if group in given.columns else group
    more = f" + (1|`{added}`) + (1|{SYSTEM}:`{added}`)" if added else ""
    formula = read_formula(f"{LABEL} ~ {given.right}{more}")
    answers = _answers(votes, formula, group=group)
    cells = cells_of(answers, [formula], votes.models)
    of = np.full(votes.answered.shape, -1, np.int64)
    of[answers.index.get_level_values(0), answers.index.get_level_values(1)] = cells.of
    groups = groups_of(cells)
    arrays: dict[str, Any] = {"kind_system": cells.system}
    dims: dict[str, tuple[str, ...]] = {"kind_system": ("kind",)}
    coords: dict[str, tuple[Any, ...]] = {"kind": tuple(range(len(cells.system)))}
    if groups.members:
        arrays["kind_member"], dims["kind_member"] = groups.matrix, ("kind", "group")
    made, changes = design(formula, cells.frame), changes_of(formula, cells)
    parts = (*made.common, *made.grouped)
    keep = np.repeat([part.term not in _ALWAYS for part in parts], [len(part.labels) for part in parts])
    if keep.any():
        ours = [part for part in parts if part.term not in _ALWAYS]
        coords |= {slot_of(part.term, group=added): part.labels for part in ours}
        pooled = [f"{part.term.name}: {label}" for part in ours if part.term.groups for label in part.labels]
        coords |= {
            coefficients_of(formula, group=added).axis: tuple(pooled),
            "coefficient": tuple(range(int(keep.sum()))),
        }
        numbered = {f"change_{k}": change for k, change in enumerate(changes.values(), start=1)}
        for key, matrix in {"kind_design": made.matrix, **numbered}.items():
            arrays[key], dims[key] = matrix[:, keep], ("kind", "coefficient")
    return Kinds(
        formula=formula,
        grouped_by=added,
        of=of,
        cells=cells,
        groups=groups,
        arrays=arrays,
        dims=dims,
        coords=coords,
        changes=tuple(changes),
    )


def _answers(votes: PanelVotes, formula: Formula, *, group: str) -> pd.DataFrame:
    """One row an answer: its system and the columns of the formula, indexed by the codes of item and system."""
    needed = sorted({base_of(name)[1] for name in formula.columns} - {SYSTEM, group})
    if votes.columns is not None:
        found = votes.columns
    elif needed:
        raise UsageError(f"these votes have no columns for formulas: panel_votes(log, columns={needed})")
    else:
        item, system = np.nonzero(votes.answered)
        found = pd.DataFrame({SYSTEM: np.array(votes.models, dtype=object)[system]})
        found.index = pd.MultiIndex.from_arrays([item, system])
    of_item = votes.group[found.index.get_level_values(0)]
    return found.assign(**{group: np.array(votes.groups, dtype=object)[of_item]}) if group else found
