"""``bayesjudge simulate coverage``: how often every method's intervals hold a truth that is known."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bayesjudge.cli.options import Blocks, Json, Prob, Quiet, Seed
from bayesjudge.cli.registered import Choices, Kind, kind_of, model_of
from bayesjudge.cli.running import mapping, plain_messages
from bayesjudge.errors import UsageError

if TYPE_CHECKING:
    import pandas as pd
    from rich.table import Table

    from bayesjudge.simulation import Coverage
    from bayesjudge.simulation.sweeps.questions import Sweep


_SHOWN = ("n", "bias", "rmse", "coverage", "coverage_lower", "coverage_upper", "width", "interval_score", "wrong_sign")


def cover(
    *,
    question: Annotated[
        str,
        typer.Argument(
            help="A sweep (accuracy, panel, elo, judge-elo, soft-elo, reliability, scores, audit), or a "
            "registered model, or file.py:name of a function: truths from its prior."
        ),
    ],
    table: Kind = None,
    option: Choices = None,
    datasets: Annotated[int, typer.Option(help="Simulated data sets in each cell of the sweep.")] = 100,
    block: Annotated[int, typer.Option(help="Data sets that are fitted, and stored, at a time.")] = 50,
    baselines: Annotated[bool, typer.Option(help="Also the frequentist methods of a sweep.")] = True,
    baseline: Annotated[
        list[str] | None,
        typer.Option(help="Only this frequentist method: a name, or file.py:name; may be given more than once."),
    ] = None,
    out: Blocks = None,
    prob: Prob = 0.95,
    seed: Seed = 0,
    as_json: Json = False,
    strict: Annotated[
        bool,
        typer.Option(
            help="Exit with 3 when a model covers too little; over truths from its prior, also when too much."
        ),
    ] = False,
    quiet: Quiet = False,
) -> None:
    """Bias, coverage, width and wrong calls on simulated data: cell by cell of a sweep, or over a prior.

    Example: bayesjudge simulate coverage accuracy --datasets 20
    """
    with plain_messages():
        from bayesjudge.files import require_writable
        from bayesjudge.simulation import coverage

        sweep = _sweep(question, table, mapping(option, "--option", "pooling=shared"))
        if baseline:
            from bayesjudge.simulation.sweeps.questions import with_baselines

            sweep = with_baselines(question, baseline)
        if out is not None:
            require_writable(out)
        found = coverage(
            sweep.cells,
            models=sweep.models(),
            baselines=sweep.baselines if baselines else None,
            estimands=sweep.estimands,
            datasets=datasets,
            block=block,
            prob=prob,
            seed=seed,
            folder=None if out is None else out / "blocks",
            progress=not quiet,
            **sweep.sampling,
        )
        if out is not None:
            found.save(out)
            _draw(found, out)
        left_out = sorted({name for cell in sweep.cells for name in cell.left_out})
        _tell(found, question, left_out, as_json=as_json)
        if strict and _refused(found, sweep):
            raise typer.Exit(3)


def _refused(found: Coverage, sweep: Sweep) -> bool:
    """Too little, or too much over truths from the model's own prior; elsewhere that is reported and passes."""
    rows = found.outside
    own = rows["swept"].isin(sweep.from_prior) & (rows["method"] == sweep.models()[0].label)
    return bool((own | (rows["coverage"] < rows["nominal"])).any())


def _sweep(question: str, table: str | None, options: Mapping[str, str]) -> Sweep:
    """The sweep of that name, or one cell of truths from the prior of the model of that name."""
    from bayesjudge.adapters.files import names_file
    from bayesjudge.datasets.small import small_table
    from bayesjudge.model import model_names
    from bayesjudge.simulation.sweeps.questions import SWEEPS, prior_sweep

    if question in SWEEPS:
        if table is not None or options:
            raise UsageError(f"--table and --option are for models; {question} is a sweep")
        return SWEEPS[question]
    if question not in model_names() and not names_file(question):
        raise UsageError(
            f"{question!r} is neither a sweep nor a registered model; there are "
            f"{', '.join(SWEEPS)}; and the models {', '.join(model_names())}"
        )
    model = model_of(question, options)
    return prior_sweep(model, model.prepare(small_table(kind_of(question, table))))


def _draw(found: Coverage, folder: Path) -> None:
    from bayesjudge.files import write_text
    from bayesjudge.plots import coverage_curves, coverage_points, to_svg

    figure = coverage_points(found.frame) if found.one_cell else coverage_curves(found.frame)
    write_text(folder / "coverage.svg", to_svg(figure))


def _tell(found: Coverage, question: str, left_out: Sequence[str], *, as_json: bool) -> None:
    from bayesjudge.estimates import Estimates

    if as_json:
        answer = {
            "question": question,
            "outside": len(found.outside),
            "left_out": list(left_out),
            "coverage": Estimates.records_of(found.frame),
        }
        typer.echo(json.dumps(answer, ensure_ascii=False, allow_nan=False))
        return
    from rich.console import Console

    screen = Console(width=None if Console().is_terminal else 160)
    if found.one_cell:
        cell = found.frame.iloc[0]
        screen.print(_table(str(cell["swept"]), "estimand", found.frame))
    else:
        for (swept, estimand), rows in found.frame.groupby(["swept", "estimand"], sort=False):
            shown = rows.assign(**{str(swept): rows["value"].map("{:g}".format)})
            screen.print(_table(f"{estimand}, by {swept}", str(swept), shown))
    if left_out:
        screen.print(
            f"not judged, being random beyond the parameters: {', '.join(left_out)}", highlight=False, markup=False
        )
    screen.print(_verdict(found), highlight=False, markup=False)


def _table(title: str, first: str, rows: pd.DataFrame) -> Table:
    from rich.markup import escape

    from bayesjudge.report.terminal import empty_table, figure

    table = empty_table(title, [first, "method"], [name.replace("_", " ") for name in _SHOWN])
    for row in rows.to_dict("records"):
        cells = ["" if row[name] != row[name] else figure(row[name]) for name in _SHOWN[1:]]
        table.add_row(escape(str(row[first])), escape(str(row["method"])), f"{row['n']:d}", *cells)
    return table


def _verdict(found: Coverage) -> str:
    """Which Bayesian rows cover less or more than they say, and what that word is worth."""
    from bayesjudge.simulation.intervals.coverage import FALSE_ALARM

    bayes = int(found.frame["method"].str.startswith("bayes:").sum())
    said = (
        f"{len(found.outside)} of {bayes} Bayesian rows are outside the simultaneous exact band about "
        f"the nominal probability (both sides; false alarm {FALSE_ALARM:g} for all of them)"
    )
    named = [
        f"{row['swept']} {row['value']:g}, {row['method']}, {row['estimand']}: {row['coverage']:.3f}"
        for row in found.outside.to_dict("records")
    ]
    return "\n  ".join([said + (":" if named else ""), *named])
