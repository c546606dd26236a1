"""Which player is the learner, as kernels draw it when an episode begins."""

from __future__ import annotations

import numpy as np

from tricktable_env.bits import below, room, stream
from tricktable_env.game import ASKED, EPISODE, LEARNER, NOBODY, PLY, SEED, STATUS, VIEWER
from tricktable_env.jit import kernel

RANDOM, ALTERNATE = -2, -3
"""Instead of a player: drawn anew for each episode; player 0 first, then the next."""
_STREAM = 255  # the player number of the stream of seats, which no player has


@kernel
def take_seat(t: np.ndarray, seat: int, players: int) -> None:
    """Begins the next episode in a row of the table of `Game.play`: nobody has acted yet.

    Args:
        t: `[COLUMNS] int64`, changed in place.
        seat: the learner's player, RANDOM, ALTERNATE, or NOBODY where there is none.
        players: number of players.
    """
    t[EPISODE] += 1
    t[PLY] = 0
    t[STATUS] = ASKED
    t[LEARNER] = draw_seat(seat, players, np.uint64(t[SEED]), t[EPISODE])
    if t[LEARNER] != NOBODY:
        t[VIEWER] = t[LEARNER]


@kernel
def draw_seat(seat: int, players: int, seed: np.uint64, episode: int) -> int:
    """The learner's player in an episode.

    Args:
        seat: as above.
        players: number of players.
        seed: the row's seed.
        episode: the number of the episode under that seed.
    """
    if seat == ALTERNATE:
        return episode % players
    if seat == RANDOM:
        words = room(1, np.uint64)
        words[0] = stream(seed, episode, _STREAM)
        return below(words, 0, players)
    return seat
