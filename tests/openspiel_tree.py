"""A game of OpenSpiel walked through once and kept, for its algorithms to visit as they like.

The nodes answer what `open_spiel.python.algorithms.exploitability` asks of a state, and every
answer is what OpenSpiel's own state gave: its states in Python are slow, and asked many times.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from open_spiel.python.algorithms import exploitability
from open_spiel.python.policy import Policy

from tricktable_env.cards import Mask, Words

Odds = Callable[[Words, Mask], npt.NDArray[np.float64]]
"""A policy: views `[n, WORDS]` and masks `[n, A]` to probabilities `[n, A]`."""


class Node:
    """A state."""

    __slots__ = ("actions", "chances", "children", "number", "paid", "player", "told")

    def __init__(self, player: int, number: int) -> None:
        self.player, self.number = player, number
        self.actions: list[int] = []
        self.chances: list[tuple[int, float]] = []
        self.children: list[Node] = []
        self.paid: list[float] = []
        self.told = -1

    def is_terminal(self) -> bool:
        return bool(self.paid)

    def is_chance_node(self) -> bool:
        return bool(self.chances)

    def is_simultaneous_node(self) -> bool:
        return False

    def current_player(self) -> int:
        return self.player

    def returns(self) -> list[float]:
        return self.paid

    def player_return(self, player: int) -> float:
        return self.paid[player]

    def legal_actions(self, player: int | None = None) -> list[int]:
        return self.actions

    def chance_outcomes(self) -> list[tuple[int, float]]:
        return self.chances

    def child(self, action: int) -> Node:
        return self.children[self.actions.index(action)]

    def information_state_string(self, player: int | None = None) -> int:
        return self.told

    def history_str(self) -> int:
        return self.number


class KeptGame:
    """A game whose states are kept.

    Args:
        game: OpenSpiel's game.
    """

    def __init__(self, game: Any) -> None:
        self.game, self.nodes, self.leaves = game, 0, 0
        self.told: dict[str, int] = {}
        self.views: list[Words] = []
        self.actions: list[list[int]] = []
        gc.disable()  # millions of objects that all stay
        try:
            self.root = self._keep(game.new_initial_state())
        finally:
            gc.enable()

    def _keep(self, state: Any) -> Node:
        node = Node(state.current_player(), self.nodes)
        self.nodes += 1
        if state.is_terminal():
            self.leaves += 1
            node.paid = state.returns()
            return node
        if state.is_chance_node():
            node.chances = state.chance_outcomes()
            node.actions = [action for action, _ in node.chances]
        else:
            told = state.information_state_string()
            node.told = self.told.setdefault(told, len(self.told))
            if node.told == len(self.views):
                self.views.append(state.view(node.player))
                self.actions.append(state.legal_actions())
            node.actions = self.actions[node.told]
        node.children = [self._keep(state.child(action)) for action in node.actions]
        return node

    def new_initial_state(self) -> Node:
        return self.root

    def num_players(self) -> int:
        return 2

    def nash_conv(self, odds: Odds) -> tuple[float, tuple[float, float]]:
        """OpenSpiel's NashConv of a policy, and what each player gains by a best response."""
        masks = np.zeros((len(self.views), 56), np.int8)
        for mask, actions in zip(masks, self.actions, strict=True):
            mask[actions] = 1
        given = odds(np.array(self.views), masks)
        pairs = [
            {action: float(chances[action]) for action in actions}
            for actions, chances in zip(self.actions, given, strict=True)
        ]
        kept = KeptPolicy(self.game, [0, 1])
        kept.pairs = pairs
        gc.disable()
        try:
            found = exploitability.nash_conv(self, kept, return_only_nash_conv=False)
        finally:
            gc.enable()
        return float(found.nash_conv), tuple(map(float, found.player_improvements))


class KeptPolicy(Policy):  # type: ignore[misc]
    """A policy that is known for every information state."""

    pairs: list[dict[int, float]]

    def action_probabilities(self, state: Node, player_id: int | None = None) -> dict[int, float]:
        return self.pairs[state.told]
