"""Tables of an audit: trust in every verdict, what drives it, and how the answer moves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayesjudge.baselines.audit import Audit, auc, partial_ot
from bayesjudge.baselines.audit.sensitivity import over_share, over_verified
from bayesjudge.counts.pairs import Presentations
from bayesjudge.errors import InputError
from bayesjudge.inference import Fit
from bayesjudge.inference.programs.progress import bar
from bayesjudge.model import GivesTrust, lacks
from bayesjudge.models.verdict_agreement import Features, VerdictAgreement
from bayesjudge.options import AuditOptions
from bayesjudge.studies.audit.guard import Guard, fast_audit, flippable
from bayesjudge.studies.common.methods import believing
from bayesjudge.tables import Pairs
from bayesjudge.tables.words import is_place

SHARES = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)
FRACTIONS = (0.1, 0.2, 0.4, 0.6, 0.8, 1.0)
#: Cells of the transport problem past which it is not solved again for every share.
MOST_AGAIN = 4_000_000
#: What each sensitivity table varies.
ABOUT = {"share": "share s of partial optimal transport", "verified": "share of pairs verified"}


def agreement_model(options: AuditOptions) -> VerdictAgreement:
    """The model of human agreement."""
    model = VerdictAgreement(
        labels=options.labels,
        reviewed=options.reviewed,
        components=options.components,
        extra=tuple(options.features),
        formulas=tuple(options.formula),
    )
    return believing(model, options)


def trust_table(
    pairs: Pairs, fits: Sequence[Fit], guard: Guard, found: Features, transport: Audit | None, *, prob: float
) -> pd.DataFrame:
    """One row an unverified verdict; where there is none, one row a verified verdict.

    Returns: ``item, judge, category, model_a, model_b, order, judge_prefers``; ``trust, lower, upper``: P(people agree)
        with its interval, for verified verdicts by a model fitted without their pair; ``flip``: reversed (only
        where the guard is open, and nothing that is verified); ``corrected``: the preference after that; ``prob_a``:
        P(people prefer a), a soft target for `bj.elo`; ``partial_ot``: the transport score; ``direction_1,
        direction_2``: place among the principal directions; ``trust[method]``, and its limits, by further models.
    """
    hidden = ~pairs.verified
    rows = np.flatnonzero(hidden) if hidden.any() else np.arange(len(pairs))
    trust = _trust(pairs, fits[0], found.of, prob=prob) if hidden.any() else guard.trust
    kept = ["item", "judge", "category", "model_a", "model_b", "order", "judge_prefers"]
    table = pairs.frame.iloc[rows].reset_index(drop=True)[kept].copy()
    table = table.assign(**dict(zip(("trust", "lower", "upper"), trust[rows].T, strict=True)))
    table["flip"] = guard.open & hidden[rows] & (table["trust"] < 0.5) & flippable(pairs)[rows]
    other = table["judge_prefers"].map({"a": "b", "b": "a"})
    table["corrected"] = other.where(table["flip"], table["judge_prefers"])
    table["prob_a"] = table["trust"].where(table["judge_prefers"] == "a", 1 - table["trust"])
    if transport is not None:
        table["partial_ot"] = transport.scores
    for name in ("direction 1", "direction 2"):
        if name in found.names:
            place = found.x[:, found.names.index(name)]
            table[name.replace(" ", "_")] = (found.of.side * place[found.of.pair])[rows]
    for one in fits[1:] if hidden.any() else ():
        names = [f"{what}[{one.model.label}]" for what in ("trust", "lower", "upper")]
        table = table.assign(**dict(zip(names, _trust(pairs, one, found.of, prob=prob)[rows].T, strict=True)))
    return table


def _trust(pairs: Pairs, fit: Fit, of: Presentations, *, prob: float) -> NDArray[np.float64]:
    """Trust of every unverified verdict with its interval (n, 3), from the posterior of its pair."""
    if not isinstance(fit.model, GivesTrust):
        raise lacks(fit.model, GivesTrust)
    by_pair = np.full((len(of.first), 3), np.nan)
    posterior = fit.model.trust(fit.posterior, fit.data, prob=prob)
    by_pair[of.where(~pairs.verified)] = posterior[["trust", "lower", "upper"]]
    rows = np.column_stack([of.of_rows(column) for column in by_pair.T])
    # The interval of the other response's probability ends where this one's begins.
    return np.where(of.side[:, None] > 0, rows, rows[:, [0, 2, 1]])


def battle_table(pairs: Pairs, trust: pd.DataFrame, guard: Guard, model: VerdictAgreement) -> pd.DataFrame:
    """Every pair of two named models as a battle, with a soft target for `bj.elo`.

    Returns: ``item, judge, model_a, model_b, prompt, human, prob_a``: which question the pair answers, what people said
        of the verified pairs, and P(people prefer a) of all, for verified pairs by a model fitted without them:
        `elo` learns from these how far the probabilities can be trusted, uses the others at that temperature, and takes
        battles on one question together. Pairs that the judge or people call a tie are last, ½ being a judge's tie.
        No rows where no models are named, or places of answers are.
    """
    agree = guard.trust[:, 0].copy()
    if not pairs.verified.all():
        agree[~pairs.verified] = trust["trust"]
    table = pd.concat([_battles(pairs, agree), *_undecided(pairs, model)], ignore_index=True)
    # Verdicts of one pair say the same of it.
    table = table[~table["item"].duplicated()]
    table = table[table["model_a"].notna() & table["model_b"].notna()]
    places = all(is_place(str(name)) for side in ("model_a", "model_b") for name in table[side].unique())
    return table[:0] if places else table.reset_index(drop=True)


def _battles(pairs: Pairs, agree: NDArray[np.float64]) -> pd.DataFrame:
    frame = pairs.frame
    return frame[["item", "judge", "model_a", "model_b"]].assign(
        prompt=frame["question"], human=frame["human_prefers"], prob_a=np.where(pairs.prefers_a, agree, 1 - agree)
    )


def _undecided(pairs: Pairs, model: VerdictAgreement) -> list[pd.DataFrame]:
    """Battles left out of the audit: verdicts on what people call a tie, then the judge's ties, then votes alone."""
    left = pairs.undecided
    if left is None or not len(left):
        return []
    judged = left.frame["judge_prefers"]
    parts = [left.take(rows.to_numpy(dtype=bool)) for rows in (judged.isin(["a", "b"]), judged == "tie", judged.isna())]
    agree = (_agreement(pairs, parts[0], model), np.full(len(parts[1]), 0.5), np.full(len(parts[2]), np.nan))
    return [_battles(part, p) for part, p in zip(parts, agree, strict=True) if len(part)]


def _agreement(pairs: Pairs, ties: Pairs, model: VerdictAgreement) -> NDArray[np.float64]:
    """Trust in verdicts on what people call a tie, by the model of all others; NaN where only agreements are known."""
    if not len(ties) or model.labels != "both":
        return np.full(len(ties), np.nan)
    hidden = ties.hide(np.ones(len(ties), dtype=bool))
    a, b, prompt = (np.concatenate([getattr(one, name) for one in (pairs, hidden)]) for name in ("a", "b", "prompt"))
    whole = Pairs(pd.concat([pairs.frame, hidden.frame], ignore_index=True), a, b, prompt)
    return fast_audit(whole, model, guarded=False).scores[-len(ties) :]


def transported(pairs: Pairs, options: AuditOptions) -> tuple[Audit | None, list[str]]:
    """Partial optimal transport of the unverified verdicts, where the table allows it."""
    if pairs.verified.all():
        return None, []
    if not pairs.dimensions:
        return None, ["no embeddings: partial optimal transport and directions are left out"]
    try:
        with bar("partial optimal transport") if options.progress else nullcontext() as report:
            return partial_ot(pairs, share=options.share, report=report), []
    except InputError as error:
        return None, [f"partial optimal transport left out: {error.problems[0].found}"]


def feature_table(pairs: Pairs, model: VerdictAgreement, fit: Fit, found: Features, *, prob: float) -> pd.DataFrame:
    """What drives trust: ``feature, block, auc, effect, lower, upper``, the strongest effects first.

    The AUC is that of the feature alone, on verified pairs, turned so that it is at least ½ (NaN where people
    always say the same); effects are log odds for one standard deviation, or for one category or model.
    """
    columns = ["feature", "block", "auc", "effect", "lower", "upper"]
    if not found.names:
        return pd.DataFrame(columns=columns)
    beta = model.effects(fit.posterior, fit.data).to_numpy()
    low, high = np.quantile(beta, [(1 - prob) / 2, (1 + prob) / 2], axis=(0, 1))
    of, right = found.of, pairs.agrees[pairs.verified]
    rows = (of.side[:, None] * found.x[of.pair])[pairs.verified]
    alone = np.array([auc(column, right) for column in rows.T])
    table = pd.DataFrame(
        {
            "feature": found.names,
            "block": found.blocks,
            "auc": np.maximum(alone, 1 - alone),
            "effect": beta.mean(axis=(0, 1)),
            "lower": low,
            "upper": high,
        }
    )
    order = table["effect"].abs().sort_values(ascending=False, kind="stable").index
    return table.loc[order, columns].reset_index(drop=True)


def sensitivity_tables(pairs: Pairs, options: AuditOptions) -> tuple[dict[str, pd.DataFrame], list[str]]:
    """Held-out consistency over s (partial optimal transport) and over how much is verified (the model).

    Also what could not be had, since a third of the verified pairs is held out for it, and why.
    """
    held, model = _third(pairs, options.seed), agreement_model(options)
    if options.labels != "both" or not held.any():
        return {}, []
    makers: dict[str, Callable[[], pd.DataFrame]] = {
        "verified": lambda: over_verified(
            pairs,
            held,
            fractions=FRACTIONS,
            seed=options.seed,
            audit=lambda part: fast_audit(part, model, seed=options.seed),
        )
    }
    tables: dict[str, pd.DataFrame] = {}
    messages = []
    cells = pairs.frame["item"][pairs.verified].nunique() * int((held | ~pairs.verified).sum())
    if pairs.dimensions and cells > MOST_AGAIN:
        messages.append(f"no sensitivity to the {ABOUT['share']}: {cells:,.0f} cells are too many to solve again")
    elif pairs.dimensions:
        makers = {"share": lambda: over_share(pairs, held, shares=SHARES), **makers}
    for name, make in makers.items():
        try:
            tables[name] = make()
        except InputError as error:
            messages.append(f"no sensitivity to the {ABOUT[name]}: {error.problems[0].found}")
    return {name: table for name, table in tables.items() if len(table)}, messages


def _third(pairs: Pairs, seed: int) -> NDArray[np.bool_]:
    """A random third of the verified pairs."""
    item = pairs.codes("item")
    known = np.random.default_rng([seed, 4]).permutation(np.unique(item[pairs.verified]))
    return np.isin(item, known[: len(known) // 3])
