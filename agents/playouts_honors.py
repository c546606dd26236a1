"""Worlds and greedy playouts of Honors: what each action is worth; see `playouts_tableau`."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from agents.greedy_honors import decide
from agents.worlds import SCALE, world_stream
from tricktable_env.bits import ONE, ZERO, bit, copy_words, first, has, int64, last, room, size
from tricktable_env.cards import SUIT_SIZE
from tricktable_env.game import Game
from tricktable_env.honors.infostate import unseen
from tricktable_env.honors.rules import (
    announcing,
    honor,
    legal_cards,
    num_players,
    pays_points,
    points_of,
    step,
    suit_cards,
)
from tricktable_env.honors.sampling import sample
from tricktable_env.honors.state import (
    ANNOUNCE,
    DEAL_LEFT,
    HAND,
    IN_TRICK,
    LEFT,
    MAX_PLAYERS,
    TRICK,
    TRUMP,
    TURN,
    TURNED,
    WORDS,
    byte_of,
)
from tricktable_env.jit import kernel

SPREAD = 3.0
"""Points by which a playout may be off; 8 won no more games, nor did plain points."""
HEAD_START = 15.0
"""Points that greedy's action is ahead by before the first world; see `montecarlo`."""
ZERO_AT = 2048
"""Index of the value of being no points ahead."""


def values_of(game: Game) -> npt.NDArray[np.int64]:
    """What the points at the end are worth: `[2 x ZERO_AT] int64`, from 1 to `SCALE`.

    By how far a seat is ahead, from `ZERO_AT` on: of the best of the others in a logistic
    function, or for `reward="points"` of their mean, times the number of players, as it is.
    """
    ahead = np.arange(2 * ZERO_AT) - ZERO_AT
    if game.rules.reward == "points":
        return 1 + (ahead + ZERO_AT) * (SCALE // (2 * ZERO_AT))
    chance = 1 / (1 + np.exp(-np.clip(ahead / SPREAD, -40, 40)))
    return np.asarray(1 + np.floor((SCALE - 1) * chance), np.int64)


@kernel
def value(s: np.ndarray, seat: int, values: np.ndarray) -> int:
    """What a finished game is worth to a seat."""
    own = points_of(s, seat)
    best = -1000
    total = 0
    for other in range(num_players(s)):
        points = points_of(s, other)
        total += points
        if other != seat:
            best = max(best, points)
    ahead = num_players(s) * own - total if pays_points(s) else own - best
    return values[max(0, min(2 * ZERO_AT - 1, ZERO_AT + ahead))]


@kernel
def choices(v: np.ndarray) -> tuple[int, np.uint64]:
    """The legal actions that differ: the number that they are counted from, and which.

    Of cards that are alike only the lowest: those of one suit that count the same, with no card
    between them that is not the seat's own or played to an earlier trick.

    Args:
        v: `[WORDS] uint64`, a view or a state of the seat to act.
    """
    if announcing(v):
        return ANNOUNCE, (ONE << np.uint64(int64(v[DEAL_LEFT]) + 1)) - ONE
    cards = legal_cards(v)
    trump = int64(v[TRUMP])
    seat = int64(v[TURN])
    between = unseen(v)
    for other in range(MAX_PLAYERS):
        if other != seat:
            between |= v[HAND + other]
    if v[TURNED] != ZERO:
        between |= bit(int64(v[TURNED]) - 1)
    for i in range(int64(v[IN_TRICK])):
        between |= bit(byte_of(v, TRICK, i) - 1)
    found = ZERO
    while cards != ZERO:
        card = first(cards)
        cards ^= bit(card)
        found |= bit(card)
        suit = suit_cards(card // SUIT_SIZE)
        higher = between & suit & ~(bit(card) - ONE)
        while cards & suit != ZERO:
            other = first(cards & suit)
            if higher != ZERO and first(higher) < other:
                break
            if honor(other, trump) != honor(card, trump) or has(between, other):
                break
            cards ^= bit(other)
    return 0, found


@kernel
def greedy_action(s: np.ndarray) -> int:
    """What greedy does as the seat to act, by what that seat would see of a state."""
    cards = legal_cards(s)
    if cards != ZERO and cards & (cards - ONE) == ZERO:
        return first(cards)
    turned = ZERO
    if s[TURNED] != ZERO:
        turned = bit(int64(s[TURNED]) - 1)
    hands = room(MAX_PLAYERS, np.uint64)
    for other in range(num_players(s)):
        hands[other] = s[HAND + other]
        if other != int64(s[TURN]):
            s[HAND + other] &= turned
    action = decide(s)  # reads no more of the seat's view than is left
    for other in range(num_players(s)):
        s[HAND + other] = hands[other]
    return action


@kernel
def play_greedily(s: np.ndarray) -> None:
    """Plays to the end, each seat by what it would see.

    Args:
        s: `[WORDS] uint64`, a state, changed in place.
    """
    while s[LEFT] != ZERO:
        step(s, greedy_action(s))


@kernel
def add_worlds(
    views: np.ndarray,
    keys: np.ndarray,
    begin: int,
    stride: int,
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
        stride: from one world to the next.
        end: the world before which to stop.
        values: as `values_of` makes them.
        head_start: what the first world finds greedy's action to have already.
        totals: `[B, 79] int64`, added to.
    """
    world = room(WORDS, np.uint64)
    s = room(WORDS, np.uint64)
    words = room(1, np.uint64)
    for row in range(len(views)):
        v = views[row]
        seat = int64(v[TURN])
        base, options = choices(v)
        if size(options) <= 1:
            totals[row, base + first(options)] += 1
            continue
        if begin == 0:
            likely = decide(v) - base
            totals[row, base + last(options & ((bit(likely) << ONE) - ONE))] += head_start
        for number in range(begin, end, stride):
            words[0] = world_stream(keys[row], number)
            sample(v, words, 0, world)
            rest = options
            while rest != ZERO:
                action = base + first(rest)
                rest &= rest - ONE
                copy_words(world, s, WORDS)
                step(s, action)
                play_greedily(s)
                totals[row, action] += value(s, seat, values)
