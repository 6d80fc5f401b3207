"""Every command line of the README runs, in order, on a fresh clone; its table is what the demo prints."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)


def lines() -> list[str]:
    """Command lines as they stand, continued ones joined, without what is only said."""
    joined = "\n".join(blocks("sh")).replace("\\\n", " ")
    found = [line.partition(" #")[0].strip() for line in joined.splitlines()]
    return [line for line in found if line.startswith(".venv/bin/bayesjudge")]


def shell(line: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a line without the data beside the checkout, in a folder that has only what came before it."""
    command = line.replace(".venv/bin/bayesjudge", f"{sys.executable} -m bayesjudge", 1)
    environment = os.environ | {"PYTHONPATH": str(ROOT), "COLUMNS": "104"}
    return subprocess.run(command, shell=True, cwd=folder, env=environment, capture_output=True, text=True)  # noqa: S602, PLW1510 - lines of our own README, whose exit code is what is tested


def test_the_lines_are_found() -> None:
    commands = {line.split()[1] for line in lines()}
    assert commands == {"simulate", "inspect", "accuracy", "elo", "reliability", "audit", "compare"}
    assert len(lines()) >= 14


@pytest.mark.parametrize("name", ["doctor", "models"])
def test_commands_named_in_the_text_run(name: str, tmp_path: Path) -> None:
    assert f"bayesjudge {name}" in README
    assert shell(f".venv/bin/bayesjudge {name}", tmp_path).returncode == 0


@pytest.mark.slow
def test_every_line_runs_on_a_fresh_clone(tmp_path: Path) -> None:
    for line in lines():
        done = shell(line, tmp_path)
        # Labels that look chosen, or a chain that is too short, are not what is tested here.
        allowed = {0, 3} if "--strict" in line else {0}
        assert done.returncode in allowed, f"{line}\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")


@pytest.mark.slow
def test_the_printed_table_is_the_demo_s(tmp_path: Path) -> None:
    printed = shell(".venv/bin/bayesjudge demo --quiet", tmp_path).stdout
    assert [line.rstrip() for line in blocks("text")[0].splitlines()] == [
        line.rstrip() for line in printed.splitlines()[: len(blocks("text")[0].splitlines())]
    ]
