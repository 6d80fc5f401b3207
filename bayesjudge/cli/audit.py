"""``bayesjudge audit``."""

from __future__ import annotations

from typing import Annotated

import typer

from bayesjudge.cli.options import (
    Chains,
    Column,
    Draws,
    Engine,
    Every,
    File,
    Html,
    Json,
    Out,
    Prob,
    Quiet,
    Seed,
    Strict,
    Where,
)
from bayesjudge.cli.reading import Format, Put, reading
from bayesjudge.cli.running import deliver, finish, mapping, plain_messages, require_targets

__all__ = ["audit"]

Items = Annotated[
    str | None,
    typer.Option(help="Second file, one row an item: human_prefers, lengths, category, models, texts."),
]
Embeddings = Annotated[
    str | None,
    typer.Option(help="Embeddings: .npz (item_id, response_a, response_b, prompt) or Parquet with lists."),
]
Encoder = Annotated[str | None, typer.Option(help="Embed the texts by this sentence-transformers model.")]
OneJudge = Annotated[str | None, typer.Option("--judge", help="Which judge, where there are several.")]
Kinds = Annotated[str, typer.Option(help="both, or positives: only agreements were recorded.")]
Reviewed = Annotated[str | None, typer.Option(help="With positives: share reviewed, or the column of it.")]
Feature = Annotated[list[str] | None, typer.Option(help="Further numeric column; may be given again.")]
Share = Annotated[float | None, typer.Option(help="Share s for partial optimal transport; else measured.")]
Folds = Annotated[int, typer.Option(help="Parts in which verified pairs are held out.")]


def audit(
    *, file: File, items: Items = None, embeddings: Embeddings = None, encoder: Encoder = None,
    column: Column = None, where: Where = None, judge: OneJudge = None, labels: Kinds = "both",
    reviewed: Reviewed = None, feature: Feature = None, share: Share = None, folds: Folds = 10,
    out: Out = None, html: Html = None, as_json: Json = False, every: Every = False, prob: Prob = 0.95,
    seed: Seed = 0, engine: Engine = "nuts", chains: Chains = 4, draws: Draws = 1000,
    strict: Strict = False, quiet: Quiet = False,
    file_format: Format = None, put: Put = None,
) -> None:  # fmt: skip
    """Which of a judge's pairwise verdicts to trust, and which to turn around, if any."""
    with plain_messages():
        from bayesjudge.readers import read_pairs
        from bayesjudge.studies import audit as study

        require_targets(out, html)
        pairs = read_pairs(file, items=items, embeddings=embeddings, encoder=encoder,
                           columns=mapping(column),
                                       **reading(file_format=file_format, where=where, put=put))  # fmt: skip
        answer = study(
            pairs, judge=judge, labels=labels, reviewed=_share_or_column(reviewed), features=feature or (),
            share=share, folds=folds, engine=engine, prob=prob, seed=seed, chains=chains, draws=draws,
            tune=draws, progress=not quiet,
        )  # fmt: skip
        deliver(answer, out=out, html=html, as_json=as_json, every=every)
    finish(answer, strict=strict, as_json=as_json)


def _share_or_column(text: str | None) -> float | str | None:
    """A number where it reads as one, else a column's name."""
    try:
        return None if text is None else float(text)
    except ValueError:
        return text
