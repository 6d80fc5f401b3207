"""Write benchmarks/README.md and VALIDATION.md from results: ``python benchmarks/harness/readme.py``."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(FOLDER))

from harness.machine import line  # noqa: E402 the folder above is not on the path when this file runs alone
from harness.tables import cell, picked, table  # noqa: E402

INTRODUCTION = """# Benchmarks

Every script takes `--quick` (what `make bench` runs), `--seed` and `--out FILE` (JSON), says what machine it
ran on, and prints what must hold with what was found. The tables below are written by
`python benchmarks/harness/readme.py` from `benchmarks/results/*.json`; do not edit them by hand.

| script | question |
|---|---|
| `triviaqa.py` | real judges and labels: hide most labels, compare every method with all of them |
| `resampled.py` | real tables as populations, items drawn again: coverage of accuracies and judge quality |
| `chosen_labels.py` | the same where labels were not drawn evenly: probabilities known, estimated, ignored |
| `even_labels.py` | how often labels that were drawn evenly look chosen: the level of the permutation test |
| `panel_resampled.py` | real tables as populations for `judge_panel`, beside the EIF on the same labels |
| `prompts.py` | MT-bench as a population, prompts or voters drawn again: coverage of Elo and differences |
| `panel.py` | several real judges, few labels: `judge_panel` beside PPI++ on the best judge; three tables |
| `simulation.py` | known truth: bias, coverage, width of the difference of models (`--sweeps`: 15 cells) |
| `speed.py` | bootstrap, counting 10 million rows, one fit, hundreds of fits |
| `peers.py` | the same work by ppi_py, NumPyro's own loop and PyMC |
| `reliability.py` | repeated judging: 1.2 million scores, exact curves against sampling, trials planned |
| `reliability_models.py` | coverage of both models of repeats on simulated judges, and fits of real repeats |
| `audit.py` | thirteen judge settings, every decision verified: hide most, audit, count each method's gain |
| `elo.py` | bootstrap beside evalica's, the leave-one-model-out study, ten million battles in memory |
| `elo_heldout.py` | what people would say of models that only judges have seen, beside conformal intervals |
| `elo_speed.py` | effective draws a second of `bradley_terry` beside PyMC's default sampler |
| `validation.py`, `mutation_scores.py` | calibration of every model, and of wrong ones: `VALIDATION.md` |
| `prior_coverage.py`, `sweeps.py` | coverage over truths from each prior, and over sweeps of worlds |
| `pooling.py` | which prior of a spread would hold .95 at every spread, and what it would cost |
| `reference.py` | every engine beside 10,000 stored draws |
| `seeds.py` | the statistical tests with other seeds (`--slow`: the slow ones) |
| `fuzz.py` | damaged files, and values of every type, through every reader |
| `gpu.py` | an accelerator against the CPU (`--reduced`: the size for a CPU) |

A load well above 0 before the start means that other programs had a share of the cores: timings of such a
run are upper limits, and ratios within it are what can be compared.
"""


def page() -> str:
    """The whole page."""
    files = sorted((FOLDER / "results").glob("*.json"))
    found = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in files}
    return "\n".join([INTRODUCTION, *(section(name, result) for name, result in found.items())])


def main() -> None:
    """Write the page, and VALIDATION.md, which is made of the same results."""
    from harness import validation

    (FOLDER / "README.md").write_text(page(), encoding="utf-8")
    validation.main()


def section(name: str, result: Mapping[str, Any]) -> str:
    """One result: machine, settings, what must hold, tables."""
    body = "\n\n".join(SECTIONS[result["benchmark"]](result))
    settings = ", ".join(f"{key} {value}" for key, value in result["settings"].items())
    claims = [[("yes" if c["holds"] else "**no**"), c["claim"], c["value"], _bounds(c)] for c in result["must_hold"]]
    held = table(("holds", "claim", "found", "wanted"), claims) if claims else ""
    return f"## {name}\n\nMachine: {line(dict(result['machine']))}.\nSettings: {settings}.\n\n{held}\n\n{body}\n"


def _bounds(claim: Mapping[str, Any]) -> str:
    least, most = claim["least"], claim["most"]
    parts = ["" if least == "-Infinity" else f"≥ {cell(least)}", "" if most == "Infinity" else f"≤ {cell(most)}"]
    return " and ".join(part for part in parts if part)


def _triviaqa(result: Mapping[str, Any]) -> list[str]:
    names = (
        "method",
        "n_cal",
        "mae",
        "coverage",
        "coverage_lower",
        "coverage_upper",
        "splits_lower",
        "splits_upper",
        "width",
        "interval_score",
        "undefined",
        "wrong_sign",
    )
    words = (
        "`coverage_lower`, `coverage_upper`: exact binomial, as if all intervals were independent; "
        "`splits_…`: bootstrap over whole splits. Undefined estimates get the whole range and count as "
        "covering."
    )
    rows = result["scores"]
    tables = [
        f"### {estimand}\n\n" + picked([r for r in rows if r["estimand"] == estimand], names)
        for estimand in ("accuracy", "difference")
    ]
    return [words, *tables, _gates(result)]


def _simulation(result: Mapping[str, Any]) -> list[str]:
    names = (
        "method",
        "youden",
        "delta_youden",
        "bias",
        "rmse",
        "coverage",
        "coverage_lower",
        "coverage_upper",
        "width",
        "interval_score",
        "undefined",
        "wrong_sign",
    )
    return [picked(result["scores"], names), _gates(result)]


def _resampled(result: Mapping[str, Any]) -> list[str]:
    words = (
        "Averages over the judges of a table; `worst_judge` and `worst_unit`: smallest coverage of one "
        "judge, and of one model or pair of one judge; `wrong`: confident calls of the wrong sign; "
        "`…_ratio`: relative to PPI++ (Wald)."
    )
    names = (
        "version",
        "n",
        "estimand",
        "method",
        "coverage",
        "worst_judge",
        "worst_unit",
        "width",
        "width_ratio",
        "error",
        "error_ratio",
        "wrong",
        "worst_wrong",
    )
    return [words, picked(result["summary"], names)]


def _chosen_labels(result: Mapping[str, Any]) -> list[str]:
    words = (
        "About 60 of 400 items labelled by each rule; `worst_unit`: smallest coverage of a model or "
        "pair; `weighted` is given the probabilities, `reweighted` estimates them."
    )
    names = ("judge", "rule", "estimand", "method", "coverage", "worst_unit", "bias", "width")
    tests = picked(result["tests"], ("judge", "rule", "rejected at .05"))
    return [words, picked(result["rows"], names), "Permutation test of even labelling:", tests]


def _panel_resampled(result: Mapping[str, Any]) -> list[str]:
    words = "`worst_unit`: smallest coverage of a model or pair; `wrong`: confident calls of the wrong sign."
    names = ("table", "n", "estimand", "method", "coverage", "worst_unit", "bias", "error", "width", "wrong")
    return [words, picked(result["rows"], names), _gates(result)]


def _even_labels(result: Mapping[str, Any]) -> list[str]:
    words = "`band_…`: where 99 % of such shares lie if the level is right."
    return [words, picked(result["rows"], list(result["rows"][0]))]


def _prompts(result: Mapping[str, Any]) -> list[str]:
    words = (
        "`worst`: smallest coverage of one model, or pair; `wrong`: confident calls of the wrong sign; "
        "`[independent]`: battles on one prompt taken as independent."
    )
    names = ("world", "n", "estimand", "method", "coverage", "worst", "width", "error", "wrong")
    return [words, picked(result["summary"], names)]


def _gates(result: Mapping[str, Any]) -> str:
    """Counts of gates over every parameter, and the mixing of the accuracies and differences themselves."""
    return "### convergence\n\n" + picked(result["gates"], list(result["gates"][0]))


def _speed(result: Mapping[str, Any]) -> list[str]:
    return [picked(result["rows"], ("what", "seconds", "detail"))]


def _peers(result: Mapping[str, Any]) -> list[str]:
    return [picked(result[part], list(result[part][0])) for part in ("intervals", "samplers")]


def _reliability(result: Mapping[str, Any]) -> list[str]:
    parts = ("seconds", "published", "curves", "plan")
    return [picked(result[part], list(result[part][0])) for part in parts]


def _reliability_models(result: Mapping[str, Any]) -> list[str]:
    words = (
        "`seconds` are wall-clock; `checks`: predictive checks that are flagged; `found`: what the "
        "models say of real judges, and the F-interval of the ICC beside them."
    )
    parts = [
        f"### {part}\n\n" + picked(result[part], list(result[part][0]))
        for part in ("coverage", "fits", "checks", "found")
        if result[part]
    ]
    return [words, *parts]


def _audit(result: Mapping[str, Any]) -> list[str]:
    names = (
        "design",
        "method",
        "runs",
        "before",
        "gain",
        "gain_one_order",
        "worst",
        "losing",
        "flips",
        "precision",
        "auc",
        "ece",
        "in_band",
        "brier",
    )
    words = (
        "`before`, `gain`, `worst` (of a run) in points of consistency with people on hidden pairs, "
        "each counted once: of two verdicts that disagree one is right, so that it gains or loses half "
        "a pair; `gain_one_order`: of the verdicts with a shown first alone; "
        "`losing`: share of runs that lose; `in_band`: share of ten bins of verified pairs, each held "
        "out once, whose exact 95 % band holds the mean trust; `design`: whether pairs or whole "
        "questions stay verified."
    )
    at = ("design", "setting", "method", "before", "gain", "gain_one_order", "worst", "losing", "flips", "auc", "ece")
    shown = [row for row in result["by_setting"] if row["method"].startswith(("bayes:", "partial"))]
    parts = [
        words,
        picked(result["overall"], names),
        picked(result["transport"], list(result["transport"][0])),
        "### by setting\n\n" + picked(shown, at),
    ]
    return [*parts, "### beside the sampled posterior\n\n" + picked(result["sampled"], list(result["sampled"][0]))]


def _elo(result: Mapping[str, Any]) -> list[str]:
    parts = [
        part if isinstance(part, list) else [part]
        for part in (result[name] for name in ("bootstrap", "study", "memory"))
    ]
    return [picked(part, list(part[0])) for part in parts]


def _elo_heldout(result: Mapping[str, Any]) -> list[str]:
    words = (
        "Votes on one model at a time are hidden; intervals of 90 % for the Elo that Hard-Elo finds in "
        "them; conformal ones are calibrated forward. `coverage_lower`, `coverage_upper`: exact "
        "binomial. Logs of 1,500 and 6,000 battles: means over logs."
    )
    rows = picked(result["rows"], list(result["rows"][0]))
    if not result.get("paper"):
        return [words, rows]
    paper = picked(result["paper"], list(result["paper"][0]))
    return [words, rows, "### Soft-Elo's public sample, as in the paper\n\n" + paper]


def _elo_speed(result: Mapping[str, Any]) -> list[str]:
    return [picked(result["rows"], list(result["rows"][0]))]


def _pooling(result: Mapping[str, Any]) -> list[str]:
    words = (
        "Rows are priors of the spread, columns true spreads (logits); every posterior is exact. "
        "`smallest departure`: the prior that was searched for, judged on other leagues than those it "
        "was found on."
    )
    spreads = list(dict.fromkeys(row["spread"] for row in result["rows"]))
    priors = list(dict.fromkeys(row["prior"] for row in result["rows"]))
    of = {(row["prior"], row["spread"]): row for row in result["rows"]}
    names = ("prior", *(f"{spread:g}" for spread in spreads))
    tables = [
        f"### {title}\n\n"
        + table(names, [[prior, *(of[prior, spread][key] for spread in spreads)] for prior in priors])
        for key, title in (
            ("coverage", "coverage of a difference"),
            ("width", "width"),
            ("rmse", "root mean square error"),
        )
    ]
    own = "### over its own prior\n\n" + picked(
        result["own_prior"], ("prior", "coverage", "standard_error", "width", "rmse")
    )
    return [words, *tables, own]


def _gpu(result: Mapping[str, Any]) -> list[str]:
    return [picked(result[part], list(result[part][0])) for part in ("densities", "nuts", "fit_many")]


def _panel(result: Mapping[str, Any]) -> list[str]:
    names = (
        "table",
        "method",
        "n_cal",
        "mae",
        "coverage",
        "coverage_lower",
        "coverage_upper",
        "splits_lower",
        "splits_upper",
        "width",
        "interval_score",
        "wrong_sign",
    )
    words = (
        "`ppi++[best-judge]` takes the judge that agrees best with the labels it has; `accuracy (these "
        "items)` is about exactly the items of the table. Rows with other numbers of labels, on fewer "
        "splits, show how many PPI++ needs for the panel's width "
        "(`or more`: more than were tried)."
    )
    rows = result["scores"]
    estimands = dict.fromkeys(row["estimand"] for row in rows)
    tables = [
        f"### {estimand}\n\n" + picked([r for r in rows if r["estimand"] == estimand], names) for estimand in estimands
    ]
    parts = {
        "items drawn again: the table is the superpopulation": "again",
        "labels that PPI++ needs": "needed",
        "one fit of 9 models, 9 judges, 400 items": "speed",
    }
    columns = {"again": ("estimand", *names)}
    # A run of some of the tables lacks some of the parts.
    others = [
        f"### {title}\n\n" + picked(result[part], columns.get(part, list(result[part][0])))
        for title, part in parts.items()
        if result.get(part)
    ]
    return [words, *tables, *others, _gates(result)]


def _fuzz(result: Mapping[str, Any]) -> list[str]:
    return [picked(result[part], list(result[part][0])) for part in ("inputs", "faults") if result[part]]


def _rows(result: Mapping[str, Any]) -> list[str]:
    """Results whose tables are in VALIDATION.md."""
    return [f"{len(result['rows'])} rows; see `VALIDATION.md`."]


SECTIONS: dict[str, Callable[[Mapping[str, Any]], list[str]]] = {
    "triviaqa": _triviaqa,
    "resampled": _resampled,
    "chosen_labels": _chosen_labels,
    "prompts": _prompts,
    "even_labels": _even_labels,
    "panel_resampled": _panel_resampled,
    "simulation": _simulation,
    "speed": _speed,
    "peers": _peers,
    "gpu": _gpu,
    "reliability": _reliability,
    "reliability_models": _reliability_models,
    "audit": _audit,
    "elo": _elo,
    "elo_heldout": _elo_heldout,
    "elo_speed": _elo_speed,
    "pooling": _pooling,
    "panel": _panel,
    "fuzz": _fuzz,
    "reference": _rows,
    "seeds": _rows,
    "seeds_slow": _rows,
}

if __name__ == "__main__":
    main()
