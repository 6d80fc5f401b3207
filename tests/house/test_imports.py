"""The house's order: nothing heavy on the way in, and no arrow that points back."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[2] / "bayesjudge"

#: pandas alone takes the 0.3 s that `import bayesjudge` may take.
HEAVY = {
    "arviz",
    "arviz_base",
    "arviz_plots",
    "arviz_stats",
    "duckdb",
    "ibis",
    "jax",
    "matplotlib",
    "numpyro",
    "pandas",
    "polars",
    "pyarrow",
    "pymc",
    "pytensor",
    "rich",
    "scipy",
    "statsmodels",
    "typer",
    "xarray",
}

LEAVES = {"errors", "files", "text", "tables", "estimates", "maths"}
BEFORE_CHECKS = LEAVES | {"readers", "counts", "planning", "model", "inference", "models"}
BEFORE_CHECKS |= {"adapters", "baseline", "baselines", "effects", "options"}
#: Who may import whom: DESIGN.md's table of rooms. `errors` is a leaf that every room may use.
ROOMS = {
    "text": set(),
    "errors": {"text"},
    "priors": {"errors"},
    "files": {"errors", "text"},
    "version": set(),
    "conditions": {"errors", "estimates", "text"},
    "options": {"conditions", "effects", "errors", "inference", "maths", "model", "priors"},
    "baseline": {"errors", "estimates"},
    "tables": {"errors", "text"},
    "estimates": {"errors"},
    "maths": {"errors"},
    "decisions": {"errors", "maths"},
    "effects": {"errors", "maths", "tables"},
    "readers": {"errors", "tables", "text"},
    "counts": {"errors", "tables", "maths"},
    "judging": {"errors", "readers", "tables"},
    "planning": {"errors", "estimates"},  # pure functions of draws and probabilities, whoever made them
    "model": {"errors", "estimates", "priors"},
    "inference": LEAVES | {"model", "priors"},
    # The simulators also hand out counts directly: a study needs thousands of data sets, not their rows.
    "baselines": LEAVES | {"counts"},
    "datasets": LEAVES | {"counts"},
    "models": LEAVES | {"counts", "effects", "model", "priors"},
    "adapters": LEAVES | {"baseline", "counts", "effects", "inference", "model", "models", "priors", "readers"},
    "checks": {"errors", "estimates", "model", "inference"},
    # Figures know estimates only; pages and screens are made of stored answers, without what was fitted.
    "plots": {"errors", "estimates", "text"},
    "report": {"conditions", "decisions", "errors", "estimates", "files", "plots", "text", "version"},
    "studies": BEFORE_CHECKS | {"checks", "conditions", "options", "report"},
    "simulation": (BEFORE_CHECKS - {"planning", "readers"})
    | {"checks", "datasets", "options", "plots", "report", "studies"},
}
ROOMS["cli"] = set(ROOMS)
ROOMS["__main__"] = {"cli"}
#: Rooms on the longest way through the house.
LONGEST = 9


def test_importing_the_package_imports_nothing_heavy() -> None:
    code = "import sys, bayesjudge; print(*sys.modules, sep='\\n')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert "bayesjudge" in loaded
    assert sorted(loaded & HEAVY) == []


def test_the_face_of_every_model_imports_no_engine() -> None:
    """Errors, `--help` and `bayesjudge models` need options and priors alone."""
    models = sorted(path.parent.name for path in (PACKAGE / "models").glob("*/model.py"))
    imports = "".join(f"import bayesjudge.models.{name}.model\n" for name in models)
    code = imports + "import sys; print(*{'jax', 'numpyro', 'pymc', 'pytensor'} & sys.modules.keys())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert len(models) == 9
    assert done.stdout.strip() == ""


def test_rows_in_closed_form_are_there_before_jax_is(tmp_path: Path) -> None:
    """Importing JAX takes longer than counting, all baselines and a bootstrap together."""
    code = f"""
import sys
import bayesjudge.studies.accuracy
from bayesjudge.datasets import simulate_verdicts

def sampled(*_, **__):
    print(*sys.modules)
    raise KeyboardInterrupt

sys.modules["bayesjudge.studies.accuracy.study"].run_fits = sampled
simulate_verdicts(seed=3).verdicts.frame.to_csv({str(tmp_path / "log.csv")!r}, index=False)
from bayesjudge.cli import main
main(["accuracy", {str(tmp_path / "log.csv")!r}])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 130, done.stderr
    loaded, _, table = done.stdout.partition("\n")
    assert "PPI++" in table
    assert sorted({"jax", "numpyro", "pymc", "arviz_stats", "matplotlib", "xarray"} & set(loaded.split())) == []


def sources() -> Iterator[tuple[str, Path]]:
    """Every module with the room it lies in; ``bayesjudge/models`` leads to the models."""
    for entry in sorted(PACKAGE.iterdir()):
        if entry.is_dir() and entry.name != "__pycache__":
            yield from ((entry.name, path) for path in sorted(entry.rglob("*.py")))
        elif entry.suffix == ".py" and entry.name != "__init__.py":
            yield entry.stem, entry


def imported_rooms(path: Path) -> set[str]:
    """Rooms that a module imports anywhere, inside functions and for type checking too."""
    return {name.split(".")[1] for name in imported(path)} - {"__version__"}


def imported(path: Path) -> set[str]:
    """Full names of what a module imports from the package."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: import by full name"
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return {name for name in names if name.startswith("bayesjudge.")}


def test_every_room_has_its_rule() -> None:
    assert {room for room, _ in sources()} <= set(ROOMS), "give the new room a line in ROOMS"


@pytest.mark.parametrize(("room", "path"), [pytest.param(*at, id=f"{at[0]}/{at[1].stem}") for at in sources()])
def test_no_arrow_points_back(room: str, path: Path) -> None:
    assert imported_rooms(path) - {room} <= ROOMS[room]


def test_the_rules_themselves_have_no_circle() -> None:
    left = {room: set(allowed) for room, allowed in ROOMS.items()}
    while left:
        free = {room for room, allowed in left.items() if not allowed & left.keys()}
        assert free, f"a circle among {sorted(left)}"
        left = {room: allowed for room, allowed in left.items() if room not in free}


def test_the_longest_way_through_the_house() -> None:
    """By what is imported, not by what may be."""
    inside = {room: set() for room in ROOMS}
    for room, path in sources():
        inside[room] |= imported_rooms(path) - {room}
    floor: dict[str, int] = {}
    while len(floor) < len(inside):
        floor |= {
            room: 1 + max((floor[other] for other in used), default=0)
            for room, used in inside.items()
            if used <= floor.keys()
        }
    assert max(floor.values()) <= LONGEST


def test_baselines_and_models_never_import_each_other() -> None:
    assert "models" not in ROOMS["baselines"]
    assert "baselines" not in ROOMS["models"]


@pytest.mark.parametrize("room", ["models", "studies"])
def test_neighbours_share_only_what_is_common(room: str) -> None:
    """A model imports no other model, a question no other question; what they share lies in ``common``."""
    folder = PACKAGE / room
    neighbours = {path.name for path in folder.iterdir() if path.is_dir() and path.name != "__pycache__"}
    wrong = [
        f"{path.relative_to(PACKAGE)}: {name}"
        for own in neighbours
        for path in sorted((folder / own).rglob("*.py"))
        for name in sorted(imported(path))
        if name.startswith(f"bayesjudge.{room}.") and name.split(".")[2] in neighbours - {own, "common"}
    ]
    assert not wrong


def test_questions_know_the_faces_of_models_alone() -> None:
    """What a question needs of a model is a method of it; `repeated_trials` has one that is not yet."""
    inside = {
        f"{path.relative_to(PACKAGE)}: {name}"
        for path in sorted((PACKAGE / "studies").rglob("*.py"))
        for name in imported(path)
        if name.startswith("bayesjudge.models.") and name.count(".") > 3
    }
    assert {name.split(": ")[1].split(".")[2] for name in inside} <= {"repeated_trials"}


def test_an_import_that_points_back_is_seen(tmp_path: Path) -> None:
    module = tmp_path / "counts.py"
    module.write_text("def late():\n    from bayesjudge.studies import accuracy\n    return accuracy\n")
    assert imported_rooms(module) == {"studies"}


@pytest.mark.slow
def test_no_module_names_two_values_likewise() -> None:
    """The second would count in functions that stand next to the first."""
    twice = {}
    for path in sorted([*PACKAGE.rglob("*.py"), *(PACKAGE.parent / "models").rglob("*.py")]):
        assigned = [node for node in ast.parse(path.read_text(encoding="utf-8")).body if isinstance(node, ast.Assign)]
        names = [
            one.id for node in assigned for to in node.targets for one in ast.walk(to) if isinstance(one, ast.Name)
        ]
        twice |= {str(path): again} if (again := {name for name in names if names.count(name) > 1}) else {}
    assert twice == {}
