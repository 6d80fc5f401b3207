"""Every panel baseline's accuracies and differences, as `Estimates`."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayesjudge.baselines.accuracy import estimators
from bayesjudge.baselines.accuracy.estimates import analytic
from bayesjudge.baselines.accuracy.methods import ANALYTIC, AnalyticMethod, normal, on_logit
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
from bayesjudge.errors import UsageError
from bayesjudge.estimates import Estimates, Population, estimand_of

if TYPE_CHECKING:
    from bayesjudge.counts.panel import PanelVotes


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
    chosen = choose_panel(methods)
    proxies = _proxies(votes, chosen, bootstrap, seed)
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
    if method.startswith(("dawid-skene", "latent-class")):
        return latent_class_columns(votes, method, keep=keep, prob=prob, population=population)
    name, rule = interval_of(method)
    proxy = proxies[name]
    evidence = evidence_of(votes, proxy.value, rows=keep)
    accuracy, difference = analytic(rule, evidence, prob=prob, population=population)
    missing = [f"{proxy.note}; {text}" if proxy.note and text else proxy.note or text for text in proxy.missing]
    return noted(accuracy, missing), noted(difference, [proxy.note] * len(difference.notes))


def _proxies(votes: PanelVotes, methods: Iterable[str], bootstrap: int, seed: int) -> dict[str, Proxy]:
    wanted = {method.replace(",logit]", "]") for method in methods}
    return {name: panel_proxy(votes, name, bootstrap=bootstrap, seed=seed) for name in PROXIES if name in wanted}


def panel_proxy(votes: PanelVotes, name: str, *, bootstrap: int = 500, seed: int = 0) -> Proxy:
    """The proxy of one of `PROXIES`, with its notes; see `panel_baselines` for the options."""
    everyone = list(range(len(votes.judges)))
    kind = name[name.index("[") + 1 : -1]
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
PROXIES = {
    "naive[majority-vote]": estimators.NAIVE,
    "ppi++[best-judge]": estimators.PPI_PLUS,
    "ppi++[mean-vote]": estimators.PPI_PLUS,
    "ppi++[majority-vote]": estimators.PPI_PLUS,
    "ppi++[multi-proxy]": estimators.PREDICTED,
    "eif[panel-logit]": estimators.PREDICTED,
}


def _with_logit(name: str) -> tuple[str, ...]:
    return (name,) if name.startswith("naive") else (name, name.replace("]", ",logit]"))


#: Methods that look at no label: only when asked for, and every row carries a warning.
LABEL_FREE_METHODS = ("dawid-skene[label-free]", "latent-class[label-free]")


def interval_of(name: str) -> tuple[str, AnalyticMethod]:
    """Proxy behind a method's name, and the estimator with its interval."""
    proxy = name.replace(",logit]", "]")
    if proxy.startswith("naive"):
        return proxy, ANALYTIC["naive"]
    return proxy, (normal if proxy == name else on_logit)(PROXIES[proxy])


def choose_panel(names: Iterable[str] | None) -> tuple[str, ...]:
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
PANEL_METHODS = (*(full for name in PROXIES for full in _with_logit(name)), "dawid-skene")
