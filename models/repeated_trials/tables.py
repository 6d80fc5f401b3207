"""Tables behind the headline of `repeated_trials`: items, reliability curves, smallest numbers of trials.

Their columns are those of the frequentist tables (`bayesjudge.baselines.reliability`), so that the two can
be put side by side.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from bayesjudge.maths.majority import TRIALS
from bayesjudge.models.repeated_trials.outcomes import OUTCOMES
from bayesjudge.models.repeated_trials.results import TARGETS, quantile_rows
from bayesjudge.models.repeated_trials.verdict_draws import VerdictDraws, verdict_draws

if TYPE_CHECKING:
    import xarray as xr

    from bayesjudge.model import Data

__all__ = ["EASY", "curve_frame", "item_frame", "minimum_frame"]

#: Mean flip rate below which an item is easy (the paper's section 4.3).
EASY = 0.10


def item_frame(model: Any, posterior: xr.Dataset, data: Data, *, prob: float) -> pd.DataFrame:
    """One row a judge, condition and item.

    Returns
    -------
    pandas.DataFrame
        ``judge, group, item, category, trials``; ``flip_rate, flip_rate_lower, flip_rate_upper`` of trials
        without end; ``majority`` (most probably) and ``p_majority``, how probably; for each of `TARGETS`
        ``minimum_trials_90`` with its interval (∞ where more than the largest number tried); ``stratum``.
    """
    draws = verdict_draws(model, posterior, data)
    frame = pd.concat([_items(part, data, prob) for part in draws.parts()], ignore_index=True)
    return frame.assign(stratum=_strata(frame))


def curve_frame(model: Any, posterior: xr.Dataset, data: Data, *, prob: float) -> pd.DataFrame:
    """P(the majority of K trials is the right one), mean over items, by judge, condition and stratum.

    Returns
    -------
    pandas.DataFrame
        ``judge, group, stratum, reference, trials, point, lower, upper, items``. The reference ``true`` is
        the judge's majority in trials without end; ``seen`` the majority of the trials that were made, met
        by the majority of K further ones.
    """
    rows = [
        {**_key(part, stratum), "reference": reference, "trials": trials,
         **_mean_row(match(trials).mean(-1), prob), "items": part.items}
        for part, stratum in _by_stratum(model, posterior, data)
        for reference, match in (("true", part.match), ("seen", part.match_seen))
        for trials in TRIALS
    ]  # fmt: skip
    return pd.DataFrame(rows)


def minimum_frame(model: Any, posterior: xr.Dataset, data: Data, *, prob: float) -> pd.DataFrame:
    """Smallest number of trials whose mean probability of the true majority reaches a target.

    Returns
    -------
    pandas.DataFrame
        ``judge, group, stratum, target, point, lower, upper``: posterior median and interval, ∞ where no
        number up to the largest tried will do.
    """
    return pd.DataFrame([
        {**_key(part, stratum), "target": target, **quantile_rows(part.minimum_trials(target), prob=prob)}
        for part, stratum in _by_stratum(model, posterior, data) for target in TARGETS
    ])  # fmt: skip


def _key(part: VerdictDraws, stratum: str) -> dict[str, str]:
    return {"judge": part.name[0], "group": part.name[1], "stratum": stratum}


def _by_stratum(model: Any, posterior: xr.Dataset, data: Data) -> Iterator[tuple[VerdictDraws, str]]:
    """Every judge and condition: all its items, then its easy and its hard ones."""
    draws = verdict_draws(model, posterior, data)
    parts = list(draws.parts())
    frame = pd.concat([_short(part, data) for part in parts], ignore_index=True)
    stratum = _strata(frame)
    start = 0
    for part in parts:
        mine = stratum[start : start + part.items]
        start += part.items
        yield part, "all"
        for name in ("easy", "hard"):
            if (mine == name).any():
                yield part.where(mine == name), name


def _short(part: VerdictDraws, data: Data) -> pd.DataFrame:
    items = np.array(data.coords["item"], dtype=object)[part.units[:, 1]]
    return pd.DataFrame({"judge": part.name[0], "group": part.name[1], "item": items,
                         "flip_rate": part.flip_rate.mean((0, 1))})  # fmt: skip


def _strata(frame: pd.DataFrame) -> Any:
    """``easy`` where an item's mean flip rate over the judges of a condition is below `EASY`."""
    mean = frame.groupby(["group", "item"], sort=False)["flip_rate"].transform("mean")
    return np.where(mean < EASY, "easy", "hard").astype(object)


def _items(part: VerdictDraws, data: Data, prob: float) -> pd.DataFrame:
    short = _short(part, data)
    tails = [(1 - prob) / 2, (1 + prob) / 2]
    low, high = np.quantile(part.flip_rate, tails, axis=(0, 1))
    names = np.array(data.coords["category"], dtype=object)
    won = np.stack([(part.q.argmax(-1) == code).mean((0, 1)) for code in range(3)], axis=-1)
    frame = short.assign(
        category=names[np.asarray(data["category_of"])[part.units[:, 1]]] if len(names) else None,
        trials=part.seen.sum(-1), flip_rate_lower=low, flip_rate_upper=high,
        majority=np.array(OUTCOMES, dtype=object)[won.argmax(-1)], p_majority=won.max(-1),
    )  # fmt: skip
    return frame.assign(**_item_minimum(part, tails))


def _item_minimum(part: VerdictDraws, tails: list[float]) -> dict[str, Any]:
    """Smallest K of every item for every target, (items,) each."""
    found = {target: np.full(part.q.shape[:-1], np.inf) for target in TARGETS}
    for trials in TRIALS:
        match = part.match(trials)
        for target, values in found.items():
            values[np.isinf(values) & (match >= target)] = trials
    columns: dict[str, Any] = {}
    for target, values in found.items():
        low, middle, high = np.quantile(values, [tails[0], 0.5, tails[1]], axis=(0, 1), method="inverted_cdf")
        name = f"minimum_trials_{target * 100:g}"
        columns |= {name: middle, f"{name}_lower": low, f"{name}_upper": high}
    return columns


def _mean_row(values: Any, prob: float) -> dict[str, float]:
    low, high = np.quantile(values, [(1 - prob) / 2, (1 + prob) / 2])
    return {"point": float(np.mean(values)), "lower": float(low), "upper": float(high)}
