"""The one result shape: a tidy table with one row for every estimate of every method.

A posterior and a frequentist baseline end in the same columns, so that putting them side by side is
a concatenation. Nothing here knows how an estimate was made.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd
import pyarrow as pa

from bayesjudge.errors import UsageError, did_you_mean, require_choice

#: What an accuracy is about: questions like these, or exactly these.
Population = Literal["superpopulation", "items"]
POPULATIONS = get_args(Population)

#: Known truths by ``(estimand, unit)``, or by ``(estimand, unit, judge, group)``.
type Truth = Mapping[tuple[str, str], float] | Mapping[tuple[str, ...], float]

#: Columns that every table of estimates has, in this order.
COLUMNS = ("estimand", "unit", "method", "point", "lower", "upper", "prob", "n", "note")
#: Columns that only some rows fill: which judge or group, posterior summaries, the truth of a simulation.
OPTIONAL = ("judge", "group", "p_positive", "ess", "rhat", "truth")
_TEXT = frozenset({"estimand", "unit", "method", "note", "judge", "group"})


def _column(name: str, values: list[Any]) -> pd.Series[Any]:
    if name in _TEXT:
        return pd.Series(["" if pd.isna(value) else str(value) for value in values], dtype=str)
    return pd.Series([math.nan if pd.isna(value) else float(value) for value in values], dtype=float)


@dataclass(frozen=True, eq=False)
class Estimates:
    """Estimates with their intervals, one row each.

    Parameters
    ----------
    frame : pandas.DataFrame
        Columns `COLUMNS` and `OPTIONAL`. Treat it as read-only.

    Notes
    -----
    ``estimand`` names the quantity and, in brackets, its population where that is not the
    superpopulation (``accuracy``, ``difference``, ``sensitivity``, ``specificity``, ``youden``,
    ``delta_youden`` ...); ``unit`` says of what (``gpt-4o``, ``gpt-4o − claude``); ``method`` is the
    method's name; ``prob`` the interval's probability; ``n`` the number of items behind it; ``note``
    carries warnings. ``judge`` and ``group`` are empty where there is only one.

    Examples
    --------
    >>> rows = [{"estimand": "accuracy", "unit": "m", "method": "naive", "point": 0.5, "n": 10}]
    >>> Estimates.from_rows(rows).frame[["unit", "point"]].to_dict("records")
    [{'unit': 'm', 'point': 0.5}]
    """

    frame: pd.DataFrame

    @classmethod
    def from_rows(cls, rows: Iterable[Mapping[str, Any]]) -> Estimates:
        """Build the table from mappings; missing text is empty, missing numbers are NaN."""
        given = list(rows)
        unknown = sorted({name for row in given for name in row} - set(COLUMNS) - set(OPTIONAL))
        if unknown:
            raise UsageError(f"unknown columns {unknown}; estimates have {list(COLUMNS + OPTIONAL)}")
        columns = {name: [row.get(name) for row in given] for name in (*COLUMNS, *OPTIONAL)}
        return cls(pd.DataFrame({name: _column(name, values) for name, values in columns.items()}))

    @classmethod
    def concat(cls, parts: Iterable[Estimates]) -> Estimates:
        """Stack tables of estimates, keeping their order."""
        frames = [part.frame for part in parts if len(part)]
        return cls(pd.concat(frames, ignore_index=True)) if frames else cls.from_rows([])

    def __len__(self) -> int:
        return len(self.frame)

    def where(self, **equal: Any) -> Estimates:
        """Rows whose columns equal the values given; a list or tuple of values means any of them."""
        keep = pd.Series(data=True, index=self.frame.index)
        for column, value in equal.items():
            if column not in self.frame:
                known = list(self.frame)
                raise UsageError(f"no column {column!r}{did_you_mean(column, known)}; estimates have {known}")
            allowed = list(value) if isinstance(value, (list, tuple, set, frozenset)) else [value]
            keep &= self.frame[column].isin(allowed)
        return Estimates(self.frame[keep].reset_index(drop=True))

    def answering(self, *, converged: bool) -> Estimates:
        """Rows over all items of the method that answers: the first posterior, else a baseline but the naive one.

        ``converged`` says whether posteriors may answer at all.
        """
        parts = []
        for _, mine in self.frame[self.frame["group"] == ""].groupby("estimand", sort=False):
            methods = list(dict.fromkeys(mine["method"]))
            bayes = [name for name in methods if name.startswith("bayes:")]
            others = [name for name in methods if name not in bayes and not name.startswith("naive")]
            parts.append(Estimates(mine[mine["method"].isin([*(bayes if converged else []), *others][:1])]))
        return Estimates.concat(parts)

    def with_column(self, **values: Any) -> Estimates:
        """Copy with whole columns set, for instance ``judge="gpt-4"``."""
        return Estimates(self.frame.assign(**values))

    def with_note(self, text: str) -> Estimates:
        """Copy with a warning added to every row's note."""
        joined = [f"{note}; {text}" if note else text for note in self.frame["note"]]
        return Estimates(self.frame.assign(note=joined)) if text else self

    def with_truth(self, truth: Truth) -> Estimates:
        """Copy with the known truth filled in, by ``(estimand, unit)``.

        Where judges or groups have truths of their own: by ``(estimand, unit, judge, group)``.
        """
        known: Mapping[Any, float] = truth
        keys = self.frame[["estimand", "unit", "judge", "group"]].itertuples(index=False, name=None)
        found = [known.get(key, known.get(key[:2], math.nan)) for key in keys]
        return Estimates(self.frame.assign(truth=found))

    def to_records(self) -> list[dict[str, Any]]:
        """Rows for JSON: infinities as ``"Infinity"`` and ``"-Infinity"``, missing numbers as None."""
        return self.records_of(self.frame)

    @staticmethod
    def records_of(frame: pd.DataFrame) -> list[dict[str, Any]]:
        """Rows of any table as JSON-ready mappings, by the same rules."""
        records = frame.to_dict("records")
        return [{str(key): _json_value(value) for key, value in row.items()} for row in records]

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The table as an Arrow stream, which Polars, DuckDB, pyarrow and pandas take as it is."""
        return pa.Table.from_pandas(self.frame, preserve_index=False).__arrow_c_stream__(requested_schema)

    def _repr_html_(self) -> str:
        return str(self.frame.to_html(escape=True, index=False))


def is_bayesian(method: str) -> bool:
    """Whether a method's rows come from a posterior, by its key or its words.

    Examples
    --------
    >>> is_bayesian("bayes:judge_error[partial]"), is_bayesian("ppi++")
    (True, False)
    """
    return method.startswith(("bayes:", "Bayesian"))


#: Methods known by a person's name alone.
PERSONS = {"wilson": "Wilson", "wald": "Wald"}
#: Words for parts of the names of methods; others stay as they are, without hyphens and underscores.
_WORDS = {
    "judge_error[partial]": "partial pooling",
    "judge_error[shared]": "shared pooling",
    "judge_error[specific]": "specific pooling",
    "judge_elo": "votes and judges",
    "judge_panel": "all judges",
    "bradley_terry": "Bradley–Terry",
    "verdict_agreement[both]": "verdict agreement",
    "judge": "as judged",
    "partial-ot": "optimal transport",
    "naive": "raw rate",
    "beta-binomial": "beta-binomial",
    "labelled": "labelled only",
    "rogan-gladen": "Rogan–Gladen",
    "lang-reiczigel": "Lang–Reiczigel",
    **PERSONS,
    **{name: name.upper() for name in ("ppi", "ppi++", "eif", "mle", "ipw", "aipw", "icc")},
}


def estimand_words(estimand: str) -> str:
    """Name of an estimand for people; its key is in the answer's JSON.

    Examples
    --------
    >>> [estimand_words(key) for key in ("delta_youden", "youden", "flip_rate", "icc[judges]")]
    ['ΔJ', "Youden's J", 'flip rate', 'ICC[judges]']
    """
    words = (
        estimand.replace("delta_youden", "ΔJ").replace("youden", "Youden's J").replace("delta_", "Δ ").replace("_", " ")
    )
    return re.sub(r"^icc\b", "ICC", words)


def method_words(method: str) -> str:
    """Name of a method for people; its key is what options take.

    Examples
    --------
    >>> [method_words(key) for key in ("bayes:judge_error[partial,reweighted]", "ppi++[best-judge,logit]", "naive")]
    ['Bayesian (partial pooling, reweighted)', 'PPI++ (best judge, logit)', 'raw rate']
    >>> [method_words(key) for key in ("bayes:judge_error[shared]", "bayes:judge_error[specific]", "wilson")]
    ['Bayesian (shared pooling)', 'Bayesian (specific pooling)', 'Wilson']
    >>> method_words("bayes:judge_error[partial, sensitivity~Beta(161, 41)]")
    'Bayesian (partial pooling, other priors)'
    >>> method_words("bayes:judge_error[partial,accuracy~0+system+(1|topic),sensitivity~log(length)]")
    'Bayesian (partial pooling, formulas)'
    >>> method_words("bayes:bradley_terry[human][independent]")
    'Bayesian (Bradley–Terry, human, independent)'
    >>> method_words("hard-elo by gpt-4-0125"), method_words("bayes:judge_elo")
    ('hard Elo by gpt-4-0125', 'Bayesian (votes and judges)')
    >>> method_words("conformal[split,line] hard-elo by gpt-4-0125")
    'conformal (split, line) of hard Elo by gpt-4-0125'
    """
    if method.startswith("Bayesian"):
        return method
    key, by, judge = method.partition(" by ")
    key, _, of = key.partition("] ")
    stem, bracket, inside = key.removesuffix("]").replace("][", ",").partition("[")
    # A family of priors begins with a capital letter, which no function of a formula does.
    inside, priors = re.subn(r",? ?\w+~[A-Z]\w*\([^)]*\)", "", inside)
    options = [part for part in inside.split(",") if "~" not in part] if bracket and inside else []
    if is_bayesian(key):
        stem = stem.removeprefix("bayes:")
        first = _WORDS.get(f"{stem}[{options[0]}]") if options else None
        parts, stem = ([first, *options[1:]] if first else [stem, *options]), "Bayesian"
        parts += ["formulas"] * ("~" in inside) + ["other priors"] * (priors > 0)
    else:
        parts = options
    words = [_WORDS.get(part, re.sub("[-_]", " ", part)) for part in [stem, *parts]]
    named = words[0].replace(" elo", " Elo") + (f" ({', '.join(words[1:])})" if parts else "")
    return named + (f" of {method_words(of)}" if of else "") + by + judge


def estimand_of(name: str, population: Population) -> str:
    """Name of an estimand with its population in brackets; the superpopulation needs none.

    Raises
    ------
    UsageError
        Another population than `POPULATIONS`.

    Examples
    --------
    >>> estimand_of("accuracy", "superpopulation"), estimand_of("accuracy", "items")
    ('accuracy', 'accuracy (these items)')
    """
    require_choice("population", population, POPULATIONS)
    return name if population == "superpopulation" else f"{name} (these items)"


def _json_value(value: Any) -> Any:
    value = value.item() if isinstance(value, np.generic) else value
    if not isinstance(value, float):
        return value
    if math.isnan(value):
        return None
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return value
