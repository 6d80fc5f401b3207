"""The command of a question, made from what its file, its options and the delivery of its answer state."""

from __future__ import annotations

import inspect
import re
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from inspect import Parameter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args, get_origin

import typer

from bayesjudge.cli.files import LogFile
from bayesjudge.cli.panels import CONDITIONS, SHARED, choices_words, narrow, panel_title
from bayesjudge.cli.running import ci_reports, deliver, finish, mapping, plain_messages, require_targets
from bayesjudge.errors import InputError, UsageError
from bayesjudge.options import Option, QuestionOptions
from bayesjudge.options.option import Options, Stated, alternatives, stated

if TYPE_CHECKING:
    from bayesjudge.estimates import Estimates
    from bayesjudge.report.comparison import Comparison


@dataclass(frozen=True, kw_only=True)
class Delivery(Options):
    """Where an answer goes."""

    out: Annotated[Path | None, Option("Folder for tables (CSV), answer (JSON), page (HTML) and fits (NetCDF).")] = None
    html: Annotated[Path | None, Option("Write the report as one self-contained page.")] = None
    as_json: Annotated[bool, Option("Print one JSON object instead of tables.", flag="--json")] = False
    every: Annotated[bool, Option("Print every method, not the main ones.", flag="--all")] = False
    junit: Annotated[Path | None, Option("Write what became of every condition as JUnit XML.", panel="CI")] = None
    markdown: Annotated[Path | None, Option("Write conditions and one table as Markdown.", panel="CI")] = None
    github: Annotated[
        bool,
        Option(
            "Annotate the run on GitHub; the Markdown is added to $GITHUB_STEP_SUMMARY where that is set.", panel="CI"
        ),
    ] = False
    strict: Annotated[
        bool, Option("Exit with 3 when a gate fails: convergence, or labels that look selected.", panel="CI")
    ] = False
    quiet: Annotated[bool, Option("No progress bars.")] = False


def command(question: str, source: type[Any], options: type[QuestionOptions], **defaults: Any) -> Callable[..., None]:
    """The function of a command: read the tables, answer the question, deliver the answer.

    source: Options of where the tables come from; ``tables(options)`` reads them.
    """
    kinds = {"Data": source, "Model": options, "Output": Delivery}
    parts = [_offered(kind, defaults) for kind in kinds.values()]
    examples = {
        "Data": source.example,
        "Model": options.example,
        "CI": f"--fail-if '{CONDITIONS[question]}' --strict",
        **SHARED,
    }

    def run(**given: Any) -> None:
        with plain_messages():
            where, chosen, how = ({one.name: _value(one, given[one.name]) for one in part} for part in parts)
            delivery, checked = Delivery(**how), options(**chosen)
            require_targets(delivery.out, html=delivery.html, junit=delivery.junit, markdown=delivery.markdown)
            tune = min(checked.draws, options.warm_up_most or checked.draws)
            if chosen.get("compare", False) is None and not (delivery.out or delivery.html or delivery.as_json):
                chosen["compare"] = False  # a table that the terminal does not show costs two more posteriors
            log = source(**where)
            tables = log.tables(checked)
            # JAX and what goes with it take seconds to import: what is wrong with a file is said before.
            from bayesjudge.report.terminal import StoppedEarly, show_early

            ask = getattr(import_module(f"bayesjudge.studies.{question}"), question)
            try:
                answer = ask(**{**chosen, **tables}, tune=tune, progress=not delivery.quiet)
            except StoppedEarly as stop:
                if not delivery.as_json:
                    show_early(stop)
                raise
            except (InputError, UsageError) as error:
                raise log.refused(error) if isinstance(log, LogFile) else error from error
            answer = as_typed(answer, question, [one for part in parts[:2] for one in part], given)
            reports = ci_reports(answer, junit=delivery.junit, markdown=delivery.markdown, github=delivery.github)
            targets = {"out": delivery.out, "html": delivery.html}
            deliver(answer, **targets, as_json=delivery.as_json, every=delivery.every, reports=reports)
        finish(answer, strict=delivery.strict, as_json=delivery.as_json)

    run.__doc__ = source.__doc__
    panelled = [(one, one.option.panel or panel) for panel, part in zip(kinds, parts, strict=True) for one in part]
    signature = inspect.Signature([_parameter(one, panel_title(panel, examples)) for one, panel in panelled])
    vars(run)["__signature__"] = signature
    return run


def as_typed(answer: Comparison, question: str, known: Sequence[Stated], given: Mapping[str, Any]) -> Comparison:
    """The answer as who typed the command reads it: options by their flags, and the command among its settings."""
    # What a flag is given already, a column's name or a value, is typed as it is, and so is what Python alone takes.
    flags = {rf"(?<![\[,:])(?<!--column )(?<!--set )\b{one.name}= ?(?!\{{)": f"{_flag(one)} " for one in known}

    @cache  # most rows have one of few notes
    def typed(text: str) -> str:
        for option, flag in flags.items():
            text = re.sub(rf"{option}(?:'([^']*)')?", rf"{flag}\1", text)
        return text

    def noted(rows: Estimates) -> Estimates:
        return rows.with_column(note=rows.frame["note"].map(typed))

    file = {"file": Path(given["file"]).name} if "file" in given else {}
    return replace(
        answer,
        warnings=tuple(map(typed, answer.warnings)),
        gate=replace(answer.gate, reasons=tuple(map(typed, answer.gate.reasons))),
        estimates=noted(answer.estimates),
        diagnostics=noted(answer.diagnostics),
        settings={**answer.settings, **file, "command": _command(question, known, given)},
    )


def _command(question: str, known: Sequence[Stated], given: Mapping[str, Any]) -> str:
    """The command that asks this question again."""
    words = ["bayesjudge", question if "file" in given else "demo"]
    for one in known:
        value = given[one.name]
        if one.default is Parameter.empty:
            words.append(str(value))
        elif value in (None, []) or str(value) == str(one.default):
            continue
        elif isinstance(value, bool):
            words.append(_flag(one) if value else f"--no-{_flag(one)[2:]}")
        else:
            values = value if isinstance(value, list) else [value]
            words += [word for single in values for word in (_flag(one), str(single))]
    return shlex.join(words)


def _offered(options: type[Any], defaults: Mapping[str, Any]) -> list[Stated]:
    """What a command offers of some options, those of every question last."""
    known = [replace(one, default=defaults.get(one.name, one.default)) for one in stated(options)]
    shared = {one.name for one in stated(QuestionOptions)}
    offered = [one for one in known if one.option.flag != "" and not one.fixed]
    return sorted(offered, key=lambda one: one.name in shared)


def _parameter(one: Stated, panel: str) -> Parameter:
    """A parameter as typer reads it: texts, which are checked where Python's values are."""
    kinds, option = alternatives(one.kind), one.option
    if one.default is Parameter.empty:
        argument = Annotated[str, typer.Argument(help=option.help, metavar=option.metavar or None)]
        return Parameter(one.name, Parameter.KEYWORD_ONLY, annotation=argument)
    default: Any = None
    if bool in kinds:
        kind: Any = bool | None if one.default is None else bool
        default, metavar = one.default, None
    elif any(get_origin(kind) in {Iterable, Mapping, Sequence, tuple} for kind in alternatives(one.kind)):
        kind, metavar = list[str] | None, narrow(option.metavar or "<name>")
    else:
        kind, metavar = str | None, option.metavar or _metavar(kinds)
        default = None if one.default is None else str(one.default)
    flag = _flag(one) + (f"/--no-{_flag(one)[2:]}" if option.flag is None and bool in kinds else "")
    choices = [word for kind in kinds if get_origin(kind) is Literal for word in get_args(kind)]
    text = choices_words(option.help, choices)
    typed = typer.Option(flag, help=text, metavar=metavar, hidden=option.hidden, rich_help_panel=panel)
    return Parameter(one.name, Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, typed])


def _value(one: Stated, given: Any) -> Any:
    """What was typed as Python has it; what is not of the option's type is left for its check to refuse."""
    if given is None or given == []:
        return one.default
    kinds = alternatives(one.kind)
    if isinstance(given, list):
        paired = any(get_origin(kind) is Mapping for kind in kinds)
        return mapping(given, _flag(one), one.option.metavar) if paired else given
    if not isinstance(given, str) or not {int, float} & set(kinds):
        return given
    for number in (int, float):
        try:
            return number(given)
        except ValueError:
            continue
    return given


def _flag(one: Stated) -> str:
    return one.option.flag or f"--{one.name.replace('_', '-')}"


def _metavar(kinds: Sequence[Any]) -> str:
    """What represents a value in the help: its type."""
    names = {int: "<int>", float: "<float>", Path: "<path>"}
    return next((names[kind] for kind in kinds if kind in names), "<word>")
