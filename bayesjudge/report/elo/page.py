"""The Elo answer as a page: leaderboard, who beats whom, judges, held-out models, checks, methods."""

from __future__ import annotations

import math
from dataclasses import replace

import pandas as pd

from bayesjudge.estimates import Estimates
from bayesjudge.plots import (
    forest,
    held_out_intervals,
    preference_matrix,
    rank_probabilities,
    reliability_diagram,
    residuals_by_strength,
)
from bayesjudge.report.comparison import Comparison
from bayesjudge.report.elo.headline import MOST_SCALES, SCALE, VALID, board, headline, method_by, named_methods
from bayesjudge.report.lead import counted, how_many_differ, oriented, usable
from bayesjudge.report.page import Chance, Figure, Page, Section, Table
from bayesjudge.report.sections import figure_of, first_screen, judges_words, page_of
from bayesjudge.report.tables import comparison_table, estimates_table
from bayesjudge.report.terminal import missing_last

_QUESTION = "Which Elo does each model have, and how sure is that?"
_METHOD = (
    """Battles are reduced to counts of outcomes for each pair of models. bradley_terry gives each model a
    strength and ties their own parameter (Davidson); judge_elo also gives every judge a slope, the strength
    of its preferences relative to people's, and a deviation of its own for each model, correlated between judges.
    Elo is 1500 + (400 / ln 10) times the strength that Hard-Elo would find in infinitely many votes.""",
    """Baselines are penalised Bradley–Terry fits: hard-elo counts a tie as half a win, soft-elo turns a
    judge's score gap s into σ(βs), label smoothing moves each label towards one half. Their intervals
    use Student's t and cluster-robust (sandwich) standard errors. Draws of bradley_terry's Elo are spread by the
    covariance between clusters: a mean of that of model × cluster effects and of the sandwich, which has at least
    half of the weight.""",
    """Held out: the votes on one model at a time are hidden. judge_elo predicts the Elo that Hard-Elo finds
    in them; conformal intervals are calibrated on the other models, on the judge's Elo as it is or put
    through a line to the human scale. κ of a judge and people is of their table averaged with its half-turn, for which
    answer is called a is arbitrary.""",
    "Intervals are equal-tailed; points are posterior means or maximum penalised likelihood estimates.",
)
_GROUPS = """A strength in a group is the model's own plus what it is worth there, whose spread is learned: a group with
few battles is drawn to the others. Hard-Elo takes the battles of each group alone. 1500 is the mean of the models with
battles in the group."""
#: Models, or groups, that a figure tells apart.
MOST_COLOURS = 6
#: Diagnostics of clusters, which have a section of their own.
CLUSTERS = ("design_effect", "cluster_spread")
#: Models in a heat map of ranks, the best first.
MOST_RANKED = 25
#: Methods in the figure of held-out models.
MOST_METHODS = 5


def elo_page(answer: Comparison, *, excerpt: bool = False) -> Page:
    """The report of an Elo study, not yet written."""
    names = set(answer.ranks["model"])
    who = judges_words(answer)
    votes = f"human votes{f' and {who}' if who else ''}"
    scale = votes if counted(answer, "human votes") else f"the verdicts of {who}"
    return page_of(
        answer,
        title=f"Elo of {len(names)} models by {scale}",
        question=_QUESTION,
        headline=headline(answer),
        first=_first(answer),
        body=(_leaderboard, _groups, _differences, _beats, _clusters, _judges, _held_out),
        kinds={
            "Elo": answer.estimates.where(estimand="elo"),
            "Differences": oriented(answer.estimates.where(estimand="difference"), answer.ranks["model"]),
            "Held-out models": answer.estimates.where(estimand="held_out_elo"),
            "Judges": answer.diagnostics,
        },
        methods=_METHOD,
        places={"The judges": ("judge ",), "The votes": ("judge ",)},
        excerpt=excerpt,
    )


def _named(estimates: Estimates) -> Estimates:
    """Rows whose method says whose verdicts it rests on, so that judges stand side by side."""
    return Estimates(estimates.frame.assign(method=named_methods(estimates.frame), judge=""))


def _first(answer: Comparison) -> tuple[Table, Figure] | None:
    """The rows that answer and Hard-Elo on the human scale, or the rows of each judge's scale."""
    scales = list(dict.fromkeys(answer.ranks["judge"]))
    boards = {judge: board(answer, judge) for judge in scales[:MOST_SCALES]}
    caption = f"Elo, {100 * answer.settings['prob']:g} % intervals"
    if len(boards) < len(scales):
        caption += f", the first {len(boards)} of {len(scales)} judges; all are below"
    columns = {method_by(method, judge): rows for judge, (method, rows) in boards.items()}
    units = list(next(iter(boards.values()))[1].index)
    rows = answer.estimates.where(estimand="elo", group="", judge=scales[0]).frame
    baselines = [name for name in VALID if name in set(rows["method"])]
    more = [*baselines[:1], *(name for name in rows["method"] if name.startswith("bayes:"))][:2]
    if len(scales) == 1:
        columns |= {method_by(name, scales[0]): rows[rows["method"] == name].set_index("unit") for name in more}
    chances = None
    if usable(answer) and counted(answer, "human votes") and len(units) > 1:
        best, draws = answer.ranks.set_index("model")["p_best"], boards[scales[0]][1]["ess"].to_dict()
        chances = {"P(best)": {str(unit): Chance(p, draws.get(unit, math.nan)) for unit, p in best.items()}}
    return first_screen(columns, units, estimand="elo", caption=caption, number_format=".0f", chances=chances)


def _leaderboard(answer: Comparison) -> Section:
    rows = _named(answer.estimates.where(estimand="elo", group=""))
    # Label smoothing compresses the scale by design: it is in the table, and would fill the figure.
    drawn = Estimates(rows.frame[~rows.frame["method"].str.startswith("label-smoothing")])
    every = figure_of(
        forest(drawn, estimand="elo", layout="rows"),
        "Elo of each model by every method",
        "Forest plot of Elo: " + " ".join(headline(answer)),
    )
    figures = [replace(every, folded=True)]
    for judge in dict.fromkeys(answer.ranks["judge"]):
        ranks = answer.ranks[answer.ranks["judge"] == judge].head(MOST_RANKED)
        if len(ranks) > 1:
            caption = f"Posterior probability of each rank{f', by {judge}' if judge else ''}."
            figures.append(figure_of(rank_probabilities(ranks.drop(columns="judge")), caption, caption))
    table = comparison_table(rows, estimand="elo", caption="Elo by method", first="model", number_format=".0f")
    return Section(title="Leaderboard", figures=figures, tables=[table])


def _groups(answer: Comparison) -> Section | None:
    """Elo in each group, and what groups change."""
    frame = answer.estimates.where(estimand="elo").frame
    rows = missing_last(frame[(frame["group"] != "") & frame["point"].notna()])
    if rows.empty:
        return None
    tables: list[Table] = []
    figures: list[Figure] = []
    for judge in dict.fromkeys(rows["judge"]):
        mine, by = rows[rows["judge"] == judge], f" by {judge}" if judge else ""
        pooled = mine[mine["method"].str.startswith("bayes:")]
        few = [name for name in ("unit", "group") if len(set(pooled[name])) <= MOST_COLOURS]
        if few and len(pooled):
            row = "group" if few[0] == "unit" else "unit"
            drawn = Estimates(pooled.assign(unit=pooled[row], method="Bayesian, " + pooled[few[0]], group="", judge=""))
            caption = f"Elo of each model in each group{by}, by strengths that pool."
            figures.append(figure_of(forest(drawn, estimand="elo", layout="rows"), caption, f"Forest plot. {caption}"))
        named = Estimates(mine.assign(unit=mine["group"] + ", " + mine["unit"], group="", judge=""))
        caption = f"Elo in each group{by}"
        tables.append(
            comparison_table(
                named, estimand="elo", caption=caption, first="group, model", number_format=".0f", folded=True
            )
        )
    changed = missing_last(answer.diagnostics.where(estimand="elo_change").frame)
    if len(changed):
        units, methods = changed["group"] + ", " + changed["unit"], named_methods(changed)
        changed = changed.assign(unit=units, group="", method=methods, judge="")
        caption = "What a group changes: Elo there less Elo over all, among the models that it has"
        tables.append(
            comparison_table(
                Estimates(changed),
                estimand="elo_change",
                caption=caption,
                first="group, model",
                number_format=".0f",
                folded=True,
            )
        )
    return Section(title="Groups", text=[_GROUPS], figures=figures, tables=tables)


def _differences(answer: Comparison) -> Section | None:
    rows = _named(oriented(answer.estimates.where(estimand="difference", group=""), answer.ranks["model"]))
    if not len(rows):
        return None
    bayes = rows.frame[rows.frame["p_positive"].notna()].drop_duplicates("unit")
    text = how_many_differ(answer, bayes)
    table = comparison_table(
        rows,
        estimand="difference",
        caption="Differences by method",
        first="difference",
        number_format=".0f",
        folded=True,
    )
    return Section(title="Differences", text=text, tables=[table])


def _beats(answer: Comparison) -> Section:
    figures = []
    for judge in dict.fromkeys(answer.ranks["judge"]):
        part = answer.checks["beats"].query("judge == @judge")
        order = [str(name) for name in answer.ranks[answer.ranks["judge"] == judge]["model"]]
        matrix = part.set_index("model").loc[order, order]
        caption = f"Probability that the row's model has the higher Elo{f', by {judge}' if judge else ''}."
        drawing = preference_matrix(matrix, footer="P(row's Elo is higher than column's)")
        figures.append(figure_of(drawing, caption, caption))
    return Section(title="Who beats whom", figures=figures, folded=True)


def _clusters(answer: Comparison) -> Section | None:
    rows = answer.diagnostics.where(estimand=list(CLUSTERS))
    if not len(rows):
        return None
    text = (
        "Battles on one prompt, or of one voter, share more than the models. A design effect is the variance "
        "of a model's Elo relative to that of as many independent battles; the cluster spread is how far a "
        "model's strength on one of them lies from its own, in Elo."
    )
    table = estimates_table(rows, caption="Design effects, and the spread of strengths over clusters")
    return Section(title="What battles share", text=[text], tables=[table])


def _judges(answer: Comparison) -> Section | None:
    rows = answer.diagnostics.where(group="")
    if not len(rows):
        return None
    figures = []
    if "reliability" in answer.checks:
        drawing = reliability_diagram(answer.checks["reliability"], xlabel="σ(β|s|)", ylabel="share that agrees")
        caption = "How often people agree with the answer that a judge scored higher, by the gap of its scores."
        figures.append(figure_of(drawing, caption, caption))
    shown = rows.frame[~rows.frame["estimand"].isin(["deviation", *CLUSTERS])]
    title, caption = (
        ("The judges", "Value of each judge")
        if shown["judge"].astype(bool).any()
        else ("The votes", "Effects other than strengths in the votes")
    )
    return Section(title=title, figures=figures, tables=[estimates_table(Estimates(shown), caption=caption)])


def _held_out(answer: Comparison) -> Section | None:
    rows = _named(answer.estimates.where(estimand="held_out_elo")).frame
    if rows.empty:
        return None
    methods = list(dict.fromkeys(rows["method"]))[:MOST_METHODS]
    shown = rows[rows["method"].isin(methods)]
    caption = "Predictive and conformal intervals for the Elo that hidden votes give each model."
    figures = [figure_of(held_out_intervals(shown), caption, caption)]
    scored = shown[shown["truth"].notna()]
    if len(set(scored["unit"])) > 2:
        caption = "Error of each prediction by strength: a slope means a scale that is shrunk or stretched."
        figures.append(figure_of(residuals_by_strength(scored), caption, caption))
    scores = pd.DataFrame([{"method": method, **found} for method, found in answer.held_out.items()])
    places = {"mae": ".1f", "spearman": ".3f", "coverage": ".2f", "median_width": ".0f", "interval_score": ".0f"}
    ends = {f"{name}_{end}": spec for name, spec in places.items() for end in ("lower", "upper")}
    formats = {"n": ".0f", **places, **ends}
    tables = [Table(caption="Error and coverage by method", frame=scores, number_format=formats)] if len(scores) else []
    return Section(title="Models that only judges have evaluated", text=[SCALE], figures=figures, tables=tables)
