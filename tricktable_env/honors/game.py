"""Honors as the adapters see it: the verbs of `tricktable_env.game`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tricktable_env.cards import Card, Seat, Suit, Words
from tricktable_env.game import Action, Bytes, Player, Slice
from tricktable_env.honors import batch, dealing, notation, observation, positions
from tricktable_env.honors.rules import MAX_POINTS, Rules, deal_order, pack_options
from tricktable_env.honors.state import (
    DECK,
    LEFT,
    MAX_PLAYERS,
    NUM_ACTIONS,
    OPTIONS,
    RNG,
    TRUMP,
    WORDS,
)
from tricktable_env.packed import PackedGame, check_trump

_WINNERS = np.array(
    [
        ",".join(str(seat) for seat in range(MAX_PLAYERS) if winners >> seat & 1) or None
        for winners in range(1 << MAX_PLAYERS)
    ],
    object,
)
"""By the set of the seats that won: nobody yet, or who."""


class Honors(PackedGame):
    """The game of Honors with its rules fixed; see `tricktable_env.game.Game` for the verbs.

    Seats never change, so a seat and a player are the same number; 0 is the dealer's left.

    Args:
        **rules: options of `Rules`.

    Raises:
        RulesError: no such option, or one that makes no sense.
    """

    loops = batch
    name = "honors"
    rules_type = Rules
    num_actions = NUM_ACTIONS
    words = WORDS
    history_size = observation.HISTORY_SIZE
    seat_names: Mapping[str, Player] = {}

    def __init__(self, /, **rules: Any) -> None:
        super().__init__(**rules)
        self.num_players = self.rules.num_players
        self.observation_size = observation.observation_size(self.num_players)
        self.full_size = observation.full_size(self.num_players)
        self.mask_slice = slice(self.observation_size - NUM_ACTIONS, self.observation_size)

    @property
    def observation_high(self) -> Bytes:
        return observation.high(self.num_players)

    @property
    def layout(self) -> tuple[Slice, ...]:
        return observation.layout(self.num_players)

    @property
    def full_layout(self) -> tuple[Slice, ...]:
        return observation.full_layout(self.num_players)

    @property
    def reward_bound(self) -> float:
        if self.rules.reward == "win":
            return 1.0
        low, high = positions.points_range(self.rules, len(self.rules.deals))
        return (high - low) / MAX_POINTS

    @property
    def deck_places(self) -> tuple[tuple[int, ...], ...]:
        return dealing.deck_places(self.rules)

    # -- states ------------------------------------------------------------------------------
    def new(self, seeds: npt.NDArray[np.uint64]) -> Words:
        states = np.zeros((len(seeds), WORDS), np.uint64)
        states[:, OPTIONS] = pack_options(self.rules)
        states[:, DECK] = self.rules.deck
        states[:, RNG] = seeds
        return states

    def deal_deck(self, state: Words, deck: Sequence[int], trump: Suit | None = None) -> None:
        positions.check_deck(deck, self.rules)
        check_trump(trump, self.rules)
        deal_order(state, np.array(deck, np.int64), len(deck))
        if trump is not None:
            state[TRUMP] = trump

    def place(self, state: Words, position: str) -> None:
        positions.place(state, position, self.rules)

    # -- words -------------------------------------------------------------------------------
    def outcomes(self, states: Words) -> dict[str, npt.NDArray[Any]]:
        points, won = self._results(states)
        won[states[:, LEFT] != 0] = 0
        return {"winner": _WINNERS.take(won), "points": points}

    def shares(self, states: Words) -> npt.NDArray[np.float64]:
        _, sets = self._results(states)
        won = sets[:, None] >> np.arange(self.num_players) & 1
        return won / won.sum(1, keepdims=True)

    def margins(self, states: Words) -> npt.NDArray[np.float64]:
        points, _ = self._results(states)
        others = (points.sum(1, keepdims=True) - points) / (self.num_players - 1)
        return points - others

    def position(self, state: Words, seat: Seat | None = None) -> str:
        return positions.position_text(state, seat)

    def information_state(self, state: Words, seat: Seat) -> str:
        return positions.information_state(state, seat)

    def record(self, state: Words) -> tuple[str, list[Action]]:
        return positions.record(state)

    def deck(self, state: Words) -> list[Card]:
        return dealing.deck_of_game(state, self.rules)

    def action_text(self, action: Action) -> str:
        return notation.action_text(action)

    def read_action(self, text: str) -> Action:
        return notation.read_action(text)

    def seat_of(self, state: Words, player: Player) -> Seat:
        return player

    def _results(self, states: Words) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Points of each player `[n, P]`, and the sets of those of whom nobody has more `[n]`."""
        points = np.empty((len(states), self.num_players), np.int64)
        won = np.empty(len(states), np.uint64)
        batch.result_rows(states, points, won)
        return points, won.view(np.int64)
