"""What is plain without search: tricks that a player surely takes; and an estimate for ordering."""

from __future__ import annotations

import numpy as np

from tricktable_env.bits import ONE, ZERO, bit, first, int64, last, size
from tricktable_env.jit import kernel
from tricktable_env.tableau.solver.memory import STRAIN, STRINGS
from tricktable_env.tableau.solver.strings import PLAIN_SHIFT, TRUMP_SHIFT, in_suit, lane_of
from tricktable_env.tableau.state import NO_TRUMP

_FOR_THE_LEAD = 30
_FOR_A_HIDDEN_CARD = -20


@kernel
def above(cards: np.uint64, others: np.uint64) -> np.uint64:
    """Those of `cards` that are higher than each of `others`, all of one suit."""
    if others == ZERO:
        return cards
    return cards & ~((bit(last(others)) << ONE) - ONE)


@kernel
def takes_surely(
    m: np.ndarray,
    player: int,
    own: np.uint64,
    other: np.uint64,
    hidden: np.uint64,
    covers: np.uint64,
    ranks: np.uint64,
    leads: bool,
    need: int,
) -> bool:
    """Whether it is plain that a player takes `need` of the tricks left.

    Sums that hold together: the sure trumps (see `strings.sure_trumps`), and high cards of plain
    suits that the other player must follow. Whoever leads can cash those at once. Who does not
    lead waits: the other player leads, so discards nothing, and has `total` cards in those suits,
    so is out of other leads before the waiting hand is out of other cards.

    Args:
        m: the solver's memory.
        player: 0 or 1.
        own: all cards of the player, face down ones included.
        other: all cards of the other player.
        hidden: cards face down.
        covers: cards that lie on one.
        ranks: lanes of owners.
        leads: whether the player leads.
        need: a number of tricks.
    """
    strain = int64(m[STRAIN])
    sure = 0
    trumps = ZERO
    other_trumps = ZERO
    if strain != NO_TRUMP:
        word = m[STRINGS + int64(lane_of(ranks, strain))]
        sure = int64((word >> np.uint64(4 * player)) & np.uint64(15))
        trumps = own & in_suit(strain)
        other_trumps = other & in_suit(strain)
    if sure >= need:
        return True
    free = own & ~hidden
    high_tricks = 0
    total = 0
    used = ZERO
    for suit in range(4):
        mine = free & in_suit(suit)
        if suit == strain or mine == ZERO:
            continue
        theirs = other & in_suit(suit)
        high = above(mine, theirs)
        k = size(high)
        if leads and other_trumps == ZERO:
            if k >= size(theirs) and theirs & hidden == ZERO:
                k = size(mine)
        else:
            follows = size(theirs & ~hidden)
            k = min(k, follows)
            if k > 0 and not leads:
                total += follows
                for _ in range(k):
                    top = bit(last(high))
                    used |= top
                    high ^= top
        high_tricks += k
    if not leads and high_tricks > 0:
        stuck = size(used & covers)  # cards under high ones are no discards
        if stuck > 0 and total < high_tricks + stuck:
            high_tricks = _bare_high_tricks(strain, free & ~covers, other, hidden)
    if sure + high_tricks >= need:
        return True
    if not leads or other_trumps == ZERO:
        return False
    if sure + high_tricks + 1 >= need and size(trumps) - sure == size(other_trumps):
        # Every opposing trump is matched, so a good card that is ruffed makes a trump good.
        for suit in range(4):
            mine = free & in_suit(suit)
            theirs = other & in_suit(suit)
            if suit == strain or size(mine) <= size(theirs) or theirs & hidden != ZERO:
                continue
            if size(above(mine, theirs)) >= size(theirs):
                return True
    return _draws_trumps(strain, free, other, hidden) >= need


@kernel
def _bare_high_tricks(strain: int, bare: np.uint64, other: np.uint64, hidden: np.uint64) -> int:
    """High cards of plain suits that must be followed, cards on a face-down one left out."""
    tricks = 0
    for suit in range(4):
        theirs = other & in_suit(suit)
        if suit != strain:
            high = above(bare & in_suit(suit), theirs)
            tricks += min(size(high), size(theirs & ~hidden))
    return tricks


@kernel
def _draws_trumps(strain: int, free: np.uint64, other: np.uint64, hidden: np.uint64) -> int:
    """Tricks of a leader who draws all opposing trumps, then plays every card that is high."""
    other_trumps = other & in_suit(strain)
    trumps = free & in_suit(strain)
    if other_trumps & hidden != ZERO or size(above(trumps, other_trumps)) < size(other_trumps):
        return 0
    tricks = size(trumps)
    for suit in range(4):
        if suit == strain:
            continue
        mine = free & in_suit(suit)
        theirs = other & in_suit(suit)
        k = size(above(mine, theirs))
        if k >= size(theirs) and theirs & hidden == ZERO:
            k = size(mine)
        tricks += k
    return tricks


@kernel
def settled(
    m: np.ndarray,
    own0: np.uint64,
    own1: np.uint64,
    hidden: np.uint64,
    covers: np.uint64,
    ranks: np.uint64,
    leader: int,
    goal: int,
) -> int:
    """Whether player 0 takes `goal` tricks, where that is plain: 1 or 0; else -1."""
    n = size(own0)
    if goal <= 0:
        return 1
    if goal > n:
        return 0
    if n == 1:
        return _last_trick(m, own0, own1, leader)
    if takes_surely(m, 0, own0, own1, hidden, covers, ranks, leader == 0, goal):
        return 1
    if takes_surely(m, 1, own1, own0, hidden, covers, ranks, leader == 1, n - goal + 1):
        return 0
    return -1


@kernel
def _last_trick(m: np.ndarray, own0: np.uint64, own1: np.uint64, leader: int) -> int:
    """1 when player 0 takes the last trick, else 0."""
    led = first(own0 if leader == 0 else own1)
    second = first(own1 if leader == 0 else own0)
    follows = second >> 4 == led >> 4
    beaten = second > led if follows else second >> 4 == int64(m[STRAIN])
    return leader if beaten else 1 - leader


@kernel
def estimate(
    m: np.ndarray,
    own0: np.uint64,
    own1: np.uint64,
    hidden: np.uint64,
    ranks: np.uint64,
    leader: int,
) -> int:
    """About how many tricks player 0 takes, in 64ths."""
    tricks = 32 * size(own0) + (_FOR_THE_LEAD if leader == 0 else -_FOR_THE_LEAD)
    tricks += _FOR_A_HIDDEN_CARD * (size(own0 & hidden) - size(own1 & hidden))
    for suit in range(4):
        word = m[STRINGS + int64(lane_of(ranks, suit))]
        at = TRUMP_SHIFT if suit == int64(m[STRAIN]) else PLAIN_SHIFT
        tricks += int64(word << np.uint64(48 - at)) >> 48
    return tricks
