"""Other shapes than the protocols': functions, PyMC models and trees of draws as models, functions as baselines."""

from bayesjudge.adapters.baseline import as_baseline
from bayesjudge.adapters.estimands import NamedEstimands
from bayesjudge.adapters.function import FunctionModel, cells
from bayesjudge.adapters.model import as_model, model_or_fit
from bayesjudge.adapters.tree import TreeModel
from bayesjudge.adapters.views import data

__all__ = ["FunctionModel", "NamedEstimands", "TreeModel", "as_baseline", "as_model", "cells", "data", "model_or_fit"]
