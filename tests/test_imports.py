"""The house's order: nothing heavy on the way in, and no arrow that points back."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[1] / "bayesjudge"

#: pandas alone takes the 0.3 s that `import bayesjudge` may take.
HEAVY = {
    "arviz", "arviz_base", "arviz_plots", "arviz_stats", "duckdb", "ibis", "jax", "matplotlib", "numpyro",
    "pandas", "pandera", "polars", "pyarrow", "pymc", "pytensor", "rich", "scipy", "statsmodels", "typer",
    "xarray",
}  # fmt: skip

VERDICTS = {"counts", "panel_counts"}
BATTLES = {"battle_counts", "battle_patterns", "comparison_graph", "strengths"}
REPEATS = {"conditions", "majority", "trial_counts", "score_counts", "trial_planning"}
BEFORE_MODELS = (
    {"errors", "tables", "directions", "estimates", "each_draw", "model", "posterior"}
    | VERDICTS
    | BATTLES
    | REPEATS
)
BEFORE_CHECKS = BEFORE_MODELS | {"inference", "baselines"}
BEFORE_STUDIES = BEFORE_CHECKS | {"label_planning", "checks", "readers", "datasets", "models"}
#: Who may import whom: DESIGN.md's table of rooms. `errors` is a leaf that every room may use.
ROOMS = {
    "errors": set(),
    "version": set(),
    "tables": {"errors"},
    "readers": {"errors", "tables"},
    "cells": {"errors", "tables"},  # the first half of counts: rows to one cell an answer
    "cell_codes": {"cells"},  # names and cells as integers, for both counts
    "counts": {"errors", "tables", "cells", "cell_codes"},
    "panel_counts": {"errors", "tables", "cells", "cell_codes"},  # votes of all judges on an answer together
    "battle_covariates": {"errors", "tables", "cells"},
    "battle_events": {"errors", "tables", "cells", "battle_covariates"},
    "battle_cells": {"tables", "cells", "battle_covariates", "battle_events"},
    "battle_arrays": {"errors", "cells", "battle_cells", "battle_covariates", "battle_patterns"},
    "battle_patterns": set(),
    "comparison_graph": set(),
    "strengths": {"errors"},  # Bradley–Terry by Newton, for models and baselines alike
    "battle_counts": {"errors", "tables", "battle_cells", "battle_arrays", "battle_patterns"},
    "conditions": {"errors", "tables", "cells"},  # what trials and scores share before they are counted
    "majority": {"errors"},  # who wins K trials: for models, baselines, planning and simulators alike
    "trial_counts": {"errors", "tables", "cells", "conditions"},
    "score_counts": {"errors", "tables", "cells", "conditions"},
    "label_planning": {"errors", "estimates"},  # a pure function of draws of P(y = 1), whoever made them
    "trial_planning": {"errors"},  # a pure function of outcome probabilities, whoever estimated them
    "directions": {"errors", "tables"},  # what a choice moved towards: audits and their model start there
    "estimates": {"errors"},
    "each_draw": set(),  # one loop over draws for models and inference alike
    "posterior": {"errors", "estimates"},  # draws to rows of estimates, for every model
    "model": {"errors", "tables", "counts", "estimates"},
    "models": BEFORE_MODELS,
    "inference": BEFORE_MODELS,
    "baselines": {"errors", "tables", "directions", "estimates"} | VERDICTS | BATTLES | REPEATS,
    # The simulators also hand out counts directly: a study needs thousands of data sets, not their rows.
    "datasets": {"errors", "tables", "counts"} | BATTLES | REPEATS,
    "checks": BEFORE_CHECKS,
    # Figures and pages know estimates only; `Comparison.plot` and `.to_html` hand theirs over, so no circle.
    "plots": {"errors", "estimates"},
    "report": {"errors", "estimates", "plots"},
    "studies": BEFORE_STUDIES | {"plots", "report", "version"},
    "doctor": {"errors", "model", "inference"},
    "cli": BEFORE_STUDIES | {"studies", "plots", "report", "doctor", "version"},
    "__main__": {"cli"},
}


def test_importing_the_package_imports_nothing_heavy() -> None:
    code = "import sys, bayesjudge; print(*sys.modules, sep='\\n')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert "bayesjudge" in loaded
    assert sorted(loaded & HEAVY) == []


def sources() -> Iterator[tuple[str, Path]]:
    """Every module with the room it lies in; ``bayesjudge/models`` leads to the models."""
    for entry in sorted(PACKAGE.iterdir()):
        if entry.is_dir() and entry.name != "__pycache__":
            yield from ((entry.name, path) for path in sorted(entry.rglob("*.py")))
        elif entry.suffix == ".py" and entry.name != "__init__.py":
            yield entry.stem, entry


def imported_rooms(path: Path) -> set[str]:
    """Rooms that a module imports anywhere, inside functions and for type checking too."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: import by full name"
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return {name.split(".")[1] for name in names if name.startswith("bayesjudge.")} - {"__version__"}


def test_every_room_has_its_rule() -> None:
    assert {room for room, _ in sources()} <= set(ROOMS), "give the new room a line in ROOMS"


@pytest.mark.parametrize(
    ("room", "path"), [pytest.param(*at, id=f"{at[0]}/{at[1].stem}") for at in sources()]
)
def test_no_arrow_points_back(room: str, path: Path) -> None:
    assert imported_rooms(path) - {room} <= ROOMS[room]


def test_the_rules_themselves_have_no_circle() -> None:
    left = {room: set(allowed) for room, allowed in ROOMS.items()}
    while left:
        free = {room for room, allowed in left.items() if not allowed & left.keys()}
        assert free, f"a circle among {sorted(left)}"
        left = {room: allowed for room, allowed in left.items() if room not in free}


def test_baselines_and_models_never_import_each_other() -> None:
    assert "models" not in ROOMS["baselines"]
    assert "baselines" not in ROOMS["models"]


def test_an_import_that_points_back_is_seen(tmp_path: Path) -> None:
    module = tmp_path / "counts.py"
    module.write_text("def late():\n    from bayesjudge.studies import accuracy\n    return accuracy\n")
    assert imported_rooms(module) == {"studies"}
