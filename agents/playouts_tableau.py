"""Worlds and greedy playouts of Tableau: what each action is worth.

A world is drawn evenly from all that a view leaves open. In each every candidate is tried and the
round played on with both seats greedy, each by what it would see: nobody plays by cards that it has
not seen, so the numbers are those of a plan that can be carried out. All candidates meet the same
worlds, which takes most of the chance out of their differences.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from agents.greedy_tableau import decide
from agents.worlds import SCALE, world_stream
from tricktable_env.bits import ONE, ZERO, bit, copy_words, first, int64, last, popcount, room
from tricktable_env.cards import SUIT_CARDS, SUIT_SIZE
from tricktable_env.game import Game
from tricktable_env.jit import kernel
from tricktable_env.tableau.infostate import sample, unseen
from tricktable_env.tableau.rules import act, legal
from tricktable_env.tableau.state import (
    COVER,
    HAND,
    LEAD,
    LEFT,
    NOT_CALLED,
    TRICKS,
    TRUMP,
    TURN,
    UNSEEN,
    UP,
    WORDS,
)

SPREAD = 2.0
"""Tricks by which a playout may be off: near the target it is not taken at its word."""
HEAD_START = 5.0
"""Tricks that greedy's action is ahead by before the first world; see `montecarlo`."""


def values_of(game: Game) -> npt.NDArray[np.int64]:
    """What a number of tricks at the end is worth to each seat: `[2, tricks + 1] int64`.

    For `reward="margin"` the tricks themselves, else a logistic function of them around the target,
    because a playout is no more than a guess: plain wins would waste most of what it says, and
    plain tricks would fight for those that decide nothing. From 1 to `SCALE`.
    """
    tricks = game.rules.tricks
    taken = np.arange(tricks + 1)
    if game.rules.reward == "margin":
        return np.stack([1 + taken * (SCALE // tricks)] * 2)
    middle = {"dealer": 0.5, "draw": 0.0, "caller": -0.5}[game.rules.tie]
    if tricks % 2:
        middle = 0.0
    middles = tricks / 2 + np.array([[middle], [-middle]])
    chance = 1 / (1 + np.exp((middles - taken) / SPREAD))
    return np.asarray(1 + np.floor((SCALE - 1) * chance), np.int64)


@kernel
def choices(v: np.ndarray) -> np.uint64:
    """The legal actions that differ: of cards that are alike only the lowest.

    Alike are cards of the seat to act that lie on nothing, with no card between them that the other
    seat may hold or that may still come to light.

    Args:
        v: `[WORDS] uint64`, a view or a state of the seat to act.
    """
    cards = legal(v)
    if v[TRUMP] == np.uint64(NOT_CALLED):
        return cards
    seat = int64(v[TURN])
    between = unseen(v) | v[HAND + 1 - seat] | v[UP + 1 - seat] | v[COVER + seat]
    if v[LEAD] != ZERO:
        between |= bit(int64(v[LEAD]) - 1)
    found = cards & v[COVER + seat]
    cards ^= found
    while cards != ZERO:
        card = first(cards)
        found |= bit(card)
        equal = np.uint64(SUIT_CARDS) << np.uint64(SUIT_SIZE * (card // SUIT_SIZE))
        higher = between & equal & ~(bit(card) - ONE)
        if higher != ZERO:
            equal &= bit(first(higher)) - ONE
        cards &= ~equal
    return found


@kernel
def lowest_alike(options: np.uint64, action: int) -> int:
    """Which of the actions that differ a legal action is alike to; see `choices`."""
    return last(options & ((bit(action) << ONE) - ONE))


@kernel
def greedy_action(s: np.ndarray) -> int:
    """What greedy does as the seat to act, by what that seat would see of a state."""
    cards = legal(s)
    if cards & (cards - ONE) == ZERO:
        return first(cards)
    other = HAND + 1 - int64(s[TURN])
    hand = s[other]
    s[other] = ZERO  # what is left is all that `decide` reads of the seat's view
    s[UNSEEN] = popcount(hand)
    action = decide(s)
    s[other] = hand
    return action


@kernel
def play_greedily(s: np.ndarray, left: int) -> None:
    """Plays on until no more than so many tricks are left, each seat by what it would see.

    Args:
        s: `[WORDS] uint64`, a state, changed in place.
        left: a number of tricks; 0 plays to the end.
    """
    while int64(s[LEFT]) > left:
        act(s, greedy_action(s))


@kernel
def add_worlds(
    views: np.ndarray,
    keys: np.ndarray,
    begin: int,
    step: int,
    end: int,
    values: np.ndarray,
    head_start: int,
    totals: np.ndarray,
) -> None:
    """Adds to each action's total what it comes to in some worlds.

    Args:
        views: `[B, WORDS] uint64`, each of the seat to act.
        keys: `[B] uint64`, the streams of the decisions.
        begin: the first world.
        step: from one world to the next.
        end: the world before which to stop.
        values: `[2, tricks + 1] int64`, what a number of tricks is worth to each seat.
        head_start: what the first world finds greedy's action to have already.
        totals: `[B, 56] int64`, added to.
    """
    world = room(WORDS, np.uint64)
    s = room(WORDS, np.uint64)
    words = room(1, np.uint64)
    for row in range(len(views)):
        v = views[row]
        seat = int64(v[TURN])
        options = choices(v)
        if options & (options - ONE) == ZERO:
            totals[row, first(options)] += 1
            continue
        if begin == 0:
            totals[row, lowest_alike(options, decide(v))] += head_start
        for number in range(begin, end, step):
            words[0] = world_stream(keys[row], number)
            sample(v, words, 0, world)
            rest = options
            while rest != ZERO:
                action = first(rest)
                rest &= rest - ONE
                copy_words(world, s, WORDS)
                act(s, action)
                play_greedily(s, 0)
                totals[row, action] += values[seat, int64(s[TRICKS + seat])]
