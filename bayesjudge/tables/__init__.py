"""The tables every question starts from: validated, frozen, one row an event."""

from bayesjudge.tables.verdicts import Verdicts

__all__ = ["Verdicts"]
