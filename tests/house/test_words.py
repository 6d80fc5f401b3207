"""Words that stop a reader whose language is statistics do not occur in what users read."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "bayesjudge"
ROOMS = sorted(path.name for path in PACKAGE.iterdir() if path.is_dir() and not path.name.startswith("__"))
#: From the table of plain words: each has a plainer one there.
FORBIDDEN = re.compile(
    r"\b(told|unseen|seen|asked|settled?|torn|tastes?|flatters?|nobody|league|odd|eyes?|luck|twins?|cautions?|said"
    r"|without end|endless|none that matter|moves? with the prior|with care|delta Youden"
    r"|wholly|whole|alike|apart|besides?|goes on|go on|looks? at|stands? for|wanted|guess(es)?|worlds?)\b",
    re.IGNORECASE,
)
#: Words that no line of the product has, be it a name, a comment or a sentence.
NOWHERE = re.compile(r"(?<![a-z])(told|unseen|seen|settled|torn|tastes?)(?![a-z])", re.IGNORECASE)
PRODUCT = ("bayesjudge/**/*.py", "bayesjudge/**/*.md", "bayesjudge/**/*.html", "models/**/*.py", "models/**/*.md")
PAGES = ("examples/**/*.py", "README.md", "CONTRIBUTING.md", "VALIDATION.md", "benchmarks/README.md")
#: Text that may have them, by file and word, and why.
ALLOWED: dict[str, str] = {}


def texts(path: Path) -> Iterator[str]:
    """Strings of several words that are no docstrings, and the docstrings that are a command's help."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    kinds = (ast.Module, ast.FunctionDef, ast.ClassDef)
    described = [node for node in ast.walk(tree) if isinstance(node, kinds)]
    inside = {id(node.body[0].value) for node in described if node.body and isinstance(node.body[0], ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in inside:
            yield from [node.value] if " " in node.value.strip() else []
    if path.parent.name == "cli":
        public = (node for node in tree.body if isinstance(node, kinds) and not node.name.startswith("_"))
        yield from filter(None, map(ast.get_docstring, public))


@pytest.mark.parametrize("room", ROOMS)
def test_no_word_stops_a_reader(room: str) -> None:
    found = [
        f"{path.relative_to(PACKAGE)}: {word[0].lower()}"
        for path in sorted((PACKAGE / room).rglob("*.py"))
        for text in texts(path)
        for word in FORBIDDEN.finditer(text)
    ]
    assert [one for one in found if one not in ALLOWED] == []


@pytest.mark.parametrize("pattern", [*PRODUCT, *PAGES])
def test_five_words_occur_nowhere(pattern: str) -> None:
    """Each has a plain word: message, distinguished; observed, known, new; estimated; conflicting; deviation."""
    found = [
        f"{path.relative_to(ROOT)}:{number}: {word[0]}"
        for path in sorted(ROOT.glob(pattern))
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        for word in NOWHERE.finditer(line)
    ]
    assert found == []


def test_few_exceptions_are_needed() -> None:
    assert len(ALLOWED) <= 10
