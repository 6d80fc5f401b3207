"""Several answers of a model to one item: members of the item's cluster, paired with those of other models."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from bayesjudge.baselines import accuracy_baselines
from bayesjudge.counts import count_verdicts
from bayesjudge.errors import UsageError
from bayesjudge.readers import read_repeats, read_verdicts
from bayesjudge.readers.inspection import inspect_source
from bayesjudge.tables import Verdicts


def samples(model: str, *, epochs: int, items: int, seed: int) -> list[dict[str, Any]]:
    rng = np.random.default_rng(seed)
    return [
        {"test": k, "verdict": int(rng.random() < 0.7), "epoch": epoch}
        for k in range(items)
        for epoch in range(1, epochs + 1)
    ]


def inspect_log(path: Path, model: str, rows: list[dict[str, Any]]) -> Path:
    found = [
        {
            "id": f"q{row['test']}",
            "epoch": row["epoch"],
            "target": "x",
            "scores": {"qa": {"value": "CI"[1 - row["verdict"]]}},
        }
        for row in rows
    ]
    path.write_text(json.dumps({"eval": {"task": "t", "model": model}, "samples": found}))
    return path


def test_an_epoch_is_an_answer_of_its_items_cluster(tmp_path: Path) -> None:
    table = read_verdicts(inspect_log(tmp_path / "log.json", "m", samples("m", epochs=3, items=4, seed=1)))
    assert table.cluster == "question"
    assert table.frame["item"].nunique() == 12
    assert table.frame["question"].nunique() == 4
    counts = count_verdicts(table, cluster=table.cluster)
    assert (counts.clusters, int(counts.answers.n.sum())) == (4, 12)


def scored(path: Path, scorers: list[str], *, epochs: int) -> Path:
    rows = [
        {"id": f"q{k}", "epoch": epoch, "target": "x", "scores": {name: {"value": "C"} for name in scorers}}
        for k in range(4)
        for epoch in range(1, epochs + 1)
    ]
    path.write_text(json.dumps({"eval": {"task": "t", "model": "m"}, "samples": rows}))
    return path


def test_only_a_second_score_of_one_answer_is_a_repetition_of_the_judge(tmp_path: Path) -> None:
    epochs = scored(tmp_path / "epochs.json", ["qa"], epochs=3)
    _, scores = read_repeats(epochs)
    assert scores is not None
    assert scores.frame.groupby(["item", "judge", "response"]).size().eq(1).all()
    found = inspect_source(epochs).questions["reliability"]
    assert not found.possible
    assert "epochs" in found.lacks[0]
    # A scorer that is there twice has a number; another scorer is another criterion.
    twice = scored(tmp_path / "twice.json", ["model_graded_qa", "model_graded_qa1"], epochs=1)
    assert inspect_source(twice).questions["reliability"].why == "4 items judged more than once"
    votes = pd.DataFrame({"item": [1, 1, 2, 2, 3] * 2, "judge": [*"jjjjjkkkkk"], "outcome": [*"abaabbabab"]})
    assert inspect_source(votes).questions["reliability"].why == "2 items judged more than once"
    apart = scored(tmp_path / "apart.json", ["model_graded_qa", "model_graded_fact"], epochs=1)
    with pytest.raises(UsageError, match="2 criteria of a judge, which are no repetitions") as raised:
        read_repeats(apart)
    assert raised.value.options == ("--where criterion=model_graded_fact", "--where criterion=model_graded_qa")
    _, scores = read_repeats(apart, where="criterion=model_graded_qa")
    assert scores is not None
    assert len(scores) == 4


def test_answers_of_each_model_are_counted_where_a_record_holds_several(tmp_path: Path) -> None:
    """promptfoo's CSV has a column for each model: their answers are to the same items."""
    names = ["question", *(name for model in "mkl" for name in (f"[{model}] p", "Status", "Score", "Grader Reason"))]
    rows = [[question, *["out", status, 1, ""] * 3] for question, status in (("q", "PASS"), ("r", "FAIL"))]
    pd.DataFrame(rows, columns=names).to_csv(tmp_path / "once.csv", index=False)
    once = read_verdicts(tmp_path / "once.csv")
    assert once.cluster is None
    assert once.frame.groupby("item")["model"].nunique().tolist() == [3, 3]
    pd.DataFrame(rows * 2, columns=names).to_csv(tmp_path / "twice.csv", index=False)
    twice = read_verdicts(tmp_path / "twice.csv")
    assert twice.cluster == "question"
    assert sorted({item[-8:] for item in twice.frame["item"]}) == ["answer 1", "answer 2"]
    assert twice.frame.groupby("item")["model"].nunique().tolist() == [3] * 4
    assert not twice.frame.duplicated(["item", "model"]).any()


def width(path: Path) -> float:
    """Of the naive interval of a log's one accuracy."""
    table = read_verdicts(path)
    counts = count_verdicts(table, cluster=table.cluster)
    rows = accuracy_baselines(counts, counts.judges[0], bootstrap=0)
    row = rows.where(estimand="accuracy", method="naive").frame.iloc[0]
    return float(row["upper"] - row["lower"])


def test_epochs_say_no_more_than_they_add(tmp_path: Path) -> None:
    """Five equal answers to an item are worth one; five independent ones nearly five items."""
    one = samples("m", epochs=1, items=400, seed=5)
    same = [{**row, "epoch": epoch} for row in one for epoch in range(1, 6)]
    once = width(inspect_log(tmp_path / "one.json", "m", one))
    assert width(inspect_log(tmp_path / "same.json", "m", same)) == pytest.approx(once, rel=0.1)
    apart = width(inspect_log(tmp_path / "apart.json", "m", samples("m", epochs=5, items=400, seed=6)))
    many = width(inspect_log(tmp_path / "many.json", "m", samples("m", epochs=1, items=2000, seed=7)))
    assert apart == pytest.approx(many, rel=0.1)


#: Of the questions, those that each model always answers rightly.
SHARES = {"a": 0.4, "b": 0.3, "c": 0.2}


def _epochs(seed: int) -> pd.DataFrame:
    """Three models, 100 questions of which some are always right (`SHARES`) or always wrong, five answers to each."""
    rng = np.random.default_rng([seed, 5])
    labelled = rng.random(100) < 0.5
    rights: list[np.ndarray] = []
    verdicts: list[np.ndarray] = []
    for share in SHARES.values():
        kind = rng.random(100)
        p = np.where(kind < share, 1.0, np.where(kind < share + 0.2, 0.0, rng.beta(2, 2, 100)))
        for _ in range(5):
            rights.append(rng.random(100) < p)
            verdicts.append(rng.random(100) < np.where(rights[-1], 0.9, 0.15))
    questions = [f"{seed} q{k}" for k in range(100)]
    return pd.DataFrame(
        {
            "question": questions * 15,
            "item": [f"{q} {epoch}" for epoch in range(5) for q in questions] * 3,
            "model": np.repeat(list(SHARES), 500),
            "verdict": np.concatenate(verdicts).astype(int),
            "label": np.where(labelled, rights, np.nan).ravel(),
            "judge": str(seed),
        }
    )


@pytest.mark.slow
def test_intervals_cover_where_epochs_vary_with_the_item() -> None:
    """Items always right, always wrong and in between, five epochs, 400 data sets; 95 % intervals.

    By rows instead of by items they cover .68 to .78.
    """
    covered: dict[tuple[str, str], list[bool]] = {}
    # A judge for each data set, so that many are counted in one pass.
    for first in range(0, 400, 25):
        logs = Verdicts.from_frame(pd.concat([_epochs(seed) for seed in range(first, first + 25)]))
        counts = count_verdicts(logs, cluster="question")
        for judge in counts.judges:
            rows = accuracy_baselines(counts, judge, bootstrap=0, methods=["naive", "ppi++"])
            for row in rows.where(estimand="accuracy").frame.itertuples():
                truth = SHARES[row.unit] + (0.8 - SHARES[row.unit]) / 2
                truth = 0.9 * truth + 0.15 * (1 - truth) if row.method == "naive" else truth
                covered.setdefault((row.method, row.unit), []).append(row.lower <= truth <= row.upper)
    shares_covered = pd.Series({key: np.mean(found) for key, found in covered.items()})
    assert shares_covered.groupby(level=0).mean().min() >= 0.93
    assert shares_covered.min() >= 0.90
