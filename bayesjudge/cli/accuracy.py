"""``bayesjudge accuracy`` and ``bayesjudge demo``."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

from bayesjudge.cli.options import (
    Bootstrap,
    Chains,
    Cluster,
    Column,
    Compare,
    Draws,
    Engine,
    Every,
    File,
    Gold,
    Group,
    Html,
    Json,
    Judge,
    Labels,
    Out,
    Panel,
    Pooling,
    Population,
    Prob,
    Quiet,
    Seed,
    Strict,
    Where,
)
from bayesjudge.cli.reading import Format, Label, Put, Threshold, Verdict, reading
from bayesjudge.cli.running import deliver, finish, mapping, plain_messages, require_targets

__all__ = ["accuracy", "demo"]


def accuracy(
    *, file: File, column: Column = None, gold: Gold = None, judge: Judge = None, group: Group = None,
    cluster: Cluster = None, pooling: Pooling = "partial", labels: Labels = "random",
    population: Population = "superpopulation", panel: Panel = None, out: Out = None, html: Html = None,
    as_json: Json = False, every: Every = False, prob: Prob = 0.95, seed: Seed = 0,
    engine: Engine = "nuts", chains: Chains = 4, draws: Draws = 1000, bootstrap: Bootstrap = 10_000,
    compare: Compare = None, strict: Strict = False, quiet: Quiet = False, where: Where = None,
    file_format: Format = None, verdict: Verdict = None, label: Label = None, threshold: Threshold = None,
    put: Put = None,
) -> None:  # fmt: skip
    """Each model's true accuracy and every difference, from a log of judge verdicts."""
    with plain_messages():
        from bayesjudge.readers import read_verdicts
        from bayesjudge.studies import accuracy as study

        require_targets(out, html)
        said = reading(
            file_format=file_format, where=where, put=put, verdict=verdict, label=label, threshold=threshold
        )
        verdicts = read_verdicts(file, columns=mapping(column), labels=gold, **said)
        answer = study(
            verdicts, group=group, cluster=cluster or None,
            judges=judge or None, pooling=cast("Any", pooling), labels=cast("Any", labels), engine=engine,
            prob=prob, seed=seed, chains=chains, draws=draws, tune=draws, bootstrap=bootstrap,
            compare=compare, population=cast("Any", population), panel=panel, progress=not quiet,
        )  # fmt: skip
        deliver(answer, out=out, html=html, as_json=as_json, every=every)
    finish(answer, strict=strict, as_json=as_json)


def demo(
    *, out: Out = None, html: Html = Path("bayesjudge-demo.html"), as_json: Json = False,
    every: Every = False, prob: Prob = 0.95, seed: Seed = 20, engine: Engine = "nuts", chains: Chains = 4,
    draws: Draws = 1000, bootstrap: Bootstrap = 10_000, compare: Compare = None, strict: Strict = False,
    quiet: Quiet = False,
) -> None:  # fmt: skip
    """The accuracy question on simulated verdicts, with the truth as a column."""
    with plain_messages():
        from bayesjudge.datasets import demo_verdicts
        from bayesjudge.studies import accuracy as study

        require_targets(out, html)
        simulated = demo_verdicts(seed=seed)
        answer = study(
            simulated.verdicts, truth=simulated.truth, engine=engine, prob=prob, seed=seed, chains=chains,
            draws=draws, tune=draws, bootstrap=bootstrap, compare=compare, progress=not quiet,
        )  # fmt: skip
        deliver(answer, out=out, html=html, as_json=as_json, every=every)
    finish(answer, strict=strict, as_json=as_json)
