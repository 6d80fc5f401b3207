"""From pairs to what `verdict_agreement` sees: features of the rows in the likelihood, and of the others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayesjudge.errors import InputError, Problem, UsageError
from bayesjudge.model import Data
from bayesjudge.models.verdict_agreement.features import BLOCKS, features

if TYPE_CHECKING:
    from bayesjudge.tables import Pairs

__all__ = ["prepare"]

#: Name of the rows without a question type.
NO_CATEGORY = "(none)"


def prepare(
    pairs: Pairs, *, positives: bool, reviewed: float | str | None, components: int, extra: Sequence[str]
) -> Data:
    """Data of `verdict_agreement`.

    Parameters
    ----------
    pairs : Pairs
        Of one judge.
    positives : bool
        Only agreements were recorded: every row is in the likelihood, seen or not seen to agree.
    reviewed : float or str, optional
        Share of the agreements that were reviewed, or the column that says it for each row.
    components, extra
        As in `features.features`.

    Raises
    ------
    InputError
        Several judges, nothing verified, or a share of reviews outside 0 to 1.
    UsageError
        No such column.
    """
    problems = _problems(pairs)
    if problems:
        raise InputError(problems)
    found, verified = features(pairs, components=components, extra=extra), pairs.verified
    used = np.ones(len(pairs), dtype=bool) if positives else verified
    seen = (pairs.agrees == 1) & used
    blocks = sorted(set(found.block.tolist()))
    category = pairs.frame["category"].fillna(NO_CATEGORY)
    names = sorted(category.unique())
    code = category.map({name: place for place, name in enumerate(names)}).to_numpy(np.int64)
    # Where both kinds of labels are recorded, not having been reviewed says nothing.
    share = _reviewed(pairs, reviewed) if positives else np.where(verified, 1.0, 0.0)
    items = pairs.frame["item"].to_numpy()
    return Data(
        arrays={
            "agreements": seen[used].astype(np.int64), "looks": np.ones(int(used.sum()), np.int64),
            "x": found.x[used], "category": code[used], "reviewed": share[used],
            "x_other": found.x[~verified], "category_other": code[~verified],
            "reviewed_other": share[~verified],
            "block": np.searchsorted(blocks, found.block).astype(np.int64),
        },
        dims={
            "agreements": ("pair",), "looks": ("pair",), "x": ("pair", "feature"), "category": ("pair",),
            "reviewed": ("pair",), "x_other": ("other", "feature"), "category_other": ("other",),
            "reviewed_other": ("other",),
            "block": ("feature",),
        },
        coords={
            "pair": tuple(items[used]), "feature": found.names, "other": tuple(items[~verified]),
            "block": tuple(BLOCKS[b] for b in blocks), "category_name": tuple(names),
        },
        observed="agreements", ragged=("pair",), facts={"positives": positives},
        units={"unverified": int((~verified).sum())},
    )  # fmt: skip


def _problems(pairs: Pairs) -> list[Problem]:
    found = []
    keys = pairs.frame[["judge", "attack"]].drop_duplicates()
    if len(keys) > 1:
        found.append(Problem(column="judge", found=f"{len(keys)} judges or attacks in one table",
                             allowed="decisions of one judge under one attack",
                             fix="Choose: pairs.of(judge='...', attack='none')."))  # fmt: skip
    if not pairs.verified.any():
        found.append(Problem(column="human_prefers", found="no verified pair",
                             allowed="some pairs that people chose between, too",
                             fix="Verify some: 150 are a start, at random or by question."))  # fmt: skip
    return found


def _reviewed(pairs: Pairs, reviewed: float | str | None) -> NDArray[np.float64]:
    """Share of the agreements that were reviewed, for every row."""
    if isinstance(reviewed, str):
        if reviewed not in pairs.frame:
            raise UsageError(f"no column {reviewed!r} of review probabilities; the table has "
                             f"{list(pairs.frame.columns)}")  # fmt: skip
        share: Any = pairs.frame[reviewed].to_numpy(dtype=float, na_value=np.nan)
    else:
        share = np.full(len(pairs), reviewed, dtype=float)
    wrong = np.flatnonzero(~((share > 0) & (share <= 1)))
    if len(wrong):
        raise InputError([Problem(column=str(reviewed), found=f"{share[wrong[0]]}",
                                  allowed="a probability above 0 and at most 1",
                                  rows=tuple((wrong + 1).tolist()),
                                  fix="Give the share of agreements that was reviewed.")])  # fmt: skip
    return np.asarray(share)
