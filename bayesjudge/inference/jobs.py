"""Jobs that do not depend on one another, one after the other or on workers: fits, predictions, batches."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future, ProcessPoolExecutor, wait
from contextlib import nullcontext

from bayesjudge.errors import EngineError, UsageError

#: Further tries of jobs whose workers died, while no other job gets done.
TRIES = 2


def run_jobs[T](jobs: Sequence[Callable[[], T]], *, executor: Executor | None = None, workers: int = 1) -> list[T]:
    """Results in the order of the jobs, whoever computes them.

    Parameters
    ----------
    jobs : sequence of callable
        Without arguments; for other processes they and their results must pickle (a `functools.partial` of a
        function of a module does).
    executor : concurrent.futures.Executor, optional
        Run them on it: a pool of threads or processes, a Dask client's ``get_executor()``. A pool of
        processes needs ``mp_context=multiprocessing.get_context("spawn")``: JAX does not survive a fork.
    workers : int
        Without an executor: processes of this machine, which are started for these jobs and then ended; 1
        runs them in this process. A script that starts some needs ``if __name__ == "__main__":``.

    Returns
    -------
    list
        If a worker dies, jobs that are not done are tried again on other workers, and what is done is kept.

    Raises
    ------
    UsageError
        Fewer than one worker; an executor and workers.
    EngineError
        Workers died three times in a row without finishing a job.
    Exception
        What a job raised.

    Examples
    --------
    >>> from concurrent.futures import ThreadPoolExecutor
    >>> from functools import partial
    >>> jobs = [partial(pow, 2, power) for power in range(4)]
    >>> with ThreadPoolExecutor(2) as executor:
    ...     run_jobs(jobs, executor=executor) == run_jobs(jobs)
    True
    """
    if workers < 1 or workers != int(workers):
        raise UsageError(f"workers={workers} must be an integer of at least 1")
    if executor is not None and workers != 1:
        raise UsageError(f"executor= and workers={workers} both set where to run: give one of them")
    if executor is None and (workers == 1 or len(jobs) < 2):
        return [job() for job in jobs]
    done: dict[int, T] = {}
    tries = 0
    while left := [number for number in range(len(jobs)) if number not in done]:
        before = len(done)
        with _pool(executor, min(workers, len(left))) as pool:
            lost = _round(pool, jobs, left, done)
        tries = 0 if len(done) > before else tries + 1
        if tries > TRIES:
            raise EngineError(
                f"{len(left)} of {len(jobs)} jobs are not done: their workers died {tries} times in a row "
                f"({lost}), perhaps for want of memory; use fewer workers"
            )
    return [done[number] for number in range(len(jobs))]


def _pool(executor: Executor | None, workers: int) -> ProcessPoolExecutor | nullcontext[Executor]:
    """The executor, which stays open; or, without one that works, processes of our own."""
    if executor is not None and _works(executor):
        return nullcontext(executor)
    return ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn"))


def _works(executor: Executor) -> bool:
    """Whether it takes jobs: a pool of processes that lost one never does again."""
    try:
        executor.submit(int).cancel()
    except BrokenExecutor:
        return False
    return True


def _round[T](
    pool: Executor, jobs: Sequence[Callable[[], T]], left: Collection[int], done: dict[int, T]
) -> BaseException | None:
    """One try of the jobs that are left; the last death of a worker."""
    futures: dict[int, Future[T]] = {}
    lost: BaseException | None = None
    try:
        for number in left:
            futures[number] = pool.submit(jobs[number])
    except BrokenExecutor as error:
        lost = error
    wait(futures.values())
    for number, future in futures.items():
        try:
            done[number] = future.result()
        except (BrokenExecutor, CancelledError) as error:
            lost = error
        except Exception as error:
            # Dask gives a job up after its own tries; the name is compared so that Dask is not needed here.
            if type(error).__name__ != "KilledWorker":
                raise
            lost = error
    return lost
