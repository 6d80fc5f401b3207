"""What would people say of a model that only judges have seen? Leave one model out, on real arena battles.

26,919 battles of 20 models, each with a human vote and the verdicts of three judges. The votes on one model
at a time are hidden; `judge_elo` is fitted to the rest and to the judges' verdicts on all models, and
predicts the Elo that Hard-Elo finds in the hidden votes against the other models. Beside it: conformal
intervals on the judge's own Hard-Elo, raw and put through a straight line to the human scale.

With ``--battle-effect`` all three judges once more, with what raters of one battle share (posteriors by
`harness.linked_panel`: minutes instead of hours; of one judge alone only the product of its loading and
people's would be known). ``--beside FILE`` keeps the posteriors that are in that result of an earlier run.
What all three could be expected to show against the best alone: `harness.expected`.

Coverage has exact (Clopper–Pearson) bounds that take the 20 models as independent, which they are not quite.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from harness.command import parser
from harness.expected import combined
from harness.linked_panel import OneFit, fit_linked
from harness.machine import machine
from harness.results import holds, report, show
from numpy.typing import NDArray
from scipy import stats

from bayesjudge.baselines.elo.conformal import conformal
from bayesjudge.baselines.elo.held_out import HeldOut, held_out
from bayesjudge.counts.battles.counts import BattleCounts, count_battles
from bayesjudge.inference import fit_many
from bayesjudge.models.judge_elo import JudgeElo
from bayesjudge.tables import Battles

FOLDER = Path(__file__).resolve().parents[2] / "shared" / "data" / "pairwise_chatbot_arena_ppr"
JUDGES = ("gpt-4-0125-preview", "claude-3-opus-20240229", "gpt-3.5-turbo")
ALL = "all three"
LINKED = JudgeElo(scores="verdicts", battle_effect=True)


def main() -> None:
    """Run the study and print it."""
    options = _options()
    if not options.data.is_file():
        sys.exit(f"no data at {options.data}; name the file with --data")
    facts, start = machine(), time.perf_counter()
    counts = count_battles(read(options.data), keep_battles=options.battle_effect)
    models, judges = counts.models[: options.models], JUDGES[: options.judges]
    baselines = {judge: _held_out(counts, judge, models, options.seed) for judge in judges}
    rows, predictions = earlier(options.beside) if options.beside else ([], [])
    kept = {(row["judge"], row["method"]) for row in rows}
    for name, panel, model in panels(judges, options):
        if (name, model.label) in kept:
            continue
        began = time.perf_counter()
        found = predicted(counts, panel, models, baselines[JUDGES[0]], model=model, options=options)
        seconds = time.perf_counter() - began
        failed = int((found["gate"] != "").sum())
        rows.append({"judge": name, **scored(found), "gate_failed": failed, "seconds": seconds})
        predictions += [{"judge": name, **row} for row in found.to_dict("records")]
        print(f"{name}, {model.label}: {seconds:.0f} s", flush=True)
    rows += [row for judge, held in baselines.items() for row in frequentist(held, judge)]
    show(rows, "the human Elo of models that people have not seen")
    whole = len(judges) == len(JUDGES) and len(models) == len(counts.models)
    expected = combined(counts, baselines, seed=options.seed) if whole else {}
    for title, part in expected.items():
        show(part, title)
    claims = must_hold(rows, pd.DataFrame(predictions), expected["ratio"], options.seed) if whole else []
    report("elo_heldout", options, facts, must_hold=claims, rows=rows, expected=expected,
           predictions=predictions, seconds=time.perf_counter() - start)  # fmt: skip


def panels(judges: Sequence[str], options: argparse.Namespace) -> list[tuple[str, tuple[str, ...], JudgeElo]]:
    """Who predicts, and by which model: each judge, all three, all three with a battle effect."""
    together = [(ALL, JUDGES)] if len(judges) == len(JUDGES) else []
    plain = [*((judge, (judge,)) for judge in judges), *together]
    kinds = ((plain, JudgeElo()), (together if options.battle_effect else [], LINKED))
    return [(name, panel, model) for group, model in kinds for name, panel in group]


def earlier(path: Path) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Rows and predictions of `judge_elo` that an earlier run has found."""
    kept = json.loads(path.read_text(encoding="utf-8"))
    rows, predictions = (
        [row for row in kept[part] if row["method"].startswith("bayes:")] for part in ("rows", "predictions")
    )
    return rows, predictions


def _options() -> argparse.Namespace:
    options = parser(__doc__)
    options.add_argument("--models", type=int, default=20, help="models left out, the first in the alphabet")
    options.add_argument("--judges", type=int, default=3, help="judges, the best first")
    options.add_argument("--draws", type=int, default=2000, help="draws of each of 4 chains")
    options.add_argument("--tune", type=int, default=700, help="warm-up draws of each chain")
    options.add_argument(
        "--battle-effect", action="store_true", help="also with what one battle's raters share"
    )
    options.add_argument("--beside", type=Path, help="an earlier result: its posteriors are kept")
    options.add_argument("--data", type=Path, default=FOLDER / "chatbot_arena_ppr.parquet")
    found = options.parse_args()
    if found.quick:
        found.models, found.judges, found.draws, found.tune = 4, 1, 100, 150
    return found


def read(path: Path) -> Battles:
    """One row for each battle and judge; the first answer was shown first."""
    wide = pd.read_parquet(path).astype(dict.fromkeys(("model_a", "model_b", *JUDGES), str))
    code = {"a": 1.0, "tie": 0.5, "b": 0.0}
    common = wide[["battle_id", "model_a", "model_b", "human"]].rename(columns={"battle_id": "item"})
    parts = [common.assign(judge=judge, verdict=wide[judge].map(code), order="ab") for judge in JUDGES]
    return Battles.from_frame(pd.concat(parts, ignore_index=True))


def predicted(
    counts: BattleCounts, panel: Sequence[str], models: Sequence[str], reference: HeldOut, *,
    model: JudgeElo, options: argparse.Namespace,
) -> pd.DataFrame:  # fmt: skip
    """Prediction of each model from a fit that has not seen its votes, and what its gate says."""
    seen = counts.for_judges(panel)
    tables = [seen.without_votes_on(name) for name in models]
    sampling: dict[str, Any] = {"draws": options.draws, "tune": options.tune, "seed": options.seed}
    fits = fit_linked(model, tables, **sampling) if model.battle_effect else _sampled(model, tables, sampling)
    rows = []
    for k, (name, one) in enumerate(zip(models, fits, strict=True)):
        draws = model.held_out(one.posterior, one.data, [name], votes=counts.human_pairs(),
                               seed=options.seed + k).to_numpy().ravel()  # fmt: skip
        low, high = np.quantile(draws, [0.05, 0.95])
        rows.append({"model": name, "human": reference.human[reference.models.index(name)],
                     "point": draws.mean(), "lower": low, "upper": high, **one.figures})  # fmt: skip
    return pd.DataFrame(rows).assign(method=model.label)


def _sampled(model: JudgeElo, tables: Sequence[BattleCounts], sampling: dict[str, Any]) -> list[OneFit]:
    fits = fit_many(model, tables, **sampling)
    gates = [fits.gate(k) for k in range(len(fits))]
    return [OneFit(fits.posterior(k), fits.data[k], gate.figures["rhat"], gate.figures["ess"],
                   "; ".join(gate.reasons)) for k, gate in enumerate(gates)]  # fmt: skip


def _held_out(counts: BattleCounts, judge: str, models: Sequence[str], seed: int) -> HeldOut:
    found = held_out(counts, judge, "hard-elo", bootstrap=200, seed=seed)
    keep = [found.models.index(name) for name in models]
    arrays = {name: value[keep] for name, value in vars(found).items() if isinstance(value, np.ndarray)}
    return replace(found, models=tuple(models), **arrays)


def frequentist(held: HeldOut, judge: str) -> list[dict[str, Any]]:
    """Conformal intervals of one judge, on its raw Elo and through a line."""
    rows = []
    for kind, on in (("split", "raw"), ("split", "line"), ("jackknife+", "line")):
        table = conformal(held, kind=kind, on=on, prob=0.9).frame
        renamed = table.rename(columns={"unit": "model", "truth": "human"})
        rows.append({"judge": judge, **scored(renamed), "gate_failed": 0, "seconds": 0.0})
    return rows


def scored(found: pd.DataFrame) -> dict[str, Any]:
    """Coverage with exact 95 % bounds, width, error and rank correlation over the models left out."""
    inside = int(found["human"].between(found["lower"], found["upper"]).sum())
    n = len(found)
    exact = stats.binomtest(inside, n).proportion_ci(method="exact")
    return {
        "method": found["method"].iloc[0], "n": n, "coverage": inside / n, "coverage_lower": exact.low,
        "coverage_upper": exact.high, "median_width": float((found["upper"] - found["lower"]).median()),
        "mae": float((found["point"] - found["human"]).abs().mean()),
        "spearman": float(stats.spearmanr(found["point"], found["human"]).statistic),
    }  # fmt: skip


def must_hold(
    rows: Sequence[dict[str, Any]], predictions: pd.DataFrame, ratios: Sequence[dict[str, Any]], seed: int
) -> list[dict[str, Any]]:
    """The claims of the issue; the last also as an interval: 20 models cannot tell 1 % apart."""
    table = pd.DataFrame(rows).set_index(["method", "judge"])
    ours, raw = table.loc[JudgeElo().label], table.loc["conformal[split]"]
    alone = ours.drop(ALL)
    widths, errors = alone["median_width"] / raw["median_width"], alone["mae"] / raw["mae"]
    bayes = table.loc[[method.startswith("bayes") for method, _ in table.index]]
    return [
        holds("coverage of judge_elo at 90 %, over the judges", float(alone["coverage"].mean()), least=0.85),
        holds("coverage of judge_elo at 90 %, all three", float(ours.loc[ALL, "coverage"]), least=0.85),
        holds("median width against conformal on raw Elo, mean over judges", widths.mean(), most=0.65),
        holds("MAE against raw Hard-Elo, mean over judges", errors.mean(), most=0.65),
        *(claim for method in bayes.index.get_level_values("method").unique()
          for claim in _together(method, predictions, seed)),
        *(claim for row in ratios for claim in _expected(row)),
        holds("posteriors whose gate failed, of all",
              float(bayes["gate_failed"].sum() / bayes["n"].sum()), most=0.05),
    ]  # fmt: skip


def _together(method: str, predictions: pd.DataFrame, seed: int) -> list[dict[str, Any]]:
    """All three by one method against the best judge alone, without a battle effect."""
    error = predictions.assign(error=(predictions["point"] - predictions["human"]).abs())
    by_judge = error.pivot_table(index="model", columns=["method", "judge"], values="error")
    alone, together = by_judge[JudgeElo().label].drop(columns=ALL), by_judge[method][ALL]
    best = alone[alone.mean().idxmin()]
    low, high = ratio_interval(together.to_numpy(), best.to_numpy(), seed=seed)
    which = " (battle effect)" if method == LINKED.label else ""
    return [
        holds(f"MAE of all three against the best alone{which}", together.mean() / best.mean(), most=1.0),
        holds(f"the same{which}, lower end of the paired 95 % bootstrap interval over models", low, most=1.0),
        holds(f"the same{which}, upper end", high),
    ]


def _expected(row: dict[str, Any]) -> list[dict[str, Any]]:
    """The same figure where the fitted model is the truth: what 20 models can be expected to show."""
    where = f"that ratio, {row['predictor']}"
    if row["worlds"] == 1:
        return [holds(where, row["ratio"])]
    return [holds(f"{where}: mean of {row['worlds']} simulated worlds", row["ratio"]),
            holds(f"{where}: share of worlds where it is at most 1", row["at_most_1"])]  # fmt: skip


def ratio_interval(
    ours: NDArray[np.float64], theirs: NDArray[np.float64], *, seed: int, resamples: int = 10_000
) -> tuple[float, float]:
    """95 % percentile interval of a ratio of mean errors, models resampled with both their errors."""
    pick = np.random.default_rng(seed).integers(0, len(ours), (resamples, len(ours)))
    low, high = np.quantile(ours[pick].mean(axis=1) / theirs[pick].mean(axis=1), [0.025, 0.975])
    return float(low), float(high)


if __name__ == "__main__":
    main()
