"""Compare the answers of two commits: ``answers.py --write FOLDER``, then ``--compare FOLDER``.

Every case of `answer_cases` is stored as one JSON file. The comparison is exact, versions, times and places
aside; differences are listed by JSON path, and the exit code is 1. ``--rename FILE`` holds a JSON object
``{"old": "new"}`` of keys and texts that were renamed on purpose. The folder belongs to the machine that made
it: other processors round differently. Give the two runs different values of PYTHONHASHSEED, so that no order
comes from a set.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(FOLDER), str(FOLDER.parent / "tests")]

from harness.answer_cases import cases  # noqa: E402 the folders above are not on the path when this file runs alone

#: Keys that say when, where and with what an answer was made, not what it is.
ASIDE = {"bayesjudge", "versions", "seconds", "host", "date"}
#: Differences of one case that are listed.
LISTED = 10


def main() -> int:
    """Write or compare every case asked for; 1 where something differs."""
    options = _options()
    renamed: dict[str, str] = json.loads(options.rename.read_text()) if options.rename else {}
    folder, wrong = options.write or options.compare, 0
    folder.mkdir(parents=True, exist_ok=True)
    for name, compute in cases():
        if not any(part in name for part in options.only):
            continue
        now, place = json.loads(json.dumps(compute())), folder / f"{name}.json"
        if options.write:
            place.write_text(json.dumps(now), encoding="utf-8")
            print(f"written: {name}", flush=True)
            continue
        before = _renamed(json.loads(place.read_text(encoding="utf-8")), renamed)
        found = list(differences(before, now))
        wrong += bool(found)
        print(f"{'equal' if not found else 'DIFFERS'}: {name}", flush=True)
        for path, then, here in found[:LISTED]:
            print(f"  {path}: {then!r:.80} -> {here!r:.80}")
        if len(found) > LISTED:
            print(f"  and {len(found) - LISTED} more")
    return int(wrong > 0)


def differences(before: Any, now: Any, path: str = "$") -> Iterator[tuple[str, Any, Any]]:
    """Path, earlier value and present value of everything that differs.

    Examples
    --------
    >>> list(differences({"a": [1, 2], "versions": 1}, {"a": [1, 3], "versions": 2}))
    [('$.a[1]', 2, 3)]
    """
    if isinstance(before, Mapping) and isinstance(now, Mapping):
        if list(before) != list(now):
            yield f"{path} (keys)", list(before), list(now)
        for key in (key for key in before if key in now and key not in ASIDE):
            yield from differences(before[key], now[key], f"{path}.{key}")
    elif isinstance(before, list) and isinstance(now, list):
        if len(before) != len(now):
            yield f"{path} (length)", len(before), len(now)
        for place, (one, other) in enumerate(zip(before, now, strict=False)):
            yield from differences(one, other, f"{path}[{place}]")
    # NaN is not equal to itself; 1 and 1.0 are the same number.
    elif before != now and not (before != before and now != now):  # noqa: PLR0124 so NaN is found
        yield path, before, now


def _renamed(value: Any, names: Mapping[str, str]) -> Any:
    """The earlier value with its keys and texts as they are called now."""
    if isinstance(value, Mapping):
        return {names.get(key, key): _renamed(part, names) for key, part in value.items()}
    if isinstance(value, list):
        return [_renamed(part, names) for part in value]
    return names.get(value, value) if isinstance(value, str) else value


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n", 1)[0])
    to = parser.add_mutually_exclusive_group(required=True)
    to.add_argument("--write", type=Path, metavar="FOLDER", help="store every case there")
    to.add_argument("--compare", type=Path, metavar="FOLDER", help="compare with what is stored there")
    parser.add_argument("--rename", type=Path, metavar="FILE", help="JSON object of old names to new ones")
    parser.add_argument("--only", nargs="+", default=[""], metavar="PART", help="cases by part of their name")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
