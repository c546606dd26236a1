"""Who plays: the options `seat` and `opponent` of the environments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from tricktable_env.envs.spaces import as_action
from tricktable_env.game import Game, Player
from tricktable_env.opponents import Agent, make_agent
from tricktable_env.seats import ALTERNATE, RANDOM

Policy: TypeAlias = Callable[[Any, dict[str, Any]], Any]
"""A plain callable as an opponent: an observation and an info in, an action out."""
Opponent: TypeAlias = str | Agent | Policy
"""A spec, an agent, or a plain callable."""

SELF = "self"
"""The opponent that is none: every decision of every player is handed out."""
_NAMES = {"random": RANDOM, "alternate": ALTERNATE}


def read_seat(seat: Any, game: Game) -> Player:
    """Reads the option `seat`: a player's number, RANDOM or ALTERNATE.

    Raises:
        ValueError: it is no seat.
    """
    if isinstance(seat, str) and seat in _NAMES:
        return _NAMES[seat]
    if isinstance(seat, str) and seat in game.seat_names:
        return game.seat_names[seat]
    number = None if isinstance(seat, str) else as_action(seat)
    if number is None or not 0 <= number < game.num_players:
        names = [*game.seat_names, *range(game.num_players), *_NAMES]
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
