"""JAX set up once, in one place: float64, a compilation cache on disk, arrays on the device.

Compiled programs are let go before a long process runs out of memory maps. XLA maps every one into memory piece by
piece: a whole accuracy study takes a thousand to three thousand maps, and Linux grants a process ``vm.max_map_count``
of them, 65,530 by default. Past that the next allocation inside the compiler fails and takes the process with it. Two
files of slow tests left 37,164 maps behind; a loop over some thirty logs would run out. JAX keeps programs for ever;
here they are let go in time.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import jax
import numpy as np

MAPS = Path("/proc/self/maps")
ALLOWED = Path("/proc/sys/vm/max_map_count")


@cache
def prepare() -> None:
    """Ask JAX for float64 and for a persistent compilation cache; runs once in a process.

    Posterior tails and Hessians need float64. Compiled programs are kept between processes, the small ones
    too (a study has dozens), so only the first fit of a model on a machine pays for compilation. Settings the
    user made through JAX's own environment variables are left alone. XLA's own optimisation level is left
    alone too: at level 0 it once compiled a search for modes into one that did not move (JAX 0.12, CPU).
    """
    jax.config.update("jax_enable_x64", True)
    if not os.environ.get("JAX_COMPILATION_CACHE_DIR"):
        jax.config.update("jax_compilation_cache_dir", str(cache_folder()))
    if not os.environ.get("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"):
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)


def cache_folder() -> Path:
    """Folder of compiled programs: ``$BAYESJUDGE_CACHE`` or ``bayesjudge`` in the user's cache folder."""
    root = os.environ.get("BAYESJUDGE_CACHE")
    home = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(root) if root else Path(home) / "bayesjudge" / "jax"


def to_device(arrays: Mapping[str, Any]) -> dict[str, Any]:
    """The arrays as JAX arrays, integers as int64 and numbers as float64."""
    return {name: jax.device_put(np.asarray(array)) for name, array in arrays.items()}


def release_when_many(*, share: float = 0.4) -> bool:
    """Forget JAX's compiled programs when they hold more than a share of the memory maps allowed.

    share: Share of ``vm.max_map_count`` that may be in use, over 0 and at most 1. The largest single study took 5 % of
        it, so the default leaves room.
    """
    if not (MAPS.exists() and ALLOWED.exists()):
        return False
    if _held() <= share * int(ALLOWED.read_text()):
        return False
    jax.clear_caches()
    gc.collect()
    return True


def _held() -> int:
    with MAPS.open("rb") as lines:
        return sum(1 for _ in lines)
