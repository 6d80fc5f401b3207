"""Whether a judge agrees with people, and whether a larger gap means surer agreement (METHODS 4.2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayesjudge.baselines.common.intervals import clopper_pearson
from bayesjudge.baselines.elo.rows import JudgeClusters, Row, bootstrap_row, share_row, spread_row, undefined_row
from bayesjudge.baselines.elo.targets import Floats
from bayesjudge.baselines.elo.temperature import gap_votes
from bayesjudge.counts.battles.clusters import BattleClusters
from bayesjudge.counts.battles.patterns import JudgedBattles
from bayesjudge.errors import UsageError
from bayesjudge.maths.agreement import cohen_kappa, half_turned, kappa_gradient
from bayesjudge.maths.temperature import soft_probability, solve_beta


@dataclass(frozen=True, eq=False, kw_only=True)
class GapAgreement:
    """Human non-tie votes by the size of the judge's gap; K distinct sizes above 0.

    size: |s|, ascending.
    agree, disagree: Votes for the answer that the judge scored higher, and for the other.
    """

    size: Floats
    agree: NDArray[np.int64]
    disagree: NDArray[np.int64]

    @property
    def cells(self) -> NDArray[np.int64]:
        """Both counts in one array (2K,)."""
        return np.concatenate([self.agree, self.disagree])


def gap_agreement(rows: JudgedBattles) -> GapAgreement:
    """Votes by size of gap, from one judge's rows; those without a gap, or with a gap of 0, are left out."""
    votes = gap_votes(rows.keep(rows.gap != 0))
    size, place = np.unique(np.abs(votes.gap), return_inverse=True)
    sides = np.where(votes.gap > 0, [votes.won, votes.lost], [votes.lost, votes.won])
    agree, disagree = (np.bincount(place.reshape(-1), side, len(size)).astype(np.int64) for side in sides)
    return GapAgreement(size=size, agree=agree, disagree=disagree)


def reliability(found: GapAgreement, *, bins: int = 10, prob: float = 0.95, beta: float | None = None) -> pd.DataFrame:
    """Reliability diagram of ``σ(β|s|)``: bins of equal mass with exact intervals.

    bins: Number of bins; votes at one gap stay together, so that there may be fewer.
    beta: Temperature; by default the one that fits these votes best.

    Returns: Columns ``size`` (mean |s|), ``predicted, observed, lower, upper, n``, one row a bin.
    """
    if bins < 1 or not len(found.size):
        raise UsageError(
            "a reliability diagram needs a bin or more and human votes next to gaps; got "
            f"bins={bins} and {int(found.cells.sum())} votes"
        )
    place = _bin_of(found, bins)
    beta = float(solve_beta(found.size, found.agree, found.disagree)[0]) if beta is None else beta
    rows = []
    for k in np.unique(place):
        mine = place == k
        share = _observed(found, mine, prob)
        weight = (found.agree + found.disagree)[mine] / share["n"]
        predicted = weight @ soft_probability(found.size[mine], beta)
        rows.append({"size": float(weight @ found.size[mine]), "predicted": float(predicted), **share})
    return pd.DataFrame(rows)


def _observed(found: GapAgreement, some: NDArray[np.bool_], prob: float) -> dict[str, float]:
    """Agreement at some sizes, with its exact interval."""
    agree, n = int(found.agree[some].sum()), int((found.agree + found.disagree)[some].sum())
    lower, upper = clopper_pearson(agree, n, prob=prob)
    return {"observed": agree / n if n else np.nan, "lower": lower, "upper": upper, "n": n}


def calibration_rows(found: GapAgreement, *, prob: float, bootstrap: int, seed: int, bins: int = 10) -> list[Row]:
    """Expected calibration error at the fitted β, and the correlation of |s| with agreement."""
    place = _bin_of(found, bins) if len(found.size) else np.zeros(0, dtype=np.int64)

    def error(cells: Floats) -> Floats:
        agree, disagree = np.split(cells, 2, axis=1)
        beta = solve_beta(found.size, agree, disagree)
        excess = agree - (agree + disagree) * soft_probability(found.size, beta[:, None])
        by_bin = excess @ (place[:, None] == np.arange(bins))
        return np.asarray(np.abs(by_bin).sum(axis=1) / cells.sum(axis=1))

    def correlation(cells: Floats) -> Floats:
        agree, disagree = np.split(cells, 2, axis=1)
        n, total = agree + disagree, cells.sum(axis=1)
        share, size = agree.sum(axis=1) / total, n @ found.size / total
        spread = (n @ found.size**2 / total - size**2) * share * (1 - share)
        together = agree @ found.size / total - share * size
        return np.where(spread > 1e-15, together / np.sqrt(np.maximum(spread, 1e-15)), np.nan)

    options: dict[str, Any] = {"prob": prob, "bootstrap": bootstrap, "seed": seed}
    ece = bootstrap_row("ece", found.cells, error, bounds=(0.0, 1.0), **options)
    name = "gap_agreement_correlation"
    return [ece, bootstrap_row(name, found.cells, correlation, bounds=(-1.0, 1.0), **options)]


def agreement_rows(rows: JudgedBattles, clusters: JudgeClusters, *, prob: float) -> list[Row]:
    """Share of votes that hard labels meet, of three outcomes and of decisive ones, and Cohen's κ.

    κ is that of the half-turned table: which model is called first is a matter of names.
    """
    table = np.zeros((3, 3), dtype=np.int64)
    np.add.at(table, _outcome(rows.label), rows.votes * rows.n[:, None])
    decisive = table[np.ix_([0, 2], [0, 2])]
    shares = [("agreement", np.arange(3), table), ("agreement[decisive]", np.array([0, 2]), decisive)]
    return [
        *(_share_row(name, kept, counted, clusters, prob=prob) for name, kept, counted in shares),
        _kappa_row(half_turned(table), clusters, prob=prob),
    ]


def _share_row(
    name: str, kept: NDArray[np.int64], table: NDArray[np.int64], clusters: JudgeClusters, *, prob: float
) -> Row:
    def counted(rows: BattleClusters) -> tuple[Floats, Floats]:
        label = _outcome(rows.label)
        used = np.isin(label, kept)
        met = np.where(used, rows.votes[np.arange(len(rows)), label], 0)
        return met, np.where(used, rows.votes[:, kept].sum(axis=1), 0)

    note = "" if table.sum() else "no human vote on a judged battle"
    return share_row(name, np.trace(table), table.sum(), prob=prob, note=note, clusters=clusters, counted=counted)


def _kappa_row(table: Floats, clusters: JudgeClusters, *, prob: float) -> Row:
    point = float(cohen_kappa(table))
    if np.isnan(point):
        return undefined_row("kappa", "too few battles, or all equal", prob=prob, bounds=(-1.0, 1.0))
    gradient = half_turned(kappa_gradient(table))
    spread = clusters.spread(lambda rows: (rows.votes * gradient[_outcome(rows.label)]).sum(axis=1))
    return spread_row("kappa", point, spread, n=round(table.sum()), prob=prob, bounds=(-1.0, 1.0))


def _outcome(label: Floats) -> NDArray[np.int64]:
    """0 the first model, 1 neither, 2 the second."""
    return (2 - 2 * label).astype(np.int64)


def conflict_rows(shown: JudgedBattles, *, prob: float) -> list[Row]:
    """Stated verdicts that do not go with the judge's own scores, and how large the gap is there.

    ``sign_conflict[decisive]`` is the share of decisive verdicts that go against the sign of the gap,
    ``sign_conflict[tie]`` the share of verdicts next to a gap that are ties.
    """
    both = ~np.isnan(shown.gap) & (shown.gap != 0) & ~np.isnan(shown.verdict)
    decisive, tie = both & (shown.verdict != 0.5), both & (shown.verdict == 0.5)
    against = decisive & ((shown.gap > 0) != (shown.verdict == 1))
    kinds = {"sign_conflict[decisive]": (against, decisive), "sign_conflict[tie]": (tie, both)}
    return [
        share_row(
            name,
            shown.n[some].sum(),
            shown.n[among].sum(),
            prob=prob,
            note=_size_note(shown, some) if among.any() else "no stated verdict next to scores",
        )
        for name, (some, among) in kinds.items()
    ]


def _size_note(shown: JudgedBattles, some: NDArray[np.bool_]) -> str:
    if not some.any():
        return ""
    return f"mean |gap| there {np.average(np.abs(shown.gap[some]), weights=shown.n[some]):.3g}"


def _bin_of(found: GapAgreement, bins: int) -> NDArray[np.int64]:
    """Bin of each size: the place of the middle of its votes among all votes."""
    n = found.agree + found.disagree
    middle = (np.cumsum(n) - n / 2) / n.sum()
    return np.minimum((middle * bins).astype(np.int64), bins - 1)
