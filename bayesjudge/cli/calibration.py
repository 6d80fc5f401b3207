"""``bayesjudge simulate sbc``: calibrate any registered model against its own simulator."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bayesjudge.cli.options import Blocks, Chains, Draws, Json, Quiet, Seed, Strict
from bayesjudge.cli.running import mapping, plain_messages

if TYPE_CHECKING:
    from bayesjudge.checks import Calibration
    from bayesjudge.model import Model

__all__ = ["calibrate"]


def calibrate(
    *,
    model: Annotated[str, typer.Argument(help="A registered model; `bayesjudge models` lists them.")],
    table: Annotated[str | None, typer.Option(help="Kind of small table to calibrate on; for a model of "
                                              "another package.")] = None,
    option: Annotated[list[str] | None, typer.Option(help="A model's option, for instance "
                                                     "pooling=shared.")] = None,
    replicates: Annotated[int, typer.Option(help="Simulated data sets.")] = 200,
    engine: Annotated[str, typer.Option(help="hmc, nuts or laplace.")] = "hmc",
    chains: Chains = 4,
    draws: Draws = 100,
    second_opinion: Annotated[bool, typer.Option(help="Also rank each truth in a chain that starts "
                                                 "there.")] = True,
    out: Blocks = None,
    seed: Seed = 0,
    as_json: Json = False,
    strict: Strict = False,
    quiet: Quiet = False,
) -> None:  # fmt: skip
    """Whether a model's posterior is right: ranks of simulated truths among posterior draws (SBC)."""
    with plain_messages():
        from bayesjudge.checks import data_quantities, sbc
        from bayesjudge.datasets.small import small_table
        from bayesjudge.studies.output import require_writable

        if out is not None:
            require_writable(out)
        chosen, kind = _model(model, mapping(option, "--option")), _kind(model, table)
        data = chosen.prepare(small_table(kind))
        found = sbc(
            chosen, data, replicates=replicates, engine=engine, chains=chains, draws=draws, tune=2 * draws,
            seed=seed, second_opinion=second_opinion, folder=None if out is None else out / "blocks",
            quantities=data_quantities(chosen, data), progress=not quiet,
        )  # fmt: skip
        if out is not None:
            found.save(out)
            _draw(found, out)
        _tell(found, kind=kind, seed=seed, as_json=as_json)
        if strict and not found.passed:
            raise typer.Exit(3)


def _kind(model: str, table: str | None) -> str:
    from bayesjudge.datasets.small import KIND_OF_MODEL, table_kinds
    from bayesjudge.errors import UsageError

    if table is None and model not in KIND_OF_MODEL:
        raise UsageError(f"no small table is known for {model!r}: name the kind it takes with --table, one "
                         f"of {', '.join(table_kinds())}")  # fmt: skip
    return table or KIND_OF_MODEL[model]


def _model(name: str, options: Mapping[str, str]) -> Model:
    """The registered model with options; values are JSON where they are JSON, and words otherwise."""
    from dataclasses import fields

    from bayesjudge.errors import UsageError
    from bayesjudge.model import find_model

    make: Any = find_model(name)
    known = [field.name for field in fields(make)]
    if unknown := [option for option in options if option not in known]:
        raise UsageError(f"{name} has no option {unknown[0]!r}; it has: {', '.join(known)}")
    model: Model = make(**{option: _value(text) for option, text in options.items()})
    return model


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _draw(found: Calibration, folder: Path) -> None:
    from bayesjudge.checks.uniformity import RankTest
    from bayesjudge.plots import rank_ecdfs, shrinkage, to_svg
    from bayesjudge.studies.output import write_text

    test = RankTest(replicates=len(found.ranks), draws=found.draws)
    lines = {name: test.deviation(ranks)
             for name, ranks in zip(found.frame["quantity"], found.ranks.T, strict=True)}  # fmt: skip
    ecdfs = rank_ecdfs(lines, *test.band(), failed=found.failures)
    write_text(folder / "ranks.svg", to_svg(ecdfs))
    write_text(folder / "shrinkage.svg", to_svg(shrinkage(found.rows)))


def _tell(found: Calibration, *, kind: str, seed: int, as_json: bool) -> None:
    rows = json.loads(found.frame.to_json(orient="records"))
    if as_json:
        answer = {"model": found.label, "table": kind, "seed": seed, "replicates": len(found.ranks),
                  "draws": found.draws, "unreliable": found.unreliable, "passed": found.passed,
                  "quantities": rows}  # fmt: skip
        typer.echo(json.dumps(answer, ensure_ascii=False))
        return
    from rich.console import Console
    from rich.markup import escape

    from bayesjudge.studies.screens import empty_table, figure

    names = ("p_value", "chi_squared", "exact", "adjusted", "bias", "contraction")
    shown = empty_table(f"{found.label} on small {kind}", ["quantity"], [n.replace("_", " ") for n in names])
    for row in rows:
        cells = ["" if row[name] is None else figure(row[name]) for name in names]
        shown.add_row(escape(row["quantity"]), *cells, style="red" if row["failed"] else None)
    screen = Console(width=None if Console().is_terminal else 120)
    screen.print(shown)
    screen.print(f"{found.summary}; {found.unreliable} fits were not reliable", highlight=False)
