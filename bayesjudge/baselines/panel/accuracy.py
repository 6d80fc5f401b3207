"""Every panel baseline's accuracies and differences, as `Estimates`."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesjudge.baselines.accuracy import estimators
from bayesjudge.baselines.accuracy.estimates import analytic
from bayesjudge.baselines.accuracy.methods import ANALYTIC, normal, on_logit
from bayesjudge.baselines.common.columns import Column, noted, pair_names, rows
from bayesjudge.baselines.common.intervals import require_options
from bayesjudge.baselines.common.moments import Array
from bayesjudge.baselines.panel.choice import choose_judge
from bayesjudge.baselines.panel.latent_class import latent_class_columns
from bayesjudge.baselines.panel.panel_logit import panel_logit_rule
from bayesjudge.baselines.panel.proxies import (
    UNFITTED,
    complete_votes,
    cross_fitted,
    evidence_of,
    majority_vote,
    mean_vote,
    missing_notes,
    multi_proxy_rule,
)
from bayesjudge.counts.panel import PanelVotes
from bayesjudge.errors import UsageError
from bayesjudge.estimates import Estimates, Population, estimand_of


@dataclass(frozen=True, eq=False, kw_only=True)
class Proxy:
    """A stand-in (I, M) for the label, what to say of it, and for each model what it lacks."""

    value: Array
    note: str
    missing: list[str]


def panel_baselines(
    votes: PanelVotes,
    *,
    prob: float = 0.95,
    methods: Iterable[str] | None = None,
    population: Population = "superpopulation",
    bootstrap: int = 500,
    seed: int = 0,
) -> Estimates:
    """Frequentist estimates of every model's accuracy and every difference from a panel of judges.

    Parameters
    ----------
    votes : PanelVotes
        From `bayesjudge.counts.panel.panel_votes`.
    prob : float
        Confidence level of the intervals.
    methods : iterable of str, optional
        Some of `PANEL_METHODS` (all by default) or of `LABEL_FREE_METHODS` (only when asked for).
    population : {"superpopulation", "items"}
        Accuracy on questions like these, or on exactly these items.
    bootstrap : int
        Bootstrap samples that show how much the choice of the best judge flatters it.
    seed : int
        Seed of the bootstrap and of the folds.

    Returns
    -------
    Estimates
        Rows as `bayesjudge.baselines.accuracy_baselines` gives them, over the answers with a vote or a label.

    Raises
    ------
    UsageError
        An unknown method or population, a probability outside (0, 1), negative replicates.

    Notes
    -----
    ``ppi++[...]`` is PPI++ on the best judge, the mean or majority vote (METHODS 1.3);
    ``ppi++[multi-proxy]`` on the shrunk regression weights of all votes; ``eif[panel-logit]`` the
    efficient estimator with a cross-fitted hierarchical logit; ``[...,logit]`` the same with limits on
    the logit scale and n − 1 variances, which hold better with few labels. ``dawid-skene`` assumes that
    judges err independently given the label; where they err together it is confidently wrong, and the
    label-free methods are more so.
    """
    require_options(prob, bootstrap)
    names = {name: estimand_of(name, population) for name in ("accuracy", "difference")}
    units = {"accuracy": list(votes.models), "difference": pair_names(votes.models)}
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in names}
    chosen = _choose(methods)
    kinds = dict.fromkeys(_RULES[method][0] for method in chosen if method in _RULES)
    proxies = {kind: _proxy(votes, kind, bootstrap=bootstrap, seed=seed) for kind in kinds}
    for group, keep in _slices(votes):
        for method in chosen:
            columns = _columns(votes, method, proxies, keep, prob=prob, population=population)
            for name, column in zip(names, columns, strict=True):
                fixed = {"estimand": names[name], "method": method, "prob": prob, "group": group}
                found[name] += rows(column, units[name], **fixed)
    return Estimates.from_rows(found["accuracy"] + found["difference"])


def _slices(votes: PanelVotes) -> Iterator[tuple[str, NDArray[np.bool_]]]:
    yield "", np.ones(len(votes.items), dtype=bool)
    if len(votes.groups) > 1:
        yield from ((name, votes.group == code) for code, name in enumerate(votes.groups))


def _columns(
    votes: PanelVotes,
    method: str,
    proxies: Mapping[str, Proxy],
    keep: NDArray[np.bool_],
    *,
    prob: float,
    population: Population,
) -> tuple[Column, Column]:
    if method not in _RULES:
        return latent_class_columns(votes, method, keep=keep, prob=prob, population=population)
    kind, rule = _RULES[method]
    proxy = proxies[kind]
    evidence = evidence_of(votes, proxy.value, rows=keep)
    accuracy, difference = analytic(rule, evidence, prob=prob, population=population)
    missing = [f"{proxy.note}; {text}" if proxy.note and text else proxy.note or text for text in proxy.missing]
    return noted(accuracy, missing), noted(difference, [proxy.note] * len(difference.notes))


def _proxy(votes: PanelVotes, kind: str, *, bootstrap: int, seed: int) -> Proxy:
    everyone = list(range(len(votes.judges)))
    if kind == "best-judge":
        choice = choose_judge(votes, bootstrap=bootstrap, seed=seed)
        code = votes.judges.index(choice.judge)
        return Proxy(value=complete_votes(votes)[:, :, code], note=choice.note, missing=missing_notes(votes, [code]))
    if kind in ("mean-vote", "majority-vote"):
        value = mean_vote(votes) if kind == "mean-vote" else majority_vote(votes)
        return Proxy(value=value, note="", missing=missing_notes(votes, everyone))
    rule = multi_proxy_rule(votes, seed=seed) if kind == "multi-proxy" else panel_logit_rule(votes)
    fitted = cross_fitted(votes, rule, seed=seed)
    value = np.zeros(votes.label.shape) if fitted is None else fitted
    return Proxy(value=value, note=UNFITTED if fitted is None else "", missing=missing_notes(votes, everyone))


#: Each proxy's family: PPI++ tunes λ for a vote; a prediction of the label needs no tuning.
_FAMILIES = {
    "best-judge": ("ppi++", estimators.PPI_PLUS),
    "mean-vote": ("ppi++", estimators.PPI_PLUS),
    "majority-vote": ("ppi++", estimators.PPI_PLUS),
    "multi-proxy": ("ppi++", estimators.PREDICTED),
    "panel-logit": ("eif", estimators.PREDICTED),
}
#: Of each method the proxy, and the estimator with its interval.
_RULES = {"naive[majority-vote]": ("majority-vote", ANALYTIC["naive"])} | {
    f"{name}[{kind}{ending}]": (kind, interval(family))
    for kind, (name, family) in _FAMILIES.items()
    for ending, interval in (("", normal), (",logit", on_logit))
}

#: Methods that look at no label: only when asked for, and every row carries a warning.
LABEL_FREE_METHODS = ("dawid-skene[label-free]", "latent-class[label-free]")


def _choose(names: Iterable[str] | None) -> tuple[str, ...]:
    """Check method names; None means `PANEL_METHODS`."""
    if names is None:
        return PANEL_METHODS
    wanted, known = {names} if isinstance(names, str) else set(names), (*PANEL_METHODS, *LABEL_FREE_METHODS)
    for name in sorted(wanted - set(known)):
        close = difflib.get_close_matches(name, known, n=1)
        hint = f"did you mean {close[0]!r}? " if close else ""
        raise UsageError(f"no panel method {name!r}; {hint}The methods are {', '.join(known)}")
    return tuple(name for name in known if name in wanted)


#: Methods of `panel_baselines` by default, in the order of the results.
PANEL_METHODS = (*_RULES, "dawid-skene")
