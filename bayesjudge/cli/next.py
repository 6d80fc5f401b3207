"""``bayesjudge next ...``: what to collect next, as a file to fill in or to work off."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from xml.sax.saxutils import quoteattr

import typer

from bayesjudge.cli.options import Column, File, Quiet, Seed, Where
from bayesjudge.cli.panels import Command
from bayesjudge.cli.reading import Format, Gold, Items, Label, Put, Threshold, Verdict, Wide, reading
from bayesjudge.cli.running import mapping, plain_messages, require_no_folder, say
from bayesjudge.errors import UsageError, require_choice
from bayesjudge.text import json_visible, visible

if TYPE_CHECKING:
    import pandas as pd

    from bayesjudge.readers.reading import Choices, Reading
    from bayesjudge.tables import Verdicts


next_ = typer.Typer(
    no_args_is_help=True,
    help="What to collect next: answers to label, trials to run.\n\n"
    "Example: bayesjudge next accuracy log.csv --out to_label.csv",
)

#: Items that are drawn by default.
ITEMS = 40
#: What people are shown of an answer.
TEXTS = ("question", "answer")
#: Columns of a table that hold the texts, the first that is there; of a tool's log the first.
QUESTIONS = ("question_text", "question", "prompt", "instruction", "query", "input", "user_input")
ANSWERS = ("answer_text", "answer", "response", "output", "completion", "actual_output")
#: What a Label Studio project must show for its export to be read.
LABELLING = (
    '<View><Text name="q" value="$question"/><Text name="a" value="$answer"/><Choices name="label" toName="a">'
    "{choices}</Choices></View>"
)


@next_.command("accuracy", cls=Command)
def label_answers(
    *,
    file: File,
    out: Annotated[Path, typer.Option(help="The file to fill in; none that is there is written over.")],
    n: Annotated[
        int | None, typer.Option("--n", help="Items, with every model's answer to each; by default 40.")
    ] = None,
    kind: Annotated[str, typer.Option("--as", help="csv, label-studio or argilla (JSON).")] = "csv",
    unsure: Annotated[
        bool, typer.Option("--unsure", help="Draw items more often where judges disagree, and write how often.")
    ] = False,
    seed: Seed = 0,
    gold: Gold = None,
    column: Column = None,
    where: Where = None,
    file_format: Format = None,
    verdict: Verdict = None,
    label: Label = None,
    threshold: Threshold = None,
    put: Put = None,
    items: Items = None,
    wide: Wide = None,
) -> None:
    """Answers to label next: every model's answer to items drawn at random among those without a label.

    Example: bayesjudge next accuracy log.csv --n 50 --out to_label.csv
    """
    with plain_messages():
        from bayesjudge.files import write_text
        from bayesjudge.readers import read_verdicts
        from bayesjudge.readers.asking import typed_gold, typed_options
        from bayesjudge.readers.reading import Reading

        require_choice("as", kind, _WRITERS)
        if unsure and kind != "csv":
            raise UsageError(f"--unsure writes probabilities, which {kind} does not give back; leave out --as {kind}")
        _require_free(out)
        said = reading(file_format=file_format, where=where, put=put, items=items)
        said |= {"verdict": verdict, "label": label, "threshold": threshold, "wide": wide}
        columns = mapping(column, "--column", "verdict=score")
        shown: Choices = {**said, "texts": True}
        verdicts = read_verdicts(file, columns=columns, labels=gold, **shown)
        sheet = label_sheet(verdicts, n=n, unsure=unsure, seed=seed)
        if not sheet["answer"].str.strip().any():
            say(f"{file} holds no texts of answers: the file names items and models only")
        write_text(out, _WRITERS[kind](sheet))
        typer.echo(visible(f"{sheet['item'].nunique()} items, {len(sheet)} answers to label: {out}"))
        again = f"bayesjudge accuracy {shlex.quote(file)}{typed_options(columns, said)}{typed_gold(gold or ())}"
        typer.echo(visible(_then(kind, again, out, Reading(label=label))))


@next_.command("reliability", cls=Command)
def run_trials(
    *,
    file: File,
    out: Annotated[Path, typer.Option(help="The table to write: judge, group, item, trials made, trials to make.")],
    n: Annotated[
        int | None,
        typer.Option("--n", min=1, help="Trials to spend on each judge and condition; by default 5 an item."),
    ] = None,
    draws: Annotated[int, typer.Option(help="Posterior draws of each chain.")] = 2000,
    seed: Seed = 0,
    column: Column = None,
    where: Where = None,
    file_format: Format = None,
    put: Put = None,
    items: Items = None,
    wide: Wide = None,
    quiet: Quiet = False,
) -> None:
    """Comparisons to repeat next: where further trials correct most majorities, by the posterior of ``reliability``.

    Example: bayesjudge next reliability trials.csv --n 200 --out to_run.csv
    """
    with plain_messages():
        from bayesjudge.files import write_text
        from bayesjudge.readers import read_repeats
        from bayesjudge.report.reliability.headline import plan_sentences
        from bayesjudge.studies.reliability import reliability

        _require_free(out)
        columns = mapping(column, "--column", "outcome=winner")
        said = reading(file_format=file_format, where=where, put=put, items=items)
        said |= {"wide": wide}
        trials, _ = read_repeats(file, columns=columns, **said)
        if trials is None:
            raise UsageError(f"{file} holds scores alone; trials are planned for comparisons")
        tune = min(draws, 600)
        answer = reliability(trials, budget=n, draws=draws, tune=tune, seed=seed, progress=not quiet)
        for reason in answer.gate.reasons:
            say(f"gate failed: {reason}")
        plan = answer.checks["plan"]
        asked = plan[plan["extra"] > 0].sort_values(["judge", "group", "extra"], ascending=[True, True, False])
        write_text(out, _csv(asked[["judge", "group", "item", "trials", "extra"]]))
        typer.echo(visible("\n".join([*plan_sentences(plan), f"Trials to make: {out}"])))


def label_sheet(verdicts: Verdicts, *, n: int | None, unsure: bool, seed: int) -> pd.DataFrame:
    """One row an answer to label: ``item, model, question, answer, label`` (empty) and, if any, its probability."""
    from bayesjudge.planning.labels.sampling import draw_items
    from bayesjudge.readers.questions import QUESTION

    # All answers of a model to one question are labelled together; a topic has too many.
    frame, unit = verdicts.frame, QUESTION if verdicts.cluster == QUESTION else "item"
    unlabelled = frame[unit].nunique() - frame.loc[frame["label"].notna(), unit].nunique()
    size = min(ITEMS, unlabelled) if n is None else n
    drawn = draw_items(frame, size=size, unit=unit, unsure=unsure, seed=seed)
    answers = frame.drop_duplicates(["item", "model"]).sort_values(["item", "model"], kind="stable")
    sheet = drawn.merge(answers.drop(columns=["label", "label_probability"], errors="ignore"), on=unit)
    texts = {"question": _first(sheet, QUESTIONS), "answer": _first(sheet, ANSWERS)}
    chance = {"label_probability": sheet["label_probability"]} if "label_probability" in sheet else {}
    return sheet[["item", "model"]].assign(**texts, label="", **chance)


def _first(sheet: pd.DataFrame, names: tuple[str, ...]) -> Any:
    found = next((name for name in names if name in sheet), None)
    return "" if found is None else sheet[found].astype("str").fillna("")


def _argilla(sheet: pd.DataFrame) -> str:
    both = zip(_records(sheet, TEXTS), _records(sheet, ("item", "model")), strict=True)
    rest: dict[str, Any] = {"responses": {}, "suggestions": {}}
    return _json([{"id": str(k), "fields": texts, "metadata": names, **rest} for k, (texts, names) in enumerate(both)])


def _records(sheet: pd.DataFrame, names: tuple[str, ...]) -> list[dict[str, str]]:
    return [dict(zip(names, row, strict=True)) for row in sheet[list(names)].itertuples(index=False, name=None)]


def _json(found: Sequence[Mapping[str, Any]]) -> str:
    return json_visible(json.dumps(found, ensure_ascii=False, indent=1)) + "\n"


def _csv(sheet: pd.DataFrame) -> str:
    from bayesjudge.files import csv_text

    lost = [name for name in sheet["item"] if visible(name) != name]
    if lost:
        raise UsageError(
            f"item {lost[0]!r} has characters in its name that CSV does not keep, so that its label would be lost; "
            "write JSON: --as label-studio or --as argilla"
        )
    return csv_text(sheet)


_WRITERS: Mapping[str, Callable[[pd.DataFrame], str]] = {
    "csv": _csv,
    "label-studio": lambda sheet: _json([{"data": one} for one in _records(sheet, ("item", "model", *TEXTS))]),
    "argilla": _argilla,
}


def _then(kind: str, again: str, out: Path, reading: Reading) -> str:
    """What to do with the file, and the command that reads it.

    reading: By which values the command takes a column ``label`` to mean yes.
    """
    labels = shlex.quote(str(out)) if kind == "csv" else "EXPORT.json"
    option, values = reading.label_criterion
    right, wrong = (["1"], "0") if kind == "csv" else (["correct"], "incorrect")
    if option == "label" and values:
        right, wrong = sorted(values), "1" if "0" in values else "0"
    choices = "".join(f"<Choice value={quoteattr(one)}/>" for one in (*right, wrong))
    first = {
        "csv": f"Write {' or '.join(right)} (right) or {wrong} (wrong) into its column label",
        "label-studio": f"Import it into a project with the labelling interface {LABELLING.format(choices=choices)} "
        "and export JSON",
        "argilla": f"Read it into a dataset with a question label ({', '.join([*right, wrong])}) and write its records "
        "to JSON",
    }[kind]
    return f"{first}; then: {again} --gold {labels}"


def _require_free(out: Path) -> None:
    """Refuse a place where somebody's labels may be."""
    require_no_folder(out, "--out ")
    if out.exists():
        raise UsageError(f"--out {str(out)!r} exists, and may hold somebody's labels; name a file that does not")
