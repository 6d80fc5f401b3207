"""What reading costs: a file of promptfoo's nested records, over the bare loop of ``json.loads`` on it.

Processor time of one process each, which take turns: the loop, reading the file's rows (its SHA-256 included), and
the import alone, which is taken off; the largest memory of reading, on one file and on one four times as large, how
much of it is the rows that were read, that of ``bayesjudge inspect``, and, of a loop that keeps four fields of each
record and makes them a data frame, its own (memory as Linux counts it).
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from harness.command import parser
from harness.machine import machine
from harness.results import holds, report, show

LOOP = "import json, sys\nfor line in open(sys.argv[1]): json.loads(line)"
IMPORT = "import bayesjudge.readers.parts\nfrom bayesjudge.readers.formats import known_formats\nknown_formats()"
READ = "import sys\nfrom bayesjudge.readers.parts import read_parts\nfound = read_parts(sys.argv[1])"
#: What a process held at most, of which a system's own count may hold its parent's before it began (Linux); its rows,
#: in which pandas would count what two of them share twice.
HELD = """
import pyarrow
held = next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1]
print(int(held) / 1024, pyarrow.Table.from_pandas(found[0].frame).get_total_buffer_size() / 1024**2)"""
INSPECT = """
import contextlib, io, runpy, sys
sys.argv.insert(1, "inspect")
with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
    runpy.run_module("bayesjudge.__main__", run_name="__main__")"""
FOUR_FIELDS = """
import json, sys
import pandas as pd
def four(record):
    graded = record["gradingResult"]["componentResults"][0]
    return json.dumps(record["testCase"]["vars"]), record["provider"]["id"], graded["pass"], graded["score"]
found = pd.DataFrame([four(json.loads(line)) for line in open(sys.argv[1])])"""
PEAK = """
print(int(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1]) / 1024)"""
WORDS = [
    "alpha",
    "beta",
    "gamma",
    "the",
    "of",
    "judge",
    "model",
    "answer",
    "question",
    "größer",
    "because",
    "therefore",
]


def main() -> None:
    """Time the three in turn and print it."""
    options = _options()
    facts = machine()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for size in (options.megabytes, 4 * options.megabytes):
            path = Path(folder) / "log.jsonl"
            records = write_log(path, size, seed=options.seed)
            repeats = options.repeats if size == options.megabytes else 1
            rows += [{"megabytes": size, "records": records, **timed(path)} for _ in range(repeats)]
    show(rows, "processor seconds, and the largest memory of reading in megabytes")
    small, large = ([row for row in rows if row["megabytes"] == k * options.megabytes] for k in (1, 4))
    ratio = statistics.median(row["over_the_loop"] for row in small)
    rest = [statistics.median(row["memory"] - row["rows"] for row in part) for part in (small, large)]
    claims = [
        holds("reading over the loop, imports taken off", ratio, most=1.2),
        holds("largest memory, megabytes", max(row["memory"] for row in small), most=250),
        holds("largest memory of the file four times as large", large[0]["memory"], most=250),
        holds("largest memory besides the rows read, of that file over the other", rest[1] / rest[0], most=1.1),
        holds("growth of memory between the two, over that of four fields a record", growth(small, large), most=1),
        holds("largest memory of inspect on the larger file", large[0]["inspect"], most=250),
    ]
    report("reading", options, facts, must_hold=[] if options.quick else claims, rows=rows)


def _options() -> argparse.Namespace:
    options = parser(__doc__)
    options.add_argument("--repeats", type=int, default=5)
    options.add_argument("--megabytes", type=int, default=190)
    found = options.parse_args()
    if found.quick:
        found.repeats, found.megabytes = 1, 5
    return found


def growth(small: list[dict[str, float]], large: list[dict[str, float]]) -> float:
    """By how much more memory reading takes of a larger file, over how much more the loop of four fields takes."""
    more = {
        kind: statistics.median(row[kind] for row in large) - statistics.median(row[kind] for row in small)
        for kind in ("memory", "four_fields")
    }
    return more["memory"] / more["four_fields"]


def timed(path: Path) -> dict[str, float]:
    """Processor seconds of the three, and what reading holds at most."""
    loop, read, start = (spent(code, path) for code in (LOOP, READ, IMPORT))
    memory, rows = map(float, printed(READ + HELD, path).split())
    return {
        "loop": loop,
        "read": read,
        "import": start,
        "over_the_loop": (read - start) / loop,
        "memory": memory,
        "rows": rows,
        "inspect": float(printed(INSPECT + PEAK, path)),
        "four_fields": float(printed(FOUR_FIELDS + PEAK, path)),
    }


def spent(code: str, path: Path) -> float:
    """User and system time of a Python process."""
    child = os.posix_spawn(sys.executable, [sys.executable, "-c", code, str(path)], dict(os.environ))
    _, status, usage = os.wait4(child, 0)
    if status:
        raise SystemExit(f"exit status {status}: {code}")
    return usage.ru_utime + usage.ru_stime


def printed(code: str, path: Path) -> str:
    """What a Python process prints."""
    return subprocess.run([sys.executable, "-c", code, str(path)], check=True, capture_output=True, text=True).stdout  # noqa: S603 - ours


def write_log(path: Path, megabytes: int, *, seed: int) -> int:
    """Records of two models' answers, as promptfoo writes them to JSON Lines; how many."""
    draw = np.random.default_rng(seed)
    records = written = 0
    with path.open("w", encoding="utf-8") as file:
        while written < megabytes * 1_000_000:
            written += file.write(json.dumps(record(draw, records // 2, records % 2)) + "\n")
            records += 1
    return records


def record(draw: np.random.Generator, question: int, place: int) -> dict[str, Any]:
    """One answer, some nine thousand characters."""

    def text(words: int) -> str:
        return " ".join(draw.choice(WORDS, words).tolist())

    score = round(float(draw.random()), 2)
    tokens = {"total": 800, "prompt": 500, "completion": 300, "completionDetails": {"reasoning": 0}}
    verdict = {"pass": score > 0.4, "score": score, "reason": text(50), "tokensUsed": tokens}
    parts = [
        {**verdict, "assertion": {"type": kind, "value": text(30), **more}, "metadata": {"rendered": text(130)}}
        for kind, more in (("llm-rubric", {"provider": "openai:gpt-4.1"}), ("contains", {}))
    ]
    return {
        "id": f"{question}-{place}",
        "promptIdx": place,
        "testIdx": question,
        "provider": {"id": ("openai:gpt-4o", "anthropic:claude")[place], "label": ""},
        "prompt": {"raw": text(150), "label": "prompt 1"},
        "response": {"output": text(250), "tokenUsage": tokens, "raw": text(150)},
        "success": score > 0.4,
        "failureReason": int(score <= 0.4),
        "error": None,
        "testCase": {
            "vars": {"question": f"q{question} {text(10)}", "expected": text(6)},
            "assert": [{"type": "llm-rubric", "value": text(30)}, {"type": "contains", "value": "x"}],
            "metadata": {"topic": str(draw.choice(["law", "code"]))},
        },
        "vars": {"question": f"q{question}", "expected": "y"},
        "gradingResult": {**verdict, "namedScores": {"rubric": score}, "componentResults": parts},
        "namedScores": {"rubric": score},
    }


if __name__ == "__main__":
    main()
