"""Rows of a batch shared out among threads: kernels need no Python, so they run side by side."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any, TypeVar

from tricktable_env.envs.spaces import as_action

Result = TypeVar("Result")

ROWS_A_THREAD = 256
"""Fewer rows are done sooner than a thread is woken up."""


class Threads:
    """Some threads, started when there is first something to do for them.

    Args:
        number: how many, the calling one included.

    Raises:
        ValueError: no integer of at least 1.
    """

    def __init__(self, number: int = 1) -> None:
        read = as_action(number)
        if read is None or read < 1:
            raise ValueError(f"threads={number!r}; an integer of at least 1 is needed")
        self.number = read
        self._pool: tuple[int, ThreadPoolExecutor] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_pool": None}

    def run(self, work: Callable[[slice], Result], rows: int) -> list[Result]:
        """Does a piece of work for parts of the rows, a part a thread, as far as they go round.

        Returns:
            What it gave for each part, in the order of the rows.

        Raises:
            Exception: what it raised for the first part that it failed for, when all are done.
        """
        parts = min(self.number, rows // ROWS_A_THREAD)
        if parts < 2:
            return [work(slice(0, rows))]
        ends = [rows * part // parts for part in range(parts + 1)]
        first, *others = map(slice, ends, ends[1:])
        pool = self._started()
        begun = [pool.submit(work, part) for part in others]
        try:
            done = work(first)
        finally:
            _wait_for(begun)
        return [done, *(each.result() for each in begun)]

    def _started(self) -> ThreadPoolExecutor:
        """The other threads, of this process: a fork has none of its parent's."""
        if self._pool is None or self._pool[0] != os.getpid():
            self._pool = os.getpid(), ThreadPoolExecutor(self.number - 1)
        return self._pool[1]


def _wait_for(begun: Sequence[Future[Any]]) -> None:
    """Waits for all, whatever comes: nobody may go on writing when the caller puts rows back."""
    interrupt: KeyboardInterrupt | None = None
    while not all(each.done() for each in begun):
        try:
            wait(begun)
        except KeyboardInterrupt as error:
            interrupt = error
    if interrupt is not None:
        raise interrupt


ALONE = Threads()
"""The calling thread alone."""
