"""The solver in Python: exact values, within a budget if one is set, of one state or of many."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from tricktable_env.cards import Words
from tricktable_env.game import Action, PositionError
from tricktable_env.tableau.solver import questions
from tricktable_env.tableau.solver.memory import NODES, SUSPENDED, new_memory
from tricktable_env.tableau.solver.questions import ALL, BEST, BEST_OF_ALL
from tricktable_env.tableau.state import COVER, HAND, NUM_ACTIONS, UP, VIEWER

Watch: TypeAlias = Callable[[int], None]
"""Called every tenth of a second or so with the work done: nodes, of a batch states."""

_SLICE = 1 << 16
"""Nodes between looks at the clock."""
_CHUNK = 16
"""States of a batch that a thread takes at a time."""


@dataclass(frozen=True)
class Bounds:
    """What is proven of a number of tricks."""

    low: int
    """So many for sure."""
    high: int
    """No more than that."""


class NotProvenError(RuntimeError):
    """The budget ran out before the search did.

    Args:
        best: what is proven of the best action.
        moves: what is proven of each legal action.
    """

    def __init__(self, best: Bounds, moves: Mapping[Action, Bounds]) -> None:
        self.best, self.moves = best, dict(moves)
        super().__init__(f"not proven: {best.low} to {best.high} tricks")

    def __reduce__(self) -> tuple[type[NotProvenError], tuple[Bounds, dict[Action, Bounds]]]:
        return type(self), (self.best, self.moves)


def solve(
    state: Words,
    memory: Words | None = None,
    *,
    nodes: int | None = None,
    seconds: float | None = None,
    watch: Watch | None = None,
) -> int:
    """The tricks that the seat to act takes from here on, all cards known, both playing perfectly.

    The trick in progress counts. Before the call it is the best call's number.

    Args:
        state: `[WORDS] uint64`, unchanged; a position of any kind, but no view.
        memory: what `new_memory` made; results in it are used and new ones kept, so pass the same
            one for the positions of one deal. None makes one that suits the position.
        nodes: a budget: how many positions it may expand.
        seconds: a budget of wall time, checked every few hundredths of a second.
        watch: called now and then with the number of nodes.

    Raises:
        NotProvenError: a budget ran out; it has the bounds proven by then.
        PositionError: the state is a view.
    """
    search = _Search(state, memory)
    if not search.narrow(BEST, nodes, seconds, watch):
        raise search.not_proven()
    return int(search.low[BEST_OF_ALL])


def solve_moves(
    state: Words,
    memory: Words | None = None,
    *,
    nodes: int | None = None,
    seconds: float | None = None,
    watch: Watch | None = None,
) -> dict[Action, int]:
    """What `solve` says after each legal action, equal cards included; see there.

    Returns:
        The tricks of the seat to act, by action; empty when the round is over.
    """
    search = _Search(state, memory)
    if not search.narrow(ALL, nodes, seconds, watch):
        raise search.not_proven()
    return {int(i): int(search.low[i]) for i in np.flatnonzero(search.low[:NUM_ACTIONS] >= 0)}


def takes_at_least(
    state: Words,
    k: int,
    memory: Words | None = None,
    *,
    nodes: int | None = None,
    seconds: float | None = None,
    watch: Watch | None = None,
) -> bool:
    """Whether the seat to act takes k tricks from here on: one search, where `solve` makes several.

    So `takes_at_least(state, 14)` says whether the caller of a whole deal makes it. See `solve`.
    """
    search = _Search(state, memory)
    if not search.narrow(max(0, k), nodes, seconds, watch):
        raise search.not_proven()
    return bool(search.low[BEST_OF_ALL] >= k)


def solve_batch(
    states: Words, *, workers: int = 1, entries: int | None = None, watch: Watch | None = None
) -> npt.NDArray[np.int8]:
    """Solves many states; the values don't depend on the number of workers.

    Args:
        states: `[B, WORDS] uint64`.
        workers: threads, each with a memory of its own; kernels run without the GIL.
        entries: table entries of each memory; None suits the longest position.
        watch: called now and then with the number of states done.

    Returns:
        `[B, NUM_ACTIONS] int8`: what each action brings the seat to act; -1 where it is not legal.

    Raises:
        PositionError: a state is a view.
    """
    for state in states:
        _check(state)
    size = entries or _suitable(max((_cards(state) for state in states), default=0))
    values = np.full((len(states), NUM_ACTIONS), -1, np.int8)
    memories: SimpleQueue[Words] = SimpleQueue()
    stop = threading.Event()
    done = [0]

    def work(start: int) -> None:
        memory = memories.get()
        rows = slice(start, start + _CHUNK)
        values[rows] = _solve_rows(states[rows], memory, stop)
        memories.put(memory)

    for _ in range(workers):
        memories.put(new_memory(size))
    with ThreadPoolExecutor(workers) as pool:
        try:
            for start, _ in zip(
                starts := range(0, len(states), _CHUNK), pool.map(work, starts), strict=True
            ):
                done[0] = min(len(states), start + _CHUNK)
                if watch is not None:
                    watch(done[0])
        except BaseException:
            stop.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return values


def _solve_rows(states: Words, memory: Words, stop: threading.Event) -> npt.NDArray[np.int8]:
    low = np.empty((len(states), BEST_OF_ALL + 1), np.int64)
    high = np.empty_like(low)
    memory[SUSPENDED] = 0
    done = 0
    while done < len(states) and not stop.is_set():
        done = questions.narrow_rows(states, memory, low, high, ALL, _SLICE, done)
    return low[:, :NUM_ACTIONS].astype(np.int8)


class _Search:
    """The bounds of one state, and the memory they are found with."""

    def __init__(self, state: Words, memory: Words | None) -> None:
        _check(state)
        self._memory = new_memory(_suitable(_cards(state))) if memory is None else memory
        self.low = np.empty(BEST_OF_ALL + 1, np.int64)
        self.high = np.empty(BEST_OF_ALL + 1, np.int64)
        self._memory[SUSPENDED] = 0
        self._rows = state[None], self._memory, self.low[None], self.high[None]

    def narrow(
        self,
        wanted: int,
        nodes: int | None,
        seconds: float | None,
        watch: Watch | None,
    ) -> bool:
        """Narrows the bounds, in slices, until what is wanted is known or a budget runs out."""
        began = int(self._memory[NODES])
        end = None if seconds is None else time.monotonic() + seconds
        while True:
            spent = int(self._memory[NODES]) - began
            slice_ = _SLICE if nodes is None else min(_SLICE, nodes - spent)
            if questions.narrow_rows(*self._rows, wanted, slice_, 0) == 1:
                return True
            spent = int(self._memory[NODES]) - began
            if watch is not None:
                watch(spent)
            if (nodes is not None and spent >= nodes) or (
                end is not None and time.monotonic() >= end
            ):
                return False

    def not_proven(self) -> NotProvenError:
        """The error that says what is known."""
        legal = np.flatnonzero(self.low[:NUM_ACTIONS] >= 0)
        return NotProvenError(
            self._bounds(BEST_OF_ALL), {int(action): self._bounds(action) for action in legal}
        )

    def _bounds(self, at: Any) -> Bounds:
        return Bounds(int(self.low[at]), int(self.high[at]))


def _check(state: Words) -> None:
    if state[VIEWER]:
        raise PositionError("a view can't be solved: it lacks the hidden cards")


def _cards(state: Words) -> int:
    """Cards that the caller has left, about the tricks left."""
    seen = int(state[HAND]) | int(state[UP])
    return seen.bit_count() + int(state[COVER]).bit_count()


def _suitable(tricks: int) -> int:
    """Table entries that suit a number of tricks left."""
    return 1 << max(10, min(tricks, 24))
