"""Every question with a disk that is really full, or read-only: exit 2, a line a reason, and the answer shown."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

#: How the log of each question is simulated, and what it is asked.
QUESTIONS = {
    "accuracy": ("verdicts log.csv --labelled 60 --items 90", "--bootstrap 100 --no-compare --engine laplace"),
    "elo": ("battles log.csv --battles 300 --models 3", "--engine laplace"),
    "reliability": ("trials log.csv --items 20 --trials 4", "--engine hmc"),
    "audit": ("pairs log.csv --pairs 120 --verified 80 --embeddings e.npz", "--embeddings e.npz --engine laplace"),
}
SHORT = "--draws 200 --quiet"


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of its own on which a few tables have room, and neither fits nor a page."""
    place = tmp_path / "disk"
    place.mkdir()
    if not done("mount", "-t", "tmpfs", "-o", "size=200k", "tmpfs", place):
        pytest.skip("a disk of its own cannot be mounted here: it takes Linux and root")
    (place / "filled").write_bytes(b"x" * 170_000)
    yield place
    assert done("umount", "--lazy", place)


def done(tool: str, *words: str | Path) -> bool:
    """Whether a tool of the system is there and does as asked."""
    found = shutil.which(tool)
    return found is not None and not subprocess.run([found, *words], capture_output=True, check=False).returncode


def run(folder: Path, line: str, *, to: Path | None = None) -> tuple[int, str, list[str]]:
    """Exit code, standard output (which may be a file) and the lines of standard error of a command."""
    command = [sys.executable, "-m", "bayesjudge", *line.split()]
    with (to or folder / "stdout").open("w") as output:
        ended = subprocess.run(command, cwd=folder, stdout=output, stderr=subprocess.PIPE, text=True, check=False)
    return ended.returncode, (folder / "stdout").read_text(), ended.stderr.splitlines()


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_full_disk_costs_what_does_not_fit_on_it(question: str, tmp_path: Path, disk: Path) -> None:
    simulated, asked = QUESTIONS[question]
    assert run(tmp_path, f"simulate {simulated}")[0] == 0
    line = f"{question} log.csv {asked} {SHORT}"

    code, shown, said = run(tmp_path, f"{line} --out disk/out --html disk/page.html")
    assert code == 2
    assert "judge" in shown
    assert len(said) == 1
    assert said[0].startswith("bayesjudge: cannot write 'disk/")
    assert said[0].endswith(": No space left on device")
    assert list(disk.glob("out/*.csv"))  # what fits is there
    assert not list(disk.rglob("*.part"))

    code, _, said = run(tmp_path, f"{line} --json --html /dev/full", to=disk / "answer.json")
    assert code == 2
    assert said == [
        "bayesjudge: cannot print the answer: No space left on device",
        "bayesjudge: cannot write '/dev/full': No space left on device",
    ]

    assert done("mount", "-o", "remount,ro", disk)
    code, shown, said = run(tmp_path, f"{line} --out disk/out")
    assert (code, shown) == (2, "")  # said before anything is sampled
    assert said == ["bayesjudge: cannot write into 'disk/out': Read-only file system; name another folder"]
