"""Real judges, verified decisions: hide most of what people said, audit, and count what it gains.

Thirteen judge settings of LLMBar, PandaLM and MT-Bench, in which people chose between the responses of
every pair. A share of the pairs (or of the questions) stays verified, the others are hidden; every method
then flips what it distrusts, and consistency with people on the hidden pairs is compared before and after.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from harness.audit_settings import settings
from harness.command import parser
from harness.machine import machine
from harness.results import holds, report, show
from rich.console import Console
from rich.progress import track

from bayesjudge.baselines.audit import (
    Audit,
    auc,
    break_even_auc,
    centroid,
    flip_nothing,
    flip_random,
    nearest_neighbours,
    partial_ot,
)
from bayesjudge.baselines.audit.evidence import mean_by_pair
from bayesjudge.counts.pairs import presentations
from bayesjudge.inference import Hmc, fit_many
from bayesjudge.models.verdict_agreement import VerdictAgreement
from bayesjudge.studies.audit.guard import fast_audit, guard_of
from bayesjudge.studies.audit.held_out import exact_band
from bayesjudge.tables import Pairs

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
MODEL = VerdictAgreement()
OURS = MODEL.label
#: Settings whose posteriors are also sampled, to compare with the fast path: one of each kind.
SAMPLED = ("llmbar ChatGPT Vanilla", "llmbar LLaMA2 Metrics_Reference", "pandalm gpt-3.5-turbo")
METHODS: dict[str, Callable[[Pairs, int], Audit]] = {
    OURS: lambda pairs, seed: fast_audit(pairs, MODEL, seed=seed),
    "partial-ot": lambda pairs, _: partial_ot(pairs),
    "partial-ot[agreements]": lambda pairs, _: partial_ot(pairs, anchors="agreements"),
    "centroid": lambda pairs, _: centroid(pairs),
    "neighbours": lambda pairs, _: nearest_neighbours(pairs),
    "random": lambda pairs, seed: flip_random(pairs, seed=seed),
    "flip-nothing": lambda pairs, _: flip_nothing(pairs),
}
BINS = 10


def main() -> None:
    """Run the study and print it."""
    options = _options()
    if not options.data.is_dir():
        sys.exit(f"no data at {options.data}; name the folder with --data")
    facts, start = machine(), time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tables = {
            name: pairs for name, pairs in settings(options.data) if not options.settings or name in options.settings
        }
        runs = pd.DataFrame([row for design in ("pairs", "questions") for row in _design(tables, design, options)])
        sampled = [
            row
            for name in SAMPLED
            if name in tables and options.posteriors
            for row in _sampled(name, tables[name], options)
        ]
    by_setting = _summary(runs, ["design", "setting", "method"])
    overall = _summary(runs, ["design", "method"])
    show(overall, "consistency gained by each method")
    show([row for row in by_setting if row["method"] in {OURS, "partial-ot"}], "by setting")
    if sampled:
        show(sampled, "fast path next to the sampled posterior")
    transport = _transport(options.points)
    show([transport], "exact partial optimal transport")
    claims = [] if options.settings else must_hold(runs, sampled, transport)
    report(
        "audit",
        options,
        facts,
        must_hold=claims,
        overall=overall,
        by_setting=by_setting,
        sampled=sampled,
        transport=[transport],
        seconds=time.perf_counter() - start,
    )


def _options() -> argparse.Namespace:
    options = parser(__doc__)
    options.add_argument("--splits", type=int, default=10, help="random choices of what stays verified")
    options.add_argument("--share", type=float, default=0.2, help="share that stays verified")
    options.add_argument("--posteriors", type=int, default=3, help="splits that are also sampled; 0 none")
    options.add_argument("--points", type=int, default=5000, help="points a side of the timed transport")
    options.add_argument("--settings", nargs="+", help="some of the settings; default all")
    options.add_argument("--data", type=Path, default=DATA)
    found = options.parse_args()
    if found.quick:
        found.splits, found.posteriors, found.points = 2, 0, 1000
        found.settings = ["llmbar ChatGPT Vanilla", "pandalm gpt-3.5-turbo"]
    return found


def _design(tables: Mapping[str, Pairs], design: str, options: argparse.Namespace) -> list[dict[str, Any]]:
    """One row a setting, split and method."""
    rows = []
    chosen = {name: pairs for name, pairs in tables.items() if design == "pairs" or _repeats(pairs)}
    console = Console(stderr=True)
    for name in track(chosen, f"verified {design}", console=console, transient=True):
        for split in range(options.splits):
            hidden = hide(chosen[name], design, share=options.share, seed=options.seed + split)
            shown = chosen[name].hide(hidden)
            for method, audit in METHODS.items():
                found = audit(shown, options.seed + split)
                figures = scored(found, chosen[name])
                if method == OURS:
                    figures["in_band"] = bins_in_band(shown, options.seed + split)
                rows.append({"design": design, "setting": name, "split": split, "method": method, **figures})
    return rows


def _repeats(pairs: Pairs) -> bool:
    """Whether several pairs share a question; else verifying questions is verifying pairs."""
    one_each = pairs.frame[["item", "question"]].drop_duplicates()
    return bool(one_each["question"].duplicated().any())


def hide(pairs: Pairs, design: str, *, share: float, seed: int) -> np.ndarray:
    """Mask of the pairs whose labels are hidden: all but a random share of the pairs or of the questions."""
    unit = pairs.frame["question" if design == "questions" else "item"]
    units = np.sort(unit.unique())
    shown = np.random.default_rng(seed).permutation(units)[: round(share * len(units))]
    return ~unit.isin(list(shown)).to_numpy(dtype=bool)


def scored(audit: Audit, truth: Pairs) -> dict[str, float]:
    """Gain in points, flips and their precision, ranking and calibration on the hidden pairs, a pair once."""
    right, item = truth.agrees[audit.rows], truth.frame["item"].to_numpy()[audit.rows]
    after, known = np.where(audit.flips, 1 - right, right), np.isfinite(audit.scores)
    before, now, flips = (mean_by_pair(values, item).mean() for values in (right, after, audit.flips))
    first = (truth.frame["order"].iloc[audit.rows] != "ba").to_numpy()
    return {
        "before": 100 * before,
        "gain": 100 * (now - before),
        "flips": flips,
        # As the audit was measured while a pair was one verdict, the one with a shown first.
        "gain_one_order": 100 * (after - right)[first].mean(),
        "precision": (1 + (now - before) / flips) / 2 if audit.flips.any() else np.nan,
        "auc": auc(audit.scores[known], right[known]),
        "break_even_auc": _break_even(before),
        "ece": calibration_error(audit.scores[known], right[known]),
        "brier": float(((audit.scores[known] - right[known]) ** 2).mean()),
    }


def _break_even(share: float) -> float:
    return break_even_auc(float(share)) if 0.5 < share < 1 else np.nan


def calibration_error(p: np.ndarray, y: np.ndarray) -> float:
    """Expected calibration error: mean |P − rate| over ten bins of equal mass."""
    parts = np.array_split(np.argsort(p, kind="stable"), BINS)
    return float(sum(abs(p[part].mean() - y[part].mean()) * len(part) for part in parts if len(part)) / len(p))


def bins_in_band(shown: Pairs, seed: int) -> float:
    """Share of ten bins of verified pairs, each held out once, whose exact 95 % band holds the mean trust."""
    guard = guard_of(shown, MODEL.prepare(shown), MODEL, seed=seed)
    # One verdict a pair: the other repeats it, or has the other probability.
    rows = np.flatnonzero(shown.verified & ~shown.frame["item"].duplicated().to_numpy())
    p, y = guard.trust[rows, 0], shown.agrees[rows]
    parts = [part for part in np.array_split(np.argsort(p, kind="stable"), BINS) if len(part)]
    bands = [exact_band(int(y[part].sum()), len(part), prob=0.95) for part in parts]
    inside = [low <= p[part].mean() <= high for part, (low, high) in zip(parts, bands, strict=True)]
    return float(np.mean(inside))


def _sampled(name: str, pairs: Pairs, options: argparse.Namespace) -> list[dict[str, Any]]:
    """Decisions of the posterior mean (before any guard) next to those of the fast path."""
    shown = [
        pairs.hide(hide(pairs, "pairs", share=options.share, seed=options.seed + split))
        for split in range(options.posteriors)
    ]
    data, rows = [MODEL.prepare(one) for one in shown], []
    # As many draws as the command takes: at fewer, the gate finds the scales τ short of them.
    fits = fit_many(MODEL, data, seed=options.seed, engine=Hmc(), progress=True)
    for k, one in enumerate(shown):
        of, by_pair = presentations(one), np.full(one.frame["item"].nunique(), np.nan)
        by_pair[of.where(~one.verified)] = MODEL.trust(fits.posterior(k), data[k])["trust"]
        fast = fast_audit(one, MODEL, guarded=False)
        trust = of.of_rows(by_pair)[fast.rows]
        right, item = pairs.agrees[fast.rows], pairs.frame["item"].to_numpy()[fast.rows]
        gains = [
            100 * mean_by_pair(np.where(flips, 1 - 2 * right, 0.0), item).mean() for flips in (trust < 0.5, fast.flips)
        ]
        rows.append(
            {
                "setting": name,
                "split": k,
                "gain_sampled": gains[0],
                "gain_fast": gains[1],
                "same_decisions": float(((trust < 0.5) == (fast.scores < 0.5)).mean()),
                "ece_sampled": calibration_error(trust, right),
                "gate": fits.gate(k).passed,
            }
        )
    return rows


def _transport(points: int) -> dict[str, Any]:
    """Seconds and peak memory of one exact transport, in a process of its own."""
    script = Path(__file__).parent / "harness" / "transporting.py"
    line = [sys.executable, str(script), str(points)]
    done = subprocess.run(line, capture_output=True, text=True, check=True)  # noqa: S603  # our own script
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _summary(runs: pd.DataFrame, keys: Sequence[str]) -> list[dict[str, Any]]:
    """Means over splits (and settings), the worst run, and the share of runs that lose."""
    grouped = runs.groupby(list(keys), sort=False)
    figures = [
        "before",
        "gain",
        "gain_one_order",
        "flips",
        "precision",
        "auc",
        "break_even_auc",
        "ece",
        "in_band",
        "brier",
    ]
    mean = grouped[figures].mean()
    mean["worst"] = grouped["gain"].min()
    mean["losing"] = grouped["gain"].agg(lambda gain: float((gain < -1e-9).mean()))
    mean["runs"] = grouped.size()
    return [dict(row) for row in mean.reset_index().to_dict("records")]


def must_hold(
    runs: pd.DataFrame, sampled: Sequence[Mapping[str, Any]], transport: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """Issue 5's claims about the guarded model."""
    ours = runs[runs["method"] == OURS]
    random, whole = ours[ours["design"] == "pairs"], ours[ours["design"] == "questions"]
    vanilla = random[random["setting"].str.endswith("Vanilla")]
    means = random.groupby("setting")["gain"].mean()
    claims = [
        holds("mean gain over the Vanilla settings, points", float(vanilla["gain"].mean()), least=12),
        holds("least mean gain of a setting, points", float(means.min()), least=-0.3),
        holds("share of losing runs", float((random["gain"] < -1e-9).mean()), most=0.03),
        holds("expected calibration error", float(random["ece"].mean()), most=0.08),
        holds(
            "whole questions verified: least mean gain of a setting, points",
            float(whole.groupby("setting")["gain"].mean().min()),
            least=-1,
        ),
        holds(
            "bins of held-out pairs whose exact 95 % band holds the mean trust",
            float(random["in_band"].mean()),
            least=0.9,
        ),
        # Processor seconds: a busy machine's wall clock says nothing of the solver.
        holds("processor seconds of exact transport, 5,000 × 5,000", transport["cpu_seconds"], most=120),
        holds("its peak memory in MB", transport["peak_mb"], most=2000),
    ]
    if sampled:
        same = float(np.mean([row["same_decisions"] for row in sampled]))
        claims.append(holds("decisions of the fast path as the sampled posterior's", same, least=0.97))
    return claims


if __name__ == "__main__":
    main()
