"""The accuracy answer on a terminal."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import replace
from typing import Any

import pandas as pd
from rich.markup import escape
from rich.table import Table

from bayesjudge.estimates.table import is_bayesian
from bayesjudge.report.accuracy.headline import PANEL, accuracies, first_baselines, headline, named_baselines
from bayesjudge.report.comparison import Comparison
from bayesjudge.report.lead import counted, estimand_in, oriented, quality_rows, usable
from bayesjudge.report.terminal import (
    empty_table,
    figure,
    fitted_table,
    interval_cell,
    interval_cells,
    missing_last,
    percent,
    unit_name,
    why_undefined,
)
from bayesjudge.text import chance, judge_words

#: Baselines printed by default next to the Bayesian answer, as far as the terminal is wide.
MAIN = (
    "ppi++[best-judge,logit]",
    "ppi++[multi-proxy,logit]",
    "eif[panel-logit,logit]",
    "ppi++[logit]",
    "active[panel-logit]",
    "aipw",
    "naive",
    "rogan-gladen[shared]",
    "labelled",
    "rogan-gladen[specific]",
)
#: The baseline whose intervals show what a judge is worth to the panel.
WITHOUT = "ppi++[multi-proxy]"
#: Heading of sensitivity + specificity − 1.
YOUDEN = "Youden's J"
#: Differences printed by default.
MOST_PAIRS = 12


def accuracy_screen(answer: Comparison, width: int) -> list[Table | str]:
    """Accuracies, differences and the judge's quality; for several judges the panel, then each of them."""
    alone = [judge for judge in dict.fromkeys(answer.ranks["judge"]) if judge != PANEL]
    panel: list[Table | str] = []
    sentences = [escape(text) for text in headline(answer)]
    if not counted(answer, "labelled answers"):
        # Accuracies, differences and the judge's quality would be the prior's, and no corrected rate is defined.
        rates = replace(answer, estimates=answer.estimates.where(method="naive"))
        several = {f", judge {judge}": _of_judges(rates, [judge]) for judge in alone} if len(alone) > 1 else {"": rates}
        tables = [_accuracies(one, width, by=judge) for judge, one in several.items()]
        return [*sentences, *tables, "Every method and difference: --all, --json or the report."]
    if answer.settings["panel"]:
        joint = _of_judges(answer, [PANEL])
        panel = [_accuracies(joint, width), *_differences(joint, width), _panel(answer)]
        answer = _of_judges(answer, alone)
    if len(alone) > 1:
        more = "Every method and difference: --all, --json or the report."
        return [*sentences, *panel, _judges(answer), _agreement(answer), *_effects(answer), more]
    accuracies = [*sentences, *panel, _accuracies(answer, width), *_differences(answer, width)]
    return [*accuracies, _quality(answer, width), *_effects(answer)]


def _of_judges(answer: Comparison, judges: list[str]) -> Comparison:
    """The part of the answer that some judges gave."""
    ranks = answer.ranks[answer.ranks["judge"].isin(judges)].reset_index(drop=True)
    return replace(answer, estimates=answer.estimates.where(judge=judges), ranks=ranks)


def _title(answer: Comparison, name: str) -> str:
    """What a table shows, on which population, and by whom where all judges answer together."""
    together = set(answer.ranks["judge"]) == {PANEL}
    return f"{estimand_in(answer, name).capitalize()}{', all judges together' if together else ''}"


def _accuracies(answer: Comparison, width: int, *, by: str = "") -> Table:
    """One line a model (and group), best first, one column a method."""
    rows = answer.estimates.where(estimand=estimand_in(answer, "accuracy")).frame
    best = answer.ranks.set_index("model")["p_best"]
    order = {model: place for place, model in enumerate(_order(answer))}
    rows = rows.assign(place=rows["unit"].map(order)).sort_values(["group", "place"], kind="stable")
    rows = missing_last(rows)
    draws = rows.dropna(subset=["ess"]).drop_duplicates("unit").set_index("unit")["ess"].to_dict()
    shares = {("", model): chance(share, draws.get(model, math.nan)) for model, share in best.items()}
    last = ("P(best)", shares) if len(best) > 1 and usable(answer) else None
    name = _title(answer, "accuracy") if counted(answer, "labelled answers") else "Raw verdict rate"
    title = f"{name}{by}, {percent(answer)} intervals"
    return _side_by_side(answer, rows, title, "model", width=width, last=last)


def _order(answer: Comparison) -> list[str]:
    """Models as the page has them: by the method that answers."""
    ranked = list(answer.ranks["model"])
    _, rows = accuracies(answer, answer.ranks["judge"].iloc[0])
    return [*map(str, rows.index), *(model for model in ranked if model not in rows.index)]


def _differences(answer: Comparison, width: int) -> list[Table]:
    """One line a pair, the largest differences first."""
    found = answer.estimates.where(estimand=estimand_in(answer, "difference"), group="")
    rows = oriented(found, answer.ranks["model"]).frame
    if rows.empty:
        return []
    paired = rows[rows["p_positive"].notna()].drop_duplicates("unit").set_index("unit")
    order = paired["point"].abs().sort_values(ascending=False, kind="stable").index
    rows = rows.set_index("unit").loc[list(order[:MOST_PAIRS])].reset_index()
    shares = {("", unit): chance(row["p_positive"], row["ess"]) for unit, row in paired.iterrows()}
    last = ("P(> 0)", shares) if usable(answer) else None
    title = f"{_title(answer, 'difference')}, {percent(answer)} intervals"
    table = _side_by_side(answer, rows, title, "difference", width=width, last=last)
    if (hidden := len(order) - MOST_PAIRS) > 0:
        undefined = [str(table.caption)] if table.caption else []
        table.caption = "\n".join([f"{hidden} smaller differences not shown", *undefined])
    return [table]


def _side_by_side(
    answer: Comparison,
    rows: pd.DataFrame,
    title: str,
    first: str,
    *,
    width: int,
    last: tuple[str, dict[Any, str]] | None,
) -> Table:
    units = rows.drop_duplicates(["unit", "group"])
    keys = list(zip(units["unit"], units["group"], strict=True))
    cells = rows.drop_duplicates(["unit", "group", "method"]).set_index(["unit", "group", "method"])
    present = list(dict.fromkeys(rows["method"]))
    bayes = list(filter(is_bayesian, present))
    # Where a posterior is greyed, the baselines come first.
    greyed = [] if usable(answer) else bayes[:1]
    methods = [*([] if greyed else bayes), *_asked(answer, present)]
    of_methods = {name: interval_cells(cells, [(*key, name) for key in keys]) for name in [*methods, *greyed]}
    table, shown = fitted_table(
        title,
        {name: of_methods[name] for name in methods},
        width,
        names={first: [unit_name(*key) for key in keys]},
        before={"truth": [f"{value:.3f}" for value in units["truth"]]} if rows["truth"].notna().any() else None,
        after={name: of_methods[name] for name in greyed}
        | ({last[0]: [last[1].get((group, unit), "") for unit, group in keys]} if last else {}),
        doubtful=not usable(answer),
    )
    table.caption = why_undefined(rows[rows["method"].isin([*shown, *greyed])])
    return table


def _asked(answer: Comparison, present: Collection[str]) -> list[str]:
    """The baselines that were asked for, of the main ones the first before those that have a name of their own."""
    all_asked = "default" in answer.settings.get("baselines", ["default"])
    main = [name for name in MAIN if name in present and all_asked]
    main = first_baselines(answer, answer.ranks["judge"].iloc[0], main) if all_asked else main
    return list(dict.fromkeys([*main[:1], *named_baselines(answer, present), *main[1:]]))


def _quality(answer: Comparison, width: int) -> Table:
    """Sensitivity, specificity and J on each model by the Bayesian model; intervals where there is room."""
    named = {"sensitivity": " (TPR)", "specificity": " (TNR)", "youden": ""}
    by = {estimand: quality_rows(answer.diagnostics, estimand).set_index("name") for estimand in named}
    judge = answer.ranks["judge"].iloc[0]
    models = list(map(str, by["youden"].index))
    intervals = {name: interval_cells(frame, models) for name, frame in by.items()}
    points = {name: list(map(figure, by[name].loc[models, "point"])) for name in ("sensitivity", "specificity")}
    title, names = f"Quality of {judge_words(judge)}, {percent(answer)} intervals", {"model": models}
    wide = {f"{name}{also}".replace("youden", YOUDEN): intervals[name] for name, also in named.items()}
    table, shown = fitted_table(title, wide, width, names=names)
    narrow = fitted_table(title, points | {YOUDEN: intervals["youden"]}, width, names=names)[0]
    return table if len(shown) == len(wide) else narrow


def _effects(answer: Comparison) -> list[Table]:
    """How rates change with a number of a formula, where there is one."""
    rows = answer.diagnostics.where(estimand="effect").frame
    table = empty_table(f"Average effects, {percent(answer)} intervals", ["effect"], ["change of the rate"])
    several = len(set(rows["judge"])) > 1
    for _, row in rows.iterrows():
        table.add_row(escape(f"{row['judge']}: {row['unit']}" if several else row["unit"]), interval_cell(row))
    return [table] if len(rows) else []


def _panel(answer: Comparison) -> Table:
    """What each judge brings to the panel."""
    weights = answer.diagnostics.where(estimand="judge weight").frame.set_index("unit")
    judges = answer.checks["judges"].set_index("judge")
    headings = ["agreement", "weight in logits", "chosen as best", "wider without it"]
    table = empty_table("Judges of the panel", ["judge"], headings)
    wider = f"wider without, {WITHOUT}"
    for name, row in judges.sort_values("agreement", ascending=False, kind="stable").iterrows():
        judge, change = str(name), float(row.get(wider, math.nan))
        shown = "" if math.isnan(change) else f"{change:+.1%}"
        chosen = f"{row['chosen as best']:.0%}"
        table.add_row(escape(judge), figure(row["agreement"]), interval_cell(weights.loc[judge]), chosen, shown)
    beats = answer.diagnostics.where(estimand="panel beats best judge").frame["point"].iloc[0]
    table.caption = escape(
        f"wider without it: the intervals of {WITHOUT}; the panel's own verdicts agree with people more "
        f"often than every judge's with probability {chance(beats)}"
    )
    return table


def _judges(answer: Comparison) -> Table:
    """Several judges: one line a judge and model, with accuracy, raw rate, J and rank."""
    rows = answer.estimates.where(estimand=estimand_in(answer, "accuracy"), group="").frame
    key = ["judge", "unit"]
    bayes = rows[rows["method"].str.startswith("bayes:")].drop_duplicates(key).set_index(key)
    naive = rows[rows["method"] == "naive"].set_index(key)["point"]
    youden = quality_rows(answer.diagnostics, "youden").set_index(key)["point"]
    compared = len(answer.ranks["model"].unique()) > 1
    headings = ["accuracy", "raw rate", "Youden's J", *["P(best)"] * compared]
    title = f"{_title(answer, 'accuracy')}, {percent(answer)} intervals, by judge"
    table = empty_table(title, ["judge", "model"], headings)
    for judge, ranks in answer.ranks.groupby("judge", sort=False):
        table.add_section()
        for model, best in zip(ranks["model"], ranks["p_best"], strict=True):
            at = (judge, model)
            figures = [
                f"{naive.get(at, math.nan):.3f}",
                f"{youden.get(at, math.nan):.3f}",
                *[chance(best, float(bayes["ess"][at]))] * compared,
            ]
            table.add_row(escape(str(judge)), escape(str(model)), interval_cell(bayes.loc[at]), *figures)
    return table


def _agreement(answer: Comparison) -> Table:
    """Several judges: for each pair of models, how many judges' intervals lie on which side of 0."""
    found = answer.estimates.where(estimand=estimand_in(answer, "difference"), group="")
    rows = oriented(found, answer.ranks["model"]).frame
    rows = rows[rows["p_positive"].notna()].drop_duplicates(["judge", "unit"])
    title = f"Differences by judge: how many {percent(answer)} intervals lie above, around and below 0"
    table = empty_table(title, ["difference"], ["mean", "above", "around", "below"])
    pairs = sorted(rows.groupby("unit", sort=False), key=lambda pair: -abs(pair[1]["point"].mean()))
    for unit, mine in pairs[:MOST_PAIRS]:
        above, below = int((mine["lower"] > 0).sum()), int((mine["upper"] < 0).sum())
        counted = (above, len(mine) - above - below, below)
        table.add_row(escape(str(unit)), f"{mine['point'].mean():.3f}", *map(str, counted))
    hidden = len(pairs) - MOST_PAIRS
    table.caption = f"{hidden} smaller differences not shown" if hidden > 0 else None
    return table
