"""Asking a judge to compare answers, and the log that its replies are kept in."""
