"""Which battle, judge, run and voter a row is of: also where it names none, whichever model comes first."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayesjudge.tables.coding import MISSING, joint_codes
from bayesjudge.tables.schema import NO_NAME, CodedRows, count_within
from bayesjudge.tables.words import ORDERS

#: Names of the one judge and the one vote of a battle that carry none.
_ONE_JUDGE, _ONE_VOTER = "judge", "human"
#: Repeated battles from which it is no chance that all are unanimous.
_MANY = 20


@dataclass(frozen=True, eq=False)
class Coded(CodedRows):
    """Rows of battles, some of whose names are made here."""

    def key(self, *parts: str) -> NDArray[np.int64]:
        """One code for each combination of names."""
        sizes = [len(self.names.get(part, ORDERS)) + 1 for part in parts]
        # Missing names are a value of their own here: shifted to 0.
        return joint_codes([self.codes[part].to_numpy() + 1 for part in parts], sizes)


def named(coded: Coded) -> tuple[Coded, tuple[str, ...]]:
    """Items, judges, runs and voters of rows that name none."""
    warnings: tuple[str, ...] = ()
    if not len(coded.names["item"]):
        rows = np.arange(len(coded.table), dtype=np.int32)
        coded = coded.with_name("item", rows, pd.Index((rows + 1).astype(str), dtype="str"))
        warnings += ("there is no item column: each row was taken as a battle of its own",)
    judged = coded.codes["judged"].to_numpy()
    names = coded.names["judge"]
    judge = coded.codes["judge"].to_numpy() if len(names) else np.zeros(len(judged), np.int32)
    # A judge who is named on a row without a verdict has judged nothing: the row is a person's vote.
    coded = coded.with_name(
        "judge", np.where(judged, judge, MISSING), names if len(names) else pd.Index([_ONE_JUDGE], dtype="str")
    )
    coded = coded.with_name("pair", *_pairs(coded))
    coded = replace(coded, codes=coded.codes.assign(**_turned(coded)))
    coded, repeated = _number_runs(coded, judged)
    coded, several = _number_voters(coded, judged, judge)
    event = coded.key("item", "pair", "judge", "order oriented", "run")
    vote = coded.key("item", "pair", "voter")
    human = coded.codes["human"].to_numpy() != MISSING
    codes = coded.codes.assign(event=np.where(judged, event, MISSING), vote=np.where(human, vote, MISSING))
    return replace(coded, codes=codes), warnings + repeated + several


def _pairs(coded: Coded) -> tuple[NDArray[np.int64], pd.Index[Any]]:
    """One code for two models in either order."""
    a, b = model_codes(coded)
    size = max(int(a.max(initial=0)), int(b.max(initial=0))) + 1
    pair, names = pd.factorize(np.minimum(a, b) * size + np.maximum(a, b))
    return np.where((a < 0) | (b < 0), MISSING, pair), pd.Index(names.astype(str), dtype="str")


def model_codes(coded: Coded) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Codes of both models in one list of names, `MISSING` or `UNKNOWN` where there is none."""
    a, b = coded.codes["model_a"].to_numpy(np.int64), coded.codes["model_b"].to_numpy(np.int64)
    place = coded.names["model_a"].append(coded.names["model_b"])
    # Rows without a name ask the place after the last one, which is there when no row has one.
    shared = np.append(pd.factorize(place)[0], MISSING)
    first = len(coded.names["model_a"])
    return (np.where(a >= 0, shared[np.maximum(a, 0)], a), np.where(b >= 0, shared[np.maximum(b, 0) + first], b))


def _turned(coded: Coded) -> dict[str, NDArray[np.int32]]:
    """Votes, verdicts and orders in a frame that does not depend on which model is called a."""
    a, b = model_codes(coded)
    turned = {}
    for key in ("human", "verdict", "order"):
        code = coded.codes[key].to_numpy(np.int32)
        # In all three, 0 and 1 change places; a tie, 2, and the negative codes stay.
        turned[f"{key} oriented"] = np.where((a > b) & ((code == 0) | (code == 1)), 1 - code, code)
    return turned


def _number_runs(coded: Coded, judged: NDArray[np.bool_]) -> tuple[Coded, tuple[str, ...]]:
    if len(coded.names["run"]):
        lost = judged & (coded.codes["run"].to_numpy() == MISSING)
        notes = (f"{int(lost.sum())} rows have no run; each counts as the run {NO_NAME!r}",) if lost.any() else ()
        return coded.with_missing_named("run", lost), notes
    run = count_within(coded.key("item", "pair", "judge", "order oriented", "voter"), judged)
    again = int((run > 0).sum())
    note = f"{again} rows repeat a battle, judge and order without a run column: taken as repeated runs"
    notes = (f"{note}, of which the majority counts",)
    names = pd.Index([str(k + 1) for k in range(int(run.max(initial=0)) + 1)], dtype="str")
    return coded.with_name("run", run, names), notes if again else ()


def _number_voters(coded: Coded, judged: NDArray[np.bool_], judge: NDArray[np.int32]) -> tuple[Coded, tuple[str, ...]]:
    human = coded.codes["human"].to_numpy() != MISSING
    if len(coded.names["voter"]):
        lost = human & (coded.codes["voter"].to_numpy() == MISSING)
        notes = (f"{int(lost.sum())} votes have no voter; each battle's count as one",) if lost.any() else ()
        return coded.with_missing_named("voter", lost), notes
    # A vote next to a judge's verdict is the same vote on the rows of every judge; alone, each is its own.
    alone = human & ~judged
    first = _first_rows(coded, alone & np.isin(judge, judge[judged & (judge >= 0)]), judge)
    own = alone & (first == np.arange(len(first)))
    place = count_within(coded.key("item", "pair"), own)[first]
    again = int((place > 0).sum())
    names = pd.Index([_ONE_VOTER, *(f"{_ONE_VOTER} {k + 1}" for k in range(1, int(place.max(initial=0)) + 1))])
    said = f"{again} rows repeat a battle without a voter column: taken as votes of several people"
    notes = (said + _like_copies(coded, own, judge),)
    return coded.with_name("voter", np.where(human, place, MISSING), names), notes if again else ()


def _first_rows(coded: Coded, votes: NDArray[np.bool_], judge: NDArray[np.int32]) -> NDArray[np.int64]:
    """Every row's own place (N,), and of one vote on rows of several judges without a verdict that of the first."""
    rows = np.arange(len(votes))
    keys = {"battle": coded.key("item", "pair"), "vote": coded.codes["human oriented"], "judge": judge, "row": rows}
    mine = pd.DataFrame(keys)[votes]
    mine["nth"] = mine.groupby(["battle", "vote", "judge"]).cumcount()
    rows[votes] = mine.groupby(["battle", "vote", "nth"])["row"].transform("first")
    return rows


def _like_copies(coded: Coded, votes: NDArray[np.bool_], judge: NDArray[np.int32]) -> str:
    """What is said of repeated battles without a single disagreement, of which people have some."""
    battle = coded.key("item", "pair")[votes]
    outcomes = coded.codes["human oriented"][votes].groupby(battle)
    repeated = outcomes.nunique()[outcomes.size() > 1]
    if len(repeated) < _MANY or (repeated > 1).any():
        return ""
    apart = not pd.DataFrame({"battle": battle, "judge": judge[votes]}).duplicated().any()
    return (
        f"; but all of the {len(repeated)} repeated battles are unanimous{', each row with another judge' * apart}, as "
        "copies or weights are and votes of several people are not: keep one row of each battle, or choose rows by "
        "--where"
    )
