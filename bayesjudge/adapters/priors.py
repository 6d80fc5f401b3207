"""Priors of a function: the distributions of its sites that have numbers for parameters, and others in their place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpyro import distributions as dist
from numpyro.primitives import Messenger

from bayesjudge.errors import UsageError
from bayesjudge.inference.outcomes import innermost
from bayesjudge.priors import FAMILIES, InUse, Prior, Slot
from bayesjudge.priors.slot import PROBABILITY

_UNITS = {"elo": "Elo", "strength": "logits"}
_DEPENDS = "its distribution depends on other sites, so change the priors of those"


class Believing(Messenger):  # type: ignore[misc] # NumPyro has no types
    """A function whose sites have the priors in use, along the axes that it gives them."""

    def __init__(self, function: Any, use: InUse) -> None:
        self.use = use
        super().__init__(function)

    def process_message(self, msg: dict[str, Any]) -> None:
        """Put the prior in the place of the function's own."""
        if msg["type"] == "sample" and not msg["is_observed"] and msg["name"] in self.use.chosen:
            own = msg["fn"]
            prior = self.use.numpyro(msg["name"]).expand(own.batch_shape + own.event_shape)
            msg["fn"] = prior.to_event(len(own.event_shape))


def stated(
    sites: Mapping[str, Any], again: Mapping[str, Any]
) -> tuple[tuple[tuple[str, Slot], ...], tuple[tuple[str, str], ...]]:
    """Slots of a function, and why the priors of its other sites cannot be changed, from two runs with other draws."""
    slots, fixed = {}, {}
    for name, site in sites.items():
        if site["type"] != "sample" or site["is_observed"] or type(site["fn"]).__name__ == "Unit":
            continue
        found = _prior(site["fn"])
        if not isinstance(found, Prior):
            fixed[name] = found
        elif name not in again or _prior(again[name]["fn"]) != found:
            fixed[name] = _DEPENDS
        else:
            unit = PROBABILITY if found.support == "between 0 and 1" else _UNITS.get(name, "as in the function")
            slots[name] = Slot(found, unit, "as the function has it")
    return tuple(slots.items()), tuple(fixed.items())


def _prior(given: Any) -> Prior | str:
    """A site's distribution as a prior, or why it is none."""
    one = innermost(given)
    if isinstance(one, dist.Uniform) and np.all(one.low == 0) and np.all(one.high == 1):
        return Prior("Beta", (1, 1))
    if (family := type(one).__name__) not in FAMILIES:
        return f"{family} is no family that can be written"
    words = FAMILIES[family].numpyro.split()
    values = [np.unique(np.asarray(getattr(one, word), dtype=float)) for word in words]
    if any(value.size != 1 for value in values):
        return "its entries have different distributions"
    try:
        return Prior(family, tuple(value.item() for value in values))
    except UsageError as error:
        return str(error)
