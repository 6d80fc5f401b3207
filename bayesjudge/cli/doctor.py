"""What this machine has for `bayesjudge`: versions, devices, registered models, what is missing."""

from __future__ import annotations

import platform
import re
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, requires, version

_OPTIONAL = {
    "pymc": ("the second engine (engine='pymc')", "pip install 'bayesjudge[pymc]'"),
    "openpyxl": ("workbooks (.xlsx) as input", "pip install 'bayesjudge[xlsx]'"),
    "polars": ("Polars tables as input", "pip install 'bayesjudge[polars]'"),
}


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One line of the examination.

    what, found: What was looked for, and what was found.
    ok: Whether everything that is needed is there.
    fix: What to type when it is not.
    """

    what: str
    found: str
    ok: bool = True
    fix: str = ""


def examine() -> list[Finding]:
    """Examine Python, packages, models, devices and the cache of compiled programs.

    Examples
    --------
    >>> any(finding.what == "Python" for finding in examine())
    True
    """
    return [
        Finding(what="Python", found=platform.python_version()),
        *(_package(name, "missing", f"pip install {name}", ok=False) for name in required_packages()),
        *(_package(name, f"not installed; needed for {what}", fix) for name, (what, fix) in _OPTIONAL.items()),
        _models(),
        _devices(),
        _cache(),
    ]


def required_packages() -> list[str]:
    """Names of the packages that this one was installed to need, without extras.

    Examples
    --------
    >>> "numpyro" in required_packages()
    True
    """
    needed = [line for line in requires("bayesjudge") or [] if "extra ==" not in line]
    return [found.group() for line in needed if (found := re.match(r"[A-Za-z0-9._-]+", line))]


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _package(name: str, without: str, fix: str, *, ok: bool = True) -> Finding:
    found = _version(name)
    return Finding(what=name, found=without, ok=ok, fix=fix) if found is None else Finding(what=name, found=found)


def _models() -> Finding:
    from bayesjudge.model import model_names

    names = model_names()
    fix = "" if names else "install bayesjudge again, so that its entry points are registered"
    return Finding(what="models", found=", ".join(names) or "none", ok=bool(names), fix=fix)


def _devices() -> Finding:
    if _version("jax") is None:
        return Finding(what="devices JAX sees", found="none without JAX", ok=False, fix="pip install jax")
    import jax

    try:
        devices = jax.devices()
    except RuntimeError as error:  # JAX's way to say that the platform asked for has no working driver
        fix = "set JAX_PLATFORMS=cpu, or mend the driver"
        return Finding(what="devices JAX sees", found=str(error), ok=False, fix=fix)
    kinds = ", ".join(f"{device.platform} ({device.device_kind})" for device in devices)
    plain = all(device.platform == "cpu" for device in devices)
    advice = "for an NVIDIA GPU: pip install 'jax[cuda13]'" if plain else ""
    return Finding(what="devices JAX sees", found=kinds, fix=advice)


def _cache() -> Finding:
    if _version("jax") is None:
        return Finding(what="compiled programs stored", found="none without JAX")
    from bayesjudge.inference.programs.accelerator import cache_folder

    folder = cache_folder()
    programs = len(list(folder.iterdir())) if folder.is_dir() else 0
    return Finding(what="compiled programs stored", found=f"{programs} files in {folder}")
