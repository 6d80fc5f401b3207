"""Fitting: one posterior (`fit`), thousands (`fit_many`), and files to keep them in."""

from bayesjudge.inference.fit import ENGINES, Fit, LaplaceFallbackWarning, fit
from bayesjudge.inference.gate import Gate, gate_of
from bayesjudge.inference.loading import load_fit
from bayesjudge.inference.many import ManyFits, fit_many

__all__ = ["ENGINES", "Fit", "Gate", "LaplaceFallbackWarning", "ManyFits", "fit", "fit_many", "gate_of",
           "load_fit"]  # fmt: skip
