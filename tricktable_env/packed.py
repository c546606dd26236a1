"""What the games share as classes: verbs of `game` that hand packed rows to a game's batch loops.

Each game has loops of its own (`batch`), for numba compiles kernels made by a factory anew in every
process; what surrounds a loop, the arrays and the checks, is the same for all and stands here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from tricktable_env.cards import SUITS, Mask, Suit, Words
from tricktable_env.game import Bytes, PositionError, Rows, check_options, whole_numbers
from tricktable_env.jit import kernel


class PackedGame:
    """A game whose states and views are packed rows; see `tricktable_env.game.Game` for the verbs.

    Args:
        **rules: options of `rules_type`.

    Raises:
        RulesError: no such option, or one that makes no sense.
    """

    loops: Any
    """The game's module of batch loops."""
    name: str
    rules_type: type[Any]
    words: int
    num_actions: int
    history_size: int
    num_players: int
    observation_size: int
    full_size: int

    def __init__(self, /, **rules: Any) -> None:
        check_options(self.name, self.rules_type, rules)
        self.rules = self.rules_type(**rules)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self.rules == other.rules

    def __hash__(self) -> int:
        return hash((self.name, self.rules))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.rules})"

    # -- states ------------------------------------------------------------------------------
    def deal(self, states: Words, rows: Rows) -> None:
        self.loops.deal_rows(states, rows)

    def players(self, states: Words, rows: Rows) -> npt.NDArray[np.int64]:
        out = np.empty(len(rows), np.int64)
        self.loops.player_rows(states, rows, out)
        return out

    def step(
        self, states: Words, rows: Rows, actions: npt.NDArray[np.int64]
    ) -> tuple[npt.NDArray[np.int8], npt.NDArray[np.float32]]:
        status = np.empty(len(rows), np.int8)
        paid = np.empty((len(rows), self.num_players), np.float32)
        self.loops.step_rows(states, rows, whole_numbers(actions), status, paid)
        return status, paid

    @property
    def play(self) -> Callable[..., int]:
        played: Callable[..., int] = self.loops.play_rows
        return played

    @property
    def begin(self) -> Callable[..., int]:
        begun: Callable[..., int] = self.loops.begin_rows
        return begun

    # -- what is seen ------------------------------------------------------------------------
    def views(self, states: Words, rows: Rows, players: npt.NDArray[np.int64]) -> Words:
        out = np.empty((len(rows), self.words), np.uint64)
        self._check_players(players)
        self.loops.view_rows(states, rows, players, out)
        return out

    def masks(self, views: Words) -> Mask:
        masks = np.empty((len(views), self.num_actions), np.int8)
        self.loops.mask_rows(views, masks)
        return masks

    def encode(self, views: Words) -> tuple[Bytes, Mask]:
        out, masks = self._blank(len(views), self.observation_size)
        self.loops.encode_rows(views, out, masks)
        return out, masks

    def observe(
        self, states: Words, rows: Rows, players: npt.NDArray[np.int64]
    ) -> tuple[Bytes, Mask]:
        out, masks = self._blank(len(rows), self.observation_size)
        self._check_players(players)
        self.loops.observe_rows(states, rows, players, out, masks)
        return out, masks

    def histories(self, states: Words, rows: Rows, players: npt.NDArray[np.int64]) -> Bytes:
        out = np.empty((len(rows), self.history_size), np.uint8)
        self._check_players(players)
        self.loops.history_rows(states, rows, players, out)
        return out

    def observe_full(self, states: Words, rows: Rows, players: npt.NDArray[np.int64]) -> Bytes:
        out, masks = self._blank(len(rows), self.full_size)
        self._check_players(players)
        self.loops.full_rows(states, rows, players, out, masks)
        return out

    def sample(self, view: Words, rng: np.random.Generator) -> Words:
        out: Words = np.empty((1, self.words), np.uint64)
        words = rng.integers(2**64, size=1, dtype=np.uint64)
        self.loops.sample_rows(view[None], words, out)
        state: Words = out[0]
        return state

    def _blank(self, rows: int, size: int) -> tuple[Bytes, Mask]:
        return np.empty((rows, size), np.uint8), np.empty((rows, self.num_actions), np.int8)

    def _check_players(self, players: npt.NDArray[np.int64]) -> None:
        if not are_players(players, self.num_players):
            raise ValueError(f"players are 0 to {self.num_players - 1}, not {players.tolist()}")


def check_trump(trump: Suit | None, rules: Any) -> None:
    """Refuses a trump for a deal that does not draw it at random from the suits of the deck.

    Raises:
        PositionError: why.
    """
    if trump is None:
        return
    if rules.trump != "random":
        raise PositionError(f"trump {trump!r} for a deal, but the rules say trump={rules.trump!r}")
    if trump not in range(rules.suits):
        raise PositionError(
            f"trump {trump!r} is no suit of the deck: 0 to {rules.suits - 1} for "
            f"{SUITS[: rules.suits]}"
        )


@kernel
def are_players(players: np.ndarray, count: int) -> bool:
    """Whether all are 0 to `count` - 1: a view of anybody else would be of nothing, or of all."""
    ok = True
    for i in range(players.shape[0]):
        ok &= 0 <= players[i] < count
    return ok
