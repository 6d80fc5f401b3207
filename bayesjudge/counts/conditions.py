"""Rows of repeated judging as Ibis expressions, with the conditions (prompt, temperature) they ran under."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from bayesjudge.counts.memory import GivenTable, IbisTable, fetch, fetch_number, in_memory
from bayesjudge.counts.rows import is_nan, require_names
from bayesjudge.errors import InputError, Problem, require_judges
from bayesjudge.tables import Scores, Trials
from bayesjudge.tables.columns import require_columns
from bayesjudge.tables.repeat_rows import Layout, question_warning

#: Stand-ins for a condition that was not recorded: databases do not join or sort what is missing.
_NO_PROMPT, _NO_TEMPERATURE = "", -1e300


@dataclass(frozen=True, kw_only=True)
class Condition:
    """A prompt template and a decoding temperature; None where it was not recorded.

    Examples
    --------
    >>> print(Condition(prompt="base", temperature=0.7), Condition(prompt=None, temperature=None), sep="; ")
    base, T = 0.7; not recorded
    """

    prompt: str | None
    temperature: float | None

    def __str__(self) -> str:
        parts = [] if self.prompt is None else [self.prompt]
        parts += [] if self.temperature is None else [f"T = {self.temperature:g}"]
        return ", ".join(parts) or "not recorded"


@dataclass(frozen=True, eq=False, kw_only=True)
class EventRows:
    """Rows of a table of trials or scores where they live.

    table: Columns of the layout but the category; ``prompt`` and ``temperature`` have stand-ins for missing values,
        ``order`` is empty text where missing.
    names: What codes represent, of columns that were coded before the database saw them.
    categories: Category of each item that has one.
    dropped: Rows that could not be used.
    warnings: What was assumed.
    """

    table: IbisTable
    names: Mapping[str, NDArray[Any]]
    categories: Mapping[str, str]
    dropped: Mapping[str, int]
    warnings: tuple[str, ...]

    def fetch(self, expression: IbisTable) -> pd.DataFrame:
        """Run a query and put names for codes."""
        frame = fetch(expression)
        named = {name: names[frame[name].to_numpy()] for name, names in self.names.items() if name in frame}
        return frame.assign(**named)


def event_rows(source: Trials | Scores | GivenTable, layout: Layout) -> EventRows:
    """Rows of a validated table, or of an Ibis expression with its columns on any backend."""
    return _of_frame(source, layout) if isinstance(source, (Trials, Scores)) else _of_ibis(source, layout)


def condition_codes(frame: pd.DataFrame) -> tuple[tuple[Condition, ...], NDArray[np.int64]]:
    """Distinct conditions by prompt, then temperature, not recorded last; and each row's code (R,)."""
    prompts, prompt = codes_of(frame["prompt"])
    temperatures, temperature = np.unique(frame["temperature"].to_numpy(np.float64), return_inverse=True)
    # What was not recorded sorts first as a stand-in and goes last as a condition.
    last = len(prompts), len(temperatures)
    prompt = np.where(np.asarray(prompts)[prompt] == _NO_PROMPT, last[0], prompt)
    temperature = np.where(temperatures[temperature] == _NO_TEMPERATURE, last[1], temperature.reshape(-1))
    pairs, code = np.unique(np.column_stack([prompt, temperature]), axis=0, return_inverse=True)
    conditions = tuple(
        Condition(
            prompt=None if p == last[0] else prompts[p], temperature=None if t == last[1] else float(temperatures[t])
        )
        for p, t in pairs.tolist()
    )
    return conditions, code.reshape(-1).astype(np.int64)


def stood_in(frame: pd.DataFrame) -> pd.DataFrame:
    """A validated table with stand-ins for conditions that were not recorded, as `condition_codes` takes them."""
    return frame.assign(
        prompt=frame["prompt"].fillna(_NO_PROMPT), temperature=frame["temperature"].fillna(_NO_TEMPERATURE)
    )


def group_names(conditions: Sequence[Condition]) -> list[str]:
    """Conditions as groups of estimates: in words, and empty where there is only one.

    Examples
    --------
    >>> group_names([Condition(prompt="base", temperature=0.0)])
    ['']
    """
    return [str(condition) for condition in conditions] if len(conditions) > 1 else [""] * len(conditions)


def coded_events(
    frame: pd.DataFrame, categories: Mapping[str, str]
) -> tuple[dict[str, Any], tuple[NDArray[np.int64], ...]]:
    """Names of items, judges, conditions and categories, as `RepeatCounts` has them; rows' codes of the first three."""
    items, item = codes_of(frame["item"])
    judges, judge = codes_of(frame["judge"])
    conditions, condition = condition_codes(frame)
    require_names(judge=judges, item=items, prompt=[one.prompt or "" for one in conditions])
    kinds, category = category_codes(items, categories)
    names = {"items": items, "judges": judges, "conditions": conditions, "categories": kinds, "category": category}
    return names, (item, judge, condition)


def categories_of(frame: pd.DataFrame) -> dict[str, str]:
    """Category of each item of a validated table that has one."""
    known = frame[["item", "category"]].dropna().drop_duplicates("item")
    return dict(zip(known["item"], known["category"], strict=True))


def codes_of(values: pd.Series[Any]) -> tuple[tuple[str, ...], NDArray[np.int64]]:
    """Sorted distinct names and each row's code (R,)."""
    codes, names = pd.factorize(values, sort=True)
    return tuple(map(str, names)), np.asarray(codes, dtype=np.int64)


def _of_frame(source: Trials | Scores, layout: Layout) -> EventRows:
    """Names go as codes: a database groups whole numbers several times faster than text."""
    frame = source.frame
    columns: dict[str, Any] = {layout.value: frame[layout.value]}
    names = {}
    for name in (*layout.keys, "trial", "prompt"):
        codes, distinct = pd.factorize(frame[name])
        # The stand-in comes last, where code -1 of a missing value finds it.
        columns[name], names[name] = codes.astype(np.int64), np.array([*distinct, _NO_PROMPT], dtype=object)
    columns["temperature"] = frame["temperature"].fillna(_NO_TEMPERATURE).to_numpy()
    if "order" in layout.conditions:
        columns["order"] = frame["order"].fillna("")
    table = in_memory(pa.table({name: pa.array(values) for name, values in columns.items()}))
    return EventRows(
        table=table,
        names=names,
        dropped=dict(source.dropped),
        warnings=source.warnings,
        categories=categories_of(frame),
    )


def _of_ibis(source: IbisTable, layout: Layout) -> EventRows:
    import ibis

    problems = require_columns(source.columns, (layout.keys[0], "trial", layout.value))
    if problems:
        raise InputError(problems)
    columns = {}
    for name in layout.columns:
        kind = "float64" if name in {"score", "temperature"} else "string"
        default = ibis.literal(name) if name in layout.keys else ibis.null()
        columns[name] = (source[name] if name in source.columns else default).cast(kind)
    rows = source.select(**columns)
    named = rows.drop_null([*layout.keys, "trial", layout.value])
    lost = fetch_number(rows.count()) - fetch_number(named.count())
    dropped = {f"missing item, judge, trial or {layout.value}": lost} if lost else {}
    question = _question(named)
    known = named.mutate(prompt=ibis.null().cast("string")) if question else named
    return EventRows(
        table=known.mutate(**_stand_ins(known, layout)),
        names={},
        warnings=(question,) if question else (),
        dropped=dropped,
        categories=_categories(named),
    )


def _question(rows: IbisTable) -> str:
    """Why prompts are no templates; empty where they may be."""
    asked = rows.filter(rows.prompt.notnull())
    by_item = asked.group_by("item").aggregate(own=asked.prompt.nunique())
    numbers = (asked.prompt.nunique(), by_item.count(), by_item.own.max().fill_null(0))
    prompts, items, most = map(fetch_number, numbers)
    return question_warning(prompts=prompts, items=items, most=most)


def _stand_ins(rows: IbisTable, layout: Layout) -> dict[str, Any]:
    temperature = is_nan(rows.temperature).ifelse(_NO_TEMPERATURE, rows.temperature)
    filled = {"prompt": rows.prompt.fill_null(_NO_PROMPT), "temperature": temperature.fill_null(_NO_TEMPERATURE)}
    return filled | ({"order": rows.order.fill_null("")} if "order" in layout.conditions else {})


def _categories(table: IbisTable) -> dict[str, str]:
    items = table.group_by("item").aggregate(high=table.category.max(), low=table.category.min())
    found = fetch(items.filter(items.high.notnull()))  # Ibis has no other name for it
    conflicting = found[found["high"] != found["low"]]
    if len(conflicting):
        named = ", ".join(map(repr, sorted(conflicting["item"])[:5]))
        several, fix = f"several categories for item {named}", "Give each item one category."
        raise InputError([Problem(column="category", found=several, allowed="one value for each item", fix=fix)])
    return dict(zip(found["item"], found["high"], strict=True))


def chosen_judges(found: Sequence[str], judges: Sequence[str]) -> NDArray[np.int64]:
    """Codes of some judges, in the table's order."""
    require_judges(judges, found)
    return np.array([code for code, judge in enumerate(found) if judge in judges], dtype=np.int64)


def used_codes(names: Sequence[Any], codes: NDArray[np.int64]) -> tuple[tuple[Any, ...], NDArray[np.int64]]:
    """Names that some code (R,) represents, and the codes among these."""
    kept, place = np.unique(codes, return_inverse=True)
    return tuple(names[code] for code in kept.tolist()), place.reshape(-1).astype(np.int64)


@dataclass(frozen=True, eq=False, kw_only=True)
class RepeatCounts:
    """What was done again and again, in R cells of judge, item, condition and how it was shown.

    items, judges, categories: Names in the order of the codes.
    conditions: Prompt and temperature, in the order of the codes.
    category: Each item's code into ``categories``, -1 where it has none.
    item, judge, condition: Codes (R,).
    dropped: Rows of the input that could not be used, by reason.
    warnings: What was assumed on the way in.
    """

    #: Fields with an entry for each cell, and for each item, beside those above.
    of_cells: ClassVar[tuple[str, ...]] = ()
    of_items: ClassVar[tuple[str, ...]] = ()

    items: tuple[str, ...]
    judges: tuple[str, ...]
    categories: tuple[str, ...]
    conditions: tuple[Condition, ...]
    category: NDArray[np.int64]
    item: NDArray[np.int64]
    judge: NDArray[np.int64]
    condition: NDArray[np.int64]
    dropped: Mapping[str, int] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    def for_judges(self, judges: Sequence[str]) -> Self:
        """Counts of some judges alone; items and conditions that none of them saw are left out."""
        return self._kept(np.isin(self.judge, chosen_judges(self.judges, judges)))

    def for_items(self, items: Iterable[str]) -> Self:
        """Counts of some items alone."""
        return self._kept(np.isin(np.array(self.items)[self.item], list(items)))

    def parts(self) -> Iterator[tuple[int, int, NDArray[np.bool_]]]:
        """Every judge under every condition that it was asked under, and its cells (R,)."""
        for j, c in np.unique(np.column_stack([self.judge, self.condition]), axis=0).tolist():
            yield j, c, (self.judge == j) & (self.condition == c)

    def _kept(self, keep: NDArray[np.bool_]) -> Self:
        used = np.unique(self.item[keep])
        changed: dict[str, Any] = {name: getattr(self, name)[keep] for name in self.of_cells}
        for name in ("category", *self.of_items):
            values = getattr(self, name)
            if values is None:
                continue
            changed[name] = tuple(values[i] for i in used) if isinstance(values, tuple) else values[used]
        for names, codes in (("items", "item"), ("judges", "judge"), ("conditions", "condition")):
            changed[names], changed[codes] = used_codes(getattr(self, names), getattr(self, codes)[keep])
        return replace(self, **changed)


def require_rows(frame: pd.DataFrame, layout: Layout) -> None:
    """Refuse a table without a single usable row."""
    if frame.empty:
        allowed = f"at least one row with an item and {layout.value}"
        raise InputError([Problem(column="(table)", found="no rows", allowed=allowed, fix="Check the file.")])


def category_codes(items: Sequence[str], categories: Mapping[str, str]) -> tuple[tuple[str, ...], NDArray[np.int64]]:
    """Sorted categories and each item's code (I,), -1 where it has none."""
    names = tuple(sorted(set(categories.values())))
    place = {name: code for code, name in enumerate(names)}
    return names, np.array([place.get(categories.get(item, ""), -1) for item in items], dtype=np.int64)
