"""What `pointwise_scores` assumes, by likelihood."""

from __future__ import annotations

from collections.abc import Mapping

from bayesjudge.priors import Prior, Slot

_SD, _LOGIT = "standard deviations of the scores", "logits"
_SCALE = Slot("Normal(0, 0.5)", "log", "some judges use half as much again of the scale as others")
SLOTS: Mapping[str, Mapping[str, Slot]] = {
    "gaussian": {
        "mean": Slot("Normal(0, 2)", f"{_SD}, from their mean", "weak: the scores determine it"),
        "response_spread": Slot("HalfNormal(1)", _SD, "as wide as the scores themselves"),
        "noise": Slot("HalfNormal(1)", _SD, "as wide as the scores themselves"),
        "leniency": Slot("Normal(0, 0.5)", _SD, "judges differ by less than responses do"),
        "interaction_spread": Slot("HalfNormal(0.5)", _SD, "judges agree on responses more than not"),
        "log_scale": _SCALE,
        "trial_spread": Slot("HalfNormal(0.25)", _SD, "a day moves all scores by little"),
    },
    "ordinal": {
        "response_spread": Slot(Prior("Gamma", (2, 2 / 3)), _LOGIT, "around 3: responses differ by more than noise"),
        "leniency": Slot("Normal(0, 1)", _LOGIT, "judges differ by about the noise"),
        "interaction_spread": Slot("Gamma(2, 2)", _LOGIT, "around 1, and not 0, where the density is a funnel"),
        "log_scale": _SCALE,
        "middle_cut": Slot("Normal(0, 3)", _LOGIT, "weak: the levels' frequencies determine it"),
        "cut_gap": Slot("Gamma(2, 1.5)", _LOGIT, "levels differ by about 1.3"),
    },
}
#: Of formulas: effects of numbers, and spreads of groups.
ADDED: Mapping[str, tuple[Slot, Slot]] = {
    "gaussian": (
        Slot(
            "Normal(0, 0.5)", f"{_SD} per sd", "what a column says of a response is less than all that responses differ"
        ),
        Slot("HalfNormal(0.5)", _SD, "groups may be equal: a spread of 0 stays possible"),
    ),
    "ordinal": (
        Slot("Normal(0, 1.5)", f"{_LOGIT} per sd", "half of what responses differ by"),
        Slot("HalfNormal(1.5)", _LOGIT, "groups may be equal: a spread of 0 stays possible"),
    ),
}
