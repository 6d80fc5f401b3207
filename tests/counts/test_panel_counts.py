"""Votes of a panel as arrays, against a plain groupby and in the corners."""

from __future__ import annotations

import ibis
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from random_tables import verdict_tables

from bayesjudge.counts.panel import PanelVotes, panel_votes
from bayesjudge.errors import InputError, UsageError
from bayesjudge.tables import Verdicts


@settings(max_examples=10)
@given(verdict_tables())
def test_every_cell_is_what_a_groupby_says(frame: pd.DataFrame) -> None:
    verdicts = Verdicts.from_frame(frame)
    found, frame = panel_votes(verdicts, score="score"), verdicts.frame
    frame = frame.assign(label=frame["label"].to_numpy(float, na_value=np.nan))
    cells = frame.groupby(["item", "model", "judge"]).agg(
        mean=("verdict", "mean"), n=("verdict", "size"), score=("score", "mean")
    )
    labels = frame.groupby(["item", "model"])["label"].max()
    assert found.runs.sum() == len(frame)
    assert np.isfinite(found.votes).sum() == len(cells)
    assert found.scores is not None
    for row in cells.reset_index().to_dict("records"):
        item, model = found.items.index(row["item"]), found.models.index(row["model"])
        at = (item, model, found.judges.index(row["judge"]))
        assert found.votes[at] == pytest.approx(row["mean"])
        assert found.runs[at] == row["n"]
        assert found.scores[at] == pytest.approx(row["score"])
        np.testing.assert_equal(found.label[item, model], float(labels[row["item"], row["model"]]))
    assert np.array_equal(found.annotations > 0, np.isfinite(found.label))
    assert np.array_equal(found.answered, (found.runs > 0).any(axis=-1))


def _small() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "item": ["i1", "i1", "i2", "i3"],
            "model": ["a", "b", "a", "b"],
            "judge": "j",
            "verdict": [1, 0, 1, 1],
            "label": [1, None, 0, None],
            "subject": ["x", "x", "y", "y"],
            "source": ["s", "s", "s", "t"],
        }
    )


def test_groups_and_clusters_belong_to_items() -> None:
    found = panel_votes(Verdicts.from_frame(_small()), group_by="subject", cluster="source")
    assert found.groups == ("x", "y")
    assert found.group.tolist() == [0, 1, 1]
    assert found.cluster.tolist() == [0, 0, 1]
    alone = panel_votes(Verdicts.from_frame(_small()))
    assert alone.groups == ("all",)
    assert alone.cluster.tolist() == [0, 1, 2]


def test_an_ibis_table_gives_the_same_votes() -> None:
    frame = _small()
    one, other = panel_votes(Verdicts.from_frame(frame)), panel_votes(ibis.memtable(frame))
    for name in ("votes", "runs", "label", "annotations"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    nameless = frame.query("judge == @frame.judge[0]").drop(columns="judge").assign(score=0.5)
    found = panel_votes(ibis.memtable(nameless), score="score")
    assert found.judges == ("judge",)
    assert found.scores is not None
    assert np.isfinite(found.scores).sum() == np.isfinite(found.votes).sum() > 0


def test_hiding_labels_leaves_the_votes() -> None:
    votes = panel_votes(Verdicts.from_frame(_small()))
    hidden = votes.with_labels_of(np.array([False, True, True]))
    assert hidden.annotations.sum() == 1
    np.testing.assert_array_equal(hidden.votes, votes.votes)
    assert np.isnan(hidden.label[0]).all()


def _marks() -> pd.DataFrame:
    rows = [
        ("i1", "a", "ann", 1),
        ("i1", "a", "bob", 0),
        ("i1", "a", "cy", 1),
        ("i2", "a", "ann", 0),
        ("i2", "a", "bob", 1),
    ]
    return pd.DataFrame(rows, columns=["item", "model", "annotator", "label"])


def test_each_annotators_marks_are_kept_and_their_mean_is_the_label() -> None:
    verdicts = Verdicts.from_frame(_small().drop(columns="label"), labels=_marks())
    assert verdicts.annotations is not None
    assert len(verdicts.annotations) == 5
    assert any("leave 1 answers with a tie unlabelled" in text for text in verdicts.warnings)
    # The majority where one label is asked for; the tie is missing.
    assert verdicts.frame["label"].tolist() == [1, pd.NA, pd.NA, pd.NA]
    votes = panel_votes(verdicts)
    assert votes.annotators == ("ann", "bob", "cy")
    assert votes.marks is not None
    assert votes.marks[0, 0].tolist() == [1, 0, 1]
    np.testing.assert_allclose(votes.label[:2, 0], [2 / 3, 0.5])
    assert votes.annotations[:, 0].tolist() == [3, 2, 0]
    most = votes.majority()
    assert most.marks is None
    np.testing.assert_array_equal(most.label[:, 0], [1, np.nan, np.nan])
    assert most.annotations[:, 0].tolist() == [3, 0, 0]
    assert most.majority() is most
    hidden = votes.with_labels_of(np.array([False, True, True]))
    assert hidden.marks is not None
    assert (hidden.marks[0] == -1).all()


def test_an_annotator_who_disagrees_with_himself_is_refused() -> None:
    torn = pd.concat([_marks(), pd.DataFrame([{"item": "i1", "model": "a", "annotator": "ann", "label": 0}])])
    with pytest.raises(InputError, match="annotator 'ann'"):
        Verdicts.from_frame(_small().drop(columns="label"), labels=torn)
    with pytest.raises(InputError, match="or name an annotator column"):
        Verdicts.from_frame(_small().drop(columns="label"), labels=_marks().drop(columns="annotator"))


def test_a_label_without_a_name_is_one_more_annotators() -> None:
    marks = _marks()[_marks()["item"] == "i1"]
    votes = panel_votes(
        Verdicts.from_frame(_small().assign(label=pd.array([None, 0, 0, None], dtype="Int8")), labels=marks)
    )
    assert votes.annotators == ("ann", "bob", "cy", "(label column)")
    assert votes.label[:2].tolist()[1][0] == 0.0
    assert votes.annotations.sum() == 5


def test_scores_must_be_a_numeric_column() -> None:
    verdicts = Verdicts.from_frame(_small())
    with pytest.raises(UsageError, match="no column 'points'"):
        panel_votes(verdicts, score="points")
    with pytest.raises(UsageError, match="scores must be numbers"):
        panel_votes(verdicts, score="subject")
    with pytest.raises(UsageError, match="no column 'verdict' with graded scores"):
        panel_votes(verdicts, score="verdict")


def test_a_group_that_differs_within_an_item_is_refused() -> None:
    with pytest.raises(InputError, match="several values for item 'i1'"):
        panel_votes(Verdicts.from_frame(_small().assign(subject=list("abab"))), group_by="subject")


def test_the_votes_of_real_judges_are_all_there(triviaqa: pd.DataFrame) -> None:
    votes: PanelVotes = panel_votes(Verdicts.from_frame(triviaqa))
    assert votes.votes.shape == (400, 9, 9)
    assert int(votes.runs.sum()) == len(triviaqa)
    # The human accuracy over answers of the source's table (../shared/data/.../SOURCE.md: 0.697 overall).
    assert np.nanmean(votes.label) == pytest.approx(0.697, abs=5e-4)
