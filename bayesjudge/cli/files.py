"""Where the tables of each question come from: files and how to read them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any

from bayesjudge.options.option import Option, Options

if TYPE_CHECKING:
    from bayesjudge.options import QuestionOptions

__all__ = ["BattleFile", "DemoLog", "PairFile", "RepeatFile", "VerdictFile"]


@dataclass(frozen=True, kw_only=True)
class _File(Options):
    file: Annotated[str, Option(help="Log: CSV, TSV, JSONL, Parquet, a glob, or - for stdin.")]
    columns: Annotated[
        Mapping[str, str],
        Option(
            help="Our column = yours; may be given more than once.", flag="--column", metavar="verdict=score"
        ),
    ] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class _FileOfMany(_File):
    where: Annotated[
        Mapping[str, Sequence[str]],
        Option(
            help="Only rows where your column = value; may be given more than once.", metavar="prompt=short"
        ),
    ] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class VerdictFile(_File):
    """Each model's true accuracy and every difference, from a log of judge verdicts."""

    gold: Annotated[str | None, Option(help="Second file with human labels by item (and model).")] = None

    def tables(self, _: QuestionOptions) -> Mapping[str, Any]:
        """Tables by the question's names of them."""
        from bayesjudge.readers import read_verdicts

        return {"verdicts": read_verdicts(self.file, columns=self.columns, labels=self.gold)}


@dataclass(frozen=True, kw_only=True)
class BattleFile(_File):
    """Each model's Elo on the human scale, from a log of battles judged by people, LLMs or both."""

    order: Annotated[
        str | None,
        Option(help="Which answer was presented first, where no column has it.", metavar="[ab|ba]"),
    ] = None

    def tables(self, _: QuestionOptions) -> Mapping[str, Any]:
        """Tables by the question's names of them."""
        from bayesjudge.readers import read_battles

        return {"battles": read_battles(self.file, columns=self.columns, order=self.order)}


@dataclass(frozen=True, kw_only=True)
class RepeatFile(_FileOfMany):
    """How repeatable judges are, from a log of repeated comparisons, repeated scores, or both."""

    scores: Annotated[
        str | None,
        Option(help="Second file with repeated scores, where the first has comparisons alone."),
    ] = None

    def tables(self, _: QuestionOptions) -> Mapping[str, Any]:
        """Tables by the question's names of them."""
        from bayesjudge.readers import read_repeats

        found = read_repeats(self.file, scores=self.scores, columns=self.columns, where=self.where)
        return dict(zip(("trials", "scores"), found, strict=True))


@dataclass(frozen=True, kw_only=True)
class PairFile(_FileOfMany):
    """Which of a judge's pairwise verdicts to trust, and which to reverse, if any."""

    items: Annotated[
        str | None,
        Option(help="Second file, one row an item: human_prefers, lengths, category, models, texts."),
    ] = None
    embeddings: Annotated[
        str | None,
        Option(help="Embeddings: .npz (item_id, response_a, response_b, prompt) or Parquet with lists."),
    ] = None
    encoder: Annotated[str | None, Option(help="Embed the texts by this sentence-transformers model.")] = None

    def tables(self, _: QuestionOptions) -> Mapping[str, Any]:
        """Tables by the question's names of them."""
        from bayesjudge.readers import read_pairs

        more = {"items": self.items, "embeddings": self.embeddings, "encoder": self.encoder}
        return {"pairs": read_pairs(self.file, **more, columns=self.columns, where=self.where)}


@dataclass(frozen=True, kw_only=True)
class DemoLog(Options):
    """The accuracy question on simulated verdicts, with the truth as a column."""

    def tables(self, options: QuestionOptions) -> Mapping[str, Any]:
        """Verdicts of that seed, and what is true of them."""
        from bayesjudge.datasets import demo_verdicts

        simulated = demo_verdicts(seed=options.seed)
        return {"verdicts": simulated.verdicts, "truth": simulated.truth}
