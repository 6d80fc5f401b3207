"""Damaged and hostile input: read with every row counted or refused in plain words, and never markup."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import fuzzing
import fuzzing_values
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

import bayesjudge as bj
from bayesjudge.datasets import BattleDesign, simulate_battles, simulate_pairs, simulate_verdicts
from bayesjudge.errors import InputError, Problem, UsageError
from bayesjudge.readers import read_verdicts
from bayesjudge.report import Page, render_page
from bayesjudge.tables import Battles


def outcomes(seeds: range, folder: Path) -> Counter[str]:
    """What became of the inputs of these seeds; a fault shows its seed."""
    found: Counter[str] = Counter()
    for seed in seeds:
        outcome = fuzzing.read_or_refused(fuzzing.damaged(seed), folder)
        assert outcome.state != "fault", (seed, outcome.message)
        found[outcome.state] += 1
    return found


@pytest.mark.slow
@pytest.mark.parametrize("count", [150, pytest.param(1500, marks=pytest.mark.slow)])
def test_damaged_files_are_read_whole_or_refused(count: int, tmp_path: Path) -> None:
    found = outcomes(range(20_000, 20_000 + count), tmp_path)
    # Inputs that are all refused, or all read, would test one half of this only.
    assert min(found["read"], found["refused"]) > count / 5


@pytest.mark.slow
@pytest.mark.parametrize("count", [150, pytest.param(1500, marks=pytest.mark.slow)])
def test_values_of_any_type_are_read_whole_or_refused(count: int, tmp_path: Path) -> None:
    found: Counter[str] = Counter()
    for seed in range(count):
        kind, outcome = fuzzing_values.read_values(seed, tmp_path)
        assert outcome.state != "fault", (seed, kind, outcome.message)
        found[outcome.state] += 1
    assert min(found["read"], found["refused"]) > count / 5


#: Seeds of inputs that once ended in a traceback, by what was wrong.
ONCE_FAULTS = {
    583: "no row names a model",
    1255: "a name that is a list",
    1836: "damaged notes of pandas in Parquet",
    8673: "two columns of one name",
    7408: "a column named with a page of text",
}


@pytest.mark.parametrize("seed", ONCE_FAULTS, ids=ONCE_FAULTS.values())
def test_what_was_found_stays_repaired(seed: int, tmp_path: Path) -> None:
    assert outcomes(range(seed, seed + 1), tmp_path)["refused"] == 1


@pytest.mark.parametrize("seed", [2213, 3023, 4415, 5887])
def test_integers_of_five_thousand_digits_inside_lists_are_refused(seed: int, tmp_path: Path) -> None:
    assert fuzzing_values.read_values(seed, tmp_path)[1].state == "refused"


def test_judges_of_an_empty_table_with_a_number_for_a_column_are_no_people() -> None:
    """An empty column of words, mapped, stays one of words."""
    nothing = pd.DataFrame(columns=["item", "model", "judge", "verdict", "1e5"], dtype="str")
    with pytest.raises(InputError, match="a header without rows"):
        read_verdicts(nothing)


def test_a_list_in_place_of_a_model_is_named_where_items_lack() -> None:
    log = pd.DataFrame({"story": [1, 1, 2, 2], "model": ["x", ["y"], "x", "y"], "verdict": [1, 1, 0, 1]})
    with pytest.raises(InputError, match="item"):
        read_verdicts(log)


def test_a_number_whose_variance_is_infinite_is_refused() -> None:
    log = pd.DataFrame({"item": [1, 1, 2, 2], "response": "r", "judge": "j", "trial": [1, 2] * 2})
    with pytest.raises(InputError, match=r"row 3: found 1e\+308; allowed: a number from -1e\+75 to 1e\+75"):
        bj.Scores.from_frame(log.assign(score=[1.0, 2.0, 1e308, -1e75]))
    assert len(bj.Scores.from_frame(log.assign(score=[1.0, 2.0, 1e75, -1e75])).frame) == 4


def test_a_key_of_five_thousand_digits_is_no_trial(tmp_path: Path) -> None:
    assert outcomes(range(101_095, 101_096), tmp_path)["read"] == 1


def test_text_that_is_no_unicode_in_parquet_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "log.parquet"
    table = pa.table({"item": ["damaged"], "model": ["m"], "verdict": [1]})
    parquet.write_table(table, path, compression="none", use_dictionary=False, write_statistics=False)
    path.write_bytes(path.read_bytes().replace(b"damaged", b"d\xa0mage\xff"))
    with pytest.raises(InputError, match="no readable Parquet"):
        read_verdicts(path)


def _loses_a_row(source: Any) -> Any:
    table = read_verdicts(source)
    return type(table)(table.frame.iloc[1:], table.dropped, table.warnings)


def _raises(source: Any) -> Any:
    raise KeyError(source)


@pytest.mark.parametrize("broken", [_loses_a_row, _raises])
def test_a_reader_that_loses_rows_or_raises_is_found(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, broken: Callable[[Any], Any]
) -> None:
    kind = fuzzing.Kind(frame=fuzzing.KINDS["verdicts"].frame, read=broken, rows=fuzzing.KINDS["verdicts"].rows)
    monkeypatch.setattr(fuzzing, "KINDS", {"verdicts": kind})
    states = [fuzzing.read_or_refused(fuzzing.damaged(seed), tmp_path).state for seed in range(20)]
    assert "fault" in states


@pytest.mark.parametrize("mark", ["\x1b[2J", "\x07", "\u202e", "\x00", "\r"])
def test_messages_show_what_a_terminal_would_obey(mark: str) -> None:
    problem = Problem(column="a", found=f"b{mark}", allowed="c", fix="d")
    for error in (InputError([problem]), UsageError(f"no {mark}")):
        assert mark not in str(error)
        assert mark.encode("unicode_escape").decode() in str(error)


def test_a_page_of_text_is_cut_in_a_message() -> None:
    problem = Problem(column="a", found="first" + "x" * 9000 + "last", allowed="c", fix="d")
    assert len(str(problem)) < 1200
    assert all(word in str(problem) for word in ("first", "last", "8009 characters"))


# Pages -----------------------------------------------------------------------------------------------

#: Names that would act if they were written into a page as they are.
NAMES = ("<script>alert(1)</script>", '"><img src=x onerror=alert(2)>', "</style><svg onload=alert(3)>")


class _Elements(HTMLParser):
    """Names of the elements of a page, and the attributes that act."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: Counter[str] = Counter()
        self.acting: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found[tag] += 1
        self.acting += [name for name, _ in attrs if name.startswith("on")]


def inert(answer: bj.Comparison) -> None:
    """No name became an element or an attribute; names can be read."""
    page = render_page(answer.page())
    elements = _Elements(page)
    # The page's own, the stored answer and long tables' rows: text that no browser runs and HTML does not obey.
    stored = re.findall(r'<script type="text/plain" id="stored-answer">[A-Za-z0-9+/=]*</script>', page)
    rows = re.findall(r'<script type="text/plain" class="rows">[A-Za-z0-9+/=]*</script>', page)
    assert len(stored) == 1
    own = _Elements(render_page(Page(title="t", question="q"))).found["script"]
    assert elements.found["script"] == own + len(stored) + len(rows)
    assert "onerror" not in elements.acting
    assert "onload" not in elements.acting
    assert all(name not in page for name in NAMES)
    assert "&lt;script&gt;alert(1)" in page


def with_names(frame: pd.DataFrame, *columns: str) -> pd.DataFrame:
    """The frame with hostile names instead of those that these columns hold, the same for all columns."""
    old = pd.unique(frame[list(columns)].to_numpy().ravel())
    new = dict(zip(old, NAMES, strict=False))
    return frame.assign(**{column: frame[column].replace(new) for column in columns})


@pytest.mark.slow
def test_names_stay_names_in_the_answer_about_accuracy(tmp_path: Path) -> None:
    log = with_names(simulate_verdicts(seed=3, labelled=60, unlabelled=90).verdicts.frame, "model")
    answer = bj.accuracy(log, engine="laplace", pooling="shared", draws=300, bootstrap=200, compare=False)
    inert(answer)
    written = pd.read_csv(answer.save(tmp_path) / "estimates.csv", keep_default_na=False)
    # Files for programs hold the names as they are: a name that was changed would fit no other table.
    assert set(NAMES[:2]) <= set(written["unit"])


@pytest.mark.slow
def test_names_stay_names_in_the_answer_about_elo() -> None:
    design = BattleDesign(strengths=(0.8, 0.0, -0.8), battles=400, judges=0)
    frame = with_names(simulate_battles(seed=1, design=design).battles.frame, "model_a", "model_b")
    inert(bj.elo(Battles.from_frame(frame), draws=300, tune=300, bootstrap=200))


@pytest.mark.slow
def test_names_stay_names_in_the_answer_about_reliability() -> None:
    rng = np.random.default_rng(3)
    rows = [
        (f"q{item}", judge, order, "math" if item % 2 else "code", a, 8 - a)
        for judge in ("x", "y")
        for item in range(16)
        for order in ("ab", "ba")
        for a in [int(rng.integers(9))]
    ]
    frame = pd.DataFrame(rows, columns=["item", "judge", "order", "category", "n_a", "n_b"])
    inert(bj.reliability(with_names(frame, "judge"), draws=400, tune=400, chains=2, bootstrap=500))


@pytest.mark.slow
def test_names_stay_names_in_the_answer_about_single_verdicts() -> None:
    pairs = simulate_pairs(seed=1, n=120, verified=80, dimensions=2).pairs
    hostile = replace(pairs, frame=with_names(pairs.frame, "category"))
    inert(bj.audit(hostile, draws=200, tune=200, chains=2))
