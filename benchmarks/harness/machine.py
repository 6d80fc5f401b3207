"""The machine a result was made on, since no timing means anything without it."""

from __future__ import annotations

import datetime as dt
import os
import platform
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

__all__ = ["line", "machine"]

_PACKAGES = ("bayesjudge", "jax", "numpyro", "numpy", "pandas", "pymc", "duckdb")


def machine() -> dict[str, Any]:
    """Cores, processor, device, versions, date, and how busy the machine already was.

    ``load`` is the one-minute load average: well above 0 before a benchmark starts, it says that other
    programs had a share of the cores, and that timings are upper limits.
    """
    import jax

    return {
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "processor": _processor(),
        "device": jax.devices()[0].device_kind,
        "platform": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "versions": {name: found for name in _PACKAGES if (found := _version(name))},
        "date": dt.datetime.now(tz=dt.UTC).date().isoformat(),
        "load": round(os.getloadavg()[0], 2),
    }


def line(facts: Mapping[str, Any]) -> str:
    """The machine in one line."""
    return (
        f"{facts['cores']} cores ({facts['processor']}), device {facts['device']}, Python {facts['python']}, "
        f"jax {facts['versions'].get('jax')}, numpyro {facts['versions'].get('numpyro')}, "
        f"load before the start {facts['load']}, {facts['date']}"
    )


def _processor() -> str:
    """Name of the processor as the kernel knows it; `platform.processor` is empty on Linux."""
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.is_file():
        for row in cpuinfo.read_text(encoding="utf-8").splitlines():
            if row.startswith("model name"):
                return row.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
