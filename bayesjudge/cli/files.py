"""Where the tables of each question come from: files and how to read them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Annotated, Any, ClassVar, cast

from bayesjudge.errors import InputError, UsageError, require_judges
from bayesjudge.options import QuestionOptions
from bayesjudge.options.option import Option, Options, stated


@dataclass(frozen=True, kw_only=True)
class LogFile(Options):
    """A log, and how to read it."""

    question: ClassVar[str]
    #: Function of `bayesjudge.readers` that takes these options, and the question's names of its tables.
    reader: ClassVar[str]
    names: ClassVar[tuple[str, ...]]
    #: Options that the reader has under another name.
    renamed: ClassVar[Mapping[str, str]] = {}
    #: Some of these options, as they are typed.
    example: ClassVar[str]

    file: Annotated[str, Option("Log: CSV, TSV, JSONL, Parquet, a glob, FILE.duckdb::TABLE, or - for stdin.")]
    columns: Annotated[
        Mapping[str, str],
        Option(
            "Where one of our columns is in your file: OURS=YOURS; may be given more than once.",
            flag="--column",
            metavar="verdict=score",
        ),
    ] = field(default_factory=dict)
    where: Annotated[
        Sequence[str],
        Option(
            "Only rows where your column = value (or != < <= > >=, in quotes); may be given more than once.",
            metavar="prompt=short",
        ),
    ] = ()
    items: Annotated[
        str | None,
        Option(
            "Second file, one row an item: columns that the log lacks, such as category or label.", metavar="<file>"
        ),
    ] = None
    wide: Annotated[
        str | None,
        Option(
            "The table has a column for each model, judge or run: verdict:model, verdict:judge, verdict:run, or score "
            "in place of verdict; with =COLUMN,COLUMN where not all others are meant.",
            metavar="verdict:model",
        ),
    ] = None
    format: Annotated[
        str | None, Option("Read as this tool's format (bayesjudge inspect names it), or as table.", metavar="<name>")
    ] = None
    put: Annotated[
        Mapping[str, str],
        Option(
            "Our column for all rows, OURS=VALUE; {file}, {folder}, {folder.2} (the one above), {file.1}, {file.2} (of "
            "A-vs-B), {COLUMN}, {COLUMN:0=tie,1=a}: a row's own.",
            flag="--set",
            metavar="judge=gpt-4",
        ),
    ] = field(default_factory=dict)

    def tables(self, options: QuestionOptions) -> Mapping[str, Any]:
        """Tables by the question's names of them."""
        import bayesjudge.readers

        said = {self.renamed.get(one.name, one.name): getattr(self, one.name) for one in fields(self)}
        try:
            found = getattr(bayesjudge.readers, self.reader)(said.pop("file"), **said)
        except (InputError, UsageError) as error:
            # What is wrong may be in rows of judges that were not requested: a misspelled name comes first.
            self._require_judges(getattr(options, "judges", None) or getattr(options, "judge", None) or ())
            raise self.refused(error) from error
        return dict(zip(self.names, found if len(self.names) > 1 else [found], strict=True))

    def refused(self, error: InputError | UsageError) -> InputError | UsageError:
        """What to say of a log that the question cannot be put to: with the commands that answer."""
        from bayesjudge.readers.asking import refusal
        from bayesjudge.readers.reading import Choices
        from bayesjudge.readers.repetitions import AGAIN

        said = {name: getattr(self, name) for name in Choices.__annotations__ if hasattr(self, name)}
        choices = cast("Choices", {name: value for name, value in said.items() if value})
        gold = getattr(self, "gold", ())
        found = refusal(error, self.question, self.file, columns=self.columns, gold=gold, choices=choices)
        if found is error or found.instead or found.options or not isinstance(found, UsageError):
            return found
        if found.lacks.startswith(AGAIN):
            return found  # a log that judges nothing twice is one
        from bayesjudge.cli.other_uses import with_other_use

        return with_other_use(found, self.file, self.columns, choices)

    def _require_judges(self, named: str | Sequence[str]) -> None:
        if not named:
            return
        from bayesjudge.readers import read

        mapped = {name: column for name, column in self.columns.items() if name == "judge"}
        log = read(self.file, columns=mapped, where=self.where, format=self.format, put=self.put).frame
        if "judge" in log:
            require_judges(
                [named] if isinstance(named, str) else named, sorted(map(str, log["judge"].dropna().unique()))
            )


@dataclass(frozen=True, kw_only=True)
class VerdictFile(LogFile):
    """Each model's true accuracy and every difference, from a log of judge verdicts."""

    question, reader, names, renamed = "accuracy", "read_verdicts", ("verdicts",), {"gold": "labels"}
    example = "log.csv --column verdict=score --gold labels.csv"
    gold: Annotated[
        Sequence[str],
        Option("Second file with human labels by item (and model); may be given more than once.", metavar="<file>"),
    ] = ()
    verdict: Annotated[
        str | None, Option("The judge's criterion, where there are several: NAME, or NAME=VALUE,... for yes.")
    ] = None
    label: Annotated[
        str | None,
        Option(
            "The criterion or column that people marked (in --gold, too): NAME, NAME=VALUE,... or 'NAME>=75'; with "
            "one column per person: 'human 1,human 2' or 'human *'."
        ),
    ] = None
    threshold: Annotated[str | None, Option("Which scores mean yes: 7, '>=7' or '<=2'.")] = None


@dataclass(frozen=True, kw_only=True)
class BattleFile(LogFile):
    """Each model's Elo on the human scale, from a log of battles judged by people, LLMs or both."""

    question, reader, names = "elo", "read_battles", ("battles",)
    example = "battles.csv --where language=en --order ab"
    order: Annotated[
        str | None, Option("Which answer was presented first, where no column has it.", metavar="<ab|ba>")
    ] = None


@dataclass(frozen=True, kw_only=True)
class RepeatFile(LogFile):
    """How repeatable judges are, from a log of repeated comparisons, repeated scores, or both."""

    question, reader, names = "reliability", "read_repeats", ("trials", "scores")
    example = "trials.csv --column outcome=winner"
    scores: Annotated[
        str | None, Option("Second file with repeated scores, where the first has comparisons alone.", metavar="<file>")
    ] = None


@dataclass(frozen=True, kw_only=True)
class PairFile(LogFile):
    """Which of a judge's pairwise verdicts to trust, and which to reverse, if any."""

    question, reader, names = "audit", "read_pairs", ("pairs",)
    example = "pairs.csv --judge gpt-4 --embeddings texts.npz"
    embeddings: Annotated[
        str | None,
        Option("Embeddings: .npz (item_id, response_a, response_b, prompt) or Parquet with lists.", metavar="<file>"),
    ] = None
    encoder: Annotated[str | None, Option("Embed the texts by this sentence-transformers model.", metavar="<name>")] = (
        None
    )


@dataclass(frozen=True, kw_only=True)
class RunFiles(VerdictFile):
    """Two runs of one evaluation side by side: before, after, the difference, and whether it is real."""

    example = "before.csv after.csv --gold labels.csv"
    against: Annotated[str, Option("Log of the second run, read as the first.")]

    def refused(self, error: InputError | UsageError) -> InputError | UsageError:
        """The error as it is: each run's own reader has said what its log lacks."""
        return error

    def tables(self, options: QuestionOptions) -> Mapping[str, Any]:
        """Tables of both runs: verdicts, or battles where these are compared."""
        given = {one.name: getattr(self, one.name) for one in stated(VerdictFile)}
        source: type[LogFile] = VerdictFile
        if getattr(options, "question", "") == "elo":
            source, known = BattleFile, {one.name for one in stated(BattleFile)}
            if unknown := [name for name, value in given.items() if name not in known and value not in (None, ())]:
                raise UsageError(f"--{unknown[0]} is for verdicts, not for battles: leave it out")
            given = {name: value for name, value in given.items() if name in known}
        (one,) = source(**given).tables(options).values()
        (two,) = source(**{**given, "file": self.against}).tables(options).values()
        return {"before": one, "after": two}


@dataclass(frozen=True, kw_only=True)
class DemoLog(Options):
    """The accuracy question on simulated verdicts, with the truth as a column."""

    example: ClassVar[str] = ""

    def tables(self, options: QuestionOptions) -> Mapping[str, Any]:
        """Verdicts of that seed, and what is true of them."""
        from bayesjudge.datasets import demo_verdicts

        simulated = demo_verdicts(seed=options.seed)
        return {"verdicts": simulated.verdicts, "truth": simulated.truth}
