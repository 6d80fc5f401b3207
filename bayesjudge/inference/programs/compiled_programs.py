"""Compiled programs are let go before a long process runs out of memory maps.

XLA maps every compiled program into memory piece by piece: a whole accuracy study takes a thousand to three
thousand maps, and Linux grants a process ``vm.max_map_count`` of them, 65,530 by default. Past that the next
allocation inside the compiler fails and takes the process with it. Two files of slow tests left 37,164 maps
behind; a loop over some thirty logs would run out. JAX keeps programs for ever; here they are let go in time.
"""

from __future__ import annotations

import gc
from pathlib import Path

import jax

MAPS = Path("/proc/self/maps")
ALLOWED = Path("/proc/sys/vm/max_map_count")


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
