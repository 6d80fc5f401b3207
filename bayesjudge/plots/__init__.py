"""Figures: each a function from results to a `matplotlib.figure.Figure`, and `to_svg` for the page."""

from bayesjudge.plots.export import to_svg
from bayesjudge.plots.forest import forest
from bayesjudge.plots.judge_quality import judge_quality
from bayesjudge.plots.loo import loo_comparison
from bayesjudge.plots.mixing import rank_traces, worst_mixing
from bayesjudge.plots.predictive import predictive
from bayesjudge.plots.ranks import rank_probabilities
from bayesjudge.plots.ridge import ridge
from bayesjudge.plots.youden import youden

__all__ = [
    "forest",
    "judge_quality",
    "loo_comparison",
    "predictive",
    "rank_probabilities",
    "rank_traces",
    "ridge",
    "to_svg",
    "worst_mixing",
    "youden",
]
