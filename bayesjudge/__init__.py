"""What LLM-judge verdicts are worth: generative models and frequentist baselines, side by side.

Examples
--------
>>> import bayesjudge as bj
>>> "accuracy" in dir(bj)
True
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from bayesjudge.version import __version__

if TYPE_CHECKING:
    from bayesjudge.adapters import as_baseline, as_model, cells, data
    from bayesjudge.checks import prior_predictive
    from bayesjudge.counts import count_verdicts
    from bayesjudge.counts.battles.counts import count_battles
    from bayesjudge.errors import InputError, UsageError
    from bayesjudge.estimates import Estimates
    from bayesjudge.inference import Fit, Hmc, Laplace, Nuts, PyMC, fit, fit_many, load_fit
    from bayesjudge.model import find_model, model_names
    from bayesjudge.readers import read, read_battles, read_pairs, read_scores, read_trials, read_verdicts
    from bayesjudge.report import Comparison, load_answer
    from bayesjudge.simulation import check_model
    from bayesjudge.studies.accuracy import accuracy
    from bayesjudge.studies.audit import audit
    from bayesjudge.studies.compare import compare
    from bayesjudge.studies.elo import elo
    from bayesjudge.studies.reliability import reliability
    from bayesjudge.tables import Battles, Pairs, Scores, Trials, Verdicts


#: Public names by the module they are loaded from on first use, so that importing the package costs nothing.
_FROM = {
    "adapters": ("as_baseline", "as_model", "cells", "data"),
    "checks": ("prior_predictive",),
    "counts": ("count_verdicts",),
    "counts.battles.counts": ("count_battles",),
    "errors": ("InputError", "UsageError"),
    "estimates": ("Estimates",),
    "inference": ("Fit", "Hmc", "Laplace", "Nuts", "PyMC", "fit", "fit_many", "load_fit"),
    "model": ("find_model", "model_names"),
    "readers": ("read", "read_battles", "read_pairs", "read_scores", "read_trials", "read_verdicts"),
    "report": ("Comparison", "load_answer"),
    "simulation": ("check_model",),
    "studies.accuracy": ("accuracy",),
    "studies.audit": ("audit",),
    "studies.compare": ("compare",),
    "studies.elo": ("elo",),
    "studies.reliability": ("reliability",),
    "tables": ("Battles", "Pairs", "Scores", "Trials", "Verdicts"),
}
_WHERE = {name: module for module, names in _FROM.items() for name in names}

__all__ = [
    "Battles",
    "Comparison",
    "Estimates",
    "Fit",
    "Hmc",
    "InputError",
    "Laplace",
    "Nuts",
    "Pairs",
    "PyMC",
    "Scores",
    "Trials",
    "UsageError",
    "Verdicts",
    "__version__",
    "accuracy",
    "as_baseline",
    "as_model",
    "audit",
    "cells",
    "check_model",
    "compare",
    "count_battles",
    "count_verdicts",
    "data",
    "elo",
    "find_model",
    "fit",
    "fit_many",
    "load_answer",
    "load_fit",
    "model_names",
    "prior_predictive",
    "read",
    "read_battles",
    "read_pairs",
    "read_scores",
    "read_trials",
    "read_verdicts",
    "reliability",
]


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module 'bayesjudge' has no attribute {name!r}; it has {', '.join(__all__)}")
    return getattr(import_module(f"bayesjudge.{_WHERE[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
