"""The engine and the oracle playing the same games of Honors side by side, for the tests."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import numpy as np
from honors_oracle import OracleGame, OracleRules
from hypothesis import strategies as st

from tricktable_env.cards import Words
from tricktable_env.game import ENDED, NOBODY, RUNNING, outcome_of
from tricktable_env.honors import Honors

ROW = np.zeros(1, np.int64)

OPTIONS: list[dict[str, Any]] = [
    {},
    {"announce": True},
    {"num_players": 3, "announce": True, "announce_double": "points", "stock": "redeal"},
    {"num_players": 4, "reward": "points"},
    {"num_players": 5, "trump": "random", "stock": "redeal"},
    {"num_players": 6, "trump": "H", "stock": "none", "announce": True},
    {"num_players": 7},
    {"stock": "redeal", "announce": True, "hand": 1, "trump": "D", "reward": "points"},
    {"num_players": 3, "suits": 3, "ranks": 5, "hand": 2, "announce": True},
    {"hand": 26, "trump": "random", "stock": "none", "announce": True},
    {"num_players": 2, "stock": "redeal", "announce": True, "reward": "points"},
]
"""Sets of rules that between them use every option, and every number of players."""


def name_of(options: dict[str, Any]) -> str:
    return ",".join(f"{key}={value}" for key, value in options.items()) or "default"


@st.composite
def game_options(draw: st.DrawFn) -> dict[str, Any]:
    """Draws options that make sense, the full deck as often as a smaller one."""
    full = draw(st.booleans())
    players = draw(st.integers(2, 7))
    suits = 4 if full else draw(st.integers(1, 4))
    ranks = 13 if full else draw(st.integers(-(-players // suits), 13))
    trump = draw(st.sampled_from(["flip", "flip", "random", *"SHDC"[:suits]]))
    most = (suits * ranks - (trump == "flip")) // players
    if most < 1:
        trump, most = "random", 1
    announce = draw(st.booleans())
    return {
        "num_players": players,
        "stock": draw(st.sampled_from(["draw", "draw", "redeal", "none"])),
        "trump": trump,
        "announce": announce,
        "announce_double": draw(st.sampled_from(["tricks", "points"])) if announce else "tricks",
        "reward": draw(st.sampled_from(["win", "points"])),
        "suits": suits,
        "ranks": ranks,
        "hand": min(7, most) if full else draw(st.integers(1, most)),
    }


class SideBySide:
    """Some games of the same rules, in one batch of the engine and one by one in the oracle.

    Args:
        options: options of the rules.
        games: how many.
        seed: of the decks and, in `step_at_random`, of the play.
    """

    def __init__(self, options: dict[str, Any], games: int = 1, seed: int = 0) -> None:
        self.game = Honors(**options)
        self.rules = OracleRules(**options)
        self.rng = random.Random(seed)
        self.states = self.game.new(np.arange(seed, seed + games, dtype=np.uint64))
        self.games: list[OracleGame] = []
        self.decks: list[list[int]] = []
        for state in self.states:
            deck = self.rules.deck
            self.rng.shuffle(deck)
            self.decks.append(deck)
            self.game.deal_deck(state, deck)
            self.games.append(OracleGame(self.rules, deck, drawn_trump(self.game, state)))

    @classmethod
    def from_positions(
        cls, texts: Sequence[str], options: dict[str, Any], seed: int = 0
    ) -> SideBySide:
        """Starts from positions instead of deals."""
        table = cls(options, len(texts), seed)
        for state, text in zip(table.states, texts, strict=True):
            table.game.place(state, text)
        table.games = [OracleGame.from_position(text, table.rules) for text in texts]
        return table

    @property
    def rows(self) -> np.ndarray:
        return np.arange(len(self.states))

    @property
    def seats(self) -> range:
        return range(self.game.num_players)

    @property
    def live(self) -> list[int]:
        """The rows that are not over in the oracle."""
        return [row for row, game in enumerate(self.games) if not game.over]

    def step(self, actions: dict[int, int]) -> None:
        """Takes a legal action in some rows of both, and compares what the step says of them."""
        rows = np.array(list(actions))
        status, paid = self.game.step(self.states, rows, np.array(list(actions.values())))
        for i, (row, action) in enumerate(actions.items()):
            oracle = self.games[row]
            oracle.play(action)
            assert status[i] == (ENDED if oracle.over else RUNNING)
            expected = [oracle.reward(seat) if oracle.over else 0.0 for seat in self.seats]
            assert paid[i].tolist() == np.float32(expected).tolist()

    def step_at_random(self) -> None:
        """Takes a random legal action in every row that is not over."""
        self.step({row: self.rng.choice(self.games[row].legal()) for row in self.live})

    def play_to(self, plies: int) -> None:
        """Takes random legal actions until so many have been taken in every row, or it is over."""
        for _ in range(plies):
            if self.live:
                self.step_at_random()

    def views(self, seat: int) -> Words:
        """Returns the views of a seat, `[games, W] uint64`."""
        return self.game.views(self.states, self.rows, np.full(len(self.states), seat))

    def assert_same(self) -> None:
        """Compares what both say of every game: texts, who acts, what is legal, points."""
        players = self.game.players(self.states, self.rows)
        masks = [self.game.masks(self.views(seat)) for seat in self.seats]
        points = self.game.outcomes(self.states)["points"]
        for row, (state, oracle) in enumerate(zip(self.states, self.games, strict=True)):
            assert players[row] == (NOBODY if oracle.over else oracle.turn)
            for seat in (None, *self.seats):
                assert self.game.position(state, seat) == oracle.position(seat)
            for seat in self.seats:
                assert self.game.information_state(state, seat) == oracle.information_state(seat)
                legal = oracle.legal() if seat == oracle.turn else []
                assert np.flatnonzero(masks[seat][row]).tolist() == legal
            assert points[row].tolist() == [oracle.total(seat) for seat in self.seats]
            winner = ",".join(map(str, oracle.winners())) if oracle.over else None
            assert outcome_of(self.game, state)["winner"] == winner


def drawn_trump(game: Honors, state: Words) -> int | None:
    """Returns the suit that the engine drew for a game with `trump="random"`, else None."""
    if game.rules.trump != "random":
        return None
    return "SHDC".index(game.position(state).split(" ")[1])


def dealt(game: Honors, deck: list[int]) -> Words:
    """Returns a batch of one game dealt from a deck."""
    states = game.new(np.zeros(1, np.uint64))
    game.deal_deck(states[0], deck)
    return states
