"""Every question, put to every raw table there is: an answer, or a message whose first command answers."""

from __future__ import annotations

import json
import shlex
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from commands import run

from bayesjudge.cli.running import TYPED

QUESTIONS = ("accuracy", "elo", "reliability", "audit")
DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
TABLES = sorted(str(path.relative_to(DATA)) for kind in ("parquet", "csv") for path in DATA.glob(f"*/*.{kind}"))
#: What is said of people's labels, of texts and of published results, from which alone nothing is answered.
ALONE = "give it to --items in the command on the log of the verdicts"
TEXTS = "It holds answers that nothing judged"
NO_LOG = "tables of results cannot be used"
NO_LOGS = ("votes", "items", "texts", "figures", "leaderboard", "arena_vs_judges")
#: Whether there is an answer is asked, not what it is.
FEW = ("--draws", "20")
#: One posterior a judge, of up to 33, and 80,000 cells, take minutes to hours.
SOME = {
    ("accuracy", "triviaqa_judges"): ("--judge", "GPT-4", "--judge", "EM"),
    ("reliability", "mtbench_judgments"): ("--judge", "gpt-4-0613-pairwise"),
    ("accuracy", "trec_llmjudge"): ("--judge", "NISTRetrieval-instruct0", "--judge", "NISTRetrieval-instruct1"),
    ("reliability", "llmbar_judgments"): ("--where", "prompt=Rating"),
}


def typed(*words: Any) -> tuple[int, str]:
    """Exit code and what a user reads on standard error."""
    return _answered(tuple(map(str, words)))


@cache
def _answered(words: tuple[str, ...]) -> tuple[int, str]:
    """Of each command once: one answers the messages of several questions."""
    token = TYPED.set(list(words))
    try:
        ran = run(*words)
    finally:
        TYPED.reset(token)
    return ran.exit_code, ran.stderr


def first_command(message: str) -> list[str]:
    """The words after ``bayesjudge`` of the first command that a message gives, in a line of its own or as its end."""
    typed = [line for line in message.splitlines() if line.strip().startswith(("Type ", "Ask instead: "))]
    line, *_ = typed or [message.strip()]
    _, _, words = line.rpartition("bayesjudge ")
    return shlex.split(words, comments=True)


def written_to(command: str, folder: Path) -> list[str]:
    """Options after which a command writes into this folder, and nothing where it runs."""
    judge = ["--batch", str(folder / "requests.jsonl")]
    return judge if command == "judge" else ["--html", str(folder / "demo.html"), *FEW]


@pytest.fixture(scope="module")
def demonstrated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for all tables: the demonstration, of which many messages speak, is then one command."""
    return tmp_path_factory.mktemp("demonstrated")


@pytest.mark.slow
@pytest.mark.skipif(not TABLES, reason="needs the raw tables next to the project")
@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("question", QUESTIONS)
def test_a_question_is_answered_or_its_message_gives_a_command_that_answers(
    question: str, table: str, demonstrated: Path, tmp_path: Path
) -> None:
    log = DATA / table
    code, message = typed(question, log, *SOME.get((question, log.stem), ()), *FEW)
    assert code in {0, 2}, message
    if code == 0:
        return
    if not any(word in log.stem for word in NO_LOGS):
        assert not any(said in message for said in (ALONE, TEXTS, NO_LOG))
    assert "Traceback" not in message
    words = first_command(message)
    if words[0] in {"judge", "demo"}:
        folder = demonstrated if words[0] == "demo" else tmp_path
        assert typed(*words, *written_to(words[0], folder))[0] == 0
        return
    if "ITEMS.csv" in words:
        if not (items := list(log.parent.glob("*_items.parquet"))):
            return  # no one's preferences are known here, and the message states which columns they would have
        words[words.index("ITEMS.csv")] = str(items[0])
    code, message = typed(*words, *SOME.get((words[0], log.stem), ()), *(() if FEW[0] in words else FEW))
    assert code == 0, message


@pytest.mark.skipif(not TABLES, reason="needs the raw tables next to the project")
@pytest.mark.parametrize("table", [name for name in TABLES if name.endswith("votes.parquet") or "figures" in name])
def test_labels_alone_and_published_results_are_no_log(table: str) -> None:
    code, message = typed("accuracy", DATA / table)
    assert (code, message.count("\n")) == (2, 1)
    assert (ALONE if "votes" in table else NO_LOG) in message
    assert first_command(message) == ["demo"]


@pytest.mark.slow
@pytest.mark.skipif(not TABLES, reason="needs the raw tables next to the project")
def test_labels_lead_to_their_log_and_texts_to_a_judge(tmp_path: Path) -> None:
    items = DATA / "pairwise_llmbar" / "llmbar_items.parquet"
    code, message = typed("elo", items)
    assert (code, ALONE in message) == (2, True)
    words = first_command(message)
    assert words[:4] == ["audit", str(items.with_name("llmbar_judgments.parquet")), "--items", str(items)]
    code, message = typed("elo", items.with_name("llmbar_texts.parquet"))
    assert (code, TEXTS in message) == (2, True)
    words = first_command(message)
    assert words[0] == "judge"
    assert typed(*words, *written_to("judge", tmp_path))[0] == 0
    assert (tmp_path / "requests.jsonl").stat().st_size > 1_000_000


@pytest.mark.skipif(not TABLES, reason="needs the raw tables next to the project")
def test_counts_of_people_s_votes_are_no_judge_s_trials() -> None:
    code, message = typed("reliability", DATA / "pairwise_mtbench_human" / "mtbench_items.parquet")
    assert code == 2
    assert "holds people's votes: n_a and n_b with 'human', and no judge" in message
    assert first_command(message)[0] == "elo"


def test_columns_are_offered_where_one_is_lacking(tmp_path: Path) -> None:
    """Of a log that judges nothing twice it was asked which column is meant, of which none is."""
    path = tmp_path / "log.csv"
    path.write_text("item,verdict\nq1,1\nq2,0\n", encoding="utf-8")
    said = run("reliability", str(path)).stderr
    assert said.startswith(f"bayesjudge: {path} lacks a second judgement of any item by one judge.\n")
    assert "one of them is meant" in run("elo", str(path)).stderr


def test_a_message_lists_forty_columns_at_most(tmp_path: Path) -> None:
    path = tmp_path / "wide.csv"
    path.write_text(f"id,{','.join(f'c{k}' for k in range(60))}\n1{',0' * 60}\n", encoding="utf-8")
    said = run("elo", str(path)).stderr
    assert "'c38' and 21 more; if one of them is meant" in said
    assert "'c39'" not in said
    for option in ("--set=item={nope}", "--where=nope=1", "--wide=verdict:model=nope,c1"):
        said = run("accuracy", str(path), option).stderr
        assert "no column 'nope'" in said
        assert "'c38' and 21 more" in said


@pytest.mark.parametrize(
    ("cells", "option", "meaning"),
    [([3, 5, 4, 1, 2], "score", "--threshold '>="), (["Yes", "No", "Partly"], "verdict", "--verdict verdict=Yes")],
)
def test_columns_of_several_judges_are_offered_whatever_their_cells(
    cells: list[Any], option: str, meaning: str, tmp_path: Path
) -> None:
    """Of grades of six real judges no command was offered; of their words, one judge's alone."""
    path = tmp_path / "log.csv"
    rows = [f"q{k},{cells[k % len(cells)]},{cells[k % (len(cells) - 1)]}" for k in range(30)]
    path.write_text("item,gpt-4,lynx\n" + "\n".join(rows), encoding="utf-8")
    _, said = typed("accuracy", path)
    for names in ("model", "judge", "run"):
        assert f"bayesjudge accuracy {path} --wide {option}:{names}=gpt-4,lynx {meaning}" in said
    _, *words = first_command(said)
    assert typed("inspect", *words)[0] == 0


def test_verdicts_in_objects_alone_are_offered_by_their_paths(tmp_path: Path) -> None:
    """Of two real logs whose judges or criteria are in objects, no command was offered."""
    path = tmp_path / "log.jsonl"
    rows = [
        {
            "item": f"q{k}",
            "model": "m",
            "scores": {"right": k % 4, "kind": k % 3, "seed": 1, "latency": k / 7, "human": k % 2},
            "by": {"gpt": k % 2, "note": f"text {k}"},
        }
        for k in range(30)
    ]
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    code, said = typed("accuracy", path)
    assert code == 2
    offered = [line.partition(f"{path} ")[2] for line in said.splitlines() if line.startswith(("  Type ", "  or "))]
    ways = [f"--column verdict={one}" for one in ("scores.right --threshold", "scores.kind --threshold", "by.gpt")]
    assert [one.startswith(way) for one, way in zip(offered[:3], ways, strict=True)] == [True] * 3
    assert not any(name in one for one in offered for name in ("seed", "latency", "human", "note"))
    assert typed("inspect", *first_command(said)[1:])[0] == 0
