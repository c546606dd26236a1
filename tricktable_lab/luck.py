"""Luck that a game tells of itself: trumps that came to light beyond what was to be expected.

Whoever uncovers a face-down card of Tableau gets one drawn evenly from all that still lie face
down, for nobody's play depends on them. So the trumps that a seat uncovers, less the share of
trumps among the face-down cards each time, add up to 0 on average, whoever plays and however: a
control variate whose mean is known exactly.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tricktable_env.bits import ONE, ZERO, bit, has, int64, size
from tricktable_env.cards import SUIT_CARDS, SUIT_SIZE, Words
from tricktable_env.game import Game
from tricktable_env.jit import kernel
from tricktable_env.tableau.state import (
    BARE,
    CALL,
    FROM_HAND,
    NO_TRUMP,
    PLAYED,
    PLY,
    TRUMP,
    UNDER,
    event,
)


def luck_of(game: Game, states: Words) -> npt.NDArray[np.float64]:
    """How many trumps each player uncovered beyond the expected.

    Args:
        game: any game; where nothing is uncovered, or episodes are of several rounds, luck is 0.
        states: `[n, W] uint64`, rounds that are over.

    Returns:
        `[n, P] float64`; with two players a row adds up to 0.
    """
    luck = np.zeros((len(states), game.num_players))
    if game.name == "tableau" and game.rules.rounds_to_win == 1:
        _luck_rows(states, luck)
    return luck


@kernel
def _luck_rows(states: np.ndarray, out: np.ndarray) -> None:
    """Writes the luck of the caller and of the dealer, one the other's loss."""
    for row in range(states.shape[0]):
        luck = _caller_luck(states[row])
        out[row, 0] = luck
        out[row, 1] = -luck


@kernel
def _caller_luck(s: np.ndarray) -> float:
    trump = int64(s[TRUMP])
    if trump >= NO_TRUMP:
        return 0.0
    trumps = np.uint64(SUIT_CARDS) << np.uint64(SUIT_SIZE * trump)
    down = _dealt_face_down(s)
    luck = 0.0
    for ply in range(int64(s[PLY])):
        action, reveal = event(s, ply)
        if action >= CALL or not FROM_HAND < reveal < BARE:
            continue
        found = 1.0 if has(trumps, reveal - 1) else 0.0
        surprise = found - size(down & trumps) / size(down)
        luck += -surprise if has(s[PLAYED + 1], action) else surprise
        down &= ~bit(reveal - 1)
    return luck


@kernel
def _dealt_face_down(s: np.ndarray) -> np.uint64:
    """The cards that lay face down at the start."""
    cards = ZERO
    for word in range(UNDER, UNDER + 4):
        rest = s[word]
        while rest != ZERO:
            card = int64(rest & np.uint64(255))
            if card > 0:
                cards |= ONE << np.uint64(card - 1)
            rest >>= np.uint64(8)
    return cards
