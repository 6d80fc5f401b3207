"""Count a Parquet file in a process of its own, so that the peak memory is the counting's alone.

Run as ``python counting.py FILE {ibis,read,battles}``; prints one JSON object.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from pathlib import Path
from typing import Any

#: Memory that DuckDB is given for battles.
LIMIT = "600MB"


def main(path: str, way: str) -> None:
    """Count by an Ibis expression over the file, or by reading the file into memory first."""
    from bayesjudge import count_battles, count_verdicts, read_verdicts

    before, start = _peak(), time.perf_counter()
    if way == "battles":
        battles = count_battles(_limited(path), lengths=False)
        found = {"battles": int(battles.human.votes.sum()), "patterns": len(battles.judged) + len(battles.human)}
    else:
        counts = count_verdicts(_table(path) if way == "ibis" else read_verdicts(path))
        found = {"answers": int(counts.answers.n.sum())}
    took = time.perf_counter() - start
    print(json.dumps({"seconds": took, "peak_mb": _peak(), "imports_mb": before, **found}))


def _limited(path: str) -> Any:
    """The table on a DuckDB that may take so much memory and no more; it puts the rest on disk."""
    import ibis

    connection = ibis.duckdb.connect(memory_limit=LIMIT, temp_directory=f"{path}.spill")
    ibis.set_backend(connection)
    return connection.read_parquet(path)


def _table(path: str) -> Any:
    import ibis

    return ibis.read_parquet(path)


def _peak() -> float:
    """Largest resident memory so far in MB.

    Linux keeps a parent's peak in ``ru_maxrss`` through fork and exec, so there the kernel's own figure for
    this program is read; elsewhere (macOS counts in bytes) there is no such trap.
    """
    status = Path("/proc/self/status")
    if status.is_file():
        (peak,) = (
            line.split()[1] for line in status.read_text(encoding="ascii").splitlines() if line.startswith("VmHWM")
        )
        return int(peak) / 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
