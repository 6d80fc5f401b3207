"""How an answer is cited: what a methods section says of it, and the papers behind its models."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from importlib import resources
from pathlib import PurePath
from typing import Any

from bayesjudge.estimates.table import is_bayesian, method_words
from bayesjudge.report.comparison import Comparison
from bayesjudge.report.lead import gate_reasons
from bayesjudge.report.page import Citation

#: Packages whose versions a paragraph names.
PACKAGES = ("numpyro", "jax", "pymc", "arviz-stats", "numpy")
#: Engines as a methods section writes them.
ENGINES = {"nuts": "NUTS", "hmc": "HMC", "laplace": "a Laplace approximation with importance weights"}
#: Digits of a hash that name the data.
DIGITS = 16


def citation_of(answer: Comparison, question: str) -> Citation:
    """Paragraphs for a methods section, and references."""
    first: dict[str, Mapping[str, Any]] = {}
    for fit in answer.manifest["fits"].values():
        first.setdefault(str(fit["model"]), fit)
    cards = {name: _card(name) for name in first}
    papers = dict.fromkeys(paper for card in cards.values() for paper in _references(card))
    return Citation(
        text=(_data(answer, question), *(_model(fit, cards[name]) for name, fit in first.items()), *_rows(answer)),
        references=(f"bayesjudge, version {answer.version} (software).", *papers),
    )


def _data(answer: Comparison, question: str) -> str:
    settings = answer.settings
    counts = ", ".join(f"{n:,} {what}" for what, n in settings.get("data", {}).items())
    files = "; ".join(f"{PurePath(one['file']).name} (SHA-256 {one['sha256']})" for one in answer.source)
    hashes = dict.fromkeys(fit["data"][:DIGITS] for fit in answer.manifest["fits"].values() if fit.get("data"))
    named = files or (f"a table with SHA-256 {', '.join(list(hashes)[:1])}…" if hashes else "a table")
    return f"“{question}” was answered with bayesjudge {answer.version} from {named}{f': {counts}' if counts else ''}."


def _model(fit: Mapping[str, Any], card: str) -> str:
    """What a model is, its priors and options, and how its posterior was drawn."""
    described = _section(card, "For a methods section")
    text = f"Model {fit['model']}: {described}" if described else f"Model {fit['model']}."
    known = dict(fit.get("options", {}))
    given = [f"{slot} ~ {one['family']}{_value(one['parameters'])}" for slot, one in known.pop("given", ())]
    text += f" In place of the model's own priors: {'; '.join(given)}." if given else ""
    file, _, function = str(known.pop("function", "")).rpartition(":")
    text += f" It is the function {function} of {file}." if function else ""
    options = "; ".join(f"{name} = {_value(value)}" for name, value in known.items() if value not in ("", [], (), None))
    engine = ENGINES.get(fit.get("engine", ""), str(fit.get("engine", "")))
    lengths = f"{fit.get('chains', 1)} chains of {fit['draws']:,} draws" if "draws" in fit else "draws"
    versions = ", ".join(f"{name} {fit['versions'][name]}" for name in PACKAGES if name in fit.get("versions", {}))
    return (
        f"{text} {f'Options: {options}. ' if options else ''}{lengths[:1].upper()}{lengths[1:]} by {engine}, "
        f"seed {fit.get('seed', 0)}{f' ({versions})' if versions else ''}."
    )


def _rows(answer: Comparison) -> Iterator[str]:
    """Convergence, intervals and baselines."""
    figures = answer.gate.figures
    named = {"rhat": ("largest R-hat", ".3f"), "ess": ("smallest effective sample size", ",.0f")}
    known = [f"{words} {figures[name]:{spec}}" for name, (words, spec) in named.items() if name in figures]
    passed = "The convergence checks passed"
    failed = f"Bayesian figures must not be reported, since a gate failed: {'; '.join(gate_reasons(answer))}"
    yield f"{passed if answer.gate.passed else failed}{f' ({", ".join(known)})' if known else ''}."
    methods = dict.fromkeys(answer.estimates.frame["method"])
    baselines = [method_words(name) for name in methods if name and not is_bayesian(name)]
    prob = answer.settings.get("prob")
    intervals = f"Intervals are {100 * prob:g} % and equal-tailed. " if prob else ""
    yield f"{intervals}{f'Baselines: {", ".join(baselines)}.' if baselines else ''}".strip()


def _value(value: Any) -> str:
    """An option's value in a line."""
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_value(one)}" for name, one in value.items()) or "none"
    if isinstance(value, list):
        return f"({', '.join(map(_value, value))})"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _card(model: str) -> str:
    """The card of a model of this package; empty for another's, which has none here."""
    card = resources.files("bayesjudge.models").joinpath(model, "README.md")
    known = re.fullmatch(r"[a-z_]+", model) and card.is_file()
    return card.read_text(encoding="utf-8") if known else ""


def _section(card: str, title: str) -> str:
    """Text of a card's section, in one line."""
    found = re.search(rf"^## {title}\n+(.*?)(?=^## |\Z)", card, re.MULTILINE | re.DOTALL)
    return re.sub(r"\s+", " ", found[1]).strip() if found else ""


def _references(card: str) -> list[str]:
    """Papers of a card, without the marks of Markdown."""
    return [
        paper.replace("*", "").strip()
        for paper in _section(card, "References").removeprefix("- ").split(" - ")
        if paper
    ]
