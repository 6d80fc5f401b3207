"""Sufficient statistics of battles: votes and verdicts by pair of models, order and covariates."""
