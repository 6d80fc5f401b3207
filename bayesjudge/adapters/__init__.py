"""Models of other shapes than the protocol's, made into models: a NumPyro function of plain arrays."""

from bayesjudge.adapters.function import FunctionModel, as_model
from bayesjudge.adapters.views import data_view

__all__ = ["FunctionModel", "as_model", "data_view"]
