"""Battle logs as known projects write them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayesjudge.counts.battles.counts import count_battles
from bayesjudge.errors import InputError, UsageError
from bayesjudge.readers import read_battles
from bayesjudge.readers.formats.soft_elo import read_scores_cell
from bayesjudge.readers.inspection import inspect_source
from bayesjudge.report.lead import READ

MODELS = {"model_a": ["x", "y"], "model_b": ["y", "z"]}


def values(frame: pd.DataFrame, *columns: str) -> list[list[Any]]:
    return frame[list(columns)].astype(object).where(frame[list(columns)].notna(), None).to_numpy().tolist()


def test_lmarena_votes(tmp_path: Path) -> None:
    """Columns of lmarena-ai/arena-human-preference-100k and -140k."""
    frame = pd.DataFrame(
        {
            "question_id": ["q1", "q2", "q3"],
            "model_a": "x",
            "model_b": "y",
            "language": "en",
            "winner": ["model_a", "tie (bothbad)", "model_b"],
            "conv_metadata": [{"sum_assistant_a_tokens": 5, "sum_assistant_b_tokens": 9}] * 3,
        }
    )
    frame.to_parquet(tmp_path / "votes.parquet")
    battles = read_battles(tmp_path / "votes.parquet")
    assert values(battles.frame, "human", "length_a", "judge") == [[1, 5, None], [0.5, 5, None], [0, 5, None]]
    assert battles.label_source == "format"
    (said,) = (text for text in battles.warnings if READ not in text)
    assert said.endswith("if an LLM judged: --set judge=NAME")
    newer = read_battles(frame.drop(columns="conv_metadata").assign(winner=["both_bad", "tie", "model_a"]))
    assert newer.frame["human"].tolist() == [0.5, 0.5, 1]


def test_arena_votes_are_on_their_question_and_by_their_voter(tmp_path: Path) -> None:
    """A row number next to the question made every vote a battle of its own."""
    frame = pd.DataFrame(
        {"id": [1, 2], "question_id": "q", "model_a": "x", "model_b": "y", "winner": ["model_a", "tie"]}
    )
    battles = read_battles(frame.assign(turkerid=["p", "r"], topic="law"))
    assert values(battles.frame, "item", "voter", "topic") == [["q", "p", "law"], ["q", "r", "law"]]
    assert "column 'question_id' was read as item" in battles.warnings
    frame.assign(annotator=["p", "r"], turkerid="s").to_json(tmp_path / "votes.jsonl", orient="records", lines=True)
    mapped = read_battles(tmp_path / "votes.jsonl", columns={"voter": "annotator"})
    assert mapped.frame["voter"].tolist() == ["p", "r"]
    assert "column 'id' was read as item" in read_battles(frame.drop(columns="question_id")).warnings
    # Without an id the prompt is the item, unless the user says otherwise or there is none.
    pairs = frame.drop(columns=["id", "question_id"]).assign(pair=["p1", "p2"])
    shared = pairs.assign(prompt="Why?")
    assert "column 'prompt' was read as item" in read_battles(shared).warnings
    shared.to_parquet(tmp_path / "votes.parquet")  # of which no text is read
    for table in (pairs, tmp_path / "votes.parquet"):
        assert not any("was read as item" in text for text in read_battles(table).warnings)
    for said in ({"columns": {"item": "pair"}}, {"put": {"item": "{pair}"}}):
        named = read_battles(shared, **said)
        assert named.frame["item"].tolist() == ["p1", "p2"]
        assert not any("was read as item" in text for text in named.warnings)


@pytest.mark.parametrize("name", ["annotator", "rater", "user", "worker_id", "turkerid"])
def test_who_voted_is_the_voter_where_only_people_did(name: str) -> None:
    frame = pd.DataFrame({"item": 1, "model_a": "x", "model_b": "y", "human": ["a", "b"], name: ["p", "r"]})
    battles = read_battles(frame)
    assert values(battles.frame, "voter", name) == [["p", "p"], ["r", "r"]]
    assert not any("without a voter column" in text for text in battles.warnings)
    # Who votes on a battle again, and otherwise, cannot be its one voter, but clusters its votes.
    again = read_battles(frame.assign(**{name: "p"}))
    assert values(again.frame, name, "human") == [["p", 1.0], ["p", 0.0]]
    assert f"--cluster {name} keeps" in again.warnings[0]
    # Next to a verdict an annotator may be a judge, as AlpacaEval calls it, and a user may not have voted.
    judged = read_battles(frame.assign(verdict=["a", "b"], item=[1, 2]))
    assert judged.frame["voter"].tolist() == ["human"] * 2


def test_kaggle_arena_votes_are_one_hot() -> None:
    frame = pd.DataFrame(
        {"id": [1, 2], **MODELS, "winner_model_a": [1, 0], "winner_model_b": [0, 0], "winner_tie": [0, 1]}
    )
    assert read_battles(frame).frame["human"].tolist() == [1, 0.5]
    with pytest.raises(InputError, match="not exactly one"):
        read_battles(frame.assign(winner_tie=[1, 1]))


def test_chatbot_arena_judges_are_people() -> None:
    frame = pd.DataFrame(
        {
            "question_id": [1, 2],
            **MODELS,
            "winner": ["model_a", "tie"],
            "turn": 1,
            "judge": ["arena_user_7", "arena_user_8"],
        }
    )
    battles = read_battles(frame)
    assert values(battles.frame, "voter", "human", "judge") == [["arena_user_7", 1, None], ["arena_user_8", 0.5, None]]
    assert "arena_user_*" in battles.warnings[0]


def test_mt_bench_pair_judgments_are_two_orders() -> None:
    frame = pd.DataFrame(
        {
            "question_id": [81, 81],
            "turn": [1, 2],
            "model_1": "x",
            "model_2": "y",
            "g1_winner": ["model_1", "error"],
            "g2_winner": ["model_2", "tie"],
            "judge": [["gpt-4", "pair-v2"]] * 2,
        }
    )
    battles = read_battles(frame)
    assert values(battles.frame, "item", "order", "verdict", "judge") == [
        ["81 turn 1", "ab", 1.0, "gpt-4 pair-v2"],
        ["81 turn 1", "ba", 0.0, "gpt-4 pair-v2"],
        ["81 turn 2", "ba", 0.5, "gpt-4 pair-v2"],
    ]
    assert dict(battles.dropped) == {"error, of a record with other judgements": 1}
    assert count_battles(battles).judge_pairs("gpt-4 pair-v2").n.tolist() == [[0, 2, 0]]
    # Forks write the judge and its prompt apart.
    apart = frame.iloc[[0, 0]].drop(columns="judge").assign(judge_model=["gpt-4", "other"], judge_prompt="pair")
    battles = read_battles(apart)
    assert battles.frame["judge"].unique().tolist() == ["gpt-4", "other"]
    assert set(battles.frame["prompt"]) == {"pair"}
    assert not any("repeated runs" in text for text in battles.warnings)


def test_alpaca_eval_annotations() -> None:
    """Preference 1 means output 1, 2 output 2; weighted annotators give what lies between."""
    frame = pd.DataFrame(
        {
            "instruction": ["say a", "say b"],
            "output_1": "a",
            "output_2": "b",
            "generator_1": "base",
            "generator_2": "new",
            "annotator": "gpt4",
            "preference": [1.0, 2.0],
        }
    )
    assert values(read_battles(frame).frame, "item", "verdict") == [["say a", 1], ["say b", 0]]
    soft = read_battles(frame.assign(preference=[1.25, None])).frame
    np.testing.assert_allclose(soft["gap"], [np.log(3)], atol=1e-9)  # gaps have 9 digits
    with pytest.raises(InputError, match="probability"):
        read_battles(frame.assign(preference=[3.2, 1.1]))


SOFT_ELO = pd.DataFrame(
    {
        "row_id": ["s0", "s1"],
        **MODELS,
        "human_pref": [0.5, 0.0],
        "judge_pref": [1.0, 0.25],
        "scores_a": ["{'clarity': 9.5, 'fluency': 9.0}", '{"clarity": 7, "fluency": null}'],
        "scores_b": ["{'clarity': 10.0, 'fluency': 9.5}", "{'clarity': 5.0, 'fluency': 1}"],
        "meta_lang": "en",
    }
)


def test_soft_elo_annotations_count_zero_for_a(tmp_path: Path) -> None:
    """Columns and code of github.com/kargibora/SoftElo, data/sample_annotations.csv: 0 is a, 1 is b."""
    SOFT_ELO.to_csv(tmp_path / "annotations.csv", index=False)
    frame = read_battles(tmp_path / "annotations.csv").frame
    assert values(frame, "item", "human", "verdict", "gap", "language") == [
        ["s0", 0.5, 0.0, -0.5, "en"],
        ["s1", 1.0, 1.0, 2.0, "en"],
    ]


def test_score_dictionaries_are_never_run() -> None:
    bad = SOFT_ELO.assign(scores_a=["{'clarity': __import__('os').system('true')}", "[1, 2]"])
    with pytest.raises(InputError) as caught:
        read_battles(bad)
    assert caught.value.problems[0].rows == (1, 2)


@given(st.dictionaries(st.text(st.characters(categories=["L", "N"]), max_size=9), st.floats(-1e6, 1e6), max_size=6))
def test_what_json_and_python_print_is_read_back(scores: dict[str, float]) -> None:
    assert read_scores_cell(json.dumps(scores, ensure_ascii=False)) == scores
    assert read_scores_cell(repr(scores)) == scores


@given(st.text(max_size=30))
def test_no_text_breaks_the_reader_of_scores(text: str) -> None:
    found = read_scores_cell(text)
    assert found is None or all(np.isfinite(value) for value in found.values())


def test_wide_tables_have_a_column_a_judge(tmp_path: Path) -> None:
    frame = pd.DataFrame(
        {
            "battle_id": [1, 2],
            **MODELS,
            "human": [1, 0],
            "human_raw": ["a", "b"],
            "gpt-4": ["a", "tie"],
            "claude": ["b", None],
            "note": ["x", "y"],
        }
    )
    battles = read_battles(frame, order="ab")
    assert sorted(set(battles.frame["judge"].dropna())) == ["claude", "gpt-4"]
    assert count_battles(battles).human_pairs().n.sum() == 2
    assert set(battles.frame["order"]) == {"ab"}
    assert "'gpt-4', 'claude'" in battles.warnings[0]
    chosen = read_battles(frame, judges=["claude"])
    assert chosen.frame["verdict"].tolist()[:1] == [0]
    frame.loc[1, "claude"] = "perhaps"
    with pytest.raises(InputError) as caught:
        read_battles(frame, judges=["gpt-4", "claude"])
    assert caught.value.problems[0].rows == (2,)  # the row in the file, not in the unfolded table


def test_options_that_fit_nothing_are_named() -> None:
    frame = pd.DataFrame({"item": [1, 2], **MODELS, "human": [1, 0]})
    with pytest.raises(UsageError, match="order"):
        read_battles(frame, order="ca")
    with pytest.raises(UsageError, match="no column"):
        read_battles(frame, judges=["gpt-4"])
    with pytest.raises(UsageError, match="no column 'vote'"):
        read_battles(frame, columns={"human": "vote"})


def test_rows_of_several_files_are_told_apart(tmp_path: Path) -> None:
    for k, human in enumerate(("1", "maybe")):
        (tmp_path / f"{k}.csv").write_text(f"item,model_a,model_b,human\n{k},x,y,{human}\n")
    with pytest.raises(InputError) as caught:
        read_battles(str(tmp_path / "*.csv"))
    assert "1.csv" in caught.value.problems[0].found
    assert caught.value.problems[0].rows == (1,)


@pytest.mark.slow
def test_arena_file_is_read_without_a_word(shared_data: Path) -> None:
    battles = read_battles(shared_data / "pairwise_chatbot_arena_ppr" / "chatbot_arena_ppr.parquet")
    assert (len(battles), dict(battles.dropped)) == (3 * 26_919, {})
    assert count_battles(battles).human.votes.sum() == 26_919


def test_pandalm_verdicts_that_are_missing_are_counted(shared_data: Path) -> None:
    """`SOURCE.md`: 25 verdicts of GPT-3.5 were garbage."""
    battles = read_battles(shared_data / "pairwise_pandalm" / "pandalm_judgments.parquet")
    assert dict(battles.dropped) == {"no human vote, verdict or score": 25}


def test_words_that_cannot_be_read_are_no_contradiction_that_a_column_explains() -> None:
    """Values of a third model were called several values, with --where of a column that happened to differ."""
    votes = pd.DataFrame(
        {"item": range(8), "model_a": "x", "model_b": "y", "human": [*"xzxzxzxz"], "genre": [*"ffggffgg"]}
    )
    with pytest.raises(InputError, match="found 'z' in 4 rows") as raised:
        read_battles(votes)
    assert not raised.value.options


@pytest.mark.parametrize("ending", ["jsonl", "csv"])
@pytest.mark.parametrize(
    ("sides", "models"),
    [
        (("model_a", "model_b"), ""),
        (("answer1_id", "answer2_id"), "--column model_a=answer1_id --column model_b=answer2_id "),
    ],
)
def test_two_scores_in_a_list_are_offered_as_those_of_both_models(
    sides: tuple[str, str], models: str, ending: str, tmp_path: Path
) -> None:
    path = tmp_path / f"log.{ending}"
    named = dict(zip(sides, (["x", "y", "x", "y"], ["y", "z", "z", "x"]), strict=True))
    log = pd.DataFrame({"question_id": range(4), **named, "score": [[9.0, 6.0], [5, 8], [7, 7], [1, 2]], "judge": "g"})
    log.to_csv(path, index=False) if ending == "csv" else log.to_json(path, orient="records", lines=True)
    option = f"{models}--column score_a=score.1 --column score_b=score.2"
    with pytest.raises(UsageError, match="column 'score' has two numbers a row") as refused:
        read_battles(path)
    assert str(refused.value).endswith(option)
    assert refused.value.options == (option,)
    columns = dict(one.split("=") for one in option.replace("--column ", "").split())
    assert read_battles(path, columns=columns).frame["gap"].tolist() == [3.0, -3.0, 0.0, -1.0]


def test_two_scores_in_a_list_need_names_of_models() -> None:
    """Each id of an answer is on one row: no models."""
    ids = {"answer1_id": [*"pqrstu"], "answer2_id": [*"hijklm"]}
    log = pd.DataFrame({"question_id": range(6), **ids, "score": [[9.0, 6.0]] * 6})
    with pytest.raises(UsageError) as refused:
        read_battles(log)
    assert str(refused.value).endswith(
        "(--column score_a=score.1 --column score_b=score.2). Name the models, too "
        "(--column model_a=COLUMN --column model_b=COLUMN)."
    )
    assert refused.value.options == ()
    # One list of three, and words next to numbers, are no two scores.
    for other in ([[1, 2]] * 5 + [[1, 2, 3]], [[1, "x"]] * 6):
        with pytest.raises(InputError):
            read_battles(log.assign(score=other))


def log_of_answers(*, items: int, battles: int, names: str) -> pd.DataFrame:
    """Battles of ``names``, which may have the item in them, two other ones each."""
    rows = [
        (i, names.format(i=i, k=2 * k), names.format(i=i, k=2 * k + 1)) for i in range(items) for k in range(battles)
    ]
    frame = pd.DataFrame(rows, columns=["item", "model_a", "model_b"])
    return frame.assign(judge="g", verdict=np.tile(["a", "b", "tie"], len(frame))[: len(frame)])


def test_ids_of_answers_are_no_models() -> None:
    """A fit of 640 names that no item shares did not end within ten minutes."""
    ids = log_of_answers(items=80, battles=4, names="{i}-{k}").rename(columns={"model_a": "response_a"})
    with pytest.raises(UsageError) as refused:
        read_battles(ids, columns={"model_a": "response_a"})
    assert str(refused.value).startswith(
        "columns 'response_a' and 'model_b' of the table have 640 names, of which 640 are each in the battles of one "
        "item only (80 items)"
    )
    assert str(refused.value).endswith(": --column model_a=COLUMN --column model_b=COLUMN")
    # One baseline in every battle compares them with itself alone.
    mixed = log_of_answers(items=20, battles=1, names="{i}-{k}").assign(model_b="base")
    with pytest.raises(UsageError, match="have 21 names, of which 20 are each"):
        read_battles(mixed)


@pytest.mark.parametrize(
    "log",
    [
        log_of_answers(items=10, battles=1, names="{i}-{k}"),  # 20 models on a prompt each
        log_of_answers(items=2, battles=12, names="{i}-{k}"),
        log_of_answers(items=80, battles=12, names="{k}"),  # 24 models on every item
        log_of_answers(items=80, battles=4, names="{i}-{k}").drop(columns="item"),  # nothing says what was answered
        # 45 names, 40 of them on one item alone.
        log_of_answers(items=20, battles=2, names="{i}-{k}").replace(
            {f"{i}-{k}": f"s{i % n}" for i in range(20) for k, n in ((1, 5), (2, 5))}
        ),
    ],
)
def test_models_on_few_items_are_models(log: pd.DataFrame) -> None:
    assert len(read_battles(log)) == len(log)


def test_places_of_answers_are_no_models(tmp_path: Path) -> None:
    """JudgeBench's two answers are one model's: an Elo called answer A the best of two models."""
    log = pd.DataFrame({"item": [1, 2, 3], "model_a": "answer A", "model_b": "Answer B", "winner": [*"aba"]})
    with pytest.raises(UsageError, match=r"'Answer B' and 'answer A' in .* are places of answers, not the models"):
        read_battles(log)
    log.to_csv(tmp_path / "log.csv", index=False)
    lacks = inspect_source(tmp_path / "log.csv").questions["elo"].lacks
    assert lacks == ["names of models: 'Answer B' and 'answer A' are places of answers"]
    assert read_battles(log.replace("answer A", "x")).frame["model_a"].tolist() == ["x", "x", "x"]
