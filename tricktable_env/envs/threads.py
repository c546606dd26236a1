"""Rows of a batch shared out among threads: kernels need no Python, so they run side by side."""

from __future__ import annotations

import contextlib
import os
import threading
import time
import weakref
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Any, TypeAlias

from tricktable_env.envs.spaces import as_action
from tricktable_env.game import Shared
from tricktable_env.parts import ALONE, FOUND, all_left, share_out, stop

Work: TypeAlias = Callable[..., int]
"""A kernel that takes parts of the rows as long as there are any; its last arguments are what is
shared, and which thread this is. It returns what it found, as a set."""

ROWS_A_THREAD = 256
"""Fewer rows are done sooner than a thread is woken up."""
_PARTS = 32
"""How many parts there are for each thread: the last one is all that anybody waits for."""

_yield: Callable[[], None] = getattr(os, "sched_yield", lambda: time.sleep(0))


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
        self._others: tuple[int, list[_Tasks]] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_others": None}

    def run(
        self, work: Work, arguments: tuple[Any, ...], rows: int, meanwhile: Callable[[], None]
    ) -> int:
        """Does a piece of work on some rows, in as many threads as they keep busy.

        Args:
            work: what is to be done.
            arguments: its first ones.
            rows: how many they are.
            meanwhile: what the calling thread does beside it, once others are at work.

        Returns:
            All that was found.

        Raises:
            BaseException: what was raised in one of them, or came in between as an interrupt does;
                nobody is at work any more. Of the rows all are done, unless `work` itself failed.
        """
        threads = min(self.number, rows // ROWS_A_THREAD)
        if threads < 2:
            meanwhile()
            return work(*arguments, ALONE, 0)
        task = _Task(work, arguments, share_out(rows, threads, _PARTS))
        cut: BaseException | None = None
        while True:
            try:  # again, whatever came in between: none may go on writing when the caller is told
                if cut is None:
                    for tasks in self._started(threads - 1):
                        _give(tasks, task)
                    task.take_parts(-1)
                    meanwhile()
                task.take_parts(0)
                while task.at_work():
                    _yield()
                break
            except BaseException as error:
                cut = error
        if task.errors:
            raise task.errors[0]
        if cut is not None:
            raise cut
        return int(task.shared[FOUND])

    def _started(self, number: int) -> list[_Tasks]:
        """Where other threads of this process look for work; a fork has none of them at first."""
        if self._others is None or self._others[0] != os.getpid():
            self._others = os.getpid(), []
            weakref.finalize(self, _dismiss, self._others[1])
        others = self._others[1]
        for me in range(len(others) + 1, number + 1):
            tasks: _Tasks = SimpleQueue()
            threading.Thread(target=_serve, args=(me, tasks), daemon=True).start()
            others.append(tasks)
        return others[:number]


class _Task:
    """One piece of work, and who is at it."""

    def __init__(self, work: Work, arguments: tuple[Any, ...], shared: Shared) -> None:
        self.work, self.arguments, self.shared = work, arguments, shared
        self.inside: set[int] = set()
        self.errors: list[Exception] = []

    def take_parts(self, me: int) -> None:
        try:
            self.inside.add(me)
            self.work(*self.arguments, self.shared, me)
        except Exception as error:
            self.errors.append(error)
            stop(self.shared)
        finally:
            self.inside.discard(me)

    def at_work(self) -> bool:
        """Whether anybody is, after a while; whoever comes later finds nothing to do."""
        if self.errors:  # where a kernel fails it does not tell that it leaves
            return bool(self.inside)
        return not all_left(self.shared)


_Tasks: TypeAlias = "SimpleQueue[_Task | None]"


def _give(tasks: _Tasks, task: _Task) -> None:
    """Gives a thread something to do, in place of what it has not come for in time."""
    if not tasks.empty():  # its arrays are not to pile up
        with contextlib.suppress(Empty):
            tasks.get_nowait()
    tasks.put(task)


def _serve(me: int, tasks: _Tasks) -> None:
    while (task := tasks.get()) is not None:
        task.take_parts(me)
        del task  # its arrays are not to wait here for the next one


def _dismiss(others: list[_Tasks]) -> None:
    for tasks in others:
        tasks.put(None)
