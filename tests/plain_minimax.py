"""Minimax on the engine's own states, without bounds, table or equal cards.

Also random small positions to try both on.
"""

from __future__ import annotations

import numba
import numpy as np

import tricktable_env
from tricktable_env.bits import ONE, ZERO, first, int64
from tricktable_env.cards import Words
from tricktable_env.tableau import Tableau
from tricktable_env.tableau.rules import act, legal
from tricktable_env.tableau.state import CALLER, LEFT, NUM_ACTIONS, TRICKS, TURN, WORDS

SMALL = [
    {"suits": suits, "ranks": ranks, "hand": hand, "piles": piles, "trump": trump}
    for suits, ranks in ((1, 12), (2, 6), (2, 8), (3, 5), (4, 4), (4, 13))
    for hand, piles in ((1, 1), (0, 2), (2, 1), (3, 1), (1, 2), (4, 1), (2, 2), (0, 3), (6, 0))
    for trump in ("random", "none", "call")
    if 2 * (hand + 2 * piles) <= suits * ranks
]
"""Rules whose deals are small enough to try everything."""


@numba.njit(nogil=True)
def caller_takes(states, depth):
    """Tricks the caller takes in all from `states[depth]` on; rows below it are overwritten."""
    s = states[depth]
    if s[LEFT] == ZERO:
        return int64(s[TRICKS + CALLER])
    turn = int64(s[TURN])
    best = -1 if turn == CALLER else 99
    actions = legal(s)
    while actions != ZERO:
        states[depth + 1] = s
        act(states[depth + 1], first(actions))
        actions &= actions - ONE
        value = caller_takes(states, depth + 1)
        best = max(best, value) if turn == CALLER else min(best, value)
    return best


@numba.njit(nogil=True)
def _values(states, values):
    s = states[0]
    actions = legal(s)
    turn = int64(s[TURN])
    for action in range(NUM_ACTIONS):
        values[action] = -1
        if (actions >> np.uint64(action)) & ONE != ZERO and s[LEFT] != ZERO:
            states[1] = s
            act(states[1], action)
            taken = caller_takes(states, 1) - int64(s[TRICKS + CALLER])
            values[action] = taken if turn == CALLER else int64(s[LEFT]) - taken


def plain_values(state: Words) -> list[int]:
    """What each action brings the seat to act, -1 where it is not legal."""
    states = np.zeros((60, WORDS), np.uint64)
    states[0] = state
    values = np.empty(NUM_ACTIONS, np.int64)
    _values(states, values)
    return values.tolist()


def small_positions(seed: int, count: int, most: int = 6) -> Words:
    """Random positions of 1 to `most` tricks left, half of them from play of whole deals.

    Others are small decks from the deal on: many covers, few suits, calls to come, no trump.

    Returns:
        `[count, WORDS] uint64`.
    """
    rng = np.random.default_rng(seed)
    whole = tricktable_env.make_game("tableau")
    bare = tricktable_env.make_game("tableau", trump="none")
    rules = [r for r in SMALL if r["hand"] + 2 * r["piles"] <= most]
    states = np.empty((count, WORDS), np.uint64)
    for state in states:
        if rng.random() < 0.5:
            game: Tableau = bare if rng.random() < 0.15 else whole
            left = int(rng.integers(1, most + 1))
        else:
            game = tricktable_env.make_game("tableau", **rules[rng.integers(len(rules))])
            left = int(rng.integers(max(1, game.rules.tricks - 2), game.rules.tricks + 1))
        state[:] = _played(game, rng, left)
    return states


def _played(game: Tableau, rng: np.random.Generator, left: int) -> Words:
    """A state after random actions, with `left` tricks left, one of them perhaps begun."""
    states = game.new(rng.integers(2**64, size=1, dtype=np.uint64))
    rows = np.zeros(1, np.int64)
    game.deal(states, rows)
    extra = int(rng.integers(2))
    while states[0, LEFT] > left or extra:
        extra -= states[0, LEFT] <= left
        if extra < 0:
            break
        mask = game.masks(game.views(states, rows, game.players(states, rows)))[0]
        game.step(states, rows, rng.choice(np.flatnonzero(mask), 1))
    return states[0]
