"""``bayesjudge simulate sbc``: calibrate any registered model against its own simulator."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bayesjudge.cli.options import Blocks, Chains, Draws, Json, Quiet, Seed, Strict
from bayesjudge.cli.registered import Choices, Kind, kind_of, model_of
from bayesjudge.cli.running import mapping, plain_messages

if TYPE_CHECKING:
    from bayesjudge.simulation import Calibration


def calibrate(
    *,
    model: Annotated[str, typer.Argument(help="A registered model; `bayesjudge models` lists them.")],
    table: Kind = None,
    option: Choices = None,
    replicates: Annotated[int, typer.Option(help="Simulated data sets.")] = 200,
    engine: Annotated[str, typer.Option(help="hmc, nuts or laplace.")] = "hmc",
    chains: Chains = 4,
    draws: Draws = 100,
    second_opinion: Annotated[bool, typer.Option(help="Also rank each truth in a chain that starts there.")] = True,
    out: Blocks = None,
    seed: Seed = 0,
    as_json: Json = False,
    strict: Strict = False,
    quiet: Quiet = False,
) -> None:
    """Whether a model's posterior is right: ranks of simulated truths among posterior draws (SBC).

    Example: bayesjudge simulate sbc judge_error --out blocks
    """
    with plain_messages():
        from bayesjudge.datasets.small import small_table
        from bayesjudge.files import require_writable
        from bayesjudge.inference.engines import engine_of
        from bayesjudge.simulation import data_quantities, sbc

        if out is not None:
            require_writable(out)
        chosen, kind = model_of(model, mapping(option, "--option", "pooling=shared")), kind_of(model, table)
        data = chosen.prepare(small_table(kind))
        found = sbc(
            chosen,
            data,
            replicates=replicates,
            seed=seed,
            engine=engine_of(engine, chains=chains, draws=draws, tune=2 * draws),
            second_opinion=second_opinion,
            folder=None if out is None else out / "blocks",
            quantities=data_quantities(chosen, data),
            progress=not quiet,
        )
        if out is not None:
            found.save(out)
            _draw(found, out)
        _tell(found, kind=kind, seed=seed, as_json=as_json)
        if strict and not found.passed:
            raise typer.Exit(3)


def _draw(found: Calibration, folder: Path) -> None:
    from bayesjudge.files import write_text
    from bayesjudge.plots import rank_ecdfs, shrinkage, to_svg
    from bayesjudge.simulation.calibration.ranks import RankTest

    test = RankTest(replicates=len(found.ranks), draws=found.draws)
    lines = {name: test.deviation(ranks) for name, ranks in zip(found.frame["quantity"], found.ranks.T, strict=True)}
    ecdfs = rank_ecdfs(lines, *test.band(), failed=found.failures)
    write_text(folder / "ranks.svg", to_svg(ecdfs))
    write_text(folder / "shrinkage.svg", to_svg(shrinkage(found.rows)))


def _tell(found: Calibration, *, kind: str, seed: int, as_json: bool) -> None:
    rows = json.loads(found.frame.to_json(orient="records"))
    if as_json:
        answer = {
            "model": found.label,
            "table": kind,
            "seed": seed,
            "replicates": len(found.ranks),
            "draws": found.draws,
            "unreliable": found.unreliable,
            "passed": found.passed,
            "quantities": rows,
        }
        typer.echo(json.dumps(answer, ensure_ascii=False))
        return
    from rich.console import Console
    from rich.markup import escape

    from bayesjudge.report.terminal import empty_table, figure

    names = ("p_value", "chi_squared", "exact", "adjusted", "bias", "contraction")
    shown = empty_table(f"{found.label} on small {kind}", ["quantity"], [n.replace("_", " ") for n in names])
    for row in rows:
        cells = ["" if row[name] is None else figure(row[name]) for name in names]
        shown.add_row(escape(row["quantity"]), *cells, style="red" if row["failed"] else None)
    screen = Console(width=None if Console().is_terminal else 120)
    screen.print(shown)
    screen.print(f"{found.summary}; {found.unreliable} fits were not reliable", highlight=False)
