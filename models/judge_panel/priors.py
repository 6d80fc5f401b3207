"""What `judge_panel` assumes, in logits unless it says otherwise."""

from __future__ import annotations

from collections.abc import Mapping

from bayesjudge.priors import Slot
from bayesjudge.priors.slot import PROBABILITY

_LOGIT, _BETTER = "logits", "answers that judges like may be better or worse than their votes suggest"
#: Of how far a judge's vote means different things for different models.
OWN_WEIGHT = "own_weight_spread"
#: Of annotators who each miss the truth at a rate of their own.
OF_ANNOTATORS = ("annotator_accuracy", "annotator_spread")
SLOTS: Mapping[str, Slot] = {
    "intercept": Slot("Normal(0, 1.5)", _LOGIT, "of an answer with average votes"),
    "model_spread": Slot("LogNormal(-0.1, 0.6)", _LOGIT, "models whose votes are equal differ by 0.3 to 3; avoids 0"),
    "weight": Slot("Normal(1, 1)", _LOGIT, "a judge is probably worth something"),
    "weight_spread": Slot("HalfNormal(1)", _LOGIT, "judges differ; copies share a weight"),
    OWN_WEIGHT: Slot("HalfNormal(0.5)", _LOGIT, "a vote means nearly the same for every model"),
    "model_rate_slope": Slot("Normal(0, 1)", _LOGIT, f"by model: {_BETTER}"),
    "item_rate_slope": Slot("Normal(0, 1)", _LOGIT, f"by item: {_BETTER}"),
    "annotator_accuracy": Slot("LogitNormal(2.5, 0.7)", PROBABILITY, "people err on 2 to 25 % of answers"),
    "annotator_spread": Slot("HalfNormal(0.5)", _LOGIT, "people differ in that by a factor or so"),
}
#: Of formulas, and of groups of items.
EFFECT = Slot("Normal(0, 1)", "logits per sd", "what the votes leave of a number moves the label by a logit or less")
GROUP_SPREAD = Slot("LogNormal(0, 0.5)", _LOGIT, "real topics differ by a logit or so; avoids 0")
GROUP_MODEL_SPREAD = Slot("HalfNormal(0.35)", _LOGIT, "models within them by less; 0 stays possible")
