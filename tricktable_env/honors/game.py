"""Honors as the adapters see it: the verbs of `tricktable_env.game`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tricktable_env.cards import Mask, Seat, Words
from tricktable_env.game import Action, Bytes, Player, Rows, Slice, check_options, whole_numbers
from tricktable_env.honors import batch, notation, observation, positions
from tricktable_env.honors.rules import Rules, deal_order, pack_options
from tricktable_env.honors.state import DECK, LEFT, NUM_ACTIONS, OPTIONS, RNG, WORDS


class Honors:
    """The game of Honors with its rules fixed; see `tricktable_env.game.Game` for the verbs.

    Seats never change, so a seat and a player are the same number; 0 is the dealer's left.

    Args:
        **rules: options of `Rules`.

    Raises:
        RulesError: no such option, or one that makes no sense.
    """

    name = "honors"
    rules_type = Rules
    num_actions = NUM_ACTIONS
    words = WORDS
    history_size = observation.HISTORY_SIZE
    seat_names: Mapping[str, Player] = {}

    def __init__(self, /, **rules: Any) -> None:
        check_options(self.name, Rules, rules)
        self.rules = Rules(**rules)
        self.num_players = self.rules.num_players
        self.observation_size = observation.observation_size(self.num_players)
        self.full_size = observation.full_size(self.num_players)
        self.mask_slice = slice(self.observation_size - NUM_ACTIONS, self.observation_size)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Honors) and self.rules == other.rules

    def __hash__(self) -> int:
        return hash((self.name, self.rules))

    def __repr__(self) -> str:
        return f"Honors({self.rules})"

    @property
    def observation_high(self) -> Bytes:
        return observation.high(self.num_players)

    @property
    def layout(self) -> tuple[Slice, ...]:
        return observation.layout(self.num_players)

    @property
    def full_layout(self) -> tuple[Slice, ...]:
        return observation.full_layout(self.num_players)

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
        deal_order(state, np.array(deck, np.int64), len(deck))

    def place(self, state: Words, position: str) -> None:
        positions.place(state, position, self.rules)

    def players(self, states: Words, rows: Rows) -> npt.NDArray[np.int64]:
        out = np.empty(len(rows), np.int64)
        batch.player_rows(states, rows, out)
        return out

    def step(
        self, states: Words, rows: Rows, actions: npt.NDArray[np.int64]
    ) -> tuple[npt.NDArray[np.int8], npt.NDArray[np.float32]]:
        status = np.empty(len(rows), np.int8)
        paid = np.empty((len(rows), self.num_players), np.float32)
        batch.step_rows(states, rows, whole_numbers(actions), status, paid)
        return status, paid

    # -- what is seen ------------------------------------------------------------------------
    def views(self, states: Words, rows: Rows, players: npt.NDArray[np.int64]) -> Words:
        out = np.empty((len(rows), WORDS), np.uint64)
        self._check_players(players)
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
        self._check_players(players)
        batch.observe_rows(states, rows, players, out, masks)
        return out, masks

    def histories(self, states: Words, rows: Rows, players: npt.NDArray[np.int64]) -> Bytes:
        out = np.empty((len(rows), self.history_size), np.uint8)
        self._check_players(players)
        batch.history_rows(states, rows, players, out)
        return out

    def observe_full(self, states: Words, rows: Rows, players: npt.NDArray[np.int64]) -> Bytes:
        out, masks = self._blank(len(rows), self.full_size)
        self._check_players(players)
        batch.full_rows(states, rows, players, out, masks)
        return out

    def sample(self, view: Words, rng: np.random.Generator) -> Words:
        out = np.empty((1, WORDS), np.uint64)
        words = rng.integers(2**64, size=1, dtype=np.uint64)
        batch.sample_rows(view[None], words, out)
        return out[0]

    # -- words -------------------------------------------------------------------------------
    def outcomes(self, states: Words) -> dict[str, npt.NDArray[Any]]:
        points, won = self._results(states)
        texts = np.full(len(states), None, object)
        for row in np.flatnonzero(states[:, LEFT] == 0):
            texts[row] = ",".join(str(seat) for seat in np.flatnonzero(won[row]))
        return {"winner": texts, "points": points}

    def shares(self, states: Words) -> npt.NDArray[np.float64]:
        _, won = self._results(states)
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

    def action_text(self, action: Action) -> str:
        return notation.action_text(action)

    def read_action(self, text: str) -> Action:
        return notation.read_action(text)

    def seat_of(self, state: Words, player: Player) -> Seat:
        return player

    def _results(self, states: Words) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
        """Points of each player `[n, P]`, and whether nobody has more `[n, P]`."""
        points = np.empty((len(states), self.num_players), np.int64)
        won = np.empty(len(states), np.uint64)
        batch.result_rows(states, points, won)
        seats = np.arange(self.num_players, dtype=np.uint64)
        return points, won[:, None] >> seats & np.uint64(1) == 1

    def _blank(self, rows: int, size: int) -> tuple[Bytes, Mask]:
        return np.empty((rows, size), np.uint8), np.empty((rows, NUM_ACTIONS), np.int8)

    def _check_players(self, players: npt.NDArray[np.int64]) -> None:
        if not batch.are_players(players, self.num_players):
            raise ValueError(f"players are 0 to {self.num_players - 1}, not {players.tolist()}")
