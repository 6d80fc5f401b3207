"""The best single judge, chosen on the labels, with what the choice flatters it by.

The best of many judges on few labels is partly the luckiest: its correlation with the labels is too high,
and an interval that takes the judge for given is a little too narrow. The bootstrap shows by how much:
choose again on resampled items (clusters) and compare each winner with itself on the labels it was not
chosen on (Efron 1983, JASA 78, optimism of an apparent error rate).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayesjudge.baselines.common.bootstrap import draw_counts
from bayesjudge.baselines.common.moments import Array, Codes, ratio
from bayesjudge.baselines.panel.proxies import complete_votes, labelled_cells
from bayesjudge.counts.arrays import sums_within
from bayesjudge.counts.panel import PanelVotes

#: Numbers in one block of bootstrap draws.
_LARGEST = 2_000_000


@dataclass(frozen=True, eq=False, kw_only=True)
class JudgeChoice:
    """Which judge, and how good it is with and without the luck of having been chosen.

    Attributes
    ----------
    judge : str
        The judge whose votes correlate most with the labels within models.
    correlation, corrected_correlation : float
        Pooled within-model correlation with the labels; less the optimism of the choice.
    agreement, corrected_agreement : float
        Mean ``1 − |y − v|`` over the labelled answers; less the optimism of the choice.
    chosen_again : float
        Share of bootstrap samples in which the same judge wins; NaN, as are the corrected figures, without
        any.
    clusters : int
        Labelled items (clusters) behind it.
    table : pandas.DataFrame
        All judges: ``judge, agreement, correlation, chosen`` (share of bootstrap samples).
    """

    judge: str
    correlation: float
    corrected_correlation: float
    agreement: float
    corrected_agreement: float
    chosen_again: float
    clusters: int
    table: pd.DataFrame

    @property
    def note(self) -> str:
        """One sentence for the rows that rest on the choice."""
        many = len(self.table)
        if many == 1:
            return f"the only judge, {self.judge}"
        if not self.clusters:
            return f"no labelled item: judge {self.judge}, with most votes, stands in for the best of {many}"
        sentence = (
            f"judge {self.judge}, best of {many} on {self.clusters} labelled items: agreement {self.agreement:.3f}"
        )
        if np.isnan(self.chosen_again):
            return f"{sentence}, selection bias included"
        return (
            f"{sentence}, {self.corrected_agreement:.3f} without selection bias; chosen again in "
            f"{self.chosen_again:.0%} of bootstrap samples"
        )


def choose_judge(votes: PanelVotes, *, bootstrap: int = 500, seed: int = 0) -> JudgeChoice:
    """Choose the judge with the highest pooled within-model correlation with the labels.

    That correlation ρ sets PPI++'s interval, whose labelled part shrinks by ``1 − ρ²``; plain agreement
    would choose a judge that always says yes wherever accuracies are high. Judges without variation are
    chosen last.
    """
    sums, weight = _cluster_sums(votes)
    apparent = _scores(sums, np.ones((1, len(weight))))
    votes_cast = (votes.runs > 0).sum((0, 1))
    best = int(_best(apparent, votes_cast)[0])
    again = _replicates(sums, bootstrap if len(weight) > 1 else 0, seed)
    winner = _best(again, votes_cast)
    luck = {name: _optimism(again[name], apparent[name], winner) for name in apparent}
    chosen = np.bincount(winner, minlength=len(votes.judges)) / (len(winner) or np.nan)
    table = pd.DataFrame(
        {"judge": votes.judges, **{name: value[0] for name, value in apparent.items()}, "chosen": chosen}
    )
    correlation, agreement = (float(apparent[name][0, best]) for name in ("correlation", "agreement"))
    return JudgeChoice(
        judge=votes.judges[best],
        correlation=correlation,
        agreement=agreement,
        table=table,
        corrected_correlation=correlation - luck["correlation"],
        clusters=len(weight),
        corrected_agreement=agreement - luck["agreement"],
        chosen_again=float(chosen[best]),
    )


def _cluster_sums(votes: PanelVotes) -> tuple[Array, Array]:
    """Sums (G, 7, M, J) over the labelled answers of each labelled cluster, and their number (G,)."""
    has_label = labelled_cells(votes).any(1)
    labelled, x = labelled_cells(votes)[has_label], complete_votes(votes)[has_label]
    y = np.where(labelled, votes.label[has_label], 0.0)[:, :, None]
    terms = [np.ones_like(x), y + 0 * x, x, y * x, x * x, y * y + 0 * x, np.abs(y - x)]
    cells = np.stack(terms, axis=1) * labelled[:, None, :, None]
    names, code = np.unique(votes.cluster[has_label], return_inverse=True)
    sums = sums_within(cells, code, len(names))
    return sums, sums[:, 0, :, 0].sum(1)


def _replicates(sums: Array, bootstrap: int, seed: int) -> dict[str, Array]:
    """Scores of bootstrap samples of the clusters, so many at a time that memory stays bounded."""
    rng, one_each = np.random.default_rng(seed), np.ones(len(sums), dtype=np.int64)
    step = max(1, _LARGEST // max(len(sums), 1))
    sizes = [min(step, bootstrap - start) for start in range(0, bootstrap, step)] or [0]
    draws = (draw_counts(one_each, size, rng) if size else np.zeros((0, len(sums))) for size in sizes)
    found = [_scores(sums, draw.astype(float)) for draw in draws]
    return {name: np.concatenate([part[name] for part in found]) for name in found[0]}


def _scores(sums: Array, draws: Array) -> dict[str, Array]:
    """Agreement and correlation (B, J) for draws (B, G) of the clusters; NaN where undefined."""
    n, y, x, xy, xx, yy, apart = np.moveaxis(np.tensordot(draws, sums, axes=1), 1, 0)
    size = np.maximum(n, 1.0)
    cov, var_x, var_y = xy - x * y / size, xx - x * x / size, yy - y * y / size
    room = (np.maximum(var.sum(1), 0.0) for var in (var_x, var_y))
    scale = np.sqrt(np.prod([np.where(var < 1e-9, 0.0, var) for var in room], axis=0))
    return {"agreement": 1.0 - ratio(apart.sum(1), n.sum(1)), "correlation": ratio(cov.sum(1), scale)}


def _best(scores: dict[str, Array], votes_cast: NDArray[np.int64]) -> Codes:
    """Judge (B,) with the highest correlation, then agreement, then number of votes."""
    correlation = np.nan_to_num(scores["correlation"], nan=-2.0)
    agreement = np.nan_to_num(scores["agreement"], nan=0.0)
    share = votes_cast / max(int(votes_cast.max(initial=1)), 1)
    # Ties alone go to the later criteria: one part in a million, and in a million million.
    return np.argmax(np.round(correlation, 9) + 1e-6 * np.round(agreement, 9) + 1e-12 * share, axis=1)


def _optimism(again: Array, apparent: Array, winner: Codes) -> float:
    rows = np.arange(len(winner))
    gap = again[rows, winner] - apparent[0, winner]
    known = gap[np.isfinite(gap)]
    return float(known.mean()) if len(known) else np.nan
