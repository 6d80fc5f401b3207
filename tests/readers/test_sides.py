"""Winners by name or number, judges that are people, and pairs of models within an item presented both ways round."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from bayesjudge.errors import InputError, UsageError
from bayesjudge.readers import read_battles, read_pairs, read_repeats, read_trials, read_verdicts
from bayesjudge.readers.both_ways import pairs_as_items
from bayesjudge.readers.inspection import inspect_source

BATTLES = pd.DataFrame(
    {
        "question_id": [1, 1, 2],
        "model_a": ["x", "y", "x"],
        "model_b": ["y", "z", "z"],
        "judge": "g",
        "winner": list("abb"),
    }
)


@pytest.mark.parametrize(
    ("winner", "read"),
    [
        (["x", "z", "z"], "column 'winner' names the model that won: read as a for 'model_a' and b for 'model_b'"),
        (["model_a", "z", "B"], "column 'winner' names the model that won"),
        ([1, 2, 2], "numbers of column 'winner' were read as: 1 as a, 2 as b"),
        ([1, -1, -1], "numbers of column 'winner' were read as: -1 as b, 1 as a"),
        ([1, 0, 0], "numbers of column 'winner' were read as: 1 as a, 0 as b"),
    ],
)
def test_a_winner_by_name_or_number_is_read_and_said(winner: list[Any], read: str) -> None:
    battles = read_battles(BATTLES.assign(winner=winner))
    assert battles.frame["verdict"].tolist() == [1.0, 0.0, 0.0]
    assert any(text.startswith(read) for text in battles.warnings), battles.warnings


def test_header_names_of_models_are_sides_too_and_strangers_are_not() -> None:
    named = BATTLES.rename(columns={"model_a": "model_1", "model_b": "model_2"})
    battles = read_battles(named.assign(winner=["model_1", "model_2", "model_2"]))
    assert battles.frame["verdict"].tolist() == [1.0, 0.0, 0.0]
    with pytest.raises(InputError, match="found 'q'"):
        read_battles(BATTLES.assign(winner=["x", "q", "z"]))
    # A model called b that stands on the left is no reason to read the word b otherwise.
    called = BATTLES.assign(model_a=["b", "y", "x"], winner=["b", "a", "a"])
    assert read_battles(called).frame["verdict"].tolist() == [0.0, 1.0, 1.0]


def test_a_third_number_is_a_tie_zero_among_them_is_refused_and_a_reply_that_was_not_read_is_none() -> None:
    found = read_battles(BATTLES.assign(winner=[1, 3, 2])).frame["verdict"]
    assert found.tolist() == [1.0, 0.5, 0.0]
    # Some write a, b and tie as 0, 1 and 2, others tie, a and b.
    with pytest.raises(InputError, match="found 2") as unclear:
        read_battles(BATTLES.assign(winner=[1, 0, 2]))
    assert unclear.value.options == tuple(f"--set 'winner={{winner:{words}}}'" for words in UNCLEAR)
    words = read_battles(BATTLES.assign(winner=["tie (all bad)", "invalid", "model_b"]))
    assert words.frame["verdict"].tolist() == [0.5, 0.0]
    assert sum(words.dropped.values()) == 1


def test_votes_of_a_judge_called_human_are_peoples() -> None:
    both = pd.concat([BATTLES, BATTLES.assign(judge="Human", winner=list("aab"))])
    battles = read_battles(both)
    assert sorted(battles.frame["human"].dropna()) == [0.0, 1.0, 1.0]
    assert battles.frame["judge"].dropna().unique().tolist() == ["g"]
    assert "3 rows of the judge 'Human' were read as people's" in battles.warnings
    # Where all are human, a judge of that name is a judge.
    alone = read_battles(BATTLES.assign(judge="human"))
    assert alone.frame["human"].isna().all()
    assert any("if people voted, `--column human=winner` makes them votes" in text for text in alone.warnings)
    voted = read_battles(BATTLES.assign(judge="human"), columns={"human": "winner"})
    assert voted.frame["human"].notna().all()
    assert not any("if people voted" in text for text in (*voted.warnings, *battles.warnings))


@pytest.mark.parametrize("column", ["reviewer", "llm_judge"])
def test_a_column_named_as_the_judge_is_the_judge_of_columns_like_lmarenas(column: str) -> None:
    """The winner was a person's vote in every row, whatever judge the user named."""
    rows = [(k, "m1", "m2", "model_a", "gpt-4") for k in range(3)] + [(0, "m1", "m2", "model_b", "human")]
    log = pd.DataFrame(rows, columns=["question_id", "model_a", "model_b", "winner", column])
    battles = read_battles(log, columns={"judge": column}).frame
    assert (battles["human"].notna().sum(), battles["verdict"].notna().sum()) == (1, 3)
    assert inspect_source(log, columns={"judge": column}).questions["elo"].why == "4 comparisons, 1 vote of people"


def test_verdicts_of_a_judge_called_human_are_labels() -> None:
    log = pd.DataFrame({"item": [1, 2, 1, 2], "model": "m", "judge": list("ggHH"), "verdict": [1, 0, 1, 1]})
    table = read_verdicts(log.replace({"judge": {"H": "human"}}))
    assert table.frame[["judge", "verdict", "label"]].to_numpy().tolist() == [["g", 1, 1], ["g", 0, 1]]
    assert "2 rows of the judge 'human' were read as people's" in table.warnings


def test_a_judge_that_is_set_is_no_person() -> None:
    votes = BATTLES.drop(columns="judge").assign(winner=["model_a", "model_b", "tie"])
    assert read_battles(votes).frame["human"].notna().all()
    judged = read_battles(votes, put={"judge": "gpt-4"})
    assert judged.frame["human"].isna().all()
    assert set(judged.frame["judge"]) == {"gpt-4"}
    assert read_battles(votes.assign(judge_model="gpt-4")).frame["human"].isna().all()


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (["judge_pick"], "column 'judge_pick' was read as the judge's verdicts"),
        (["gpt choice", "says"], "column 'gpt choice' was read as the judge's verdicts"),
        (["says"], "column 'judge_model' names judges, and no column was read as their verdicts: if 'says' holds them"),
        (["judge_pick", "llm_choice"], "if 'judge_pick' holds them, `--column {0}=judge_pick`; if 'llm_choice' holds"),
        (["user_pick"], "if 'user_pick' holds them, `--column {0}=user_pick`"),
        (["final_choice"], ""),
    ],
)
def test_what_a_judge_chose_next_to_votes_is_its_verdict_or_named(names: list[str], said: str) -> None:
    """A verdict under a name of its own was dropped, and each vote counted once per judge."""
    frame = pd.DataFrame({"comparison_id": [1, 1, 2, 2], "model_a": "x", "model_b": "y", "human_winner": "a"})
    frame = frame.assign(judge_model=[*"jkjk"], error="", **{name: [*"ABBA"] for name in names})
    battles, read = read_battles(frame), "was read as the judge's" in said
    assert (battles.frame["verdict"].tolist() == [1, 0, 0, 1]) == read
    assert [text for text in battles.warnings if "verdicts" in text and said.format("verdict") in text] or not said
    assert read_battles(frame, columns={"verdict": names[0]}).frame["verdict"].tolist() == [1, 0, 0, 1]
    assert not read or said in read_pairs(frame).warnings
    assert read_pairs(frame, columns={"judge_prefers": names[0]}).frame["judge_prefers"].tolist() == [*"abba"]


@pytest.mark.parametrize(("name", "picks"), [("judge_pick", ["x", "y", "tie"]), ("GPT-4 choice", ["A", "B", "tie"])])
@pytest.mark.parametrize("judge", [{}, {"judge_model": ["x", "x", "x"]}])
def test_what_a_judge_chose_of_two_models_is_its_verdict_without_votes(
    name: str, picks: list[str], judge: dict[str, list[str]]
) -> None:
    """The item, the models and the run say enough; a judge that is one of the models is no pick."""
    log = pd.DataFrame({"item": "q", "run": [0, 1, 2], "model_a": "x", "model_b": "y", **judge, name: picks})
    trials, _ = read_repeats(log)
    assert trials is not None
    assert trials.frame["outcome"].tolist() == ["a", "b", "tie"]
    assert f"column {name!r} was read as the judge's verdicts" in trials.warnings
    assert read_trials(log).warnings == trials.warnings
    assert read_battles(log).frame["verdict"].tolist() == [1, 0, 0.5]
    assert read_pairs(log, where={"run": 1}).frame["judge_prefers"].tolist() == ["b"]


@pytest.mark.parametrize(
    ("codes", "read", "said"),
    [
        ((1, 2, 3), [1.0, 0.0, 0.5], "--column {}=score reads them so"),
        ((-1, 0, 1), [0.0, 0.5, 1.0], "--column {}=score reads them so"),
        ((0, 1, 2), [], "nothing says which is which: --set '{}={{score:0=tie,1=a,2=b}}' or --set '{}={{score:0=a,"),
        ((1.5, 2, 3), [], ""),
        ((1, 2, 3, 4), [], ""),
    ],
)
def test_few_scores_of_comparisons_may_be_codes_of_the_winner(
    codes: tuple[float, ...], read: list[float], said: str
) -> None:
    said, scored = (said.format(name, name) for name in ("verdict", "outcome"))
    log = pd.DataFrame({"item": range(len(codes)), "model_a": "x", "model_b": "y", "judge": "j", "score": codes})
    with pytest.raises((InputError, UsageError)) as raised:
        read_battles(log)
    assert said in str(raised.value)
    unclear = tuple(f"--set 'verdict={{score:{words}}}'" for words in UNCLEAR) if codes == (0, 1, 2) else ()
    assert raised.value.options == (("--column verdict=score",) if read else unclear)
    assert not read or read_battles(log, columns={"verdict": "score"}).frame["verdict"].tolist() == read
    for table, noted in ((log, bool(said)), (log.assign(winner="a"), False)):
        # Next to a winner they are grades.
        _, scores = read_repeats(table)
        assert scores is not None
        found = [text for text in scores.warnings if "may be codes of the winner" in text]
        assert len(found) == noted
        assert all(scored in text for text in found)


def test_numbers_of_arena_votes_are_said() -> None:
    votes = BATTLES.drop(columns="judge").assign(winner=[0, 1, 1])
    assert "numbers of column 'winner' were read as: 1 as a, 0 as b" in read_battles(votes).warnings
    # Where -1 gives a code away, 0 was said to be b and a tie.
    found = read_battles(votes.assign(winner=[0, 1, -1]))
    said = [text for text in found.warnings if "were read as" in text]
    assert said == ["numbers of column 'winner' were read as: -1 as b, 0 as tie, 1 as a"]
    assert found.frame["human"].tolist() == [0.5, 1.0, 0.0]


#: What 0, 1 and 2 may mean.
UNCLEAR = ("0=tie,1=a,2=b", "0=a,1=b,2=tie")


@pytest.mark.parametrize("kind", ["verdict", "human", "winner of votes", "another name"])
def test_codes_that_nothing_explains_are_stated_by_a_complete_command(kind: str, tmp_path: Path) -> None:
    """They were refused: recode them. Nothing is guessed: both ways to write them are offered, each of which reads."""
    column = {"winner of votes": "winner", "another name": "winner code"}.get(kind, kind)
    path, votes = tmp_path / "log.csv", kind in {"human", "winner of votes"}
    log = BATTLES.drop(columns=["winner", "judge"]).assign(**{column: [0, 1, 2]})
    log.to_csv(path, index=False)
    with pytest.raises((InputError, UsageError)) as raised:
        read_battles(path)
    commands = inspect_source(path).questions["elo"].commands
    assert len(commands) == len(raised.value.options) == 2
    assert all(command.endswith(option) for command, option in zip(commands, raised.value.options, strict=True))
    for command, words, outcomes in zip(commands, UNCLEAR, ([0.5, 1.0, 0.0], [1.0, 0.0, 0.5]), strict=True):
        assert words in command
        found = read_as_typed(command)
        assert found["human" if votes else "verdict"].tolist() == outcomes
    # What is not in the list stays, and is refused by its row; a list that is none is no column.
    with pytest.raises(InputError, match=r"row 3: found '2'"):
        read_battles(path, put={"human": f"{{{column}:0=tie,1=a}}"}, format="table", columns={"verdict": "human"})
    with pytest.raises(UsageError, match=r"no column '.*:0,1=a'"):
        read_battles(path, put={"human": f"{{{column}:0,1=a}}"}, format="table")


NAMES = {"question": [*"pqrst"], "system_1": [*"xyxzx"], "system_2": [*"yzzxy"]}


@pytest.mark.parametrize(
    ("columns", "outcomes"),
    [
        ({**NAMES, "outcome": ["A", "B", "tie", "A", "B"]}, [1, 0, 0.5, 1, 0]),
        (
            {**NAMES, "rater_1": [*"mnmnm"], "rater_2": [*"nmnmn"], "says": ["x", "z", "x", "z", "tie"]},
            [1, 0, 1, 1, 0.5],
        ),
        (
            {"prompt": [*"pqrst"], "model x": [*"opoop"], "model y": [*"popqo"], "preferred": [1, 2, 2, 1, 1]},
            [1, 0, 0, 1, 1],
        ),
        (
            {"model_a": [*"xyxzx"], "model_b": [*"yzzxy"], "who": ["[[A]]", "[[C]]", "[[B]]", "A", "B"]},
            [1, 0.5, 0, 1, 0],
        ),
    ],
)
def test_comparisons_under_other_names_are_asked_about(
    columns: dict[str, list[Any]], outcomes: list[float], tmp_path: Path
) -> None:
    """Nothing was offered, though options would read them; whether a judge or people chose is for the user to state."""
    path = tmp_path / "log.csv"
    pd.DataFrame(columns).to_csv(path, index=False)
    found = inspect_source(path)
    assert not found.questions["elo"].possible
    assert found.usable
    by_judge, by_people = map(read_as_typed, found.questions["elo"].commands)
    assert by_judge["verdict"].tolist() == outcomes
    assert by_people["human"].tolist() == outcomes
    assert len(set(by_judge["model_a"])) > 1


@pytest.mark.parametrize(
    "columns",
    [
        # Grades, texts of answers, and names of the same person are no models; two outcomes are no choice.
        {"score_1": [1, 2, 2, 1], "score_2": [2, 1, 1, 2], "outcome": [*"ABAB"]},
        {"response_1": ["so", "or", "so not", "no"], "response_2": ["a", "b", "c", "d"], "outcome": [*"ABAB"]},
        {"rater_1": [*"mnmm"], "rater_2": [*"nmmn"], "outcome": [*"ABAB"]},
        {"system_1": [*"xyxy"], "system_2": [*"yxyx"], "said": [*"ABAB"], "other": [*"ABBB"]},
        {"system_1": [*"xyxy"], "system_2": [*"yxyx"], "grade": [*"ABCD"]},
    ],
)
def test_no_comparisons_are_seen_in_other_columns(columns: dict[str, list[Any]], tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    pd.DataFrame({"item": [*"pqrs"], **columns}).to_csv(path, index=False)
    assert inspect_source(path).questions["elo"].commands == []


def read_as_typed(command: str) -> pd.DataFrame:
    """The battles that a command reads."""
    _, question, path, *options = shlex.split(command)
    assert question == "elo"
    pairs = list(zip(options[::2], options[1::2], strict=True))
    columns, put = (
        dict(text.split("=", 1) for option, text in pairs if option == name) for name in ("--column", "--set")
    )
    return read_battles(path, columns=columns, put=put, format=dict(pairs).get("--format")).frame


def test_different_pairs_on_one_question_are_no_repetitions() -> None:
    assert not inspect_source(BATTLES).questions["reliability"].possible
    twice = pd.concat([BATTLES, BATTLES.assign(winner=list("aba"))])
    trials, _ = read_repeats(twice)
    assert trials is not None
    assert trials.frame.groupby("item")["outcome"].apply(list).to_dict() == {
        "1: x / y": ["a", "a"],
        "1: y / z": ["b", "b"],
        "2: x / z": ["b", "a"],
    }


def test_a_pair_both_ways_round_is_one_item_in_two_orders() -> None:
    """A judge that always prefers the answer presented first: every pair is a tie over both orders."""
    back = BATTLES.rename(columns={"model_a": "model_b", "model_b": "model_a"}).assign(winner="a")
    trials, _ = read_repeats(pd.concat([BATTLES.assign(winner="a"), back]))
    assert trials is not None
    found = trials.frame.set_index(["item", "order"])["outcome"]
    assert found.to_dict() == {
        (item, order): outcome
        for item in ("1: x / y", "1: y / z", "2: x / z")
        for order, outcome in (("ab", "a"), ("ba", "b"))
    }
    assert any("'model_a' is taken to be presented first" in text for text in trials.warnings)
    # An order that the log states is turned with its row.
    stated, _ = read_repeats(pd.concat([BATTLES.assign(winner="a", order="ba"), back.assign(order="ab")]))
    assert stated is not None
    assert set(stated.frame["order"]) == {"ba"}
    assert not any("taken to be presented first" in text for text in stated.warnings)


@pytest.mark.parametrize(
    ("words", "more", "read"),
    [
        (["correct", "Incorrect", "correct", None], {}, True),
        ([True, False, True, None], {}, True),
        (["pass", "fail", "pass", "error"], {"judge": "j"}, True),
        (["yes", "no", "perhaps", None], {}, False),
        (["yes", "no", "tie", None], {}, False),
        # Of comparisons and of choices among options it is not known which a yes is.
        (["yes", "no", "yes", None], {"order": "ab"}, False),
        (["yes", "no", "yes", None], {"model": "m"}, False),
        (["yes", "no", "yes", None], {"model_a": "x", "model_b": "y"}, False),
    ],
)
def test_repeated_verdicts_in_words_of_yes_and_no_are_one_and_zero(
    words: list[Any], more: dict[str, Any], read: bool
) -> None:
    log = pd.DataFrame({"item": 1, "trial": range(4), "outcome": pd.Series(words, dtype=object), **more})
    if not read:
        with pytest.raises(InputError, match="'outcome'"):
            read_repeats(log)
        return
    trials, _ = read_repeats(log)
    numbers, _ = read_repeats(log.assign(outcome=[1, 0, 1, None]))
    assert trials is not None
    assert numbers is not None
    assert trials.single
    pd.testing.assert_frame_equal(trials.frame, numbers.frame)
    assert "words of 'outcome' mean yes and no: 2 yes, 1 no" in trials.warnings


@pytest.mark.parametrize(
    ("name", "more", "single"),
    [
        ("verdict", {}, True),
        ("outcome", {}, True),
        ("winner", {}, False),
        ("judge_prefers", {}, False),
        ("verdict", {"order": "ab"}, False),
        ("verdict", {"model_a": "x", "model_b": "y"}, False),
    ],
)
def test_zero_and_one_are_of_one_answer_unless_two_were_compared(name: str, more: dict[str, str], single: bool) -> None:
    trials = read_trials(pd.DataFrame({"item": 1, "trial": range(3), name: [1, 0, 1], **more}))
    assert trials.single is single
    assert any("on one answer each" in text for text in trials.warnings) is single


def test_options_called_yes_and_no_stay_options() -> None:
    log = pd.DataFrame({"item": 1, "trial": [0, 1], "outcome": ["yes", "no"], "choices": "yes,no"})
    trials, _ = read_repeats(log)
    assert trials is not None
    assert not any("mean yes and no" in text for text in trials.warnings)


def test_grades_without_models_are_no_winners() -> None:
    grades = pd.DataFrame({"item": [1, 1], "judge": "g", "verdict": [1, 2]})
    with pytest.raises(InputError, match="found 2"):
        read_repeats(grades)


def test_scores_of_both_answers_change_places_with_them() -> None:
    frame = pd.DataFrame(
        {"item": 1, "model_a": ["x", "y"], "model_b": ["y", "x"], "score_a": [9, 3], "score_b": [4, 8]}
    )
    turned, _ = pairs_as_items(frame)
    assert turned[["score_a", "score_b"]].to_numpy().tolist() == [[9, 4], [8, 3]]
    assert turned[["model_a", "model_b"]].to_numpy().tolist() == [["x", "y"], ["x", "y"]]
    assert turned["item"].tolist() == [1, 1]
    _, scores = read_repeats(frame.assign(judge="g"))
    assert scores is not None
    assert scores.frame.groupby("response")["score"].apply(list).to_dict() == {"a": [9, 8], "b": [4, 3]}


def test_an_audit_of_questions_and_models_takes_their_pairs_as_items() -> None:
    pairs = read_pairs(BATTLES.assign(human=list("aaa")))
    assert pairs.frame[["item", "judge_prefers", "human_prefers"]].to_numpy().tolist() == [
        ["1: x / y", "a", "a"],
        ["1: y / z", "b", "a"],
        ["2: x / z", "b", "a"],
    ]
    assert pairs.frame["question"].tolist() == ["1", "1", "2"]


def test_how_probabilities_count_is_said_where_no_verdict_is_stated() -> None:
    said = "a judge's probabilities count as wins above 0.5"
    alone = BATTLES.drop(columns="winner").assign(prob_a=[0.7, 0.2, 0.5])
    assert any(text.startswith(said) for text in read_battles(alone).warnings)
    for other in (alone.assign(verdict=list("abt")).replace({"t": "tie"}), alone.assign(prob_a=[1.0, 0.0, 0.5])):
        assert not any(text.startswith(said) for text in read_battles(other).warnings)


def test_an_audit_of_items_with_several_pairs_takes_each_pair_as_an_item() -> None:
    frame = pd.DataFrame(
        {
            "item": [1, 1, 1],
            "model_a": ["x", "x", "y"],
            "model_b": ["y", "z", "z"],
            "verdict": [*"aba"],
            "human": [*"aab"],
        }
    )
    assert read_pairs(frame).frame["item"].tolist() == ["1: x / y", "1: x / z", "1: y / z"]


def test_words_next_to_winners_by_name_are_ties_or_named_alone() -> None:
    frame = pd.DataFrame({"item": [1, 2, 3, 4], "model_a": "x", "model_b": "y", "judge": "j"})
    table = read_battles(frame.assign(winner=["x", "y", "inconsistent", "error"]))
    assert table.frame["verdict"].tolist()[:3] == [1.0, 0.0, 0.5]
    assert len(table) == 3
    with pytest.raises(InputError, match=r"found 'unclear'") as raised:
        read_battles(frame.assign(winner=["x", "y", "x", "unclear"]))
    assert len(raised.value.problems) == 1


def test_a_column_of_raters_makes_no_other_column_a_judge() -> None:
    frame = pd.DataFrame({"id": [1, 2], "instance_id": [7, 7], "model_a": "x", "model_b": "y", "evaluator": ["p", "q"]})
    with pytest.raises(InputError, match="found 2 columns that could be meant: 'id', 'instance_id'") as raised:
        read_battles(frame.assign(preference=["a", "tie"]))
    assert raised.value.options == ("--column item=id", "--column item=instance_id")
    table = read_battles(frame.assign(preference=["a", "tie"]), columns={"item": "instance_id"})
    assert table.frame[["item", "judge", "verdict"]].to_numpy().tolist() == [["7", "p", 1.0], ["7", "q", 0.5]]


def test_a_column_for_each_order_names_what_stood_first() -> None:
    frame = pd.DataFrame({"item": [1, 2], "model_a": "x", "model_b": "y", "ab": ["A", "B"], "ba": ["A", "tie"]})
    found = read_battles(frame, wide="shown:order=ab,ba").frame.sort_values(["item", "order"])
    assert found[["item", "order", "verdict"]].to_numpy().tolist() == [
        ["1", "ab", 1.0],
        ["1", "ba", 0.0],
        ["2", "ab", 0.0],
        ["2", "ba", 0.5],
    ]
    trials, _ = read_repeats(frame.assign(judge="j"), wide="shown:order=ab,ba")
    assert trials is not None
    assert dict(zip(trials.frame["item"] + trials.frame["order"], trials.frame["outcome"], strict=True)) == {
        "1ab": "a",
        "1ba": "b",
        "2ab": "b",
        "2ba": "tie",
    }
    for wrong in ("shown:order=ab", "shown:model=ab,ba", "score:order=ab,ba"):
        with pytest.raises(UsageError, match="shown:order="):
            read_battles(frame, wide=wrong)


def test_a_column_for_each_order_may_name_the_same_answers_in_both() -> None:
    """As `prediction_swapped` does once it is turned back; the two columns could not be read at all."""
    frame = pd.DataFrame({"id": [1, 2, 3], "gold": [1, 2, 1], "one": [1, 2, 1], "two": [2, 2, None]})
    trials, _ = read_repeats(frame.assign(judge="j"), wide="verdict:order=one,two")
    assert trials is not None
    found = trials.frame.sort_values(["item", "order"])[["item", "order", "outcome"]]
    assert found.to_numpy().tolist() == [
        ["1", "ab", "a"],
        ["1", "ba", "b"],
        ["2", "ab", "b"],
        ["2", "ba", "b"],
        ["3", "ab", "a"],
    ]
    assert dict(trials.dropped) == {"missing outcome": 1}
    with pytest.raises(
        UsageError, match=r"verdict:order=one: name two columns, first that in which a was shown first$"
    ):
        read_repeats(frame.assign(order="ab"), wide="verdict:order=one")


def test_one_column_of_places_is_turned_by_the_order_of_each_row() -> None:
    """Next to a column of orders, whatever its name, one column may hold what stood first and second."""
    rows = {"item": [1, 1, 2, 2, 3], "judge": "j", "shown": ["AB", "BA", "ab", "ba", None], "says": [*"AABB", "A"]}
    frame = pd.DataFrame({**rows, "model_a": "x", "model_b": "y"})
    columns = {"order": "shown"}
    trials, _ = read_repeats(frame, columns=columns, wide="shown:order=says")
    assert trials is not None
    assert trials.frame[["order", "outcome"]].to_numpy().tolist() == [
        ["ab", "a"],
        ["ba", "b"],
        ["ab", "b"],
        ["ba", "a"],
    ]
    assert dict(trials.dropped) == {"missing outcome": 1}
    battles = read_battles(frame.dropna(), columns=columns, wide="shown:order=says")
    assert battles.frame["verdict"].tolist() == [1.0, 0.0, 0.0, 1.0]
    audited = read_pairs(frame[frame["shown"] == "BA"], columns=columns, wide="shown:order=says")
    assert audited.frame["judge_prefers"].tolist() == ["b"]
    # Words of places and their numbers; a log of 3,609 verdicts, first and second, was refused with --wide too.
    for places in ({"A": "First", "B": "second"}, {"A": 1, "B": 2}):
        there = frame.assign(says=frame["says"].map(places))
        again, _ = read_repeats(there, columns=columns, wide="shown:order=says")
        assert again is not None
        assert again.frame["outcome"].tolist() == trials.frame["outcome"].tolist()
        both = pd.DataFrame({"item": [1, 2], "model_a": "x", "model_b": "y", "one": list("AB"), "two": list("AB")})
        both = both.assign(one=both["one"].map(places), two=both["two"].map(places))
        found = read_battles(both, wide="shown:order=one,two").frame.sort_values(["item", "order"])
        assert found["verdict"].tolist() == [1.0, 0.0, 0.0, 1.0]
    with pytest.raises(InputError, match="first and second, of places, by --wide shown:order=COLUMN"):
        read_repeats(frame.assign(says=frame["says"].map({"A": "first", "B": "second"})), columns={"outcome": "says"})


def test_columns_of_both_orders_are_offered_and_are_the_outcome_next_to_a_winner_over_both() -> None:
    frame = pd.DataFrame(
        {
            "question_id": ["q", "r"],
            "model_a": "x",
            "model_b": "y",
            "judge_id": "j",
            "winner": ["x", "tie"],
            "winner_ab": ["A", "B"],
            "winner_ba": ["B", "B"],
        }
    )
    command = "bayesjudge reliability FILE --wide shown:order=winner_ab,winner_ba"
    assert inspect_source(frame).questions["reliability"].commands == [command]
    trials, _ = read_repeats(frame, wide="shown:order=winner_ab,winner_ba")
    assert trials is not None
    by_order = trials.frame.sort_values(["item", "order"])
    assert by_order["outcome"].tolist() == ["a", "a", "b", "a"]
    for other in (frame.assign(winner_ba="see text"), frame.rename(columns={"winner_ba": "loser_ba"})):
        assert inspect_source(other).questions["reliability"].commands == []


def test_a_slot_of_other_letters_than_the_outcomes_is_asked_about() -> None:
    frame = pd.DataFrame({"item": ["q", "q"], "judge": "j", "trial": [1, 2], "outcome": ["A", "D"], "slot": ["A", "B"]})
    with pytest.raises(
        UsageError, match=r"'outcome' and 'slot' have different letters in 1 of 2 .* column order .*slot=slot"
    ):
        read_repeats(frame)
    for known, columns in (
        (frame, {"slot": "slot"}),
        (frame.assign(slot=["A", "D"]), None),
        (frame.assign(slot=[1, 2]), None),
        (frame.assign(order=["A,B,D", "A,D,B"]), None),
    ):
        trials, _ = read_repeats(known, columns=columns)
        assert trials is not None
        assert len(trials) == 2


def test_counts_of_two_names_are_offered_as_comparisons(tmp_path: Path) -> None:
    pairs = [(one, two) for k, one in enumerate("vwxyz") for two in "vwxyz"[k + 1 :]]
    table = pd.DataFrame(pairs, columns=["task_a", "task_b"]).assign(n_a=range(10), n_b=2)
    table.to_csv(tmp_path / "counts.csv", index=False)
    found = inspect_source(str(tmp_path / "counts.csv")).questions["elo"]
    said = "--column model_a=task_a --column model_b=task_b"
    assert found.commands == [f"bayesjudge elo {tmp_path / 'counts.csv'} {said}"]
    wins = table.rename(columns={"n_a": "wins", "n_b": "losses"})
    named = {"model_a": "task_a", "model_b": "task_b", "n_a": "wins", "n_b": "losses"}
    assert read_battles(wins, columns=named).frame["verdict"].sum() == table["n_a"].sum()


@pytest.mark.parametrize("ours", ["verdict", "outcome", "judge_prefers"])
def test_words_that_grade_the_winner_are_offered_as_who_won(ours: str) -> None:
    words = ["slight_A", "strongly B", "tie", "A"]
    rows = pd.DataFrame({"item": range(8), "model_a": "x", "model_b": "y", "says": words * 2})

    def wins(words: pd.DataFrame, **put: Any) -> list[Any]:
        if ours == "verdict":
            return read_battles(words, columns={ours: "says"}, **put).frame["verdict"].map({1: "a", 0: "b"}).tolist()
        if ours == "outcome":
            (trials, _) = read_repeats(words, columns={ours: "says"}, **put)
            return [] if trials is None else trials.frame["outcome"].tolist()
        return read_pairs(words.assign(human="a"), columns={ours: "says"}, **put).frame["judge_prefers"].tolist()

    with pytest.raises(InputError, match="'says' grade the winner, and grades are not used") as raised:
        wins(rows)
    assert raised.value.options == ("--set 'says={says:slight_A=a,strongly B=b}'",)
    found = wins(rows, put={"says": "{says:slight_A=a,strongly B=b}"})
    assert (found[0], found[1], found[3]) == ("a", "b", "a")
    # Which side these words mean, or whether they can be typed, is not clear.
    for word in ("A not better", "A over B", "hm", "A: much", "worse_A"):
        with pytest.raises(InputError) as raised:
            wins(rows.assign(says=[word, *words[1:]] * 2))
        assert raised.value.options == ()
