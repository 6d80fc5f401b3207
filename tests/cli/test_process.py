"""The command as a process: it ends at once, with its exit code, and after everything else has ended."""

from __future__ import annotations

import subprocess
import sys

import pytest

RUN = """
import atexit, sys
import bayesjudge.__main__ as command
def main():
    atexit.register(print, "said last")
    print("x" * 100_000)
    {end}
command.main = main
command.run()
"""


def ended(end: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", RUN.format(end=end)], capture_output=True, text=True, check=False)


@pytest.mark.parametrize(("end", "code"), [("sys.exit(3)", 3), ("sys.exit(0)", 0), ("sys.exit(None)", 0), ("pass", 0)])
def test_everything_is_written_and_the_exit_code_is_kept(end: str, code: int) -> None:
    done = ended(end)
    assert (done.returncode, done.stderr) == (code, "")
    assert done.stdout == "x" * 100_000 + "\nsaid last\n"


def test_an_error_of_ours_keeps_its_traceback() -> None:
    done = ended("raise ValueError('of ours')")
    assert done.returncode == 1
    assert done.stderr.endswith("ValueError: of ours\n")
    assert done.stdout.endswith("said last\n")


def test_nothing_is_taken_apart_at_the_end() -> None:
    end = "global kept; kept = type('Kept', (), {'__del__': lambda self: print('taken apart')})(); sys.exit(0)"
    assert "taken apart" not in ended(end).stdout
