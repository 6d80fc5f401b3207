"""The command as a process of its own: ``bayesjudge``, and ``python -m bayesjudge`` where that is not on the path."""

from __future__ import annotations

import atexit
import os
import sys

from bayesjudge.cli import main


def run() -> None:
    """Run the command, and end without taking apart what the system frees at once: an eleventh of a demo's time."""
    # Arrow's own pool keeps what it frees: of 190 MB of JSON Lines, a sixth of all that the command holds.
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    status: list[int] = []
    # What is registered first is called last, when every thread has ended and every file is closed.
    atexit.register(_end, status)
    try:
        main()
    except SystemExit as end:
        if isinstance(end.code, int):
            status.append(end.code)
        raise


def _end(status: list[int]) -> None:
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:
        return  # Python's own end says so, with an exit code for it
    if status:
        os._exit(status[0])


if __name__ == "__main__":
    run()
