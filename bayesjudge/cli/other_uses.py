"""What a file that answers no question is good for: its texts can be judged, its labels are of a log next to it."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path

from bayesjudge.errors import InputError, UsageError
from bayesjudge.readers.asking import ask_each, holds_labels, typed_options
from bayesjudge.readers.filters import Where
from bayesjudge.readers.parts import read_parts
from bayesjudge.readers.reading import Choices, Reading

#: Files next to it that are tried, and the largest of them.
_MOST_FILES, _MOST_BYTES = 20, 1 << 26
_ENDINGS = frozenset({".csv", ".tsv", ".json", ".jsonl", ".parquet"})


def with_other_use(error: UsageError, file: str, columns: Mapping[str, str], choices: Choices) -> UsageError:
    """The error of a file that answers no question: what it is, and a command, which was tried, that it is good for."""
    commands: list[str] = []
    where = choices.get("where")
    if _holds_answers(file, columns, where):
        what = "It holds answers that nothing judged."
        named = typed_options(columns, {"where": where})
        commands = [f"bayesjudge judge {shlex.quote(file)}{named} --model gpt-4.1-mini --batch requests.jsonl"]
    elif holds_labels(read_parts(file, Reading(**choices), taken=columns), columns):
        what = "It holds people's labels and no verdicts: give it to --items in the command on the log of the verdicts."
        commands = next(filter(None, (_asked_with(log, file) for log in _next_to(Path(file)))), [])
    else:
        what = "A log has a row for each verdict, comparison or score; tables of results cannot be used."
    what += "" if commands else " A log and its answer are shown by: bayesjudge demo"
    return UsageError(f"{error} {what}", lacks=error.lacks, instead=commands)


def _holds_answers(file: str, columns: Mapping[str, str], where: Where) -> bool:
    from bayesjudge.judging.requests import read_comparisons

    try:
        return bool(read_comparisons(file, columns=columns, where=where)[0])
    except (InputError, UsageError):
        return False  # of its columns, or of its rows: there is nothing in it to judge


def _next_to(path: Path) -> list[Path]:
    """Tables in the folder of a file; none where it may not be listed."""
    there = sorted(path.parent.glob("*")) if path.is_file() else []
    found = [one for one in there if one.suffix in _ENDINGS and one != path and one.is_file()]
    return [one for one in found[:_MOST_FILES] if one.stat().st_size <= _MOST_BYTES]


def _asked_with(log: Path, labels: str) -> list[str]:
    """The commands on a log with its labels in a second file; none where they do not belong together."""
    choices: Choices = {"items": labels}
    try:
        parts = read_parts(str(log), Reading(**choices))
        every = ask_each(str(log), columns=None, gold=(), choices=choices, parts=parts)
    except (InputError, UsageError):
        return []
    asked = (every[question][0] for question in ("audit", "elo", "accuracy", "reliability"))
    return [one.commands[0] for one in asked if one.commands]
