"""Fitting: one posterior (`fit`), thousands (`fit_many`), the engines, and files to keep fits in."""

from bayesjudge.inference.engines import ENGINES, Engine, Hmc, Laplace, LaplaceFallbackWarning, Nuts, PyMC
from bayesjudge.inference.fit import Fit, fit
from bayesjudge.inference.gate import Gate, gate_of
from bayesjudge.inference.loading import load_fit
from bayesjudge.inference.many import ManyFits, fit_many

__all__ = ["ENGINES", "Engine", "Fit", "Gate", "Hmc", "Laplace", "LaplaceFallbackWarning", "ManyFits", "Nuts",
           "PyMC", "fit", "fit_many", "gate_of", "load_fit"]  # fmt: skip
