"""The audit question: which of a judge's single verdicts to trust, and which to turn around, if any."""

from bayesjudge.studies.audit.study import audit

__all__ = ["audit"]
