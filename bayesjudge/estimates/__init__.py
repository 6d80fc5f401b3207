"""The one result shape: a tidy table with one row for every estimate of every method."""

from bayesjudge.estimates.table import COLUMNS, OPTIONAL, POPULATIONS, Estimates, Population, Truth, estimand_of

__all__ = ["COLUMNS", "OPTIONAL", "POPULATIONS", "Estimates", "Population", "Truth", "estimand_of"]
