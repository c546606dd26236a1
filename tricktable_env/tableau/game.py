"""Tableau as the adapters see it: the verbs of `tricktable_env.game`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tricktable_env.cards import Mask, Seat, Words
from tricktable_env.game import Action, Bytes, Player, Rows, Slice, check_options, whole_numbers
from tricktable_env.tableau import batch, notation, observation, positions
from tricktable_env.tableau.rules import DRAW, Rules, deal_order, pack_options, player_of
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
    WORDS,
)

_WINNERS = np.array(["caller", "dealer", "draw"], object)


class Tableau:
    """The game of Tableau with its rules fixed; see `tricktable_env.game.Game` for the verbs.

    Args:
        **rules: options of `Rules`.

    Raises:
        RulesError: no such option, or one that makes no sense.
    """

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

    def __init__(self, /, **rules: Any) -> None:
        check_options(self.name, Rules, rules)
        self.rules = Rules(**rules)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tableau) and self.rules == other.rules

    def __hash__(self) -> int:
        return hash((self.name, self.rules))

    def __repr__(self) -> str:
        return f"Tableau({self.rules})"

    @property
    def observation_high(self) -> Bytes:
        return observation.high()

    @property
    def layout(self) -> tuple[Slice, ...]:
        return observation.layout()

    @property
    def full_layout(self) -> tuple[Slice, ...]:
        return observation.full_layout()

    # -- states ------------------------------------------------------------------------------
    def new(self, seeds: npt.NDArray[np.uint64]) -> Words:
        states = np.zeros((len(seeds), WORDS), np.uint64)
        states[:, OPTIONS] = pack_options(self.rules)
        states[:, DECK] = self.rules.deck
        states[:, RNG] = seeds
        return states

    def deal(self, states: Words, rows: Rows) -> None:
        batch.deal_rows(states, rows)

    def deal_deck(self, state: Words, deck: Sequence[int]) -> None:
        positions.check_deck(deck, self.rules)
        _begin(state)
        deal_order(state, np.array(deck, np.int64), len(deck))

    def place(self, state: Words, position: str) -> None:
        positions.place(state, position, self.rules)
        _begin(state)

    def players(self, states: Words, rows: Rows) -> npt.NDArray[np.int64]:
        out = np.empty(len(rows), np.int64)
        batch.player_rows(states, rows, out)
        return out

    def step(
        self, states: Words, rows: Rows, actions: npt.NDArray[np.int64]
    ) -> tuple[npt.NDArray[np.int8], npt.NDArray[np.float32]]:
        status = np.empty(len(rows), np.int8)
        paid = np.empty((len(rows), 2), np.float32)
        batch.step_rows(states, rows, whole_numbers(actions), status, paid)
        return status, paid

    # -- what is seen ------------------------------------------------------------------------
    def views(self, states: Words, rows: Rows, players: npt.NDArray[np.int64]) -> Words:
        out = np.empty((len(rows), WORDS), np.uint64)
        _check_players(players)
        batch.view_rows(states, rows, players, out)
        return out

    def masks(self, views: Words) -> Mask:
        masks = np.empty((len(views), NUM_ACTIONS), np.int8)
        batch.mask_rows(views, masks)
        return masks

    def encode(self, views: Words) -> tuple[Bytes, Mask]:
        out, masks = self._blank(len(views), self.observation_size)
        batch.encode_rows(views, out, masks)
        return out, masks

    def observe(
        self, states: Words, rows: Rows, players: npt.NDArray[np.int64]
    ) -> tuple[Bytes, Mask]:
        out, masks = self._blank(len(rows), self.observation_size)
        _check_players(players)
        batch.observe_rows(states, rows, players, out, masks)
        return out, masks

    def histories(self, states: Words, rows: Rows, players: npt.NDArray[np.int64]) -> Bytes:
        out = np.empty((len(rows), self.history_size), np.uint8)
        batch.history_rows(states, rows, out)
        return out

    def observe_full(self, states: Words, rows: Rows, players: npt.NDArray[np.int64]) -> Bytes:
        out, masks = self._blank(len(rows), self.full_size)
        _check_players(players)
        batch.full_rows(states, rows, players, out, masks)
        return out

    def sample(self, view: Words, rng: np.random.Generator) -> Words:
        out = np.empty((1, WORDS), np.uint64)
        words = rng.integers(2**64, size=1, dtype=np.uint64)
        batch.sample_rows(view[None], words, out)
        return out[0]

    # -- words -------------------------------------------------------------------------------
    def outcomes(self, states: Words) -> dict[str, npt.NDArray[Any]]:
        winners = _WINNERS[states[:, RESULT].astype(np.int64) >> 12 & 3]
        winners[states[:, LEFT] != 0] = None
        return {"winner": winners, "tricks": states[:, TRICKS : TRICKS + 2].astype(np.int64)}

    def shares(self, states: Words) -> npt.NDArray[np.float64]:
        result = states[:, RESULT].astype(np.int64)
        winner, caller = result >> 12 & 3, result >> 14 & 1
        first = np.where(winner == DRAW, 0.5, winner == caller)
        return np.stack([first, 1 - first], 1)

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

    def action_text(self, action: Action) -> str:
        return notation.action_text(action)

    def read_action(self, text: str) -> Action:
        return notation.read_action(text)

    def seat_of(self, state: Words, player: Player) -> Seat:
        return int(player_of(state, player))

    def _blank(self, rows: int, size: int) -> tuple[Bytes, Mask]:
        return np.empty((rows, size), np.uint8), np.empty((rows, NUM_ACTIONS), np.int8)


def _begin(state: Words) -> None:
    """A new episode: no round won yet, nothing ended."""
    state[MATCH] = 0
    state[RESULT] = 0


def _check_players(players: npt.NDArray[np.int64]) -> None:
    if not batch.are_players(players):
        raise ValueError(f"players are 0 and 1, not {players.tolist()}")
