"""Pairs and their embeddings: what is read, what is left out and counted, what is refused and how."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayesjudge.errors import InputError, UsageError
from bayesjudge.readers import read_pairs
from bayesjudge.tables import Pairs


def frame_of(**columns: Any) -> pd.DataFrame:
    base: dict[str, Any] = {"item": ["p1", "p2", "p3"], "judge_prefers": ["a", "b", "a"]}
    return pd.DataFrame(base | columns)


def refused(frame: pd.DataFrame, **options: Any) -> str:
    with pytest.raises(InputError) as caught:
        Pairs.from_frame(frame, **options)
    return str(caught.value)


# Decisions


def test_agreement_is_known_where_people_verified() -> None:
    pairs = Pairs.from_frame(frame_of(human_prefers=["a", "a", None]))
    np.testing.assert_array_equal(pairs.agrees, [1, 0, np.nan])
    assert pairs.verified.tolist() == [True, True, False]
    assert pairs.dimensions == 0


def test_ties_are_left_out_and_counted() -> None:
    frame = frame_of(judge_prefers=["a", "tie", "b"], human_prefers=["tie", "a", "b"])
    pairs = Pairs.from_frame(frame, a=np.eye(3), b=np.zeros((3, 3)))
    assert dict(pairs.dropped) == {"tie by the judge": 1, "tie by people": 1}
    np.testing.assert_array_equal(pairs.a, np.eye(3)[[2]])


def test_both_orders_are_two_verdicts_that_know_whether_they_differ() -> None:
    frame = pd.DataFrame(
        {"item": list("xxyyz"), "order": ["ba", "ab", "ab", "ba", "ba"], "judge_prefers": ["b", "a", "b", "b", "a"]}
    )
    pairs = Pairs.from_frame(frame, a=np.arange(10.0).reshape(5, 2), b=np.zeros((5, 2)))
    assert pairs.frame[["item", "judge_prefers", "order"]].equals(frame[["item", "judge_prefers", "order"]])
    np.testing.assert_array_equal(pairs.frame["flip"], [1, 1, 0, 0, np.nan])
    np.testing.assert_array_equal(pairs.a[:, 0], [0, 2, 4, 6, 8])
    assert "pairs judged in both orders have two verdicts each" in pairs.warnings[0]


def test_a_tie_in_either_order_is_left_out_and_a_flip_of_the_other() -> None:
    frame = pd.DataFrame({"item": list("xxyy"), "order": ["ab", "ba"] * 2, "judge_prefers": ["a", "tie", "tie", "a"]})
    pairs = Pairs.from_frame(frame)
    assert pairs.frame[["item", "order", "flip"]].to_numpy().tolist() == [["x", "ab", 1.0], ["y", "ba", 1.0]]
    assert dict(pairs.dropped) == {"tie by the judge": 2}


def test_what_people_prefer_holds_for_the_item_whatever_the_attack() -> None:
    frame = pd.DataFrame(
        {"item": ["x", "x"], "attack": [None, "length"], "judge_prefers": ["a", "b"], "human_prefers": ["a", None]}
    )
    pairs = Pairs.from_frame(frame)
    assert pairs.frame["attack"].tolist() == ["none", "length"]
    assert pairs.agrees.tolist() == [1.0, 0.0]
    assert len(pairs.of(attack="length")) == 1


def test_a_validated_frame_can_be_validated_again() -> None:
    frame = frame_of(score_a=[1, 2, 3], score_b=[3, 2, 1], human_prefers=["a", None, "b"], mine=[1, 2, 3])
    once = Pairs.from_frame(frame)
    pd.testing.assert_frame_equal(Pairs.from_frame(once.frame).frame, once.frame)
    both = Pairs.from_frame(frame.assign(gap=["x", "y", "z"])).frame
    assert both["gap"].tolist() == [-2, 0, 2]
    assert both["gap (original)"].tolist() == ["x", "y", "z"]


def test_one_judge_is_chosen_by_name() -> None:
    pairs = Pairs.from_frame(frame_of(judge=["j", "k", "j"]))
    assert pairs.of(judge="j").frame["item"].tolist() == ["p1", "p3"]
    with pytest.raises(UsageError, match="2 judges; choose one: judge='j'"):
        pairs.of()
    with pytest.raises(UsageError, match="no attack 'length'; the table has 'none'"):
        pairs.of(judge="j", attack="length")


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"judge_prefers": ["a", "c?", "b"]}, r"'judge_prefers', row 2: found 'c?'"),
        ({"human_prefers": ["x", "a", "b"]}, "'human_prefers', row 1: found 'x'"),
        ({"length_a": ["long", 3, 4]}, "'length_a', row 1: found 'long'"),
        ({"item": ["p", "p", "q"]}, "different verdicts for item 'p'"),
        (
            {"item": ["p", "p", "q"], "order": ["ab", "ba", "ab"], "human_prefers": ["a", "b", "a"]},
            "different preferences for item 'p'",
        ),
        ({"judge_prefers": ["tie"] * 3}, "only rows that cannot be used: {'tie by the judge': 3}"),
        ({"score_a": [1, 2, 3]}, "both scores, or their difference"),
    ],
)
def test_what_cannot_be_used_is_refused_in_words(columns: dict[str, Any], said: str) -> None:
    assert said in refused(frame_of(**columns))


def test_a_table_without_preferences_says_which_column_is_missing() -> None:
    assert "a column named 'judge_prefers'" in refused(pd.DataFrame({"item": [1]}))


# Embeddings


@pytest.mark.parametrize(
    ("a", "b", "said"),
    [
        (np.full((3, 2), np.nan), np.ones((3, 2)), "response a', row 1, 2, 3: found values that are not finite"),
        (np.full((3, 2), np.inf), np.ones((3, 2)), "not finite"),
        (np.ones((2, 2)), np.ones((3, 2)), "2 rows for a table of 3"),
        (np.ones((3, 2)), np.ones((3, 4)), "different numbers of dimensions (response a: 2, response b: 4)"),
        (np.ones(3), np.ones((3, 4)), "an array of shape (3,)"),
        ([[1.0], [1.0, 2.0], [3.0]], np.ones((3, 1)), "no rectangular array"),
        (np.ones((3, 0)), np.ones((3, 0)), "no dimensions"),
    ],
)
def test_embeddings_that_do_not_fit_are_refused(a: Any, b: Any, said: str) -> None:
    assert said in refused(frame_of(), a=a, b=b)


def test_one_embedding_without_the_other_is_refused() -> None:
    with pytest.raises(UsageError, match="both responses"):
        Pairs.from_frame(frame_of(), a=np.ones((3, 2)))


def test_identical_embeddings_are_told() -> None:
    pairs = Pairs.from_frame(frame_of(), a=np.ones((3, 2)), b=[[1, 1], [0, 1], [1, 1]])
    assert pairs.identical.tolist() == [True, False, True]
    assert "2 of 3 pairs have one embedding for both responses" in pairs.warnings[0]


@given(order=st.permutations(range(3)))
def test_row_order_changes_nothing_but_the_order(order: list[int]) -> None:
    frame, a = frame_of(human_prefers=["a", "a", None]), np.arange(6.0).reshape(3, 2)
    one = Pairs.from_frame(frame, a=a, b=-a)
    other = Pairs.from_frame(frame.iloc[order], a=a[order], b=-a[order])
    np.testing.assert_array_equal(other.agrees, one.agrees[order])
    np.testing.assert_array_equal(other.a, one.a[order])


def test_hiding_takes_labels_and_nothing_else() -> None:
    pairs = Pairs.from_frame(frame_of(human_prefers=["a", "a", "b"]))
    hidden = pairs.hide(np.array([True, False, False]))
    assert hidden.verified.tolist() == [False, True, True]
    assert pairs.verified.all()


# Readers


def test_an_npz_is_joined_by_item(tmp_path: Path) -> None:
    a = np.arange(6.0).reshape(3, 2)
    np.savez(tmp_path / "e.npz", item_id=np.array(["p3", "p1", "p2"]), response_a=a, response_b=-a, prompt=a + 1)
    pairs = read_pairs(frame_of(), embeddings=tmp_path / "e.npz")
    np.testing.assert_array_equal(pairs.a, a[[1, 2, 0]])
    np.testing.assert_array_equal(pairs.prompt, a[[1, 2, 0]] + 1)


def test_an_npz_is_never_unpickled(tmp_path: Path) -> None:
    np.savez(tmp_path / "e.npz", response_a=np.array([{}], dtype=object), response_b=np.ones((1, 1)))
    with pytest.raises(InputError, match=r"no readable \.npz"):
        read_pairs(frame_of(), embeddings=str(tmp_path / "e.npz"))


def test_parquet_lists_are_read_and_joined(tmp_path: Path) -> None:
    lists = pd.DataFrame(
        {"item": ["p2", "p1", "p3"], "embedding_a": [[2.0, 0], [1, 0], [3, 0]], "embedding_b": [[0.0, 0]] * 3}
    )
    lists.to_parquet(tmp_path / "e.parquet")
    pairs = read_pairs(frame_of(), embeddings=tmp_path / "e.parquet")
    assert pairs.a[:, 0].tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    ("embeddings", "said"),
    [
        ({"item": ["p1"], "a": [[1.0]], "b": [[1.0]]}, "no embedding in the embeddings for 2 rows (items 'p2', 'p3'"),
        ({"item": ["p1", "p1"], "a": [[1.0]] * 2, "b": [[1.0]] * 2}, "1 items with several embeddings"),
        ({"item": ["p1"], "a": [[1.0]] * 2, "b": [[1.0]]}, "arrays of unequal length"),
        ({"item": ["p1"], "left": [[1.0]]}, "no array response_a and no array response_b"),
    ],
)
def test_embeddings_that_cannot_be_joined_are_refused(embeddings: Any, said: str) -> None:
    with pytest.raises(InputError) as caught:
        read_pairs(frame_of(), embeddings=embeddings)
    assert said in str(caught.value)


def test_a_short_list_is_named_by_its_row() -> None:
    frame = frame_of(embedding_a=[[1.0, 2.0], [1.0], [1.0, 3.0]], embedding_b=[[0.0, 0.0]] * 3)
    with pytest.raises(InputError, match="'embedding_a', row 2"):
        read_pairs(frame)


def test_an_encoder_sees_each_text_once() -> None:
    seen: list[str] = []

    def encode(texts: Any) -> Any:
        seen.extend(texts)
        return np.array([[len(text), 1.0] for text in texts])

    pairs = read_pairs(frame_of(response_a=["x", "yy", "x"], response_b=["yy", "yy", "zzz"]), encoder=encode)
    assert sorted(seen) == ["x", "yy", "zzz"]
    assert pairs.b[:, 0].tolist() == [2, 2, 3]


@pytest.mark.parametrize(
    ("encoder", "said"),
    [
        (lambda texts: np.zeros(len(texts)), "one row a text"),
        (3, "neither a function"),
        ("no-such-model", "sentence-transformers, which is not installed"),
    ],
)
def test_an_encoder_that_will_not_do_is_refused(encoder: Any, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(UsageError, match=said):
        read_pairs(frame_of(response_a=["x"] * 3, response_b=["y"] * 3), encoder=encoder)


def test_a_name_means_a_model_of_sentence_transformers(monkeypatch: pytest.MonkeyPatch) -> None:
    class SentenceTransformer:
        def __init__(self, name: str) -> None:
            self.size = len(name)

        def encode(self, texts: list[str], *, convert_to_numpy: bool) -> Any:
            assert convert_to_numpy
            return np.full((len(texts), self.size), 1.0)

    # A stand-in: the extra is large, and only its two calls matter here.
    module = ModuleType("sentence_transformers")
    module.__dict__["SentenceTransformer"] = SentenceTransformer
    monkeypatch.setitem(sys.modules, "sentence_transformers", module)
    monkeypatch.setattr("importlib.util.find_spec", lambda _: object())
    pairs = read_pairs(frame_of(response_a=["x"] * 3, response_b=["y"] * 3), encoder="mini")
    assert pairs.dimensions == 4


def test_texts_that_are_missing_are_named() -> None:
    with pytest.raises(InputError, match=r"'response_b'.*no such column"):
        read_pairs(frame_of(response_a=["x"] * 3), encoder=lambda texts: np.zeros((len(texts), 1)))


def test_real_llmbar_pairs(shared_data: Path) -> None:
    judged = pd.read_parquet(shared_data / "pairwise_llmbar" / "llmbar_judgments.parquet")
    items = pd.read_parquet(shared_data / "pairwise_llmbar" / "llmbar_items.parquet")
    mine = judged[(judged["judge"] == "GPT-4") & (judged["prompt"] == "Vanilla")].drop(columns=["prompt"])
    pairs = read_pairs(mine.merge(items, on="item_id"), embeddings=shared_data / "embeddings" / "llmbar.npz")
    # 734 items in both orders; every verdict parsed.
    assert (len(pairs), pairs.dimensions, pairs.prompt.shape[1]) == (2 * 734, 384, 384)
    # SOURCE.md of the data: GPT-4 with the Vanilla prompt is right on .955 of Natural (both orders pooled),
    # and changes with the order on .123 of the items.
    natural = pairs.take((pairs.frame["category"] == "LLMBar/Natural").to_numpy())
    assert natural.agrees.mean() == pytest.approx(0.955, abs=5e-4)
    assert pairs.frame["flip"].mean() == pytest.approx(0.123, abs=5e-4)


# A log of several judges, prompts and runs, and what is known of its items in a second file


LOG = pd.DataFrame(
    {
        "pair_id": ["p1", "p2", "p1", "p2"],
        "verdict": ["a", "b", "b", "b"],
        "prompt": ["short", "short", "long", "long"],
        "run": [0, 0, 0, 1],
    }
)
ITEMS = pd.DataFrame(
    {"id": ["p2", "p1"], "human": ["b", None], "subset": ["maths", "code"], "len_a": [7, 5], "verdict": ["a", "a"]}
)


def test_some_rows_are_chosen_and_items_joined() -> None:
    pairs = read_pairs(LOG, items=ITEMS, where={"prompt": "short"})
    assert pairs.frame["judge_prefers"].tolist() == ["a", "b"]
    np.testing.assert_array_equal(pairs.agrees, [np.nan, 1])
    assert pairs.frame[["category", "length_a"]].to_numpy().tolist() == [["code", 5], ["maths", 7]]


@pytest.mark.parametrize(("where", "n"), [({"run": "0", "prompt": ["short", "long"]}, 3), ({"run": 1.0}, 1)])
def test_numbers_are_chosen_as_numbers_and_lists_as_any(where: dict[str, Any], n: int) -> None:
    log = LOG.assign(pair_id=["p1", "p2", "p3", "p4"])
    assert len(read_pairs(log, where=where)) == n


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ({"promt": "short"}, "no column 'promt'.*Did you mean 'prompt'"),
        ({"prompt": "brief"}, "no row of the table has prompt = brief; the column has long, short"),
        ({"prompt": "short", "run": 1}, "no row of the table has run = 1; the column has 0"),
    ],
)
def test_a_choice_of_no_rows_says_what_there_is(where: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        read_pairs(LOG, where=where)


def test_chosen_rows_are_told_by_their_place_in_the_file(tmp_path: Path) -> None:
    log = tmp_path / "log.csv"
    LOG.assign(verdict=["?", "b", "b", "?"]).to_csv(log, index=False)
    with pytest.raises(InputError, match="row 4: found"):
        read_pairs(log, where={"prompt": "long"})
    other = tmp_path / "more.csv"
    LOG.assign(pair_id=["p3", "p4"] * 2).to_csv(other, index=False)
    with pytest.raises(InputError, match=r"row 4: found .* in .*log.csv"):
        read_pairs(str(tmp_path / "*.csv"), where={"prompt": "long"})


def test_runs_that_disagree_are_refused_with_the_way_out() -> None:
    with pytest.raises(InputError, match="--where prompt="):
        read_pairs(LOG)


def test_items_may_be_named_by_the_same_mapping() -> None:
    items = pd.DataFrame({"key": ["p1"], "people": ["b"]})
    columns = {"item": "key", "human_prefers": "people"}
    pairs = read_pairs(LOG, items=items, columns=columns, where={"prompt": "short"})
    np.testing.assert_array_equal(pairs.agrees, [0, np.nan])
    assert "1 of 2 rows are about no item of the items file" in pairs.warnings


def test_items_without_a_name_are_counted() -> None:
    for nothing in (None, ["p2"]):
        items = pd.DataFrame({"item": ["p1", nothing], "human_prefers": ["b", "a"]})
        pairs = read_pairs(LOG, items=items, where={"prompt": "short"})
        assert "rows of the items file that name no item, left out: 1" in pairs.warnings


@pytest.mark.parametrize(
    ("items", "said"),
    [
        (pd.DataFrame({"id": ["q9"], "human": ["a"]}), "no row about an item of the items file"),
        (pd.DataFrame({"id": ["p1", "p1"], "human": ["a", "b"]}), "row 1, 2: found items on several rows"),
        (pd.DataFrame({"human": ["a"]}), "no such column; the items file has"),
    ],
)
def test_items_that_cannot_be_joined_are_refused(items: pd.DataFrame, said: str) -> None:
    with pytest.raises(InputError, match=said):
        read_pairs(LOG, items=items, where={"prompt": "short"})


def test_real_llmbar_log_and_items_are_read_as_they_come(shared_data: Path) -> None:
    folder = shared_data / "pairwise_llmbar"
    embeddings = shared_data / "embeddings" / "llmbar.npz"
    pairs = read_pairs(
        folder / "llmbar_judgments.parquet",
        items=folder / "llmbar_items.parquet",
        embeddings=embeddings,
        where={"prompt": "Vanilla"},
    )
    mine = pairs.of(judge="GPT-4")
    natural = mine.take((mine.frame["category"] == "LLMBar/Natural").to_numpy())
    # SOURCE.md: 0.955 over both orders.
    assert natural.agrees.mean() == pytest.approx(0.955, abs=5e-4)
    assert mine.dimensions == 384
    assert {"same as PaLM2", "length_a"} <= set(mine.frame.columns)
