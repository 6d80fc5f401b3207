"""Help: panels with an example, narrow enough for 80 columns, an example in every command's."""

from __future__ import annotations

import re

import pytest
from typer.testing import CliRunner

from bayesjudge import cli
from bayesjudge.simulation.sweeps.questions import SWEEPS

QUESTIONS = ["accuracy", "elo", "reliability", "audit", "compare"]
OTHERS = ["inspect", "judge", "show", "next", "next accuracy", "next reliability", "simulate", "simulate verdicts"]
OTHERS += [
    "simulate battles",
    "simulate trials",
    "simulate scores",
    "simulate pairs",
    "simulate sbc",
    "simulate coverage",
]


def help_of(words: str) -> str:
    done = CliRunner().invoke(cli.app, [*words.split(), "--help"], env={"COLUMNS": "80", "TERMINAL_WIDTH": "80"})
    assert done.exit_code == 0, done.output
    return done.output


@pytest.mark.parametrize("question", QUESTIONS)
def test_every_panel_of_a_question_has_an_example(question: str) -> None:
    titles = re.findall(r"^╭─ (\w+)(, as in: \S.*?)? ─*╮$", help_of(question), re.MULTILINE)
    found = dict(titles)
    assert {"Data", "Model", "Sampling", "CI", "Output"} <= set(found)
    assert [name for name, example in found.items() if not example] == ["Arguments", "Options"]


@pytest.mark.parametrize("question", QUESTIONS)
def test_an_example_names_options_that_there_are(question: str) -> None:
    text = help_of(question)
    known = set(re.findall(r"^│ \*? *(--[a-z-]+)", text, re.MULTILINE))
    used = {flag for line in re.findall(r"as in: (.*)", text) for flag in re.findall(r"--[a-z-]+", line)}
    assert used
    assert used <= known


@pytest.mark.parametrize("words", [*QUESTIONS, "demo", *OTHERS])
def test_descriptions_have_nearly_half_of_80_columns(words: str) -> None:
    for panel in re.findall(r"╭─.*?╰", help_of(words), re.DOTALL):
        lines = [line for line in panel.splitlines() if line.startswith("│")]
        # A description begins behind at least two blanks that follow an option and its value.
        starts = [match.start(1) for line in lines if (match := re.match(r"│ +[^│]* {2,}(\S[^│]{8,}?) *│$", line))]
        assert not starts or min(starts) <= 44, panel


@pytest.mark.parametrize("words", OTHERS)
def test_every_other_command_has_an_example(words: str) -> None:
    assert f"Example: bayesjudge {words}" in " ".join(help_of(words).split())


@pytest.mark.parametrize("words", [one for one in [*QUESTIONS, *OTHERS] if one not in {"next", "simulate"}])
def test_what_is_missing_is_named_with_an_example(words: str) -> None:
    done = CliRunner().invoke(cli.app, words.split(), env={"COLUMNS": "80", "TERMINAL_WIDTH": "80"})
    assert done.exit_code == 2
    said = re.sub(r"[│\s]+", " ", done.output)
    assert re.search(rf"Missing (argument|option) '[\w-]+'\. For instance: bayesjudge {words} \S", said), said


@pytest.mark.parametrize("question", QUESTIONS)
def test_what_only_python_takes_is_not_in_help(question: str) -> None:
    assert "in Python" not in re.sub(r"[│\s]+", " ", help_of(question))


def test_every_sweep_is_in_the_help_of_coverage() -> None:
    """One was not: judge-elo."""
    words = re.sub(r"[│\s]+", " ", help_of("simulate coverage"))
    assert f"A sweep ({', '.join(SWEEPS)})" in words
