"""Other shapes than the protocols': a NumPyro function of plain arrays as a model, functions as baselines."""

from bayesjudge.adapters.baseline import as_baseline
from bayesjudge.adapters.function import FunctionModel, as_model
from bayesjudge.adapters.views import data_view

__all__ = ["FunctionModel", "as_baseline", "as_model", "data_view"]
