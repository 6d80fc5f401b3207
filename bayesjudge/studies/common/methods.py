"""The models and baselines that a question was given, beyond its own."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bayesjudge.adapters import model_or_fit
from bayesjudge.adapters.baseline import taken_as_baseline
from bayesjudge.adapters.files import names_file
from bayesjudge.baseline import DEFAULT, QuestionName, chosen_baselines
from bayesjudge.errors import UsageError, did_you_mean
from bayesjudge.estimates import Estimates
from bayesjudge.inference import Fit, Fitting
from bayesjudge.model import GenerativeModel, Model, lacks
from bayesjudge.options.registered import named

if TYPE_CHECKING:
    from bayesjudge.options import QuestionOptions


def is_requested(options: QuestionOptions, own: str) -> bool:
    """Whether a question's own model of that name is to answer: by default, or because it is named."""
    named = [one for one in options.models or () if isinstance(one, str)]
    return options.models is None or own in named or DEFAULT in named


def further_models(options: QuestionOptions, *, own: Collection[str], needs: type) -> list[Further]:
    """Models to fit apart from the question's ``own``, or fits of such, each of which has what it ``needs``."""
    if options.models is not None and not options.models:
        raise UsageError(f"models=() leaves no model; by default there is {', '.join(own)}")
    found = []
    for one in options.models or ():
        if isinstance(one, str) and one in (*own, DEFAULT):
            continue
        given = named(one) if isinstance(one, str) and not names_file(one) else model_or_fit(one)
        further = Further(given.model, given) if isinstance(given, Fit) else Further(believing(given, options))
        if not isinstance(further.model, needs):
            raise lacks(further.model, needs)
        found.append(further)
    return found


@dataclass(frozen=True, eq=False)
class Further:
    """A model that was given, and the fit of it where that was given."""

    model: Model
    made: Fit | None = None

    def job(self, table: Any, options: QuestionOptions) -> Fitting:
        """What makes its fit."""
        return Fitting(model=self.model, table=table, made=self.made, **options.sampling)


def believing[M](model: M, options: QuestionOptions) -> M:
    """A model with those of the question's priors that are for it: named ``slot``, or ``model.slot``."""
    if not isinstance(model, GenerativeModel):
        return model
    return model.with_priors({slot: options.priors[name] for name, slot in _taken(model, options.priors).items()})


def require_believed(options: QuestionOptions, models: Iterable[Model]) -> None:
    """Refuse a prior that no model of the question takes."""
    known = [model for model in models if isinstance(model, GenerativeModel)]
    taken = {name for model in known for name in _taken(model, options.priors)}
    slots = {slot: None for model in known for slot in model.priors}
    for name in (name for name in options.priors if name not in taken):
        there = {model.name: ", ".join(model.priors) for model in reversed(known) if model.priors}
        listed = "; ".join(f"{of}: {names}" for of, names in there.items())
        raise UsageError(f"no prior {name!r}{did_you_mean(name.rpartition('.')[2], slots)}; there are {listed}")


def _taken(model: GenerativeModel, names: Iterable[str]) -> dict[str, str]:
    """Names of priors that are for a model, with its slots; the name of the model itself goes before."""
    found = {}
    for name in sorted(names, key=lambda name: "." in name):
        of, _, slot = name.rpartition(".")
        if of in {"", model.name} and slot in model.priors:
            found[name] = slot
    return found


def require_distinct(models: Iterable[Model]) -> None:
    """Refuse two models of one label: rows, checks and fits are known by it."""
    labels = [model.label for model in models]
    for label in (label for label in labels if labels.count(label) > 1):
        raise UsageError(f"two models have the label {label!r}: leave one out, or give one another label")


def baseline_rows(
    options: QuestionOptions,
    counts: Any,
    *,
    question: QuestionName,
    own: Collection[str],
    rows: Callable[[Collection[str] | None], Estimates],
) -> Estimates:
    """Rows of the baselines that were requested: its ``own`` by ``rows(methods)``, then others'."""
    chosen = None if options.baselines is None else [taken_as_baseline(one, question) for one in options.baselines]
    methods, others = chosen_baselines(chosen, question=question, own=own)
    parts = [] if methods == [] else [rows(methods)]
    return Estimates.concat([*parts, *(one.estimates(counts, options=options) for one in others)])
