"""The GitHub action: its inputs reach the command as words, and nothing in them acts."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from bayesjudge.datasets import simulate_verdicts

ROOT = Path(__file__).resolve().parents[2]
ACTION = (ROOT / "action.yml").read_text(encoding="utf-8")
WORKFLOW = (ROOT / "examples" / "pull_request.yml").read_text(encoding="utf-8")

#: Stands for the command: writes its words down and ends as it is told.
STUB = """#!{python}
import os, sys
open(os.environ["WORDS"], "w").write("\\0".join(sys.argv[1:]))
sys.exit(int(os.environ.get("ENDS", 0)))
"""
HOSTILE = '$(touch owned) `touch owned`; touch owned "'


def acted(folder: Path, command: str, **inputs: str) -> dict[str, str]:
    """Outputs of the step for some inputs, with a program of that text as ``bayesjudge``."""
    programs = folder / "bin"
    programs.mkdir(exist_ok=True)
    (programs / "bayesjudge").write_text(command.format(python=sys.executable))
    (programs / "bayesjudge").chmod(0o755)
    given = {"COMMAND": "accuracy", "FILE": "log.csv", "AGAINST": "", "FAIL_IF": "", "UNDECIDED": "pass", "ARGS": ""}
    path = f"{programs}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    runner = {"RUNNER_TEMP": str(folder), "GITHUB_OUTPUT": str(folder / "outputs"), "WORDS": str(folder / "words")}
    environment = os.environ | {"PATH": path, "PYTHONPATH": str(ROOT)} | runner | given | inputs
    (folder / "outputs").write_text("")
    subprocess.run([ROOT / ".ci" / "action"], cwd=folder, env=environment, check=True, capture_output=True)
    return dict(line.split("=", 1) for line in (folder / "outputs").read_text().splitlines())


def test_inputs_are_words_of_the_command(tmp_path: Path) -> None:
    inputs = {"COMMAND": "compare", "FILE": HOSTILE, "AGAINST": "before log.csv"}
    conditions = "difference(after, before) < 0\n\n  \ngate\n"
    found = acted(tmp_path, STUB, **inputs, FAIL_IF=conditions, ARGS="--run 'the base' --run head")
    words = (tmp_path / "words").read_text().split("\0")
    folder = Path(found["folder"])
    assert words == [
        *("compare", "--undecided", "pass", "--quiet", "--github"),
        *("--out", f"{folder}", "--junit", f"{folder / 'junit.xml'}", "--markdown", f"{folder / 'summary.md'}"),
        *("--fail-if", "difference(after, before) < 0", "--fail-if", "gate"),
        *("--run", "the base", "--run", "head", "--", "before log.csv", HOSTILE),
    ]
    assert not (tmp_path / "owned").exists()


@pytest.mark.parametrize(
    ("ends", "outcome"), [(0, "passed"), (1, "error"), (2, "bad input"), (3, "not converged"), (4, "failed")]
)
def test_how_the_command_ended_is_an_output(tmp_path: Path, ends: int, outcome: str) -> None:
    found = acted(tmp_path, STUB, ENDS=str(ends))
    assert (found["outcome"], found["code"]) == (outcome, str(ends))


def test_artifacts_of_equal_inputs_have_one_name(tmp_path: Path) -> None:
    names = [acted(tmp_path, STUB, FILE=file)["name"] for file in ("a.csv", "a.csv", "b.csv")]
    assert names[0] == names[1] != names[2]


def test_the_command_takes_what_the_action_gives_it(tmp_path: Path) -> None:
    """Up to the first fit, for which a file that is not there is enough."""
    real = '#!/bin/sh\nexec {python} -m bayesjudge "$@"\n'
    assert acted(tmp_path, real, COMMAND="compare", AGAINST="before.csv", FAIL_IF="gate")["outcome"] == "bad input"


@pytest.mark.slow
def test_a_condition_that_holds_fails_the_step_and_leaves_everything(tmp_path: Path) -> None:
    simulate_verdicts(seed=3, labelled=60, unlabelled=90).verdicts.frame.to_csv(tmp_path / "log.csv", index=False)
    real = '#!/bin/sh\nexec {python} -m bayesjudge "$@"\n'
    few = "--engine laplace --pooling shared --draws 300 --bootstrap 0 --no-compare"
    found = acted(tmp_path, real, FAIL_IF="accuracy(*) > .1", ARGS=few)
    assert found["outcome"] == "failed"
    names = {path.name for path in Path(found["folder"]).iterdir()}
    assert {"answer.json", "report.html", "junit.xml", "summary.md"} <= names


def test_no_input_is_part_of_a_script() -> None:
    """What a script expands before it runs could be a command; the environment cannot."""
    for text in (ACTION, WORKFLOW):
        scripts = re.findall(r"^( *)(?:- )?run: (\|\n(?:\1 {2,}.*\n|\n)+|.*\n)", text, re.MULTILINE)
        assert scripts
        assert not [script for _, script in scripts if "${{" in script]


def test_what_is_used_is_declared() -> None:
    inputs, outputs, _ = re.split(r"^(?:outputs|runs):$", ACTION, flags=re.MULTILINE)
    declared = set(re.findall(r"^ {2}([\w-]+):$", inputs, re.MULTILINE))
    assert declared == {"command", "file", "against", "fail-if", "undecided", "args"}
    assert set(re.findall(r"inputs\.([\w-]+)", ACTION)) == declared
    assert set(re.findall(r"^ {2}([\w-]+):$", outputs, re.MULTILINE)) == {"outcome", "answer"}
    script = (ROOT / ".ci" / "action").read_text(encoding="utf-8")
    assert set(re.findall(r"steps\.run\.outputs\.(\w+)", ACTION)) <= set(re.findall(r'"(\w+)=\$', script))
    given = re.findall(r"^ {10}([a-z-]+):", WORKFLOW.partition("OWNER/bayesjudge")[2], re.MULTILINE)
    assert set(given) <= declared
    assert set(re.findall(r"steps\.judged\.outputs\.(\w+)", WORKFLOW)) <= {"outcome", "answer"}
