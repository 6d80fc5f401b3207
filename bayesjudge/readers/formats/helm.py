"""HELM: statistics of every instance, with the run's specification beside them."""

from __future__ import annotations

from collections.abc import Iterator

from bayesjudge.readers.format import File, Format, Record, Row, judged
from bayesjudge.readers.values import at, listing, number, text


def _rows(record: Record, file: File) -> Iterator[Row]:
    if record.get("perturbation"):
        yield {"error": "perturbation"}
        return
    run = file.beside("run_spec.json")
    scenario, instance = (text(at(run, "name")) or "").partition(":")[0], text(record.get("instance_id"))
    row: Row = {
        "item": f"{scenario}/{instance}" if scenario and instance else instance,
        "answer": text(record.get("train_trial_index")),
        "model": text(at(run, "adapter_spec.model_deployment")) or text(at(run, "adapter_spec.model")),
    }
    for stat in listing(record.get("stats")):
        yield judged(row, text(at(stat, "name.name")), number(at(stat, "mean")))


FORMATS = (
    Format(
        name="helm",
        title="HELM per-instance statistics",
        rows=_rows,
        source="crfm-helm 0.5: benchmark/runner.py, metrics/metric.py, metrics/statistic.py",
        identity="scenario and instance_id",
        marks=frozenset({"instance_id", "train_trial_index", "stats"}),
    ),
)
