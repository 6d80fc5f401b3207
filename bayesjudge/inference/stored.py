"""A model that is not registered here, as its saved fit has it: draws of its estimands, and no density."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn

from bayesjudge.errors import UsageError
from bayesjudge.estimates.posterior import estimates_of
from bayesjudge.model import Data, Elsewhere, GivesQuantities, Statistic, find_model, model_names

if TYPE_CHECKING:
    import xarray as xr

    from bayesjudge.estimates import Estimates
    from bayesjudge.estimates.posterior import Quantities
    from bayesjudge.inference.fit import Fit

#: Group of a saved tree with a group for each estimand.
KEPT = "estimands"


@dataclass(frozen=True, kw_only=True)
class StoredModel:
    """What a saved fit says of the model that was fitted: rows follow, another fit does not."""

    name: str
    label: str
    kept: Quantities = field(repr=False, hash=False, compare=False)

    @property
    def statistics(self) -> Mapping[str, Statistic]:
        """None is known."""
        return {}

    def estimates(self, posterior: xr.Dataset, data: Data, *, prob: float = 0.95) -> Estimates:  # noqa: ARG002
        """Rows of the draws that were saved."""
        return estimates_of(self.kept, method=self.label, prob=prob)

    def quantities(self, posterior: xr.Dataset, data: Data) -> Quantities:  # noqa: ARG002
        """The draws that were saved."""
        return self.kept

    def elsewhere(self, data: Data) -> Elsewhere:  # noqa: ARG002
        """Nobody draws again."""
        return Elsewhere("stored draws", lambda *_: self._refuse())

    def prepare(self, table: Any) -> Data:  # noqa: ARG002
        """Refused, as every other fit."""
        self._refuse()

    def numpyro(self, data: Data) -> None:  # noqa: ARG002
        """Refused."""
        self._refuse()

    def pymc(self, data: Data) -> Any:  # noqa: ARG002
        """Refused."""
        self._refuse()

    def simulate(self, key: Any, data: Data) -> Mapping[str, Any]:  # noqa: ARG002
        """Refused."""
        self._refuse()

    def _refuse(self) -> NoReturn:
        registered = ", ".join(model_names())
        raise UsageError(
            f"model {self.name!r} is not registered here ({registered} are): its saved fit has draws, rows and gate, "
            "and to fit it again takes the model itself"
        )


def is_registered(name: str, model: object = None) -> bool:
    """Whether a name leads to a registered model, and to this one's class."""
    return name in model_names() and (model is None or find_model(name) is type(model))


def with_estimands(fit: Fit) -> xr.DataTree:
    """The tree of a fit, of an unregistered model with the draws of its estimands, from which rows follow."""
    import json

    import xarray as xr

    if is_registered(fit.model.name, fit.model) or not isinstance(fit.model, GivesQuantities):
        return fit.tree
    tree = fit.tree.copy()
    for name, draws in fit.quantities().items():
        says = {"says": json.dumps(dict(draws.attrs), default=list)}
        tree[f"{KEPT}/{name}"] = xr.DataTree(xr.Dataset({"draws": draws.drop_attrs().assign_attrs(says)}))
    tree.attrs = {**fit.tree.attrs, "label": fit.model.label}
    return tree


def stored_model(name: str, tree: xr.DataTree) -> StoredModel:
    """The model of a tree that `with_estimands` made."""
    import json

    kept = {}
    for estimand, group in tree[KEPT].children.items():
        draws = group["draws"]
        kept[estimand] = draws.assign_attrs(json.loads(draws.attrs["says"]))
    return StoredModel(name=name, label=str(tree.attrs["label"]), kept=kept)
