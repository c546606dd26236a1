"""The table of results: buckets of four entries, each a key and what is proven of its position.

A key holds all that a value depends on, so results of any deal, trump and goal share one table.
Two positions with one key differ in a 64-bit hash of their piles only; where no card is face down
a key is a position's own.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from tricktable_env.bits import ZERO, int64
from tricktable_env.jit import kernel
from tricktable_env.tableau.solver.memory import (
    AGE,
    ENTRY,
    LAST_BUCKET,
    NONE,
    STRAIN_KEY,
    TABLE,
    WAYS,
)


@intrinsic
def _prefetch(typingctx: Any, array: Any, index: Any) -> Any:
    """Asks for the line of memory of an element of a contiguous uint64 array."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        pointer = builder.bitcast(builder.gep(data, [args[1]]), ir.IntType(8).as_pointer())
        word = ir.IntType(32)
        form = ir.FunctionType(ir.VoidType(), [pointer.type, word, word, word])
        function = builder.module.declare_intrinsic("llvm.prefetch", (pointer.type,), form)
        builder.call(function, [pointer, word(0), word(3), word(1)])
        return context.get_dummy_value()

    return types.void(array, types.int64), generate


@kernel
def key_of(
    m: np.ndarray, ranks: np.uint64, marks: np.uint64, piles: np.uint64, leader: int
) -> np.uint64:
    """The key of a position: each step is one to one in `ranks`, whatever the rest."""
    key = ranks | (np.uint64(leader) << np.uint64(15)) | m[STRAIN_KEY]
    key *= np.uint64(0x9E3779B97F4A7C15)
    key ^= key >> np.uint64(32)
    key += marks * np.uint64(0xD6E8FEB86659FD93) + piles
    key *= np.uint64(0xBF58476D1CE4E5B9)
    key ^= key >> np.uint64(29)
    key *= np.uint64(0x94D049BB133111EB)
    return key ^ (key >> np.uint64(32))


@kernel
def _bucket(m: np.ndarray, key: np.uint64) -> int:
    return TABLE + int64(key & m[LAST_BUCKET]) * (WAYS * ENTRY)


@kernel
def fetch(m: np.ndarray, key: np.uint64) -> None:
    """Asks for the entries of a key ahead of `look_up`."""
    _prefetch(m, _bucket(m, key))


# An entry's second word: tricks that player 0 surely takes (bits 0-4), 31 less those it can take
# at most (5-9), tricks left (10-14), the best lead (16-23), the age (24-31); 0 where it is empty.
@kernel
def look_up(m: np.ndarray, key: np.uint64, goal: int) -> tuple[int, np.uint64]:
    """Whether player 0 takes `goal` tricks, 1 or 0, -1 unknown; and the best lead known."""
    at = _bucket(m, key)
    for way in range(WAYS):
        data = m[at + ENTRY * way + 1]
        if m[at + ENTRY * way] == key and data != ZERO:
            best = (data >> np.uint64(16)) & NONE
            if int64(data & np.uint64(31)) >= goal:
                return 1, best
            if 31 - int64((data >> np.uint64(5)) & np.uint64(31)) < goal:
                return 0, best
            return -1, best
    return -1, NONE


@kernel
def keep(m: np.ndarray, key: np.uint64, left: int, goal: int, result: int, best: np.uint64) -> None:
    """Notes a result, in place of the one with the least worth in its bucket.

    Args:
        m: the solver's memory.
        key: the position.
        left: tricks left.
        goal: the question answered.
        result: 1 when player 0 takes `goal` tricks, else 0.
        best: the lead that proves it, or NONE.
    """
    entry = _bucket(m, key)
    at = entry
    least = 1 << 30
    low = 0
    high = left
    for way in range(WAYS):
        data = m[entry + ENTRY * way + 1]
        if m[entry + ENTRY * way] == key and data != ZERO:
            at = entry + ENTRY * way
            low = int64(data & np.uint64(31))
            high = 31 - int64((data >> np.uint64(5)) & np.uint64(31))
            if best == NONE:
                best = (data >> np.uint64(16)) & NONE
            break
        worth = int64((data >> np.uint64(10)) & np.uint64(31))
        if data >> np.uint64(24) == m[AGE]:
            worth += 32
        if worth < least:
            least = worth
            at = entry + ENTRY * way
    if result == 1:
        low = max(low, goal)
    else:
        high = min(high, goal - 1)
    m[at] = key
    data = np.uint64(low | ((31 - high) << 5) | (left << 10))
    m[at + 1] = data | (best << np.uint64(16)) | (m[AGE] << np.uint64(24))
