"""From files and other tables to validated ones: one reader a format."""

from bayesjudge.readers.verdicts import read_verdicts

__all__ = ["read_verdicts"]
