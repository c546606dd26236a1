"""Tableau as the adapters see it: the verbs of `tricktable_env.game`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tricktable_env.cards import Card, Seat, Suit, Words
from tricktable_env.game import Action, Bytes, Player, Slice
from tricktable_env.packed import PackedGame, check_trump
from tricktable_env.tableau import batch, dealing, notation, observation, positions
from tricktable_env.tableau.rules import Rules, deal_order, pack_options, player_of
from tricktable_env.tableau.state import (
    CALLER,
    DEALER,
    DECK,
    LEFT,
    MATCH,
    NUM_ACTIONS,
    OPTIONS,
    RESULT,
    RNG,
    TRICKS,
    TRUMP,
    WORDS,
    note_start,
)

_WINNERS = np.array(["caller", "dealer", "draw", None], object)
_SHARES = np.array([(1, 0), (0, 1), (0.5, 0.5), (0, 0), (0, 1), (1, 0), (0.5, 0.5)])
"""Of the winner of a round (2 bits), and the player who was its caller (1 bit) above them."""


class Tableau(PackedGame):
    """The game of Tableau with its rules fixed; see `tricktable_env.game.Game` for the verbs.

    Args:
        **rules: options of `Rules`.

    Raises:
        RulesError: no such option, or one that makes no sense.
    """

    loops = batch
    name = "tableau"
    rules_type = Rules
    num_players = 2
    num_actions = NUM_ACTIONS
    words = WORDS
    observation_size = observation.OBSERVATION_SIZE
    history_size = observation.HISTORY_SIZE
    full_size = observation.FULL_SIZE
    mask_slice = slice(observation.LEGAL_AT, observation.OBSERVATION_SIZE)
    seat_names: Mapping[str, Player] = {"caller": 0, "dealer": 1}

    @property
    def observation_high(self) -> Bytes:
        return observation.high()

    @property
    def layout(self) -> tuple[Slice, ...]:
        return observation.layout()

    @property
    def full_layout(self) -> tuple[Slice, ...]:
        return observation.full_layout()

    @property
    def reward_bound(self) -> float:
        return 1.0

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
        _begin(state)
        deal_order(state, np.array(deck, np.int64), len(deck))
        if trump is not None:
            state[TRUMP] = trump
            note_start(state)

    def place(self, state: Words, position: str) -> None:
        positions.place(state, position, self.rules)
        _begin(state)

    # -- words -------------------------------------------------------------------------------
    def outcomes(self, states: Words) -> dict[str, npt.NDArray[Any]]:
        codes = states[:, RESULT].view(np.int64) >> 12 & 3
        codes[states[:, LEFT] != 0] = 3
        winners = _WINNERS.take(codes)
        return {"winner": winners, "tricks": states[:, TRICKS : TRICKS + 2].astype(np.int64)}

    def shares(self, states: Words) -> npt.NDArray[np.float64]:
        return _SHARES.take(states[:, RESULT].view(np.int64) >> 12 & 7, 0)

    def margins(self, states: Words) -> npt.NDArray[np.float64]:
        tricks = states[:, TRICKS : TRICKS + 2].astype(np.float64)
        swapped = states[:, MATCH] >> 16 & 1 == 1  # player 1 is the caller
        first = np.where(swapped, -1.0, 1.0) * (tricks[:, CALLER] - tricks[:, DEALER])
        return np.stack([first, 0 - first], 1)

    def position(self, state: Words, seat: Seat | None = None) -> str:
        return positions.position_text(state, seat)

    def information_state(self, state: Words, seat: Seat) -> str:
        return positions.information_state(state, seat)

    def record(self, state: Words) -> tuple[str, list[Action]]:
        return positions.record(state)

    def deck(self, state: Words) -> list[Card]:
        return dealing.deck_of_round(state, self.rules)

    def action_text(self, action: Action) -> str:
        return notation.action_text(action)

    def read_action(self, text: str) -> Action:
        return notation.read_action(text)

    def seat_of(self, state: Words, player: Player) -> Seat:
        return int(player_of(state, player))


def _begin(state: Words) -> None:
    """A new episode: no round won yet, nothing ended."""
    state[MATCH] = 0
    state[RESULT] = 0
