"""``python -m bayesjudge``: the command, where the folder of scripts is not on the path."""

from __future__ import annotations

from bayesjudge.cli import main

if __name__ == "__main__":
    main()
