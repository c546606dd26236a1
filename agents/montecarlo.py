"""The agent `montecarlo`: sampled worlds, and greedy play to the end in each."""

from __future__ import annotations

import importlib

import numpy as np

from agents.worlds import SearchAgent, Totals
from tricktable_env.cards import Words
from tricktable_env.game import Game
from tricktable_env.opponents import AgentSpecError

_KERNELS = {"tableau": "agents.playouts_tableau", "honors": "agents.playouts_honors"}
"""Where `add_worlds` and `values_of` of each game are."""


class MonteCarloAgent(SearchAgent):
    """Tries every action in sampled worlds, with greedy play to the end.

    Args:
        game: the game to play.
        worlds: how many worlds a decision takes.
        seconds: how long a decision takes, in place of a number of worlds; None: no clock.
        threads: threads that share the worlds.

    Raises:
        AgentSpecError: a number out of range, or a game that greedy does not play.
    """

    def __init__(
        self, game: Game, worlds: int = 20, seconds: float | None = None, threads: int = 1
    ) -> None:
        if game.name not in _KERNELS:
            raise AgentSpecError(
                f"montecarlo does not play {game.name!r}; it plays {', '.join(_KERNELS)}"
            )
        super().__init__(game, worlds, seconds, threads)
        kernels = importlib.import_module(_KERNELS[game.name])
        self._add_worlds, self._values = kernels.add_worlds, kernels.values_of(game)

    @property
    def steepest(self) -> float:
        """What one trick (or point) more adds to a total in one world, where it adds most."""
        return float(np.diff(self._values).max())

    def __reduce__(self) -> tuple[type[MonteCarloAgent], tuple[object, ...]]:
        return type(self), (self.game, self.worlds, self.seconds, self.threads)

    def add(
        self, views: Words, keys: Words, begin: int, step: int, end: int, totals: Totals
    ) -> None:
        """Adds what some worlds say; see `SearchAgent.add`."""
        self._add_worlds(views, keys, begin, step, end, self._values, totals)
