"""Processes that share the work of a match. They end with the process that started them."""

from __future__ import annotations

import contextlib
import itertools
import multiprocessing
import os
import pickle
import signal
import threading
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from typing import Any, Protocol, TypeAlias

from tricktable_lab.interrupts import held_back

Job: TypeAlias = tuple[int, ...]
"""A chunk: two numbers that say who plays what, its first deal and the number of its deals."""


class Player(Protocol):
    """What plays the chunks: the table of a match, where the two numbers are the agents."""

    def play(self, a: int, b: int, first: int, deals: int, /) -> Any:
        """Plays a chunk."""


def in_order(
    player: Player, parcel: Callable[[], bytes], jobs: Iterator[Job], workers: int
) -> Generator[Any, None, None]:
    """Plays chunks, here or in other processes.

    Args:
        player: what plays here.
        parcel: packs what `share_out` takes; called only if there are other processes.
        jobs: the chunks.
        workers: processes.

    Yields:
        What playing the chunks gave, in the order of the jobs.

    Raises:
        BrokenProcessPool: a process died; every chunk before the first one lost has been yielded.
    """
    jobs, order = itertools.tee(jobs)
    few = list(itertools.islice(jobs, 2))
    jobs = itertools.chain(few, jobs)
    if workers == 1 or len(few) < 2:
        for job in jobs:
            yield player.play(*job)
        return
    waiting: dict[Job, Any] = {}
    wanted = next(order)
    with contextlib.closing(share_out(parcel(), jobs, workers)) as played:
        for job, chunk in played:
            waiting[job] = chunk
            while wanted in waiting:
                yield waiting.pop(wanted)
                wanted = next(order, ())


def share_out(
    parcel: bytes, jobs: Iterator[Job], workers: int
) -> Generator[tuple[Job, Any], None, None]:
    """Plays chunks in several processes.

    Args:
        parcel: a pickled (function, arguments), by which each process makes what it plays with.
        jobs: the chunks.
        workers: how many processes.

    Yields:
        A chunk and what playing it gave, in any order.

    Raises:
        BrokenProcessPool: a process died; all that was finished has been yielded.
    """
    before = multiprocessing.active_children()
    pool = ProcessPoolExecutor(
        workers, multiprocessing.get_context("spawn"), _start_worker, (parcel,)
    )
    futures: dict[Future[Any], Job] = {}
    broken: BrokenProcessPool | None = None
    try:
        while True:
            try:
                with held_back():  # this starts the processes
                    for job in itertools.islice(jobs, 3 * workers - len(futures)):
                        futures[pool.submit(_work, job)] = job
            except BrokenProcessPool as error:  # raised below, after what has been finished
                broken = error
            if not futures:
                if broken is not None:
                    raise broken
                return
            done = wait(futures, return_when=FIRST_COMPLETED).done
            for future in sorted(done, key=lambda future: future.exception() is not None):
                yield futures.pop(future), future.result()
    except BaseException:  # stopped in the middle: nobody waits for the chunks in work
        for process in multiprocessing.active_children():
            if process not in before:
                process.terminate()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


_player: Player | None = None
"""In a worker process: what it plays with."""


def _start_worker(parcel: bytes) -> None:
    global _player
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that started us
    threading.Thread(target=_end_with_parent, daemon=True).start()
    make: Callable[..., Player]
    make, arguments = pickle.loads(parcel)
    _player = make(*arguments)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _work(job: Job) -> Any:
    assert _player is not None
    a, b, first, deals = job
    return _player.play(a, b, first, deals)
