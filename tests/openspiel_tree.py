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

_NOTHING: list[Any] = []


class Node:
    """A state."""

    __slots__ = ("actions", "chances", "children", "paid", "player", "told")

    def __init__(self, player: int) -> None:
        self.player = player
        self.actions: list[int] = _NOTHING
        self.chances: list[tuple[int, float]] = _NOTHING
        self.children: list[Node] = _NOTHING
        self.paid: list[float] = _NOTHING
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
        return id(self)


class KeptGame:
    """A game whose states are kept; those that are over with equal returns are one node.

    Args:
        game: OpenSpiel's game.
        by_text: tell information states apart by their text; else by the view, which is quicker.
    """

    def __init__(self, game: Any, by_text: bool = True) -> None:
        self.game, self.by_text, self.leaves = game, by_text, 0
        self.told: dict[Any, int] = {}
        """The number of each information state."""
        self.views: list[Words] = []
        """Of those with a choice, with `actions`."""
        self.actions: list[list[int]] = []
        self._forced: dict[int, list[int]] = {}
        self._choice: list[int] = []
        """Of each information state its place in `views`, or -1 - its only action."""
        self._over: dict[tuple[float, ...], Node] = {}
        gc.disable()  # millions of objects that all stay
        try:
            self.root = self._keep(game.new_initial_state())
        finally:
            gc.enable()

    @property
    def information_states(self) -> int:
        """How many there are."""
        return len(self.told)

    def _keep(self, state: Any) -> Node:
        if state.is_terminal():
            self.leaves += 1
            paid = state.returns()
            node = self._over.setdefault(tuple(paid), Node(state.current_player()))
            node.paid = paid
            return node
        node = Node(state.current_player())
        if state.is_chance_node():
            node.chances = state.chance_outcomes()
            node.actions = [action for action, _ in node.chances]
        else:
            node.told, node.actions = self._state_of(state, node.player)
        node.children = [self._keep(state.child(action)) for action in node.actions]
        return node

    def _state_of(self, state: Any, player: int) -> tuple[int, list[int]]:
        """The number of an information state, and its actions."""
        view = state.view(player)
        key = state.information_state_string() if self.by_text else hash(view.tobytes())
        number = self.told.setdefault(key, len(self.told))
        if number == len(self._choice):
            actions = state.legal_actions()
            if len(actions) == 1:
                self._forced.setdefault(actions[0], actions)
                self._choice.append(-1 - actions[0])
            else:
                self._choice.append(len(self.views))
                self.views.append(view)
                self.actions.append(actions)
        choice = self._choice[number]
        return number, self.actions[choice] if choice >= 0 else self._forced[-1 - choice]

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
        chosen = [
            dict(zip(actions, chances[actions].tolist(), strict=True))
            for actions, chances in zip(self.actions, given, strict=True)
        ]
        sure = {action: {action: 1.0} for action in self._forced}
        kept = KeptPolicy(self.game, [0, 1])
        kept.pairs = [chosen[i] if i >= 0 else sure[-1 - i] for i in self._choice]
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
