"""What a reader must know before a leaderboard: whose scale it is on, and what the judges are worth."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

import numpy as np
import pandas as pd

from bayesjudge.baselines.elo.bias import preferred_place
from bayesjudge.counts.battles.counts import BattleCounts
from bayesjudge.estimates import Estimates
from bayesjudge.inference import Fit
from bayesjudge.maths.bradley_terry import PER_LOGIT
from bayesjudge.model import GenerativeModel
from bayesjudge.models.judge_elo import JudgeElo
from bayesjudge.studies.common.checks import check_warnings, fallback_warnings, turned_warnings
from bayesjudge.studies.elo.fits import UNPOOLED, learned_from_few, voted
from bayesjudge.tables import Battles

#: Share of stated verdicts in conflict with the judge's own scores from which there is a warning.
CONFLICT = 0.1
#: Share of first-shown answers preferred that is called a position bias when its interval lies outside.
FAIR = (0.4, 0.6)
#: Verdicts below which a share says too little.
LEAST_VERDICTS = 50
#: Standard errors, of votes taken as independent, from which on a preference of people for a place is one.
CLEAR = 4.0
#: Slopes between which a judge's scale is about the human one.
SAME_SCALE = (0.8, 1.25)


def elo_warnings(
    counts: BattleCounts,
    estimates: Estimates,
    diagnostics: Estimates,
    checks: Mapping[str, pd.DataFrame],
    fits: Mapping[str, Fit],
) -> list[str]:
    """Most serious first."""
    return [
        *counts.warnings,
        *_scale(counts),
        *_without_votes(counts),
        *_penalised(estimates),
        *place_warnings(counts),
        *_turned(counts),
        *_few_models(counts, fits),
        *_few_pairs(fits),
        *_drawn_together(estimates),
        *_judges(diagnostics),
        *_slopes(counts, diagnostics),
        *fallback_warnings(fits),
        *check_warnings(checks),
    ]


def order_warnings(battles: Battles, *, judges: Iterable[str] | None = None) -> list[str]:
    """Which of the judges (by default all) prefer one column whatever the models, where no order is recorded."""
    frame = battles.frame
    decided = frame[frame["order"].isna() & frame["verdict"].isin([0.0, 1.0])]
    if judges is not None:
        decided = decided[decided["judge"].isin([judges] if isinstance(judges, str) else list(judges))]
    found = []
    for judge, mine in decided.groupby("judge"):
        share = float(mine["verdict"].mean())
        # Where no model stands in both columns, as against one baseline, a preferred column is a better model's.
        both = not {*mine["model_a"]}.isdisjoint(mine["model_b"])
        if both and len(mine) >= LEAST_VERDICTS and not FAIR[0] <= share <= FAIR[1]:
            found.append(
                f"judge {judge} prefers model_a in {share:.0%} of its verdicts, and the order of presentation is "
                "not recorded: if model_a was always shown first, give order='ab'; a preference for a position "
                "otherwise compresses the judge's scale"
            )
    return found


def _scale(counts: BattleCounts) -> list[str]:
    if counts.human.votes.sum():
        return []
    return ["no human votes: every Elo is on its judge's own scale: what that judge prefers, not what people do"]


def _without_votes(counts: BattleCounts) -> list[str]:
    """Models that nobody voted on."""
    if not counts.human.votes.sum():
        return []
    known = voted(counts)
    names = [name for m, name in enumerate(counts.models) if m not in known]
    if not names:
        return []
    return [f"no human vote on {', '.join(names)}: their Elo is predicted from the judges"]


def place_warnings(counts: BattleCounts) -> list[str]:
    """Whether people prefer a place that models were not equally often shown in."""
    if counts.human.votes[counts.human.order != 0].sum() < LEAST_VERDICTS:
        return []
    found = preferred_place(counts)
    most = int(np.argmax(abs(found.moved)))
    if abs(found.effect) < CLEAR * found.error or abs(found.moved[most]) < found.errors[most]:
        return []
    share = f"{1 / (1 + np.exp(-abs(found.effect))):.0%} of votes on two equal models"
    change = f"{PER_LOGIT * abs(found.moved[most]):.0f} Elo {'more' if found.moved[most] > 0 else 'fewer'}"
    text = (
        f"people prefer the answer shown {'first' if found.effect > 0 else 'second'} ({share}), and models were not "
        f"shown there equally often: {counts.models[most]} has {change} where that is allowed for, as by a second "
        "model 'bradley_terry[human,order]' next to 'default'"
    )
    return [text]


def _turned(counts: BattleCounts) -> list[str]:
    """Judges whose verdicts turn with the order on most battles."""
    found: list[str] = []
    for judge, labels in zip(counts.judges, counts.swaps.labels, strict=True):
        # A tie in both orders says nothing of whose letters they are.
        turned, judged = int(labels[0, 2] + labels[2, 0]), int(labels.sum() - labels[1, 1])
        found += turned_warnings(f"judge {judge}", turned, judged, what="battles", ours="verdict")
    return found


def _penalised(estimates: Estimates) -> list[str]:
    """Where only the penalty keeps Hard-Elo finite; the posterior rests on its prior there."""
    rows = estimates.where(estimand="elo", group="").frame
    noted = rows[rows["note"].str.contains("only the penalty")]
    by = {str(judge): note for judge, note in zip(noted["judge"], noted["note"], strict=True)}
    return [
        f"{f'judge {judge}' if judge else 'people'}: {note}; the Bayesian rows depend on the prior there"
        for judge, note in by.items()
    ]


def _few_models(counts: BattleCounts, fits: Mapping[str, Fit]) -> list[str]:
    """Where several judges' deviations are learned from few models."""
    joint = [label for label, one in fits.items() if isinstance(one.model, JudgeElo)]
    if not joint or not learned_from_few(counts):
        return []
    first = next(iter(fits)) not in joint
    text = (
        f"how the deviations of {len(counts.judges)} judges vary and correlate is learned from {len(voted(counts))} "
        "models with votes: intervals of judge_elo may be too narrow"
    )
    return [f"{text}, and the votes alone answer first" if first else f"{text}; compare those of the votes alone"]


def _few_pairs(fits: Mapping[str, Fit]) -> list[str]:
    """Where strengths do not pool because few pairs link the models."""
    given = [dict(one.model.given) for one in fits.values() if isinstance(one.model, GenerativeModel)]
    if not any(str(priors.get("strength")) == UNPOOLED for priors in given):
        return []
    pooled = JudgeElo().priors["strength"].default
    text = (
        "models are compared in few pairs, as in a chain: those that meet are then often similar, which says little of "
        "how much any two differ. Strengths therefore do not pool (a wide prior, of 10 logits), and intervals rest on "
        f"these battles alone: have more pairs compared, or pool them with --prior 'strength={pooled}'"
    )
    return [text]


def _drawn_together(estimates: Estimates) -> list[str]:
    """Where the prior of strengths moves models past Hard-Elo's interval on the same votes."""
    rows = estimates.where(estimand="elo", group="").frame
    found = []
    for judge in map(str, dict.fromkeys(rows["judge"])):
        own = rf"bayes:bradley_terry\[{re.escape(judge or 'human')}(, \w+~[^\]]*)*\](\[independent\])?"
        hard, same = (
            rows[(rows["judge"] == judge) & rows["method"].str.fullmatch(name)]
            for name in (r"hard-elo(\[independent\])?", own)
        )
        both = hard[~hard["note"].str.contains("only the penalty")].merge(same[["unit", "point"]], on="unit")
        away = {
            str(row["unit"]): row["point_y"] - row["point_x"]
            for row in both.to_dict("records")
            if not row["lower"] <= row["point_y"] <= row["upper"]
        }
        if not away:
            continue
        most = max(away, key=lambda unit: abs(away[unit]))
        found.append(
            f"{f'judge {judge}' if judge else 'people'}: the Bayesian Elo of {len(away)} of {len(both)} models lies "
            f"outside Hard-Elo's interval on the same votes (most for {most}, {away[most]:+.0f}): few pairs "
            "link the models, and the prior draws them together more than these votes allow; take Hard-Elo, or have "
            "more pairs of models compared"
        )
    return found


def _judges(diagnostics: Estimates) -> list[str]:
    overall = diagnostics.where(group="")
    betas = overall.where(estimand="beta").frame
    found = [
        f"judge {row['judge']}: low temperature (β {row['point']:.2f}), {str(row['note']).removeprefix('low: ')}"
        for row in betas.to_dict("records")
        if str(row["note"]).startswith("low")
    ]
    found += _conflicts(overall)
    flat = overall.where(estimand="gap_agreement_correlation").frame
    found += [
        f"judge {row['judge']}: {row['note']}" for row in flat.to_dict("records") if str(row["note"]).startswith("flat")
    ]
    for row in overall.where(estimand="first_preferred").frame.to_dict("records"):
        if row["lower"] > FAIR[1] or row["upper"] < FAIR[0]:
            share = f"{row['point']:.0%} of battles"
            found.append(f"judge {row['judge']}: prefers the answer shown first in {share}")
    return found


def _conflicts(overall: Estimates) -> list[str]:
    """Judges whose stated verdicts and scores say different things: the verdict is what counts."""
    means = {
        "sign_conflict[decisive]": "of decisive verdicts go against the sign of the score gap",
        "sign_conflict[tie]": "of verdicts with a score gap are ties",
    }
    rows = overall.where(estimand=list(means)).frame.to_dict("records")
    return [
        f"judge {row['judge']}: {row['point']:.0%} {means[row['estimand']]} ({row['note']}): the stated "
        "verdict is the label, and scores enter soft targets only"
        for row in rows
        if row["point"] > CONFLICT
    ]


def _slopes(counts: BattleCounts, diagnostics: Estimates) -> list[str]:
    """Judges of verdicts whose scale is not the human one; the slope of scores is in points."""
    scoring = {counts.judges[j] for j in np.unique(counts.judged.judge[np.isfinite(counts.judged.gap)])}
    found = []
    for row in diagnostics.where(estimand="slope").frame.to_dict("records"):
        if row["unit"] in scoring:
            continue
        if row["upper"] < SAME_SCALE[0] or row["lower"] > SAME_SCALE[1]:
            does = "compresses" if row["point"] < 1 else "stretches"
            slope = f"slope {row['point']:.2f} ({row['lower']:.2f} to {row['upper']:.2f})"
            found.append(f"judge {row['unit']} {does} the scale: {slope} per logit of human preference")
    return found
