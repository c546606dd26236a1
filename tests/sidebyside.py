"""The engine and the oracle playing the same rounds side by side, for the tests to compare."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st
from oracle import OracleRound
from oracle_texts import SEATS, SUITS, OracleRules, read_position

from tricktable_env.cards import Mask, Words
from tricktable_env.game import ENDED, NOBODY, RUNNING, outcome_of
from tricktable_env.tableau import Tableau

ROUND_OPTIONS: list[dict[str, Any]] = [
    {},
    {"tie": "draw", "call_cards": 0, "first_lead": "dealer"},
    {"trump": "random", "tie": "caller", "hand": 6, "piles": 7},
    {"trump": "none", "suits": 3, "ranks": 5, "hand": 3, "piles": 2, "reward": "margin"},
    {"trump": "H", "suits": 2, "ranks": 13, "hand": 1, "piles": 6},
    {"suits": 4, "ranks": 4, "hand": 3, "piles": 2, "call_cards": 3},
    {"hand": 26, "piles": 0},
    {"hand": 0, "piles": 13},
]
"""Sets of rules that between them use every option of a round."""


@st.composite
def round_options(draw: st.DrawFn) -> dict[str, Any]:
    """Draws options of a single round that make sense, the full deck as often as a smaller one."""
    full = draw(st.booleans())
    suits = 4 if full else draw(st.integers(1, 4))
    ranks = 13 if full else draw(st.integers(2, 13))
    tricks = 26 if full else draw(st.integers(1, suits * ranks // 2))
    piles = draw(st.integers(0, tricks // 2))
    hand = tricks - 2 * piles
    return {
        "suits": suits,
        "ranks": ranks,
        "hand": hand,
        "piles": piles,
        "call_cards": draw(st.none() | st.integers(0, hand)),
        "trump": draw(st.sampled_from(["call", "call", "random", "none", *SUITS[:suits]])),
        "tie": draw(st.sampled_from(["dealer", "caller", "draw"])),
        "first_lead": draw(st.sampled_from(SEATS)),
        "reward": draw(st.sampled_from(["win", "margin"])),
    }


class SideBySide:
    """Some rounds of the same rules, in one batch of the engine and one by one in the oracle.

    Args:
        options: options of the rules, of a single round.
        rounds: how many.
        seed: of the decks and, in `step_at_random`, of the play.

    Attributes:
        game: the engine's game.
        rules: the oracle's rules.
        states: `[rounds, W] uint64`, the engine's batch.
        rounds: the oracle's rounds.
        decks: the decks that were dealt.
    """

    def __init__(self, options: dict[str, Any], rounds: int = 1, seed: int = 0) -> None:
        self.game = Tableau(**options)
        self.rules = OracleRules(**options)
        self.rng = random.Random(seed)
        self.states = self.game.new(np.arange(seed, seed + rounds, dtype=np.uint64))
        self.rounds: list[OracleRound] = []
        self.decks: list[list[int]] = []
        for state in self.states:
            deck = self.rules.deck
            self.rng.shuffle(deck)
            self.decks.append(deck)
            self.game.deal_deck(state, deck)
            self.rounds.append(OracleRound(self.rules, deck, drawn_trump(self.game, state)))

    @classmethod
    def from_positions(
        cls, texts: Sequence[str], options: dict[str, Any], seed: int = 0
    ) -> SideBySide:
        """Starts from positions instead of deals."""
        table = cls(options, len(texts), seed)
        for state, text in zip(table.states, texts, strict=True):
            table.game.place(state, text)
        table.rounds = [OracleRound.from_position(text, table.rules) for text in texts]
        return table

    @property
    def rows(self) -> np.ndarray:
        """All rows."""
        return np.arange(len(self.states))

    @property
    def live(self) -> list[int]:
        """The rows that are not over in the oracle."""
        return [row for row, round_ in enumerate(self.rounds) if round_.phase != "over"]

    def step(self, actions: dict[int, int]) -> None:
        """Takes a legal action in some rows of both, and compares what the step says of them."""
        rows = np.array(list(actions))
        status, paid = self.game.step(self.states, rows, np.array(list(actions.values())))
        for i, (row, action) in enumerate(actions.items()):
            round_ = self.rounds[row]
            round_.play(action)
            over = round_.phase == "over"
            assert status[i] == (ENDED if over else RUNNING)
            expected = [round_.reward(seat) if over else 0.0 for seat in (0, 1)]
            assert paid[i].tolist() == np.float32(expected).tolist()

    def step_at_random(self) -> None:
        """Takes a random legal action in every row that is not over."""
        self.step({row: self.rng.choice(self.rounds[row].legal()) for row in self.live})

    def play_to(self, plies: int) -> None:
        """Takes random legal actions until so many have been taken in every row, or it is over."""
        while any(len(self.rounds[row].history) < plies for row in self.live):
            self.step_at_random()

    def views(self, seat: int) -> Words:
        """Returns the views of a seat, `[rounds, W] uint64`."""
        return self.game.views(self.states, self.rows, np.full(len(self.states), seat))

    def masks(self, seat: int) -> Mask:
        """Returns the masks of a seat, `[rounds, 56] int8`."""
        return self.game.masks(self.views(seat))

    def assert_same(self) -> None:
        """Compares what both say of every round: positions, who acts, what is legal, results."""
        players = self.game.players(self.states, self.rows)
        masks = [self.masks(seat) for seat in (0, 1)]
        for row, (state, round_) in enumerate(zip(self.states, self.rounds, strict=True)):
            for seat in (None, 0, 1):
                assert self.game.position(state, seat) == round_.position(seat)
            over = round_.phase == "over"
            assert players[row] == (NOBODY if over else round_.turn)
            for seat in (0, 1):
                legal = round_.legal() if seat == round_.turn else []
                assert np.flatnonzero(masks[seat][row]).tolist() == legal
                assert masks[seat][row].max() <= 1
            if over:
                outcome = outcome_of(self.game, state)
                assert outcome["winner"] == round_.winner()
                assert outcome["tricks"].tolist() == round_.tricks


def dealt(game: Tableau, deck: list[int], trump: int | None = None) -> Words:
    """Returns a batch of one round dealt from a deck.

    Args:
        game: the engine's game.
        deck: every card of its deck, in the order dealt.
        trump: the suit to be drawn where the rules say `trump="random"`: dealt until it is.
    """
    states = game.new(np.zeros(1, np.uint64))
    game.deal_deck(states[0], deck)
    while trump is not None and drawn_trump(game, states[0]) != trump:
        game.deal_deck(states[0], deck)
    return states


def drawn_trump(game: Tableau, state: Words) -> int | None:
    """Returns the suit that the engine drew for a round with `trump="random"`, else None."""
    if game.rules.trump != "random":
        return None
    return SUITS.index(game.position(state).split(" ")[1])


def deck_of_deal(game: Tableau, state: Words) -> list[int]:
    """Returns an order of the deck that deals a round as the engine has just dealt it.

    Cards that come to the same place without an order among them stand as the position has them.
    """
    position = read_position(game.position(state))
    hands = [[card for part in parts for card in part] for parts in position.hands]
    tops = [[pile[0] for pile in table] for table in position.tables]
    unders = [[pile[1] for pile in table] for table in position.tables]
    rules = OracleRules(**asdict(game.rules))
    first, second, _ = rules.batches
    deck = hands[0][:first] + hands[1][:first] + unders[0] + unders[1] + tops[0] + tops[1]
    for start, end in ((first, first + second), (first + second, None)):
        deck += hands[0][start:end] + hands[1][start:end]
    return deck + [card for card in rules.deck if card not in deck]


def run_python(
    code: str, *arguments: str, path: Path | None = None, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Runs a program in a process of its own, in which the same package is found, or another.

    Args:
        code: the program.
        *arguments: what it finds in `sys.argv[1:]`.
        path: the folder that the package is imported from, instead of this process's.
        **environment: variables to set besides those of this process.

    Returns:
        The finished process; it has not failed.
    """
    import tricktable_env

    root = path or Path(tricktable_env.__file__).parent.parent
    result = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env={**os.environ, "PYTHONPATH": str(root), **environment},
        cwd=root,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert result.returncode == 0, result.stderr
    return result
