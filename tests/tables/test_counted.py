"""Battles of which a table holds how many each model won."""

from __future__ import annotations

import pandas as pd
import pytest

from bayesjudge.errors import InputError
from bayesjudge.tables import Battles, Trials

#: Two pairs of models with counts of a judge's comparisons, and one of which it refused all.
COUNTED = pd.DataFrame(
    {
        "model_a": ["x", "x", "y"],
        "model_b": ["y", "z", "z"],
        "n_a": [2, 1, 0],
        "n_b": [1, 0, 0],
        "n_tie": [0, 1, 0],
        "n_refusals": [0, 1, 4],
        "n_total": [3, 3, 4],
    }
)


def test_counts_of_a_pair_are_as_many_comparisons() -> None:
    battles = Battles.from_frame(COUNTED.assign(topic=[*"mno"]))
    rows = battles.frame[["item", "model_a", "model_b", "judge", "verdict", "topic"]].to_numpy().tolist()
    first, second = ("x", "y", "judge"), ("x", "z", "judge")
    expected = [(first, 1.0, "m"), (first, 1.0, "m"), (first, 0.0, "m"), (second, 1.0, "n"), (second, 0.5, "n")]
    assert rows == [[str(k + 1), *names, verdict, topic] for k, (names, verdict, topic) in enumerate(expected)]
    assert dict(battles.dropped) == {"no outcome counted": 1}
    assert battles.warnings[:2] == (
        "counts n_a and n_b of 3 rows were read as 5 comparisons by a judge",
        "'n_refusals' (5 in all) next to 5 counted outcomes: not used, as no outcome of a, b or tie",
    )
    trials = Trials.from_frame(COUNTED.assign(item=range(3)))
    assert (trials.warnings[0], dict(trials.dropped)) == (battles.warnings[1], {"no outcome counted": 1})
    # What people or a judge said of each comparison is what counts; a wrong count is of the row of the file.
    voted = Battles.from_frame(COUNTED.assign(human="a"))
    assert voted.frame["human"].tolist() == [1.0] * 3
    assert "n_a" in voted.frame
    with pytest.raises(InputError, match=r"column 'n_b', row 2: found -1"):
        Battles.from_frame(COUNTED.assign(n_b=[1, -1, 0]))
    with pytest.raises(InputError, match=r"column 'order', row 2: found 'sideways'"):
        Battles.from_frame(COUNTED.assign(order=["ab", "sideways", "ab"]))
