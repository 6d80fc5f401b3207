"""`verdict_agreement`: the probability that people would agree with a judge's single verdict."""

from bayesjudge.models.verdict_agreement.features import Features
from bayesjudge.models.verdict_agreement.model import VerdictAgreement

__all__ = ["Features", "VerdictAgreement"]
