"""Matches: who calls when, what a round and a match pay, what ends, what is seen of the score."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from oracle import OracleMatch
from oracle_texts import CALLER, DEALER, SEATS, OracleRules
from sidebyside import deck_of_deal, drawn_trump, round_options

from tricktable_env.cards import Words
from tricktable_env.game import ENDED, ILLEGAL, NOBODY, RUNNING, outcome_of
from tricktable_env.tableau import Tableau

ROW = np.zeros(1, np.int64)
ONE_TRICK: dict[str, Any] = {"suits": 1, "ranks": 2, "hand": 1, "piles": 0, "trump": "none"}
"""Two cards: the caller leads one, and the higher of them wins."""
TWO_TRICKS: dict[str, Any] = {"suits": 1, "ranks": 4, "hand": 2, "piles": 0, "trump": "none"}
"""Four cards of a suit: often each takes a trick."""


class Match:
    """A match of random play, in the engine and in the oracle.

    Args:
        options: options of the rules.
        seed: of the deals and the play.

    Attributes:
        game: the engine's game.
        states: `[1, W] uint64`, the engine's match.
        oracle: the oracle's.
        ended: whether the engine has said that the match is over.
    """

    def __init__(self, options: dict[str, Any], seed: int = 0) -> None:
        self.game = Tableau(**options)
        self.states = self.game.new(np.array([seed], np.uint64))
        self.game.deal(self.states, ROW)
        self.rng = random.Random(seed)
        self.ended = False
        # The oracle deals what the engine has dealt: the engine always steps first.
        self.oracle = OracleMatch(
            OracleRules(**options),
            lambda number: deck_of_deal(self.game, self.states[0]),
            lambda number: drawn_trump(self.game, self.states[0]),
        )

    def play(self, action: int) -> tuple[float, float]:
        """Takes an action in both; returns what it paid the players."""
        status, paid = self.game.step(self.states, ROW, np.array([action]))
        expected = self.oracle.play(action)
        assert paid[0].tolist() == np.float32(expected).tolist()
        assert status[0] == (ENDED if self.oracle.over else RUNNING)
        self.ended = status[0] == ENDED
        return expected

    def rounds(self) -> Iterator[tuple[float, float]]:
        """Plays on at random; yields what the last step of each round paid."""
        while not self.ended:
            number = self.oracle.number
            paid = self.play(self.rng.choice(self.oracle.round.legal()))
            if self.ended or self.oracle.number > number:
                yield paid
            else:
                assert paid == (0.0, 0.0)

    def assert_same(self) -> None:
        """Compares what both say: positions, players, seats, masks, the score as each sees it."""
        state, oracle = self.states[0], self.oracle
        for seat in (None, 0, 1):
            assert self.game.position(state, seat) == oracle.round.position(seat)
        turn = NOBODY if oracle.over else oracle.turn
        assert self.game.players(self.states, ROW)[0] == turn
        for player in (0, 1):
            assert self.game.seat_of(state, player) == oracle.role(player)
            observation, mask = self.game.observe(self.states, ROW, np.array([player]))
            legal = oracle.round.legal() if player == turn else []
            assert np.flatnonzero(mask[0]).tolist() == legal
            seen = {part.name: observation[0, part.start] for part in self.game.layout}
            assert seen["caller"] == (oracle.role(player) == CALLER)
            assert seen["to_act"] == (player == turn)
            assert seen["rounds"] == oracle.wins[player]
            assert seen["rounds_other"] == oracle.wins[1 - player]
            assert seen["rounds_to_win"] == oracle.rules.rounds_to_win
            assert (observation[0] <= self.game.observation_high).all()


@settings(max_examples=25)
@given(
    options=round_options(),
    rounds_to_win=st.integers(1, 3),
    match_reward=st.sampled_from(["match", "round"]),
    seed=st.integers(0, 2**32),
)
@example(options={}, rounds_to_win=2, match_reward="match", seed=0)
@example(options={"tie": "draw", **TWO_TRICKS}, rounds_to_win=3, match_reward="match", seed=0)
@example(options={"tie": "draw", **TWO_TRICKS}, rounds_to_win=1, match_reward="match", seed=1)
def test_match_is_played_as_the_oracle(
    options: dict[str, Any], rounds_to_win: int, match_reward: str, seed: int
) -> None:
    match = Match({**options, "rounds_to_win": rounds_to_win, "match_reward": match_reward}, seed)
    match.assert_same()
    while not match.ended:
        match.play(match.rng.choice(match.oracle.round.legal()))
        match.assert_same()


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("tie", ["dealer", "draw"])
def test_player_0_calls_first_and_roles_swap_after_every_round(tie: str, seed: int) -> None:
    match = Match({**TWO_TRICKS, "tie": tie, "rounds_to_win": 4}, seed)
    for number, _ in enumerate(match.rounds()):
        if not match.ended:
            caller = (number + 1) % 2
            assert match.game.seat_of(match.states[0], caller) == CALLER
            assert match.game.seat_of(match.states[0], 1 - caller) == DEALER
            assert match.game.players(match.states, ROW)[0] == caller, "the caller leads"


@pytest.mark.parametrize("rounds_to_win", [1, 2, 3])
def test_drawn_round_counts_for_nobody_and_ends_only_a_single_round(rounds_to_win: int) -> None:
    drawn_and_over = drawn_and_on = 0
    for seed in range(30):
        match = Match({**TWO_TRICKS, "tie": "draw", "rounds_to_win": rounds_to_win}, seed)
        wins = [0, 0]
        for _ in match.rounds():
            if match.oracle.wins == wins:
                drawn_and_over += match.ended
                drawn_and_on += not match.ended
            wins = list(match.oracle.wins)
        outcome = outcome_of(match.game, match.states[0])
        if rounds_to_win == 1:
            assert sum(wins) == (outcome["winner"] != "draw")
        else:
            assert outcome["winner"] != "draw"
            assert max(wins) == rounds_to_win
    assert bool(drawn_and_over) == (rounds_to_win == 1)
    assert bool(drawn_and_on) == (rounds_to_win > 1)


def round_scores(options: dict[str, Any]) -> list[tuple[float, float]]:
    """Returns what the rounds of a match paid, after checking each against its winner."""
    match = Match(options, seed=5)
    paid = []
    wins = [0, 0]
    for pay in match.rounds():
        paid.append(pay)
        winner = [new - old for new, old in zip(match.oracle.wins, wins, strict=True)].index(1)
        wins = list(match.oracle.wins)
        last = match.ended
        if options.get("match_reward") == "round" or options.get("reward") == "margin" or last:
            assert pay[winner] == 1.0
            assert pay[1 - winner] == -1.0
        else:
            assert pay == (0.0, 0.0)
    return paid


def test_match_alone_pays_by_default() -> None:
    paid = round_scores({**ONE_TRICK, "rounds_to_win": 3})
    assert len(paid) >= 3
    assert sorted(paid[-1]) == [-1.0, 1.0]
    assert paid[:-1] == [(0.0, 0.0)] * (len(paid) - 1)


def test_every_round_may_pay_and_then_the_match_pays_nothing_more() -> None:
    for options in ({"match_reward": "round"}, {"reward": "margin"}):
        paid = round_scores({**ONE_TRICK, "rounds_to_win": 3, **options})
        assert len(paid) >= 3
        assert all(sorted(pay) == [-1.0, 1.0] for pay in paid)


def test_margin_pays_every_round_whatever_the_match_reward() -> None:
    paid = {}
    for match_reward in ("match", "round"):
        options = {"rounds_to_win": 2, "reward": "margin", "match_reward": match_reward}
        paid[match_reward] = list(Match(options, seed=3).rounds())
    assert paid["match"] == paid["round"]
    assert all(first == -second for first, second in paid["match"])
    assert all(round(26 * first) == pytest.approx(26 * first) for first, _ in paid["match"])
    assert len({abs(first) for first, _ in paid["match"]}) > 1


@pytest.mark.parametrize("options", [{}, {"trump": "random"}], ids=str)
def test_every_round_of_a_match_is_another_deal_seen_from_its_start(
    options: dict[str, Any],
) -> None:
    match = Match({**options, "rounds_to_win": 3}, seed=1)
    starts = [match.game.position(match.states[0])]
    for _ in match.rounds():
        if match.ended:
            break
        state = match.states[0]
        starts.append(match.game.position(state))
        for seat in (0, 1):
            assert match.game.information_state(state, seat) == match.game.position(state, seat)
            player = match.game.seat_of(state, seat)
            assert not match.game.histories(match.states, ROW, np.array([player])).any()
    assert len(starts) >= 3
    assert len(set(starts)) == len(starts)


def test_outcome_and_share_are_the_winners_of_the_match() -> None:
    for seed in range(12):
        match = Match({**TWO_TRICKS, "rounds_to_win": 2}, seed)
        for _ in match.rounds():
            pass
        game, state = match.game, match.states[0]
        winner = match.oracle.wins.index(2)
        assert (game.shares(state[None])[0, winner], game.shares(state[None])[0, 1 - winner]) == (
            1.0,
            0.0,
        )
        assert outcome_of(game, state)["winner"] == SEATS[match.oracle.role(winner)]
        assert outcome_of(game, state)["tricks"].tolist() == match.oracle.round.tricks
        assert game.margins(state[None])[0, 0] == -game.margins(state[None])[0, 1]
        status, paid = game.step(match.states, ROW, np.array([0]))
        assert (status[0], paid.any()) == (ILLEGAL, False)


def mid_match() -> tuple[Tableau, Words]:
    """Returns a match in which a round is won and the next has begun, the roles swapped."""
    match = Match({**TWO_TRICKS, "rounds_to_win": 3}, seed=0)
    next(match.rounds())
    match.play(match.oracle.round.legal()[0])
    assert match.game.seat_of(match.states[0], 0) == DEALER
    return match.game, match.states


@pytest.mark.parametrize("how", ["deal", "deck", "position"])
def test_new_episode_begins_a_new_match(how: str) -> None:
    game, states = mid_match()
    if how == "deal":
        game.deal(states, ROW)
    elif how == "deck":
        game.deal_deck(states[0], game_deck())
    else:
        game.place(states[0], "D N AS 0-0 K... - QJ... -")
    assert game.seat_of(states[0], 0) == CALLER
    observation, _ = game.observe(states, ROW, np.zeros(1, np.int64))
    seen = {part.name: observation[0, part.start] for part in game.layout}
    assert (seen["rounds"], seen["rounds_other"], seen["rounds_to_win"]) == (0, 0, 3)


def game_deck() -> list[int]:
    """Returns a deck for TWO_TRICKS."""
    return OracleRules(**TWO_TRICKS).deck


def test_longest_match_is_counted_right() -> None:
    match = Match({**TWO_TRICKS, "tie": "draw", "rounds_to_win": 100}, seed=2)
    rounds = sum(1 for _ in match.rounds())
    match.assert_same()
    assert max(match.oracle.wins) == 100
    assert rounds > 100


def test_match_goes_the_same_way_in_any_row() -> None:
    game = Tableau(rounds_to_win=2)
    batch = game.new(np.array([3, 4, 5], np.uint64))
    alone = game.new(np.array([4], np.uint64))
    game.deal(batch, np.arange(3))
    game.deal(alone, ROW)
    rng = np.random.default_rng(0)
    rows = np.arange(3)
    while len(rows):
        masks = game.masks(game.views(batch, rows, game.players(batch, rows)))
        actions = (rng.random(masks.shape) * masks).argmax(axis=1)
        status, _ = game.step(batch, rows, actions)
        for action in actions[rows == 1]:
            game.step(alone, ROW, np.array([action]))
        rows = rows[status == RUNNING]
        assert (batch[1] == alone[0]).all()
