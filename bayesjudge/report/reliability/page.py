"""The reliability answer as a page: stability, position, trials needed, scores, judges, conditions."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd

from bayesjudge.estimates import Estimates
from bayesjudge.plots import category_flips, flip_bars, gap_scatter, reliability_curves, slopegraphs, variance_layers
from bayesjudge.report.comparison import Comparison
from bayesjudge.report.page import Figure, Page, Section, Table
from bayesjudge.report.reliability.columns import columns_section, forest_where_it_fits, slots_section
from bayesjudge.report.reliability.headline import (
    ALL,
    SAME_ORDER,
    TRIALS,
    headline,
    is_turned,
    plan_sentences,
    plan_table,
    rows_of,
)
from bayesjudge.report.sections import figure_of, first_screen, judges_words, page_of, without_constants
from bayesjudge.report.tables import comparison_table
from bayesjudge.report.terminal import unit_name

_QUESTION = "Is the judge's verdict repeatable, and how many trials does it need?"
_METHOD = (
    """Choices among three options or more are fitted judge by judge: an item's options have preferences, slots add
    to them, and trials of one arrangement correlate; preferences are integrated out by importance sampling, and
    Pareto's k, the effective draws and the error of the items' likelihoods are the gate.""",
    """Trials are reduced to counts of a, b and tie for each judge, item, prompt, temperature and order. The
    model repeated_trials gives every item a preference shared by the judges, lets judges and prompts disagree
    with it, and gives each judge a position bias, a tie rate, a decisiveness and a correlation of its trials.
    Flip rates, majorities and numbers of trials are those of infinitely many trials, from the
    probabilities of the three outcomes, so that few trials of an item are not mistaken for stability. Means over items
    are of items like these, of which they are a sample (at every draw items have Dirichlet(1, ..., 1) weights).
    Where items go together, as the pairs of models of one item do, clusters of them have these weights, and are
    resampled.""",
    """Baselines are functions of the same counts: the long-run flip rate by maximum likelihood of a
    beta-binomial distribution over items (with ties a Dirichlet; intervals by its
    likelihood ratio), which is too low where some items are certain and others even; the observed
    flip rate 1 − max/N, entropy, agreement and κ of majorities, with bootstrap intervals over items (unless every
    trial showed the same response first, which response is called a is arbitrary: κ, weighted κ and AC1 are then those
    of the table of majorities averaged with its half-turn, which textbooks do not do); exact
    binomial, Fisher and sign tests of position; and the exact probability that K of the trials made have the
    majority of all of them (multivariate hypergeometric). Intraclass correlations are those of Shrout and
    Fleiss with F-intervals; means of scores have Student's t intervals, from sums over each item's responses.""",
    """The plan spends a budget of further trials where it saves most wrong majorities, by exact expected
    errors under the posterior.""",
)
_OBSERVED = """The flip rate is that of infinitely many trials. The observed one, 1 − max/N, is named after the number
of trials N that it was computed from: it rises with N by construction, so tables with different numbers of trials must
not be compared on it. The Bayesian row of that name is what the model predicts for as many trials of such
items."""
#: Where the tiers of trials come from.
PAPER = "“The Coin-Flip Judge”"
#: Bars that a reader can still tell apart, the fewest items shown whatever the number of judges, and judges an item
#: that need no click.
MOST_BARS, LEAST_ITEMS, MOST_JUDGES = 90, 8, 3


def reliability_page(answer: Comparison, *, excerpt: bool = False) -> Page:
    """The report of a reliability study, not yet written."""
    return page_of(
        answer,
        title=f"Repeatability of {judges_words(answer)}",
        question=_QUESTION,
        headline=headline(answer),
        first=_first(answer),
        body=(_position, slots_section, _stability, columns_section, _needed, _plan, _scores, _judges, _conditions),
        kinds={"Repeatability": answer.estimates, "Judges": answer.diagnostics},
        methods=_METHOD,
        places={"Scores": ("scores",)},
        excerpt=excerpt,
    )


def _first(answer: Comparison) -> tuple[Table, Figure] | None:
    """Position, flips in the same order and over both, and trials needed of each judge and condition."""
    flips, icc = (rows_of(answer, answer.estimates, name) for name in (ALL, "icc"))
    units = [unit_name(*unit) for unit in (flips or icc)]
    caption = f"{'Repeatability' if flips else 'Scores'}, {100 * answer.settings['prob']:g} % intervals"
    found = {
        "first − second": rows_of(answer, answer.diagnostics, "position_effect"),
        "flips, same order": rows_of(answer, answer.estimates, SAME_ORDER),
        "flip rate": flips,
        "trials for 95 %": rows_of(answer, answer.estimates, TRIALS),
    }
    found = (
        found
        if flips
        else {
            "ICC of one score": icc,
            "margin of error of one score": rows_of(answer, answer.estimates, "score_margin"),
        }
    )
    columns = {
        name: pd.DataFrame(list(rows.values()), index=[unit_name(*unit) for unit in rows])
        for name, rows in found.items()
        if rows
    }
    if not columns:
        return None
    drawn = [name for name in ("flips, same order", "flip rate", "ICC of one score") if name in columns]
    words = {"trials for 95 %": ".0f"}
    return first_screen(
        columns,
        units,
        estimand="flip_rate" if flips else "icc",
        caption=caption,
        first="judge",
        number_format=words,
        drawn=drawn,
    )


def _stability(answer: Comparison) -> Section | None:
    if "items" not in answer.checks:
        return None
    items = answer.checks["items"]
    shown = items[items["group"] == items["group"].iloc[0]]
    where = f" under {shown['group'].iloc[0]}" if shown["group"].iloc[0] else ""
    high = int((items["flip_rate"] > 0.2).sum())
    text = f"{high} of {len(items)} judge–item pairs flip in more than 20 % of trials."
    caption = f"Flip rate of the least stable items{where}; lines are intervals."
    most = max(LEAST_ITEMS, MOST_BARS // shown["judge"].nunique())
    bars = figure_of(flip_bars(shown, most=most), caption, f"Bars of flip rates. {text}")
    figures = [replace(bars, folded=shown["judge"].nunique() > MOST_JUDGES)]
    if items["category"].notna().any():
        caption = f"Mean flip rate by judge and category{where}."
        figures.append(figure_of(category_flips(shown), caption, f"Heat map of mean flip rates{where}."))
    tables = [comparison_table(answer.estimates, estimand=ALL, caption="Flip rate", first="judge")]
    frame = answer.estimates.frame
    observed = frame[frame["estimand"].str.startswith("flip_rate[N=")]
    if len(observed):
        trials = observed["estimand"].str.extract(r"\[(.*)\]")[0].str.replace("=", " = ")
        named = Estimates(observed.assign(estimand="observed", unit=observed["unit"] + " (" + trials + ")", judge=""))
        tables.append(
            comparison_table(named, estimand="observed", caption="Observed flip rate of N trials", first="judge")
        )
    figures = [*forest_where_it_fits(answer.estimates, ALL), *figures]
    return Section(title="Stability", text=[text, _OBSERVED], figures=figures, tables=tables)


def _position(answer: Comparison) -> Section | None:
    rows = answer.diagnostics.where(estimand="position_effect").frame
    if rows.empty:
        return None
    if rows["point"].notna().any():
        caption = "P(first wins) − P(second wins), averaged over both orders: 0 where position does not matter."
        figures = forest_where_it_fits(answer.diagnostics, "position_effect", caption)
        return Section(title="Position", figures=figures)
    return Section(title="Position", text=[str(rows["note"].iloc[0]).capitalize() + "."])


def _needed(answer: Comparison) -> Section | None:
    if "curves" not in answer.checks:
        return None
    curves, tiers = answer.checks["curves"], answer.checks["tiers"]
    caption = (
        "Probability that the majority of K trials is the judge's true majority (Bayesian), and that of all "
        "the trials made (exact; it ends at 1 because it is its own reference)."
    )
    figure = figure_of(reliability_curves(curves), caption, "Reliability curves rise with the number of trials.")
    whole = tiers[tiers["stratum"] == "all"].drop(columns=["stratum"])
    smallest = answer.checks["minimum"]
    # A share, which the format of numbers of trials would round to 1.
    smallest = smallest.assign(target=[f"{100 * target:g} %" for target in smallest["target"]])
    tables = [
        Table(caption=f"The tiers of 10, 20 and 50 trials of {PAPER}, checked", frame=without_constants(whole)),
        Table(caption="Smallest number of trials", frame=smallest, number_format=".0f", folded=True),
    ]
    return Section(title="How many trials", figures=[figure], tables=tables)


def _plan(answer: Comparison) -> Section | None:
    if "plan" not in answer.checks:
        return None
    plan = answer.checks["plan"]
    summary, asked = plan_table(plan), plan[plan["extra"] > 0].sort_values("extra", ascending=False, kind="stable")
    several = len(summary) > 1
    tables = [Table(caption="Further trials, by judge", frame=summary, number_format=".1f")] * several
    if len(asked):
        again = without_constants(asked.drop(columns=["wrong_uniform"]))
        tables.append(Table(caption="Items to judge again", frame=again))
    return Section(title="Where to ask again", text=[] if several else plan_sentences(plan), tables=tables)


def _scores(answer: Comparison) -> Section | None:
    figures: list[Figure] = []
    if len(answer.estimates.where(estimand="icc")):
        caption = (
            "ICC of one score: share of its variance that is about the response; posterior means where Bayesian, "
            "else ICC(2,1) of the analysis of variance, with F-intervals, which take scores for normal and "
            "independent, and those of the jackknife over items."
        )
        figures += forest_where_it_fits(answer.estimates, "icc", caption)
    if "score_variance" in answer.checks:
        frame = answer.checks["score_variance"]
        unit = [
            f"{judge}, {group}" if group else judge for judge, group in zip(frame["judge"], frame["group"], strict=True)
        ]
        layers = frame.assign(unit=unit, layer=frame["component"]).dropna(subset=["share"])
        if len(layers):
            caption = "Shares of a score's variance: the response, the trial, and the residual."
            figures.append(figure_of(variance_layers(layers), caption, "Stacked bars of variance shares."))
    if "gaps" in answer.checks and "flip_rate" in answer.checks["gaps"]:
        both = answer.checks["gaps"].dropna(subset=["flip_rate"])
        if len(both):
            caption = "Each item's flip rate against the gap between the mean scores of its two responses."
            figures.append(figure_of(gap_scatter(both), caption, "Scatter plot of flip rates and score gaps."))
    return Section(title="Scores", figures=figures) if figures else None


def _judges(answer: Comparison) -> Section | None:
    turned = ", a and b exchangeable" if is_turned(answer.diagnostics) else ""
    figures = (
        []
        if answer.diagnostics.where(estimand="kappa").frame.empty
        else forest_where_it_fits(answer.diagnostics, "kappa", f"Cohen's κ of two judges' majorities{turned}.")
    )
    shares = answer.diagnostics.frame
    shares = shares[shares["estimand"].str.startswith("variance_share[")]
    if len(shares):
        layers = shares.assign(layer=shares["estimand"].str.extract(r"\[(.*)\]")[0], share=shares["point"])
        caption = "Layers of a verdict's variance: the judge's own chance, position, protocol, who judges."
        figures.append(figure_of(variance_layers(layers), caption, "Stacked bar of variance shares."))
    return Section(title="Judges and layers", figures=figures) if figures else None


def _conditions(answer: Comparison) -> Section | None:
    if "ablations" not in answer.checks:
        return None
    changes = answer.checks["ablations"]
    figures = [
        figure_of(
            slopegraphs(rows),
            f"The same items under two settings of the {kind}.",
            f"Slopegraphs of flip rates by {kind}.",
        )
        for kind, rows in changes.groupby("kind", sort=False)
    ]
    return Section(title="Temperature and prompt", figures=figures)
