"""The panel's methods by name: a proxy, the estimator it goes into, and the interval."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from bayesjudge.baselines.accuracy import naive, ppi
from bayesjudge.baselines.accuracy.methods import ANALYTIC, AnalyticMethod, normal, on_logit
from bayesjudge.errors import UsageError

__all__ = ["LABEL_FREE_METHODS", "PANEL_METHODS", "PROXIES", "choose_panel", "interval_of"]

#: Each proxy's family: PPI++ tunes λ for a vote; a prediction of the label needs no tuning.
PROXIES = {
    "naive[majority-vote]": naive.ESTIMATOR,
    "ppi++[best-judge]": ppi.PLUS,
    "ppi++[mean-vote]": ppi.PLUS,
    "ppi++[majority-vote]": ppi.PLUS,
    "ppi++[multi-proxy]": ppi.PREDICTED,
    "eif[panel-logit]": ppi.PREDICTED,
}


def _with_logit(name: str) -> tuple[str, ...]:
    return (name,) if name.startswith("naive") else (name, name.replace("]", ",logit]"))


#: Methods of `panel_baselines` by default, in the order of the results.
PANEL_METHODS = (*(full for name in PROXIES for full in _with_logit(name)), "dawid-skene")
#: Methods that look at no label: only when asked for, and every row carries a warning.
LABEL_FREE_METHODS = ("dawid-skene[label-free]", "latent-class[label-free]")


def interval_of(name: str) -> tuple[str, AnalyticMethod]:
    """Proxy behind a method's name, and the estimator with its interval."""
    proxy = name.replace(",logit]", "]")
    if proxy.startswith("naive"):
        return proxy, ANALYTIC["naive"]
    return proxy, (normal if proxy == name else on_logit)(PROXIES[proxy])


def choose_panel(names: Iterable[str] | None) -> tuple[str, ...]:
    """Check method names; None means `PANEL_METHODS`.

    Raises
    ------
    UsageError
        A name that is neither in `PANEL_METHODS` nor in `LABEL_FREE_METHODS`.

    Examples
    --------
    >>> choose_panel(["ppi++[mean-vote]"])
    ('ppi++[mean-vote]',)
    """
    if names is None:
        return PANEL_METHODS
    wanted, known = {names} if isinstance(names, str) else set(names), (*PANEL_METHODS, *LABEL_FREE_METHODS)
    for name in sorted(wanted - set(known)):
        close = difflib.get_close_matches(name, known, n=1)
        hint = f"did you mean {close[0]!r}? " if close else ""
        raise UsageError(f"no panel method {name!r}; {hint}The methods are {', '.join(known)}")
    return tuple(name for name in known if name in wanted)
