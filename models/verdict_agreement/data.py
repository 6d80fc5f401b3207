"""From pairs to what `verdict_agreement` sees: features of the rows in the likelihood, and of the others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesjudge.effects import Formula
from bayesjudge.errors import InputError, Problem, UsageError
from bayesjudge.model import Data
from bayesjudge.models.verdict_agreement.features import features
from bayesjudge.tables import Pairs
from bayesjudge.tables.columns import require_table

#: Name of the rows without a question type.
NO_CATEGORY = "(none)"


def prepare(
    pairs: Pairs,
    *,
    positives: bool,
    reviewed: float | str | None,
    components: int,
    extra: Sequence[str],
    formula: Formula | None = None,
) -> Data:
    """Data of `verdict_agreement`, one row a pair in the order of `Pairs.rank`."""
    require_table(pairs, Pairs, ibis=False)
    problems = _problems(pairs)
    if problems:
        raise InputError(problems)
    found = features(pairs, components=components, extra=extra, formula=formula)
    of, frame = found.of, pairs.frame.iloc[found.of.first]
    # Pairs in an order that their data decide: equal logs then give equal draws.
    x, vote, rows = found.x[of.order], of.vote[of.order], frame.iloc[of.order]
    verified, agrees = pairs.verified[of.first][of.order], pairs.agrees[of.first][of.order]
    share = _reviewed(pairs, reviewed)[of.first][of.order] if positives else np.ones(len(rows))
    agreed, used = agrees == 1, verified
    if positives:
        # Recorded as agreeing with one of two verdicts that disagree: described from that side.
        turned = np.where(verified & ~agreed & (vote == 0), -1.0, 1.0)
        x, agreed = x * turned[:, None], agreed | (turned < 0)
        # Of two that disagree one is right, so that a missing record says nothing of which.
        used = verified | (vote != 0)
    blocks = sorted(set(found.block.tolist()))
    category = rows["category"].fillna(NO_CATEGORY)
    names = sorted(category.unique())
    code = category.map({name: place for place, name in enumerate(names)}).to_numpy(np.int64)
    items = rows["item"].to_numpy()
    other = ~verified
    # Where both kinds of labels are recorded, not having been reviewed says nothing.
    missed = np.where(vote != 0, share, 0.0) if positives else np.zeros(len(rows))
    shared: dict[str, tuple[Any, tuple[str, ...]]] = {
        "x": (x, ("feature",)),
        "vote": (vote, ()),
        "category": (code, ()),
        "member": (found.members[of.order].astype(np.int8), ("group",)),
    }
    kinds = {"": ("pair", used), "_other": ("other", other)}
    return Data(
        arrays={
            "agreements": agreed[used].astype(np.int64),
            "looks": np.ones(int(used.sum()), np.int64),
            "reviewed": share[used],
            "reviewed_other": missed[other],
            "block": np.searchsorted(blocks, found.block).astype(np.int64),
            **{
                f"{name}{end}": all_of[mine] for end, (_, mine) in kinds.items() for name, (all_of, _) in shared.items()
            },
        },
        dims={
            "agreements": ("pair",),
            "looks": ("pair",),
            "reviewed": ("pair",),
            "reviewed_other": ("other",),
            "block": ("feature",),
            **{f"{name}{end}": (axis, *more) for end, (axis, _) in kinds.items() for name, (_, more) in shared.items()},
        },
        coords={
            "pair": tuple(items[used]),
            "feature": found.names,
            "other": tuple(items[other]),
            "block": tuple(found.kinds[b] for b in blocks),
            "group": found.groups,
            "category_name": tuple(names),
        },
        observed="agreements",
        ragged=("pair",),
        facts={"positives": positives},
        units={"unverified": int(other.sum())},
    )


def _problems(pairs: Pairs) -> list[Problem]:
    found = []
    keys = pairs.frame[["judge", "attack"]].drop_duplicates()
    if len(keys) > 1:
        found.append(
            Problem(
                column="judge",
                found=f"{len(keys)} judges or attacks in one table",
                allowed="verdicts of one judge under one attack",
                fix="Choose: pairs.of(judge='...', attack='none').",
            )
        )
    if not pairs.verified.any():
        found.append(
            Problem(
                column="human_prefers",
                found="no verified pair",
                allowed="some pairs that people chose between, too",
                fix="Verify some: 150 are a start, at random or by question.",
            )
        )
    return found


def _reviewed(pairs: Pairs, reviewed: float | str | None) -> NDArray[np.float64]:
    """Share of the agreements that were reviewed, for every row."""
    if isinstance(reviewed, str):
        if reviewed not in pairs.frame:
            raise UsageError(
                f"no column {reviewed!r} of review probabilities; the table has {list(pairs.frame.columns)}"
            )
        share: Any = pairs.frame[reviewed].to_numpy(dtype=float, na_value=np.nan)
    else:
        share = np.full(len(pairs), reviewed, dtype=float)
    wrong = np.flatnonzero(~((share > 0) & (share <= 1)))
    if len(wrong):
        raise InputError(
            [
                Problem(
                    column=str(reviewed),
                    found=f"{share[wrong[0]]}",
                    allowed="a probability above 0 and at most 1",
                    rows=tuple((wrong + 1).tolist()),
                    fix="Give the share of agreements that was reviewed.",
                )
            ]
        )
    return np.asarray(share)
