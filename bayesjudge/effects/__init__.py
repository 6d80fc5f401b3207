"""Formulas: covariates and groups of a rate, as text, and the design that they make of a table's cells."""

from bayesjudge.effects.design import Design, Part, design
from bayesjudge.effects.formula import RATES, Formula, Term, read_formula

__all__ = ["RATES", "Design", "Formula", "Part", "Term", "design", "read_formula"]
