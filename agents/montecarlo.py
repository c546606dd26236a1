"""The agent `montecarlo`: sampled worlds, and greedy play to the end in each."""

from __future__ import annotations

import importlib

from agents.worlds import SearchAgent, Totals, head_start_of
from tricktable_env.cards import Words
from tricktable_env.game import Game
from tricktable_env.opponents import AgentSpecError

_KERNELS = {"tableau": "agents.playouts_tableau", "honors": "agents.playouts_honors"}
"""Where `add_worlds`, `values_of` and `HEAD_START` of each game are."""


class MonteCarloAgent(SearchAgent):
    """Tries every action in sampled worlds, with greedy play to the end.

    What greedy itself would do begins ahead, so that few worlds don't talk it into worse by chance.

    Args:
        game: the game to play.
        worlds: how many worlds a decision takes.
        head_start: how many tricks (points) greedy's action is ahead by before the first world,
            all worlds together; None: what measured best for the game.
        seconds: how long a decision takes, in place of a number of worlds; None: no clock.
        threads: threads that share the worlds.

    Raises:
        AgentSpecError: a number out of range, or a game that greedy does not play.
    """

    def __init__(
        self,
        game: Game,
        worlds: int = 20,
        head_start: float | None = None,
        seconds: float | None = None,
        threads: int = 1,
    ) -> None:
        if game.name not in _KERNELS:
            raise AgentSpecError(
                f"montecarlo does not play {game.name!r}; it plays {', '.join(_KERNELS)}"
            )
        super().__init__(game, worlds, seconds, threads)
        kernels = importlib.import_module(_KERNELS[game.name])
        self._add_worlds, self.values = kernels.add_worlds, kernels.values_of(game)
        self.head_start = kernels.HEAD_START if head_start is None else head_start
        self._ahead = head_start_of(self.head_start, self.values)

    def __reduce__(self) -> tuple[type[MonteCarloAgent], tuple[object, ...]]:
        options = (self.worlds, self.head_start, self.seconds, self.threads)
        return type(self), (self.game, *options)

    def add(
        self, views: Words, keys: Words, begin: int, step: int, end: int, totals: Totals
    ) -> None:
        """Adds what some worlds say; see `SearchAgent.add`."""
        self._add_worlds(views, keys, begin, step, end, self.values, self._ahead, totals)
