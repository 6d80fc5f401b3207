"""What to type is what was typed: messages of Python in the words of the command, and the command itself."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest
from commands import run

from bayesjudge import cli
from bayesjudge.cli.files import BattleFile, VerdictFile
from bayesjudge.cli.questions import _offered, as_typed
from bayesjudge.cli.running import TYPED
from bayesjudge.estimates import Estimates
from bayesjudge.estimates.mixing import Gate
from bayesjudge.options import AccuracyOptions, EloOptions
from bayesjudge.report import Comparison

SAID = {
    "more draws, for instance draws=600": "more draws, for instance --draws 600",
    "say order='ab'; a preference": "say --order ab; a preference",
    "use engine='nuts'": "use --engine nuts",
    "bayes:x[engine=nuts,draws=3]: name it by judges= (there are two)": (
        "bayes:x[engine=nuts,draws=3]: name it by --judge (there are two)"
    ),
    "redraws=3 and model=x": "redraws=3 and model=x",
    "`--column order=place` and order='ab'": "`--column order=place` and --order ab",
    "--wide shown:order=COLUMN": "--wide shown:order=COLUMN",
    "(columns={'verdict': 'says'} or --column verdict=says)": "(columns={'verdict': 'says'} or --column verdict=says)",
}


def typed(source: type[Any], options: type[Any], **given: Any) -> Comparison:
    known = [*_offered(source, {}), *_offered(options, {})]
    every = {one.name: [] if one.default in ((), None, {}) else one.default for one in known} | given
    none = Estimates.from_rows([{"estimand": "elo", "note": "draws=600"}])
    answer = Comparison(
        question="elo",
        estimates=none,
        diagnostics=none,
        fits={},
        checks={},
        warnings=tuple(SAID),
        gate=Gate(passed=False, reasons=tuple(SAID), figures={}),
    )
    return as_typed(answer, "elo", known, every)


def test_options_are_named_by_their_flags() -> None:
    answer = typed(BattleFile, EloOptions, file="log.csv")
    assert answer.warnings == answer.gate.reasons == tuple(SAID.values())
    assert answer.estimates.frame["note"].tolist() == ["--draws 600"]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, []),
        ({"draws": "400", "seed": "0"}, ["--draws", "400"]),
        ({"judges": ["a b", "c"]}, ["--judge", "a b", "--judge", "c"]),
        ({"compare": False}, ["--no-compare"]),
        ({"where": ["prompt=short"]}, ["--where", "prompt=short"]),
    ],
)
def test_the_command_is_what_was_typed_without_what_is_default(given: dict[str, Any], words: list[str]) -> None:
    answer = typed(VerdictFile, AccuracyOptions, file=str(Path("a folder", "log.csv")), **given)
    command = shlex.split(answer.settings["command"])
    assert command[:3] == ["bayesjudge", "elo", "a folder/log.csv"]
    assert sorted(command[3:]) == sorted(words)
    assert answer.settings["file"] == "log.csv"


@pytest.mark.parametrize("typed", [["--label", "grade"], ["--label=grade"]])
@pytest.mark.parametrize("question", [["accuracy"], ["next", "accuracy", "--out", "to_label.csv"], ["inspect"]])
def test_what_is_offered_replaces_what_was_typed(
    question: list[str], typed: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two `--label` in one command: the last counts, and who reads it does not know."""
    monkeypatch.chdir(tmp_path)
    rows = [f"q{k},m,1,{1 + k % 5}" for k in range(20)]
    Path("log.csv").write_text("\n".join(["item,model,verdict,grade", *rows]), encoding="utf-8")
    words = [*question, "log.csv", *typed]
    token = TYPED.set(words)
    try:
        ran = run(*words)
    finally:
        TYPED.reset(token)
    commands = [line for line in (ran.stdout + ran.stderr).splitlines() if " bayesjudge " in line]
    asked = "accuracy log.csv" if question == ["inspect"] else f"{' '.join(question)} log.csv"
    assert f"bayesjudge {asked} --label grade=4,5" in " ".join(commands)
    assert [line.count("--label") for line in commands] == [1] * 4


def test_what_was_typed_is_forgotten_with_its_command(tmp_path: Path) -> None:
    with pytest.raises(SystemExit):
        cli.main(["inspect", str(tmp_path / "none.csv")])
    assert TYPED.get() is None
