"""HELM: statistics of every instance, with the run's specification beside them."""

from __future__ import annotations

from collections.abc import Iterator

from bayesjudge.readers.format import File, Format, Record, Row
from bayesjudge.readers.values import at, listing, mapping, number, text


def _rows(record: Record, file: File) -> Iterator[Row]:
    if record.get("perturbation"):
        yield {"error": "perturbation"}
        return
    run = file.beside("run_spec.json")
    scenario, instance = text(at(run, "name")), text(record.get("instance_id"))
    scenario = scenario.split(":")[0] if scenario else None
    model = text(at(run, "adapter_spec.model_deployment")) or text(at(run, "adapter_spec.model"))
    row: Row = {
        "item": f"{scenario}/{instance}" if scenario and instance else instance,
        "answer": text(record.get("train_trial_index")),
        **({"model": model} if model else {}),
    }
    stats = [mapping(stat) for stat in listing(record.get("stats"))]
    for stat in stats:
        name = text(at(stat, "name.name"))
        score = number(stat.get("mean"))
        judged = {**row, "criterion": name, "judge": name, "score": score}
        yield judged if score is not None else {"error": "not scored"}
    if not stats:
        yield {"error": "not scored"}


FORMATS = (
    Format(
        name="helm",
        title="HELM per-instance statistics",
        rows=_rows,
        people="none",
        source="crfm-helm 0.5: benchmark/runner.py, metrics/metric.py, metrics/statistic.py",
        identity="scenario and instance_id",
        marks=frozenset({"instance_id", "train_trial_index", "stats"}),
    ),
)
