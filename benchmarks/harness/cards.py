"""Put each model's table of priors into its card: ``python benchmarks/harness/cards.py``."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from bayesjudge.model import find_model, model_names

MODELS = Path(__file__).resolve().parents[2] / "models"
#: Options under which a model assumes more, or something else.
OPTIONS: dict[str, list[dict[str, Any]]] = {
    "bradley_terry": [{"order_effect": True}, {"by_group": True}],
    "conditional_panel": [{"pooling": "specific"}],
    "judge_error": [{"pooling": "specific"}],
    "judge_panel": [{"weights": "specific"}, {"annotators": "independent"}],
    "judge_temperature": [{"by_group": True}],
    "pointwise_scores": [{"likelihood": "ordinal"}],
}
HEADING = "## Priors, and why\n\n"
_TABLE = re.compile(re.escape(HEADING) + r"(?:\|.*\n)*\n*")


def table(name: str) -> str:
    """A row for each slot of a model, the default model's first."""
    make: Any = find_model(name)
    rows = ["| prior | default | unit | why |", "|---|---|---|---|"]
    for options in [{}, *OPTIONS.get(name, [])]:
        where = "".join(f", `{option}={value}`" for option, value in options.items())
        for slot, one in make(**options).priors.items():
            if not options or make().priors.get(slot) != one:
                rows.append(f"| `{slot}`{where} | {one.default} | {one.unit} | {one.reason} |")
    return "\n".join(rows) + "\n"


def card(name: str) -> str:
    """The card of a model with its table of priors as the model has it."""
    text = (MODELS / name / "README.md").read_text(encoding="utf-8")
    return _TABLE.sub(lambda _: f"{HEADING}{table(name)}\n", text, count=1)


def main() -> None:
    """Write every card."""
    for name in model_names():
        (MODELS / name / "README.md").write_text(card(name), encoding="utf-8")


if __name__ == "__main__":
    main()
