"""The version, where every room can read it without going through the front door."""

__version__ = "0.1.0"
