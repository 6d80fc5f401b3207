"""Moments, variances, bootstrap and rows that all baselines share."""
