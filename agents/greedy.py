"""The agent `greedy`: what a card player does without much thought; the yardstick of the others."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import numpy.typing as npt

from tricktable_env.cards import Mask, Words
from tricktable_env.game import Game
from tricktable_env.opponents import AgentSpecError, Streams

_KERNELS = {"tableau": "agents.greedy_tableau", "honors": "agents.greedy_honors"}
"""Where the kernels `decide_rows(views, out)` and `choose` of each game are."""


class GreedyAgent:
    """Wins tricks as cheaply as it can, calls by length, protects and captures honors.

    Version 1. It decides by what its seat has seen, without chance; its ways are described in
    `agents.greedy_tableau` and `agents.greedy_honors`. They are frozen: figures against `greedy`
    stay comparable, and a better heuristic gets another name.

    Args:
        game: the game to play.

    Raises:
        AgentSpecError: nobody has written down how to play that game greedily.
    """

    version = 1

    def __init__(self, game: Game) -> None:
        if game.name not in _KERNELS:
            raise AgentSpecError(
                f"greedy does not play {game.name!r}; it plays {', '.join(_KERNELS)}"
            )
        self.game = game
        self._ways = importlib.import_module(_KERNELS[game.name])

    def __reduce__(self) -> tuple[type[GreedyAgent], tuple[Game]]:
        return type(self), (self.game,)

    def act(self, view: Words, mask: Mask, rng: np.random.Generator) -> int:
        """Chooses an action for a view `[W]` of the seat to act; draws nothing from `rng`."""
        return int(self.act_batch(view[None], mask[None], None)[0])

    def act_batch(
        self, views: Words, masks: Mask, streams: Streams | None
    ) -> npt.NDArray[np.int64]:
        """Chooses an action for each view `[B, W]` of the seat to act; `[B] int64`."""
        actions = np.empty(len(views), np.int64)
        self._ways.decide_rows(views, actions)
        return actions

    @property
    def kernel(self) -> Any:
        """Chooses one action for a view; see `Agent`."""
        return self._ways.choose
