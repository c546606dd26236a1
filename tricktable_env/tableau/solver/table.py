"""The table of results: buckets of four entries, each a key and what is proven of its position.

A key is a hash of all that a value depends on, 64 bits and 32 to confirm them, so results of any
deal, trump and goal share one table.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from tricktable_env.bits import ONE, ZERO, bit, first, has, int64, popcount, size
from tricktable_env.jit import kernel
from tricktable_env.tableau.solver.memory import (
    AGE,
    CHECK,
    ENTRY,
    LANE,
    LAST_BUCKET,
    NONE,
    STRAIN,
    STRAIN_KEY,
    TABLE,
    UNDER,
    WAYS,
)
from tricktable_env.tableau.solver.strings import in_suit, place_of
from tricktable_env.tableau.state import NO_TRUMP

LANES = np.uint64(0x7FFF7FFF7FFF7FFF)
_SPREAD_COUNTS = np.uint64(0xD6E8FEB86659FD93)
_SPREAD_KINDS = np.uint64(0xA0761D6478BD642F)
_SPREAD_PILES = np.uint64(0xE7037ED1A0B428DB)


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
def alone(m: np.ndarray, other: np.uint64) -> np.uint64:
    """The lanes of the plain suits of which a player has no card, given all its cards.

    Only the other player has cards there, never has to follow, and is never beaten but by a trump:
    what it has in such suits is all alike.
    """
    some = (other + LANES) & ~LANES  # the bit above each lane that holds a card
    lanes = ((~LANES & ~some) >> np.uint64(15)) * LANE
    strain = int64(m[STRAIN])
    return lanes & ~in_suit(strain) if strain != NO_TRUMP else lanes


@kernel
def key_of(
    m: np.ndarray,
    own0: np.uint64,
    own1: np.uint64,
    covers: np.uint64,
    ranks: np.uint64,
    leader: int,
) -> tuple[np.uint64, np.uint64]:
    """The key of a position and the bits that confirm it, whichever of its cards are alike.

    Alike are cards of one player between which no card of the other lies, and see `alone`. Of
    piles it takes a sum over the covering cards, of random words of what they and the cards under
    them are alike to.
    """
    alone0 = alone(m, own1)
    alone1 = alone(m, own0)
    alike = (alone0 & own0) | (alone1 & own1)
    total = ZERO
    if alike != ZERO:
        total = np.uint64(64 * size(alone0 & own0) + size(alone1 & own1)) * _SPREAD_COUNTS
        for suit in range(4):
            if alike & in_suit(suit) != ZERO:
                ranks = (ranks & ~in_suit(suit)) | bit(16 * suit)
    if covers != ZERO:
        cards = own0 | own1
        changes = ranks ^ (ranks >> ONE)
        while covers != ZERO:
            card = first(covers)
            covers &= covers - ONE
            under = int64(m[UNDER + card])
            kinds = _kind(cards, alike, changes, card) << np.uint64(6)
            kinds |= _kind(cards, alike, changes, under)
            word = (kinds << ONE | (own0 >> np.uint64(card) & ONE)) * _SPREAD_KINDS
            word = (word ^ (word >> np.uint64(32))) * _SPREAD_PILES
            total += word ^ (word >> np.uint64(29))
    key = ranks | (np.uint64(leader) << np.uint64(15)) | m[STRAIN_KEY]
    check = (key ^ (key >> np.uint64(27))) * _SPREAD_KINDS + total * _SPREAD_COUNTS
    key *= np.uint64(0x9E3779B97F4A7C15)
    key ^= key >> np.uint64(32)
    key += total
    key *= np.uint64(0xBF58476D1CE4E5B9)
    key ^= key >> np.uint64(29)
    key *= np.uint64(0x94D049BB133111EB)
    return key ^ (key >> np.uint64(32)), check & CHECK


@kernel
def _kind(cards: np.uint64, alike: np.uint64, changes: np.uint64, card: int) -> np.uint64:
    """A number below 64 that cards of one player share when they are alike."""
    if has(alike, card):
        return np.uint64(63)
    suit = card >> 4
    below = in_suit(suit) & ((ONE << place_of(cards, card)) - ONE)
    return np.uint64(suit) << np.uint64(4) | popcount(changes & below)


@kernel
def _bucket(m: np.ndarray, key: np.uint64) -> int:
    return TABLE + int64(key & m[LAST_BUCKET]) * (WAYS * ENTRY)


@kernel
def fetch(m: np.ndarray, key: np.uint64) -> None:
    """Asks for the entries of a key ahead of `look_up`."""
    _prefetch(m, _bucket(m, key))


# An entry's second word: tricks that player 0 surely takes (bits 0-4), 31 less those it can take
# at most (5-9), the worth (10-14), the best lead (16-23), the age (24-31), CHECK; 0 where empty.
@kernel
def look_up(m: np.ndarray, key: np.uint64, check: np.uint64, goal: int) -> tuple[int, np.uint64]:
    """Whether player 0 takes `goal` tricks, 1 or 0, -1 unknown; and the best lead known."""
    at = _bucket(m, key)
    for way in range(WAYS):
        data = m[at + ENTRY * way + 1]
        if m[at + ENTRY * way] == key and _confirms(data, check):
            best = (data >> np.uint64(16)) & NONE
            if int64(data & np.uint64(31)) >= goal:
                return 1, best
            if 31 - int64((data >> np.uint64(5)) & np.uint64(31)) < goal:
                return 0, best
            return -1, best
    return -1, NONE


@kernel
def _confirms(data: np.uint64, check: np.uint64) -> bool:
    """Whether an entry is in use, and its position the one of this check."""
    return data != ZERO and (data ^ check) & CHECK == ZERO


@kernel
def keep(
    m: np.ndarray,
    key: np.uint64,
    check: np.uint64,
    left: int,
    goal: int,
    result: int,
    best: np.uint64,
    worth: int,
) -> None:
    """Notes a result, in place of the one with the least worth in its bucket.

    Args:
        m: the solver's memory.
        key: the position.
        check: the bits that confirm it.
        left: tricks left.
        goal: the question answered.
        result: 1 when player 0 takes `goal` tricks, else 0.
        best: the lead that proves it, or NONE.
        worth: 1 to 31, how much it took to find it.
    """
    entry = _bucket(m, key)
    at = entry
    least = 1 << 30
    low = 0
    high = left
    for way in range(WAYS):
        data = m[entry + ENTRY * way + 1]
        if m[entry + ENTRY * way] == key and _confirms(data, check):
            at = entry + ENTRY * way
            low = int64(data & np.uint64(31))
            high = 31 - int64((data >> np.uint64(5)) & np.uint64(31))
            if best == NONE:
                best = (data >> np.uint64(16)) & NONE
            break
        kept = int64((data >> np.uint64(10)) & np.uint64(31))
        if data >> np.uint64(24) & NONE == m[AGE]:
            kept += 32
        if kept < least:
            least = kept
            at = entry + ENTRY * way
    if result == 1:
        low = max(low, goal)
    else:
        high = min(high, goal - 1)
    m[at] = key
    data = np.uint64(low | ((31 - high) << 5) | (worth << 10))
    m[at + 1] = data | (best << np.uint64(16)) | (m[AGE] << np.uint64(24)) | check
