"""The models and baselines that a question was given, beyond its own."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from bayesjudge.adapters import FunctionModel, model_or_fit
from bayesjudge.adapters.baseline import taken_as_baseline
from bayesjudge.adapters.files import names_file
from bayesjudge.baseline import DEFAULT, Baseline, QuestionName, chosen_baselines
from bayesjudge.baselines.common.columns import MINUS
from bayesjudge.errors import InputError, UsageError, did_you_mean
from bayesjudge.estimates import Estimates
from bayesjudge.estimates.table import is_bayesian
from bayesjudge.inference import Fit, Fitting
from bayesjudge.model import GenerativeModel, MeetsData, Model, lacks, met, prepared
from bayesjudge.options import QuestionOptions
from bayesjudge.options.registered import named


def is_requested(options: QuestionOptions, own: str) -> bool:
    """Whether a question's own model of that name is to answer: by default, or because it is named."""
    named = [one for one in options.models or () if isinstance(one, str)]
    return options.models is None or own in named or DEFAULT in named


def further_models(options: QuestionOptions, *, own: Collection[str], needs: type) -> list[Further]:
    """Models to fit apart from the question's ``own``, or fits of such, each of which has what it ``needs``."""
    if options.models is not None and not options.models:
        raise UsageError(f"models=() leaves no model: leave it out for the default ({' and '.join(own)})")
    found = []
    for one in options.models or ():
        if isinstance(one, str) and one in (*own, DEFAULT):
            continue
        given = named(one) if isinstance(one, str) and not names_file(one) else model_or_fit(one)
        own_priors = isinstance(given, MeetsData)  # which its data show
        further = (
            Further(given.model, given)
            if isinstance(given, Fit)
            else Further(given if own_priors else believing(given, options))
        )
        if not isinstance(further.model, needs):
            raise lacks(further.model, needs)
        found.append(further)
    return found


@dataclass(frozen=True, eq=False)
class Further:
    """A model that was given, and the fit of it where that was given."""

    model: Model
    made: Fit | None = None

    def met(self, options: QuestionOptions, *tables: Any) -> Further:
        """A function with the question's priors, on the first of the tables that it takes; others have theirs."""
        if self.made is not None or not isinstance(self.model, MeetsData):
            return self
        refused: list[Exception] = []
        for table in tables:
            try:
                return Further(believing(met(self.model, prepared(self.model, table)), options))
            except (UsageError, InputError) as error:
                refused.append(error)
        raise refused[0]

    def job(self, table: Any, options: QuestionOptions) -> Fitting:
        """What makes its fit."""
        return Fitting(model=self.model, table=table, made=self.made, **options.sampling)


def believing[M](model: M, options: QuestionOptions) -> M:
    """A model with those of the question's priors that are for it: named ``slot``, or ``model.slot``."""
    if not isinstance(model, GenerativeModel):
        return model
    return model.with_priors({slot: options.priors[name] for name, slot in _taken(model, options).items()})


def require_believed(options: QuestionOptions, models: Iterable[Model]) -> None:
    """Refuse a prior that no model of the question takes."""
    known = [model for model in models if isinstance(model, GenerativeModel)]
    taken = {name for model in known for name in _taken(model, options)}
    slots = {slot: None for model in known for slot in model.priors}
    for name in (name for name in options.priors if name not in taken):
        there = {model.name: ", ".join(model.priors) for model in reversed(known) if model.priors}
        listed = "; ".join(f"{of}: {names}" for of, names in there.items())
        raise UsageError(f"no prior {name!r}{did_you_mean(name.rpartition('.')[2], slots)}; there are {listed}")


def _taken(model: GenerativeModel, options: QuestionOptions) -> dict[str, str]:
    """Names of priors that are for a model, with its slots; its name, or the file's and it, may stand before."""
    found = {}
    files = [one for one in options.models or () if names_file(one) and one.rpartition(":")[2] == model.name]
    for name in sorted(options.priors, key=lambda name: "." in name):
        of, _, slot = name.rpartition(".")
        fixed = dict(model.fixed) if of and isinstance(model, FunctionModel) else {}  # it says why
        if of in {"", model.name, *files} and slot in {*model.priors, *fixed}:
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
    units: Mapping[str, Collection[str]] | None = None,
) -> Estimates:
    """Rows of the baselines that were requested: its ``own`` by ``rows(methods)``, then others'.

    units: By estimand, of what others may have rows, where the answer has no place for any more.
    """
    chosen = None if options.baselines is None else [taken_as_baseline(one, question) for one in options.baselines]
    methods, others = chosen_baselines(chosen, question=question, own=own)
    parts = [] if methods == [] else [rows(methods)]
    taken = set(own)
    for one in others:
        found = one.estimates(counts, options=options)
        if units is not None:
            _require_shown(one, found, units)
        _require_rows(one, found, taken)
        taken |= set(found.frame["method"])
        parts.append(found)
    return Estimates.concat(parts)


def units_of(systems: Collection[str], *, levels: str, gaps: str = "difference") -> dict[str, Collection[str]]:
    """The rows of an answer about systems: of each one's level, and of the difference of any two."""
    return {levels: systems, gaps: [f"{a} {MINUS} {b}" for a, b in itertools.permutations(systems, 2)]}


def _require_shown(one: Baseline, rows: Estimates, units: Mapping[str, Collection[str]]) -> None:
    """Refuse rows that the answer would leave out without a word."""
    for estimand, unit in zip(rows.frame["estimand"], rows.frame["unit"], strict=True):
        where = f"baseline {one.name!r} has a row of"
        if estimand not in units:
            raise UsageError(f"{where} {estimand!r}{did_you_mean(estimand, units)}; the answer has {', '.join(units)}")
        if unit not in units[estimand]:
            shown = ", ".join(itertools.islice(units[estimand], 10))
            raise UsageError(f"{where} {estimand} of {unit!r}{did_you_mean(unit, units[estimand])}; there are {shown}")


def _require_rows(one: Baseline, rows: Estimates, taken: Collection[str]) -> None:
    """Refuse a method that has another's name, and limits that are none."""
    for row in rows.frame.to_dict("records"):
        of, method = f"baseline {one.name!r}, {row['estimand']} of {row['unit']}", row["method"]
        if method in taken or is_bayesian(method):
            whose = "names models" if is_bayesian(method) else "is another's already"
            raise UsageError(
                f"{of}: the method {method!r} {whose}: give it a name, as in as_baseline(function, 'mine')"
            )
        lower, upper = row["lower"], row["upper"]
        if math.isnan(lower) != math.isnan(upper):
            raise UsageError(f"{of}: its limits are {lower:g} and {upper:g}: give both, or neither")
        if lower > upper:
            raise UsageError(f"{of}: its lower limit {lower:g} is above its upper limit {upper:g}")
