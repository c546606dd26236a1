"""The agent `ismcts`: a tree over what the seats see, with a new world every iteration."""

from __future__ import annotations

import importlib
import math

from agents.worlds import MAX_WORLDS, SearchAgent, Totals, check_number, head_start_of
from tricktable_env.cards import Words
from tricktable_env.game import Game
from tricktable_env.opponents import AgentSpecError

_GAMES = ("tableau", "honors")
_MAX_ITERATIONS = 10_000_000
_HEAD_START_TIMES = 3.0
"""The head start is so many times that of `montecarlo`: here what is ahead is also tried more."""


class IsmctsAgent(SearchAgent):
    """Grows a tree over what the seats see, a world an iteration; greedy plays on from its leaves.

    Information set Monte Carlo tree search with one observer: in every world only the actions that
    are legal in it count as available. The most visited action is played.

    Args:
        game: the game to play.
        iterations: worlds that a tree sees.
        explore: how much UCB1 counts what it does not know; a game that is won is worth 1.
        trees: how many trees a decision takes; their visits add up.
        head_start: how many tricks (points) greedy's action is ahead by at every node before its
            first visit, all visits together; None: what measured best for the game.
        seconds: how long a decision takes, in place of a number of trees; None: no clock.
        threads: threads that share the decisions of a batch, or the trees of one.

    Raises:
        AgentSpecError: a number out of range, or a game that greedy does not play.
    """

    slice_size = 1

    def __init__(
        self,
        game: Game,
        iterations: int = 1000,
        explore: float = 0.3,
        trees: int = 1,
        head_start: float | None = None,
        seconds: float | None = None,
        threads: int = 1,
    ) -> None:
        if game.name not in _GAMES:
            raise AgentSpecError(
                f"ismcts does not play {game.name!r}; it plays {', '.join(_GAMES)}"
            )
        check_number("trees", trees, 1, MAX_WORLDS)
        check_number("iterations", iterations, 1, _MAX_ITERATIONS)
        if not (explore >= 0 and math.isfinite(explore)):
            raise AgentSpecError(f"explore={explore!r} is not a number from 0")
        super().__init__(game, trees, seconds, threads)
        self.iterations, self.explore = iterations, explore
        playouts = importlib.import_module(f"agents.playouts_{game.name}")
        self._values = playouts.values_of(game)
        self.head_start = (
            _HEAD_START_TIMES * playouts.HEAD_START if head_start is None else head_start
        )
        self._ahead = head_start_of(self.head_start, self._values)
        self._add_trees = importlib.import_module(f"agents.ismcts_{game.name}").add_trees

    def __reduce__(self) -> tuple[type[IsmctsAgent], tuple[object, ...]]:
        what = (self.iterations, self.explore, self.worlds, self.head_start)
        return type(self), (self.game, *what, self.seconds, self.threads)

    def add(
        self, views: Words, keys: Words, begin: int, step: int, end: int, totals: Totals
    ) -> None:
        """Adds the visits of some trees; see `SearchAgent.add`."""
        options = self.iterations, self.explore, self._values, self._ahead
        self._add_trees(views, keys, begin, step, end, *options, totals)
