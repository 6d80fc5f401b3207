"""The benchmarks and examples run at small sizes, and their scores say what they should of known tables."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import pytest

from bayesjudge.estimates import Estimates
from bayesjudge.model import model_names

ROOT = Path(__file__).resolve().parents[2]
BENCHMARKS, EXAMPLES = ROOT / "benchmarks", ROOT / "examples"
#: What the accelerator machine does not have; the fits themselves must not need any of it.
ABSENT = ("arviz_base", "arviz_plots", "arviz_stats", "duckdb", "h5netcdf", "h5py", "ibis", "pymc", "pytensor")
#: Run before a script: imports of `ABSENT` fail as if they were not installed.
BLOCK = f"""
import runpy, sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {ABSENT!r}:
            raise ModuleNotFoundError(f"not installed here: {{name}}", name=name)
sys.meta_path.insert(0, Absent())
"""


def run(*command: str) -> str:
    """Standard output of a script; its standard error is shown when it fails."""
    done = subprocess.run([sys.executable, *command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def test_results_are_written_whole_and_hold_no_nan(benchmark_module: Any, tmp_path: Path) -> None:
    results: ModuleType = benchmark_module("harness.results")
    target = tmp_path / "new" / "found.json"
    results.write(target, {"a": float("nan"), "b": [np.float64(1 / 3), float("-inf")], "c": np.int64(2)})
    assert json.loads(target.read_text()) == {"a": None, "b": [0.333333, "-Infinity"], "c": 2}
    assert [path.name for path in target.parent.iterdir()] == ["found.json"]


@pytest.mark.parametrize(("value", "found"), [(0.91, True), (0.93, False), (float("nan"), False)])
def test_a_claim_holds_only_within_its_bounds(benchmark_module: Any, value: float, found: bool) -> None:
    assert benchmark_module("harness.results").holds("width", value, most=0.92)["holds"] is found


def table(points: list[float]) -> Estimates:
    """Accuracies of two models with intervals of ±.1; NaN gets the whole range."""
    rows = []
    for unit, point in zip("ab", points, strict=True):
        low, high = (0.0, 1.0) if np.isnan(point) else (point - 0.1, point + 0.1)
        rows.append(
            {
                "estimand": "accuracy",
                "unit": unit,
                "method": "x",
                "point": point,
                "lower": low,
                "upper": high,
                "prob": 0.95,
            }
        )
    return Estimates.from_rows(rows)


def test_scores_count_what_covers_and_what_is_undefined(benchmark_module: Any) -> None:
    truth = {("accuracy", "a"): 0.5, ("accuracy", "b"): 0.5}
    tables = [table([0.55, 0.45]), table([0.55, np.nan]), table([0.7, 0.7])]
    keys = [{"n_cal": 40, "split": split} for split in (0, 1, 2)]
    (row,) = benchmark_module("harness.scores").score([tables], truth=truth, keys=keys, seed=0)
    assert row["coverage"] == pytest.approx(4 / 6)
    assert row["undefined"] == pytest.approx(1 / 6)
    assert row["mae"] == pytest.approx((3 * 0.05 + 2 * 0.2) / 5)
    # One of three splits misses altogether: drawing splits, the coverage runs from none to all.
    assert (row["splits_lower"], row["splits_upper"]) == (0.0, 1.0)


def test_the_claims_of_the_simulation_can_fail(benchmark_module: Any) -> None:
    cell = {"youden": 0.4, "delta_youden": 0.3, "bias": 0.08, "bias_mcse": 0.01}
    rows = [
        {**cell, "method": "bayes:judge_error[partial]", "coverage": 0.95, "width": 0.14},
        {**cell, "method": "ppi++", "coverage": 0.95, "width": 0.13},
        {**cell, "method": "rogan-gladen[shared]", "coverage": 0.6, "width": 0.2},
    ]
    claims = benchmark_module("simulation").must_hold(rows, datasets=500)
    assert [claim["holds"] for claim in claims] == [True, False, True, True]
    # The exact central 95 % of a Binomial(500, .95): 465 to 484.
    assert (claims[0]["least"], claims[0]["most"]) == (0.93, 0.968)


def test_the_readme_shows_the_committed_results(benchmark_module: Any) -> None:
    assert benchmark_module("harness.pages").benchmarks() == (BENCHMARKS / "README.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_fits_need_neither_arviz_nor_a_database() -> None:
    code = f"""{BLOCK}
from bayesjudge.datasets import simulate_counts
from bayesjudge.inference import fit, fit_many
from bayesjudge.inference.programs.density import density
from bayesjudge.models.judge_error import JudgeError
(counts,) = simulate_counts(datasets=1, seed=0)
models = (JudgeError(), JudgeError(pooling="specific"))
print([density(model, model.prepare(counts)).size for model in models])
"""
    # Two accuracies, two means, two spreads and two deviations for each of two models; two and four rates.
    assert run("-c", code).strip() == "[10, 6]"


@pytest.mark.slow
def test_the_accelerator_script_runs_on_a_bare_machine(tmp_path: Path) -> None:
    script, out = str(BENCHMARKS / "gpu.py"), tmp_path / "gpu.json"
    arguments = [script, "--reduced", "--out", str(out)]
    code = f"""{BLOCK}
sys.path.insert(0, {str(BENCHMARKS)!r})
sys.argv = {arguments!r}
runpy.run_path({script!r}, run_name="__main__")
"""
    run("-c", code)
    found = json.loads(out.read_text())
    # The clock is the machine's affair, not the program's.
    assert all(claim["holds"] for claim in found["must_hold"] if "seconds" not in claim["claim"])
    assert found["fit_many"][0]["posteriors"] == 20


SMALL = {
    "simulation": ["--datasets", "3", "--draws", "50", "--bootstrap", "100", "--models", "judge_error[partial]"],
    "speed": ["--quick"],
    "peers": ["--quick"],
    "mutation_scores": ["--quick"],
    "pooling": ["--quick"],
    # Simulated judges alone; the fits of real ones are the whole benchmark's.
    "reliability_models": ["--quick", "--datasets", "2", "--data", "none"],
    "single_runs": ["--quick"],
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SMALL)
def test_benchmark_runs(name: str, tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    shown = run(str(BENCHMARKS / f"{name}.py"), *SMALL[name], "--out", str(out))
    found = json.loads(out.read_text())
    assert found["benchmark"] == name
    assert f"{found['machine']['cores']} cores" in shown


@pytest.mark.slow
def test_one_run_in_each_order_covers_what_all_runs_show(
    benchmark_module: Callable[[str], Any], shared_data: Path
) -> None:
    """With repeats of one order taken for independent, no interval of these judges' first runs did."""
    single = benchmark_module("single_runs")
    judges = ["gpt-3.5-turbo-0125", "gpt-3.5-turbo-1106", "gpt-4-0613"]
    rows = list(single.real_runs(shared_data / single.TRIALS, Namespace(judges=judges, seed=1)))
    assert [row["covered"] for row in rows] == [True] * 9


def test_pooled_intervals_by_hand(benchmark_module: Callable[[str], Any]) -> None:
    """With one spread alone the posterior is normal: shrunken estimates, and 1.96 of its deviations."""
    pooling = benchmark_module("pooling")
    at = 33
    alone = np.where(np.arange(len(pooling.GRID)) == at, 0.0, -np.inf)
    leagues = pooling.simulate(np.full(50, 0.6), np.random.default_rng(1))
    found = pooling.scored("one spread", alone, 0.6, leagues)
    tau, error = pooling.GRID[at], pooling.ERROR
    factor = tau**2 / (tau**2 + error**2)
    assert found["width"] == pytest.approx(2 * 1.959964 * np.sqrt(2 * factor) * error, rel=1e-6)
    miss = factor * leagues.estimate - leagues.truth
    assert found["rmse"] == pytest.approx(float(np.sqrt(np.mean(miss**2))), rel=1e-9)
    held = np.abs(miss) < found["width"] / 2
    assert found["coverage"] == pytest.approx(held.mean())


@pytest.mark.slow
def test_triviaqa_benchmark_runs(shared_data: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    small = ["--splits", "2", "--labels", "40", "--judges", "Llama3-8B", "--draws", "50", "--bootstrap", "100"]
    run(str(BENCHMARKS / "triviaqa.py"), *small, "--models", "judge_error[shared]", "--out", str(out))
    found = json.loads(out.read_text())
    scores = {(row["method"], row["estimand"]): row for row in found["scores"]}
    # Two splits of one judge, nine models and their 36 differences.
    assert scores["bayes:judge_error[shared]", "accuracy"]["n"] == 18
    assert scores["naive", "difference"]["n"] == 72
    assert found["gates"][0]["posteriors"] == 2


@pytest.mark.slow
def test_decisions_benchmark_runs(shared_data: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    run(str(BENCHMARKS / "decisions.py"), "--quick", "--out", str(out))
    found = json.loads(out.read_text())
    # Two populations of two splits, and 72 ordered pairs of nine models.
    assert sum(row["pairs"] for row in found["chances"]) == 2 * 2 * 72
    of_two = {row["population"]: row for row in found["losses"] if row["between"] == "two models"}
    for row in found["causes"]:
        # The same loss of two, summed by pair and by split; stored to six digits.
        assert row["said"] == pytest.approx(of_two[row["population"]]["said"], rel=1e-5)
        assert row["came"] == pytest.approx(of_two[row["population"]]["came"], rel=1e-5)
    assert all(0.5 < row["ratio"] < 2 for row in found["widths"])


@pytest.mark.slow
def test_intervals_cover_where_items_are_drawn_from_a_real_table(shared_data: Path, tmp_path: Path) -> None:
    """GPT-4 and a lexical judge of TriviaQA, ten logs of 40 labelled items each."""
    out = tmp_path / "out.json"
    run(str(BENCHMARKS / "resampled.py"), "--quick", "--out", str(out))
    found = {(row["estimand"], row["method"]): row for row in json.loads(out.read_text())["summary"]}
    for estimand in ("accuracy", "difference", "sensitivity", "specificity", "youden", "delta_youden"):
        # 10 logs of 9 models and 2 judges are about 20 independent logs; .93 is what is asked of 60 a judge.
        assert found[estimand, "bayes:judge_error[partial]"]["coverage"] >= 0.85, estimand
    ours, plus = (found["difference", name] for name in ("bayes:judge_error[partial]", "ppi++"))
    assert ours["width"] < 1.2 * plus["width"]


@pytest.mark.slow
def test_known_probabilities_of_labels_repair_what_a_choice_of_items_does(shared_data: Path, tmp_path: Path) -> None:
    """GPT-4 of TriviaQA, eight logs a rule: covered with the probabilities, not without."""
    out = tmp_path / "out.json"
    run(str(BENCHMARKS / "chosen_labels.py"), "--quick", "--out", str(out))
    found = {(row["rule"], row["estimand"], row["method"]): row for row in json.loads(out.read_text())["rows"]}
    for (rule, estimand, method), row in found.items():
        if method.endswith(",weighted]"):
            assert row["coverage"] >= 0.85, (rule, estimand)
    ignored, known = (
        found["truly hard", "accuracy", f"bayes:judge_error[partial{kind}]"] for kind in ("", ",weighted")
    )
    assert ignored["coverage"] < known["coverage"] - 0.2
    assert abs(known["bias"]) < abs(ignored["bias"]) / 2


@pytest.mark.slow
def test_intervals_cover_in_logs_that_are_no_full_table(shared_data: Path, tmp_path: Path) -> None:
    """GPT-4 of TriviaQA, eight logs a design; where one model has labels, the others' intervals are wide."""
    out = tmp_path / "out.json"
    run(str(BENCHMARKS / "odd_designs.py"), "--quick", "--out", str(out))
    rows = [row for row in json.loads(out.read_text())["rows"] if row["method"] == "bayes:judge_error[partial]"]
    assert {row["part"] for row in rows} == {"labelled", "without labels"}
    for row in rows:
        assert row["coverage"] >= 0.85, (row["design"], row["estimand"])
        assert row["width"] > 0.6 or row["part"] == "labelled"


@pytest.mark.slow
def test_intervals_of_elo_cover_where_prompts_are_drawn_again(shared_data: Path, tmp_path: Path) -> None:
    """Twenty logs of 20 prompts: clustered intervals cover where independent ones do not."""
    out = tmp_path / "out.json"
    worlds = ("--worlds", "people", "gpt-4", "both", "independent battles")
    run(str(BENCHMARKS / "prompts.py"), "--replicates", "20", "--prompts", "20", *worlds, "--out", str(out))
    found = {(row["world"], row["estimand"], row["method"]): row for row in json.loads(out.read_text())["summary"]}
    posteriors = dict.fromkeys(("people", "gpt-4"), "bayes:bradley_terry[human]") | {"both": "bayes:judge_elo"}
    for world, posterior in posteriors.items():
        for method in (posterior, "hard-elo"):
            # Models of one log err together: 20 logs are some 60 independent intervals; 200 logs hold .93.
            assert found[world, "elo", method]["coverage"] >= 0.8, (world, method)
        assert found[world, "elo", "hard-elo[independent]"]["coverage"] < 0.85
    free = "independent battles", "elo", "bayes:bradley_terry[human]"
    assert found[free]["width"] < 1.15 * found[(*free[:2], f"{free[2]}[independent]")]["width"]


def test_a_row_is_judged_by_the_same_row_of_the_whole_table(benchmark_module: Callable[[str], Any]) -> None:
    """By hand: two units of one estimand, one of them covered in two of three logs."""
    again = benchmark_module("drawn_again")
    lines = [("x", 0.4, 0.6), ("x", 0.5, 0.7), ("x", 0.6, 0.8), ("y", 0.2, 0.4), ("y", 0.2, 0.4), ("y", 0.3, 0.5)]
    rows = pd.DataFrame(
        [
            {"method": "m", "judge": "", "estimand": "e", "unit": u, "point": (a + b) / 2, "lower": a, "upper": b}
            for u, a, b in lines
        ]
    ).assign(truth=lambda table: table["unit"].map({"x": 0.55, "y": 0.3}))
    (row,) = again.summary("s", rows)
    assert (row["units"], row["logs"]) == (2, 3)
    assert row["coverage"] == pytest.approx(5 / 6)
    assert row["worst"] == pytest.approx(2 / 3)
    assert row["width"] == pytest.approx(0.2)
    # Deviations of (.5, .6, .7) and of (.3, .3, .4).
    assert row["points"] == pytest.approx(3.92 * (0.1 + 0.1 / np.sqrt(3)) / 2)
    assert row["bias"] == pytest.approx((0.05 + 0.1 / 3) / 2)
    claims = again.must_hold([row | {"method": "bayes:m", "logs": 24}, row | {"method": "wald", "logs": 24}])
    assert [claim["holds"] for claim in claims] == [True]
    assert not again.must_hold([row | {"method": "bayes:m", "logs": 24, "coverage": 0.8}])[0]["holds"]


@pytest.mark.slow
def test_every_row_of_elo_is_there_where_prompts_are_drawn_again(shared_data: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    run(str(BENCHMARKS / "drawn_again.py"), "--settings", "votes, grades", "--replicates", "3", "--out", str(out))
    rows = json.loads(out.read_text())["rows"]
    found = {(row["method"], row["estimand"]): row for row in rows}
    assert {"elo", "difference", "tie_rate", "beta", "kappa", "ece", "cluster_spread"} <= {e for _, e in found}
    elo = found["bayes:bradley_terry[human]", "elo"]
    assert (elo["units"], elo["logs"]) == (6, 3)
    # Three logs of six models that err together are some six intervals.
    assert elo["coverage"] >= 0.5


@pytest.mark.slow
def test_pooled_strengths_cover_within_categories_at_less_width(shared_data: Path, tmp_path: Path) -> None:
    """Fifteen logs: intervals by strengths that pool are narrower than Hard-Elo's on a category alone, and hold."""
    out = tmp_path / "out.json"
    run(str(BENCHMARKS / "categories.py"), "--replicates", "15", "--out", str(out))
    rows = json.loads(out.read_text())["summary"]
    found = {(row["where"], row["estimand"], row["method"].startswith("bayes:")): row for row in rows}
    # Models of one log err together, so that 15 logs are as few: 200 logs hold .94 at .87 of the width.
    for estimand in ("elo", "difference"):
        pooled, alone = found["category", estimand, True], found["category", estimand, False]
        assert pooled["covered"] >= 0.85, estimand
        assert pooled["width"] < 0.95 * alone["width"], estimand


def test_the_regression_beside_effects_is_that_of_its_score(benchmark_module: Callable[[str], Any]) -> None:
    """Two values of x: rates are saturated, so that the effect at the lower one is known; clusters of one answer."""
    x, y = np.repeat([0.0, 1.0], 100), np.repeat([1.0, 0.0, 1.0, 0.0], [60, 40, 80, 20])
    effect, error = benchmark_module("columns").average_effect(x, y, np.arange(200))
    odds = (0.8 / 0.2) / (0.6 / 0.4)
    second = odds * 4 / (1 + odds * 4)
    assert effect == pytest.approx((0.8 - 0.6 + second - 0.8) / 2)
    assert 0.02 < error < np.sqrt(0.6 * 0.4 / 100 + 0.8 * 0.2 / 100)


@pytest.mark.slow
def test_length_is_found_where_it_moves_a_judge(shared_data: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    run(str(BENCHMARKS / "columns.py"), "--quick", "--out", str(out))
    found = json.loads(out.read_text())
    assert found["screen"][0]["length"] > 3.5
    assert all(abs(row["away"]) < 1 for row in found["effects"])


@pytest.mark.slow
def test_a_world_of_another_link_is_covered(tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    run(str(BENCHMARKS / "worlds.py"), "--quick", "--out", str(out))
    (row,) = json.loads(out.read_text())["worlds"]
    assert (row["world"], row["of"], row["rows"]) == ("probit", "total", 3)
    assert row["coverage"] >= 2 / 3
    assert abs(row["bias"]) < 0.1


@pytest.mark.slow
def test_a_model_is_written_in_ten_minutes_as_its_page_says(tmp_path: Path) -> None:
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "models" / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    script = tmp_path / "mine.py"
    script.write_text("\n".join(blocks).replace('"mine.html"', repr(str(tmp_path / "mine.html"))), encoding="utf-8")
    assert "Of 4 slips put into it, calibration finds" in run(str(script))
    assert "bayes:validated_judge" in (tmp_path / "mine.html").read_text(encoding="utf-8")


def test_examples_are_short() -> None:
    """A reader who wants an example of one thing reads it on one screen."""
    lines = {path.stem: len(path.read_text(encoding="utf-8").splitlines()) for path in EXAMPLES.glob("*.py")}
    assert lines["own_model"] <= 40
    assert {name for name, n in lines.items() if n > 60} == {"own_class", "triviaqa"}


@pytest.mark.slow
def test_examples_run(shared_data: Path, tmp_path: Path) -> None:
    assert "gate: passed" in run(str(EXAMPLES / "own_class.py"))
    shown = run(str(EXAMPLES / "accuracy_from_csv.py"), "--folder", str(tmp_path), "--draws", "100")
    assert "heron − otter" in shown
    assert (tmp_path / "accuracy.html").stat().st_size > 10_000
    assert "intervals hold the human accuracy" in run(str(EXAMPLES / "triviaqa.py"), "--draws", "100")


@pytest.mark.slow
def test_the_example_of_priors_runs() -> None:
    assert "twice as wide" in run(str(EXAMPLES / "priors.py"))


@pytest.mark.slow
def test_the_tour_of_arviz_runs(tmp_path: Path) -> None:
    assert "7 figures" in run(str(EXAMPLES / "arviz_tour.py"), str(tmp_path))
    assert len(list(tmp_path.glob("*.png"))) == 7


@pytest.mark.slow
def test_examples_of_decisions_and_own_baselines_run() -> None:
    assert "undecided" in run(str(EXAMPLES / "decide.py"))
    assert "agreement_bound" in run(str(EXAMPLES / "own_baseline.py"))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["own_pymc_model", "from_stan_or_bambi"])
def test_examples_of_others_models_run(name: str) -> None:
    assert "bayes:judge_error[partial]" in run(str(EXAMPLES / f"{name}.py"))


@pytest.mark.slow
def test_the_example_of_trials_and_pairs_runs() -> None:
    shown = run(str(EXAMPLES / "own_trials_and_pairs.py"))
    assert "bayes:steady" in shown
    assert "trust[bayes:logistic]" in shown


@pytest.mark.slow
def test_examples_of_covariates_and_groups_run() -> None:
    assert "specificity, +1 sd of log(words)" in run(str(EXAMPLES / "covariates.py"))
    assert "half law" in run(str(EXAMPLES / "groups.py"))
    assert "position, +1 sd of words: 0." in run(str(EXAMPLES / "leanings.py"))


@pytest.mark.parametrize("name", model_names())
def test_a_card_has_the_priors_of_its_model(name: str, benchmark_module: Callable[[str], Any]) -> None:
    assert benchmark_module("harness.cards").card(name) == (ROOT / "models" / name / "README.md").read_text("utf-8")


@pytest.mark.slow
def test_the_real_data_example_says_when_the_data_are_absent(tmp_path: Path) -> None:
    assert "skipped: no data" in run(str(EXAMPLES / "triviaqa.py"), "--data", str(tmp_path / "none.parquet"))


def test_differences_are_named_by_their_path(benchmark_module: Callable[[str], Any]) -> None:
    differences = benchmark_module("harness.answers").differences
    before = {"rows": [{"point": 1.0, "note": ""}, {"point": float("nan")}], "versions": "1"}
    assert list(differences(before, {**before, "versions": "2"})) == []
    now = {"rows": [{"point": 1.0 + 1e-15, "note": ""}], "versions": "1"}
    assert [path for path, *_ in differences(before, now)] == ["$.rows (length)", "$.rows[0].point"]
    assert [path for path, *_ in differences({"a": 1, "b": 2}, {"b": 2, "a": 1})] == ["$ (keys)"]


@pytest.mark.slow
def test_equal_seeds_give_equal_answers_whatever_the_order_of_sets(tmp_path: Path) -> None:
    """Hash seeds 1 and 4 give the names of the two judges in different orders."""
    script, cases = BENCHMARKS / "harness" / "answers.py", ("reliability-trials", "elo-scores")
    for seed, action in (("1", "--write"), ("4", "--compare")):
        command = [sys.executable, str(script), action, str(tmp_path), "--only", *cases]
        hashing = {**os.environ, "PYTHONHASHSEED": seed}
        done = subprocess.run(command, env=hashing, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
