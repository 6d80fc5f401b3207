"""The panel's section of the accuracy page: what judges bring, and how far they err together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bayesjudge.plots import error_correlation_matrix, forest
from bayesjudge.report import Section, Table
from bayesjudge.studies.accuracy.part import PANEL
from bayesjudge.studies.common.sections import figure_of

if TYPE_CHECKING:
    from bayesjudge.estimates import Estimates
    from bayesjudge.studies.common.comparison import Comparison

__all__ = ["by_judge", "panel_section"]

_NEXT = (
    "Label these items next: drawn at random, more often where the panel is unsure. Keep the probabilities: "
    "active_baselines stays unbiased with them; PPI++ and EIF as if labels were a plain sample do not."
)
_TEXT = (
    "The panel regresses the human label on the votes of all judges at once, with partially pooled weights "
    "of judges and models and an effect of the item. It says nothing about how judges err, so judges that "
    "err together do not make it overconfident; a count of votes does. A judge whose votes others repeat "
    "shares their weight: a small weight means redundant or uninformative."
)


def by_judge(judge: str) -> str:
    """Whose numbers a table shows, for its caption; nothing where there is one judge.

    Examples
    --------
    >>> by_judge("gpt-4"), by_judge("")
    (', judge gpt-4', '')
    """
    if judge == PANEL:
        return ", all judges together"
    return f", judge {judge}" if judge else ""


def panel_section(answer: Comparison) -> Section | None:
    """Weights, error correlations and the table of judges; None without a panel."""
    if not answer.settings["panel"]:
        return None
    quality = answer.diagnostics.where(judge=PANEL)
    weights, pairs = (quality.where(estimand=name) for name in ("judge weight", "error_correlation"))
    figures = []
    if pairs.frame["point"].notna().any():
        worst = pairs.frame.sort_values("point", ascending=False).iloc[0]
        most = f"the largest is {worst['point']:.2f}, {worst['unit']}"
        alt = f"Correlations of judges' errors given the label; {most}."
        figures.append(figure_of(error_correlation_matrix(pairs.frame), alt, alt))
    caption = (
        "Weight of each judge: by how many logits its yes rather than no moves an answer, the others fixed."
    )
    figures.append(figure_of(forest(weights, estimand="judge weight"), caption, f"Forest plot. {caption}"))
    tables = [Table(caption="Judges of the panel", frame=answer.checks["judges"])]
    if "next_labels" in answer.checks:
        tables.append(Table(caption=_NEXT, frame=answer.checks["next_labels"]))
    text = [_TEXT, _beats(quality)]
    return Section(title="The panel of judges", text=text, figures=figures, tables=tables)


def _beats(quality: Estimates) -> str:
    """Whether the panel's verdicts agree with people more often than the best single judge's."""
    prob = quality.where(estimand="panel beats best judge").frame["point"].iloc[0]
    rows = quality.where(estimand="agreement").frame.set_index("unit")["point"]
    alone = rows.drop(index=rows.index[0]).sort_values(ascending=False)
    return (
        f"The panel's own verdicts agree with people on {rows.iloc[0]:.1%} of the answers, those of its best "
        f"judge ({alone.index[0]}) on {alone.iloc[0]:.1%}; the panel is better than every judge with "
        f"probability {prob:.2f}."
    )
