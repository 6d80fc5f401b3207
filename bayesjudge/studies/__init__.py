"""The questions, each one call from a table to a `Comparison`, in a package of its own.

Each is imported by itself: all of them together are a hundred modules more than one.
"""
