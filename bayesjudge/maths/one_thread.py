"""Linear algebra on one thread: matrices here have tens of rows, which threads only wait for each other over."""

from __future__ import annotations

from contextlib import AbstractContextManager


def one_thread() -> AbstractContextManager[object]:
    """One thread for every BLAS that is loaded by now, those of NumPy and of SciPy (whose LAPACK JAX calls).

    A density of 39 strengths took 20 times the processor time on the two threads that OpenBLAS starts with, most
    of it spent waiting. What the caller had is put back.
    """
    from threadpoolctl import threadpool_limits

    limits: AbstractContextManager[object] = threadpool_limits(limits=1, user_api="blas")
    return limits
