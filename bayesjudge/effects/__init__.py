"""Formulas: covariates and groups of a rate, as text, and the design that they make of a table's cells."""

from bayesjudge.effects.design import Design, Part, design
from bayesjudge.effects.formula import AGREEMENT, LABEL, RATES, Formula, Term, columns_named, read_formula

__all__ = [
    "AGREEMENT",
    "LABEL",
    "RATES",
    "Design",
    "Formula",
    "Part",
    "Term",
    "columns_named",
    "design",
    "read_formula",
]
