"""``bayesjudge show``, ``models`` and ``doctor``: what is here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer

from bayesjudge.cli.options import Json
from bayesjudge.cli.registered import Kind, small_data
from bayesjudge.cli.running import deliver, mapping, plain_messages, require_targets
from bayesjudge.errors import UsageError


def show(
    answer: Annotated[Path, typer.Argument(help="Folder of --out, a page of --html, or what --json printed.")],
    html: Annotated[Path | None, typer.Option(help="Write the report as one self-contained page.")] = None,
    as_json: Json = False,
    every: Annotated[bool, typer.Option("--all", help="Print every method, not the main ones.")] = False,
) -> None:
    """A stored answer again, on the screen, as a page or as JSON: nothing is fitted.

    Example: bayesjudge show page.html --html again.html
    """
    with plain_messages():
        from bayesjudge.report import load_answer

        require_targets(None, html=html)
        found = load_answer(answer)
        try:
            deliver(found, out=None, html=html, as_json=as_json, every=every)
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            raise UsageError(
                f"{str(answer)!r} is not an answer as this version stores it ({error!r}): answer the question again"
            ) from error


def models(
    name: Annotated[
        str | None, typer.Argument(help="One of them, or file.py:name: its priors, and what they say before data.")
    ] = None,
    prior: Annotated[list[str] | None, typer.Option(help="Prior in place of the default: NAME=PRIOR.")] = None,
    table: Kind = None,
) -> None:
    """Every registered generative model, with what it is for; or the priors of one, yours too.

    Example: bayesjudge models judge_error --prior sensitivity=160/200
    """
    with plain_messages():
        from bayesjudge.model import find_model, model_names

        if name is not None:
            typer.echo(_described(name, mapping(prior, "--prior", "sensitivity=160/200"), table))
            return
        for each in model_names():
            described = (find_model(each).__doc__ or "").strip().partition("\n")[0]
            typer.echo(f"{each:20} {described}")


def _described(name: str, given: Mapping[str, str], table: str | None) -> str:
    """What a function observes and reports, the slots of a model, and what it expects of a small table."""
    from bayesjudge.adapters import FunctionModel, TreeModel, as_model
    from bayesjudge.adapters.files import names_file
    from bayesjudge.checks import prior_predictive
    from bayesjudge.model import GenerativeModel, elsewhere, met
    from bayesjudge.options.registered import named

    model = as_model(name) if names_file(name) else named(name)
    if not isinstance(model, GenerativeModel) or isinstance(model, TreeModel):
        raise UsageError(f"{name} states no priors")
    kind, data = small_data(model, table)
    model = met(model, data).with_priors(given)
    lines = [model.label, ""]
    if isinstance(model, FunctionModel):
        lines += [f"  {'observes':22} {_with_axes({one: data.dims[one] for one in data.observations})}"]
        lines += [f"  {'reports':22} {_with_axes(model.estimands(data))}", ""]
    for slot, one in model.priors.items():
        prior = model.chosen_priors[slot]
        why = one.reason if prior == one.default else f"given; the default is {one.default}"
        lines.append(f"  {slot:22} {prior!s:24} {one.unit:26} {why}")
    if isinstance(model, FunctionModel):
        lines += [f"  {site:22} not to be changed: {why}" for site, why in model.fixed]
    if data.unobserved or elsewhere(model, data):
        why = data.unobserved or f"{name} is written in PyMC"
        return "\n".join([*lines, f"nothing is drawn before data: {why}"])
    lines += ["", f"before data, for a small table of {kind} (mean, 95 % interval):"]
    for row in prior_predictive(model, data).itertuples():
        lines.append(f"  {row.quantity!s:34} {row.unit!s:26} {row.mean:9.3f}  [{row.lower:.3f}, {row.upper:.3f}]")
    return "\n".join(lines)


def _with_axes(names: Mapping[str, Sequence[str]]) -> str:
    return ", ".join(f"{name} ({', '.join(axes)})" if axes else name for name, axes in names.items()) or "nothing"


def doctor() -> None:
    """Versions, devices, what is missing and how to install it.

    Example: bayesjudge doctor
    """
    from bayesjudge.cli.doctor import examine

    findings = examine()
    for finding in findings:
        fix = f"   -> {finding.fix}" if finding.fix else ""
        typer.echo(f"{'ok     ' if finding.ok else 'MISSING'} {finding.what:24} {finding.found}{fix}")
    if not all(finding.ok for finding in findings):
        raise typer.Exit(2)
