"""The command line: one question a command, results on standard output, progress on standard error."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bayesjudge.errors import EngineError, InputError, UsageError

if TYPE_CHECKING:
    from bayesjudge.studies import Comparison

__all__ = ["app", "main"]

app = typer.Typer(
    name="bayesjudge", no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False,
    help="What LLM-judge verdicts are worth: Bayesian and frequentist intervals side by side.",
)  # fmt: skip
simulate = typer.Typer(no_args_is_help=True, help="Make data whose truth is known.")
app.add_typer(simulate, name="simulate")

Out = Annotated[
    Path | None, typer.Option(help="Folder for tables (CSV), answer (JSON), page (HTML) and fits (NetCDF).")
]
Html = Annotated[Path | None, typer.Option(help="Write the report as one self-contained page.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of tables.")]
Prob = Annotated[float, typer.Option(help="Probability of the intervals.")]
Seed = Annotated[int, typer.Option(help="Equal seeds give equal results.")]
Engine = Annotated[str, typer.Option(help="nuts, laplace or pymc.")]
Strict = Annotated[bool, typer.Option(help="Exit with 3 when a convergence gate fails.")]
Quiet = Annotated[bool, typer.Option(help="No progress bars.")]
Draws = Annotated[int, typer.Option(help="Posterior draws of each chain.")]
Bootstrap = Annotated[int, typer.Option(help="Bootstrap replicates; 0 leaves the bootstrap out.")]


@app.callback(invoke_without_command=True)
def _root(version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False) -> None:
    if version:
        import bayesjudge

        typer.echo(f"bayesjudge {bayesjudge.__version__}")
        raise typer.Exit


@app.command()
def accuracy(
    file: Annotated[str, typer.Argument(help="Log of verdicts: CSV, TSV, JSONL, Parquet, a glob, or - for stdin.")],
    column: Annotated[list[str] | None, typer.Option(help="Our column = yours, for instance verdict=score.")] = None,
    gold: Annotated[str | None, typer.Option(help="Second file with human labels by item (and model).")] = None,
    judge: Annotated[list[str] | None, typer.Option(help="Only this judge; may be given more than once.")] = None,
    group: Annotated[str | None, typer.Option(help="Column that splits the items, for instance subject.")] = None,
    cluster: Annotated[list[str] | None, typer.Option(help="Column of items that belong together.")] = None,
    pooling: Annotated[str, typer.Option(help="partial, shared or specific.")] = "partial",
    labels: Annotated[str, typer.Option(help="How answers were chosen for labelling: random or enriched.")] = "random",
    out: Out = None, html: Html = None, as_json: Json = False, prob: Prob = 0.95, seed: Seed = 0,
    engine: Engine = "nuts", draws: Draws = 1000, bootstrap: Bootstrap = 10_000, strict: Strict = False,
    quiet: Quiet = False,
    every: Annotated[bool, typer.Option("--all", help="Print every method, not the main ones.")] = False,
) -> None:  # fmt: skip
    """Each model's true accuracy and every difference, from a log of judge verdicts."""
    with _user_errors():
        from bayesjudge.readers import read_verdicts
        from bayesjudge.studies import accuracy as study

        table = read_verdicts(file, columns=_mapping(column), labels=gold)
        answer = study(
            table, group=group, cluster=cluster or None, judges=judge or None, pooling=pooling, labels=labels,
            engine=engine, prob=prob, seed=seed, draws=draws, tune=draws, bootstrap=bootstrap, progress=not quiet,
        )  # fmt: skip
        _deliver(answer, out=out, html=html, as_json=as_json, every=every)
    _finish(answer, strict=strict)


@app.command()
def demo(
    out: Out = None, html: Html = Path("bayesjudge-demo.html"), as_json: Json = False, prob: Prob = 0.95,
    seed: Seed = 20, engine: Engine = "nuts", draws: Draws = 1000, bootstrap: Bootstrap = 10_000,
    strict: Strict = False, quiet: Quiet = False,
) -> None:  # fmt: skip
    """The accuracy question on simulated verdicts, with the truth as a column."""
    with _user_errors():
        from bayesjudge.datasets import demo_verdicts
        from bayesjudge.studies import accuracy as study

        simulated = demo_verdicts(seed=seed)
        answer = study(simulated.verdicts, truth=simulated.truth, engine=engine, prob=prob, seed=seed, draws=draws,
                       tune=draws, bootstrap=bootstrap, progress=not quiet)  # fmt: skip
        _deliver(answer, out=out, html=html, as_json=as_json, every=False)
    _finish(answer, strict=strict)


@app.command()
def models() -> None:
    """Every registered generative model, with what it is for."""
    from bayesjudge.model import find_model, model_names

    with _user_errors():
        for name in model_names():
            described = (find_model(name).__doc__ or "").strip().partition("\n")[0]
            typer.echo(f"{name:20} {described}")


@app.command()
def doctor() -> None:
    """Versions, devices, what is missing and how to install it."""
    from bayesjudge.doctor import examine

    findings = examine()
    for finding in findings:
        fix = f"   -> {finding.fix}" if finding.fix else ""
        typer.echo(f"{'ok  ' if finding.ok else 'MISSING'} {finding.what:24} {finding.found}{fix}")
    if not all(finding.ok for finding in findings):
        raise typer.Exit(2)


@simulate.command("verdicts")
def simulate_log(
    file: Annotated[Path, typer.Argument(help="Where to write the log (CSV).")], seed: Seed = 0,
    items: Annotated[int, typer.Option(help="Items without a label.")] = 800,
    labelled: Annotated[int, typer.Option(help="Items with a label.")] = 200,
    youden: Annotated[float, typer.Option(help="Youden's J of the judge on model a; .1 less on b.")] = 0.6,
) -> None:  # fmt: skip
    """A log of verdicts on two models with known accuracies, .72 and .65."""
    with _user_errors():
        from bayesjudge.datasets import simulate_verdicts
        from bayesjudge.studies.output import write_text

        simulated = simulate_verdicts(
            seed=seed, labelled=labelled, unlabelled=items, youden=(youden, youden - 0.1)
        )
        write_text(file, simulated.verdicts.frame.to_csv(index=False))
        typer.echo(f"{len(simulated.verdicts)} verdicts in {file}")


def _mapping(pairs: list[str] | None) -> dict[str, str]:
    found = {}
    for pair in pairs or []:
        ours, equals, theirs = pair.partition("=")
        if not (ours and equals and theirs):
            raise UsageError(
                f"--column {pair!r}: write our column = yours, for instance --column verdict=score"
            )
        found[ours] = theirs
    return found


@contextmanager
def _user_errors() -> Iterator[None]:
    """A user's mistake ends in one clear message and exit code 2."""
    try:
        yield
    except (InputError, UsageError, EngineError) as error:
        typer.echo(f"bayesjudge: {error}", err=True)
        raise typer.Exit(2) from error
    except OSError as error:
        typer.echo(f"bayesjudge: cannot write or read: {error}", err=True)
        raise typer.Exit(2) from error


def _deliver(answer: Comparison, *, out: Path | None, html: Path | None, as_json: bool, every: bool) -> None:
    from bayesjudge.studies.screens import show_answer

    if out is not None:
        answer.save(out)
        answer.to_html(out / "report.html")
    if html is not None:
        html.parent.mkdir(parents=True, exist_ok=True)
        answer.to_html(html)
    if as_json:
        sys.stdout.write(answer.to_json() + "\n")
        return
    written = [path for path in (html, out / "report.html" if out else None) if path is not None]
    show_answer(answer, every=every, written=written)


def _finish(answer: Comparison, *, strict: bool) -> None:
    if answer.gate.passed:
        return
    for reason in answer.gate.reasons:
        typer.echo(f"bayesjudge: gate failed: {reason}", err=True)
    if strict:
        raise typer.Exit(3)


def main(argv: list[str] | None = None) -> Any:
    """Entry point of the ``bayesjudge`` command."""
    return app(argv)
