"""Real data next to the checkout, and one Hypothesis profile for every test."""

from __future__ import annotations

import functools
import importlib
import importlib.util
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import error_budget
import numpy as np
import pandas as pd
import pytest
import twins
import typer.main
import typer.testing
from hypothesis import settings

from bayesjudge.counts import AnswerPatterns, ItemPatterns, VerdictCounts
from bayesjudge.model import Data, Model

# Machines that run the tests are shared and compile JAX programs on first use: a clock says nothing here.
settings.register_profile("bayesjudge", deadline=None, derandomize=True)
settings.load_profile("bayesjudge")

# Before any test module is imported, since some draw their data then.
if error_budget.OFFSET in os.environ:
    error_budget.move_seeds(int(os.environ[error_budget.OFFSET]))


@pytest.fixture(autouse=True, scope="module")
def room_for_programs() -> Iterator[None]:
    """Tests that call models directly, not through a fit, leave compiled programs behind too."""
    yield
    if "jax" in sys.modules:
        from bayesjudge.inference.programs.accelerator import release_when_many

        release_when_many()


@pytest.fixture(autouse=True, scope="session")
def one_tree_of_commands() -> Iterator[None]:
    """Typer's runner makes the tree of all commands anew for every call, 50 ms; nothing changes between two calls."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(typer.testing, "_get_command", functools.cache(typer.main.get_command))
        yield


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Folder with the real tables; skips where the checkout stands alone."""
    folder = Path(__file__).resolve().parents[2] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip(f"real data not found at {folder}")
    return folder


@pytest.fixture
def benchmark_module(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], ModuleType]]:
    """Importer of what lies in ``benchmarks/``, as its scripts see it; forgotten again after the test."""
    folder = Path(__file__).resolve().parents[1] / "benchmarks"
    monkeypatch.syspath_prepend(str(folder))
    yield importlib.import_module
    for name, module in list(sys.modules.items()):
        if folder in Path(getattr(module, "__file__", None) or "/").parents:
            del sys.modules[name]


@pytest.fixture(scope="session")
def triviaqa(shared_data: Path) -> pd.DataFrame:
    """Nine models' TriviaQA answers, nine LLM judges and a human label: 31,825 rows. Treat as read-only."""
    frame = pd.read_parquet(shared_data / "binary_triviaqa_judges" / "triviaqa_judges.parquet")
    keep = (frame["version"] == "V1") & (frame["judge_type"] == "llm") & ~frame["suspect"]
    columns = ["item", "model", "judge", "verdict", "label"]
    chosen = frame[keep].rename(columns={"item_id": "item"})[columns].reset_index(drop=True)
    return chosen.astype({"item": str, "model": str, "judge": str})


@pytest.fixture(scope="session")
def third_party() -> ModuleType:
    """Models of another package, registered by nobody: tests/third_party.py."""
    name = "third_party"
    spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name("third_party.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def agree() -> Callable[..., None]:
    """Assertion that Monte Carlo estimates are right to within their standard errors: error_budget.py."""
    return error_budget.agrees


@pytest.fixture(scope="session")
def same_density() -> Callable[..., None]:
    """Assertion that a model and its PyMC twin have one log density at random unconstrained points.

    Tolerance: sums of up to a few thousand terms in float64 lose about 1e-13 of their size, and the densities
    here are of size 1e2 to 1e5; 1e-10 leaves room for that and for nothing else.
    """
    return _same_density


def _same_density(model: Model, data: Data, *, points: int = 100, scale: float = 1.5, seed: int = 7) -> None:
    at = twins.random_points(model, data, points=points, scale=scale, seed=seed)
    ours, theirs = twins.numpyro_log_densities(model, data, at)[0], twins.pymc_log_densities(model, data, at)
    assert np.all(np.isfinite(ours))
    np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-10)
    assert np.ptp(ours) > 1


@pytest.fixture(scope="session")
def item_counts() -> Callable[..., VerdictCounts]:
    """Builder of one judge's counts from arrays (items, models), without a trip through a table."""
    return _item_counts


def _item_counts(
    label: Any, positives: Any, *, runs: Any = 1, cluster: Any = None, group: Any = None, n: Any = 1
) -> VerdictCounts:
    label, positives = np.asarray(label), np.asarray(positives)
    items, models = label.shape
    zero, codes = np.zeros(items, dtype=np.int64), np.arange(models)
    patterns = ItemPatterns(
        group=zero if group is None else np.asarray(group),
        cluster=zero if cluster is None else np.asarray(cluster),
        label=label,
        runs=np.broadcast_to(runs, label.shape),
        positives=positives,
        n=np.broadcast_to(np.asarray(n), items),
    )
    empty = np.zeros((0, 1), dtype=np.int64)
    answers = AnswerPatterns(
        model=zero[:0], group=zero[:0], cluster=zero[:0], label=zero[:0], runs=empty, positives=empty, n=zero[:0]
    )
    return VerdictCounts(
        models=tuple(f"m{code}" for code in codes),
        judges=("judge",),
        groups=("all",) if group is None else tuple(f"g{code}" for code in np.unique(group)),
        clusters=0 if cluster is None else len(np.unique(cluster)),
        answers=answers,
        items={"judge": patterns},
    )
