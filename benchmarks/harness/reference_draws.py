"""Reference posteriors: 10,000 draws of each, stored small, and how far an engine's draws are from them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayesjudge.checks.convergence import scalars

__all__ = ["FOLDER", "Posterior", "apart", "conditions", "load", "save", "summary", "thinned"]

FOLDER = Path(__file__).resolve().parents[1] / "results" / "reference"
#: Draws of a reference posterior.
DRAWS = 10_000
#: Most scalars whose draws are stored; the summary has all.
STORED = 8
QUANTILES = (0.05, 0.5, 0.95)
_AXES: dict[str, Any] = {"chain_axis": 1, "draw_axis": 2}
#: Steps of the stored integers in a posterior standard deviation: their rounding is a thirtieth of the
#: Monte Carlo error of 10,000 draws.
_STEPS = 1000
FIGURES = ("mean", *(f"q{round(100 * p):02d}" for p in QUANTILES))


@dataclass(frozen=True, eq=False, kw_only=True)
class Posterior:
    """Scalars of a posterior: names (scalars,), draws (scalars, chains, draws), effective share of draws.

    ``share`` is below 1 for importance-resampled draws, whose repeats look like independent draws.
    """

    names: list[str]
    draws: NDArray[np.float64]
    share: float = 1.0

    @classmethod
    def of(cls, dataset: Any, *, share: float = 1.0) -> Posterior:
        """From an ``xarray.Dataset`` with dims ``chain, draw, ...``."""
        names, draws = scalars(dataset)
        return cls(names=names, draws=draws, share=share)


def thinned(posterior: Posterior, every: int) -> Posterior:
    """Every so many draws of each chain."""
    return Posterior(names=posterior.names, draws=posterior.draws[..., every - 1 :: every])


def conditions(posterior: Posterior, *, divergences: int) -> dict[str, float]:
    """What a reference must fulfil: draws, R-hat, lag-1 autocorrelation in absolute value, divergences."""
    from arviz_stats.base import array_stats

    draws = posterior.draws
    off = draws - draws.mean(axis=(1, 2), keepdims=True)
    lagged = (off[..., 1:] * off[..., :-1]).mean(axis=(1, 2)) / (off**2).mean(axis=(1, 2))
    return {
        "draws": int(draws[0].size),
        "rhat": float(np.max(array_stats.rhat(draws, **_AXES))),
        "autocorrelation": float(np.abs(lagged).max()),
        "divergences": divergences,
    }


def fulfilled(found: Mapping[str, float]) -> bool:
    """Whether draws with these conditions may serve as a reference (as posteriordb asks).

    Examples
    --------
    >>> good = {"draws": 10000, "rhat": 1.001, "autocorrelation": 0.02, "divergences": 0}
    >>> fulfilled(good), fulfilled({**good, "divergences": 1})
    (True, False)
    """
    mixed = found["rhat"] < 1.01 and found["autocorrelation"] < 0.05
    return found["draws"] == DRAWS and mixed and found["divergences"] == 0


def summary(posterior: Posterior) -> pd.DataFrame:
    """Mean, sd and quantiles of every scalar with their Monte Carlo standard errors (Vehtari et al. 2021)."""
    from arviz_stats.base import array_stats

    # Resampled draws are as good as a share of them, which are drawn without order.
    draws, widened = posterior.draws, posterior.share**-0.5
    flat = draws.reshape(len(draws), -1)
    columns: dict[str, Any] = {"parameter": posterior.names, "mean": flat.mean(1), "sd": flat.std(1, ddof=1)}
    columns["mean_mcse"] = widened * array_stats.mcse(draws, method="mean", **_AXES)
    for name, p in zip(FIGURES[1:], QUANTILES, strict=True):
        columns[name] = np.quantile(flat, p, axis=1)
        columns[f"{name}_mcse"] = widened * array_stats.mcse(draws, method="quantile", prob=p, **_AXES)
    return pd.DataFrame(columns)


def apart(one: pd.DataFrame, other: pd.DataFrame) -> NDArray[np.float64]:
    """Differences of two summaries in their joint Monte Carlo standard errors (scalars, `FIGURES`)."""
    assert one["parameter"].tolist() == other["parameter"].tolist()
    error = np.stack([np.hypot(one[f"{name}_mcse"], other[f"{name}_mcse"]) for name in FIGURES], axis=1)
    return np.stack([one[name] - other[name] for name in FIGURES], axis=1) / error


def chosen(names: list[str]) -> list[int]:
    """Places of the scalars whose draws are stored: the first of every site, then the second, to `STORED`.

    Examples
    --------
    >>> chosen(["theta[a]", "theta[b]", "tau"])
    [0, 1, 2]
    """
    sites = [name.split("[")[0] for name in names]
    turn = [sites[:k].count(site) for k, site in enumerate(sites)]
    return sorted(sorted(range(len(names)), key=lambda k: (turn[k], k))[:STORED])


def save(name: str, posterior: Posterior, facts: Mapping[str, Any], *, folder: Path = FOLDER) -> None:
    """Write ``NAME.parquet`` (draws of the chosen scalars as integers) and ``NAME.json`` (the rest)."""
    from harness.results import write

    table, kept = summary(posterior), chosen(posterior.names)
    centre, step = table["mean"].to_numpy()[kept], table["sd"].to_numpy()[kept] / _STEPS
    flat = posterior.draws[kept].reshape(len(kept), -1)
    whole = np.rint((flat - centre[:, None]) / step[:, None])
    assert np.abs(whole).max() < 2**15
    folder.mkdir(parents=True, exist_ok=True)
    columns = dict(zip((posterior.names[k] for k in kept), whole.astype(np.int16), strict=True))
    _write_small(folder / f"{name}.parquet", pd.DataFrame(columns))
    scale = {"centre": centre.tolist(), "step": step.tolist()}
    write(folder / f"{name}.json", {**facts, "scale": scale, "parameters": table.to_dict("records")})


def _write_small(path: Path, whole: pd.DataFrame) -> None:
    """High and low bytes apart, since only the high ones can be compressed; half the size of the default."""
    part = path.with_suffix(".part")
    apart = dict.fromkeys(whole.columns, "BYTE_STREAM_SPLIT")
    whole.to_parquet(part, index=False, compression="zstd", use_dictionary=False, column_encoding=apart)
    part.replace(path)


def load(name: str, *, folder: Path = FOLDER) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Stored draws, a column a scalar, and the facts with the summary of all scalars."""
    facts: dict[str, Any] = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
    whole = pd.read_parquet(folder / f"{name}.parquet")
    centre, step = (np.array(facts["scale"][key]) for key in ("centre", "step"))
    return whole.astype(float) * step + centre, facts


def names(folder: Path = FOLDER) -> Iterator[str]:
    """Names of the stored references, ``MODEL-small`` and ``MODEL-real``."""
    yield from sorted(path.stem for path in folder.glob("*.json"))
