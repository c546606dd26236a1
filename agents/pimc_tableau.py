"""Worlds of Tableau with the last tricks solved: kernels of the agent `pimc`."""

from __future__ import annotations

import numpy as np

from agents.greedy_tableau import decide
from agents.playouts_tableau import choices, lowest_alike, play_greedily
from agents.worlds import world_stream
from tricktable_env.bits import ONE, ZERO, copy_words, first, int64, room, size
from tricktable_env.jit import kernel
from tricktable_env.tableau.infostate import sample, unseen, void_cards
from tricktable_env.tableau.rules import act
from tricktable_env.tableau.solver.questions import BEST, BEST_OF_ALL, begin, narrow
from tricktable_env.tableau.state import (
    COVER,
    LEFT,
    NOT_CALLED,
    TRICKS,
    TRUMP,
    TURN,
    UNSEEN,
    WORDS,
)

MOST_SOLVED = 18
"""Tricks that are solved at most. By then no card of a full deal can be face down and unknown."""
_NO_LIMIT = 1 << 40
_BOUNDS = BEST_OF_ALL + 1


@kernel
def is_known(v: np.ndarray) -> bool:
    """Whether what a seat has seen leaves a single deal.

    With no card face down the other hand is what has not been seen, unless cards are out of play.
    """
    if v[TRUMP] == np.uint64(NOT_CALLED):
        return False
    pool = unseen(v)
    hand = int64(v[UNSEEN])
    covered = size(v[COVER] | v[COVER + 1])
    if hand > 0 and size(pool & ~void_cards(v, 1 - int64(v[TURN]))) != hand:
        return False
    return covered == 0 or (covered == 1 and size(pool) == hand + 1)


@kernel
def own_tricks(s: np.ndarray, seat: int, m: np.ndarray, low: np.ndarray, high: np.ndarray) -> int:
    """Tricks of a seat in all when the rest is played perfectly with all cards known.

    Args:
        s: `[WORDS] uint64`, a state after the call.
        seat: whose.
        m: the solver's memory.
        low: `[BEST_OF_ALL + 1] int64`, overwritten.
        high: likewise.
    """
    tricks = int64(s[TRICKS + seat])
    left = int64(s[LEFT])
    if left == 0:
        return tricks
    begin(s, m, low, high)
    narrow(s, m, low, high, BEST, _NO_LIMIT)
    best = low[BEST_OF_ALL]
    return tricks + (best if int64(s[TURN]) == seat else left - best)


@kernel
def add_worlds(
    views: np.ndarray,
    keys: np.ndarray,
    first_world: int,
    stride: int,
    end: int,
    exact: int,
    postpone: int,
    values: np.ndarray,
    head_start: int,
    m: np.ndarray,
    totals: np.ndarray,
) -> None:
    """Adds to each action's total what it comes to in some worlds.

    Where a single world is left, it is solved, once, whatever `exact` and the number of worlds.

    Args:
        views: `[B, WORDS] uint64`, each of the seat to act.
        keys: `[B] uint64`, the streams of the decisions.
        first_world: the first world.
        stride: from one world to the next.
        end: the world before which to stop.
        exact: tricks at the end that are solved.
        postpone: tricks from this one on that are played greedily even so.
        values: `[2, tricks + 1] int64`, what a number of tricks is worth to each seat.
        head_start: what the first world finds greedy's action to have already.
        m: the solver's memory.
        totals: `[B, 56] int64`, added to.
    """
    world = room(WORDS, np.uint64)
    s = room(WORDS, np.uint64)
    words = room(1, np.uint64)
    low = room(_BOUNDS, np.int64)
    high = room(_BOUNDS, np.int64)
    for row in range(len(views)):
        v = views[row]
        seat = int64(v[TURN])
        options = choices(v)
        if options & (options - ONE) == ZERO:
            totals[row, first(options)] += 1
            continue
        known = int64(v[LEFT]) <= MOST_SOLVED and is_known(v)
        if known and first_world > 0:
            continue
        if not known and first_world == 0:
            totals[row, lowest_alike(options, decide(v))] += head_start
        solved = MOST_SOLVED if known else min(exact, max(0, int64(v[LEFT]) - postpone))
        for number in range(first_world, min(end, 1) if known else end, stride):
            words[0] = world_stream(keys[row], number)
            sample(v, words, 0, world)
            rest = options
            while rest != ZERO:
                action = first(rest)
                rest &= rest - ONE
                copy_words(world, s, WORDS)
                act(s, action)
                play_greedily(s, solved)
                tricks = own_tricks(s, seat, m, low, high)
                if known:  # of equals what takes more from who is greedy
                    play_greedily(s, 0)
                    totals[row, action] += 64 * tricks + int64(s[TRICKS + seat]) + 1
                else:
                    totals[row, action] += values[seat, tricks]
