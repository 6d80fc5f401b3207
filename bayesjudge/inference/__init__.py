"""Fitting: one posterior (`fit`), thousands (`fit_many`), the engines, and files to keep fits in."""

from bayesjudge.estimates.gate import Gate
from bayesjudge.inference.engines import ENGINES, Engine, Hmc, Laplace, Nuts, PyMC
from bayesjudge.inference.fit import Fit, Fitting, LaplaceFallbackWarning, fit, run_fits
from bayesjudge.inference.gate import gate_of
from bayesjudge.inference.jobs import run_jobs
from bayesjudge.inference.loading import load_fit
from bayesjudge.inference.many import ManyFits, fit_many

__all__ = [
    "ENGINES",
    "Engine",
    "Fit",
    "Fitting",
    "Gate",
    "Hmc",
    "Laplace",
    "LaplaceFallbackWarning",
    "ManyFits",
    "Nuts",
    "PyMC",
    "fit",
    "fit_many",
    "gate_of",
    "load_fit",
    "run_fits",
    "run_jobs",
]
