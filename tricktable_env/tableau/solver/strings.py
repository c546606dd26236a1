"""What is known of an owner string: who holds the cards of one suit, from the lowest up.

A string is a lane of RANKS: bit i is the owner of the i-th card from below, and a 1 above the
highest card ends it. So it is a number below 2^14, and what the search asks of it is read off a
table. One suit says how many trumps are sure whatever happens, and about how many tricks it is
worth; the estimate only orders the search.
"""

from __future__ import annotations

import numpy as np

from tricktable_env.bits import ONE, ZERO, bit, has, int64, popcount
from tricktable_env.jit import kernel

_LANE = np.uint64(0x7FFF)
STRING_WORDS = 1 << 14
PLAIN_SHIFT, TRUMP_SHIFT = 16, 32
"""Where the estimates lie: 16 bits each, signed, tricks of player 0 in 64ths. Below them `sure`."""


@kernel
def fill_strings(words: np.ndarray) -> None:
    """Fills the table.

    Args:
        words: `[STRING_WORDS] uint64`, overwritten. Bits 0-3 and 4-7 are the sure trumps of player
            0 and 1, then come the estimates of the suit as a plain suit and as trumps.
    """
    words[0] = ZERO
    for count in range(14):
        for owners in range(1 << count):
            word = ZERO
            plain = 0.0
            trump = 0.0
            for player in range(2):
                sure = sure_trumps(np.uint64(owners), count, player)
                word |= np.uint64(sure) << np.uint64(4 * player)
                a, b = _worth(np.uint64(owners), count, player, sure)
                plain += a if player == 0 else -a
                trump += b if player == 0 else -b
            word |= np.uint64(int64(np.rint(64 * plain)) & 0xFFFF) << np.uint64(PLAIN_SHIFT)
            word |= np.uint64(int64(np.rint(64 * trump)) & 0xFFFF) << np.uint64(TRUMP_SHIFT)
            words[(1 << count) + owners] = word


@kernel
def sure_trumps(owners: np.uint64, count: int, player: int) -> int:
    """Trumps of a player less the largest matching of higher opposing trumps to lower own ones.

    A trump loses its trick only to a higher one played to the same trick, so those tricks come
    home however the rest is played.
    """
    sure = 0
    unused = 0
    for i in range(count - 1, -1, -1):
        if int64(has(owners, i)) != player:
            unused += 1
        elif unused > 0:
            unused -= 1
        else:
            sure += 1
    return sure


@kernel
def _worth(owners: np.uint64, count: int, player: int, sure: int) -> tuple[float, float]:
    """Estimated tricks of a player's cards in a plain suit and in trumps."""
    mine = 0
    pairs = 0  # (own card, lower opposing card)
    for i in range(count):
        if int64(has(owners, i)) == player:
            mine += 1
            pairs += i + 1 - mine
    theirs = count - mine
    tops = 0
    while tops < count and int64(has(owners, count - 1 - tops)) == player:
        tops += 1
    ranking = pairs / max(mine, theirs) if mine > 0 and theirs > 0 else 0.0
    plain = 0.754 * ranking + 0.187 * tops - 0.219 * max(0, mine - theirs) - 0.088 * sure
    if mine == 0:
        plain += 0.042 * theirs
    return plain, 0.264 * ranking + 0.398 * sure + 0.189 * mine


# -- lanes -----------------------------------------------------------------------------------
@kernel
def lane_of(word: np.uint64, suit: int) -> np.uint64:
    """The lane of a suit, as a number."""
    return (word >> np.uint64(16 * suit)) & _LANE


@kernel
def in_suit(suit: int) -> np.uint64:
    """The mask of a suit's lane."""
    return _LANE << np.uint64(16 * suit)


@kernel
def place_of(cards: np.uint64, card: int) -> np.uint64:
    """The bit in RANKS of one of the cards that are still there."""
    lane = in_suit(card >> 4)
    return np.uint64(card & 48) + popcount(cards & lane & (bit(card) - ONE))


@kernel
def without(lanes: np.uint64, place: np.uint64) -> np.uint64:
    """Lanes with one bit taken out and the bits above it moved down."""
    low = (ONE << place) - ONE
    lane = _LANE << (place & np.uint64(48))
    return (lanes & (low | ~lane)) | ((lanes >> ONE) & lane & ~low)
