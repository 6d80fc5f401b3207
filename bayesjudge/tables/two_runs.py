"""Two runs of one evaluation in one table, in which a model is named after its run: ``gpt-4o @ before``."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import pandas as pd

from bayesjudge.errors import UsageError
from bayesjudge.tables.battles import Battles
from bayesjudge.tables.verdicts import Verdicts

type Runs = tuple[str, str]
#: What each run has.
type Names = tuple[set[str], set[str]]
_SIDES = ["model_a", "model_b"]


@dataclass(frozen=True, eq=False, kw_only=True)
class TwoRuns[T: Verdicts | Battles]:
    """Both runs in one table.

    table: Of both; items have their names, so that those of both runs are paired.
    units: A model to its names in the table, in the first run and in the second.
    paired: How many items are in both runs, as a sentence.
    notes: What is in one run alone.
    judges: The judge of each run where it is not the same; in the table both are one.
    """

    table: T
    units: Mapping[str, tuple[str, str]]
    paired: str
    notes: tuple[str, ...]
    judges: tuple[str, ...] = ()


def stack_verdicts(one: Verdicts, two: Verdicts, *, runs: Runs, label_judge: bool = False) -> TwoRuns[Verdicts]:
    """Verdicts of both runs by the judges of both; a run's only judge may be another than the other's.

    With ``label_judge`` judges of one name are others in each run, too.
    """
    frames = [one.frame, two.frame]
    if len({"label_probability" in frame for frame in frames}) > 1:
        raise UsageError("one run has the column label_probability and the other has not: give it in both or in none")
    judges, notes = (set(one.frame["judge"]), set(two.frame["judge"])), []
    changed: tuple[str, ...]
    if judges[0] != judges[1] and all(len(names) == 1 for names in judges):
        changed = (*judges[0], *judges[1])
        frames = [frame.assign(judge=", then ".join(changed)) for frame in frames]
    else:
        shared = _in_both("judge", judges, runs)
        notes = _alone("judges in {} alone are left out", judges, runs)
        frames = [frame[frame["judge"].isin(shared)] for frame in frames]
        changed = tuple(f"{', '.join(shared)} @ {run}" for run in runs) if label_judge else ()
    units, more = _units((set(frames[0]["model"]), set(frames[1]["model"])), runs)
    paired, unpaired = _paired((set(frames[0]["item"]), set(frames[1]["item"])), runs)
    named = [frame.assign(model=frame["model"] + f" @ {run}") for frame, run in zip(frames, runs, strict=True)]
    cluster = one.cluster if one.cluster == two.cluster else None
    table = replace(_joined(one, two, named, runs), annotations=None, cluster=cluster)
    return TwoRuns(table=table, units=units, paired=paired, notes=(*notes, *more, *unpaired), judges=changed)


def stack_battles(one: Battles, two: Battles, *, runs: Runs, anchors: Collection[str]) -> TwoRuns[Battles]:
    """Battles of both runs; ``anchors`` are one model in both, and what is in both of their battles counts once."""
    frames = [one.frame, two.frame]
    models = [set(frame["model_a"]) | set(frame["model_b"]) for frame in frames]
    if missing := sorted(set(anchors) - (models[0] & models[1])):
        raise UsageError(f"no model {missing[0]!r} in both runs; in both are {_listed(models[0] & models[1])}")
    units, notes = _units((models[0] - set(anchors), models[1] - set(anchors)), runs)
    battles = [
        pd.Series(list(zip(frame["item"], map(frozenset, frame[_SIDES].to_numpy()), strict=True)), index=frame.index)
        for frame in frames
    ]
    again = frames[1][_SIDES].isin(anchors).all(axis=1) & battles[1].isin(battles[0])
    paired, unpaired = _paired((set(one.frame["item"]), set(two.frame["item"])), runs)
    named = []
    for frame, run in zip((frames[0], frames[1][~again]), runs, strict=True):
        sides = {side: frame[side].where(frame[side].isin(anchors), frame[side] + f" @ {run}") for side in _SIDES}
        named.append(frame.assign(**sides))
    twice = {"battle of anchors, the same in both runs": int(again.sum())} if again.any() else {}
    table = _joined(one, two, named, runs)
    table = replace(table, dropped={**table.dropped, **twice})
    return TwoRuns(table=table, units=units, paired=paired, notes=(*notes, *unpaired))


def _units(models: Names, runs: Runs) -> tuple[dict[str, tuple[str, str]], list[str]]:
    """Models of both runs, or the only model of each, by their names in the table; and what is said of others."""
    if all(len(names) == 1 for names in models):
        (first,), (second,) = models
        name = first if first == second else f"{first}, then {second}"
        return {name: (f"{first} @ {runs[0]}", f"{second} @ {runs[1]}")}, []
    shared = _in_both("model", models, runs)
    notes = _alone("models in {} alone have nothing to be compared with", models, runs)
    return {name: (f"{name} @ {runs[0]}", f"{name} @ {runs[1]}") for name in shared}, notes


def _in_both(what: str, names: Names, runs: Runs) -> list[str]:
    one, two = names
    if not one & two:
        raise UsageError(f"no {what} in both runs: {runs[0]} has {_listed(one)}; {runs[1]} has {_listed(two)}")
    return sorted(one & two)


def _alone(said: str, names: Names, runs: Runs) -> list[str]:
    """A sentence for each run that has names which the other has not."""
    parts = zip(runs, (names[0] - names[1], names[1] - names[0]), strict=True)
    return [f"{said.format(run)}: {_listed(mine)}" for run, mine in parts if mine]


def _paired(items: Names, runs: Runs) -> tuple[str, list[str]]:
    """How many items are in both runs; said as a warning, too, where some are not."""
    both = len(items[0] & items[1])
    parts = zip(runs, (len(mine) - both for mine in items), strict=True)
    alone = " and ".join(f"{n:,} in {run} alone" for run, n in parts if n)
    said = f"{both:,} items are in both runs and paired" if both else "no item is in both runs, so nothing is paired"
    said += f"; {alone}{', which count unpaired' if both else ''}" if alone else ""
    return said, [said] if alone else []


def _joined[T: (Verdicts, Battles)](one: T, two: T, frames: Sequence[pd.DataFrame], runs: Runs) -> T:
    """Rows of both runs as one table, with what is known of how each was read."""
    parts = zip(runs, (one.dropped, two.dropped), strict=True)
    return replace(
        one,
        frame=pd.concat(frames, ignore_index=True),
        dropped={f"{run}: {reason}": n for run, dropped in parts for reason, n in dropped.items()},
        warnings=tuple(dict.fromkeys([*one.warnings, *two.warnings])),
        label_source=one.label_source or two.label_source,
        source=(*one.source, *two.source),
    )


def _listed(names: Iterable[str]) -> str:
    return ", ".join(map(repr, sorted(names)))
