"""The audit's answer as a page: what to do, what it gains, trust in every verdict, and how it was made."""

from __future__ import annotations

from dataclasses import replace

from bayesjudge.estimates.table import is_bayesian, method_words
from bayesjudge.plots import consistency_dots, forest, reliability_diagram, sensitivity_curves, trust_map, trust_scores
from bayesjudge.report.audit.headline import guard_sentence, headline
from bayesjudge.report.comparison import Comparison
from bayesjudge.report.page import Figure, Page, Section, Table
from bayesjudge.report.sections import checks_section, figure_of, first_screen, judges_words, page_of
from bayesjudge.report.tables import MOST_COLUMNS, comparison_table

#: Rows of a table that a page holds; `Comparison.save` writes them all.
MOST_ROWS = 1000
_QUESTION = "Which single verdicts would people agree with, and which should be reversed?"
_HELD = ("consistency (held out)", "gain (held out)")
_METHOD = (
    """verdict_agreement is a regression of people's agreement on what is known of a verdict: lengths, order,
    scores, another judge, question type, strengths of the two models, and principal directions of the
    embeddings. Each block of effects has a learned scale. Every unverified verdict gets a probability that
    people agree, with an interval.""",
    """A pair judged in both orders has two verdicts and one choice of people. Where the two agree they have
    one probability; where they disagree one is right, their probabilities sum to 1, and what does not depend
    on the side carries no information. Consistency and gains count a pair once.""",
    """A verdict is reversed where that probability is below one half, and only if cross-validation on
    the verified pairs shows flips to be right more often than wrong with probability above .9; where the
    unverified pairs are about other questions, all pairs of a question are held out together. The model's row among the
    held-out pairs is this cross-validation.""",
    """Partial optimal transport (PUAudit) matches unverified directions of preference to those of verified
    pairs, oriented as people chose, and flips what remains unmatched: their number is set by the share of
    consistent verdicts it is given. It and the trivial methods are shown on the
    same held-out pairs; nothing is flipped by them.""",
)


def audit_page(answer: Comparison, *, excerpt: bool = False) -> Page:
    """The report of an audit, not yet written."""
    return page_of(
        answer,
        title=f"Audit of single verdicts{f' of {who}' if (who := judges_words(answer)) else ''}",
        question=_QUESTION,
        headline=headline(answer),
        first=_first(answer),
        body=(_gains, _trust, _drivers, _attacks, _moves),
        checks=_checks,
        kinds={"Consistency": answer.estimates, "Diagnostics": answer.diagnostics},
        methods=_METHOD,
        places={
            "What each method gains": ("optimal transport", "reversing verdicts rarely"),
            "What drives distrust": ("no single feature",),
            "How the answer moves": ("no sensitivity to",),
        },
        excerpt=excerpt,
    )


def _first(answer: Comparison) -> tuple[Table, Figure] | None:
    """What each method would gain on pairs that were hidden from it."""
    overall = answer.estimates.where(group="", estimand=_HELD).frame
    named = overall.assign(words=[method_words(method) for method in overall["method"]])
    if not answer.gate.passed:  # figures draw these hollow
        named["note"] = named["note"].where(~named["method"].map(is_bayesian), "not converged")
    columns = {
        words: named[named["estimand"] == estimand].set_index("words")
        for estimand, words in zip(_HELD, ("consistency", "gain"), strict=True)
    }
    units = list(dict.fromkeys(named["words"]))
    caption = f"Verified pairs held out, {100 * answer.settings['prob']:g} % intervals"
    drawn = ["gain"] if len(columns["gain"]) else ["consistency"]
    return first_screen(columns, units, estimand="share of pairs", caption=caption, first="method", drawn=drawn)


def _gains(answer: Comparison) -> Section | None:
    overall = answer.estimates.where(group="", estimand=_HELD)
    if not len(overall):
        return None
    text = (
        "Verified pairs were hidden from each method in turn, and its flips compared with people's preferences. "
        "The model's row has every flip it would make there: by these its guard decides."
    )
    there = [name for name in _HELD if len(overall.where(estimand=name))]
    figures = [figure_of(forest(overall, estimand=there[-1]), f"{there[-1].capitalize()}.", text)]
    by_type = answer.estimates.where(estimand=_HELD[0])
    if len(by_type) > len(overall.where(estimand=_HELD[0])):
        caption = "Consistency with people by category, as judged and after each method."
        figures.append(figure_of(consistency_dots(by_type.frame, panels=[_HELD[0]]), caption, caption))
    tables = [comparison_table(overall, estimand=name, caption=name.capitalize()) for name in there]
    return Section(title="What each method gains", text=[text], figures=figures, tables=tables)


def _trust(answer: Comparison) -> Section:
    trust, figures = answer.checks["trust"], []
    own = next(iter(answer.manifest["fits"]))
    held = answer.checks.get("held_out")
    mine = None if held is None else held[held["method"] == own]
    kind = "verified" if answer.settings["verified"] == "all" else "unverified"
    caption = f"Distribution of trust, and every {kind} verdict's trust with its interval, in order."
    figures.append(figure_of(trust_scores(trust, mine, kind=kind), caption, f"{caption} {guard_sentence(answer)}"))
    if "reliability" in answer.checks and len(answer.checks["reliability"]):
        caption = "Share that people agreed with, by the trust of a model that was fitted without them."
        drawing = reliability_diagram(answer.checks["reliability"], xlabel="P(people agree)")
        figures.append(figure_of(drawing, caption, caption))
    if {"direction_1", "direction_2"} <= set(trust.columns):
        caption = f"{kind.capitalize()} verdicts among the two main directions of the embedding differences."
        figures.append(figure_of(trust_map(trust), caption, caption))
    return Section(title="Trust in single verdicts", figures=figures)


def _drivers(answer: Comparison) -> Section | None:
    rows = answer.checks["features"]
    rows = rows[rows["block"] != "direction"]
    if rows.empty:
        return None
    text = "Log odds of agreement for one standard deviation of a scalar, or for one category or model."
    table = Table(caption="What drives trust and distrust", frame=rows)
    return Section(title="What drives distrust", text=[text], tables=[table])


def _attacks(answer: Comparison) -> Section | None:
    own = ("(held out)", "(flipped)")
    names = [
        name
        for name in dict.fromkeys(answer.estimates.frame["estimand"])
        if name.startswith("consistency (") and not name.endswith(own)
    ]
    if not names:
        return None
    caption = "Consistency after each attack, as judged and after the audit, by category."
    drawing = consistency_dots(answer.estimates.frame, panels=names)
    return Section(title="Attacks", figures=[figure_of(drawing, caption, caption)])


def _moves(answer: Comparison) -> Section | None:
    figures: list[Figure] = []
    for name, over, xlabel, about in (
        ("share", "share", "share s of consistent verdicts", "partial optimal transport as s is varied"),
        ("verified", "verified", "verified pairs used", "the model as fewer pairs are verified"),
    ):
        if name in answer.checks:
            drawing = sensitivity_curves(answer.checks[name], over=over, xlabel=xlabel)
            caption = f"Held-out consistency and flips of {about}."
            figures.append(figure_of(drawing, caption, caption))
    return Section(title="How the answer moves", figures=figures) if figures else None


def _checks(answer: Comparison) -> Section:
    """The shared section; of tables with a row a verdict, the page holds the first rows only."""
    checks = {name: frame for name, frame in answer.checks.items() if len(frame) <= MOST_ROWS}
    section = checks_section(replace(answer, checks=checks))
    tables = [
        Table(
            caption=f"{name.capitalize()}, the first {MOST_ROWS} of {len(frame)} rows",
            folded=True,
            frame=frame.head(MOST_ROWS),
            shown=MOST_COLUMNS,
        )
        for name, frame in answer.checks.items()
        if name not in checks
    ]
    return replace(section, tables=[*section.tables, *tables])
