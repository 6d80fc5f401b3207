"""The statistical tests again and again, every time with other seeds: ``python benchmarks/seeds.py``.

The suite's error budget (``tests/error_budget.py``) says how often a right package fails its tests. Here the
tests that take a bound from it run with all their random numbers drawn anew: what fails more often than the
budget allows has a bound that is not honest, or found an error. Those that are not slow by default, the slow
ones with ``--slow``.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

from harness.command import parser
from harness.machine import machine
from harness.results import holds, report, show
from scipy.stats import binom

ROOT = Path(__file__).resolve().parents[1]
RESULTS = Path(__file__).resolve().parent / "results"
#: Probability that the claim fails although every test keeps to the budget.
FALSE_ALARM = 0.01
SHOWN = ("offset", "tests", "failures", "cpu_seconds", "failed")
#: Far from the small seeds that tests use, so that none meets another's.
_FIRST = 1_000_003


def main() -> None:
    """Run the tests with other seeds, and count what failed."""
    given = _options()
    facts, chosen = machine(), _chosen(["test_datasets.py"] if given.quick else given.module)
    rows = _kept(given)
    for offset in [_FIRST * (given.seed + k) for k in range(given.runs)]:
        if offset not in [row["offset"] for row in rows]:
            rows.append(_run(chosen, given, offset))
            print({name: rows[-1][name] for name in SHOWN}, flush=True)
            _report(given, facts, rows)
    show(rows, f"{len(chosen)} functions of tests", columns=SHOWN)


def _options() -> Namespace:
    options = parser(__doc__)
    options.add_argument("--runs", type=int, help="default: 20, slow: 2, quick: 1")
    options.add_argument("--slow", action="store_true", help="the slow tests alone")
    options.add_argument("--workers", type=int, default=1, help="processes of pytest")
    options.add_argument("--resume", action="store_true", help="keep the runs that --out holds, add the others")
    options.add_argument("--module", action="append", help="test_x.py; default: all that have statistical tests")
    given = options.parse_args()
    given.runs = given.runs or (1 if given.quick else 2 if given.slow else 20)
    kept = None if given.quick else RESULTS / f"{'seeds_slow' if given.slow else 'seeds'}.json"
    given.out = given.out or kept
    return given


def _kept(given: Namespace) -> list[dict[str, Any]]:
    """Runs of an earlier call."""
    if not (given.resume and given.out and given.out.exists()):
        return []
    result = json.loads(given.out.read_text(encoding="utf-8"))
    settings = Namespace(**{"slow": False, "module": None, **result["settings"]})
    unlike = [name for name in ("slow", "module") if getattr(settings, name) != getattr(given, name)]
    if unlike:
        sys.exit(f"{given.out} holds runs with another --{unlike[0]}; name another file with --out")
    rows: list[dict[str, Any]] = result["rows"]
    return rows


def _report(given: Namespace, facts: dict[str, Any], rows: list[dict[str, Any]]) -> None:
    """After every run, so that what was run is kept."""
    settings = Namespace(**{name: value for name, value in vars(given).items() if name != "resume"})
    report("seeds", settings, facts, must_hold=[must_hold(rows)], modules=rows[-1]["modules"], rows=rows)


def _chosen(modules: Sequence[str] | None) -> list[str]:
    """Statistical tests as pytest names them."""
    sys.path.insert(0, str(ROOT / "tests"))
    from error_budget import statistical_tests

    paths = sorted((ROOT / "tests").rglob("test_*.py"))
    return [
        f"{path.relative_to(ROOT)}::{name}"
        for path in paths
        if modules is None or path.name in modules
        for name in statistical_tests(path.read_text(encoding="utf-8"))
    ]


def _modules(ran: Sequence[str]) -> dict[str, int]:
    """Functions of tests that ran, by file."""
    files = [f"{one.split('::')[0].replace('.', '/')}.py" for one in ran]
    return {name: files.count(name) for name in dict.fromkeys(files)}


def _run(chosen: Sequence[str], given: Namespace, offset: int) -> dict[str, Any]:
    """One run of pytest with all seeds moved by ``offset``."""
    marked = "slow" if given.slow else "not slow"
    together = ["-n", str(given.workers), "--dist", "loadfile"] if given.workers > 1 else []
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    with tempfile.TemporaryDirectory() as folder:
        found = Path(folder) / "found.xml"
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-m",
            marked,
            "-p",
            "no:cacheprovider",
            f"--junitxml={found}",
            *together,
            *chosen,
        ]
        moved = {**os.environ, "BAYESJUDGE_SEED_OFFSET": str(offset)}
        done = subprocess.run(command, cwd=ROOT, env=moved, capture_output=True, text=True, check=False)  # noqa: S603 our own interpreter
        if done.returncode > 1:
            sys.exit(f"pytest did not run:\n{done.stdout}\n{done.stderr}")
        cases = list(ET.parse(found).iter("testcase"))  # noqa: S314 written by the line above
    failed = [case for case in cases if case.find("failure") is not None or case.find("error") is not None]
    skipped = sum(case.find("skipped") is not None for case in cases)
    spent = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
    ran = {_named(case).split("[")[0] for case in cases}
    return {
        "modules": _modules(sorted(ran)),
        "offset": offset,
        "tests": len(cases) - skipped,
        "failures": len(failed),
        "cpu_seconds": spent,
        "failed": [_named(case) for case in failed],
    }


def _named(case: ET.Element) -> str:
    return f"{case.get('classname')}::{case.get('name')}"


def must_hold(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """No more failures than the budget makes likely."""
    from error_budget import TEST

    tried = sum(row["tests"] for row in rows)
    most = int(binom.ppf(1 - FALSE_ALARM, tried, TEST))
    claim = f"failures in {tried:,} tests with other seeds ({tried * TEST:.2g} expected)"
    return holds(claim, sum(row["failures"] for row in rows), most=most)


if __name__ == "__main__":
    main()
