"""Position, verbosity and own-family bias of a judge, battle by battle and on the Elo scale (METHODS 4.5).

Of people, what their preference for a place does to strengths.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayesjudge.baselines.common.bootstrap import draw_counts, percentile
from bayesjudge.baselines.common.intervals import normal_quantile
from bayesjudge.baselines.elo.fit import fit_elo
from bayesjudge.baselines.elo.held_out import HeldOut
from bayesjudge.baselines.elo.rows import JudgeClusters, Row, figure_row, share_row, undefined_row
from bayesjudge.baselines.elo.targets import Floats, Targets, human_targets
from bayesjudge.counts.battles.clusters import BattleClusters
from bayesjudge.counts.battles.counts import BattleCounts
from bayesjudge.counts.battles.patterns import JudgedBattles
from bayesjudge.maths.battle_sums import BattleSums
from bayesjudge.maths.strengths import fit_strengths

#: Gaps up to which a battle counts as close, in root mean square gaps: scores have no unit of their own.
CLOSE = 0.15


class PreferredPlace(NamedTuple):
    """People's preference for the answer shown first, in logits, with its error; what it does to strengths (M,).

    moved: By how much strengths change where it is allowed for.
    errors: Of strengths as differences from their mean.
    """

    effect: float
    error: float
    moved: Floats
    errors: Floats


def preferred_place(counts: BattleCounts) -> PreferredPlace:
    """Bradley and Terry with an effect of place, from people's votes; these count as independent."""
    rows, models = counts.human, len(counts.models)
    alone = BattleSums(
        models=models,
        raters=1,
        rater=np.zeros(len(rows), dtype=np.int64),
        first=rows.first,
        second=rows.second,
        x=np.zeros((len(rows), 0)),
        cluster=np.arange(len(rows)),
        n=rows.votes.sum(axis=1).astype(float),
        t=rows.votes[:, 0] + rows.votes[:, 1] / 2,
        times=np.ones(len(rows)),
    )
    found = fit_strengths(replace(alone, x=rows.order[:, None].astype(float)))
    centred = np.eye(models) - 1 / models
    return PreferredPlace(
        effect=float(found.estimate[0, models]),
        error=float(np.sqrt(found.inverse[models, models])),
        moved=found.estimate[0, :models] - fit_strengths(alone).estimate[0],
        errors=np.sqrt(np.diag(centred @ found.inverse[:models, :models] @ centred)),
    )


def position_rows(shown: JudgedBattles, clusters: JudgeClusters, *, prob: float) -> list[Row]:
    """Share of decisive verdicts for the answer shown first, where the order is known."""
    known = (shown.order != 0) & (shown.label != 0.5)
    first = known & ((shown.order > 0) == (shown.label == 1))
    hits, total = int(shown.n[first].sum()), int(shown.n[known].sum())

    def counted(rows: BattleClusters) -> tuple[Floats, Floats]:
        # Shown first and preferred: the first model in the first order, the second in the other.
        won = (rows.shown == np.array([1.0, 0.0])).sum(axis=1)
        lost = (rows.shown == np.array([0.0, 1.0])).sum(axis=1)
        return won, won + lost

    note = "" if total else "no battle with a known order"
    return [share_row("first_preferred", hits, total, prob=prob, note=note, clusters=clusters, counted=counted)]


def swap_rows(counts: BattleCounts, judge: str, *, prob: float) -> list[Row]:
    """How labels and gaps change between the two orders of the same battle.

    ``flip_rate`` is the share of battles whose label changes at all, ``reversal_rate`` the share whose
    preference turns round, ``position_advantage`` half the gap's change in favour of what is shown first.
    """
    j = counts.code("judge", judge)
    table, n = counts.swaps.labels[j], int(counts.swaps.n[j])
    both = int(table.sum())
    note = "" if both else "no battle judged in both orders"
    rows = [
        share_row("flip_rate", both - int(np.trace(table)), both, prob=prob, note=note),
        share_row("reversal_rate", table[0, 2] + table[2, 0], both, prob=prob, note=note),
    ]
    if n < 2:
        why = "fewer than two battles scored in both orders"
        return [*rows, undefined_row("position_advantage", why, prob=prob)]
    mean = counts.swaps.advantage[j] / n
    error = np.sqrt(max(counts.swaps.advantage_squares[j] / n - mean**2, 0.0) / (n - 1))
    half = normal_quantile(prob) * error
    limits = mean - half, mean + half
    return [*rows, figure_row("position_advantage", mean, *limits, method="wald", n=n, prob=prob)]


def order_elo_rows(counts: BattleCounts, judge: str, *, prob: float) -> list[Row]:
    """Mean absolute distance to human Elo of Hard-Elo from one order alone, and from all battles.

    One order shows the model first that is stronger by people's votes, the other the weaker one, so that a
    preference for the first answer is a preference for strength: the worst that a fixed order can do,
    whatever models are called and whichever answer is called a.
    """
    mine = counts.shown.keep(counts.shown.judge == counts.code("judge", judge))
    if not counts.human.votes.sum():
        return []
    human = fit_elo(human_targets(counts), counts.models).elo
    stronger_first = mine.order * np.sign(human[mine.first] - human[mine.second])
    sides = {"stronger first": mine.keep(stronger_first > 0), "weaker first": mine.keep(stronger_first < 0)}
    sides["all"] = counts.judged_by(judge)
    if not all(len(kept) for kept in sides.values()):
        return []
    rows = []
    for name, kept in sides.items():
        fit = fit_elo(Targets.of(kept.first, kept.second, kept.label, kept.n), counts.models)
        error = np.abs(fit.elo - human)[~np.isnan(fit.elo - human)]
        half = normal_quantile(prob) * error.std(ddof=1) / np.sqrt(len(error))
        point = error.mean()
        limits, note = (max(0.0, point - half), point + half), "models are the units"
        rows.append(figure_row(f"elo_mae[{name}]", point, *limits, method="wald", n=len(error), prob=prob, note=note))
    return rows


def verbosity_rows(rows: JudgedBattles, clusters: JudgeClusters, *, prob: float) -> list[Row]:
    """Share of decisive labels for the longer answer, in all battles and in close ones, next to people's."""
    edge = CLOSE * rows.gap_unit
    kinds = {"longer_preferred": _longer, "longer_preferred[people]": _longer_by_people}
    if not np.isnan(edge):
        kinds["longer_preferred[close]"] = lambda part, longer: _longer(part, longer, within=edge)
    side = np.where(np.isnan(rows.length), np.nan, (np.sign(rows.length) + 1) / 2)
    note = "" if np.isin(side, [0.0, 1.0]).any() else "no lengths"
    return [_longer_row(name, kind, rows, side, clusters, prob=prob, note=note) for name, kind in kinds.items()]


def _longer_row(
    name: str, kind: Any, rows: JudgedBattles, side: Floats, clusters: JudgeClusters, *, prob: float, note: str
) -> Row:
    won, lost = (int(part @ rows.n) for part in kind(rows, side))

    def counted(part: BattleClusters) -> tuple[Floats, Floats]:
        up, down = kind(part, part.longer)
        return up, up + down

    return share_row(name, won, won + lost, prob=prob, note=note, clusters=clusters, counted=counted)


def _longer(part: JudgedBattles | BattleClusters, longer: Floats, *, within: float = np.inf) -> tuple[Floats, Floats]:
    """Whether the label of each row is for the longer answer, and whether for the shorter, 0 or 1."""
    near = np.abs(part.gap) <= within if np.isfinite(within) else np.ones(len(part), dtype=bool)
    known = np.isin(longer, [0.0, 1.0]) & (part.label != 0.5) & near
    return (known & (longer == part.label)).astype(float), (known & (longer != part.label)).astype(float)


def _longer_by_people(part: JudgedBattles | BattleClusters, longer: Floats) -> tuple[Floats, Floats]:
    """Votes for the longer and for the shorter answer."""
    first, second = part.votes[:, 0].astype(float), part.votes[:, 2].astype(float)
    return (
        np.where(longer == 1, first, np.where(longer == 0, second, 0.0)),
        np.where(longer == 1, second, np.where(longer == 0, first, 0.0)),
    )


def length_correlation(counts: BattleCounts, held: HeldOut, *, prob: float) -> Row:
    """Partial correlation of held-out residuals with models' mean answer length, given human Elo.

    A model's length is its level in a least-squares fit to the differences of lengths, so that the prompts
    it met do not matter. Models are the units; the interval is Fisher's.
    """
    rows = counts.judged.keep(~np.isnan(counts.judged.length))
    codes = [counts.code("model", model) for model in held.models]
    if not len(rows) or len(codes) < 6:
        why = "no lengths, or fewer than 6 models"
        return undefined_row("length_correlation", why, prob=prob, bounds=(-1, 1))
    length = _levels(rows, len(counts.models))[codes]
    design = np.column_stack([np.ones(len(codes)), held.human])
    left = [value - design @ np.linalg.lstsq(design, value, rcond=None)[0] for value in (held.residual, length)]
    if min(np.abs(part).max() for part in left) < 1e-9:
        return undefined_row("length_correlation", "no variation left", prob=prob, bounds=(-1, 1))
    r = float(np.corrcoef(left[0], left[1])[0, 1])
    # One variable is held constant, which costs one more degree of freedom.
    half = normal_quantile(prob) / np.sqrt(len(codes) - 4)
    lower, upper = np.tanh(np.arctanh(np.clip(r, -1 + 1e-12, 1 - 1e-12)) + np.array([-half, half]))
    note = "models are the units"
    return figure_row("length_correlation", r, lower, upper, method="fisher", n=len(codes), prob=prob, note=note)


def _levels(rows: JudgedBattles, models: int) -> Floats:
    """Least-squares level of each model behind differences of lengths."""
    matrix, total = np.zeros((models, models)), np.zeros(models)
    for a, b, sign in ((rows.first, rows.second, 1), (rows.second, rows.first, -1)):
        np.add.at(matrix, (a, a), rows.n)
        np.add.at(matrix, (a, b), -rows.n)
        np.add.at(total, a, sign * rows.n * rows.length)
    return np.asarray(np.linalg.lstsq(matrix, total, rcond=None)[0])


def family_rows(
    counts: BattleCounts, judge: str, families: Mapping[str, str], *, prob: float, bootstrap: int, seed: int
) -> list[Row]:
    """Own-family excess: how much more often a judge prefers its own family than the other judges do.

    Battles between the judge's family and others; the win share of the family by this judge minus the median
    of the other judges' (or, alone, minus people's). Judges are resampled independently, which is on the wide
    side where they saw the same battles.
    """
    family = families.get(judge)
    own = np.array([family is not None and families.get(model) == family for model in counts.models])
    rivals = [name for name in counts.judges if name != judge and families.get(name) != family]
    mine = _family_cells(counts, judge, own)
    others = [_family_cells(counts, name, own) for name in rivals] or [_family_cells(counts, None, own)]
    # Streams follow the data and not the judges' names.
    others = sorted((cells for cells in others if cells.sum()), key=lambda cells: cells.tolist())
    if not mine.sum() or not others:
        why = "no battle of the judge's own family, or no one to compare with"
        return [undefined_row("own_family_excess", why, prob=prob, bounds=(-1.0, 1.0))]
    rng = np.random.default_rng(seed)
    point = _share(mine) - np.median([_share(cells) for cells in others], axis=0)
    lower, upper = -1.0, 1.0
    if bootstrap:
        drawn = [_share(draw_counts(cells, bootstrap, rng)) for cells in (mine, *others)]
        replicates = drawn[0] - np.median(drawn[1:], axis=0)
        _, low, high, _ = percentile(replicates[None, :], prob=prob)
        lower, upper = float(low[0]), float(high[0])
    note = f"against {'other judges' if rivals else 'people'}"
    n = mine.sum()
    return [figure_row("own_family_excess", float(point), lower, upper, method="bootstrap", n=n, prob=prob, note=note)]


def _family_cells(counts: BattleCounts, judge: str | None, own: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Battles of the family against others by what the judge, or people, said: for the family, neither, against."""
    pairs = counts.human_pairs() if judge is None else counts.judged_by(judge).pairs()
    forward, backward = own[pairs.first] & ~own[pairs.second], own[pairs.second] & ~own[pairs.first]
    return np.asarray(pairs.n[forward].sum(axis=0) + pairs.n[backward][:, ::-1].sum(axis=0), dtype=np.int64)


def _share(cells: NDArray[np.int64]) -> Floats:
    cells = np.asarray(cells, dtype=float)
    return np.asarray((cells[..., 0] + cells[..., 1] / 2) / cells.sum(axis=-1))
