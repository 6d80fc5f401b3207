"""Tables of the reliability answer: estimates in reading order, Bayesian tables next to the others."""

from __future__ import annotations

import numpy as np
import pandas as pd

from bayesjudge.baselines.reliability.curve import check_tiers
from bayesjudge.estimates import Estimates
from bayesjudge.studies.reliability.choices import Chosen
from bayesjudge.studies.reliability.parts import Pairwise, Pointwise

#: Estimands about repeatability itself, in reading order; a bracket's content does not matter.
HEADLINE = (
    "flip_rate",
    "disagreement",
    "entropy",
    "tie_rate",
    "accuracy",
    "majority_match",
    "repeats_replaced",
    "minimum_trials",
    "noise_budget",
    "swap_risk",
    "icc",
    "within_share",
    "score_sd",
    "score_margin",
    "score_gap",
    "mean_score",
)
#: What else is known about the judges: bias, agreement, layers, conditions; others follow as they come.
ABOUT = (
    "slot_share",
    "slot_effect",
    "disagreement_share",
    "position_bias",
    "position_effect",
    "position",
    "position_size",
    "agreement",
    "kappa",
    "ac1",
    "alpha",
    "variance_share",
    "effect",
    "flip_rate_change",
    "flip_rate_change_size",
    "majority_changed",
)
#: Name of the exact, frequentist curve.
EXACT = "exact"


def arranged(rows: Estimates) -> tuple[Estimates, Estimates]:
    """Estimates about repeatability, and about the judges; Bayesian rows of an estimand first."""
    frame = rows.frame
    kind = frame["estimand"].str.replace(r"[\\[(].*", "", regex=True)
    late = ~frame["method"].str.startswith("bayes:")
    found = []
    for mine, order in ((kind.isin(HEADLINE), HEADLINE), (~kind.isin(HEADLINE), ABOUT)):
        part = frame[mine].assign(
            kind=[order.index(k) if k in order else len(order) for k in kind[mine]], late=late[mine]
        )
        # Within a kind, forms of an estimand stay in the order in which they were made.
        form = pd.factorize(part["estimand"])[0]
        place = np.lexsort((np.arange(len(part)), part["late"], form, part["kind"]))
        found.append(Estimates(part.iloc[place][list(frame.columns)].reset_index(drop=True)))
    return found[0], found[1]


def own_tables(pair: Pairwise | Chosen | None, point: Pointwise | None, *, prob: float) -> dict[str, pd.DataFrame]:
    """Tables of the question's own, by name; those without rows are left out."""
    found: dict[str, pd.DataFrame] = {}
    tests = []
    if isinstance(pair, Chosen):
        found |= pair.tables(prob)
    elif pair is not None:
        own, exact = pair.fit.model.label, pair.baseline
        # Curves against the true majority (of the posterior) and against that of the trials made (exact).
        true = pair.curves[pair.curves["reference"] == "true"].assign(method=own)
        curves = [true, exact.curves.assign(method=EXACT, reference="observed")]
        minimum = [pair.minimum.assign(method=own), exact.minimum.assign(method=EXACT)]
        every = pd.concat(curves, ignore_index=True)
        tiers = [check_tiers(part).assign(method=name) for name, part in every.groupby("method", sort=False)]
        found |= {
            "items": _items(pair),
            "curves": every,
            "minimum": pd.concat(minimum, ignore_index=True),
            "tiers": pd.concat(tiers, ignore_index=True),
            "plan": pair.plan,
            "ablations": pair.baseline.ablations,
        }
        tests.append(pair.baseline.tests)
    if point is not None:
        found |= {
            "gaps": _gaps(pair if isinstance(pair, Pairwise) else None, point),
            "score_variance": point.baseline.variance,
        }
        tests.append(point.baseline.tests)
    return {name: frame for name, frame in {**found, "tests": _stacked(tests)}.items() if len(frame)}


def _stacked(frames: list[pd.DataFrame]) -> pd.DataFrame:
    kept = [frame for frame in frames if len(frame)]
    return pd.concat(kept, ignore_index=True) if kept else pd.DataFrame()


def _items(pair: Pairwise) -> pd.DataFrame:
    """Counts and exact tests of every item, and what its flip rate and majority probably are."""
    key = ["judge", "group", "item"]
    observed = pair.baseline.items.drop(columns=["condition", "mean_flip_rate"])
    observed = observed.rename(
        columns={"flip_rate": "flip_rate_observed", "majority": "majority_observed", "stratum": "stratum_observed"}
    )
    believed = pair.items.drop(columns=["category", "trials"])
    return observed.merge(believed, on=key, how="left")


def _gaps(pair: Pairwise | None, point: Pointwise) -> pd.DataFrame:
    """Gaps of mean scores, with the flip rate of the same judge, condition and item where there is one."""
    gaps = point.baseline.gaps
    if pair is None or gaps.empty:
        return gaps
    flips = pair.baseline.items[["judge", "group", "item", "flip_rate"]]
    return gaps.merge(flips, on=["judge", "group", "item"], how="left")
