"""From a panel's votes to what `judge_panel` sees: the labelled answers, and the answers to predict.

Likelihood and prediction look at the same regressors, all of them centred: every judge's vote (0 where
missing), the mean vote on the item over models and judges, and the logit of the mean vote on each model.

Up to some thousands of items every answer has a row, and items (or clusters of them) are drawn whole with
Dirichlet weights. Past that, answers that look alike share a row, so that prediction costs no more for 10⁶
answers than for 10⁴; the Dirichlet weights of so many items move an average by a normal amount, whose
covariance is taken from a sample of whole items.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from bayesjudge.counts.panel import PanelVotes
from bayesjudge.errors import UsageError
from bayesjudge.model import Data
from bayesjudge.models.common.units import Guess
from bayesjudge.models.judge_panel.kinds import Kinds, kinds_of

if TYPE_CHECKING:
    type Codes = NDArray[np.int64]


Scale = Literal["binary", "graded"]
#: Items up to which every answer is predicted on its own; past it answers are predicted by vote pattern.
MOST_ITEMS = 5000
#: Standard deviation of coefficients in a first guess at them.
_WIDE = 2.5


def prepare(votes: PanelVotes, *, scale: Scale, formulas: tuple[str, ...] = ()) -> Data:
    """Labelled answers as rows ``answer_...``, then all answers (or their patterns) as rows ``cell_...``."""
    covariates, kinds = regressors(votes, scale), kinds_of(votes, formulas)
    answers = _labelled_answers(votes, covariates, kinds.of)
    if votes.probability is not None:
        weight = 1 / votes.probability[votes.annotations > 0]
        answers["answer_n"] = weight / weight.mean()
    singly = len(votes.items) <= MOST_ITEMS
    cells, units = (_all_cells if singly else _pattern_cells)(votes, covariates, kinds.of)
    marks, clusters = _marks(votes, singly), len(np.unique(votes.cluster))
    arrays = {
        "model_rate": covariates.model_rate,
        "vote_centre": covariates.centre,
        **_guesses(answers, kinds, len(votes.models)),
        "label": answers.pop("answer_label"),
        **answers,
        **cells,
        **marks,
        **kinds.arrays,
    }
    known = {
        **kinds.dims,
        "model_rate": ("system",),
        "vote_centre": ("judge",),
        **dict.fromkeys(("information_model", "pull_model"), ("system",)),
        **dict.fromkeys(("information_weight", "pull_weight"), ("judge",)),
        **dict.fromkeys(("label", "mark_cell"), ("answer",)),
        **dict.fromkeys(("mark", "mark_given"), ("answer", "annotator")),
    }
    dims = {name: known.get(name) or _row_dims(name) for name in arrays}
    axes = {dim: size for name in arrays for dim, size in zip(dims[name], arrays[name].shape, strict=True)}
    named = {"system": votes.models, "judge": votes.judges, "group": tuple(kinds.groups.members), **kinds.coords}
    labelled = zip(arrays["answer_item"], arrays["kind_system"][arrays["answer_kind"]], strict=True)
    return Data(
        arrays=arrays,
        dims=dims,
        observed="mark" if marks else "label",
        coords={
            **{dim: tuple(range(size)) for dim, size in axes.items()},
            "answer": tuple(f"{votes.items[i]} | {votes.models[m]}" for i, m in labelled),
            **named,
            "annotator": votes.annotators if marks else (),
        },
        ragged=tuple(dim for dim in ("answer", "cell", "sampled") if dim in axes),
        facts={
            "formula": f"{kinds.formula.rate} ~ {kinds.formula.right}",
            "grouped_by": kinds.grouped_by,
            "changes": kinds.changes,
            "scale": tuple((name, *values) for name, values in kinds.cells.columns.scale.items()),
            "missing": tuple(kinds.cells.columns.missing.items()),
            "too_many": tuple(kinds.groups.too_many.items()),
            "units": units,
            "items": singly * len(votes.items),
            "annotators": len(votes.annotators) if marks else 0,
            "weighted": votes.probability is not None,
            "all_units": clusters,
            "exact": votes.probability is None and clusters == len(votes.items),
        },
        units=_sizes(votes, kinds),
    )


def _labelled_answers(votes: PanelVotes, covariates: Regressors, kind: Codes) -> dict[str, NDArray[Any]]:
    """Rows of the labelled answers; ``answer_n``, how many each represents, is 1."""
    rows = _answer_rows(votes, covariates, kind, votes.annotations > 0, "answer")
    if not len(rows["answer_n"]):
        # One row that counts nothing stands where there is no label.
        rows = {name: np.zeros((1, *values.shape[1:]), values.dtype) for name, values in rows.items()}
    return rows


def _guesses(answers: Mapping[str, NDArray[Any]], kinds: Kinds, models: int) -> dict[str, NDArray[np.float64]]:
    """What labels are guessed to say of models' levels and of votes' weights: by a regression with a wide prior."""
    from scipy.optimize import minimize

    n, y, votes = answers["answer_n"].astype(float), answers["answer_label"], answers["answer_votes"]
    level = np.eye(models)[kinds.arrays["kind_system"][answers["answer_kind"]]]
    x = np.column_stack([level, votes, answers["answer_rate"]])

    def loss(b: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        eta = x @ b
        density = n @ (y * eta - np.logaddexp(0, eta)) - b @ b / (2 * _WIDE**2)
        slope: NDArray[np.float64] = b / _WIDE**2 - (n * (y - expit(eta))) @ x
        return -float(density), slope

    at = minimize(loss, np.zeros(x.shape[1]), jac=True, method="L-BFGS-B").x
    p = expit(x @ at)
    information = (n * p * (1 - p)) @ x**2
    parts = {"model": slice(0, models), "weight": slice(models, -1)}
    guesses = {name: Guess(information=information[of], pull=(information * at)[of]) for name, of in parts.items()}
    return {key: array for name, guess in guesses.items() for key, array in guess.keep(name).items()}


def _marks(votes: PanelVotes, singly: bool) -> dict[str, NDArray[np.int64]]:
    """Every annotator's marks on the labelled answers, where they are several: (answers, annotators)."""
    if votes.marks is None or len(votes.annotators) < 2 or not (votes.annotations > 0).any():
        return {}
    if not singly:
        raise UsageError(
            f"marks of several annotators need {MOST_ITEMS} items at most, not {len(votes.items)}; "
            "sample items at random, or give one label an answer"
        )
    marks = votes.marks[votes.annotations > 0]
    place = np.cumsum(votes.answered).reshape(votes.answered.shape) - 1
    return {
        "mark": (marks > 0).astype(np.int64),
        "mark_given": (marks >= 0).astype(np.int64),
        "mark_cell": place[votes.annotations > 0],
    }


def regressors(votes: PanelVotes, scale: Scale) -> Regressors:
    """Votes as features, mean votes of items and of models.

    Votes are centred at the judge's mean vote. Judges are lenient or strict, and a prior for the level of the
    labels where all votes are ½ would depend on how lenient they are, and on how many. Centred, the intercept
    is the level at average votes; a judge who always says the same adds nothing, and neither does a missing
    vote.

    Graded scores enter by mid-rank among the judge's own scores, ``2 r − 1``: whatever scale a judge uses,
    only its order counts. Mid-ranks are centred as they are, and a score of two levels is exactly the vote.
    """
    if scale == "graded":
        if votes.scores is None:
            raise UsageError("votes='graded' needs scores: panel_votes(verdicts, score='your column')")
        level = _mid_ranks(votes.scores)
        feature, weight = 2 * level - 1, np.isfinite(level).astype(float)
        centre = np.zeros(feature.shape[-1])
    else:
        level, weight = votes.votes, (votes.runs > 0).astype(float)
        # The mean vote of each judge, ½ for one that never voted.
        n, total = weight.sum(axis=(0, 1)), np.where(weight > 0, level, 0.0).sum(axis=(0, 1))
        centre = np.where(n > 0, total / np.maximum(n, 1), 0.5) - 0.5
        feature = level - 0.5 - centre
    value = np.where(weight > 0, level, 0.0)
    # The usual half a success and half a failure keep the logit finite.
    yes, n = value.sum(axis=(0, 2)) + 0.5, weight.sum(axis=(0, 2)) + 1
    logit = np.log(yes) - np.log(n - yes)
    repeated = n > 1
    model_rate = np.where(repeated, logit - (logit[repeated].mean() if repeated.any() else 0.0), 0.0)
    given = weight.sum(axis=(1, 2))
    mean = value.sum(axis=(1, 2)) / np.maximum(given, 1)
    item_rate = np.where(given > 0, mean - (mean[given > 0].mean() if (given > 0).any() else 0.0), 0.0)
    return Regressors(
        features=np.where(weight > 0, feature, 0.0), centre=centre, item_rate=item_rate, model_rate=model_rate
    )


def half_votes(data: Data, rows: str) -> NDArray[np.float64]:
    """Votes less ½ of the rows ``answer_...`` or ``cell_...``, (R, J), 0 where a judge did not vote.

    A judge who always said the same is taken to have said it everywhere. Graded votes come as their
    mid-ranks, above 0 in the upper half of the judge's own scores.
    """
    features, centre = np.asarray(data[f"{rows}_votes"]), np.asarray(data["vote_centre"])
    return np.where((features != 0) | (np.abs(centre) == 0.5), features + centre, 0.0)


def _mid_ranks(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Share of the judge's scores below each score, half of the ties counted, in (0, 1)."""
    found = np.full(scores.shape, np.nan)
    for judge in range(scores.shape[-1]):
        known = np.isfinite(scores[..., judge])
        _, place, n = np.unique(scores[..., judge][known], return_inverse=True, return_counts=True)
        share = (np.cumsum(n) - n / 2) / max(int(n.sum()), 1)
        found[known, judge] = share[place.reshape(-1)]
    return found


def _sizes(votes: PanelVotes, kinds: Kinds) -> dict[str, int]:
    """Answers, labelled answers (key ``labelled:...``) and paired items behind each name."""
    given, labelled = votes.answered, votes.annotations > 0
    sizes: dict[str, int] = {}
    for m, model in enumerate(votes.models):
        sizes |= {model: int(given[:, m].sum()), f"labelled:{model}": int(labelled[:, m].sum())}
        mine = kinds.of[given[:, m], m]
        sizes |= {f"{model} | {group}": int(member[mine].sum()) for group, member in kinds.groups.members.items()}
    for a, b in itertools.combinations(range(len(votes.models)), 2):
        sizes[f"{votes.models[a]} − {votes.models[b]}"] = int((given[:, a] & given[:, b]).sum())
    voted = (votes.runs > 0).sum(axis=(0, 1))
    sizes |= {f"votes:{judge}": int(n) for judge, n in zip(votes.judges, voted, strict=True)}
    return sizes | {"missing votes": int((given[..., None] & (votes.runs == 0)).sum())}


#: Items whose answers show how the sampling of items moves averages, where they are too many to weigh each.
SAMPLED_ITEMS = 2000
#: Weight units up to which each has a Dirichlet weight of its own.
MOST_UNITS = 4000
#: Centred mean votes are rounded to this: it moves a probability by at most .0025 times δ, up or down alike.
STEP = 0.02


@dataclass(frozen=True, eq=False, kw_only=True)
class Regressors:
    """What the label is regressed on.

    features: Votes less the judge's mean vote, 0 where missing.
    centre: What the features lack to be votes less ½: the mean vote less ½.
    item_rate: c_i, the mean vote on the item over models and judges, centred.
    model_rate: ℓ_m, the logit of the mean vote on the model, centred.
    """

    features: NDArray[np.float64]
    centre: NDArray[np.float64]
    item_rate: NDArray[np.float64]
    model_rate: NDArray[np.float64]


def _all_cells(votes: PanelVotes, regressors: Regressors, kind: Codes) -> tuple[dict[str, Any], int]:
    """One row an answer, and how many units (items or clusters) are weighed."""
    return _answer_rows(votes, regressors, kind, votes.answered, "cell"), int(votes.cluster.max()) + 1


def _pattern_cells(votes: PanelVotes, regressors: Regressors, kind: Codes) -> tuple[dict[str, Any], int]:
    """One row a pattern of kind, unit (0 where these are many), votes, label and mean vote, and a sample of items."""
    units = int(votes.cluster.max()) + 1
    weighed = units if units <= MOST_UNITS else 0
    rows = _answer_rows(votes, regressors, kind, votes.answered, "cell")
    rows["cell_rate"] = np.round(rows["cell_rate"] / STEP) * STEP
    rows["cell_unit"] = rows["cell_unit"] if weighed else np.zeros_like(rows["cell_unit"])
    rows["cell_item"] = np.zeros_like(rows["cell_item"])
    arrays = _tallied(rows)
    chosen = votes.answered & _whole_units(votes)[:, None]
    arrays |= _answer_rows(votes, regressors, kind, chosen, "sampled")
    arrays["sampled_unit"] = np.unique(arrays["sampled_unit"], return_inverse=True)[1].reshape(-1)
    return arrays, weighed


def _whole_units(votes: PanelVotes) -> NDArray[np.bool_]:
    """Which items (I,) are in a random sample of whole units, about `SAMPLED_ITEMS` of them."""
    units = np.unique(votes.cluster)
    share = min(1.0, SAMPLED_ITEMS / len(votes.items))
    chosen = np.random.default_rng(0).permutation(units)[: max(round(share * len(units)), 2)]
    return np.isin(votes.cluster, chosen)


def _answer_rows(
    votes: PanelVotes, regressors: Regressors, kind: Codes, chosen: NDArray[np.bool_], prefix: str
) -> dict[str, Any]:
    """The chosen cells (I, M) as rows; the label is -1 where there is none."""
    item, model = np.nonzero(chosen)
    label = np.where(votes.annotations > 0, votes.label > 0.5, -1)[item, model]
    columns = {
        "kind": kind[item, model],
        "unit": votes.cluster[item],
        "item": item,
        "label": label.astype(np.int64),
        "n": np.ones(len(item), np.int64),
        "rate": regressors.item_rate[item],
        "votes": regressors.features[item, model],
    }
    return {f"{prefix}_{name}": values for name, values in columns.items()}


def _row_dims(name: str) -> tuple[str, ...]:
    """Axes of an array of rows, by its name.

    Examples
    --------
    >>> _row_dims("cell_votes"), _row_dims("answer_kind")
    (('cell', 'judge'), ('answer',))
    """
    return (name.split("_", maxsplit=1)[0], *(("judge",) if name.endswith("_votes") else ()))


def _tallied(rows: dict[str, Any]) -> dict[str, Any]:
    """Equal rows once, with their number in ``cell_n``."""
    names = [name for name in rows if name not in {"cell_votes", "cell_n"}]
    table = np.column_stack([*(rows[name] for name in names), rows["cell_votes"]])
    code = np.zeros(len(table), np.int64)
    for column in table.T:
        _, place = np.unique(column, return_inverse=True)
        # Codes stay below the number of rows, so that the product with the next column fits in 64 bits.
        code = np.unique(code * (int(place.max(initial=0)) + 1) + place, return_inverse=True)[1].reshape(-1)
    _, first, n = np.unique(code, return_index=True, return_counts=True)
    return {name: n if name == "cell_n" else values[first] for name, values in rows.items()}
