"""What an answer says under other priors: half as wide, twice as wide, and those of others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from bayesjudge.errors import UsageError
from bayesjudge.estimates.posterior import estimates_of, headline
from bayesjudge.inference.fit import Fit
from bayesjudge.inference.many import fit_many
from bayesjudge.model import GenerativeModel


def under_other_priors(
    fit: Fit, *, alternatives: Sequence[Mapping[str, Any]] = (), prob: float = 0.95, seed: int = 0
) -> pd.DataFrame:
    """Headline rows of a fit again, by ``priors``; those of the same families are drawn in one program."""
    model = fit.model
    if not (isinstance(model, GenerativeModel) and fit.states_priors):
        raise UsageError(f"{model.label} has no priors that can be stated")
    if isinstance(alternatives, Mapping) or not all(isinstance(one, Mapping) for one in alternatives):
        raise UsageError(
            f"alternatives={alternatives!r} must be a sequence of mappings of priors, for instance "
            f"[{{{next(iter(model.priors))!r}: ...}}]"
        )
    chosen = model.chosen_priors
    cases: dict[str, Mapping[str, Any]] = {"as fitted": {}}
    for name, times in (("half as wide", 0.5), ("twice as wide", 2.0)):
        cases[name] = {slot: prior.widened(times) for slot, prior in chosen.items()}
    cases |= {", ".join(f"{slot}={prior}" for slot, prior in one.items()): one for one in alternatives}
    fits = fit_many(model, [fit.data], priors=list(cases.values()), engine="hmc", seed=seed)
    rows = []
    for k, name in enumerate(cases):
        found = headline(model.quantities(fits.posterior(k), fit.data))
        table = estimates_of(found, method=model.label, prob=prob).with_note(fits.gate(k).note).frame
        rows.append(table.assign(priors=name))
    return pd.concat(rows, ignore_index=True)
