"""How a row of the Elo answer is called where judges stand side by side."""

from __future__ import annotations

import pandas as pd

__all__ = ["named_methods"]


def named_methods(rows: pd.DataFrame, *, scale: str = "") -> list[str]:
    """Method of each row, and whose verdicts it rests on where that is not the leaderboard's own scale.

    Examples
    --------
    >>> named_methods(pd.DataFrame({"method": ["hard-elo", "hard-elo"], "judge": ["", "gpt-4"]}))
    ['hard-elo', 'hard-elo by gpt-4']
    """
    pairs = zip(rows["method"], rows["judge"], strict=True)
    return [f"{method} by {judge}" if judge and judge != scale else method for method, judge in pairs]
