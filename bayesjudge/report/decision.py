"""A decision in sentences, on the screen and on the page."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import pandas as pd
from rich.markup import escape
from rich.table import Table as ScreenTable

from bayesjudge.estimates.table import method_words
from bayesjudge.report.comparison import Comparison
from bayesjudge.report.decided import DECISION, TESTS, VALUE
from bayesjudge.report.lead import refusal, usable
from bayesjudge.report.page import Section, Table
from bayesjudge.report.terminal import figure, fitted_table
from bayesjudge.text import chance


def decision_sentences(answer: Comparison) -> list[str]:
    """What to choose, what is undecided, and whether further labels pay."""
    if DECISION not in answer.checks:
        return []
    if not usable(answer):
        return [f"No decision. {refusal(answer) or 'There is no label.'}"]
    table, said = answer.checks[DECISION], answer.settings["decision"]
    several = len(set(table["judge"])) > 1
    found = []
    for judge, mine in table.groupby("judge", sort=False):
        text = _choice(mine, said, spec=_spec(answer))
        found.append(f"By judge {judge}, {text[:1].lower()}{text[1:]}" if several else text)
    return found + _worth(answer, said)


def _spec(answer: Comparison) -> str:
    return ".1f" if answer.question == "elo" else ".4f"


def _choice(mine: pd.DataFrame, said: Mapping[str, Any], *, spec: str) -> str:
    reference = mine["reference"].iloc[0]
    better = mine[mine["verdict"] == "better"]
    others = {word: int((mine["verdict"] == word).sum()) for word in ("equivalent", "worse", "undecided")}
    counts = ", ".join(f"{n} {word}" for word, n in others.items() if n)
    by = f"by more than {said['margin']:g} with probability {said['prob']:g}"
    if len(better) and said["rule"] != "best":
        chosen: Any = better.iloc[0]
        text = f"Choose {chosen['system']} instead of {reference}: it is better {by}"
    else:
        chosen = mine[mine["system"] == reference].iloc[0]
        text = f"Choose {reference}" if said["rule"] == "best" else f"Keep {reference}: no system is better {by}"
    return (
        f"{text}. Its expected loss is {figure(chosen['expected_loss'], spec)}; perfect information would be worth "
        f"{figure(chosen['perfect_information'], spec)}." + (f" Against {reference}: {counts}." if counts else "")
    )


def _worth(answer: Comparison, said: Mapping[str, Any]) -> list[str]:
    table = answer.checks.get(VALUE)
    if table is None or "pays" not in table:
        return []
    pays = table[table["pays"].astype(bool)]
    if pays.empty:
        return [f"At {said['cost_label']:g} a label, no further label pays."]
    row = pays.iloc[0]
    each = " on each system" if answer.question == "accuracy" else ""
    text = f"At {said['cost_label']:g} a label, {row['more']:.0f} further labels{each} pay most: they cost "
    return [f"{text}{row['cost']:.0f} and are expected to save {row['gain']:.0f} of {said['horizon']:.0f}."]


def decision_screen(answer: Comparison, width: int) -> list[ScreenTable | str]:
    """The sentences, and a line a system with as many figures as the terminal is wide."""
    if DECISION not in answer.checks:
        return []
    frame, said = _shown(answer), answer.settings["decision"]
    names = [str(name) for name in frame if name in {"judge", "system"}]
    cells = {str(name): [escape(str(value)) for value in frame[name]] for name in frame}
    title = f"Decision, margin {said['margin']:g}, probability {said['prob']:g}"
    figures = {name: column for name, column in cells.items() if name not in names}
    of_names = {name: list(map(str, frame[name])) for name in names}
    table, _ = fitted_table(title, figures, width, names=of_names, doubtful=not usable(answer))
    return [*map(escape, decision_sentences(answer)), table]


def _shown(answer: Comparison) -> pd.DataFrame:
    """The one table as people read it."""
    table, spec = answer.checks[DECISION], _spec(answer)
    found: dict[str, list[Any]] = {name: list(table[name]) for name in ("judge", "system")}
    found["loss"] = [_named(value, figure(value, spec)) for value in table["expected_loss"]]
    for name in ("better", "equivalent", "worse"):
        found[f"P({name})"] = [_named(value, chance(value)) for value in table[f"p_{name}"]]
    found["verdict"] = list(table["verdict"])
    tests = {heading: table[name] for name, heading in TESTS.items() if table[name].notna().any()}
    found |= {heading: [_named(value, chance(value)) for value in values] for heading, values in tests.items()}
    return pd.DataFrame(found).drop(columns=[] if len(set(table["judge"])) > 1 else ["judge"])


def _named(value: float, text: str) -> str:
    return "" if math.isnan(value) else text


def decision_section(answer: Comparison) -> Section | None:
    """The decision on the page."""
    if DECISION not in answer.checks:
        return None
    said, table = answer.settings["decision"], answer.checks[DECISION]
    baseline = next(iter(table["baseline"]), "")
    by = [method_words(baseline) if baseline else "no baseline"]
    if table["p_mcnemar"].notna().any():
        by += ["McNemar's test", "the paired bootstrap of labelled items"]
    words = (
        f"A difference of at most {said['margin']:g} does not matter; a verdict needs probability "
        f"{said['prob']:g}. "
        "The expected loss of a system is by how much the best one is better than it, on average over the posterior. "
        f"P-values are of {', '.join(by)}, adjusted by Holm."
    )
    tables = [Table(caption=f"Each system against {table['reference'].iloc[0]}", frame=_shown(answer), folded=False)]
    if VALUE in answer.checks:
        caption = "What further labels on each system are worth: by how much the expected loss falls"
        formats = {"value": ".5f", "width": ".4f", "more": ".0f", "cost": ".0f", "gain": ".0f"}
        tables.append(Table(caption=caption, frame=answer.checks[VALUE], number_format=formats, folded=False))
    return Section(title="Decision", text=[*decision_sentences(answer), words], tables=tables)
