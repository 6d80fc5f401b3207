"""One exact partial transport in a process of its own, so that the peak memory is its alone.

Run as ``python transporting.py POINTS``; prints one JSON object.
"""

from __future__ import annotations

import json
import sys
import time

import numpy as np
from counting import _peak


def main(points: int) -> None:
    """Transport between two clouds of unit vectors with 384 dimensions."""
    from bayesjudge.baselines.audit.transport import exact_masses

    rng = np.random.default_rng(0)
    source, target = (_cloud(rng, points) for _ in range(2))
    start, busy = time.perf_counter(), time.process_time()
    mass = exact_masses(source, target, share=0.8)
    took = {"seconds": time.perf_counter() - start, "cpu_seconds": time.process_time() - busy}
    print(json.dumps({"points": points, **took, "peak_mb": _peak(), "mass": float(mass.sum())}))


def _cloud(rng: np.random.Generator, points: int) -> np.ndarray:
    z = rng.normal(size=(points, 384)) / np.sqrt(384)
    z[:, 0] += 0.3
    return z / np.linalg.norm(z, axis=1, keepdims=True)


if __name__ == "__main__":
    main(int(sys.argv[1]))
