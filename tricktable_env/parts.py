"""Rows of one call shared out among threads: what a kernel does to get its parts.

Every thread has rows of its own, the same in each call, which its core may still hold; whoever is
done with them helps with others'. So a thread that wakes up late, or whose core has other things to
do, keeps nobody waiting.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numba.extending import intrinsic

from tricktable_env.game import Shared
from tricktable_env.jit import kernel

LENGTH, AT_WORK, FOUND = range(3)
_APART = 8  # words: what threads change often lies in cache lines of its own
ALONE: Shared = np.zeros(0, np.int64)
"""Where one thread does all."""

_PATIENCE = 4096
"""How often a thread looks, at some nanoseconds a time, before it lets others have its core."""


def _atomic(operation: str) -> Any:
    """Makes `add_to` and its like."""

    @intrinsic  # type: ignore[untyped-decorator]
    def change(typingctx: Any, array: Any, index: Any, number: Any) -> Any:
        """Changes an entry of a contiguous array of int64; returns what stood there before.

        No other thread comes between, and what this one wrote before can be read by the next.
        """

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            data = context.make_array(signature.args[0])(context, builder, args[0]).data
            entry = builder.gep(data, [args[1]])
            return builder.atomic_rmw(operation, entry, args[2], "seq_cst")

        return types.int64(array, types.int64, types.int64), generate

    return change


add_to, unite_with = _atomic("add"), _atomic("or")


def share_out(rows: int, threads: int, parts: int) -> Shared:
    """Makes what threads share.

    It is how long a part is, how many are at work, the set of all that they found, and for each
    thread how far its rows are taken.

    Args:
        rows: how many they are.
        threads: how many, T.
        parts: nearly how many there are for each thread.
    """
    shared = np.zeros((1 + threads) * _APART, np.int64)
    shared[LENGTH] = rows // (threads * parts) + 1
    for thread in range(1, threads):
        shared[(1 + thread) * _APART] = thread * rows // threads
    return shared


def stop(shared: Shared) -> None:
    """Takes all rows, so that nobody gets any more."""
    shared[_APART::_APART] = np.iinfo(np.int64).max // 2


@kernel
def next_part(shared: Shared, me: int, done: int, rows: int) -> tuple[int, int]:
    """Where the next part of the rows begins and ends: nowhere if all are taken.

    Args:
        shared: what the threads share.
        me: which thread this is; or -1 for the first one where it is only to work until another
            one does, so that it can do something else meanwhile.
        done: where the part before ended; -1 at first.
        rows: how many they are.
    """
    if shared.shape[0] == 0:
        return max(done, 0), rows
    if done < 0:
        add_to(shared, AT_WORK, 1)
    if me < 0:
        if add_to(shared, AT_WORK, 0) > 1:
            return rows, rows
        me = 0
    threads = shared.shape[0] // _APART - 1
    for i in range(threads):
        whose = (me + i) % threads
        at, end = (1 + whose) * _APART, (whose + 1) * rows // threads
        if shared[at] < end:
            start = add_to(shared, at, shared[LENGTH])
            if start < end:
                return start, min(start + shared[LENGTH], end)
    return rows, rows


@kernel
def leave(shared: Shared, found: int) -> int:
    """Ends the work of this thread, when there is no part left.

    Args:
        shared: what the threads share.
        found: the set of what was found in its parts; it is returned.
    """
    if shared.shape[0] != 0:
        unite_with(shared, FOUND, found)
        add_to(shared, AT_WORK, -1)
    return found


@kernel
def all_left(shared: Shared) -> bool:
    """Waits a little for the threads at work; whether all have left."""
    looks = 0
    while add_to(shared, AT_WORK, 0) != 0:
        looks += 1
        if looks == _PATIENCE:
            return False
    return True
