"""Put what ``bayesjudge demo`` prints into the README: ``python benchmarks/harness/demo_table.py``."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

README = Path(__file__).resolve().parents[2] / "README.md"
#: Columns of text: as wide as the README's lines.
WIDTH = 104
_BLOCK = re.compile(r"^```text\n.*?^```$", re.DOTALL | re.MULTILINE)


def printed() -> str:
    """The demo's output up to the end of its first table."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "bayesjudge", "demo", "--quiet"]
        wide = os.environ | {"COLUMNS": str(WIDTH)}
        done = subprocess.run(command, cwd=folder, env=wide, capture_output=True, text=True, check=True)  # noqa: S603 our own command
    lines = [line.rstrip() for line in done.stdout.splitlines()]
    rule = next(place for place, line in enumerate(lines) if "──" in line)
    return "\n".join(lines[: lines.index("", rule + 1)])


def main() -> None:
    """Replace the block."""
    text = README.read_text(encoding="utf-8")
    block = f"```text\n{printed()}\n```"
    README.write_text(_BLOCK.sub(lambda _: block, text, count=1), encoding="utf-8")


if __name__ == "__main__":
    main()
