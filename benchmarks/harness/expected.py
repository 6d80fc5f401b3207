"""What several judges together can be expected to gain over the best of them, on as few models as there are.

`judge_elo` with its battles summed up: a model's human strength h and the judges' y_j are normal about θ and
a_j θ + δ_j, with the sampling variances of the battles. Worlds are drawn from the joint posterior of a fit to
everything: strengths, slopes, spreads and correlations of tastes as that draw has them, tastes and sampling
errors drawn anew. In each world every model is left out in turn and predicted from each judge alone and from
all, once by the true parameters and once by parameters learned from the other models (the mode of their
posterior under the model's own priors), and the ratio of mean absolute errors is taken as the benchmark does.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import numpy as np

from bayesjudge.baselines.elo.held_out import HeldOut
from bayesjudge.counts.battles.counts import BattleCounts
from bayesjudge.inference import fit_many
from bayesjudge.maths.bradley_terry import PER_LOGIT
from bayesjudge.models.judge_elo import JudgeElo
from bayesjudge.models.judge_elo import results as judge_elo_results
from harness.summed_battles import Parameters, Seen, left_out, sweep, weights

__all__ = ["combined"]

#: Worlds drawn; the mean ratio is known to about .01.
WORLDS = 200


def combined(
    counts: BattleCounts, baselines: Mapping[str, HeldOut], *, seed: int
) -> dict[str, list[dict[str, Any]]]:
    """Expected ratios, the same on the real battles, least squares, weights and what pulls each model.

    Parameters
    ----------
    counts : BattleCounts
        With people's votes on every model.
    baselines : mapping of str to HeldOut
        Hard-Elo of people and of each judge, each model left out in turn.
    seed : int
    """
    judges = tuple(baselines)
    fits = fit_many(JudgeElo(), [counts.for_judges(judges)], draws=1500, tune=700, seed=seed)
    sizes = fits.posterior(0).sizes
    pick = np.linspace(0, sizes["chain"] * sizes["draw"] - 1, WORLDS).astype(int)
    truth, theta = _truths(fits, pick)
    real = _real(baselines, theta.mean(axis=0), truth)
    worlds = _worlds(truth, theta, real, np.random.default_rng(seed))
    # The real battles as one world more: the same program.
    every = Seen(*(np.concatenate([part, own[None]]) for part, own in zip(worlds, real, strict=True)))
    learned, parameters = _errors(every, judges)
    rows = [
        _ratios("parameters known", _known_errors(worlds, judges, truth), judges),
        _ratios("parameters learned from the other models", learned[:-1], judges),
        _ratios("the real battles, parameters learned", learned[-1:], judges),
    ]
    own = jax.tree.map(lambda part: part[-1], parameters)
    gate = fits.gate(0).note or "passed"
    return {"ratio": [{**row, "gate": gate} for row in rows],
            "least squares": _least_squares(real, judges),
            "pulls": _pulls(real, own, next(iter(baselines.values())), judges)}  # fmt: skip


def _truths(fits: Any, pick: Any) -> tuple[Parameters, Any]:
    """Parameters of each world, (S, ...), and strengths θ (S, M)."""
    whole = fits.posterior(0)
    found = {name: whole[name].stack(sample=("chain", "draw")).isel(sample=pick)
             for name in ("strength", "slope", "taste_spread", "spread")}  # fmt: skip
    pairs = judge_elo_results.taste_correlations(whole).stack(sample=("chain", "draw")).isel(sample=pick)
    slope, spread = (found[name].transpose("sample", ...).to_numpy() for name in ("slope", "taste_spread"))
    judges = slope.shape[1]
    correlation = np.broadcast_to(np.eye(judges), (len(pick), judges, judges)).copy()
    for column, (a, b) in enumerate(itertools.combinations(range(judges), 2)):
        correlation[:, a, b] = correlation[:, b, a] = pairs.transpose("sample", ...).to_numpy()[:, column]
    taste = spread[:, :, None] * correlation * spread[:, None, :]
    truth = Parameters(np.zeros_like(slope), slope, taste, found["spread"].to_numpy())
    return truth, found["strength"].transpose("sample", ...).to_numpy()


def _real(baselines: Mapping[str, HeldOut], theta: Any, truth: Parameters) -> Seen:
    """Hard-Elo in the model's logits: it takes ties as half a win, which draws all strengths together."""
    every = list(baselines.values())
    human = (every[0].human - every[0].human.mean()) / PER_LOGIT
    scale = human.std() / theta.std()
    judged = np.stack([(one.elo - one.elo.mean()) / PER_LOGIT for one in every], axis=1)
    seen = theta.std() * np.hypot(
        truth.slope.mean(0), np.sqrt(np.diagonal(truth.taste.mean(0))) / theta.std()
    )
    scales = judged.std(axis=0) / seen
    errors = np.stack([one.error for one in every], axis=1) / PER_LOGIT / scales
    return Seen(human / scale, (every[0].human_error / PER_LOGIT / scale) ** 2, judged / scales, errors**2)


def _worlds(truth: Parameters, theta: Any, like: Seen, rng: np.random.Generator) -> Seen:
    """Human and judged strengths of each world, with the sampling variances there are."""
    root = np.linalg.cholesky(truth.taste)
    taste = rng.normal(size=(*theta.shape, root.shape[-1])) @ np.swapaxes(root, 1, 2)
    judged = truth.slope[:, None, :] * theta[..., None] + taste
    h = theta + rng.normal(size=theta.shape) * np.sqrt(like.h_var)
    y = judged + rng.normal(size=judged.shape) * np.sqrt(like.y_var)
    shape = theta.shape
    return Seen(h, np.broadcast_to(like.h_var, shape), y, np.broadcast_to(like.y_var, y.shape))


def _panels(judges: Sequence[str]) -> list[tuple[int, ...]]:
    """Each judge alone, then all."""
    return [*((j,) for j in range(len(judges))), tuple(range(len(judges)))]


def _known_errors(worlds: Seen, judges: Sequence[str], truth: Parameters) -> Any:
    """Mean absolute errors (S, J + 1) of each judge alone and of all, by the true parameters."""
    found = []
    for panel in _panels(judges):
        guess = jax.vmap(lambda p, seen, panel=panel: sweep(p.of(panel), seen)[1])(truth, worlds.of(panel))
        found.append(np.abs(np.asarray(guess) - worlds.h).mean(axis=1))
    return np.stack(found, axis=1)


def _errors(worlds: Seen, judges: Sequence[str]) -> tuple[Any, Parameters]:
    """The same by parameters that are learned, and those of all judges together, (S, M, ...)."""
    # Single judges share a program.
    program = jax.jit(jax.vmap(left_out))
    found: list[Any] = []
    learned: Any = None
    for panel in _panels(judges):
        guess, learned = program(worlds.of(panel))
        found.append(np.abs(np.asarray(guess) - worlds.h).mean(axis=1))
    return np.stack(found, axis=1), learned


def _ratios(predictor: str, error: Any, judges: Sequence[str]) -> dict[str, Any]:
    """All against the best alone in each world, and against the first judge, the best of these in truth."""
    best, first = error[:, -1] / error[:, :-1].min(axis=1), error[:, -1] / error[:, 0]
    low, high = np.quantile(best, [0.025, 0.975])
    return {"predictor": predictor, "worlds": len(error), "ratio": best.mean(), "lower": low, "upper": high,
            "at_most_1": float((best <= 1).mean()), f"against_{judges[0]}": first.mean()}  # fmt: skip


def _least_squares(real: Seen, judges: Sequence[str]) -> list[dict[str, Any]]:
    """Straight lines and planes, each model left out: combinations that know nothing of noise."""
    rows = []
    for size in range(1, len(judges) + 1):
        for panel in itertools.combinations(range(len(judges)), size):
            x = np.column_stack([np.ones(len(real.h)), real.y[:, panel]])
            hat = x @ np.linalg.pinv(x)
            residual = real.h - hat @ real.h
            error = np.abs(residual / (1 - np.diag(hat))).mean()
            rows.append({"judges": " + ".join(judges[j] for j in panel), "mae_logits": error,
                         "mae_logits_fitted": np.abs(residual).mean()})  # fmt: skip
    alone = {f"ratio{name}": rows[0][f"mae_logits{name}"] for name in ("", "_fitted")}
    return [{**row, **{name: row[name.replace("ratio", "mae_logits")] / mae for name, mae in alone.items()}}
            for row in rows]  # fmt: skip


def _pulls(real: Seen, learned: Parameters, held: HeldOut, judges: Sequence[str]) -> list[dict[str, Any]]:
    """Error of all together on each model, in Elo: what each judge's taste adds, and what shrinking does.

    The predictor is linear, so its error splits: weight times what a judge says beyond a_j h,
    judge by judge, and the rest of h that the weights do not hand on.
    """
    scale = float(np.std(held.human) / np.std(real.h))
    rows = []
    for m, name in enumerate(held.models):
        own = jax.tree.map(lambda part, m=m: np.asarray(part[m]), learned)
        weight = np.asarray(weights(own, real, m))
        pulls = scale * weight * (real.y[m] - own.offset - own.slope * real.h[m])
        shrunk = scale * (weight @ own.slope - 1) * real.h[m]
        row = {f"weight_{judge}": each for judge, each in zip(judges, weight, strict=True)}
        row |= {f"pull_{judge}": pull for judge, pull in zip(judges, pulls, strict=True)}
        rows.append({"model": name, "error": pulls.sum() + shrunk, **row, "pull_shrinking": shrunk})
    return rows
