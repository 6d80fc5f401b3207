"""What the priors of a model say before there are data: of its estimands, and of what will be observed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from bayesjudge.errors import require_prob, require_whole
from bayesjudge.estimates.posterior import estimates_of
from bayesjudge.model import GenerativeModel, Model, met, prepared, with_parameters


def prior_predictive(model: Model, table: Any, *, draws: int = 1000, prob: float = 0.95, seed: int = 0) -> pd.DataFrame:
    """What a model predicts before any data, for the design of a table.

    Parameters
    ----------
    model : Model
        With whatever priors.
    table : table, counts or Data
        Its models, judges and numbers of answers are used; what was observed is not.
    draws : int
        From the prior.
    prob : float
        Of the intervals.
    seed : int
        Equal seeds give equal rows.

    Returns
    -------
    pandas.DataFrame
        ``quantity, unit, mean, lower, upper``: accuracies, the judge's quality and differences (or whatever the
        model estimates), then rates of what is observed.

    Examples
    --------
    >>> from bayesjudge.datasets import simulate_verdicts
    >>> from bayesjudge.models.judge_error import JudgeError
    >>> log = simulate_verdicts(seed=1).verdicts
    >>> rows = prior_predictive(JudgeError().with_priors(accuracy="0.6..0.9"), log, draws=200)
    >>> rows.loc[rows["quantity"] == "accuracy", "mean"].between(0.7, 0.85).all()
    np.True_
    """
    from bayesjudge.inference.programs import accelerator
    from bayesjudge.inference.programs.density import density
    from bayesjudge.inference.tree import prior_groups

    require_whole("draws", draws, least=1)
    require_prob(prob)
    accelerator.prepare()
    plain = prepared(model, table)
    model = met(model, plain)
    data = with_parameters(model, plain)
    found = prior_groups(model, data, density(model, data), seed=seed, draws=draws)
    rows: list[dict[str, Any]] = []
    if isinstance(model, GenerativeModel):
        said = estimates_of(model.before_data(found["prior"], plain), method=model.label, prob=prob).frame
        kept = said[["estimand", "unit", "point", "lower", "upper"]]
        named = kept.rename(columns={"estimand": "quantity", "point": "mean"})
        rows += [dict(zip(named.columns, row, strict=True)) for row in named.itertuples(index=False)]
    sample: Any = {name: values.to_numpy()[0] for name, values in found["prior_predictive"].items()}
    observed = sample if data.also_observed else sample[data.observed]
    tails = [0.5 - prob / 2, 0.5 + prob / 2]
    for name, statistic in model.statistics.items():
        for unit, values in statistic(observed, plain).items():
            lower, upper = np.nanquantile(values, tails) if np.isfinite(values).any() else (np.nan, np.nan)
            rows.append({"quantity": name, "unit": unit, "mean": np.nanmean(values), "lower": lower, "upper": upper})
    return pd.DataFrame(rows, columns=["quantity", "unit", "mean", "lower", "upper"])
