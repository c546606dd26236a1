"""Who plays: the options `seat` and `opponent` of the environments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from tricktable_env.bits import below, stream
from tricktable_env.envs.spaces import as_action
from tricktable_env.game import NOBODY, Game, Player
from tricktable_env.jit import kernel
from tricktable_env.opponents import Agent, make_agent

Policy: TypeAlias = Callable[[Any, dict[str, Any]], Any]
"""A plain callable as an opponent: an observation and an info in, an action out."""
Opponent: TypeAlias = str | Agent | Policy
"""A spec, an agent, or a plain callable."""

SELF = "self"
"""The opponent that is none: every decision of every player is handed out."""
RANDOM, ALTERNATE = "random", "alternate"
"""Seats: drawn anew for each episode; player 0 first, then the next."""
_SEATS_STREAM = 255  # the player number of the stream of seats, which no player has


def read_seat(seat: Any, game: Game) -> str | Player:
    """Reads the option `seat`: a player's number, RANDOM or ALTERNATE.

    Raises:
        ValueError: it is no seat.
    """
    if isinstance(seat, str) and seat in (RANDOM, ALTERNATE):
        return seat
    if isinstance(seat, str) and seat in game.seat_names:
        return game.seat_names[seat]
    number = None if isinstance(seat, str) else as_action(seat)
    if number is None or not 0 <= number < game.num_players:
        names = [*game.seat_names, *range(game.num_players), RANDOM, ALTERNATE]
        raise ValueError(f"no seat {seat!r}; seats are {', '.join(map(str, names))}")
    return number


def read_opponents(
    opponent: Opponent | Sequence[Opponent], game: Game
) -> tuple[Agent | Policy, ...] | None:
    """Reads the option `opponent`: an opponent for each other player, or None with SELF.

    Raises:
        ValueError: a spec, a list or a thing that does not make opponents.
    """
    if isinstance(opponent, str) and opponent == SELF:
        return None
    others = game.num_players - 1
    if isinstance(opponent, list | tuple):
        if len(opponent) != others:
            raise ValueError(f"{len(opponent)} opponents listed; {game.name} needs {others}")
        return tuple(_read_opponent(each, game) for each in opponent)
    return (_read_opponent(opponent, game),) * others


def _read_opponent(opponent: Any, game: Game) -> Agent | Policy:
    if isinstance(opponent, str):
        return make_agent(opponent, game)
    if isinstance(opponent, type) or not (hasattr(opponent, "act") or callable(opponent)):
        raise ValueError(
            f"no opponent: {opponent!r} (a spec as 'random', 'self', an agent, "
            "or a callable (observation, info) -> action)"
        )
    return opponent  # type: ignore[no-any-return]


def draw_seats(
    seat: str | Player,
    game: Game,
    seeds: npt.NDArray[np.uint64],
    episodes: npt.NDArray[np.int64],
) -> npt.NDArray[np.int64]:
    """Says who the learner is in each row: `[n] int64`, players.

    Args:
        seat: as `read_seat` gave it.
        game: the game.
        seeds: `[n] uint64`, the rows' seeds.
        episodes: `[n] int64`, the episodes' numbers under those seeds.
    """
    if seat == ALTERNATE:
        return np.remainder(episodes, game.num_players)
    out = np.full(len(seeds), NOBODY if isinstance(seat, str) else seat, np.int64)
    if seat == RANDOM:
        _draw_seats(seeds, episodes, game.num_players, out)
    return out


@kernel
def _draw_seats(seeds: np.ndarray, episodes: np.ndarray, players: int, out: np.ndarray) -> None:
    """Draws the learner's player of each row, anew for each episode."""
    words = np.empty(1, np.uint64)
    for i in range(out.shape[0]):
        words[0] = stream(seeds[i], episodes[i], _SEATS_STREAM)
        out[i] = below(words, 0, players)
