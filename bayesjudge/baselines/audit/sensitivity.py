"""How an audit's answer moves: with s and how much was verified (PUAudit, tables 6 and 7), and under attacks.

The attack protocol (section 5.2) has the same pairs judged again after one response was dressed up. An attack changes
how a response looks and not what it says, so what people prefer stays. The audit learns from verified pairs as they
were and never sees an attacked one verified.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayesjudge.baselines.audit.evidence import Audit, consistency, mean_by_pair
from bayesjudge.baselines.audit.partial_ot import partial_ot
from bayesjudge.errors import UsageError, require_choice
from bayesjudge.tables import Pairs

#: Shares s, and fractions of the verified pairs used, of the paper's tables.
SHARES = (0.01, 0.05, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99)
FRACTIONS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 0.99)


def over_share(
    pairs: Pairs, held_out: NDArray[np.bool_], *, shares: Sequence[float] = SHARES, **options: Any
) -> pd.DataFrame:
    """Consistency on held-out pairs for each transported mass s.

    Returns: One row a value: ``share, before, after, gain, flips, precision`` (of the flips; NaN without any).
    """
    hidden = _hidden(pairs, held_out)
    rows = [
        {"share": share, **score_audit(partial_ot(hidden, share=share, **options), pairs, held_out)} for share in shares
    ]
    return pd.DataFrame(rows)


def over_verified(
    pairs: Pairs,
    held_out: NDArray[np.bool_],
    *,
    fractions: Sequence[float] = FRACTIONS,
    seed: int = 0,
    audit: Callable[[Pairs], Audit] | None = None,
) -> pd.DataFrame:
    """Consistency on held-out pairs when only a fraction of the other verified pairs is used.

    audit: The method; `partial_ot` by default.

    Returns: As `over_share`, with ``fraction`` and ``verified`` (pairs used) in place of ``share``.
    """
    method = audit or partial_ot
    item, free = pairs.codes("item"), pairs.verified & ~held_out
    order = np.random.default_rng(seed).permutation(np.unique(item[free]))
    hidden, rows = _hidden(pairs, held_out), []
    for fraction in fractions:
        count = min(max(round(fraction * len(order)), 2), len(order))
        # Pairs beyond the fraction are left out: as unverified ones they would change what is audited.
        keep = ~np.isin(item, order[count:])
        found = score_audit(method(hidden.take(keep)), pairs.take(keep), held_out[keep])
        rows.append({"fraction": fraction, "verified": count, **found})
    return pd.DataFrame(rows)


def score_audit(audit: Audit, pairs: Pairs, held_out: NDArray[np.bool_]) -> dict[str, float]:
    """Consistency before and after, share of flips and their precision, on held-out verified pairs."""
    right, item = pairs.agrees[held_out], pairs.frame["item"].to_numpy()[held_out]
    flipped = audit.flipped(len(pairs))[held_out]
    before, after, flips = (
        mean_by_pair(values, item) for values in (right, np.where(flipped, 1 - right, right), flipped)
    )
    gain = float((after - before).mean())
    # A flip that is right gains what one that is wrong loses.
    precision = (1 + gain / float(flips.mean())) / 2 if flipped.any() else np.nan
    return {
        "before": float(before.mean()),
        "after": float(after.mean()),
        "gain": gain,
        "flips": float(flips.mean()),
        "precision": precision,
    }


def _hidden(pairs: Pairs, held_out: NDArray[np.bool_]) -> Pairs:
    if not held_out.any() or not pairs.verified[held_out].all():
        raise UsageError("held_out must mark some verified pairs, and none that no one verified")
    return pairs.hide(held_out)


#: Instructions that make an attacked response; in braces what is filled in.
ATTACKS = {
    "length": (
        "Make the answer below longer without saying anything more. Restate its points, add transitions and "
        "remarks that belong to the topic, and keep its facts, its conclusion and its manner. Do not answer "
        "anything else, and do not mention that you are rewriting. Give the longer answer only.\n\n"
        "The question was:\n{prompt}\n\nThe answer:\n{answer}\n"
    ),
    "sentiment": (
        "Rewrite the answer below in a {emotion} tone. Its facts, its conclusion and roughly its length stay "
        "as they are; only the feeling of the wording changes. Give the rewritten answer only.\n\n"
        "The question was:\n{prompt}\n\nThe answer:\n{answer}\n"
    ),
    "distraction": (
        "Put one or two sentences into the answer below that sound as if they belonged there but have no "
        "bearing on the question: an aside, an anecdote, a general truth. Change nothing else, no fact and "
        "no conclusion. Give the resulting answer only.\n\n"
        "The question was:\n{prompt}\n\nThe answer:\n{answer}\n"
    ),
}
EMOTIONS = ("cheerful", "angry", "sad", "anxious")


def attack_prompt(attack: str, *, prompt: str, answer: str, emotion: str = EMOTIONS[0]) -> str:
    """The instruction to a language model that makes an attacked response."""
    require_choice("attack", attack, ATTACKS)
    return ATTACKS[attack].format(prompt=prompt, answer=answer, emotion=emotion)


def consistency_by_attack(
    pairs: Pairs, audit: Callable[[Pairs], Audit], *, held_out: NDArray[np.bool_], prob: float = 0.95
) -> list[dict[str, Any]]:
    """Consistency of the judge and of an audit after every attack, over all and by category.

    pairs: Of one judge, with rows of attack ``"none"`` and of others.

    Returns: Rows for `Estimates`: methods ``judge`` and the audit's, estimands named with the attack in brackets.
    """
    frame = pairs.frame
    items = set(frame.loc[held_out, "item"])
    tested = frame["item"].isin(list(items)).to_numpy(dtype=bool)
    plain = (frame["attack"] == "none").to_numpy(dtype=bool)
    anchors = np.flatnonzero(plain & pairs.verified & ~tested)
    if not len(anchors):
        raise UsageError("no verified pair without attack is left to learn from: hold fewer items out")
    rows: list[dict[str, Any]] = []
    for attack in dict.fromkeys(frame["attack"]):
        hit = np.flatnonzero((frame["attack"] == attack).to_numpy(dtype=bool) & tested & pairs.verified)
        if not len(hit):
            raise UsageError(f"no held-out pair after attack {attack!r} is verified, so nothing can be scored")
        joined = pairs.take(np.concatenate([anchors, hit]))
        # To the method they are one table: which of its rows were attacked is what it must not know.
        joined = replace(joined, frame=joined.frame.assign(attack="none"))
        target = np.arange(len(joined)) >= len(anchors)
        found = audit(joined.hide(target))
        flipped, agrees = found.flipped(len(joined))[target], joined.agrees[target]
        mine = joined.frame[target]
        types = mine["category"].fillna("(none)").to_numpy()
        for method, flips in (("judge", np.zeros_like(flipped)), (found.method, flipped)):
            rows += [
                {**row, "estimand": f"{row['estimand']} ({attack})"}
                for row in consistency(
                    agrees, flips, method=method, prob=prob, category=types, pair=mine["item"].to_numpy()
                )
                if method != "judge" or row["estimand"] == "consistency"
            ]
    return rows
