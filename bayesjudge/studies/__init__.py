"""The questions, each one call from a table to a `Comparison`, in a package of its own.

Each is imported by itself: what the other questions need takes as long to import as half of what one needs.
"""
