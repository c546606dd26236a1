"""Proofs by number: a million games, and hours of stepping; a short form of each runs always.

`python -m pytest -m long tests/test_long_proofs.py` runs the long forms.
"""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from env_play import ID, legal_choice, legal_choices
from oracle import OracleRound
from oracle_texts import OracleRules
from sidebyside import ROUND_OPTIONS, deck_of_deal, drawn_trump
from test_rules import assert_ended_well, bits

from tricktable_env import render, tableau_v0
from tricktable_env.cards import Mask, Words
from tricktable_env.game import ILLEGAL, RUNNING, outcome_of
from tricktable_env.tableau import Tableau
from tricktable_env.tableau.state import (
    CALL,
    COVER,
    HAND,
    LEAD,
    LEFT,
    NO_TRUMP,
    NOT_CALLED,
    OUT,
    PLAYED,
    TRICKS,
    TRUMP,
    TURN,
    UP,
)

CHUNK = 12_500
ONE_OF = 1_000
"""One game of so many is played in the oracle too; at least `AT_LEAST` of a chunk."""
AT_LEAST = 4
MEBIBYTE = 2**20


# -- a million games -------------------------------------------------------------------------
def numbers(states: Words, word: int) -> np.ndarray:
    return states[:, word].astype(np.int64)


def own(states: Words, word: int) -> Words:
    """The word of the seat to act, of a pair of words."""
    return states[np.arange(len(states)), word + numbers(states, TURN)]


def assert_cards_are_kept(game: Tableau, states: Words) -> None:
    """Every card of the deck is in one place; what lies covered is as many as the piles say."""
    places = [HAND, HAND + 1, UP, UP + 1, PLAYED, PLAYED + 1, OUT]
    counts = np.bitwise_count(states)
    covered = counts[:, COVER] + counts[:, COVER + 1]
    seen = np.bitwise_or.reduce(states[:, places], axis=1)
    assert (np.bitwise_count(seen) == counts[:, places].sum(1)).all(), "a card in two places"
    deck = game.rules.suits * game.rules.ranks
    assert (counts[:, places].sum(1) + covered == deck).all(), "a card is lost"
    for seat in (0, 1):
        assert ((states[:, COVER + seat] & ~states[:, UP + seat]) == 0).all()


def assert_masks(states: Words, masks: Mask) -> None:
    """The legal actions as the rules say, worked out card by card."""
    calls = numbers(states, TRUMP) == NOT_CALLED
    assert not masks[calls, :CALL].any()
    assert not masks[~calls, CALL:].any()
    assert masks[calls].any(1).all()
    held = bits(own(states, HAND) | own(states, UP))[:, :CALL]
    led = numbers(states, LEAD) - 1
    suit_led = np.arange(CALL) // 13 == led[:, None] // 13
    follow = held & suit_led
    legal = np.where((follow.any(1) & (led >= 0))[:, None], follow, held)
    assert (masks[~calls, :CALL] == legal[~calls]).all()


def assert_step(before: Words, actions: np.ndarray, after: Words) -> None:
    """What an action did: the card is played, the trick goes to its winner, who acts next."""
    n = np.arange(len(before))
    seat, trump, led = (numbers(before, word) for word in (TURN, TRUMP, LEAD))
    led -= 1
    played = bits(after[n, PLAYED + seat] & ~before[n, PLAYED + seat])[:, :CALL]
    is_card = actions < CALL
    assert (played[is_card].sum(1) == 1).all()
    assert (played[is_card].argmax(1) == actions[is_card]).all()
    assert not played[~is_card].any()
    assert (numbers(after, TRUMP)[~is_card] == actions[~is_card] - CALL).all()
    leads, follows = is_card & (led < 0), is_card & (led >= 0)
    assert (numbers(after, TURN)[leads] == 1 - seat[leads]).all()
    assert (numbers(after, LEAD)[leads] == actions[leads] + 1).all()
    same_suit = actions // 13 == led // 13
    ruffs = ~same_suit & (trump != NO_TRUMP) & (actions // 13 == trump)
    winner = np.where((same_suit & (actions > led)) | ruffs, seat, 1 - seat)
    assert (numbers(after, TURN)[follows] == winner[follows]).all()
    for taker in (0, 1):
        more = numbers(after, TRICKS + taker) - numbers(before, TRICKS + taker)
        assert (more == (follows & (winner == taker))).all()
    assert (numbers(before, LEFT) - numbers(after, LEFT) == follows).all()


def play_and_check(game: Tableau, games: int, seed: int) -> None:
    """Plays random games to their ends, checking every state, and some of them in the oracle."""
    rng = np.random.default_rng(seed)
    states = game.new(rng.integers(2**63, size=games, dtype=np.uint64))
    rows = np.arange(games)
    game.deal(states, rows)
    rules = OracleRules(**asdict(game.rules))
    sample = rng.choice(games, min(games, max(AT_LEAST, games // ONE_OF)), replace=False)
    oracle = {
        int(row): OracleRound(
            rules, deck_of_deal(game, states[row]), drawn_trump(game, states[row])
        )
        for row in sample
    }
    paid = np.zeros((games, 2), np.float32)
    while len(rows):
        players = game.players(states, rows)
        masks = game.masks(game.views(states, rows, players))
        before = states[rows]
        assert_cards_are_kept(game, before)
        assert_masks(before, masks)
        actions = (rng.random(masks.shape) * masks).argmax(axis=1)
        for i in np.flatnonzero(np.isin(rows, sample)):
            round_ = oracle[int(rows[i])]
            assert game.position(before[i]) == round_.position()
            assert (round_.turn, round_.legal()) == (
                players[i],
                np.flatnonzero(masks[i]).tolist(),
            )
            round_.play(int(actions[i]))
        status, paid[rows] = game.step(states, rows, actions)
        assert (status != ILLEGAL).all()
        assert not paid[rows][status == RUNNING].any(), "only the end pays"
        assert_step(before, actions, states[rows])
        rows = rows[status == RUNNING]
    assert_cards_are_kept(game, states)
    assert_ended_well(game, states, paid)
    for row, round_ in oracle.items():
        outcome = outcome_of(game, states[row])
        assert (outcome["winner"], outcome["tricks"].tolist()) == (round_.winner(), round_.tricks)
        assert paid[row].tolist() == [np.float32(round_.reward(seat)) for seat in (0, 1)]


@pytest.mark.parametrize("options", ROUND_OPTIONS, ids=str)
@pytest.mark.parametrize("games", [200, pytest.param(125_000, marks=pytest.mark.long)])
def test_random_games_keep_the_rules_at_every_step(options: dict[str, Any], games: int) -> None:
    # Eight sets of options: a million games in the long form.
    assert len(ROUND_OPTIONS) == 8
    game = Tableau(**options)
    for start in range(0, games, CHUNK):
        play_and_check(game, min(CHUNK, games - start), seed=start)


def test_the_checks_find_faults() -> None:
    game = Tableau()
    states, rows = game.new(np.arange(3, dtype=np.uint64)), np.arange(3)
    game.deal(states, rows)
    for _ in range(4):
        masks = game.masks(game.views(states, rows, game.players(states, rows)))
        before, actions = states.copy(), masks.argmax(1)
        game.step(states, rows, actions)
    lost, twice, trick, more = states.copy(), states.copy(), states.copy(), masks.copy()
    lost[0, HAND] &= lost[0, HAND] - np.uint64(1)
    twice[0, HAND] |= twice[0, HAND + 1]
    trick[0, TRICKS] += np.uint64(1)
    more[0, :CALL] = 1
    faults: list[Callable[[], None]] = [
        lambda: assert_cards_are_kept(game, lost),
        lambda: assert_cards_are_kept(game, twice),
        lambda: assert_masks(before, more),
        lambda: assert_step(before, actions, trick),
    ]
    for fault in faults:
        with pytest.raises(AssertionError):
            fault()


# -- hours of stepping -----------------------------------------------------------------------
def resident() -> int:
    """The memory that this process holds, in bytes."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


class Stepping:
    """One of each environment, stepped in turn, with the texts and pictures that they give."""

    def __init__(self) -> None:
        self.rng = np.random.default_rng(0)
        self.single: Any = gymnasium.make(ID, opponent="greedy", rounds_to_win=2)
        self.many: Any = gymnasium.make_vec(ID, num_envs=64, opponent="random", observation="dict")
        self.own: Any = gymnasium.make_vec(ID, num_envs=64, opponent="self")
        self.aec: Any = tableau_v0.env()
        self.infos = [env.reset(seed=1)[1] for env in (self.single, self.many, self.own)]
        self.aec.reset(seed=1)
        self.game = Tableau()
        self.states = self.game.new(np.zeros(1, np.uint64))

    def step(self) -> None:
        single = self.single
        *_, ended, _, self.infos[0] = single.step(legal_choice(self.infos[0], self.rng))
        if ended:
            position = single.unwrapped.game.position
            _, self.infos[0] = single.reset()
            text = position(single.unwrapped.episodes.states[0])
            _, self.infos[0] = single.reset(options={"position": text})
        for i, env in ((1, self.many), (2, self.own)):
            *_, self.infos[i] = env.step(legal_choices(self.infos[i]["action_mask"], self.rng))
        observation, _, terminated, truncated, _ = self.aec.last()
        if terminated or truncated:
            self.aec.reset()
        else:
            mask = observation["action_mask"]
            self.aec.step(int(self.rng.choice(np.flatnonzero(mask))))
        self.look()

    def look(self) -> None:
        """Deals, draws, writes and samples."""
        row = np.zeros(1, np.int64)
        self.game.deal(self.states, row)
        view = self.game.views(self.states, row, row)[0]
        world = self.game.sample(view, self.rng)
        render.picture(self.game, world, 0)
        self.game.information_state(world, 1)


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="reads memory in /proc")
@pytest.mark.parametrize(
    "seconds", [6, pytest.param(7_200, marks=pytest.mark.long)], ids=lambda s: f"{s}s"
)
def test_memory_stays_flat(seconds: float) -> None:
    stepping = Stepping()
    for _ in range(500):
        stepping.step()
    gc.collect()
    memory, objects = resident(), len(gc.get_objects())
    end = time.monotonic() + seconds
    steps = 0
    while time.monotonic() < end or steps < 1_000:
        stepping.step()
        steps += 1
    gc.collect()
    assert len(gc.get_objects()) - objects < 200, f"objects pile up over {steps} steps"
    assert resident() - memory < 8 * MEBIBYTE, f"memory grows over {steps} steps"
