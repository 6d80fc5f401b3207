"""The command line: one question a command, results on standard output, progress on standard error."""

from __future__ import annotations

import io
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

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

File = Annotated[
    str, typer.Argument(help="Log of verdicts: CSV, TSV, JSONL, Parquet, a glob, or - for stdin.")
]
Column = Annotated[list[str] | None, typer.Option(help="Our column = yours, for instance verdict=score.")]
Gold = Annotated[str | None, typer.Option(help="Second file with human labels by item (and model).")]
Judge = Annotated[list[str] | None, typer.Option(help="Only this judge; may be given more than once.")]
Group = Annotated[str | None, typer.Option(help="Column that splits the items, for instance subject.")]
Cluster = Annotated[list[str] | None, typer.Option(help="Column of items that belong together.")]
Pooling = Annotated[str, typer.Option(help="partial, shared or specific: how alike the judge's errors are.")]
Labels = Annotated[str, typer.Option(help="How answers were chosen for labelling: random or enriched.")]
Out = Annotated[
    Path | None, typer.Option(help="Folder for tables (CSV), answer (JSON), page (HTML) and fits (NetCDF).")
]
Html = Annotated[Path | None, typer.Option(help="Write the report as one self-contained page.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of tables.")]
Every = Annotated[bool, typer.Option("--all", help="Print every method, not the main ones.")]
Prob = Annotated[float, typer.Option(help="Probability of the intervals.")]
Seed = Annotated[int, typer.Option(min=0, max=2**32 - 2, help="Equal seeds give equal results.")]
Engine = Annotated[str, typer.Option(help="nuts, laplace or pymc.")]
Chains = Annotated[int, typer.Option(help="Chains of each posterior.")]
Draws = Annotated[int, typer.Option(help="Posterior draws of each chain, after as many to warm up.")]
Bootstrap = Annotated[int, typer.Option(help="Bootstrap replicates; 0 leaves the bootstrap out.")]
Compare = Annotated[
    bool | None,
    typer.Option("--compare/--no-compare", help="Compare the poolings; by default for a single judge."),
]
Strict = Annotated[bool, typer.Option(help="Exit with 3 when a convergence gate fails.")]
Quiet = Annotated[bool, typer.Option(help="No progress bars.")]


@app.callback(invoke_without_command=True)
def _root(*, version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False) -> None:
    if version:
        from bayesjudge.version import __version__

        typer.echo(f"bayesjudge {__version__}")
        raise typer.Exit


@app.command()
def accuracy(
    *, file: File, column: Column = None, gold: Gold = None, judge: Judge = None, group: Group = None,
    cluster: Cluster = None, pooling: Pooling = "partial", labels: Labels = "random", out: Out = None,
    html: Html = None, as_json: Json = False, every: Every = False, prob: Prob = 0.95, seed: Seed = 0,
    engine: Engine = "nuts", chains: Chains = 4, draws: Draws = 1000, bootstrap: Bootstrap = 10_000,
    compare: Compare = None, strict: Strict = False, quiet: Quiet = False,
) -> None:  # fmt: skip
    """Each model's true accuracy and every difference, from a log of judge verdicts."""
    with _plain_messages():
        from bayesjudge.readers import read_verdicts
        from bayesjudge.studies import accuracy as study

        _require_targets(out, html)
        answer = study(
            read_verdicts(file, columns=_mapping(column), labels=gold), group=group, cluster=cluster or None,
            judges=judge or None, pooling=cast("Any", pooling), labels=cast("Any", labels), engine=engine,
            prob=prob, seed=seed, chains=chains, draws=draws, tune=draws, bootstrap=bootstrap,
            compare=compare, progress=not quiet,
        )  # fmt: skip
        _deliver(answer, out=out, html=html, as_json=as_json, every=every)
    _finish(answer, strict=strict, as_json=as_json)


@app.command()
def demo(
    *, out: Out = None, html: Html = Path("bayesjudge-demo.html"), as_json: Json = False,
    every: Every = False, prob: Prob = 0.95, seed: Seed = 20, engine: Engine = "nuts", chains: Chains = 4,
    draws: Draws = 1000, bootstrap: Bootstrap = 10_000, compare: Compare = None, strict: Strict = False,
    quiet: Quiet = False,
) -> None:  # fmt: skip
    """The accuracy question on simulated verdicts, with the truth as a column."""
    with _plain_messages():
        from bayesjudge.datasets import demo_verdicts
        from bayesjudge.studies import accuracy as study

        _require_targets(out, html)
        simulated = demo_verdicts(seed=seed)
        answer = study(
            simulated.verdicts, truth=simulated.truth, engine=engine, prob=prob, seed=seed, chains=chains,
            draws=draws, tune=draws, bootstrap=bootstrap, compare=compare, progress=not quiet,
        )  # fmt: skip
        _deliver(answer, out=out, html=html, as_json=as_json, every=every)
    _finish(answer, strict=strict, as_json=as_json)


@app.command()
def models() -> None:
    """Every registered generative model, with what it is for."""
    with _plain_messages():
        from bayesjudge.model import find_model, model_names

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
        typer.echo(f"{'ok     ' if finding.ok else 'MISSING'} {finding.what:24} {finding.found}{fix}")
    if not all(finding.ok for finding in findings):
        raise typer.Exit(2)


@simulate.command("verdicts")
def simulate_log(
    *,
    file: Annotated[Path, typer.Argument(help="Where to write the log (CSV).")],
    seed: Seed = 0,
    items: Annotated[int, typer.Option(help="Items without a label.")] = 800,
    labelled: Annotated[int, typer.Option(help="Items with a label.")] = 200,
    youden: Annotated[float, typer.Option(help="Youden's J of the judge on model a; .1 less on b.")] = 0.6,
) -> None:
    """A log of verdicts on two models with known accuracies, .72 and .65."""
    with _plain_messages():
        from bayesjudge.datasets import simulate_verdicts
        from bayesjudge.studies.output import require_writable, write_text

        _require_no_folder(file, "")
        require_writable(file.parent)
        both = (youden, youden - 0.1)
        simulated = simulate_verdicts(seed=seed, labelled=labelled, unlabelled=items, youden=both)
        write_text(file, simulated.verdicts.frame.to_csv(index=False))
        typer.echo(f"{len(simulated.verdicts)} verdicts in {file}")


def _mapping(pairs: list[str] | None) -> dict[str, str]:
    found = {}
    for pair in pairs or []:
        ours, equals, theirs = pair.partition("=")
        if not (ours and equals and theirs):
            raise UsageError(f"--column {pair!r}: write our column = yours, as in --column verdict=score")
        found[ours] = theirs
    return found


def _require_targets(out: Path | None, html: Path | None) -> None:
    """Refuse places that the answer cannot be written to, before minutes of sampling."""
    from bayesjudge.studies.output import require_writable

    if out is not None:
        require_writable(out)
    if html is not None:
        _require_no_folder(html, "--html ")
        if not html.absolute().parent.is_dir():
            raise UsageError(f"--html {str(html)!r}: there is no folder {str(html.parent)!r}; make it first")
        require_writable(html.absolute().parent)


def _require_no_folder(file: Path, option: str) -> None:
    if file.is_dir():
        raise UsageError(f"{option}{str(file)!r} is a folder; name a file in it")


@contextmanager
def _plain_messages() -> Iterator[None]:
    """A user's mistake ends in one clear message and exit code 2; warnings are a line each."""
    try:
        with warnings.catch_warnings():
            # A fall-back to another engine is never kept back, whatever Python was told about warnings.
            warnings.simplefilter("always", UserWarning)
            warnings.showwarning = _show_warning  # type: ignore[assignment] # takes less than it is given
            yield
    except (InputError, UsageError, EngineError) as error:
        typer.echo(f"bayesjudge: {error}", err=True)
        raise typer.Exit(2) from error
    except OSError as error:
        typer.echo(f"bayesjudge: cannot write or read: {error}", err=True)
        raise typer.Exit(2) from error


def _show_warning(message: Warning | str, *_: Any) -> None:
    typer.echo(f"bayesjudge: warning: {message}", err=True)


def _deliver(answer: Comparison, *, out: Path | None, html: Path | None, as_json: bool, every: bool) -> None:
    """Figures first, pages last: nothing that was computed is lost when a page cannot be drawn."""
    from bayesjudge.report import write_page
    from bayesjudge.studies.screens import show_answer

    if out is not None:
        answer.save(out)
    if as_json:
        _print_json(answer)
    else:
        show_answer(answer, every=every)
    pages = [path for path in (html, out / "report.html" if out else None) if path is not None]
    if not pages:
        return
    page = answer.page()
    for path in pages:
        write_page(page, path)
        typer.echo(f"Report: {path.resolve()}", err=as_json)


def _print_json(answer: Comparison) -> None:
    """JSON is UTF-8, whatever the terminal is."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8")
    sys.stdout.write(answer.to_json() + "\n")


def _finish(answer: Comparison, *, strict: bool, as_json: bool) -> None:
    if as_json:  # the tables have told of it already
        for reason in answer.gate.reasons:
            typer.echo(f"bayesjudge: gate failed: {reason}", err=True)
    if strict and not answer.gate.passed:
        raise typer.Exit(3)


def main(argv: list[str] | None = None) -> Any:
    """Entry point of the ``bayesjudge`` command."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A name that the terminal cannot show is no reason to lose the answer.
            stream.reconfigure(errors="replace")
    return app(argv)
