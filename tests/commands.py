"""A command of `bayesjudge` as a user types it."""

from __future__ import annotations

from typing import Any

from typer.testing import CliRunner, Result

from bayesjudge import cli


def run(*arguments: Any) -> Result:
    """Its result; anything but a deliberate exit is a traceback on the user's screen."""
    result = CliRunner().invoke(cli.app, [str(argument) for argument in arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result
