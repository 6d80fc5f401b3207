"""``bayesjudge simulate ...``: logs with a known truth; ``sbc`` and ``coverage`` have files of their own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from bayesjudge.cli.options import Seed
from bayesjudge.cli.panels import Command
from bayesjudge.cli.running import plain_messages, require_no_folder
from bayesjudge.errors import UsageError

if TYPE_CHECKING:
    import pandas as pd


simulate = typer.Typer(
    no_args_is_help=True,
    help="Make data whose truth is known, or judge models and methods by such data.\n\n"
    "Example: bayesjudge simulate verdicts log.csv --seed 1",
)

Log = Annotated[Path, typer.Argument(help="Where to write the log: CSV, JSONL or Parquet, by its ending.")]


@simulate.command("verdicts", cls=Command)
def simulate_log(
    *,
    file: Log,
    seed: Seed = 0,
    items: Annotated[int, typer.Option(help="Items without a label.")] = 800,
    labelled: Annotated[int, typer.Option(help="Items with a label.")] = 200,
    youden: Annotated[float, typer.Option(help="Youden's J of the judge on model a; .1 less on b.")] = 0.6,
) -> None:
    """A log of verdicts on two models with known accuracies, .72 and .65, for ``bayesjudge accuracy``.

    Example: bayesjudge simulate verdicts log.csv --labelled 100
    """
    with plain_messages():
        from bayesjudge.datasets import simulate_verdicts

        _require(file)
        both = (youden, youden - 0.1)
        simulated = simulate_verdicts(seed=seed, labelled=labelled, unlabelled=items, youden=both)
        _write(simulated.verdicts.frame, file)
        typer.echo(f"{len(simulated.verdicts)} verdicts in {file}")


@simulate.command("battles", cls=Command)
def simulate_votes(
    *,
    file: Log,
    seed: Seed = 0,
    models: Annotated[int, typer.Option(help="Models, of evenly spaced strengths.")] = 5,
    battles: Annotated[int, typer.Option(help="Battles between two of them.")] = 1000,
    judges: Annotated[int, typer.Option(help="Judges, each of whom sees every battle.")] = 2,
    voted: Annotated[float, typer.Option(help="Share of battles that people voted on.")] = 0.5,
) -> None:
    """Battles with people's votes on some and judges' verdicts on all, for ``bayesjudge elo``.

    Example: bayesjudge simulate battles battles.csv --models 4
    """
    with plain_messages():
        from bayesjudge.datasets import BattleDesign, simulate_battles

        _require(file)
        if models < 2:
            raise UsageError(f"models={models}; a battle is between two of them")
        strengths = tuple(np.linspace(1.0, -1.0, models).tolist())
        design = BattleDesign(strengths=strengths, battles=battles, judges=judges, voted=voted)
        frame = simulate_battles(seed=seed, design=design).battles.frame
        _write(frame.dropna(axis=1, how="all"), file)
        typer.echo(f"{battles} battles between {models} models in {file}")


@simulate.command("trials", cls=Command)
def simulate_repeats(
    *,
    file: Log,
    seed: Seed = 0,
    items: Annotated[int, typer.Option(help="Pairs of responses.")] = 40,
    trials: Annotated[int, typer.Option(help="Times that each is judged, in both orders.")] = 10,
    prompt: Annotated[list[str] | None, typer.Option(help="A prompt; may be repeated.")] = None,
    temperature: Annotated[list[float] | None, typer.Option(help="The same of temperatures.")] = None,
) -> None:
    """Comparisons that two judges repeat, for ``bayesjudge reliability``.

    Example: bayesjudge simulate trials trials.csv --trials 5
    """
    with plain_messages():
        from bayesjudge.datasets import simulate_trials

        _require(file)
        options: dict[str, Any] = {"prompts": tuple(prompt)} if prompt else {}
        options |= {"temperatures": tuple((value, 1.0) for value in temperature)} if temperature else {}
        frame = simulate_trials(seed=seed, items=items, trials=trials, **options).trials.frame
        _write(frame.dropna(axis=1, how="all"), file)
        typer.echo(f"{len(frame)} trials in {file}")


@simulate.command("scores", cls=Command)
def simulate_grades(
    *,
    file: Log,
    seed: Seed = 0,
    responses: Annotated[int, typer.Option(help="Responses.")] = 60,
    trials: Annotated[int, typer.Option(help="Times that each judge scores each of them.")] = 5,
) -> None:
    """Scores that two judges repeat, for ``bayesjudge reliability``.

    Example: bayesjudge simulate scores scores.csv
    """
    with plain_messages():
        from bayesjudge.datasets import simulate_scores

        _require(file)
        frame = simulate_scores(seed=seed, responses=responses, trials=trials).scores.frame
        _write(frame.dropna(axis=1, how="all"), file)
        typer.echo(f"{len(frame)} scores in {file}")


@simulate.command("pairs", cls=Command)
def simulate_choices(
    *,
    file: Log,
    seed: Seed = 0,
    pairs: Annotated[int, typer.Option(help="Pairs that the judge chose between.")] = 600,
    verified: Annotated[int, typer.Option(help="Pairs that people chose between, too.")] = 200,
    embeddings: Annotated[Path | None, typer.Option(help="Where to write the embeddings (.npz).")] = None,
    items: Annotated[
        Path | None,
        typer.Option(help="Write what is known of each pair here, and into the log two judges, two prompts."),
    ] = None,
) -> None:
    """A judge who prefers long answers, for ``bayesjudge audit``.

    Example: bayesjudge simulate pairs pairs.csv --embeddings texts.npz
    """
    with plain_messages():
        from bayesjudge.datasets import simulate_pairs

        for path in (file, *([items] if items else [])):
            _require(path)
        if embeddings is None and ".csv" in {file.suffix, items and items.suffix}:
            raise UsageError("CSV holds no embeddings; add --embeddings FILE.npz, or write JSONL")
        models = ["model_a", "model_b"] if items else []
        strengths = (0.8, 0.2, -0.2, -0.8) if items else ()
        made = simulate_pairs(seed=seed, n=pairs, verified=verified, strengths=strengths).pairs
        known = ["category", "human_prefers", "length_a", "length_b", *models]
        frame = made.frame[["item", "judge_prefers", *known]]
        if embeddings is None:
            frame = frame.assign(embedding_a=made.a.tolist(), embedding_b=made.b.tolist())
        else:
            _write_arrays(embeddings, item_id=made.frame["item"], response_a=made.a, response_b=made.b)
        if items is not None:
            _write(frame.drop(columns="judge_prefers"), items)
            frame = _several(frame[["item", "judge_prefers"]], seed)
        _write(frame, file)
        typer.echo(f"{len(frame)} verdicts on {pairs} pairs, {verified} of them verified, in {file}")


def _several(verdicts: pd.DataFrame, seed: int) -> pd.DataFrame:
    """The verdicts of two judges under two prompts, most of which are those given."""
    import pandas as pd

    rng, parts = np.random.default_rng([seed, 2]), []
    for share, judge, prompt in (
        (0, "heron", "plain"),
        (0.1, "heron", "rubric"),
        (0.2, "otter", "plain"),
        (0.3, "otter", "rubric"),
    ):
        other = verdicts["judge_prefers"].map({"a": "b", "b": "a"})
        chosen = verdicts["judge_prefers"].where(rng.random(len(verdicts)) >= share, other)
        parts.append(verdicts.assign(judge=judge, prompt=prompt, judge_prefers=chosen))
    return pd.concat(parts, ignore_index=True)


def _require(file: Path) -> None:
    """Refuse a place, or a kind of file, that cannot be written, before anything is simulated."""
    from bayesjudge.files import require_writable

    require_no_folder(file, "")
    if file.suffix not in _WRITERS:
        raise UsageError(f"cannot write a table to {str(file)!r}; its ending is one of {', '.join(_WRITERS)}")
    require_writable(file.parent)


def _csv(frame: pd.DataFrame) -> bytes:
    from bayesjudge.files import csv_text

    return csv_text(frame).encode()


#: What a table is written as, by the ending of its file.
_WRITERS: dict[str, Any] = {
    ".csv": _csv,
    ".jsonl": lambda frame: frame.to_json(orient="records", lines=True).encode(),
    ".parquet": lambda frame: frame.to_parquet(index=False),
}


def _write(frame: pd.DataFrame, file: Path) -> None:
    from bayesjudge.files import write_whole

    write_whole(file, lambda out: out.write(_WRITERS[file.suffix](frame)))


def _write_arrays(file: Path, **arrays: Any) -> None:
    from bayesjudge.files import write_whole

    texts = {name: np.asarray(values, dtype=np.str_) for name, values in arrays.items() if values.ndim == 1}
    write_whole(file, lambda out: np.savez(out, **{**arrays, **texts}))
