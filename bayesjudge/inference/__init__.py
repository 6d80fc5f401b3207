"""Fitting: one posterior (`fit`), thousands (`fit_many`), and files to keep them in."""

from bayesjudge.inference.fit import ENGINES, Fit, LaplaceFallbackWarning, fit
from bayesjudge.inference.gate import Gate, gate_of
from bayesjudge.inference.many import ManyFits, fit_many
from bayesjudge.inference.storage import load_fit, save_fit

__all__ = ["ENGINES", "Fit", "Gate", "LaplaceFallbackWarning", "ManyFits", "fit", "fit_many", "gate_of",
           "load_fit", "save_fit"]  # fmt: skip
