"""The per-question results of "The Coin Flip Judge? Reliability and Bias in LLM-as-a-Judge Evaluation"."""

from __future__ import annotations

from importlib.resources import files

import pandas as pd

__all__ = ["COIN_FLIP_TRIALS", "coin_flip"]

#: Trials behind every flip rate of `coin_flip`.
COIN_FLIP_TRIALS = 50


def coin_flip() -> pd.DataFrame:
    """Flip rate and majority of 50 comparisons by two judges on each of 29 questions.

    Returns
    -------
    pandas.DataFrame
        58 rows: ``item, category, judge``, ``flip_rate`` (share of the 50 trials outside the majority) and
        ``majority`` (a, b or tie; the paper calls the response presented first A, although it also says that
        the order was randomised in each trial, and does not report outcomes by order).

    Notes
    -----
    Source: arXiv 2606.13685, Appendix C, Tables 10 and 11. The split of the other votes between the two other
    outcomes is not reported: where the flip rate is below one half it is between nothing and all of it for
    either.

    Examples
    --------
    >>> table = coin_flip()
    >>> table.groupby("judge")["flip_rate"].mean().round(4).to_dict()
    {'gpt-4.1-mini': 0.1386, 'gpt-4o-mini': 0.1331}
    >>> table.loc[table["flip_rate"].idxmax(), ["item", "judge", "majority"]].tolist()
    ['q004', 'gpt-4.1-mini', 'tie']
    """
    with (files("bayesjudge.datasets") / "coin_flip.csv").open(encoding="utf-8") as text:
        return pd.read_csv(text)
