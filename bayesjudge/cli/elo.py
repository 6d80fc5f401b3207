"""``bayesjudge elo``."""

from __future__ import annotations

from typing import Annotated, Any, cast

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
    Judge,
    Out,
    Prob,
    Quiet,
    Seed,
    Strict,
    Where,
)
from bayesjudge.cli.reading import Format, Put, reading
from bayesjudge.cli.running import deliver, finish, mapping, plain_messages, require_targets

__all__ = ["elo"]

Language = Annotated[str | None, typer.Option(help="Column that splits the battles, for instance language.")]
HeldOut = Annotated[
    list[str] | None, typer.Option(help="Hide people's votes on this model and predict it; or all.")
]
Clusters = Annotated[
    list[str] | None,
    typer.Option("--cluster", help="Column drawn as a whole (default: the prompt, else item); or none."),
]
Setting = Annotated[
    str, typer.Option(help="forward or as-in-paper: what calibrates conformal intervals of held-out models.")
]
Family = Annotated[list[str] | None, typer.Option(help="Name = family, of models and judges: gpt-4=openai.")]
Length = Annotated[bool, typer.Option("--length-effect", help="Learn what length is worth to a judge.")]
Battle = Annotated[bool, typer.Option("--battle-effect", hidden=True, help="Refused: it is always on.")]
Covariate = Annotated[
    list[str] | None, typer.Option(help="Column X, or X_a and X_b, by which answers differ: length.")
]
Order = Annotated[
    str | None, typer.Option(help="ab or ba: which answer was shown first, where no column says.")
]
Resamples = Annotated[int, typer.Option(help="Resamples of the clusters; 0 gives sandwich errors.")]


def elo(
    *, file: File, column: Column = None, judge: Judge = None, group: Language = None, order: Order = None,
    cluster: Clusters = None, held_out: HeldOut = None, setting: Setting = "forward", family: Family = None,
    length_effect: Length = False, battle_effect: Battle = False, covariate: Covariate = None,
    out: Out = None, html: Html = None,
    as_json: Json = False, every: Every = False, prob: Prob = 0.95, seed: Seed = 0, engine: Engine = "hmc",
    chains: Chains = 4, draws: Draws = 1000, bootstrap: Resamples = 0, strict: Strict = False,
    quiet: Quiet = False, where: Where = None, file_format: Format = None, put: Put = None,
) -> None:  # fmt: skip
    """Each model's Elo on the human scale, from a log of battles judged by people, LLMs or both."""
    with plain_messages():
        from bayesjudge.readers import read_battles
        from bayesjudge.studies import elo as study

        require_targets(out, html)
        said = reading(file_format=file_format, where=where, put=put)
        answer = study(
            read_battles(file, columns=mapping(column), order=order, **said), group=group,
            judges=judge or None, cluster=cluster or None, held_out=held_out or (),
            setting=cast("Any", setting), families=mapping(family, "--family"),
            length_effect=length_effect, battle_effect=battle_effect,
            covariates=covariate or (),
            engine=engine, prob=prob, seed=seed, chains=chains, draws=draws, tune=draws, bootstrap=bootstrap,
            progress=not quiet,
        )  # fmt: skip
        deliver(answer, out=out, html=html, as_json=as_json, every=every)
    finish(answer, strict=strict, as_json=as_json)
