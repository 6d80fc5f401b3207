"""Sufficient statistics of battles: how often each outcome occurs between each two models.

A Bradley–Terry likelihood depends on the battles only through these counts, so one pass over the rows
(DuckDB by default, any Ibis backend) is all that grows with them. Both orders and all runs of a judge on one
battle are one judged battle; votes of several people on it stay votes; a vote that stands beside several
judges' verdicts is counted once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayesjudge.counts.arrays import Floats, Ints
from bayesjudge.counts.battles.cells import BattleCells, make_battle_cells
from bayesjudge.counts.battles.cluster_columns import cluster_columns
from bayesjudge.counts.battles.clusters import PEOPLE, BattleClusters, battle_clusters, single_battles
from bayesjudge.counts.battles.covariates import covariate_keys
from bayesjudge.counts.battles.patterns import HumanVotes, JudgedBattles, PairCounts, Swaps
from bayesjudge.counts.memory import GivenTable, IbisTable, fetch
from bayesjudge.counts.rows import coded
from bayesjudge.errors import InputError, Problem, UsageError
from bayesjudge.maths.bradley_terry import spectral_gap
from bayesjudge.maths.comparison_graph import comparison_graph
from bayesjudge.tables import Battles

#: Spectral gap of the pairs that met under which few link the models. Where neighbours met, strengths that pool were
#: then covered .13 to .91 of the time, those that do not .92 to .97 (the card of `bradley_terry`, "Few pairs").
LEAST_GAP = 0.5


@dataclass(frozen=True, eq=False, kw_only=True)
class BattleCounts:
    """Everything the models and baselines of the Elo question see.

    models, judges, groups: Names in the order of the codes; without a group column there is the one group ``"all"``.
    human: People's votes, each counted once.
    judged: One judged battle is one judge's view of one battle, both orders and all runs averaged.
    shown: The same with the two orders kept apart, for everything about position.
    swaps: How labels and gaps change with the order.
    covariates: Names of the covariates that were counted, the columns of `HumanVotes.covariates`.
    battles: All raters' views by battle: who looked at the same answers.
    clusters: For each column that clusters the battles, all raters' battles by cluster; empty where battles are taken
        as independent.
    dropped: Rows of the input that could not be used, by reason.
    warnings: What was assumed on the way in.
    """

    models: tuple[str, ...]
    judges: tuple[str, ...]
    groups: tuple[str, ...]
    human: HumanVotes
    judged: JudgedBattles
    shown: JudgedBattles
    swaps: Swaps
    battles: BattleClusters
    covariates: tuple[str, ...] = ()
    clusters: tuple[BattleClusters, ...] = ()
    dropped: Mapping[str, int] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    def human_pairs(self) -> PairCounts:
        """Votes by pair, all groups and orders together."""
        return PairCounts.tally(self.human.first, self.human.second, self.human.votes)

    def judge_pairs(self, judge: str) -> PairCounts:
        """Hard labels of one judge by pair."""
        return self.judged_by(judge).pairs()

    def judged_by(self, judge: str) -> JudgedBattles:
        """One judge's rows of `judged`."""
        return self.judged.keep(self.judged.judge == self.code("judge", judge))

    def few_pairs(self, judge: str | None = None, *, every: bool = False) -> bool:
        """Whether few pairs link the models, as in a chain: in people's votes, in one judge's verdicts, or in all.

        Models that meet are then often similar (neighbours on a leaderboard, versions of one model), so that how far
        those that met are apart is no measure of how far any two are.
        """
        first, second = self._pairs(judge, every)
        return len(first) > 0 and 0 < spectral_gap(first, second) < LEAST_GAP

    def parts(self, judge: str | None = None, *, every: bool = False) -> tuple[tuple[str, ...], ...]:
        """Models by the connected part of the battles that they are in, the largest part first.

        Of people's votes, of one judge's verdicts, or of all. No battle says how models of two parts compare.
        """
        first, second = self._pairs(judge, every)
        once = np.ones(len(first))
        part = comparison_graph(first, second, once, once, len(self.models)).part
        members = [tuple(self.models[m] for m in np.flatnonzero(part == k)) for k in range(part.max(initial=-1) + 1)]
        return tuple(sorted(members, key=len, reverse=True))

    def _pairs(self, judge: str | None, every: bool) -> tuple[Ints, Ints]:
        """Codes of the two models of each row that is counted for a scale."""
        judged = self.judged if every else self.judged_by(judge) if judge is not None else None
        parts = [*([self.human] if every or judge is None else []), *([judged] if judged is not None else [])]
        first, second = (np.concatenate([getattr(part, end) for part in parts]) for end in ("first", "second"))
        return first, second

    def code(self, kind: str, name: str) -> int:
        """Code of a ``"model"``, ``"judge"`` or ``"group"``."""
        names = {"model": self.models, "judge": self.judges, "group": self.groups}[kind]
        if name not in names:
            raise UsageError(f"no {kind} {name!r}; the table has {list(names)}")
        return names.index(name)

    def rater(self, judge: str | None) -> int:
        """Code of a judge, or of people, among the raters of `battles` and `clusters`."""
        return PEOPLE if judge is None else self.code("judge", judge) + 1

    def for_judges(self, judges: Iterable[str]) -> BattleCounts:
        """Counts as if no other judge had been asked; every human vote stays."""
        chosen = [self.code("judge", judge) for judge in dict.fromkeys(judges)]
        recode = np.full(len(self.judges), -1)
        recode[chosen] = np.arange(len(chosen))
        return replace(
            self,
            judges=tuple(self.judges[j] for j in chosen),
            judged=_recoded(self.judged, recode),
            shown=_recoded(self.shown, recode),
            swaps=self.swaps.keep(np.array(chosen, dtype=np.int64)),
            battles=_recoded_raters(self.battles, recode),
            clusters=tuple(_recoded_raters(rows, recode) for rows in self.clusters),
        )

    def for_groups(self, groups: Iterable[str]) -> BattleCounts:
        """Counts of some groups' battles; names and codes stay, and `swaps` still speaks of all groups."""
        return self._only(lambda rows: np.isin(rows.group, [self.code("group", name) for name in groups]))

    def without(self, models: str | Iterable[str]) -> BattleCounts:
        """Counts as if these models had fought no battle; names and codes stay. `swaps` stays too."""
        codes = self._codes(models)
        return self._only(lambda rows: ~_involved(rows, codes))

    def without_votes_on(self, models: str | Iterable[str]) -> BattleCounts:
        """Counts as if only judges had compared these models: people's votes on their battles are left out."""
        codes = self._codes(models)

        def hidden(rows: JudgedBattles) -> JudgedBattles:
            return replace(rows, votes=np.where(_involved(rows, codes)[:, None], 0, rows.votes))

        free = ~_involved(self.human, codes)
        battles, *clusters = (
            rows.keep((rows.rater != PEOPLE) | ~_involved(rows, codes)) for rows in (self.battles, *self.clusters)
        )
        return replace(
            self,
            human=self.human.keep(free),
            judged=hidden(self.judged),
            shown=hidden(self.shown),
            battles=battles,
            clusters=tuple(clusters),
        )

    def _codes(self, models: str | Iterable[str]) -> list[int]:
        names = [models] if isinstance(models, str) else list(models)
        return [self.code("model", name) for name in names]

    def _only(self, wanted: Any) -> BattleCounts:
        parts: dict[str, Any] = {name: getattr(self, name) for name in ("human", "judged", "shown", "battles")}
        clusters = tuple(rows.keep(wanted(rows)) for rows in self.clusters)
        return replace(self, **{name: rows.keep(wanted(rows)) for name, rows in parts.items()}, clusters=clusters)


def _involved(rows: HumanVotes | JudgedBattles | BattleClusters, codes: Sequence[int]) -> NDArray[np.bool_]:
    return np.isin(rows.first, codes) | np.isin(rows.second, codes)


def _recoded_raters(rows: BattleClusters, recode: Ints) -> BattleClusters:
    codes = np.concatenate([[PEOPLE], np.where(recode >= 0, recode + 1, -1)])
    kept = rows.keep(codes[rows.rater] >= 0)
    return replace(kept, rater=codes[kept.rater])


def _recoded(rows: JudgedBattles, recode: Ints) -> JudgedBattles:
    kept = rows.keep(recode[rows.judge] >= 0)
    return replace(kept, judge=recode[kept.judge])


def count_battles(
    battles: Battles | GivenTable,
    *,
    group: str | None = None,
    lengths: bool = True,
    covariates: Sequence[str] = (),
    cluster: str | Sequence[str] | None = None,
    digits: int = 9,
) -> BattleCounts:
    """Count battles in one pass where the data lives.

    Parameters
    ----------
    battles : Battles or ibis Table
        A validated table, or an Ibis expression on any backend with ``item, model_a, model_b`` and any of
        ``human, verdict, gap, judge, order, voter, length_a, length_b``.
    group : str, optional
        Column whose values split the battles (a language, a category).
    lengths : bool
        Keep the difference of the answers' lengths where the table has them. Most differences occur once,
        so memory then grows with the number of battles.
    covariates : sequence of str
        Numeric columns by which the two answers of a battle differ (``X``, or ``X_a`` and ``X_b``). Patterns
        are distinguished by them: where a covariate takes a few values the table stays small, else it grows
        with the number of battles. A missing value counts as no difference, and is warned about.
    cluster : str or sequence of str, optional
        Columns whose values are drawn as a whole: prompts, voters. By default the prompt (``prompt,
        prompt_id, question_id, instruction_id, conversation``) where it comes back in several battles, else
        the item; ``"none"`` takes battles as independent. A row that names none stands with its item alone.
    digits : int
        Decimal digits of gaps that are distinguished; fewer make fewer patterns.

    Returns
    -------
    BattleCounts
        Its size is that of the distinct patterns: with verdicts, or scores on a scale of a few steps, that
        grows with the pairs of models and not with the battles.

    Raises
    ------
    InputError
        Two votes of one voter on a battle, values that are no outcomes, no rows.
    UsageError
        A group or cluster column or a covariate that the table does not have, a cluster column with one
        value.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"item": [1, 2], "model_a": ["x", "y"], "model_b": ["y", "x"], "human": [1, 0],
    ...                       "judge": "j", "verdict": [1, 1]})
    >>> counts = count_battles(Battles.from_frame(frame))
    >>> counts.human_pairs().n.tolist(), counts.judge_pairs("j").n.tolist()
    ([[2, 0, 0]], [[1, 0, 1]])
    """
    cells = make_battle_cells(
        battles,
        group=group,
        lengths=lengths,
        digits=digits,
        covariates=covariates,
        clusters=cluster_columns(battles, cluster),
    )
    if not cells.models:
        found = f"no usable battle: {dict(cells.dropped)}"
        raise InputError([Problem(column="(table)", found=found, allowed="at least one", fix="Check the file.")])
    names = {"models": cells.models, "judges": cells.judges, "groups": cells.groups}
    human, judged = human_votes(cells), judged_battles(cells, cells.judged)
    clusters = _clusters(cells, cluster)
    return BattleCounts(
        **names,
        human=human,
        judged=judged,
        shown=judged_battles(cells, cells.shown),
        swaps=swaps_of(cells),
        covariates=cells.covariates,
        clusters=clusters,
        battles=single_battles(cells, clusters),
        dropped=cells.dropped,
        warnings=(*cells.warnings, *_unknown(human, judged, cells.covariates)),
    )


def _clusters(cells: BattleCells, asked: str | Sequence[str] | None) -> tuple[BattleClusters, ...]:
    found = battle_clusters(cells)
    for rows in found:
        if asked is not None and rows.count() < 2:
            raise UsageError(
                f"column {rows.column!r} names {rows.count()} cluster: intervals need two or "
                "more; leave it out, or give 'none' for independent battles"
            )
    return found


def _unknown(human: HumanVotes, judged: JudgedBattles, names: Sequence[str]) -> list[str]:
    """Covariates that are missing somewhere, and how often."""
    found = []
    for k, name in enumerate(names):
        votes = int(human.votes[np.isnan(human.covariates[:, k])].sum())
        views = int(judged.n[np.isnan(judged.covariates[:, k])].sum())
        if votes or views:
            found.append(
                f"covariate {name!r} is not known for {votes} votes and {views} judged battles: "
                "taken as no difference there"
            )
    return found


def human_votes(cells: BattleCells) -> HumanVotes:
    """People's votes by pattern."""
    keys = ["first", "second", "group", "place", "length", *covariate_keys(cells.covariates)]
    sums = {name: cells.votes[name].sum() for name in ("a", "tie", "b", "conflicting")}
    frame = fetch(cells.votes.group_by(keys).aggregate(**sums)).sort_values(keys, ignore_index=True)
    if frame["conflicting"].sum():
        conflicting = fetch(cells.votes.filter(cells.votes.conflicting > 0).select("item").limit(5))
        items = ", ".join(sorted(map(str, conflicting["item"])))
        allowed, fix = "one vote for each battle and voter", "Give each person's vote its own voter."
        found = f"different votes on item {items}"
        raise InputError([Problem(column="human", found=found, allowed=allowed, fix=fix)])
    return HumanVotes(**_common(frame, cells), votes=frame[["a", "tie", "b"]].to_numpy(np.int64))


def judged_battles(cells: BattleCells, rows: IbisTable) -> JudgedBattles:
    """Judges' views by pattern, beside the votes on the same battles; ``rows`` are cells of one kind."""
    keys = ["judge", "first", "second", "group", "place", "label", "stated", "gap", "length", "a", "tie", "b"]
    keys += covariate_keys(cells.covariates)
    votes = cells.judged_votes.select("item", "first", "second", "a", "tie", "b")
    joined = rows.left_join(votes, ["item", "first", "second"]).select(*keys)
    joined = joined.mutate(**{side: joined[side].fill_null(0) for side in ("a", "tie", "b")})
    frame = fetch(joined.group_by(keys).aggregate(n=joined.count())).sort_values(keys, ignore_index=True)
    return JudgedBattles(
        judge=coded(frame["judge"], cells.judges),
        **_common(frame, cells),
        label=_outcome(frame["label"]),
        verdict=_outcome(frame["stated"]),
        gap=frame["gap"].to_numpy(np.float64),
        votes=frame[["a", "tie", "b"]].to_numpy(np.int64),
        n=frame["n"].to_numpy(np.int64),
    )


def _outcome(side: pd.Series[float]) -> Floats:
    """+1, 0, −1 to 1, .5, 0."""
    return (side.to_numpy(np.float64) + 1) / 2


def _common(frame: pd.DataFrame, cells: BattleCells) -> dict[str, Any]:
    return {
        "first": frame["first"].to_numpy(np.int64),
        "second": frame["second"].to_numpy(np.int64),
        "group": coded(frame["group"], cells.groups),
        "order": frame["place"].to_numpy(np.int64),
        "length": frame["length"].to_numpy(np.float64),
        "covariates": frame[list(covariate_keys(cells.covariates))].to_numpy(np.float64),
    }


def swaps_of(cells: BattleCells) -> Swaps:
    """What changes with the order, in battles that a judge saw in both."""
    battle = ["item", "first", "second", "judge"]
    sides = [cells.shown.filter(cells.shown.place == place).select(*battle, "label", "gap") for place in (1, -1)]
    both = sides[0].inner_join(sides[1], battle, rname="{name}_second")
    both = both.mutate(change=(both.gap - both.gap_second) / 2)
    table = both.group_by(["judge", "label", "label_second"]).aggregate(
        n=both.count(),
        graded=both.change.count(),
        advantage=both.change.sum().fill_null(0.0),
        squares=(both.change * both.change).sum().fill_null(0.0),
    )
    # A sum of floats depends on the order of its terms, and the database gives groups in any.
    frame = fetch(table).sort_values(["judge", "label", "label_second"])
    judge = coded(frame["judge"], cells.judges)
    # Label +1 (the first model) comes first in the table, then 0 and −1.
    place = [(1 - frame[name].to_numpy(np.float64)).astype(int) for name in ("label", "label_second")]
    labels = np.zeros((len(cells.judges), 3, 3), dtype=np.int64)
    np.add.at(labels, (judge, *place), frame["n"].to_numpy(np.int64))
    sums = {
        name: np.bincount(judge, weights=frame[name].to_numpy(np.float64), minlength=len(cells.judges))
        for name in ("graded", "advantage", "squares")
    }
    return Swaps(
        labels=labels, advantage=sums["advantage"], advantage_squares=sums["squares"], n=sums["graded"].astype(np.int64)
    )
