"""``bayesjudge reliability``."""

from __future__ import annotations

from typing import Annotated, Any, cast

import typer

from bayesjudge.cli.options import (
    Bootstrap,
    Chains,
    Column,
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

__all__ = ["reliability"]

Scores = Annotated[
    str | None, typer.Option(help="Second file with repeated scores, where the first has comparisons alone.")
]
Response = Annotated[
    list[str] | None,
    typer.Option(help="A response whose scores are compared; give two where there are more."),
]
Likelihood = Annotated[str, typer.Option(help="gaussian or ordinal: scores as numbers or as levels.")]
Draws = Annotated[
    int, typer.Option(help="Posterior draws of each chain, after as many to warm up, at most 600.")
]
Budget = Annotated[
    int | None, typer.Option(help="Further trials to plan for each judge; 5 an item if not given.")
]


def reliability(
    *, file: File, scores: Scores = None, column: Column = None, where: Where = None,
    judge: Judge = None, response: Response = None, likelihood: Likelihood = "gaussian",
    budget: Budget = None, out: Out = None, html: Html = None, as_json: Json = False, every: Every = False,
    prob: Prob = 0.95, seed: Seed = 0, engine: Engine = "hmc", chains: Chains = 4, draws: Draws = 2000,
    bootstrap: Bootstrap = 10_000, strict: Strict = False, quiet: Quiet = False,
    file_format: Format = None, put: Put = None,
) -> None:  # fmt: skip
    """How repeatable judges are, from a log of repeated comparisons, repeated scores, or both."""
    with plain_messages():
        from bayesjudge.errors import UsageError
        from bayesjudge.readers import read_repeats
        from bayesjudge.studies import reliability as study

        require_targets(out, html)
        if response and len(response) != 2:
            raise UsageError(
                f"--response must be given twice, not {len(response)} times: --response a --response b"
            )
        first, second = (response[0], response[1]) if response else ("", "")
        trials, scored = read_repeats(
            file,
            scores=scores,
            columns=mapping(column),
            **reading(file_format=file_format, where=where, put=put),
        )
        answer = study(
            trials, scored, judges=judge or None, responses=(first, second) if response else None,
            likelihood=cast("Any", likelihood), budget=budget, engine=engine, prob=prob, seed=seed,
            chains=chains, draws=draws, tune=min(draws, 600), bootstrap=bootstrap, progress=not quiet,
        )  # fmt: skip
        deliver(answer, out=out, html=html, as_json=as_json, every=every)
    finish(answer, strict=strict, as_json=as_json)
