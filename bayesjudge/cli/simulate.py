"""``bayesjudge simulate ...``: data with a known truth; ``sbc`` and ``coverage`` have files of their own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bayesjudge.cli.options import Seed
from bayesjudge.cli.running import plain_messages, require_no_folder

__all__ = ["simulate"]

simulate = typer.Typer(
    no_args_is_help=True, help="Make data whose truth is known, or judge models and methods by such data."
)


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
    with plain_messages():
        from bayesjudge.datasets import simulate_verdicts
        from bayesjudge.files import csv_text, require_writable, write_text

        require_no_folder(file, "")
        require_writable(file.parent)
        both = (youden, youden - 0.1)
        simulated = simulate_verdicts(seed=seed, labelled=labelled, unlabelled=items, youden=both)
        write_text(file, csv_text(simulated.verdicts.frame))
        typer.echo(f"{len(simulated.verdicts)} verdicts in {file}")


@simulate.command("pairs")
def simulate_choices(
    *,
    file: Annotated[Path, typer.Argument(help="Where to write the pairs (JSONL, embeddings as lists).")],
    seed: Seed = 0,
    pairs: Annotated[int, typer.Option(help="Pairs that the judge chose between.")] = 600,
    verified: Annotated[int, typer.Option(help="Pairs that people chose between, too.")] = 200,
) -> None:
    """A judge who prefers long answers, for ``bayesjudge audit``."""
    with plain_messages():
        from bayesjudge.datasets import simulate_pairs
        from bayesjudge.files import require_writable, write_text

        require_no_folder(file, "")
        require_writable(file.parent)
        made = simulate_pairs(seed=seed, n=pairs, verified=verified).pairs
        frame = made.frame[["item", "category", "judge_prefers", "human_prefers", "length_a", "length_b"]]
        frame = frame.assign(embedding_a=made.a.tolist(), embedding_b=made.b.tolist())
        write_text(file, frame.to_json(orient="records", lines=True))
        typer.echo(f"{len(frame)} pairs, {verified} verified, in {file}")
