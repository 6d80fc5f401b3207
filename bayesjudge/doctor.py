"""What this machine has for `bayesjudge`: versions, devices, registered models, what is missing."""

from __future__ import annotations

import platform
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec

__all__ = ["Finding", "examine"]

_NEEDED = ("numpy", "pandas", "scipy", "pandera", "ibis-framework", "duckdb", "jax", "numpyro", "xarray",
           "arviz-base", "arviz-stats", "h5netcdf", "h5py", "matplotlib", "jinja2", "rich", "typer")  # fmt: skip
_OPTIONAL = {"pymc": ("the twin engine (engine='pymc')", "pip install 'bayesjudge[pymc]'"),
             "polars": ("Polars tables as input", "pip install 'bayesjudge[polars]'")}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One line of the examination.

    Attributes
    ----------
    what, found : str
        What was looked for, and what was found.
    ok : bool
        Whether everything that is needed is there.
    fix : str
        What to type when it is not.
    """

    what: str
    found: str
    ok: bool = True
    fix: str = ""


def examine() -> list[Finding]:
    """Look at Python, packages, devices and the cache of compiled programs.

    Examples
    --------
    >>> any(finding.what == "Python" for finding in examine())
    True
    """
    return [Finding(what="Python", found=platform.python_version()), *map(_needed, _NEEDED),
            *map(_optional, _OPTIONAL), _devices(), _cache()]  # fmt: skip


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _needed(name: str) -> Finding:
    found = _version(name)
    return Finding(what=name, found=found or "missing", ok=found is not None,
                   fix="" if found else f"pip install {name}")  # fmt: skip


def _optional(name: str) -> Finding:
    purpose, fix = _OPTIONAL[name]
    found = _version(name) if find_spec(name) else None
    return Finding(what=name, found=found or f"not installed; wanted for {purpose}", fix="" if found else fix)


def _devices() -> Finding:
    import jax

    devices = jax.devices()
    kinds = ", ".join(f"{device.platform} ({device.device_kind})" for device in devices)
    plain = all(device.platform == "cpu" for device in devices)
    advice = "for a GPU: pip install 'jax[cuda13]'" if plain else ""
    return Finding(what="devices JAX sees", found=kinds, fix=advice)


def _cache() -> Finding:
    from bayesjudge.inference.accelerator import cache_folder

    folder = cache_folder()
    programs = len(list(folder.iterdir())) if folder.is_dir() else 0
    return Finding(what="compiled programs kept", found=f"{programs} files in {folder}")
