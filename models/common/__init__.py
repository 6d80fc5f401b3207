"""Likelihoods and coordinates that several models share."""
