"""``bayesjudge inspect`` on every tool's file."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import jsonschema
import pandas as pd
import pytest
from format_fixtures import FIXTURES
from typer.testing import CliRunner

from bayesjudge.cli import app
from bayesjudge.readers.inspection import inspection_schema

#: Commands that some files need to answer a question: a baseline that no record names, a threshold.
SAID = {
    "arena-hard": [],
    "rewardbench": ["--threshold", "1"],
    "mt-bench-single": ["--threshold", "5"],
    "wildbench-score": ["--threshold", "5"],
}


@pytest.mark.parametrize("name", FIXTURES)
def test_every_file_is_named_and_counted(name: str, tmp_path: Path) -> None:
    fixture = FIXTURES[name]
    path = fixture.write(tmp_path)
    ran = CliRunner().invoke(app, ["inspect", str(path), "--json", *SAID.get(name, [])])
    found = json.loads(ran.stdout)
    jsonschema.validate(found, inspection_schema())
    assert ran.exit_code == (0 if any(one["possible"] for one in found["questions"].values()) else 2)
    assert (found["format"], found["items"]) == (fixture.tool, len(fixture.items))
    assert set(fixture.judges) == set(found["judges"])
    assert found["labels"] == fixture.labels
    for reason, n in fixture.dropped.items():
        assert found["dropped"][reason] >= n
    shown = CliRunner().invoke(app, ["inspect", str(path), *SAID.get(name, [])])
    assert found["title"] in shown.stdout
    assert len(shown.stdout.splitlines()) <= 25


def test_a_table_that_answers_nothing_exits_with_2(tmp_path: Path) -> None:
    path = tmp_path / "notes.csv"
    pd.DataFrame({"name": ["x", "y"], "colour": ["red", "blue"]}).to_csv(path, index=False)
    ran = CliRunner().invoke(app, ["inspect", str(path)])
    assert ran.exit_code == 2
    assert "accuracy    no" in ran.stdout


def test_inspecting_imports_nothing_heavy(tmp_path: Path) -> None:
    path = FIXTURES["promptfoo"].write(tmp_path)
    code = (
        f"import sys\nfrom bayesjudge.cli import main\ntry:\n    main(['inspect', {str(path)!r}])\n"
        "except SystemExit:\n    pass\n"
        "assert not {'jax', 'numpyro', 'matplotlib'} & sys.modules.keys()"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
