"""Jobs that kill their workers; in a module of its own, since a spawned process imports them by name."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any


def squared(folder: Path, number: int, *, fatal: int | None = None, every: bool = False) -> int:
    """Leaves a file for each call; the worker of the fatal number dies, once or every time."""
    if number == fatal and (every or not (folder / "died").exists()):
        (folder / "died").touch()
        # What others have done arrives first, however busy the machine: the executor ends them with this one.
        time.sleep(1)
        os.kill(os.getpid(), signal.SIGKILL)
    (folder / f"{number} by {os.getpid()}").touch()
    return number**2


def after_its_first(folder: Path, job: Callable[[], Any]) -> Any:
    """The job; but the first worker that takes a second one dies."""
    mine = folder / str(os.getpid())
    if mine.exists() and not (folder / "died").exists():
        (folder / "died").touch()
        os.kill(os.getpid(), signal.SIGKILL)
    mine.touch()
    return job()
