"""Rounds whose face-down cards are dealt when they are uncovered, and what open ones are worth.

Nobody's play depends on a face-down card before it is seen, so one state stands for all deals that
differ only there. What is left to chance is counted, not weighed: a value is a sum over the ways in
which the cards still face down may lie, a whole number.
"""

from __future__ import annotations

import numpy as np

from tricktable_env.bits import ZERO, first, has, int64, size
from tricktable_env.jit import kernel
from tricktable_env.tableau.rules import DRAW, act, legal, round_winner
from tricktable_env.tableau.state import (
    CALL,
    CALLER,
    COVER,
    DEALER,
    DECK,
    HAND,
    LEFT,
    PLAYED,
    TRICKS,
    TURN,
    UNDER,
    UP,
    WORDS,
    slot_of,
)

TODO, ACTION, POOL, SHARE, SUM, BEST, WAYS, FRAME = range(8)
"""Of a frame of the search: actions to try, the one in hand, cards that it may yet uncover, the
ways that each of them leaves, the sum over those tried, the best sum, and the ways of the frame."""
_WORST = 1 << 60


@kernel
def hidden(s: np.ndarray) -> np.uint64:
    """The cards that lie face down or out of play: neither in a hand nor seen."""
    seen = s[HAND] | s[HAND + 1] | s[UP] | s[UP + 1] | s[PLAYED] | s[PLAYED + 1]
    return s[DECK] & ~seen


@kernel
def uncovers(s: np.ndarray, action: int) -> bool:
    """Whether an action of the seat to act turns up a face-down card."""
    return action < CALL and has(s[COVER + int64(s[TURN])], action)


@kernel
def act_uncovering(s: np.ndarray, action: int, card: int) -> None:
    """Takes a legal action; if it uncovers, `card` is what lay there (-1: it does not)."""
    if card >= 0:
        seat = int64(s[TURN])
        slot = slot_of(s, action)
        shift = np.uint64((slot & 7) * 8)
        word = s[UNDER + seat * 2 + (slot >> 3)] & ~(np.uint64(255) << shift)
        s[UNDER + seat * 2 + (slot >> 3)] = word | (np.uint64(card + 1) << shift)
    act(s, action)


@kernel
def settled(s: np.ndarray, margin: bool) -> bool:
    """Whether what the round pays can't change any more."""
    return s[LEFT] == ZERO or (not margin and round_winner(s) != DRAW)


@kernel
def pays(s: np.ndarray, margin: bool) -> int:
    """What a settled round pays the caller: 1, 0, -1, or the margin in tricks."""
    if margin:
        return int64(s[TRICKS]) - int64(s[TRICKS + 1])
    winner = round_winner(s)
    if winner == DRAW:
        return 0
    return 1 if winner == CALLER else -1


@kernel
def _most(s: np.ndarray, seat: int, margin: bool) -> int:
    """The most that the round may still pay the caller (least, for the dealer's seat)."""
    if not margin:
        return 1 if seat == CALLER else -1
    ahead = int64(s[TRICKS]) - int64(s[TRICKS + 1])
    return ahead + int64(s[LEFT]) if seat == CALLER else ahead - int64(s[LEFT])


@kernel
def open_value(deep: np.ndarray, frames: np.ndarray, ways: int, margin: bool) -> int:
    """What a round is worth to the caller when both hands are open and both seats play perfectly.

    Args:
        deep: `[D, WORDS] uint64`, the first row a state; the others are written to. D is more than
            the plays left.
        frames: `[D, FRAME] int64`, written to.
        ways: in how many ways the cards face down may lie, times any factor.
        margin: whether the round pays by tricks.

    Returns:
        The sum over these ways, each uncovering being known to both at once.
    """
    depth = 0
    frames[0, WAYS] = ways
    fresh = True
    value = 0
    while True:
        s = deep[depth]
        f = frames[depth]
        over = False
        if fresh:
            fresh = False
            if settled(s, margin):
                value = pays(s, margin) * f[WAYS]
                over = True
            else:
                f[TODO] = int64(legal(s))
                f[ACTION] = -1
                f[POOL] = 0
                f[BEST] = -_WORST if s[TURN] == np.uint64(CALLER) else _WORST
        if not over and f[POOL] == 0:
            seat = int64(s[TURN])
            if f[ACTION] >= 0:
                if (f[SUM] > f[BEST]) == (seat != DEALER) and f[SUM] != f[BEST]:
                    f[BEST] = f[SUM]
                if f[BEST] == _most(s, seat, margin) * f[WAYS]:
                    f[TODO] = 0
            if f[TODO] == 0:
                value = f[BEST]
                over = True
            else:
                f[ACTION] = first(np.uint64(f[TODO]))
                f[TODO] &= f[TODO] - 1
                f[SUM] = 0
                f[SHARE] = f[WAYS]
                if uncovers(s, f[ACTION]):
                    f[POOL] = int64(hidden(s))
                    f[SHARE] = f[WAYS] // size(hidden(s))
        if over:
            if depth == 0:
                return value
            depth -= 1
            frames[depth, SUM] += value
            continue
        card = -1
        if f[POOL] != 0:
            card = first(np.uint64(f[POOL]))
            f[POOL] &= f[POOL] - 1
        for word in range(WORDS):
            deep[depth + 1, word] = s[word]
        act_uncovering(deep[depth + 1], f[ACTION], card)
        frames[depth + 1, WAYS] = f[SHARE]
        depth += 1
        fresh = True
