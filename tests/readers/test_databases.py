"""A table of a DuckDB file is read like any other, and never written to."""

from __future__ import annotations

from pathlib import Path

import ibis
import pandas as pd
import pytest

from bayesjudge.errors import InputError, UsageError
from bayesjudge.readers import read_verdicts

FRAME = pd.DataFrame({"question_id": ["1", "2"], "model": "m", "verdict": [1, 0]})


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "logs.duckdb"
    connection = ibis.duckdb.connect(path)
    connection.create_table("verdicts", FRAME)
    connection.create_database("team")
    connection.create_table("judged", FRAME.iloc[:1], database="team")
    connection.disconnect()
    return path


def test_a_table_of_a_database_is_read_and_left_alone(database: Path) -> None:
    before = database.read_bytes()
    assert read_verdicts(f"{database}::verdicts").frame["item"].tolist() == ["1", "2"]
    assert len(read_verdicts(f"{database}::team.judged")) == 1
    assert database.read_bytes() == before
    assert [path.name for path in database.parent.iterdir()] == [database.name]


def test_what_is_not_there_is_named(database: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="Did you mean 'verdicts'"):
        read_verdicts(f"{database}::verdict")
    with pytest.raises(UsageError, match=r"choose one: .*logs\.duckdb::TABLE"):
        read_verdicts(database)
    with pytest.raises(InputError, match="no such file"):
        read_verdicts(tmp_path / "absent.duckdb::verdicts")
    (tmp_path / "broken.duckdb").write_bytes(b"no database" * 999)
    with pytest.raises(InputError, match="no readable DuckDB database"):
        read_verdicts(tmp_path / "broken.duckdb::verdicts")
